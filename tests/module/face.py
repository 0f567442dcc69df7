"""BF.*, CMS.*, TOPK.* as RedisBloom documents them, in both protocols, and with redis-py."""
import random
import subprocess

from server import MODULE, SOURCE, Raw, Server, check, digest, equal, error_of, finish, followed, wait_for, work

server = Server()
r = server.client()
e = Raw(server, 2)
server.follow()

for version in 2, 3:
    c = Raw(server, version)
    v = f"RESP{version}"
    yes, no = (1, 0) if version == 2 else (True, False)
    c("FLUSHALL")
    equal(f"{v} BF.RESERVE", c("BF.RESERVE", "f", 0.01, 1000), "+OK")
    equal(f"{v} BF.RESERVE EXPANSION", c("BF.RESERVE", "f2", 0.01, 1000, "EXPANSION", 4), "+OK")
    equal(f"{v} BF.RESERVE NONSCALING", c("BF.RESERVE", "n", 0.01, 3, "NONSCALING"), "+OK")
    equal(f"{v} BF.ADD new", c("BF.ADD", "f", "a"), yes)
    equal(f"{v} BF.ADD seen", c("BF.ADD", "f", "a"), no)
    equal(f"{v} BF.ADD makes a filter", c("BF.ADD", "made", "a"), yes)
    equal(f"{v} BF.MADD", c("BF.MADD", "f", "a", "b", "b"), [no, yes, no])
    equal(f"{v} BF.MADD of one is an array", c("BF.MADD", "f", "z"), [yes])
    equal(f"{v} BF.INSERT", c("BF.INSERT", "i", "CAPACITY", 50, "ERROR", 0.1, "EXPANSION", 2, "ITEMS", "a", "a"), [yes, no])
    equal(f"{v} BF.INSERT NOCREATE", c("BF.INSERT", "i", "NOCREATE", "ITEMS", "a"), [no])
    equal(f"{v} BF.INSERT NONSCALING", c("BF.INSERT", "i2", "NONSCALING", "ITEMS", "a"), [yes])
    equal(f"{v} BF.EXISTS", [c("BF.EXISTS", "f", x) for x in "ac"], [yes, no])
    equal(f"{v} BF.EXISTS without a filter", c("BF.EXISTS", "none", "a"), no)
    equal(f"{v} BF.MEXISTS", c("BF.MEXISTS", "f", "a", "c", "b"), [yes, no, yes])
    equal(f"{v} BF.MEXISTS without a filter", c("BF.MEXISTS", "none", "a", "b"), [no, no])
    equal(f"{v} BF.CARD", [c("BF.CARD", k) for k in ("f", "none")], [3, 0])
    full = c("BF.MADD", "n", 1, 2, 3, 4, 5)
    equal(f"{v} a filter that may not scale is full", full, [yes] * 3 + ["-ERR non scaling filter is full"])
    equal(f"{v} and knows what it has", c("BF.MADD", "n", 1, 2), [no, no])
    equal(f"{v} and says so", c("BF.ADD", "n", 9), "-ERR non scaling filter is full")
    info = c("BF.INFO", "f")
    info = info if version == 3 else dict(zip(info[::2], info[1::2]))
    equal(f"{v} BF.INFO", sorted(info), ["+Capacity", "+Expansion rate", "+Number of filters", "+Number of items inserted", "+Size"])
    equal(f"{v} BF.INFO ITEMS", c("BF.INFO", "f", "ITEMS"), [3])
    equal(f"{v} BF.INFO CAPACITY of a fixed one", c("BF.INFO", "n", "capacity"), [3])
    equal(f"{v} BF.INFO EXPANSION of a fixed one", c("BF.INFO", "n", "EXPANSION"), [None])
    for i in range(2000):
        c("BF.ADD", "f2", i)
    iterator, known = 0, digest(r, "f2")
    while True:
        iterator, chunk = c("BF.SCANDUMP", "f2", iterator)
        if not iterator:
            break
        equal(f"{v} BF.LOADCHUNK", c("BF.LOADCHUNK", "back", iterator, chunk), "+OK")
    equal(f"{v} BF.SCANDUMP ends", chunk, b"")
    equal(f"{v} what was loaded", c("BF.MEXISTS", "back", *range(2000)), [yes] * 2000)
    iterator, chunk = c("BF.SCANDUMP", "f", 0)
    equal(f"{v} a filter gives way to a chunk", c("BF.LOADCHUNK", "back", iterator, chunk), "+OK")
    equal(f"{v} and is the other one", c("BF.EXISTS", "back", "a"), yes)

    equal(f"{v} CMS.INITBYDIM", c("CMS.INITBYDIM", "c", 2000, 5), "+OK")
    equal(f"{v} CMS.INITBYPROB", c("CMS.INITBYPROB", "p", 0.001, 0.01), "+OK")
    equal(f"{v} CMS.INCRBY", c("CMS.INCRBY", "c", "a", 5, "b", 2, "a", 1), [5, 2, 6])
    equal(f"{v} CMS.QUERY", c("CMS.QUERY", "c", "a", "b", "x"), [6, 2, 0])
    info = c("CMS.INFO", "p")
    info = info if version == 3 else dict(zip(info[::2], info[1::2]))
    equal(f"{v} CMS.INFO", info, {"+width": 2000, "+depth": 7, "+count": 0})
    c("CMS.INITBYDIM", "d", 2000, 5)
    c("CMS.INITBYDIM", "sum", 2000, 5)
    c("CMS.INCRBY", "d", "a", 1, "c", 10)
    equal(f"{v} CMS.MERGE", c("CMS.MERGE", "sum", 2, "c", "d"), "+OK")
    c("EXPIRE", "sum", 5000)
    c("CMS.MERGE", "sum", 2, "c", "d")
    check(f"{v} CMS.MERGE keeps when the key expires", c("TTL", "sum") > 4000)
    equal(f"{v} CMS.MERGE adds", c("CMS.QUERY", "sum", "a", "b", "c"), [7, 2, 10])
    equal(f"{v} CMS.MERGE WEIGHTS", c("CMS.MERGE", "sum", 2, "c", "d", "WEIGHTS", 1, 3), "+OK")
    equal(f"{v} CMS.MERGE replaces", c("CMS.QUERY", "sum", "a", "b", "c"), [9, 2, 30])

    equal(f"{v} TOPK.RESERVE", c("TOPK.RESERVE", "t", 2, 50, 4, 0.9), "+OK")
    equal(f"{v} TOPK.RESERVE short", c("TOPK.RESERVE", "t2", 2), "+OK")
    equal(f"{v} TOPK.ADD", c("TOPK.ADD", "t", "a", "b"), [None, None])
    equal(f"{v} TOPK.INCRBY", c("TOPK.INCRBY", "t", "a", 9, "b", 3, "c", 7), [None, None, b"b"])
    equal(f"{v} TOPK.QUERY", c("TOPK.QUERY", "t", "a", "b", "c"), [yes, no, yes])
    equal(f"{v} TOPK.COUNT", c("TOPK.COUNT", "t", "a", "b", "c"), [10, 4, 7])
    equal(f"{v} TOPK.LIST", c("TOPK.LIST", "t"), [b"a", b"c"])
    equal(f"{v} TOPK.LIST WITHCOUNT", c("TOPK.LIST", "t", "withcount"), [b"a", 10, b"c", 7])
    info = c("TOPK.INFO", "t")
    info = info if version == 3 else dict(zip(info[::2], info[1::2]))
    equal(f"{v} TOPK.INFO", (info["+k"], info["+width"], info["+depth"], float(info["+decay"])), (2, 50, 4, 0.9))
    followed(server, v)

