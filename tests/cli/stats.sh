#!/usr/bin/env bash
# Totals, audit, progress and warnings.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
seq 1 1000 >in; seq 1 500 >>in
run dedup --memory 1M --seed 1 --stats in; is stats-code 0 $rc
is stats-records "records 1,500" "$(awk '/^records/ {print $1, $2}' err)"
is stats-new "new 1,000 66.67%" "$(awk '/^new/ {print $1, $2, $3}' err)"
is stats-seen "seen 500 33.33%" "$(awk '/^seen/ {print $1, $2, $3}' err)"
is stats-written "written 3.80K" "$(awk '/^written/ {print $1, $2}' err)"
for l in read time memory filter 'false positives'; do grep -q "^$l " err && ok "stats-${l// /-}" || no "stats-${l// /-}" "no line"; done
grep -q '^filter *recent:memory=1M,fpr=0.0001%,seed=1,' err && ok stats-spec || no stats-spec "$(grep ^filter err)"
run dedup --memory 1M --seed 1 --stats=json in
if command -v python3 >/dev/null; then
  python3 - err <<'PY' >verdict 2>&1
import json, sys
d = json.loads(open(sys.argv[1]).read())
keys = "version filter readings records new seen missing bad late passed bytes_in bytes_out seconds records_per_second resumed memory fill overfull fpr_bound fpr_implied fpr_now audit".split()
assert list(d) == keys, list(d)
assert (d["records"], d["new"], d["seen"]) == (1500, 1000, 500)
assert d["bytes_in"] == sum(len(str(i)) + 1 for i in range(1, 1001)) + sum(len(str(i)) + 1 for i in range(1, 501))
assert d["bytes_out"] == sum(len(str(i)) + 1 for i in range(1, 1001))
assert d["audit"] is None and d["overfull"] is False and d["resumed"] is False
assert d["fpr_bound"] == 1e-6 and 0 <= d["fpr_now"] <= 1e-6 and 0 < d["fill"] < 1
assert 0 < d["memory"] <= (1 << 20) + 16384
print("good")
PY
  is stats-json good "$(cat verdict)"
else skip stats-json "python3 is not installed"; fi
is stats-json-one-line 1 "$(wc -l <err)"
# written is what this run wrote, wherever in a file it began; of a resumed run in all
written() { grep -o '"bytes_out":[0-9]*' err | cut -d: -f2; }
(head -c 1000 in; "$WEIR" dedup --memory 1M --stats=json in 2>err) >behind; is written-behind 3893 "$(written)"
"$WEIR" dedup --memory 1M --stats=json in >>behind 2>err; is written-appended 3893 "$(written)"
"$WEIR" dedup --memory 1M --stats=json in 2>err | cat >/dev/null; is written-pipe 3893 "$(written)"
head -1200 in >growing-in; run dedup --memory 1M --state half -o once growing-in
cp in growing-in; run dedup --state half --resume --stats=json -o once growing-in
is written-resumed "true $(wc -c <once)" "$(grep -o '"resumed":[a-z]*' err | cut -d: -f2) $(written)"
run dedup --memory 1M --audit=1/1 in
is audit-line "audit            false positives 0% (95% interval 0% - X), false negatives 0% (95% interval 0% - X), from 1 key in 1" "$(grep ^audit err | sed 's/- [0-9.]*%/- X/g')"
run dedup --memory 1M --audit --stats=json in; grep -q '"one_in":64,' err && ok audit-default || no audit-default "$(cat err)"
run dedup --memory 1M --audit=1/16 --stats=json in; grep -q '"one_in":16,' err && ok audit-16 || no audit-16 "$(cat err)"

# a filter that is too small says so once, and what would help
seq 1 200000 >big
run dedup --memory 64K big
is warn-once 1 "$(wc -l <err)"
seq 1 3000 >many
"$WEIR" dedup --memory 64K --fpr 10% --filter reservoir many 2>early >/dev/null
is warn-early "weir: dedup: the filter 'reservoir' has begun to forget, as it does long before it is full: repeats may pass; 'recent' forgets nothing while the keys fit" "$(cat early)"
is warn-text "weir: dedup: the keys no longer fit 64K: repeats may pass; --memory 256K would do for about NK" "$(sed -E 's/[0-9.]+K$/NK/' err)"
# what it would do for is half of what such a filter has room for, however long the stream and its
# pauses: so many keys it knows, nearly all of them
grep -oE '[0-9.]+K$' err >told
run dedup --memory 256K --state roomy
is warn-room true "$("$WEIR" inspect roomy | awk -v told="$(cat told)" '$1 == "room" { off = told * 2000 / $2; print (off > 0.98 && off < 1.02) ? "true" : told " of " $2 }')"
(cat big; sleep 0.3; seq 300000 600000) | "$WEIR" dedup --memory 64K 2>paused >/dev/null
run dedup --memory 64K big; same warn-same err paused
# each filter that names a number knows, in the memory that was advised, nearly all of so many keys
advised=""
for f in recent bloom stable reservoir counting spectral apbf qht window growing growing:fpr=1% importance buffer horizontal vertical tree tree:levels=3; do
  "$WEIR" dedup --memory 64K --seed 1 --filter "$f" big 2>&1 >/dev/null | sed -nE 's/.*--memory 256K would do for about ([0-9.]+)K$/\1/p' >advice
  [[ -s advice ]] || continue
  advised+=" $f"
  seq 1 "$(awk '{ printf "%d", $1 * 1000 }' advice)" >keys; cat keys keys >keys2
  "$WEIR" dedup -q --memory 256K --seed 1 --filter "$f" keys2 >kept
  is "advice-$f" true "$(awk -v n="$(wc -l <keys)" 'END { off = NR / n - 1; print (off < 0.005 && off > -0.02) ? "true" : 100 * off "% of " n }' kept)"
