"""Database files with a damaged value: the server refuses to start, or starts; it never crashes.

FUZZ=n damages n files. Every second one has the right checksum, the others are read without one."""
import os
import random
import struct

from server import Server, check, crc64, equal, finish, wait_for

FUZZ = int(os.environ.get("FUZZ", "24"))


class Once(Server):
    """Starts, or says in its log why not. A server that refuses a file looks at it once more by
    itself, without the module, and where the file is cut off it may never come to an end."""

    def answers(self):
        wait_for(lambda: self.process.poll() is not None or "Ready to accept" in self.tail() or self.refuses())
        return self.alive() and not self.refuses()

    def refuses(self):
        return any(s in self.tail() for s in ("Checking RDB file", "Internal error in RDB reading"))


server = Once()
r = server.client()
r.execute_command("WEIR.CREATE", "f", "recent:memory=4K,seed=3", "EPOCH", "0123456789abcdef")
r.execute_command("WEIR.ADDHASH", "f", struct.pack("<3Q", 5, 6, 7), "BATCH", "me", 1)
r.execute_command("WEIR.CREATE", "s", "top:k=3,width=50,depth=3,seed=1", "EPOCH", "fedcba9876543210")
r.execute_command("WEIR.COUNT", "s", "apple", 3, "pear", 2)
r.execute_command("WEIR.IMPORT", "part", 0, "some bytes")
r.save()
server.kill()
file = server.dir + "/dump.rdb"
with open(file, "rb") as f:
    whole = f.read()
equal("the checksum of the test is the server's", whole[-8:], crc64(whole[:-8]).to_bytes(8, "little"))
first = min(whole.index(b"\1" + k) for k in (b"f", b"s")) + 2  # behind the name of the first value


def outcome(body, *options):
    """What comes of a server that reads this file: refused, or started; else how it ended."""
    with open(file, "wb") as f:
        f.write(body + crc64(body).to_bytes(8, "little"))
    os.truncate(server.dir + "/log", 0)
    server.options = options
    if server.attempt():
        if server.client().exists("f"):
            server.client().execute_command("WEIR.INFO", "f")
        server.kill(15)
        return "started" if server.process.returncode == 0 else server.process.returncode
    refused = server.refuses() and "BUG REPORT" not in server.tail()
    server.kill(9)
    return "refused" if refused or server.process.returncode == 1 else server.tail()[-300:]


equal("the file as it is", outcome(whole[:-8]), "started")
draw = random.Random(2)
outcomes = []
for i in range(FUZZ):
    bad = bytearray(whole[:-8])
    for _ in range(draw.randint(1, 3)):
        bad[draw.randrange(first, len(bad) - 1)] ^= 1 << draw.randrange(8)
    if i % 6 == 0:
        del bad[draw.randrange(first, len(bad) - 1):-1]
    outcomes.append(outcome(bytes(bad), *([] if i % 2 else ["--rdbchecksum", "no"])))
refused, started = outcomes.count("refused"), outcomes.count("started")
check(f"damaged files: {refused} refused, {started} started, none crashed", refused + started == FUZZ, outcomes)
check("most are refused", refused > FUZZ // 2, outcomes)
finish()
