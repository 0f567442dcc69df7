#!/usr/bin/env bash
# The state file: remembered across runs, refused where it does not fit.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

printf 'a\nb\n' >one; printf 'b\nc\n' >two
gives first-run 'a\nb\n' dedup --memory 1M --state s.weir one
gives second-run 'c\n' dedup --state s.weir two
gives third-run '' dedup --memory 1024K --state s.weir one two
only_files no-rubbish . one two s.weir out err want
gives state-with-output '' dedup --state s.weir -o o.txt one; is state-output-empty "" "$(cat o.txt)"
rm o.txt

tail="use the same options or another state file"
trouble other-filter "dedup: the state file 's.weir' holds the filter 'recent', not 'stable'; $tail" dedup --filter stable --state s.weir one
trouble other-memory "dedup: the state file 's.weir' holds a filter with memory=1M, not 2M; $tail" dedup --memory 2M --state s.weir one
trouble other-fpr "dedup: the state file 's.weir' holds a filter with fpr=0.0001%, not 1%; $tail" dedup --fpr 1% --state s.weir one
trouble_like other-seed "dedup: the state file 's.weir' holds a filter with seed=*, not 9; $tail" dedup --seed 9 --state s.weir one
trouble other-window "dedup: the state file 's.weir' holds a 'recent' filter without 'window'; $tail" dedup --window 10 --state s.weir one
trouble other-format "dedup: the state file 's.weir' was made with --format lines, not csv; $tail" dedup --format csv --state s.weir one
trouble other-case "dedup: the state file 's.weir' was made without --ignore-case; $tail" dedup --ignore-case --state s.weir one
trouble other-skip "dedup: the state file 's.weir' was made without --key-skip-prefix 3; $tail" dedup --key-skip-prefix 3 --state s.weir one
run dedup --memory 1M --format csv --key 1 --state k.weir one
trouble other-key "dedup: the state file 'k.weir' was made with --key 1, not 2; $tail" dedup --format csv --key 2 --state k.weir one
printf '1,a\n' >t.csv; run dedup --memory 1M --format csv --key 2 --window 1h --time 1 --state t.weir t.csv
trouble no-time "dedup: the state file 't.weir' was made with --time 1; $tail" dedup --format csv --key 2 --state t.weir t.csv
trouble no-key "dedup: the state file 'k.weir' was made with --key 1; $tail" dedup --format csv --state k.weir one
gives fits-still '' dedup --format csv --key 1 --state k.weir one

# a failed run leaves the state as it was
cp s.weir before
trouble_like failed-run "dedup: *missing*" dedup --state s.weir missing
same failed-run-state before s.weir
printf 'new1\n' >new; printf '{"a":\n' >>new
run dedup --state j.weir --memory 1M --format json one
is failed-first-code 2 $rc
[[ ! -e j.weir && ! -e j.weir.lock ]] && ok failed-first-no-state || no failed-first-no-state "$(ls -A)"

# damaged, cut, newer, of another version, none at all
head -c 100 s.weir >cut.weir
trouble_like truncated "dedup: *cut.weir*" dedup --state cut.weir one
byte=$(od -An -tu1 -j60 -N1 s.weir)
cp s.weir bad.weir; printf "\\$(printf %o $((byte ^ 255)))" | dd of=bad.weir bs=1 seek=60 conv=notrunc 2>/dev/null
trouble_like corrupt "dedup: *bad.weir*" dedup --state bad.weir one
cp s.weir newer.weir; printf '\377' | dd of=newer.weir bs=1 seek=8 conv=notrunc 2>/dev/null
trouble_like newer "dedup: *newer.weir*newer weir*" dedup --state newer.weir one
cp "$here/../golden/recent-before.snapshot" other.weir
trouble_like another-version "dedup: *other.weir*another version of weir*" dedup --state other.weir one
: >empty.weir; trouble_like empty "dedup: 'empty.weir' is not a weir snapshot" dedup --state empty.weir one
mkdir d.weir; trouble_like directory "dedup: *d.weir*" dedup --state d.weir one
trouble_like no-directory "dedup: cannot create 'nowhere/s.weir.lock': No such file or directory" dedup --state nowhere/s.weir one
for f in cut bad newer other empty; do [[ -e $f.weir.lock ]] && no "lock-left-$f" "yes"; done; ok no-locks-left

# two runs on one state file
mkfifo pipe
"$WEIR" dedup --state s.weir <pipe >/dev/null 2>&1 & pid=$!
exec 9<>pipe; for _ in {1..100}; do [[ -s s.weir.lock ]] && break; sleep 0.05; done
trouble two-runs "dedup: another run (process $pid) is using the state file 's.weir'; wait for it or give this one a file of its own" dedup --state s.weir one
ln -s s.weir alias.weir
trouble_like two-names "dedup: another run (process $pid) is using the state file 'alias.weir'; *" dedup --state alias.weir one
exec 9>&-; wait $pid; is first-of-two 0 $?
gives after-two-runs '' dedup --state s.weir one
echo 99999 >s.weir.lock
gives stale-lock '' dedup --state s.weir one
[[ -e s.weir.lock ]] && no stale-lock-gone "still there" || ok stale-lock-gone

# saved while running: the state holds what has come through a pipe, the output has been flushed
rm -f live.weir live.out; mkfifo live
"$WEIR" dedup --memory 1M --state live.weir --save-every 50ms <live >live.out & pid=$!
exec 9<>live; printf 'p\nq\n' >&9
for _ in {1..100}; do [[ -e live.weir ]] && break; sleep 0.05; done
is saved-while-running $'p\nq' "$(cat live.out)"
run inspect --json live.weir; is saved-note '"2"' "$(grep -o '"records":"[0-9]*"' out | cut -d: -f2)"
kill -9 $pid; exec 9>&-; wait $pid 2>/dev/null
printf 'p\nr\n' >again; gives after-kill 'r\n' dedup --state live.weir again

# the audit is kept, and cannot begin in the middle
run dedup --memory 1M --audit=1/1 --state a.weir one; run dedup --state a.weir --stats=json two
is audit-kept '3' "$(grep -o '"firsts":[0-9]*' err | cut -d: -f2)"
trouble audit-late "dedup: the state file 's.weir' has no audit, and one cannot begin in the middle: what came before is not known; leave out --audit or start a new state" dedup --audit --state s.weir one

# a state takes what the memory takes, and a little
seq 20000 >keys; run dedup --memory 1M --state size.weir keys
size=$(stat -c %s size.weir)
((size > 1 << 20 && size < (1 << 20) + 8192)) && ok state-size || no state-size "$size bytes"
finish
