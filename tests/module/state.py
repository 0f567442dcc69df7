"""WEIR.EXPORT, IMPORT, ABSORB, MERGE; append-only files, memory, damaged payloads."""
import random
import struct
import subprocess

import redis

from server import WEIR, Raw, Server, check, crc64, digest, equal, error_of, finish, wait_for, work

server = Server("--appendonly", "yes", "--aof-use-rdb-preamble", "no")
r = server.client()
e = Raw(server, 2)


def command(*args):
    return r.execute_command(*args)


def export(key, size):
    cursor, whole = 0, b""
    while True:
        cursor, chunk = command("WEIR.EXPORT", key, cursor, "BYTES", size)
        check_chunk.append(len(chunk) <= size)
        whole += chunk
        if not cursor:
            return whole


def import_bytes(key, whole, size):
    for at in range(0, len(whole), size):
        last = ["LAST"] if at + size >= len(whole) else []
        got = command("WEIR.IMPORT", key, at, whole[at:at + size], *last)
    return got


check_chunk = []
SPECS = ["recent:memory=64K", "bloom:capacity=10000", "bloom:memory=32K,layout=classic", "stable:memory=64K",
         "reservoir:memory=64K", "importance:memory=64K", "buffer:memory=64K", "window:memory=64K,length=1h",
         "growing:memory=256K,of=(bloom)", "counting:memory=64K", "spectral:memory=64K", "apbf:memory=64K",
         "qht:memory=64K", "horizontal:memory=256K", "vertical:memory=256K", "tree:memory=256K",
         "recent:memory=64K,window=1h", "recent:memory=64K,hash=siphash"]
SKETCHES = ["countmin:memory=16K", "top:k=20,memory=32K", "agms:memory=16K", "dyadic:bits=20,memory=64K",
            "top:k=9,width=8,depth=2", "countmin:width=1,depth=1", "kll:memory=8K", "hll", "kmv:memory=4K", "distinct:memory=8K", "sample:n=50",
            "countmin:memory=16K,decay=1h", "window:length=1h,of=(top:k=10,memory=8K)"]

# --- every kind: through the command line and back, byte for byte; COPY, DUMP
names = []
for i, spec in enumerate(SPECS + SKETCHES):
    key = f"k{i}"
    sketch = i >= len(SPECS)
    command("WEIR.CREATE", key, spec, *(["SKETCH"] if sketch else []))
    if sketch:
        command("WEIR.COUNT", key, *[x for j in range(3000) for x in (j * j % 997, 1)])
    else:
        command("WEIR.ADD", key, *[j * j % 997 for j in range(3000)])
    names.append(key)
    before, bytes_ = digest(r, key), struct.pack("<2Q", 1, 2)
    later = ["TIME", 2 * 10**18]
    for question in ([["WEIR.ESTIMATE", key, 1, 2], ["WEIR.TOP", key], ["WEIR.DISTINCT", key], ["WEIR.QUANTILE", key, 0.5],
                      ["WEIR.SELFJOIN", key], ["WEIR.JOIN", key, key], ["CMS.QUERY", key, 1], ["TOPK.LIST", key]] if sketch else
                     [["WEIR.TEST", key, 1, 2], ["WEIR.TESTWITH", key, *later, "ITEMS", 1], ["WEIR.TESTHASH", key, bytes_, *later],
                      ["BF.EXISTS", key, 1], ["BF.MEXISTS", key, 1, 2], ["BF.INFO", key], ["BF.CARD", key]]):
        e(*question)
    info = command("WEIR.INFO", key)
    equal(f"{spec}: questions change nothing", digest(r, key), before)
    again = e("WEIR.CREATE", key + "s", info[info.index(b"spec") + 1], *(["SKETCH"] if sketch else []))
    equal(f"{spec}: as WEIR.INFO writes it, it makes another", again, "+OK")
    r.delete(key + "s")
    whole = export(key, 5000)
    equal(f"{spec}: one chunk is all chunks", export(key, 1 << 26), whole)
    with open(work + "/one", "wb") as f:
        f.write(whole)
    info = subprocess.run([WEIR, "inspect", work + "/one"], capture_output=True, text=True)
    check(f"{spec}: weir inspect reads it", info.returncode == 0, info.stderr)
    equal(f"{spec}: import", import_bytes(key + "i", whole, 7000), b"OK")
    equal(f"{spec}: and out again", export(key + "i", 1 << 20), whole)
    r.copy(key, key + "c")
    equal(f"{spec}: COPY", digest(r, key + "c"), digest(r, key))
    r.restore(key + "r", 0, r.dump(key))
    equal(f"{spec}: RESTORE", digest(r, key + "r"), digest(r, key))
    r.delete(key + "c", key + "r")