# --- what TOPK.INCRBY says goes, against the list before and after; no counts are equal, of which some are listed
r.flushall()
draw, went = random.Random(4), 0
for k in "one", "many":
    r.execute_command("WEIR.CREATE", k, "top:k=12,width=5000,depth=4,seed=1")
for i in range(120):
    items = [(int(draw.paretovariate(0.6)), draw.randint(1, 100_000)) for _ in range(20)]
    gone = []
    for pair in items:
        before = set(e("TOPK.LIST", "one"))
        e("TOPK.INCRBY", "one", *pair)
        gone.append(next(iter(before - set(e("TOPK.LIST", "one"))), None))
    got = e("TOPK.INCRBY", "many", *[x for pair in items for x in pair])
    went += len(items) - gone.count(None)
    if got != gone or e("TOPK.LIST", "one") != e("TOPK.LIST", "many"):
        break
    if i % 10 == 0:  # the sketch changes by another command
        for k in "one", "many":
            e("WEIR.COUNT", k, items[0][0], 70_000, 1000 + i, 90_000 + i)
check("TOPK.INCRBY says which items leave the list", i == 119, (i, got, gone))
check(f"{went} did", went > 20)
followed(server, "TOPK.INCRBY")
r.flushall()
for c in (["BF.RESERVE", "f", 0.01, 1000], ["BF.MADD", "f", "a", "b", "z"], ["BF.RESERVE", "n", 0.01, 3, "NONSCALING"],
          ["BF.MADD", "n", 1, 2, 3], ["CMS.INITBYDIM", "c", 2000, 5], ["CMS.INITBYPROB", "p", 0.001, 0.01],
          ["CMS.INITBYDIM", "sum", 2000, 5], ["TOPK.RESERVE", "t", 2, 50, 4, 0.9]):
    r.execute_command(*c)

