#!/usr/bin/env bash
# `weir dedup --at` with filters that are asked a message at a time: trees, and places that are timers.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../../tools/cluster.sh
. "$root/tools/cluster.sh"
module=${BUILD:+$(realpath "$root/$BUILD" 2>/dev/null || realpath "$BUILD")/module/weir.so}
module=${WEIR_MODULE:-$module}
if [[ -z ${WEIR_MODULE-} ]] && grep -q '^WEIR_SANITIZE:STRING=.' "${BUILD:-build}/CMakeCache.txt" "$root/${BUILD:-build}/CMakeCache.txt" 2>/dev/null; then
  skip trees "a module with sanitizers needs a server with sanitizers"; finish; exit
fi
if ! why=$(cluster_can "$module"); then skip trees "$why"; finish; exit; fi
if ! "$WEIR" dedup --at redis://127.0.0.1:1 </dev/null 2>&1 | grep -q 'no connection'; then skip trees "built without hiredis"; finish; exit; fi
trap 'kill $server 2>/dev/null; cd /; rm -rf "$work"' EXIT
read -r port _ <<<"$(free_ports)"
begin() {
  redis-server --port "$port" --bind 127.0.0.1 --save "" --dir "$work" --loadmodule "$module" >/dev/null 2>&1 9>&- & server=$!
  disown $server
  until_true 10 redis-cli -p "$port" ping || no server-starts
}
begin
at=redis://127.0.0.1:$port

# one run: the verdicts of one process, byte for byte
{ seq 1000; seq 500 1500; seq 800; } | awk '{ printf "p%d\t%s\n", $1 * NR % 5, $1 }' >keys
same_as_here() { # NAME ARGUMENTS: --filter and what goes with it
  run dedup "${@:2}" --format tsv --key 2 keys; cp out here
  run dedup --at "$at/$1" "${@:2}" --format tsv --key 2 keys; is "$1-exit" 0 $rc; same "$1" out here
}
same_as_here dense --filter 'tree:levels=3,fanout=2,memory=1M,seed=3' --producer 1
same_as_here sparse --filter 'tree:levels=3,fanout=2,mode=sparse,memory=1M,seed=3' --producer 1
same_as_here sliced-root --filter 'tree:fanout=4,root=(vertical:slices=3),of=(bloom:layout=classic),memory=256K,fpr=1%,seed=3' --producer 1
same_as_here tree-window --filter 'tree:of=(recent:window=1h),memory=1M,seed=3'
same_as_here timers --filter 'vertical:slices=3,of=(window:length=1h,layout=classic),memory=1M,fpr=1%,seed=3'
same_as_here places --filter 'vertical:slices=3,of=(bloom:layout=classic),memory=64K,fpr=1%,seed=3'
same_as_here growing --filter 'horizontal:slices=1,of=(growing:of=(bloom)),memory=1M,seed=3'

# a second run is told the shape by the servers, and hears what the first has said
run dedup --at "$at/dense" --format tsv --key 2 keys; is second-run 0 $(wc -l <out)
run dedup --at "$at/sparse" --leaf 1 --format tsv --key 2 keys; is second-at-a-leaf 0 $(wc -l <out)
seq 100 >few
run dedup --at "$at/shared" --filter 'tree:levels=2,down=1,memory=1M' --leaves servers few; same leaves-there out few
run dedup --at "$at/shared" --stats=json few; is leaves-are-found 0 $(wc -l <out)
is leaves-count 3 "$(grep -o '"slices":[0-9]*' err | head -1 | cut -d: -f2)"

# what it costs, by level and by server
run dedup --at "$at/dense" --stats=json --format tsv --key 2 keys
is levels 2 "$(grep -o '"level":' err | wc -l)"
is servers 1 "$(grep -o '"server":"127.0.0.1:'"$port"'"' err | wc -l)"
like_line() { grep -q "$2" "$3" && ok "$1" || no "$1" "$(cat "$3")"; }
run dedup --at "$at/dense" --stats --format tsv --key 2 keys
like_line stats-level '^level 1  *[0-9.K]* messages' err
like_line stats-here '^level 2, here ' err
like_line stats-info 'by INFO [0-9.K]* commands' err
like_line stats-bytes '^bytes .* for verdicts and .* of records written, where ' err
like_line stats-together 'slices on 1 masters, at most 3 on one' err
run inspect "$at/dense"; is inspect-exit 0 $rc; is inspect-slices 3 "$(grep -c '^dense:{' out)"
run inspect "$at/timers"; is inspect-timers 3 "$(grep -c '^timers:{' out)"
is inspect-makes-nothing 0 "$(redis-cli -p "$port" del "$(redis-cli -p "$port" keys 'dense:{*0')" >/dev/null
  "$WEIR" inspect "$at/dense" >/dev/null; redis-cli -p "$port" keys 'dense:{*0' | grep -c .)"

