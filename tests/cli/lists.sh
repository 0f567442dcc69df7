#!/usr/bin/env bash
# weir count: each statement of a list against the exact counts.
#
# A list states the bounds of its keys, that no other key came by more than `floor` times, and
# that it is complete. All are checked for --top and --above, of a whole stream, a window, of
# groups, of weighed records, of faded ones, and of merged states, with memory for all keys and
# with too little. A bound may miss in one case of a hundred, so one row in fifty may.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

cat >check.py <<'P'
import collections, json, random, subprocess, sys

weir, random_ = sys.argv[1], random.Random(11)

def keys_of(shape, n):
    if shape == "skewed":
        return [str(int(5000 ** random_.random())) for _ in range(n)]
    if shape == "flat":
        return [str(random_.randrange(n // 3)) for _ in range(n)]
    return [str(i * 20 // n) if random_.random() < 0.3 else str(random_.randrange(n))
            for i in range(n)]  # a hot key that changes, among many that hardly repeat

def answers(*arguments):
    out = subprocess.run([weir, "count", "--json", *arguments], capture_output=True, text=True)
    if out.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {out.stderr}")
    return [json.loads(line) for line in out.stdout.splitlines()]

rows = missed = 0
wrong = []

def check(case, report, truth, question):
    """truth: key to count, of what the report covers."""
    global rows, missed
    total, listed = sum(truth.values()), {}
    answer = report.get("top") or report["above"]
    for e in answer["keys"]:
        rows += 1
        listed[e["key"]] = e
        true = truth.get(e["key"], 0)
        slack = 1e-9 * total
        missed += not e["low"] - slack <= true <= e["high"] + slack
    rest = max((n for k, n in truth.items() if k not in listed), default=0)
    if rest > answer["floor"] * (1 + 1e-9):
        wrong.append(f"{case}: a key that is not listed came {rest} times, floor {answer['floor']}")
    if abs(report["total"] - total) > 1e-6 * total:
        wrong.append(f"{case}: total {report['total']}, not {total}")
    if not answer["complete"]:
        return
    if question[0] == "--above":
        least = float(question[1][:-1]) / 100 * total
        lacking = [k for k, n in truth.items() if n > least * (1 + 1e-9) and k not in listed]
    elif not answer["flat"]:
        n = int(question[1])
        after = sorted(truth.values(), reverse=True)[n] if len(truth) > n else 0
        lacking = [k for k, c in truth.items() if c > after and k not in listed]
    else:
        lacking = []
    if lacking:
        wrong.append(f"{case}: complete, and lacks {len(lacking)}")

def write(name, lines):
    with open(name, "w") as file:
        file.writelines(line + "\n" for line in lines)

def merged(keys, flags, question):
    for part in range(3):
        write("part", keys[part::3])
        answers("--seed", "5", *flags, *question, "--state", f"{part}.weir", "part")
    subprocess.run([weir, "merge", "-o", "all.weir", "0.weir", "1.weir", "2.weir"], check=True)
    report = answers("--state", "all.weir", *question, "/dev/null")[0]
    subprocess.run("rm -f ?.weir all.weir", shell=True, check=True)
    return report

N = 20000
for shape in "skewed", "flat", "moving":
    keys = keys_of(shape, N)
    weights = [random_.randrange(1, 9) for _ in keys]
    write("keys", keys)
    write("weighed", [f"{k}\t{w}\t{w % 3}" for k, w in zip(keys, weights)])
    counts, weighed = collections.Counter(keys), collections.Counter()
    groups = collections.defaultdict(collections.Counter)
    faded = collections.Counter()
    for i, (k, w) in enumerate(zip(keys, weights)):
        weighed[k] += w
        groups[str(w % 3)][k] += 1
        faded[k] += 2 ** (-(N - 1 - i) / 2000)
    for question in ["--top", "1"], ["--top", "10"], ["--above", "1%"], ["--above", "0.1%"]:
        for flags in [], ["-m", "128K"]:
            case = f"{shape} {' '.join(question + flags)}"
            seed = ["--seed", str(random_.randrange(1, 10**6))]
            columns = ["--format", "tsv", "-k", "1"]
            check(f"{case} all", answers(*seed, *flags, *question, "keys")[0], counts, question)
            check(f"{case} weighed", answers(*seed, *flags, *question, *columns, "-w", "2", "weighed")[0],
                  weighed, question)
            check(f"{case} faded", answers(*seed, *flags, *question, "--decay", "2000", "keys")[0],
                  faded, question)
            report = answers(*seed, *flags, *question, "--window", "3000", "keys")[0]
            check(f"{case} window", report, collections.Counter(keys[-int(report["total"]):]), question)
            for report in answers(*seed, *flags, *question, *columns, "-g", "3", "weighed"):
                check(f"{case} group {report['group']}", report, groups[report["group"]], question)
            check(f"{case} merged", merged(keys, flags, question), counts, question)
for line in wrong:
    print(line)
print(f"{rows} rows, {missed} outside of their bounds")
sys.exit(bool(wrong) or rows < 1000 or missed > rows / 50)
P
if python3 check.py "$WEIR" >out; then ok "statements of lists ($(tail -1 out))"; else no statements-of-lists "$(head -5 out | paste -sd '|')"; fi
finish