# --- errors
r.set("s", "text")
wrong = "WRONGTYPE Operation against a key holding the wrong kind of value"
for command, wanted in [
    ("BF.RESERVE f 0.01 1000", "ERR item exists"),
    ("BF.RESERVE x abc 1000", "ERR bad error rate"),
    ("BF.RESERVE x 1 1000", "ERR (0 < error rate range < 1)"),
    ("BF.RESERVE x 0 1000", "ERR (0 < error rate range < 1)"),
    ("BF.RESERVE x nan 1000", "ERR"), ("BF.RESERVE x 9e-9 1000", "ERR bad error rate: the lowest is 1e-08"),
    ("BF.INSERT x ERROR 1e-300 ITEMS a", "ERR bad error rate: the lowest is 1e-08"),
    ("BF.RESERVE x 0.01 abc", "ERR bad capacity"),
    ("BF.RESERVE x 0.01 0", "ERR (capacity should be larger than 0)"),
    ("BF.RESERVE x 0.01 -5", "ERR (capacity should be larger than 0)"),
    ("BF.RESERVE x 0.01 10 EXPANSION", "ERR no expansion"),
    ("BF.RESERVE x 0.01 10 EXPANSION abc", "ERR bad expansion"),
    ("BF.RESERVE x 0.01 10 NONSCALING EXPANSION 2", "Nonscaling filters cannot expand"),
    ("BF.RESERVE x 0.01 9999999999999999", "ERR bad capacity"), ("BF.RESERVE x 0.01 99999999999999", "OOM"),
    ("BF.RESERVE x 0.01", "ERR wrong number of arguments"),
    ("BF.RESERVE s 0.01 10", wrong),
    ("BF.ADD s x", wrong), ("BF.MADD s x", wrong), ("BF.EXISTS s x", wrong), ("BF.CARD s", wrong),
    ("BF.INFO s", wrong), ("BF.SCANDUMP s 0", wrong), ("BF.LOADCHUNK s 1 x", wrong), ("BF.ADD c x", wrong),
    ("BF.ADD f", "ERR wrong number of arguments"), ("BF.ADD f a b", "ERR wrong number of arguments"),
    ("BF.INSERT x NOCREATE ITEMS a", "ERR not found"), ("BF.INSERT x ERROR abc ITEMS a", "ERR Bad error rate"),
    ("BF.INSERT x CAPACITY abc ITEMS a", "ERR Bad capacity"), ("BF.INSERT x EXPANSION abc ITEMS a", "ERR Bad expansion"),
    ("BF.INSERT x FOO ITEMS a", "ERR Unknown argument received"), ("BF.INSERT x ERROR 2 ITEMS a", "ERR Bad argument received"),
    ("BF.INSERT x CAPACITY 5 ITEMS", "ERR wrong number of arguments"),
    ("BF.INFO none", "ERR not found"), ("BF.INFO f FOO", "ERR Invalid information value"),
    ("BF.SCANDUMP none 0", "ERR not found"), ("BF.SCANDUMP f x", "ERR Second argument must be numeric"),
    ("BF.SCANDUMP f 5", "ERR no dump is at this iterator"), ("BF.LOADCHUNK x y z", "ERR Second argument must be numeric"),
    ("BF.LOADCHUNK x 1 zzz", "ERR received bad data"), ("BF.LOADCHUNK x 549755813891 zzz", "ERR 'snapshot' is not a weir snapshot"),
    ("CMS.INITBYDIM c 10 2", "CMS: key already exists"), ("CMS.INITBYDIM s 10 2", "CMS: key already exists"), ("TOPK.RESERVE s 2", "TopK: key already exists"),
    ("CMS.INITBYDIM x 0 2", "CMS: invalid width"),
    ("CMS.INITBYDIM x abc 2", "CMS: invalid width"), ("CMS.INITBYDIM x 10 0", "CMS: invalid depth"),
    ("CMS.INITBYPROB x 2 0.1", "CMS: invalid overestimation value"), ("CMS.INITBYPROB x 0.1 0", "CMS: invalid prob value"),
    ("CMS.INCRBY none a 1", "CMS: key does not exist"), ("CMS.INCRBY c a x", "CMS: Cannot parse number"),
    ("CMS.INCRBY c a -1", "CMS: Number cannot be negative"), ("CMS.INCRBY c a 1 b", "ERR wrong number of arguments"),
    ("CMS.INCRBY s a 1", wrong), ("CMS.INCRBY f a 1", wrong), ("CMS.QUERY none a", "CMS: key does not exist"),
    ("CMS.INFO none", "CMS: key does not exist"), ("CMS.MERGE none 1 c", "CMS: key does not exist"),
    ("CMS.MERGE sum x c", "CMS: invalid numkeys"), ("CMS.MERGE sum 0 c", "CMS: Number of keys must be positive"),
    ("CMS.MERGE sum 2 c", "CMS: wrong number of keys"), ("CMS.MERGE sum 1 c WEIGHTS", "CMS: wrong number of keys/weights"),
    ("CMS.MERGE sum 1 c WEIGHTS x", "CMS: invalid weight value"), ("CMS.MERGE sum 1 p", "CMS: width/depth is not equal"),
    ("CMS.MERGE sum 1 none", "CMS: key does not exist"),
    ("TOPK.RESERVE t 2", "TopK: key already exists"), ("TOPK.RESERVE x 0", "TopK: invalid k"),
    ("TOPK.RESERVE x 2 0 1 0.9", "TopK: invalid width"), ("TOPK.RESERVE x 2 1 0 0.9", "TopK: invalid depth"),
    ("TOPK.RESERVE x 2 1 1 2", "TopK: invalid decay value"), ("TOPK.RESERVE x 2 5", "ERR wrong number of arguments"),
    ("TOPK.ADD none a", "TopK: key does not exist"), ("TOPK.ADD s a", wrong), ("TOPK.ADD c a", wrong),
    ("TOPK.INCRBY t a 100001", "TopK: increment must be"), ("TOPK.INCRBY t a x", "TopK: increment must be"),
    ("TOPK.INCRBY t a", "ERR wrong number of arguments"), ("TOPK.QUERY none a", "TopK: key does not exist"),
    ("TOPK.COUNT none a", "TopK: key does not exist"), ("TOPK.LIST none", "TopK: key does not exist"),
    ("TOPK.LIST t FOO", "WITHCOUNT keyword expected"), ("TOPK.INFO none", "TopK: key does not exist"),
]:
    before = [digest(r, k) for k in ("f", "c", "t", "sum", "s")]
    got = error_of(e, *command.split())
    check("error: " + command, got.startswith(wanted) and before == [digest(r, k) for k in ("f", "c", "t", "sum", "s")]
          and not r.exists("x"), got)

