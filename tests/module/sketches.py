"""WEIR.COUNT, ESTIMATE, TOP, DISTINCT, QUANTILE, SELFJOIN, JOIN: both protocols, errors, replicas."""
import select

from server import Raw, Server, check, digest, equal, error_of, finish, followed, wait_for

server = Server()
r = server.client()
e = Raw(server, 2)
server.follow()


def number(x):
    return float(x)


for version in 2, 3:
    c = Raw(server, version)
    v = f"RESP{version}"
    c("FLUSHALL")
    equal(f"{v} create", c("WEIR.CREATE", "cm", "countmin:memory=64K,seed=1"), "+OK")
    equal(f"{v} count", c("WEIR.COUNT", "cm", "a", 5, "b", 2), "+OK")
    equal(f"{v} take back", c("WEIR.COUNT", "cm", "a", -1), "+OK")
    one = c("WEIR.ESTIMATE", "cm", "a")
    equal(f"{v} estimate", [number(x) for x in one][0], 4)
    check(f"{v} estimate is of numbers", isinstance(one[0], float if version == 3 else bytes))
    for by in "auto", "cm", "cmm", "mean", "agms":
        many = c("WEIR.ESTIMATE", "cm", "BY", by, "a", "b", "c")
        equal(f"{v} estimate by {by}", [round(number(x[0])) for x in many], [4, 2, 0])
    check(f"{v} BY is an item, too", number(c("WEIR.ESTIMATE", "cm", "BY", "a")[1][0]) == 4)
    equal(f"{v} self-join", round(number(c("WEIR.SELFJOIN", "cm")[0])), 20)
    c("WEIR.CREATE", "other", "countmin:memory=64K,seed=1")
    c("WEIR.COUNT", "other", "a", 3, "c", 9)
    equal(f"{v} join", round(number(c("WEIR.JOIN", "cm", "other", "BY", "cmm")[0])), 12)
    c("WEIR.CREATE", "top", "top:k=5,memory=16K")
    c("WEIR.COUNT", "top", *[x for i in range(1, 9) for x in (f"i{i}", i)])
    top = c("WEIR.TOP", "top", 3)
    equal(f"{v} top", [(x[0], number(x[1])) for x in top], [(b"i8", 8), (b"i7", 7), (b"i6", 6)])
    equal(f"{v} top of all", len(c("WEIR.TOP", "top", 100)), 8)
    equal(f"{v} top by", len(c("WEIR.TOP", "top", 2, "BY", "cm")), 2)
    c("WEIR.CREATE", "hll", "hll:seed=1")
    c("WEIR.COUNT", "hll", *[x for i in range(1000) for x in (i, 1)])
    d = [number(x) for x in c("WEIR.DISTINCT", "hll")]
    check(f"{v} distinct", d[1] <= 1000 <= d[2], d)
    c("WEIR.CREATE", "kll", "kll:memory=16K,seed=4")
    c("WEIR.COUNT", "kll", *[x for i in range(1001) for x in (i, 1)])
    q = c("WEIR.QUANTILE", "kll", 0, 0.5, 1)
    equal(f"{v} quantiles", [q[0][0], q[2][0]], [0, 1000])
    check(f"{v} the median", abs(q[1][0] - 500) < 30)
    c("WEIR.COUNT", "kll", "1.5", 1)
    check(f"{v} a decimal", isinstance(c("WEIR.QUANTILE", "kll", 0.5)[0], float if version == 3 else bytes))
    info = c("WEIR.INFO", "cm")
    info = info if version == 3 else dict(zip(info[::2], info[1::2]))
    equal(f"{v} info", (info[b"type"], info[b"name"], info[b"offered"]), (b"sketch", b"countmin", 3))
    equal(f"{v} countwith", c("WEIR.COUNTWITH", "cm", "TIME", 5, "ITEMS", "a", 1), "+OK")
    equal(f"{v} a sketch with a filter's name", c("WEIR.CREATE", "sp", "spectral", "SKETCH"), "+OK")
    equal(f"{v} is one", r.type("sp"), b"weir-sket")
    followed(server, v)

