"""10,000 random commands against an exact model.

Filters are so large for what they get, and their rates so low (0.0001%), that they are exact but for a
chance below 1e-3 in the whole test; the seed is fixed. Between the commands the server is restarted,
killed, saved, its append-only file rewritten, its replica cut off, restarted and promoted, values are
copied, dumped and exported; after each of these, digests and answers are as they were.
"""
import random
import struct

from server import Raw, Server, check, digest, equal, finish, wait_for

COMMANDS, KEYS = 10_000, 400
SPECS = {
    "recent": "recent:memory=256K", "timed": "recent:memory=256K,window=10h", "bloom": "bloom:memory=64K",
    "growing": "growing:memory=1M,of=(bloom)", "counting": "counting:memory=256K", "horizontal": "horizontal:memory=1M",
    "cm": "countmin:width=50000,depth=5", "top": "top:k=400,width=20000,depth=5",
}
FILTERS = [k for k in SPECS if k not in ("cm", "top")]
draw = random.Random(20)
OPTIONS = ["--appendonly", "yes", "--repl-backlog-size", "16mb"]
servers = [Server(*OPTIONS), Server(*OPTIONS)]
primary, replica = servers
model, numbers, kept = {}, {}, {}
wrong = []
events = {}


def r():
    return primary.client()


def follow():
    replica.client().replicaof("127.0.0.1", primary.port)


def in_step():
    a, b = primary.client(), replica.client()

    def same():
        x, y = a.info("replication"), b.info("replication")
        return y.get("master_link_status") == "up" and x["master_repl_offset"] == y.get("slave_repl_offset")
    return wait_for(same)


def digests(server):
    c = server.client()
    return {k: digest(c, k) for k in model}


connection = None


def command(*args):
    global connection
    if connection is None:
        connection = r()
    return connection.execute_command(*args)


def expect(what, got, wanted):
    if got != wanted:
        wrong.append((what, got, wanted))


def numbers_of(reply):
    return reply if isinstance(reply, list) else [reply]