# --- redis-py, as its users write it
bf, cms, topk = r.bf(), r.cms(), r.topk()
r.flushall()
check("redis-py: bf().create", bf.create("f", 0.01, 1000))
equal("redis-py: bf().add", [bf.add("f", "a"), bf.add("f", "a")], [1, 0])
equal("redis-py: bf().madd", bf.madd("f", "a", "b"), [0, 1])
equal("redis-py: bf().insert", bf.insert("i", ["a", "a"], capacity=100, error=0.01), [1, 0])
equal("redis-py: bf().exists", [bf.exists("f", "a"), bf.exists("f", "q")], [1, 0])
equal("redis-py: bf().mexists", bf.mexists("f", "a", "q"), [1, 0])
equal("redis-py: bf().info", bf.info("f").insertedNum, 2)
iterator = 0
while True:
    iterator, chunk = bf.scandump("f", iterator)
    if not iterator:
        break
    bf.loadchunk("g", iterator, chunk)
equal("redis-py: scandump, loadchunk", bf.mexists("g", "a", "b", "q"), [1, 1, 0])
check("redis-py: cms()", cms.initbydim("c", 100, 4) and cms.incrby("c", ["a", "b"], [3, 4]) == [3, 4]
      and cms.query("c", "a") == [3] and cms.info("c").count == 7)