check("chunks are as small as asked", all(check_chunk))

# --- a snapshot of the command line
subprocess.run([WEIR, "dedup", "--filter", "recent:memory=64K,seed=5", "--state", work + "/state"],
               input=b"a\nb\na\n", capture_output=True)
with open(work + "/state", "rb") as f:
    import_bytes("cli", f.read(), 1000)
equal("a state of weir dedup", command("WEIR.TEST", "cli", "a", "c"), [0, 1])

for i, monday in enumerate(["monday", "tuesday"]):  # and a file that the command line wrote, byte for byte
    command("WEIR.CREATE", monday, "bloom:memory=16K,seed=3")
    command("WEIR.ADD", monday, *range(i * 50, i * 50 + 100))
    with open(work + "/" + monday, "wb") as f:
        f.write(export(monday, 1 << 20))
subprocess.run([WEIR, "merge", "-o", work + "/both", work + "/monday", work + "/tuesday"], check=True, capture_output=True)
with open(work + "/both", "rb") as f:
    both = f.read()
import_bytes("both", both, 5000)
equal("a snapshot of weir merge: out again, byte for byte", export("both", 5000), both)
equal("and it knows both", sum(command("WEIR.TEST", "both", *range(150))), 0)

# --- an import that is under way
whole = export("k0", 1 << 26)
equal("first chunk", command("WEIR.IMPORT", "part", 0, whole[:100]), 100)
equal("TYPE", r.type("part"), b"weir-part")
for name, args, wanted in [
    ("wrong place", ["WEIR.IMPORT", "part", 50, b"x"], "stands at 100"),
    ("nothing there", ["WEIR.IMPORT", "none", 50, b"x"], "stands at 0"),
    ("a value is there", ["WEIR.IMPORT", "k0", 0, b"x"], "key exists"),
    ("cursor", ["WEIR.IMPORT", "part", "x", b"x"], "cursor"),
    ("word", ["WEIR.IMPORT", "part", 100, b"x", "LATS"], "LATS"),
    ("use of a part", ["WEIR.ADD", "part", "x"], "WRONGTYPE"),
    ("export cursor", ["WEIR.EXPORT", "k0", 77], "begin again"),
    ("export size", ["WEIR.EXPORT", "k0", 0, "BYTES", 0], "BYTES"),
    ("export of nothing", ["WEIR.EXPORT", "none", 0], "WEIRMISSING"),
    ("absorb rubbish", ["WEIR.ABSORB", "k0", b"rubbish"], "not a weir snapshot"),
    ("absorb another seed", ["WEIR.ABSORB", "k1", export("k0i", 1 << 26)], "ERR"),
    ("absorb a sketch into a filter", ["WEIR.ABSORB", "k1", export(f"k{len(SPECS)}", 1 << 26)], "cannot be merged"),
    ("merge of kinds", ["WEIR.MERGE", "k1", f"k{len(SPECS)}"], "cannot be merged"),
    ("merge of nothing", ["WEIR.MERGE", "k1", "none"], "WEIRMISSING"),
    ("merge of different seeds", ["WEIR.MERGE", "k1", "k2"], "cannot merge"),
]:
    got = error_of(e, *args)
    check("error: " + name, wanted in got, got)
