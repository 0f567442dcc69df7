"""Real servers with the module, for the tests: on 127.0.0.1, on free ports, stopped by pid."""
import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import redis

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
WEIR = os.path.abspath(os.environ.get("WEIR", BUILD + "/weir"))
SOURCE = os.path.abspath(os.path.dirname(__file__) + "/../..")
MODULE = BUILD + "/module/weir.so"

# Debian's redis-server, or what SERVER and CLIENT name: valkey-server and valkey-cli
SERVER = os.environ.get("SERVER", "redis-server")
CLIENT = os.environ.get("CLIENT", "redis-cli")

failures = 0
work = tempfile.mkdtemp(prefix="weir-module-")
running = []


def check(name, good, why=""):
    """One case of the test: a line `ok NAME` or `not ok NAME`."""
    global failures
    if not good:
        failures += 1
    print(("ok " if good else "not ok ") + name + ("" if good or not why else f": {why}"), flush=True)
    return good


def equal(name, got, wanted):
    return check(name, got == wanted, f"{got!r}, not {wanted!r}")


def error_of(connection, *command):
    """The error reply that a command brings, as it came over a Raw connection; "": none."""
    reply = connection(*command)
    return reply[1:] if isinstance(reply, str) and reply[0] == "-" else ""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, *options, module=MODULE, before=(), env=None):
        self.dir = tempfile.mkdtemp(dir=work)
        self.options, self.module, self.before, self.env = options, module, list(before), env
        self.process = None
        self.start()

    def start(self, *more):
        for _ in range(5):  # another process may take the port before the server does
            if self.attempt(*more):
                return self
        raise RuntimeError("no server: " + self.tail())

    def attempt(self, *more):
        """Start it once; whether it came up."""
        self.port = free_port()
        command = self.before + [SERVER, "--port", str(self.port), "--bind", "127.0.0.1",
                                 "--dir", self.dir, "--save", "", "--enable-debug-command", "yes",
                                 "--repl-diskless-sync-delay", "0",
                                 # what is written outlives a kill; by default writes wait for a slow fsync
                                 "--appendfsync", "no"]
        if self.module:
            command += ["--loadmodule", self.module]
        self.log = open(self.dir + "/log", "ab")
        self.process = subprocess.Popen(command + list(self.options) + list(more), stdout=self.log,
                                        stderr=self.log, env=self.env)
        running.append(self.process)
        return self.answers()

    def answers(self):
        for _ in range(1000):
            if self.process.poll() is not None:
                return False
            try:
                self.client().ping()
                return True
            except redis.RedisError:
                time.sleep(0.01)
        return False

    def follow(self):
        """A replica of this server, up."""
        self.replica = Server("--replicaof", "127.0.0.1", str(self.port))
        up = wait_for(lambda: self.replica.client().info("replication")["master_link_status"] == "up")
        check("a replica follows", up, self.replica.tail())

    def client(self, **kw):
        return redis.Redis(port=self.port, **kw)

    def tail(self):
        with open(self.dir + "/log", errors="replace") as f:
            return f.read()[-2000:]

    def alive(self):
        return self.process.poll() is None

    def kill(self, signal=9):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal)
        if self.process:
            self.process.wait()
            self.log.close()

    def restart(self, signal=9, *more):
        self.kill(signal)
        return self.start(*more)


class Raw:
    """One connection that speaks the protocol itself, version 2 or 3."""

    def __init__(self, server, version):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=60)  # a command without a reply
        self.file = self.socket.makefile("rb")
        if version == 3:
            self("HELLO", "3")

    def send(self, *args):
        words = [a if isinstance(a, bytes) else str(a).encode() for a in args]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))

    def __call__(self, *args):
        self.send(*args)
        return self.read()

    def read(self):
        line = self.file.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind in b"*~>":
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return {self.read(): self.read() for _ in range(int(rest))}
        if kind == b":":
            return int(rest)
        if kind == b",":
            return float(rest)
        if kind == b"#":
            return rest == b"t"
        if kind == b"_":
            return None
        return line.decode(errors="replace")  # +OK, -ERR ...


def wait_for(condition, seconds=20):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def digest(client, key):
    return client.execute_command("DEBUG", "DIGEST-VALUE", key)[0]


def followed(server, name):
    """A replica has the same keys with the same digests."""
    r, s = server.client(), server.replica.client()
    r.execute_command("WEIR.CREATE", "the last", "bloom:memory=1K")
    wait_for(lambda: s.exists("the last"))
    r.delete("the last")
    theirs, ours = ({k: digest(c, k) for k in c.keys() if k != b"the last"} for c in (s, r))
    equal(f"{name}: a replica has the same digests", [k for k in ours | theirs if ours.get(k) != theirs.get(k)], [])


def crc64(data, table=[]):
    if not table:
        for i in range(256):
            c = i
            for _ in range(8):
                c = c >> 1 ^ (0x95AC9329AC4BC9B5 if c & 1 else 0)
            table.append(c)
    c = 0
    for b in data:
        c = table[(c ^ b) & 255] ^ c >> 8
    return c


def finish():
    if failures:
        for server in running:
            if server.poll() not in (None, 0, -9, -15):
                print("a server ended with", server.poll())
    sys.exit(1 if failures else 0)


@atexit.register
def stop_all():
    for process in running:
        if process.poll() is None:
            process.kill()
            process.wait()
    shutil.rmtree(work, ignore_errors=True)