check("redis-py: topk()", topk.reserve("t", 3, 20, 3, 0.9) and topk.add("t", "x", "y") == [None, None]
      and topk.query("t", "x", "z") == [1, 0] and topk.info("t").k == 3)

# --- the rate, and a filter that forgets
r.flushall()
bf.create("rate", 0.01, 5000)
bf.madd("rate", *range(5000))
wrong_seen = sum(bf.mexists("rate", *range(10000, 30000)))
check(f"BF.RESERVE 1%: {wrong_seen} of 20,000 wrong", wrong_seen <= 260)  # 1% and 4 sigmas
equal("and none is missing", sum(bf.mexists("rate", *range(5000))), 5000)
r.execute_command("BF.MADD", "small", *range(5000))
last = r.execute_command("BF.MEXISTS", "small", *range(5000))
known = sum(last[-3000:])  # some are missing that were taken for seen when they came: one in a hundred
check(f"BF.ADD alone: of the last 3,000 {known} are known, of those before {sum(last[:2000])} of 2,000", known >= 2900 and sum(last[:2000]) < 1800)
r.config_set("weir.bf-spec", "recent:window=1h")
bf.create("forgets", 0.001, 1000)
check("weir.bf-spec: another filter", b"recent:" in r.execute_command("WEIR.INFO", "forgets")[5])
for i in range(50000):
    if i % 1000 == 0:
        bf.madd("forgets", *range(i, i + 1000))
check("whose memory stays", r.memory_usage("forgets") < 20000)
check("a spec that makes nothing is refused", error_of(Raw(server, 2), "CONFIG", "SET", "weir.bf-spec", "recnt"))
r.config_set("weir.bf-spec", "bloom")

# --- replicas have the same bytes, also of what chance decides elsewhere
draw = random.Random(3)
topk.reserve("list", 20, 30, 3, 0.9)
cms.initbydim("counts", 50, 3)
r.config_set("weir.bf-spec", "recent:window=1h")
for i in range(300):
    items = [int(draw.paretovariate(0.8)) for _ in range(20)]
    topk.add("list", *items)
    cms.incrby("counts", items, [1] * 20)
    bf.madd("implicit", *items)
bf.madd("forgets", *range(100))
r.execute_command("CMS.INITBYDIM", "merged", 50, 3)
r.execute_command("CMS.MERGE", "merged", 1, "counts", "WEIGHTS", 5)
followed(server, "all commands")

# --- names that others own, and the switch
off = Server("--weir.redisbloom", "no")
check("switched off", "unknown command" in error_of(Raw(off, 2), "BF.ADD", "a", "b"))
equal("the rest is there", Raw(off, 2)("WEIR.CREATE", "f", "bloom"), "+OK")
other = work + "/other.so"
built = subprocess.run(["cc", "-shared", "-fPIC", "-I", SOURCE + "/module", "-o", other, SOURCE + "/tests/module/other_bf.c",
                        SOURCE + "/module/redis_api.c"], capture_output=True, text=True)
check("another module is built", built.returncode == 0, built.stderr)
both = Server("--loadmodule", MODULE, module=other)
equal("what another module has stays its own", Raw(both, 2)("BF.ADD", "a", "b"), "+another")
check("and the rest of that family is not ours", "unknown command" in error_of(Raw(both, 2), "BF.MADD", "a", "b"))
equal("other families are", Raw(both, 2)("CMS.INITBYDIM", "c", 10, 2), "+OK")
for one in server, server.replica, off, both:
    check("the server lives", one.alive(), one.tail())
finish()
