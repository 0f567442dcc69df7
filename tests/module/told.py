"""What a server tells of the module: COMMAND, ACL, INFO, CONFIG, freeing; and of each command of the table
its arity, its keys, what it says to a key of another type, on a replica, and where memory is short."""
from server import Raw, Server, check, equal, error_of, finish, wait_for

server = Server()
r, e = server.client(), Raw(server, 2)
# each command with its keys called k, l, m
SAMPLES = """
WEIR.CREATE k bloom|WEIR.ADD k a|WEIR.TEST k a|WEIR.ADDWITH k TIME 1 ITEMS a|WEIR.TESTWITH k TIME 1 ITEMS a
WEIR.REMOVE k a|WEIR.ADDHASH k 12345678|WEIR.TESTHASH k 12345678|WEIR.INFO k|WEIR.EXPORT k 0|WEIR.IMPORT k 0 x
WEIR.ABSORB k x|WEIR.MERGE k l m|WEIR.COUNT k a 1|WEIR.COUNTWITH k TIME 1 ITEMS a 1|WEIR.ESTIMATE k BY cm a b
WEIR.TOP k 3|WEIR.DISTINCT k|WEIR.QUANTILE k 0.5|WEIR.SELFJOIN k|WEIR.JOIN k l BY cm
BF.RESERVE k 0.01 100|BF.ADD k a|BF.MADD k a b|BF.INSERT k ITEMS a|BF.EXISTS k a|BF.MEXISTS k a b|BF.CARD k
BF.INFO k|BF.SCANDUMP k 0|BF.LOADCHUNK k 1 x
CMS.INITBYDIM k 10 2|CMS.INITBYPROB k 0.1 0.1|CMS.INCRBY k a 1|CMS.QUERY k a|CMS.MERGE k 2 l m WEIGHTS 1 2|CMS.INFO k
TOPK.RESERVE k 3|TOPK.ADD k a|TOPK.INCRBY k a 1|TOPK.QUERY k a|TOPK.COUNT k a|TOPK.LIST k|TOPK.INFO k
"""
samples = {s.split()[0]: s.split() for line in SAMPLES.strip().split("\n") for s in line.split("|")}
known = {c.decode().upper() for c in e("COMMAND", "LIST", "FILTERBY", "MODULE", "weir")}
equal("every command has a sample here", known ^ set(samples), set())
categories = "weir" in r.acl_cat()


def pairs(flat):
    return dict(zip(flat[::2], flat[1::2]))


def described(name, args):
    """COMMAND INFO and DOCS: what is wrong with them."""
    info, docs = e("COMMAND", "INFO", name)[0], pairs(e("COMMAND", "DOCS", name)[1])
    writes = "+write" in info[2]
    spec = pairs(info[8][0])
    good = {
        "arity": info[1] == len(args) if info[1] > 0 else -info[1] <= len(args),
        "read or write": writes != ("+readonly" in info[2]),
        "memory": not writes or "+denyoom" in info[2] or name == "WEIR.REMOVE",
        "first key": info[3] == 1,
        "key flags": ("+RO" in spec[b"flags"]) != writes,
        "docs": all(docs[k] for k in (b"summary", b"since", b"complexity", b"arguments")) and docs[b"group"] == b"module",
        "categories": not categories or {"+@weir", "+@write" if writes else "+@read"} <= set(info[6]),
    }
    return [k for k, v in good.items() if not v]


equal("COMMAND INFO, COMMAND DOCS", {n: w for n, a in samples.items() if (w := described(n, a))}, {})
got = {n: [k.decode() for k in e("COMMAND", "GETKEYS", *a)] for n, a in samples.items()}
wanted = {n: [x for x in a[1:] if x in ("k", "l", "m")] for n, a in samples.items()}
equal("COMMAND GETKEYS", got, wanted)
equal("too few arguments", [n for n in samples if "wrong number of arguments" not in error_of(e, n)], [])
docs = pairs(e("COMMAND", "DOCS", "WEIR.ADDHASH")[1])
equal("COMMAND DOCS: arguments of WEIR.ADDHASH", [pairs(a)[b"name"].decode() for a in docs[b"arguments"]],
      ["key", "hashes", "seed", "hashversion", "epoch", "time", "times", "producers", "importances", "batch"])

# --- a key of another type, a key that is missing
r.set("k", "text")
own = {"CMS.INITBYDIM": "CMS: key already exists", "CMS.INITBYPROB": "CMS: key already exists", "TOPK.RESERVE": "TopK: key already exists",
       "BF.LOADCHUNK": "WRONGTYPE", "WEIR.ABSORB": "WRONGTYPE"}
equal("a string at the key: an error", [(n, got) for n, a in samples.items() if not (got := error_of(e, *a)).startswith(own.get(n, "WRONGTYPE"))], [])
equal("and it is what it was", r.get("k"), b"text")
r.delete("k")
missing = {n: got for n, a in samples.items() if (got := error_of(e, *a)) or not r.flushall()}
makes = {n for n in samples if n not in missing}
equal("commands that need no key", makes, set(
    "WEIR.CREATE WEIR.IMPORT BF.RESERVE BF.ADD BF.MADD BF.INSERT BF.EXISTS BF.MEXISTS BF.CARD BF.LOADCHUNK CMS.INITBYDIM "
    "CMS.INITBYPROB TOPK.RESERVE".split()))

