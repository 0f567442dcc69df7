#!/usr/bin/env bash
# A real cluster of three primaries and three replicas: what `weir dedup --at` says and does.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../../tools/cluster.sh
. "$root/tools/cluster.sh"
module=${BUILD:+$(realpath "$root/$BUILD" 2>/dev/null || realpath "$BUILD")/module/weir.so}
module=${WEIR_MODULE:-$module}
if [[ -z ${WEIR_MODULE-} ]] && grep -q '^WEIR_SANITIZE:STRING=.' "${BUILD:-build}/CMakeCache.txt" "$root/${BUILD:-build}/CMakeCache.txt" 2>/dev/null; then
  skip cluster "a module with sanitizers needs a server with sanitizers"; finish; exit
fi
if ! why=$(cluster_can "$module"); then skip cluster "$why"; finish; exit; fi
if ! "$WEIR" dedup --at redis://127.0.0.1:1 </dev/null 2>&1 | grep -q 'no connection'; then skip cluster "built without hiredis"; finish; exit; fi
trap 'cluster_stop; cd /; rm -rf "$work"' EXIT
mkdir c; cluster_start "$work/c" "$module" >why || { no cluster-starts "$(cat why)"; finish; exit; }
at=$(cluster_url seen)

# one filter: what one run has seen, another knows
seq 20000 | shuf --random-source=<(yes) >first; seq 10001 30000 >second
run dedup --at "$at" --memory 64M --stats=json first
is first-exit 0 $rc; same first-run out first
is three-masters 3 "$(grep -o '"masters":[0-9]*' err | cut -d: -f2)"
is counts-by-info 3 "$(grep -o '"server":"127.0.0.1:[0-9]*","slices":1,"commands":[1-9]' err | wc -l)"
is nothing-guessed '"guessed":0' "$(grep -o '"guessed":[0-9]*' err)"
run dedup --at "$at" second
seq 20001 30000 >want; same second-run out want
gives third-run '' dedup --at "$at" first second

# the verdicts are those of one process with the same slices
cat first second first >all
run dedup --at "$(cluster_url same)" --memory 64M --seed 5 all; cp out theirs
run dedup --filter 'horizontal:slices=3,memory=64M,seed=5,of=(recent)' all; same as-in-one-process out theirs
run dedup --at "$(cluster_url leaf)" --memory 64M --seed 5 --local-memory 1M --stats=json all
same local-filter-changes-nothing out theirs
is local-filter-saves 30000 "$(grep -o '"local_seen":[0-9]*' err | cut -d: -f2)"

# what stands on the servers
run inspect "$at"; is inspect-exit 0 $rc
is inspect-slices 3 "$(grep -c '^seen:{' out)"
is inspect-masters 3 "$(sed -n 's/^seen:{[^ ]* *\([^ ]*\).*/\1/p' out | sort -u | wc -l)"
is inspect-messages 1 "$(grep -c '^messages  *1.00 for a key that comes alone; .* 4.6e-05 a key$' out)"
run inspect --json "$at"
is inspect-messages-json '"messages_per_key":1' "$(grep -o '"messages_per_key":[0-9.]*' out)"
is inspect-offered 80000 "$(grep -oE '"offered":[0-9]+' out | cut -d: -f2 | awk '{n += $1} END {print n}')"
trouble_like inspect-nothing "inspect: there is no filter 'nothing' on the servers" inspect "$(cluster_url nothing)"

# fewer slices than masters, if that is asked for; and as many as there are for all who come later
run dedup --at "$(cluster_url one)" --memory 1M --slices 1 --stats=json first; is one-slice '0 "slices":1,"masters"' "$rc $(grep -o '"slices":1,"masters"' err)"
trouble_like other-slices "dedup: '*/one' holds a filter in 1 slices, not 3; *" dedup --at "$(cluster_url one)" --slices 3 first

# two at once: each key once
run_two() { "$WEIR" dedup --at "$(cluster_url two)" --memory 64M first >"$1"; }
run_two a & pid=$!; run_two b; wait $pid
sort -n a b >both; seq 20000 >want; same two-producers both want

# the same by places, where a few keys may come out of both: at most 3.1% (remote/places.h)
run_places() { "$WEIR" dedup --at "$(cluster_url places)" --filter 'vertical:slices=3,of=(bloom:k=4)' --memory 16M first >"$1"; }
run_places a & pid=$!; run_places b; wait $pid
sort -nu a b >both; same two-by-places both want
(($(cat a b | wc -l) <= 20625)) && ok two-by-places-once || no two-by-places-once "$(cat a b | wc -l) of 20000 keys"