# where slices share a master, that is said
run dedup --at "$at/together" --filter 'vertical:slices=3,of=(bloom:layout=classic),memory=64K' few
is together "weir: dedup: 3 slices of 'together' stand on 1 master: the 3 on '127.0.0.1:$port' fail together" "$(cat err)"

# a server that is killed, and one that came back empty: no record is lost, and it is said what happened when
mkfifo feed
"$WEIR" dedup --at "$at/killed" --filter 'tree:memory=1M' --lost-after 200ms --stats <feed >out 2>err & run=$!
exec 9>feed; seq 100 >&9
for _ in {1..200}; do [[ -s out ]] && break; sleep 0.05; done # it is at work
kill -9 $server; sleep 0.1; seq 101 200 >&9; sleep 1; begin; sleep 2.5; seq 300 >&9; exec 9>&-
wait $run; is killed-exit 0 $?
sort -nu out >sorted; seq 300 >want; same killed-loses-nothing sorted want
like_line killed-lost "T..:..:..\....Z slice 0 of 'killed' is lost: " err
like_line killed-empty "T..:..:..\....Z slice 0 of 'killed' was gone and begins again empty" err
like_line killed-back "slice 0 of 'killed' answers again" err
# a run that waits can be ended: what it has read is written, and --stats says what happened
"$WEIR" dedup --at "$at/waits" --filter 'tree:memory=1M' --on-lost wait --lost-after 200ms --stats=json <feed >out 2>err & run=$!
exec 9>feed; seq 100 >&9; sleep 0.3
kill -9 $server; sleep 0.1; seq 101 200 >&9; until_true 5 grep -q 'is waited for' err || no waits-said "$(cat err)"
kill -TERM $run; exec 9>&-; wait $run; is waits-exit 143 $?
sort -n out >sorted; seq 200 >want; same waits-loses-nothing sorted want
is waits-bytes '"bytes_out":692' "$(grep -o '"bytes_out":[0-9]*' err)"
is waits-one-line 1 "$(grep -c '^weir:' err)"
# one that the servers end says so there, too
begin
"$WEIR" dedup --at "$at/ends" --filter 'tree:memory=1M' --on-lost stop --lost-after 200ms --stats=json <feed >out 2>err & run=$!
exec 9>feed; seq 100 >&9; sleep 0.3
kill -9 $server; sleep 0.1; seq 101 200 >&9; exec 9>&-; wait $run; is ends-exit 2 $?
is ends-one-line 1 "$(grep -c '^weir:' err)"
like_line ends-event '"what":"slice 0 of .ends. is lost, and on-lost is stop: ' err
begin
run dedup --at "$at/stops" --filter 'tree:memory=1M' --on-lost stop few; is stop-begins 0 $rc
run dedup --at "$at/ruled" --filter 'tree:root=(vertical:slices=2,of=(bloom:layout=classic)),of=(bloom:layout=classic),memory=64K' --on-lost seen few
is rule-in-root 2 "$("$WEIR" inspect "$at/ruled" | grep -o 'on-lost=seen' | wc -l)"
like_line rule-in-spec 'on-lost=stop' <("$WEIR" inspect "$at/stops")

# what cannot be, one line each
trouble tree-slices "dedup: --slices does not go with a tree or timers; write slices=3 in --filter" dedup --at "$at/no" --filter tree --slices 3 few
trouble tree-durability "dedup: --durability does not go with a tree or timers: replicas are not waited for at each message" dedup --at "$at/no" --filter tree --durability wait:1 few
trouble tree-local "dedup: --local-memory does not go with a tree, which has its leaves here, or with timers" dedup --at "$at/no" --filter tree --local-memory 1M few
trouble leaf-of-none "dedup: --leaf goes with --filter tree" dedup --at "$at/no" --leaf 1 few
trouble leaves-of-none "dedup: --leaves goes with --filter tree" dedup --at "$at/no" --leaves servers few
trouble leaf-here "dedup: --leaf goes with --at URL" dedup --leaf 1 few
trouble_like down-to-leaves "dedup: down=1 asks leaves, and those of other processes cannot be reached*" dedup --at "$at/no" --filter tree:down=1 few
trouble_like other-tree "dedup: 'redis://*stops' holds a filter with levels=2, not 3*" dedup --at "$at/stops" --filter tree:levels=3 few
trouble_like timers-too-large "dedup: a slice of places would take *M on its server, where a timer is 8 bytes, and a string has at most 512M: take more slices, or less memory" dedup --at "$at/no" --filter 'vertical:of=(window:length=1h,layout=classic)' --memory 1G few
run dedup --at "$at/timed" --filter 'vertical:slices=3,of=(window:length=1h,layout=classic),memory=1M' few
is timers-take "weir: dedup: the timers of 'timed' take up to 16M on the servers, 8 bytes each" "$(head -1 err)"
is nothing-made 0 "$(redis-cli -p "$port" keys 'no:*' | grep -c .)"
finish