# --- a replica reads; memory that is short
server.follow()
copy = Raw(server.replica, 2)
writes = [n for n in samples if "+write" in e("COMMAND", "INFO", n)[0][2]]
equal("a replica refuses what writes", [n for n in writes if not error_of(copy, *samples[n]).startswith("READONLY")], [])
equal("and nothing else", [n for n in samples if n not in writes and error_of(copy, *samples[n]).startswith("READONLY")], [])
r.config_set("maxmemory", 1)
equal("maxmemory", [n for n in writes if n != "WEIR.REMOVE" and not error_of(e, *samples[n]).startswith("OOM")], [])
r.config_set("maxmemory", 0)

# --- access control
for name, rules, may, may_not in [("by_name", ["+weir.test", "+weir.info"], "WEIR.TEST", "WEIR.ADD"),
                                  ("by_category", ["+@weir", "-@write"], "WEIR.TEST", "WEIR.ADD")]:
    if name == "by_category" and not categories:
        print("ok ACL by category # skip this server knows no categories of modules")
        continue
    e("ACL", "SETUSER", name, "on", ">pw", "~f*", *rules)
    u = Raw(server, 2)
    u("AUTH", name, "pw")
    e("WEIR.CREATE", "f", "bloom:memory=1K")
    equal(f"ACL {name}: may read", u(may, "f", "a"), 1)
    check(f"ACL {name}: may not write", error_of(u, may_not, "f", "a").startswith("NOPERM"))
    check(f"ACL {name}: may not read other keys", error_of(u, may, "g", "a").startswith("NOPERM"))

# --- who watches a key, and who listens: told of each change, and of nothing else
r.flushall()
for key, spec in ("b", "bloom:memory=1K,seed=3"), ("c", "counting:memory=1K"), ("s", "countmin:width=9,depth=2,seed=0"), ("o", "kll"):
    e("WEIR.CREATE", key, spec)
snapshot = e("WEIR.EXPORT", "b", 0)[1]
dump = e("BF.SCANDUMP", "b", 0)
e("TOPK.RESERVE", "t", 2)
e("RESTORE", "part", 0, e("DUMP", "b"))
e("WEIR.IMPORT", "half", 0, snapshot[:20])
listener = r.pubsub(ignore_subscribe_messages=True)
r.config_set("notify-keyspace-events", "Edg")
listener.psubscribe("__keyevent@0__:*")
listener.get_message(timeout=5)  # that it is subscribed


def told_of(key, command):
    """Does a transaction of one who watches the key come to nothing by this command? And the events, of any key."""
    u = Raw(server, 2)
    u("WATCH", key)
    e(*command)
    u("MULTI")
    u("PING")
    aborted = u("EXEC") is None
    e("PUBLISH", "__keyevent@0__:end", "")
    events = []
    while True:
        message = listener.get_message(timeout=5)
        if not message or message["channel"].endswith(b":end"):
            return aborted, " ".join(events)
        events.append(message["channel"].split(b":")[1].decode())


changes = {
    "n": [("weir.create", ["WEIR.CREATE", "n", "bloom:memory=1K"]), ("", ["WEIR.CREATE", "n", "bloom", "IFABSENT"]), ("", ["BF.RESERVE", "n", 0.1, 5])],
    "b": [("weir.add", ["WEIR.ADD", "b", "x"]), ("weir.add", ["WEIR.ADDWITH", "b", "ITEMS", "x"]), ("", ["WEIR.REMOVE", "b", "x"]),
          ("weir.add", ["WEIR.ADDHASH", "b", "12345678", "BATCH", "me", 1]), ("", ["WEIR.ADDHASH", "b", "12345678", "BATCH", "me", 1]),
          ("", ["WEIR.ADDHASH", "b", "123"]), ("weir.add", ["WEIR.ADDHASH", "b", bytes(8 * 20000)]), ("weir.add", ["BF.ADD", "b", "y"]),
          ("weir.add", ["BF.MADD", "b", "y"]), ("weir.absorb", ["WEIR.ABSORB", "b", snapshot]), ("", ["WEIR.ABSORB", "b", "x"]),
          ("weir.merge", ["WEIR.MERGE", "b", "part"]), ("", ["WEIR.MERGE", "b", "c"]), ("", ["WEIR.TEST", "b", "x"]),
          ("", ["WEIR.IMPORT", "b", 0, "x"]), ("", ["WEIR.EXPORT", "b", 0, "BYTES", 10]), ("", ["CMS.INCRBY", "b", "a", 1])],
    "c": [("weir.remove", ["WEIR.REMOVE", "c", "x"])],
    "half": [("", ["WEIR.IMPORT", "half", 5, "x"]), ("weir.import", ["WEIR.IMPORT", "half", 20, snapshot[20:30]]),
             ("weir.import", ["WEIR.IMPORT", "half", 30, snapshot[30:], "LAST"])],
    "bad": [("weir.import", ["WEIR.IMPORT", "bad", 0, snapshot[:40]]), ("del", ["WEIR.IMPORT", "bad", 40, "rubbish", "LAST"])],
    "load": [("weir.import", ["BF.LOADCHUNK", "load", *dump]), ("del weir.import", ["BF.LOADCHUNK", "load", *dump]),
             ("", ["BF.LOADCHUNK", "load", 3, "long"])],
    "s": [("weir.count", ["WEIR.COUNT", "s", "a", 1]), ("weir.count", ["WEIR.COUNTWITH", "s", "ITEMS", "a", 1]),
          ("", ["WEIR.COUNT", "s", "a", "x"]), ("", ["WEIR.COUNT", "s", "a", 1 << 40]), ("weir.count", ["CMS.INCRBY", "s", "a", 1]),
          ("", ["CMS.INCRBY", "s", "a", 1 << 40]), ("weir.merge", ["CMS.MERGE", "s", 1, "s"]), ("", ["CMS.MERGE", "s", 1, "o"])],
    "t": [("weir.count", ["TOPK.ADD", "t", "a"]), ("weir.count", ["TOPK.INCRBY", "t", "a", 3]), ("", ["TOPK.INCRBY", "t", "a", "x"]), ("", ["TOPK.LIST", "t"])],
    "made": [("weir.create weir.add", ["BF.INSERT", "made", "ITEMS", "a"])],
}
for key, commands in changes.items():
    for events, command in commands:
        equal(f"{command[0]} {str(command[1:])[:30]}: watchers, events", told_of(key, command), (bool(events), events))
