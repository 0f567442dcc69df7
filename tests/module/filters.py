"""WEIR.CREATE, ADD, TEST, ADDHASH, TESTHASH, INFO: replies in both protocols, errors, restarts."""
import os
import struct

from server import Raw, Server, check, digest, equal, error_of, finish, wait_for

server = Server()
r = server.client()


def blob(*hashes):
    return struct.pack(f"<{len(hashes)}Q", *hashes)


def bits(bitmap, n):
    return [bitmap[i // 8] >> i % 8 & 1 for i in range(n)]


# --- every reply under both protocols
for version in 2, 3:
    c = Raw(server, version)
    v = f"RESP{version}"
    c("DEL", "f", "w")
    equal(f"{v} create", c("WEIR.CREATE", "f", "recent:memory=64K,seed=7"), "+OK")
    equal(f"{v} create again", c("WEIR.CREATE", "f", "recent")[:11], "-ERR key ex")
    equal(f"{v} create ifabsent", c("WEIR.CREATE", "f", "recent", "ifabsent"), None)
    equal(f"{v} add one", c("WEIR.ADD", "f", "a"), 1)
    equal(f"{v} add it again", c("WEIR.ADD", "f", "a"), 0)
    equal(f"{v} add three", c("WEIR.ADD", "f", "a", "b", "b"), [0, 1, 0])
    equal(f"{v} test", c("WEIR.TEST", "f", "b"), 0)
    equal(f"{v} test several", c("WEIR.TEST", "f", "b", "c", "c"), [0, 1, 1])
    equal(f"{v} an empty item is an item", c("WEIR.ADD", "f", "", ""), [1, 0])
    equal(f"{v} addhash", c("WEIR.ADDHASH", "f", blob(5, 6, 5)), b"\x03")
    equal(f"{v} testhash", c("WEIR.TESTHASH", "f", blob(7, 6, 5)), b"\x01")
    equal(f"{v} addhash of none", c("WEIR.ADDHASH", "f", b""), b"")
    equal(f"{v} batch", c("WEIR.ADDHASH", "f", blob(8, 5), "BATCH", "me", "3"), [b"\x01", 12])
    equal(f"{v} batch again", c("WEIR.ADDHASH", "f", blob(8, 5), "BATCH", "me", "3"), [b"\x01", 12])
    equal(f"{v} batch too late", c("WEIR.ADDHASH", "f", blob(8), "BATCH", "me", "2")[:10], "-WEIRSTALE")
    equal(f"{v} next batch", c("WEIR.ADDHASH", "f", blob(8), "BATCH", "me", "4"), [b"\x00", 13])
    info = c("WEIR.INFO", "f")
    if version == 2:
        info = dict(zip(info[::2], info[1::2]))
    equal(f"{v} info type", info[b"type"], b"filter")
    equal(f"{v} info seed", info[b"seed"], 7)
    equal(f"{v} info offered", info[b"offered"], 13)
    check(f"{v} info epoch", len(info[b"epoch"]) == 16)
    check(f"{v} info spec", info[b"spec"].startswith(b"recent:memory=65536,"))
    equal(f"{v} addwith", c("WEIR.ADDWITH", "f", "TIME", 5, "ITEMS", "q", "q"), [1, 0])
    equal(f"{v} testwith", c("WEIR.TESTWITH", "f", "TIME", 5, "ITEMS", "q"), 0)
    c("WEIR.CREATE", "w", "counting:memory=64K")
    c("WEIR.ADD", "w", "x", "x")
    equal(f"{v} remove", c("WEIR.REMOVE", "w", "x", "y"), [1, 0])
    equal(f"{v} remove one", c("WEIR.REMOVE", "w", "x"), 1)
    equal(f"{v} removed", c("WEIR.TEST", "w", "x"), 1)

# --- errors; after each, nothing has changed
r.set("s", "a string")
e = Raw(server, 2)
epoch = r.execute_command("WEIR.INFO", "f")[13].decode()
other = "%016x" % (int(epoch, 16) ^ 1)
before = digest(r, "f")
for name, command, wanted in [
    ("no key", ["WEIR.ADD", "none", "a"], "WEIRMISSING no such key"),
    ("no key to test", ["WEIR.TEST", "none", "a"], "WEIRMISSING no such key"),
    ("no key for hashes", ["WEIR.ADDHASH", "none", blob(1)], "WEIRMISSING no such key"),
    ("a string", ["WEIR.ADD", "s", "a"], "WRONGTYPE Operation against a key holding the wrong kind of value"),
    ("create over a string", ["WEIR.CREATE", "s", "recent"], "WRONGTYPE"),
    ("unknown spec", ["WEIR.CREATE", "n", "recnt"], "unknown filter 'recnt'"),
    ("unknown option", ["WEIR.CREATE", "n", "recent:memry=1M"], "memry"),
    ("a range", ["WEIR.CREATE", "n", "recent:fpr=2"], "fpr"),
    ("a line end in a spec", ["WEIR.CREATE", "n", "rec\r\nent"], "rec"),
    ("a zero in a spec", ["WEIR.CREATE", "n", b"recent\0"], "byte 0"),
    ("a long spec", ["WEIR.CREATE", "n", "x" * 5000], "too long"),
    ("more memory than there is", ["WEIR.CREATE", "n", "recent:memory=1000T"], "OOM"),
    ("unknown word", ["WEIR.CREATE", "n", "recent", "FOO"], "syntax error at 'FOO'"),
    ("half an option", ["WEIR.CREATE", "n", "recent", "EPOCH"], "syntax error at 'EPOCH'"),
    ("arity", ["WEIR.ADD", "f"], "wrong number of arguments"),
    ("arity of info", ["WEIR.INFO", "f", "g"], "wrong number of arguments"),
    ("not a multiple of 8", ["WEIR.ADDHASH", "f", b"123456789"], "8 bytes each"),
    ("wrong seed", ["WEIR.ADDHASH", "f", blob(1), "SEED", 8], "WEIRSEED"),
    ("wrong version", ["WEIR.ADDHASH", "f", blob(1), "HASHVERSION", 99], "WEIRSEED"),
    ("wrong epoch", ["WEIR.ADDHASH", "f", blob(1), "EPOCH", other], "WEIREPOCH " + epoch),
    ("epoch is no epoch", ["WEIR.ADDHASH", "f", blob(1), "EPOCH", "xyz"], "hexadecimal"),
    ("seed is no number", ["WEIR.ADDHASH", "f", blob(1), "SEED", "7x"], "SEED must"),
    ("times too short", ["WEIR.ADDHASH", "f", blob(1, 2), "TIMES", blob(1)], "TIMES has 8 bytes"),
    ("importances too long", ["WEIR.ADDHASH", "f", b"", "IMPORTANCES", blob(1)], "IMPORTANCES has 8"),
    ("batch without number", ["WEIR.ADDHASH", "f", blob(1), "BATCH", "me"], "BATCH needs"),
    ("batch number", ["WEIR.ADDHASH", "f", blob(1), "BATCH", "me", "-1"], "number of a batch"),
    ("producer's name", ["WEIR.ADDHASH", "f", blob(1), "BATCH", "x" * 65, "1"], "1 to 64 bytes"),
    ("batch too large", ["WEIR.ADDHASH", "f", bytes(8 * 65537), "BATCH", "me", "9"], "65536"),
    ("time", ["WEIR.ADDWITH", "f", "TIME", "soon", "ITEMS", "a"], "TIME must"),
    ("importance", ["WEIR.ADDWITH", "f", "IMPORTANCE", "very", "ITEMS", "a"], "IMPORTANCE must"),
    ("no items", ["WEIR.ADDWITH", "f", "TIME", "1", "ITEMS"], "ITEMS"),
    ("remove from recent", ["WEIR.REMOVE", "f", "a"], "cannot be removed"),
]:
    got = error_of(e, *command)
    check("error: " + name, wanted in got and "\n" not in got, got)
equal("errors change nothing", digest(r, "f"), before)
equal("nor make keys", r.exists("n"), 0)

# --- large batches: in stretches, and at once within a transaction
n = 200_000
hashes = b"".join(struct.pack("<Q", i * 0x9E3779B97F4A7C15 % 2**64) for i in range(n))
r.execute_command("WEIR.CREATE", "big", "bloom:memory=8M,seed=1")
r.execute_command("WEIR.CREATE", "exec", "bloom:memory=8M,seed=1")
got = r.execute_command("WEIR.ADDHASH", "big", hashes + hashes[:80])
check("large batch: new, then seen", bits(got, n + 10).count(1) >= n - 5 and not any(bits(got, n + 10)[n:]))
p = r.pipeline(transaction=True)
p.execute_command("WEIR.ADDHASH", "exec", hashes + hashes[:80])
equal("the same in a transaction", p.execute()[0], got)
equal("large test", bits(r.execute_command("WEIR.TESTHASH", "big", hashes), n).count(1), 0)
r.execute_command("WEIR.CREATE", "items", "bloom:memory=8M,seed=1")
equal("large list of items", sum(r.execute_command("WEIR.ADD", "items", *range(70000))), 70000)

many = [b"%d" % i for i in range(70_000)]
r.execute_command("BF.RESERVE", "face", "0.001", "100000")
new = r.execute_command("BF.MADD", "face", *many)
check("large BF.MADD: nearly all are new", len(new) == 70_000 and sum(new) > 69_800, sum(new))
equal("and then none", sum(r.execute_command("BF.MADD", "face", *many)), 0)
equal("large BF.MEXISTS", sum(r.execute_command("BF.MEXISTS", "face", *many)), 70_000)
others = sum(r.execute_command("BF.MEXISTS", "face", *[b"x" + i for i in many]))
check("of others", others < 200, others)
equal("of no filter", r.execute_command("BF.MEXISTS", "none", "a", "b"), [0, 0])

r.execute_command("WEIR.CREATE", "back", "counting:memory=4M")
r.execute_command("WEIR.ADD", "back", *many[:40_000])
equal("large WEIR.REMOVE", [sum(r.execute_command("WEIR.REMOVE", "back", *many)) for _ in range(2)], [40_000, 0])
equal("and all is as if it was never there", sum(r.execute_command("WEIR.TEST", "back", *many)), 70_000)

# --- kept replies: at most 1,024 producers, the oldest goes
r.execute_command("WEIR.CREATE", "p", "bloom:memory=64K")
for i in range(1025):
    r.execute_command("WEIR.ADDHASH", "p", blob(i), "BATCH", f"p{i}", 1)
equal("1,024 producers are kept", r.execute_command("WEIR.ADDHASH", "p", blob(1), "BATCH", "p1", 1), [b"\1", 2])
equal("the oldest is not", r.execute_command("WEIR.ADDHASH", "p", blob(0), "BATCH", "p0", 1), [b"\0", 1026])

# --- what the server does with values
r.copy("f", "copy")
equal("COPY: same digest", digest(r, "copy"), digest(r, "f"))
r.restore("restored", 0, r.dump("p"))
equal("DUMP and RESTORE: same digest", digest(r, "restored"), digest(r, "p"))
equal("and the batches", r.execute_command("WEIR.ADDHASH", "restored", blob(5), "BATCH", "p5", 1), [b"\1", 6])
check("MEMORY USAGE", 65536 <= r.memory_usage("f") < 140000, r.memory_usage("f"))
equal("TYPE", r.type("f"), b"weir-filt")
check("INFO", b"weir_filters:" in e("INFO", "weir_values"))
keys = [b"f", b"p", b"big", b"w", b"face"]
digests = [digest(r, k) for k in keys]
r.save()
server.kill()
server.start()
r, e = server.client(), Raw(server, 2)
equal("after a restart: same digests", [digest(r, k) for k in keys], digests)

# --- a replica
replica = Server("--replicaof", "127.0.0.1", str(server.port))
s = replica.client()
check("a replica follows", wait_for(lambda: s.info("replication")["master_link_status"] == "up"))
r.execute_command("WEIR.CREATE", "made", "recent:memory=64K")
r.execute_command("WEIR.CREATE", "timed", "recent:memory=64K,window=1h")
r.execute_command("WEIR.ADD", "made", *range(1000))
r.execute_command("WEIR.ADD", "back", *many)
r.execute_command("WEIR.REMOVE", "back", *many[30_000:])
r.execute_command("WEIR.ADD", "timed", *range(1000))
r.execute_command("WEIR.ADDWITH", "timed", "IMPORTANCE", "2", "ITEMS", *range(1000))
r.execute_command("WEIR.ADDHASH", "timed", hashes[:8000])
r.execute_command("WEIR.ADDHASH", "timed", hashes[:8000], "BATCH", "me", 1)
r.execute_command("WEIR.ADDHASH", "big", hashes + blob(1, 2, 3))
r.wait(1, 5000)
for k in [b"made", b"timed", b"big", b"back"] + keys:
    equal(f"replica: same digest of {k.decode()}", digest(s, k), digest(r, k))
check("a replica refuses", error_of(Raw(replica, 2), "WEIR.ADD", "f", "x").startswith("READONLY"))
equal("and answers", s.execute_command("WEIR.TEST", "made", 1, 5000), [0, 1])

# --- huge pages: asked for where a setting has it, for memory that values have
def huge():
    """Is there memory that huge pages are asked for? (`hg` among the flags of a mapping)"""
    with open(f"/proc/{pages.process.pid}/smaps") as f:
        return any(line.startswith("VmFlags:") and " hg" in line for line in f)


pages = Server()
if os.path.exists("/sys/kernel/mm/transparent_hugepage"):
    r = pages.client()
    r.config_set("weir.huge-pages", "no")
    r.execute_command("WEIR.CREATE", "large", "bloom:memory=16M")
    check("no huge pages where the setting says so", not huge())
    r.delete("large")
    r.config_set("weir.huge-pages", "yes")
    r.execute_command("WEIR.CREATE", "large", "bloom:memory=16M")
    check("huge pages for a large value", huge())
    r.delete("large")
    check("and no longer when it is gone", wait_for(lambda: not huge()))
else:
    print("ok huge pages # skip the system has none")

for one in server, replica, pages:
    check("the server lives", one.alive(), one.tail())
finish()