before = [digest(r, k) for k in ("cm", "top", "kll", "hll")]
for name, command, wanted in [
    ("no key", ["WEIR.COUNT", "none", "a", 1], "WEIRMISSING"),
    ("no weight", ["WEIR.COUNT", "cm", "a", 1, "b"], "ERR each item needs a weight"),
    ("weight", ["WEIR.COUNT", "cm", "a", "much"], "ERR a weight must be a number"),
    ("infinite", ["WEIR.COUNT", "cm", "a", "inf"], "ERR a weight must be a number"),
    ("a fraction", ["WEIR.COUNT", "cm", "a", "1.5"], "ERR"),
    ("kll wants numbers", ["WEIR.COUNT", "kll", "x", 1], "ERR"),
    ("a filter's command", ["WEIR.ADD", "cm", "a"], "WRONGTYPE"),
    ("cannot tell", ["WEIR.DISTINCT", "cm"], "cannot tell"),
    ("no top", ["WEIR.TOP", "cm"], "cannot tell"),
    ("no quantile", ["WEIR.QUANTILE", "cm", 0.5], "cannot tell"),
    ("BY", ["WEIR.ESTIMATE", "cm", "BY", "guess", "a"], "ERR BY takes"),
    ("a share", ["WEIR.QUANTILE", "kll", 2], "from 0 to 1"),
    ("a number of items", ["WEIR.TOP", "top", 0], "ERR the number of items"),
    ("join of seeds", ["WEIR.JOIN", "cm", "top"], "ERR"),
    ("join of nothing", ["WEIR.JOIN", "cm", "none"], "WEIRMISSING"),
    ("a word too many", ["WEIR.SELFJOIN", "cm", "x"], "syntax error"),
    ("arity", ["WEIR.DISTINCT", "cm", "x"], "wrong number of arguments"),
    ("ITEMS", ["WEIR.COUNTWITH", "cm", "TIME", "1", "a", 1], "syntax error"),
]:
    got = error_of(e, *command)
    check("error: " + name, wanted in got, got)
equal("errors and questions change nothing", [digest(r, k) for k in ("cm", "top", "kll", "hll")], before)

r.execute_command("WEIR.CREATE", "decay", "top:k=9,memory=16K,decay=1h")
r.execute_command("WEIR.CREATE", "window", "window:length=1h,of=(countmin:memory=4K)", "SKETCH")
r.execute_command("WEIR.CREATE", "sample", "sample:n=20")
r.execute_command("WEIR.CREATE", "overflow", "countmin:memory=4K,counter=32,seed=1")
for i in range(20):
    for key in "decay", "window", "sample", "top", "kll":
        r.execute_command("WEIR.COUNT", key, *[x for j in range(50) for x in (i * j % 37, 1)])
got = error_of(e, "WEIR.COUNT", "overflow", "a", 2**31 - 1, "b", 1, "a", 2**31, "c", 1)
check("what comes before an overflow is counted", "(2 items before" in got or not got, got)
followed(server, "all sketches")

# --- many counts are counted in turns, and at once within a transaction
many = [x for i in range(10_000) for x in (i * i % 4999, 1 + i % 3)]
for spec in "countmin:memory=64K,seed=1", "kll:memory=8K,seed=1", "hll:seed=1", "countmin:memory=64K,decay=1h,seed=1", \
        "top:k=20,memory=64K,seed=1", "window:length=3000,panes=3,of=(top:k=20,memory=16K,seed=1),seed=1":
    for key in "turns", "once":
        r.delete(key)
        r.execute_command("WEIR.CREATE", key, spec, "SKETCH", "EPOCH", "1")
    equal(f"{spec}: 10,000 counts", r.execute_command("WEIR.COUNTWITH", "turns", "TIME", 10**18, "ITEMS", *many), b"OK")
    p = r.pipeline(transaction=True)
    p.execute_command("WEIR.COUNTWITH", "once", "TIME", 10**18, "ITEMS", *many)
    equal(f"{spec}: and in a transaction", p.execute(), [b"OK"])
    equal(f"{spec}: give the same bytes", digest(r, "turns"), digest(r, "once"))
