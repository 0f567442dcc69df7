"""Out of memory: allocation number 1, 2, 3... of each command fails, until one does without it.

An error reply is `OOM`, and nothing has changed; or the command did its work all the same. A replica has
the same digests in any case."""
import os
import struct

from server import BUILD, Raw, Server, check, digest, equal, finish, followed, wait_for

FAILING = BUILD + "/tests/weir-failing.so"
MOST = 200  # allocations of a command
server = Server(module=FAILING)
r, e = server.client(), Raw(server, 2)
server.follow()


def blob(*hashes):
    return struct.pack(f"<{len(hashes)}Q", *hashes)


def command(*args):
    return r.execute_command(*args)


command("WEIR.CREATE", "kept", "bloom:memory=1K,seed=3")
command("WEIR.ADD", "kept", *range(50))
snapshot = command("WEIR.EXPORT", "kept", 0)[1]
dump = command("BF.SCANDUMP", "kept", 0)
payload = r.dump("kept")
items = list(range(100))
pairs = [x for i in items for x in (i, 2)]
many = pairs * 30

# --- what is there before each command, and the commands
SETUP = [
    ["WEIR.CREATE", "f", "bloom:memory=1K,seed=3"], ["WEIR.ADD", "f", "a", "b"],
    ["WEIR.CREATE", "g", "bloom:memory=1K,seed=3"], ["WEIR.ADD", "g", "c"],
    ["WEIR.CREATE", "t", "recent:memory=4K,window=1h"], ["WEIR.CREATE", "k", "counting:memory=1K"],
    ["CMS.INITBYDIM", "c", 50, 3], ["CMS.INCRBY", "c", "a", 5], ["CMS.INITBYDIM", "d", 50, 3],
    ["TOPK.RESERVE", "p", 3, 50, 3, 0.9], ["TOPK.ADD", "p", "a", "b", "c", "a", "b", "c"],
    ["WEIR.CREATE", "q", "kll:memory=8K"], ["WEIR.COUNT", "q", 1, 1, 2, 1], ["WEIR.CREATE", "h", "hll"],
    ["WEIR.ADDHASH", "g", blob(1, 2), "BATCH", "other", 4],
    ["WEIR.IMPORT", "part", 0, snapshot[:-50]],
]
COMMANDS = [
    ["WEIR.CREATE", "x", "recent:memory=4K"], ["WEIR.CREATE", "x", "top:k=3,width=50,depth=3", "SKETCH"],
    ["WEIR.ADD", "f", *items], ["WEIR.TEST", "f", *items], ["WEIR.ADD", "t", *items],
    ["WEIR.ADDWITH", "t", "TIME", 5, "IMPORTANCE", 2, "ITEMS", *items], ["WEIR.TESTWITH", "t", "TIME", 5, "ITEMS", *items],
    ["WEIR.REMOVE", "k", *items], ["WEIR.ADDHASH", "f", blob(*items), "TIMES", blob(*items)],
    ["WEIR.ADDHASH", "f", blob(*items), "BATCH", "me", 1], ["WEIR.TESTHASH", "f", blob(*items)],
    ["WEIR.INFO", "f"], ["WEIR.INFO", "p"], ["WEIR.EXPORT", "f", 0, "BYTES", 100], ["WEIR.IMPORT", "x", 0, snapshot[:50]],
    ["WEIR.IMPORT", "part", len(snapshot) - 50, snapshot[-50:], "LAST"], ["WEIR.IMPORT", "x", 0, snapshot, "LAST"],
    ["WEIR.ABSORB", "f", snapshot, "BATCH", "me", 1], ["WEIR.ABSORB", "x", snapshot, "BATCH", "me", 1],
    ["WEIR.MERGE", "f", "g"], ["WEIR.MERGE", "x", "f", "g"], ["WEIR.COUNT", "p", *pairs], ["WEIR.COUNTWITH", "q", "ITEMS", *pairs],
    ["WEIR.COUNT", "q", *many], ["WEIR.ADDHASH", "f", bytes(8 * 20000)],
    ["WEIR.ESTIMATE", "c", *items], ["WEIR.TOP", "p"], ["WEIR.DISTINCT", "h"], ["WEIR.QUANTILE", "q", 0, 0.5, 1],
    ["WEIR.SELFJOIN", "c"], ["WEIR.JOIN", "c", "d"],
    ["BF.RESERVE", "x", 0.01, 100], ["BF.RESERVE", "x", 0.01, 100, "NONSCALING"], ["BF.ADD", "x", "a"], ["BF.MADD", "f", *items],
    ["BF.INSERT", "x", "CAPACITY", 50, "NONSCALING", "ITEMS", *items], ["BF.EXISTS", "f", "a"], ["BF.MEXISTS", "t", *items],
    ["BF.CARD", "f"], ["BF.INFO", "f"], ["BF.SCANDUMP", "f", 0], ["BF.LOADCHUNK", "x", *dump],
    ["CMS.INITBYDIM", "x", 50, 3], ["CMS.INITBYPROB", "x", 0.1, 0.1], ["CMS.INCRBY", "c", *pairs], ["CMS.QUERY", "c", *items],
    ["CMS.MERGE", "d", 1, "c", "WEIGHTS", 5], ["CMS.INFO", "c"], ["TOPK.RESERVE", "x", 3], ["TOPK.ADD", "p", *items],
    ["TOPK.INCRBY", "p", *pairs], ["TOPK.QUERY", "p", *items], ["TOPK.COUNT", "p", *items], ["TOPK.LIST", "p"], ["TOPK.INFO", "p"],
    ["COPY", "f", "x"], ["RESTORE", "x", 0, payload],
]


