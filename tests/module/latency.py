"""How long a large batch keeps others waiting: PINGs on a second connection, while one is decided.

Of several attempts the best counts, since the machine may be busy with other things."""
import random
import threading
import time

from server import Raw, Server, check, finish

MOST = 50e-3  # seconds
ATTEMPTS = 5
server = Server()
draw = random.Random(1)
hashes = draw.randbytes(8 * 1_000_000)
items = [b"%d" % i for i in range(100_000)]


def packed(*args):
    return b"*%d\r\n" % len(args) + b"".join(b"$%d\r\n%s\r\n" % (len(a), a) for a in args)


def longest(command):
    """The longest that a PING took from before the command until after its reply."""
    one, other = Raw(server, 2), Raw(server, 2)
    done, worst = threading.Event(), [0.0]
    bytes_ = packed(*command)

    def ping():
        while not done.is_set():
            start = time.perf_counter()
            other("PING")
            worst[0] = max(worst[0], time.perf_counter() - start)

    thread = threading.Thread(target=ping)
    thread.start()
    one.socket.sendall(bytes_)
    line = one.file.readline()
    kind, count = line[:1], int(line[1:]) if line[:1] in b"$*" else 0
    if kind == b"$":
        one.file.read(count + 2)
    for _ in range(count if kind == b"*" else 0):
        one.file.readline()
    done.set()
    thread.join()
    return worst[0]


def best(name, make, command):
    took = []
    for i in range(ATTEMPTS):
        for c in make:
            Raw(server, 2)(*c)
        took.append(longest(command))
        if took[-1] < MOST / 2:
            break
    check(f"{name}: others wait {min(took) * 1e3:.1f} ms", min(took) < MOST)


best("no command", [], [b"ECHO", b"x"])
best("ADDHASH of 1,000,000", [["DEL", "f"], ["WEIR.CREATE", "f", "recent:memory=64M"]],
     [b"WEIR.ADDHASH", b"f", hashes])
best("TESTHASH of 1,000,000", [], [b"WEIR.TESTHASH", b"f", hashes])
best("WEIR.ADD of 100,000", [], [b"WEIR.ADD", b"f", *items])
best("BF.MADD of 100,000", [["DEL", "b"], ["BF.RESERVE", "b", "0.001", "1000000"]],
     [b"BF.MADD", b"b", *items])
best("BF.MADD, not scaling", [["DEL", "n"], ["BF.RESERVE", "n", "0.001", "1000000", "NONSCALING"]],
     [b"BF.MADD", b"n", *items])
best("BF.MEXISTS of 100,000", [], [b"BF.MEXISTS", b"b", *items])
check("the server lives", server.alive(), server.tail())
finish()