r.execute_command("WEIR.CREATE", "refuses", "countmin:memory=64K,counter=32,seed=1")
got = error_of(e, "WEIR.COUNT", "refuses", *many, "a", 1 << 40, *many)
check("one of many is refused: those before it are in", "(10000 items before it were counted)" in got, got)
equal("and those behind it are not", dict(zip(*[iter(e("WEIR.INFO", "refuses"))] * 2))[b"offered"], 10_000)
followed(server, "many counts")

# --- many items of the other commands: in turns as in a transaction and in a script, in both protocols
few, plenty = [f"i{i % 400}" for i in range(300)], [f"i{i * i % 4999}" for i in range(20_000)]
increments = [x for i, item in enumerate(plenty) for x in (item, 2**31 - 1 if i == 15_000 else 1 + i % 3)]
for version in 2, 3:
    c = Raw(server, version)
    for key, spec in ("c", "countmin:memory=64K,seed=3"), ("t", "top:k=20,memory=16K,seed=3"):
        for name in "turns", "once":
            c("DEL", key + name)
            c("WEIR.CREATE", key + name, spec, "EPOCH", "1")
    for items, weighed in (few, [x for i in few for x in (i, 1)]), (plenty, increments):
        for command, key, args in [
            ("CMS.INCRBY", "c", weighed), ("CMS.QUERY", "c", items), ("WEIR.ESTIMATE", "c", ["BY", "cm", *items]),
            ("TOPK.ADD", "t", items), ("TOPK.INCRBY", "t", [min(x, 100_000) if isinstance(x, int) else x for x in weighed]),
            ("TOPK.QUERY", "t", items), ("TOPK.COUNT", "t", items), ("WEIR.ESTIMATE", "t", items)]:
            got = c(command, key + "turns", *args)
            c("MULTI")
            c(command, key + "once", *args)
            at_once = c("EXEC")[0]
            check(f"RESP{version} {command} of {len(items):,}: the same answers", got == at_once and len(got) == len(items))
        if items is few:
            script = "return redis.call('CMS.INCRBY', KEYS[1], unpack(ARGV))"
            equal(f"RESP{version} in a script", c("EVAL", script, 1, "conce", *weighed), c("CMS.INCRBY", "cturns", *weighed))
        for key in "c", "t":
            equal(f"RESP{version} {key} after {len(items):,}: the same bytes", digest(r, key + "turns"), digest(r, key + "once"))
    overflow = [i for i, x in enumerate(c("CMS.INCRBY", "cturns", *increments)) if isinstance(x, str) and x == "-CMS: INCRBY overflow"]
    check(f"RESP{version} one that overflows is an error, and those about it are counted", 15_000 in overflow and len(overflow) < 100, overflow)
    r.execute_command("WEIR.CREATE", "h", "hll", "IFABSENT")
    check(f"RESP{version} what cannot be estimated", error_of(c, "WEIR.ESTIMATE", "h", *plenty).startswith("ERR"))
    followed(server, f"RESP{version} many items")

# --- others count and ask while a batch is under way
one, other = Raw(server, 2), Raw(server, 2)
for command, key, step in ("CMS.INCRBY", "cturns", 2), ("TOPK.ADD", "tturns", 1), ("WEIR.ESTIMATE", "cturns", 1):
    words = [i % 5003 for i in range(100_000 * step)]
    one.send(command, key, *words)
    between = 0
    while not select.select([one.socket], [], [], 0)[0]:
        other("WEIR.COUNT", key, *[x for i in range(50) for x in (f"b{between}-{i}", 5)])
        between += len(other("WEIR.ESTIMATE", key, "BY", "cm", *few)) == 300
    check(f"{command}: others are served between", between > 0 and len(one.read()) == 100_000, between)
    followed(server, f"{command}, others between")
before = digest(r, "tturns")
one.send("TOPK.ADD", "tturns", *words)
check("the key goes", wait_for(lambda: digest(r, "tturns") != before) and other("DEL", "tturns") and one.read().startswith("-WEIRMISSING"))
followed(server, "the key goes")
check("the server lives", server.alive() and server.replica.alive(), server.tail())
finish()