# what does not fit, one line each
trouble_like other-memory "dedup: 'redis+cluster://*seen' holds a filter with memory=64M, not 32M; *" dedup --at "$at" --memory 32M first
trouble_like not-a-cluster-address "dedup: *redis+cluster://*" dedup --at "redis://127.0.0.1:${ports[0]}/no" first
trouble with-state "dedup: --state does not go with --at: what is known stays on the servers" dedup --at "$at" --state s.weir first
trouble with-audit "dedup: --audit does not go with --at: it cannot know what others have offered" dedup --at "$at" --audit first
trouble without-at "dedup: --on-lost goes with --at URL" dedup --on-lost new first
trouble bad-durability "dedup: --durability cannot be 'twice'; it is async, or wait:N with a number of replicas" dedup --at "$at" --durability twice first
trouble_like password "dedup: the address has a password in it*" dedup --at redis://u:s3cret@127.0.0.1/x first
if grep -q s3cret err; then no password-unsaid "$(cat err)"; else ok password-unsaid; fi
trouble_like leaf-and-window "dedup: --local-memory does not go with a window*" dedup --at "$(cluster_url w)" --window 1h --local-memory 1M first

# a primary is killed while the stream runs: nothing is lost, and nothing passes that was on a replica
seq 40000 >once; cat once once >twice; split -n l/12 -d twice part.
feed() { for part in part.*; do cat "$part"; sleep 0.1; done; }
feed | "$WEIR" dedup --at "$(cluster_url kill)" --memory 64M --durability wait:1 --lost-after 20s >out 2>err & pid=$!
sleep 0.6; kill -9 "${pids[2]}"
wait $pid; is killed-exit 0 $?
sort -n out >sorted; same killed-primary sorted once
is killed-said 1 "$(grep -c "^weir: dedup: slice . of 'kill' answered after [0-9.]* s, from '.*': the server '127.0.0.1:${ports[2]}' had failed" err)"

# slices of places on plain strings, and the rule of x live places: a third of them is gone for good
rule() { echo "--at $(cluster_url "$1") --filter vertical:slices=3,$2of=(bloom:k=8) --memory 1M --seed 5 --lost-after 2s -q"; }
# shellcheck disable=SC2046
gone=1; is_primary 1 || gone=0
# names whose text does not stand at the server that will be gone: without it nobody can begin
stays() { # PREFIX: such a name
  local n
  for n in {0..50}; do
    [[ $(redis-cli -p "${ports[$gone]}" get "$1$n:weir" 2>&1) == MOVED* ]] && { echo "$1$n"; return; }
  done
}
live=$(stays live) all=$(stays all) keys=$(stays keys)
# shellcheck disable=SC2046
run dedup $(rule "$live" live=1,) first; same places-first out first
# shellcheck disable=SC2046
run dedup $(rule "$all" '') first
run dedup --at "$(cluster_url "$keys")" --memory 3M first
for i in {0..5}; do [[ $(ask "$i" info replication | sed -n 's/^master_port:\([0-9]*\).*/\1/p') == "${ports[$gone]}" ]] && kill -9 "${pids[$i]}"; done
kill -9 "${pids[$gone]}"
# shellcheck disable=SC2046
run dedup $(rule "$live" live=1,) first; is places-live-code 0 $rc
# (1/3)^8 of the keys have no place elsewhere: 3 of 20,000; more than 20 by chance once in 10^10
(($(wc -l <out) <= 20)) && ok places-live || no places-live "$(wc -l <out) of 20000 repeats passed"
# without the rule what a lost place says counts: 1 - (2/3)^8 of the repeats pass, 96%, give or take a little, as the places
# of a key are not drawn one by one
# shellcheck disable=SC2046
run dedup $(rule "$all" '') first; passed=$(wc -l <out)
((passed > 19000 && passed < 19500)) && ok places-all || no places-all "$passed of 20000 repeats passed, 19220 should"
# the same of slices of the module, of whose keys a third pass, or are held back
run dedup --at "$(cluster_url "$keys")" --lost-after 1s first; passed=$(wc -l <out); is begin-lost-code 0 $rc
((passed > 6300 && passed < 7040)) && ok begin-lost-new || no begin-lost-new "$passed of 20000 repeats passed, a third should"
grep -q "is lost, its keys are called new until it is back" err && ok begin-lost-said || no begin-lost-said "$(cat err)"
run dedup --at "$(cluster_url "$keys")" --lost-after 300ms --on-lost seen -q first second; is begin-lost-seen 0 $rc
trouble_like begin-lost-stop "dedup: *" dedup --at "$(cluster_url "$keys")" --lost-after 300ms --on-lost stop -q first
finish