def bits(bitmap, n):
    return [bitmap[i // 8] >> i % 8 & 1 for i in range(n)]


def adding(key, items):
    """What an exact filter answers; it knows them afterwards."""
    known, out = model[key], []
    for item in items:
        out.append(int(known.get(item, 0) == 0))
        known[item] = known.get(item, 0) + 1
    return out


def some_items(key):
    return [draw.randrange(KEYS) for _ in range(draw.choice([1, 1, 2, 5, 20]))]


def hash_items(key):
    # hashes are keys of their own, apart from items
    return [("hash", draw.randrange(KEYS)) for _ in range(draw.choice([0, 1, 8, 50]))]


def blob(items):
    return b"".join(struct.pack("<Q", (h + 1) * 0x9E3779B97F4A7C15 % 2**64) for _, h in items)


def do_filter(key):
    what = draw.choice(["add", "add", "test", "hash", "hash", "testhash", "batch", "with", "bf"])
    if key == "counting" and draw.random() < 0.3:
        what = "remove"
    if what in ("add", "test", "with", "remove", "bf"):
        items = some_items(key)
        if what == "add":
            expect((key, what), numbers_of(command("WEIR.ADD", key, *items)), adding(key, items))
        elif what == "bf":
            got = command("BF.MADD", key, *items)
            wanted = adding(key, items)
            expect((key, what), got, wanted)
        elif what == "with":
            expect((key, what), numbers_of(command("WEIR.ADDWITH", key, "IMPORTANCE", draw.random(), "ITEMS", *items)), adding(key, items))
        elif what == "test":
            expect((key, what), numbers_of(command("WEIR.TEST", key, *items)), [int(not model[key].get(i)) for i in items])
        else:
            wanted = []
            for i in items:
                wanted.append(int(model[key].get(i, 0) > 0))
                model[key][i] = max(0, model[key].get(i, 0) - 1)
            expect((key, what), numbers_of(command("WEIR.REMOVE", key, *items)), wanted)
        return
    items = hash_items(key)
    if what == "testhash":
        expect((key, what), bits(command("WEIR.TESTHASH", key, blob(items)), len(items)), [int(not model[key].get(i)) for i in items])
    elif what == "hash":
        expect((key, what), bits(command("WEIR.ADDHASH", key, blob(items)), len(items)), adding(key, items))
    else:
        who = f"p{draw.randrange(3)}"
        if (key, who) in kept and draw.random() < 0.4:
            number, same, reply = kept[key, who]
            expect((key, "again"), command("WEIR.ADDHASH", key, blob(same), "BATCH", who, number), reply)
            return
        number = numbers[key, who] = numbers.get((key, who), 0) + draw.randint(1, 3)
        got = command("WEIR.ADDHASH", key, blob(items), "BATCH", who, number)
        expect((key, what), bits(got[0], len(items)), adding(key, items))
        kept[key, who] = number, items, got


def do_sketch(key):
    counts = model[key]
    items = some_items(key)
    what = draw.choice(["count", "count", "estimate", "face", "top"])
    if what == "count":
        pairs = [(i, draw.randint(1, 9)) for i in items]
        command("WEIR.COUNT", key, *[x for p in pairs for x in p])
        for i, w in pairs:
            counts[i] = counts.get(i, 0) + w
    elif what == "estimate":
        got = command("WEIR.ESTIMATE", key, "BY", "cm", *items, 5000)[:-1]
        expect((key, what), [float(e[0]) for e in got], [counts.get(i, 0) for i in items])
    elif key == "cm":
        got = command("CMS.INCRBY", key, items[0], 2)
        counts[items[0]] = counts.get(items[0], 0) + 2
        expect((key, what), got, [counts[items[0]]])
    elif what == "face":
        command("TOPK.INCRBY", key, items[0], 3)
        counts[items[0]] = counts.get(items[0], 0) + 3
    else:
        got = command("WEIR.TOP", key, 5, "BY", "cm")
        expect((key, what), [float(x[1]) for x in got], sorted(counts.values(), reverse=True)[:5])


# --- what happens between
def restart(server, signal, preamble):
    global connection
    connection = None
    server.restart(signal, "--aof-use-rdb-preamble", preamble)


def event():
    """Something happens, and nothing changes by it."""
    global primary, replica, connection
    kind = draw.choice(["bgsave", "rewrite", "kill", "stop", "partial", "full", "failover", "copy", "dump", "export"])
    events[kind] = events.get(kind, 0) + 1
    c = r()
    if kind in ("kill", "stop"):
        wait_for(lambda: not c.info("persistence")["aof_rewrite_in_progress"])
        before = digests(primary)
        restart(primary, 9 if kind == "kill" else 15, draw.choice(["yes", "no"]))
        follow()
        expect(kind, digests(primary), before)
    elif kind == "bgsave":
        wait_for(lambda: not c.info("persistence")["rdb_bgsave_in_progress"])
        if not c.info("persistence")["aof_rewrite_in_progress"]:
            c.bgsave()
    elif kind == "rewrite":
        if not c.info("persistence")["aof_rewrite_in_progress"]:
            c.bgrewriteaof()
    elif kind == "partial":
        c.execute_command("CLIENT", "KILL", "TYPE", "replica")
    elif kind == "full":
        restart(replica, 9, "yes")
        follow()
    elif kind == "failover":
        expect("in step", in_step(), True)
        replica.client().replicaof("NO", "ONE")
        primary, replica = replica, primary
        connection = None
        follow()
    else:
        key = draw.choice(list(model))
        before = digest(c, key)
        if kind == "copy":
            c.copy(key, "other", replace=True)
        elif kind == "dump":
            c.restore("other", 0, c.dump(key), replace=True)
        else:
            c.delete("other")
            cursor, at = 0, 0
            while True:
                cursor, chunk = c.execute_command("WEIR.EXPORT", key, cursor, "BYTES", 50_000)
                c.execute_command("WEIR.IMPORT", "other", at, chunk, *([] if cursor else ["LAST"]))
                at += len(chunk)
                if not cursor:
                    break
        if kind != "export":
            expect(kind, digest(c, "other"), before)
        elif key in FILTERS:
            items = list(range(50))
            expect(kind, c.execute_command("WEIR.TEST", "other", *items), c.execute_command("WEIR.TEST", key, *items))
        c.delete("other")


follow()
check("the replica follows", in_step())
for key, spec in SPECS.items():
    command("WEIR.CREATE", key, spec)
    model[key] = {}
for i in range(COMMANDS):
    key = draw.choice(list(SPECS))
    if key in FILTERS:
        do_filter(key)
    else:
        do_sketch(key)
    if draw.random() < 0.005:
        event()
    if i % 1000 == 999:
        check(f"{i + 1} commands: primary and replica are in step", in_step(), replica.tail())
        equal(f"{i + 1} commands: same digests", digests(replica), digests(primary))
check(f"{COMMANDS} commands answered as the model answers", not wrong, wrong[:5])
check("everything happened: " + " ".join(f"{k} {v}" for k, v in sorted(events.items())), len(events) == 10)
before = digests(primary)
restart(primary, 9, "yes")
equal("and after one more restart: same digests", digests(primary), before)
check("the servers live", primary.alive() and replica.alive())
finish()