cursor, _ = command("WEIR.EXPORT", "k0", 0, "BYTES", 100)
command("WEIR.EXPORT", "k0", 0, "BYTES", 100)
check("is told to begin again", "begin again" in error_of(e, "WEIR.EXPORT", "k0", cursor))
names.append("part")

# --- absorb and merge
command("WEIR.CREATE", "a", "bloom:memory=16K,seed=3")
command("WEIR.CREATE", "b", "bloom:memory=16K,seed=3")
command("WEIR.ADD", "a", *range(100))
command("WEIR.ADD", "b", *range(50, 150))
other = export("b", 1 << 20)
equal("absorb", command("WEIR.ABSORB", "a", other, "BATCH", "leaf", 1), 200)
equal("absorb again", command("WEIR.ABSORB", "a", other, "BATCH", "leaf", 1), 200)
check("absorb too late", "WEIRSTALE" in error_of(e, "WEIR.ABSORB", "a", other, "BATCH", "leaf", 0))
equal("all are known", sum(command("WEIR.TEST", "a", *range(150))), 0)
equal("absorb makes a value", command("WEIR.ABSORB", "new", other, "BATCH", "leaf", 1), 100)
equal("merge makes a value", command("WEIR.MERGE", "sum", "a", "b"), b"OK")
equal("all are known to it", sum(command("WEIR.TEST", "sum", *range(150))), 0)
r.expire("sum", 5000)
command("WEIR.MERGE", "sum", "b")
check("a merge keeps when the key expires", 4000 < r.ttl("sum") <= 5000, r.ttl("sum"))
r.persist("sum")
names += ["a", "new", "sum"]
before = digest(r, "sum")
check("a merge that fails half way changes nothing",
      error_of(e, "WEIR.MERGE", "sum", "b", "k2") and digest(r, "sum") == before)

# --- the same replies in both protocols
for version in 2, 3:
    c, v = Raw(server, version), f"RESP{version}"
    c("DEL", "from", "to", "third")
    c("WEIR.CREATE", "from", "bloom:memory=1K,seed=3", "EPOCH", "1")
    c("WEIR.ADD", "from", "x", "y")
    got = c("WEIR.EXPORT", "from", 0)
    check(f"{v} export", isinstance(got, list) and got[0] == 0 and got[1][:4] == other[:4], got[:1])
    equal(f"{v} import a part", c("WEIR.IMPORT", "to", 0, got[1][:50]), 50)
    equal(f"{v} import the rest", c("WEIR.IMPORT", "to", 50, got[1][50:], "LAST"), "+OK")
    equal(f"{v} absorb", c("WEIR.ABSORB", "to", got[1]), 4)
    equal(f"{v} merge", c("WEIR.MERGE", "third", "from", "to"), "+OK")
    check(f"{v} absorb damaged", error_of(c, "WEIR.ABSORB", "to", b"x" + got[1][1:]).startswith("ERR"))
    check(f"{v} merge without a source", "WEIRMISSING" in error_of(c, "WEIR.MERGE", "third", "none"))
r.delete("from", "to", "third")

# --- defragmentation, where the server has it
try:
    r.config_set("activedefrag", "yes")
except redis.RedisError:
    print("ok defragmentation # skip this server was built without it")
else:
    for i in range(4000):
        command("WEIR.CREATE", f"d{i}", "bloom:memory=1K,seed=3")
        command("WEIR.ADDHASH", f"d{i}", struct.pack("<Q", i), "BATCH", "me", 1)
    r.delete(*[f"d{i}" for i in range(4000) if i % 8])
    r.config_set("active-defrag-ignore-bytes", 1)
    r.config_set("active-defrag-threshold-lower", 0)
    moved = [digest(r, f"d{i}") for i in range(0, 4000, 8)]
    check("values are moved", wait_for(lambda: r.info("stats")["active_defrag_hits"] > 0))
    equal("and stay what they are", [digest(r, f"d{i}") for i in range(0, 4000, 8)], moved)
    r.config_set("activedefrag", "no")
    r.delete(*[f"d{i}" for i in range(0, 4000, 8)])