done
is advice-of " recent apbf growing growing:fpr=1% buffer horizontal" "$advised"
# a filter that does not say how much room it has
"$WEIR" dedup --memory 64K --filter reservoir big 2>roomless >/dev/null
is warn-no-room "weir: dedup: the keys no longer fit 64K: repeats may pass; --memory 256K would hold more" "$(cat roomless)"
seq 1 "$(awk '{ printf "%d", $1 * 1000 }' told)" >enough; cat enough enough >twice
run dedup --memory 256K twice; is warn-room-does true "$(awk -v want="$(wc -l <enough)" 'END { print (NR < want * 1.005) ? "true" : NR " for " want }' out)"
# a filter that forgets nothing says when it is beyond its bound, and not before
run dedup --memory 4M --filter bloom:capacity=1000 --stats enough
is capacity-within 0 "$(grep -c '^weir' err)"; grep -q '% full, over capacity$' err && ok capacity-stats || no capacity-stats "$(cat err)"
run dedup --memory 64K --filter bloom:capacity=100 enough
is capacity-beyond "weir: dedup: more keys came than the filter was made for: new records are now lost at a rate of N%; give it a higher capacity" "$(sed -E 's/of [0-9.]+%/of N%/' err)"
(seq 1 150; sleep 0.3; cat enough) | "$WEIR" dedup --memory 64K --filter bloom:capacity=100 2>later >/dev/null
is capacity-beyond-later "$(sed -E 's/of [0-9.]+%/of N%/' err)" "$(sed -E 's/of [0-9.]+%/of N%/' later)"
run dedup --memory 64K --quiet big; is warn-quiet "" "$(cat err)"
run dedup --memory 64M big; is warn-not "" "$(cat err)"

# progress: not in pipes, unless asked for
run dedup --memory 1M in; is progress-off "" "$(cat err)"
(seq 1 100; sleep 1.3; seq 1 100) | "$WEIR" dedup --memory 1M --progress 2>err >/dev/null
grep -qE '^[0-9.]+K? records, [0-9.]+K?/s, [0-9.]+% repeats$' err && ok progress-on || no progress-on "$(cat err)"
(seq 1 100; sleep 1.3; seq 1 100) | "$WEIR" dedup --memory 1M --progress --quiet 2>err >/dev/null
is progress-quiet "" "$(cat err)"
(echo a; sleep 1.3; echo a) | "$WEIR" dedup --memory 1M --progress 2>err >/dev/null
grep -q '^1 record, ' err && ok progress-one || no progress-one "$(cat err)"
if command -v script >/dev/null; then
  # on_terminal COMMAND: what it shows on a terminal, in the file tty
  on_terminal() { TERM=xterm script -qec "$1" /dev/null </dev/null >tty 2>&1; }
  on_terminal "(seq 1 100; sleep 1.4; seq 1 100) | '$WEIR' dedup --memory 1M >/dev/null"
  grep -q $'\r100 records, ' tty && ok progress-terminal || no progress-terminal "$(tr '\r' '|' <tty | head -c 200)"
  is progress-erased $'\r\e[K' "$(tail -c 4 tty)"
  on_terminal "(seq 1 100; sleep 0.6; seq 1 100) | '$WEIR' dedup --memory 1M >/dev/null"
  is progress-short-work "" "$(cat tty)"
  # records on the terminal: no progress unless asked for, and then never on a line with a record
  on_terminal "(echo a; sleep 1.4; echo b) | '$WEIR' dedup --memory 1M"
  is progress-records 'a|b|' "$(tr -d '\r' <tty | tr '\n' '|')"
  on_terminal "(echo a; sleep 1.4; echo b) | '$WEIR' dedup --memory 1M --progress"
  is progress-makes-way $'\r\e[Kb' "$(grep -o $'\r\e\\[Kb' tty)"
  grep -q $'\r1 record, ' tty && ok progress-both || no progress-both "$(cat -v tty)"
  on_terminal "(echo a; sleep 1.4; echo b) | '$WEIR' dedup --memory 1M -o once"
  grep -q $'\r1 record, ' tty && ok progress-output-file || no progress-output-file "$(cat -v tty)"
  # where nothing can be erased it takes no part in the screen
  on_terminal "(echo a; sleep 1.4; echo b) | TERM=dumb '$WEIR' dedup --memory 1M -o once"
  is progress-dumb "" "$(cat tty)"
else skip progress-terminal "script is not installed"; fi
# past its capacity: what helps is what was given
seq 20000 >many
run dedup --filter bloom:capacity=10 many; is warn-capacity "give it a higher capacity" "$(grep -o 'give it .*' err)"
run dedup --filter bloom --memory 1K many; is warn-memory "give it more --memory" "$(grep -o 'give it .*' err)"
finish