def state():
    return {k: digest(r, k) for k in r.keys()}


def fail(number):
    """The next allocation of that number fails; did the last one that was to fail do so?"""
    return e("FAIL.AT", number) == 0


def trial(args, number):
    """One command with one allocation that fails. None: it does not need as many; else what went wrong."""
    r.flushall()
    for c in SETUP:
        command(*c)
    before = state()
    fail(number)
    reply = e(*args)
    if not fail(0):
        return None
    if isinstance(reply, str) and reply[0] == "-":
        # COPY and RESTORE are the server's, which says it in its own words
        good = reply.startswith("-OOM") or args[0] in ("COPY", "RESTORE")
        return "" if good and state() == before else reply
    return ""


tried = set()
for args in COMMANDS:
    tried.add(args[0])
    number, wrong = 1, []
    while number < MOST:
        said = trial(args, number)
        if said is None:
            break
        if said:
            wrong.append((number, said))
        number += 1
    check(f"{args[0]}: {number - 1} allocations fail in turn", number < MOST and not wrong, wrong[:3])
    followed(server, args[0])
known = {c.decode().upper() for c in e("COMMAND", "LIST", "FILTERBY", "MODULE", "weir")} - {"FAIL.AT"}
equal("every command was tried", known - tried, set())

# --- what the server writes: a child that has no memory leaves the file of before
r.flushall()
command("WEIR.CREATE", "f", "bloom:memory=1K,seed=3")
command("WEIR.ADDHASH", "f", blob(5, 6), "BATCH", "me", 1)
r.config_set("aof-use-rdb-preamble", "no")


def ended():
    return not any(r.info("persistence")[k] for k in ("rdb_bgsave_in_progress", "aof_rewrite_in_progress", "aof_rewrite_scheduled"))


def file_of_before():
    with open(server.dir + "/dump.rdb", "rb") as f:
        return f.read()


for save, info in ["BGSAVE", "rdb_last_bgsave_status"], ["BGREWRITEAOF", "aof_last_bgrewrite_status"]:
    failed, lost = 0, 0
    for number in range(1, 9):
        r.save()
        before = file_of_before()
        fail(number)
        e(save)
        fail(0)
        wait_for(ended)
        if r.info("persistence")[info] != "ok":
            failed += 1
            lost += file_of_before() != before
    check(f"{save}: without memory it fails, {failed} times of 8", failed > 0 and ended(), server.tail())
    equal(f"{save}: and the file of before is there", lost, 0)
check("the servers live", server.alive() and server.replica.alive(), server.tail())
finish()