r.config_set("notify-keyspace-events", "")

# --- INFO, MEMORY USAGE, freeing by a thread
r.flushall()


def values():
    return {k: v for k, v in r.info("weir_values").items()}


empty = values()
equal("INFO: nothing", (empty["weir_filters"], empty["weir_sketches"], empty["weir_imports"], empty["weir_memory"]), (0, 0, 0, 0))
e("WEIR.CREATE", "f", "bloom:memory=8M")
e("WEIR.CREATE", "s", "hll")
e("WEIR.IMPORT", "part", 0, "x" * 5000)
full = values()
equal("INFO: a filter, a sketch, an import", (full["weir_filters"], full["weir_sketches"], full["weir_imports"]), (1, 1, 1))
equal("INFO: whose names are ours", [full[k] for k in ("weir_has_bf", "weir_has_cms", "weir_has_topk")], [1, 1, 1])
check("INFO: memory", 8 << 20 <= full["weir_memory"] < 9 << 20, full)
check("MEMORY USAGE", 8 << 20 <= r.memory_usage("f") < 9 << 20 and 5000 <= r.memory_usage("part") < 10000)
freed = r.info("memory").get("lazyfreed_objects", 0)
e("UNLINK", "f")
check("UNLINK: freed by a thread", wait_for(lambda: r.info("memory")["lazyfreed_objects"] > freed))
check("and gone", wait_for(lambda: values()["weir_filters"] == 0 and values()["weir_memory"] < 1 << 20), values())

# --- settings: the server's own way with them
settings = pairs(e("CONFIG", "GET", "weir.*"))
equal("CONFIG GET", sorted(settings), sorted(b"weir." + s for s in (b"bf-spec", b"bf-error-rate", b"bf-initial-size", b"cms-seed",
                                                                 b"huge-pages", b"redisbloom")))
for name, value in [("bf-spec", "recnt"), ("bf-spec", "bloom:nothing=1"), ("bf-spec", ""), ("bf-spec", "hll"), ("bf-error-rate", "2"),
                    ("bf-error-rate", "9e-9"), ("bf-initial-size", "100000000000001"),
                    ("bf-error-rate", "x"), ("bf-initial-size", "0"), ("bf-initial-size", "x"), ("cms-seed", "-1"), ("huge-pages", "maybe"),
                    ("redisbloom", "no")]:
    got = error_of(e, "CONFIG", "SET", "weir." + name, value)
    check(f"CONFIG SET weir.{name} '{value}' is refused", got and pairs(e("CONFIG", "GET", "weir.*")) == settings, got)
for spec in "recent:window=1h", "buffer:memory=64K", "recent:memory=64K,fpr=0.1%", "window:length=1000", "counting", "stable:memory=64K":
    equal(f"CONFIG SET weir.bf-spec {spec}", e("CONFIG", "SET", "weir.bf-spec", spec), "+OK")
    e("DEL", "b")
    equal("BF.RESERVE makes that", e("BF.RESERVE", "b", 0.01, 1000), "+OK")
    info = pairs(e("WEIR.INFO", "b"))
    check("and that it is", info[b"name"].decode() == spec.split(":")[0], info)
    equal("BF.ADD, BF.EXISTS", [e("BF.ADD", "b", "x"), e("BF.ADD", "b", "x"), e("BF.EXISTS", "b", "x"), e("BF.EXISTS", "b", "y")], [1, 0, 1, 0])
check("the servers live", server.alive() and server.replica.alive(), server.tail())
finish()