# --- the append-only file as it was written, and rewritten
command("WEIR.ADDHASH", "a", struct.pack("<3Q", 1, 2, 3), "BATCH", "p", 9)
digests = [digest(r, k) for k in names]
server.restart(9)
r, e = server.client(), Raw(server, 2)
equal("append-only file: same digests", [digest(r, k) for k in names], digests)
r.bgrewriteaof()
check("rewritten", wait_for(lambda: not r.info("persistence")["aof_rewrite_in_progress"]
                            and not r.info("persistence")["aof_rewrite_scheduled"]))
command("WEIR.ADD", "a", "one more")
digests[names.index("a")] = digest(r, "a")
server.restart(9)
r, e = server.client(), Raw(server, 2)
equal("rewritten append-only file: same digests", [digest(r, k) for k in names], digests)
equal("and the numbered batches", command("WEIR.ADDHASH", "a", b"", "BATCH", "p", 9)[0], b"\7")
check("and what is under way", command("WEIR.IMPORT", "part", 100, whole[100:], "LAST") == b"OK")

# --- damaged payloads: refused, and the server lives
draw = random.Random(1)
payload = r.dump("b")


def checksummed(body):
    return body + crc64(body).to_bytes(8, "little")


small = "bloom:memory=1K,seed=3"
command("WEIR.CREATE", "small", small)
command("WEIR.ADDHASH", "small", struct.pack("<2Q", 5, 6), "BATCH", "me", 1)
payload, whole = r.dump("small"), export("small", 1 << 20)
equal("the checksum of the test is the server's", checksummed(payload[:-8]), payload)
refused = loaded = 0
for i in range(400):
    bad = bytearray(payload[:-8])
    for _ in range(draw.randint(1, 3)):
        bad[draw.randrange(len(bad) - 2)] ^= 1 << draw.randrange(8)
    if i % 4 == 0:
        bad = bad[:draw.randrange(1, len(bad) - 2)] + bad[-2:]
    if error_of(e, "RESTORE", "fuzzed", 0, checksummed(bytes(bad))):
        refused += 1
    else:  # an expiry or the name of the type's bits that mean nothing
        loaded += 1
        r.delete("fuzzed")
check(f"damaged payloads are refused: {refused} of 400", refused >= 390 and server.alive())
for i in range(300):
    bad = bytearray(whole)
    bad[draw.randrange(len(bad))] ^= 1 << draw.randrange(8)
    bad = bytes(bad[:draw.randrange(len(bad))]) if i % 3 == 0 else bytes(bad)
    refused += bool(error_of(e, "WEIR.IMPORT", "fuzzed", 0, bad, "LAST")) and not r.exists("fuzzed")
    refused += bool(error_of(e, "WEIR.ABSORB", "fuzzed", bad)) and not r.exists("fuzzed")
check("damaged chunks are refused", refused - 600 >= 390 and server.alive(), refused)

# --- memory
r.config_set("maxmemory", r.info("memory")["used_memory"] + (4 << 20))
for name, args in [("create", ["WEIR.CREATE", "large", "bloom:memory=64M"]),
                   ("create a sketch", ["WEIR.CREATE", "large", "countmin:memory=64M"])]:
    got = error_of(e, *args)
    check(f"maxmemory: {name}", got.startswith("OOM") and not r.exists("large"), got)
r.config_set("maxmemory", 1 << 20)
check("maxmemory: the server's own", error_of(e, "WEIR.ADD", "a", "x").startswith("OOM"))
r.config_set("maxmemory", 0)
tight = Server(before=["prlimit", "--as=600000000"])
t = Raw(tight, 2)
got = error_of(t, "WEIR.CREATE", "large", "bloom:memory=512M")
check("no memory is an error", got.startswith("OOM"), got)
equal("and the next one works", t("WEIR.CREATE", "large", "bloom:memory=1M"), "+OK")
check("the server lives", tight.alive(), tight.tail())
check("the server lives", server.alive(), server.tail())
finish()
