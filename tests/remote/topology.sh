#!/usr/bin/env bash
# Which slices stand on one master, and so fail together: said at the start, and when slots move.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../../tools/cluster.sh
. "$root/tools/cluster.sh"
module=${BUILD:+$(realpath "$root/$BUILD" 2>/dev/null || realpath "$BUILD")/module/weir.so}
module=${WEIR_MODULE:-$module}
if [[ -z ${WEIR_MODULE-} ]] && grep -q '^WEIR_SANITIZE:STRING=.' "${BUILD:-build}/CMakeCache.txt" "$root/${BUILD:-build}/CMakeCache.txt" 2>/dev/null; then
  skip topology "a module with sanitizers needs a server with sanitizers"; finish; exit
fi
if ! why=$(cluster_can "$module"); then skip topology "$why"; finish; exit; fi
if ! "$WEIR" dedup --at redis://127.0.0.1:1 </dev/null 2>&1 | grep -q 'no connection'; then skip topology "built without hiredis"; finish; exit; fi
trap 'cluster_stop; cd /; rm -rf "$work"' EXIT
mkdir c; cluster_start "$work/c" "$module" >why || { no cluster-starts "$(cat why)"; finish; exit; }
seq 200 >few
places=of='(bloom:layout=classic)'

# a slice for each master: nothing to say
run dedup --at "$(cluster_url three)" --filter "vertical:slices=3,memory=64K,$places" few
is as-many-exit 0 $rc; is as-many-said "" "$(cat err)"
run dedup --at "$(cluster_url tree)" --filter "tree:memory=1M,root=(horizontal:slices=3)" --stats=json few
is tree-apart '"together":1' "$(grep -o '"together":[0-9]*' err)"
# more slices than masters
run dedup --at "$(cluster_url five)" --filter "vertical:slices=5,memory=64K,$places" few
[[ $(cat err) == "weir: dedup: 5 slices of 'five' stand on 3 masters: the 2 on '"*"' fail together" ]] && ok fewer-masters || no fewer-masters "$(cat err)"

# one known node is enough, whichever
for i in {0..5}; do
  run dedup --at "redis+cluster://127.0.0.1:${ports[$i]}/five" few; is "by-node-$i" "0 0" "$rc $(wc -l <out)"
done

# the slot of a slice moves to the master of another while two runs go on
tag_of() { ask 0 -c get "$1:weir" | sed -n 's/^tags=\(.*\)/\1/p' | cut -d, -f"$2"; }
owner() { ask 4 cluster nodes | awk -v s="$1" '/master/ && !/fail/ {for (i = 9; i <= NF; i++) {n = split($i, r, "-"); if (n == 1) r[2] = r[1]; if (s >= r[1] && s <= r[2]) {split($2, a, "[:@]"); print a[2]}}}'; }
move() { # SLOT PORT
  local from from_id to_id i
  from=$(owner "$1"); from_id=$(redis-cli -p "$from" cluster myid) to_id=$(redis-cli -p "$2" cluster myid)
  redis-cli -p "$2" cluster setslot "$1" importing "$from_id"
  redis-cli -p "$from" cluster setslot "$1" migrating "$to_id"
  # shellcheck disable=SC2046
  redis-cli -p "$from" migrate 127.0.0.1 "$2" "" 0 5000 keys $(redis-cli -p "$from" cluster getkeysinslot "$1" 10)
  redis-cli -p "$2" cluster setslot "$1" node "$to_id"
  for i in {0..5}; do ask "$i" cluster setslot "$1" node "$to_id"; done
}
moved() { # NAME: the run of that name, its slice 0 moved to where slice 1 is
  local slot from to
  mkfifo "feed.$1"
  "$WEIR" dedup --at "$(cluster_url "$1")" --stats <"feed.$1" >"out.$1" 2>"err.$1" & run=$!
  exec 9>"feed.$1"; seq 1001 1100 >&9; sleep 0.3
  slot=$(ask 0 cluster keyslot "$(tag_of "$1" 1)") to=$(owner "$(ask 0 cluster keyslot "$(tag_of "$1" 2)")")
  from=$(owner "$slot"); move "$slot" "$to" >/dev/null
  seq 1001 1300 >&9; exec 9>&-; wait $run
  is "moved-$1-exit" 0 $?
  seq 1001 1300 >want; same "moved-$1-loses-nothing" "out.$1" want
  grep -q "of '$1' stand on 2 masters: the 2 on '127.0.0.1:$to' fail together; slots have moved, spread evenly it would be 1" "err.$1" &&
    ok "moved-$1-said" || no "moved-$1-said" "$(cat "err.$1")"
  grep -q '^happened  *20..-..-..T..:..:..\....Z .* slices of' "err.$1" && ok "moved-$1-when" || no "moved-$1-when" "$(cat "err.$1")"
  move "$slot" "$from" >/dev/null
}
moved three
moved tree

# streams that stand on the cluster: the line of the documentation, through a node that has neither, by
# redis:// too. Their slots, of foo and bar, are on different masters.
to_nodes() { ask 0 -c "$@" >/dev/null; }
for i in 7 7 8; do to_nodes xadd foo "*" id $i url /a; done
for i in {0..5}; do
  any=redis://127.0.0.1:${ports[$i]}
  run dedup --from "$any/foo?group=g$i" --to "$any/bar$i" --key .id --at "redis+cluster://127.0.0.1:${ports[$i]}/line$i" --until-end -q
  is "stream-by-node-$i" "0 2" "$rc $(ask 0 -c xlen "bar$i")"
done
stream() { echo "redis+cluster://127.0.0.1:${ports[$1]}/$2"; }
# one moves to another master while a run reads it: the run ends, and the next one goes on
clicks=(dedup --from "$(stream 0 foo)?group=m" --to "$(stream 1 clean)" --format json --key .id --state m.weir)
"$WEIR" "${clicks[@]}" 2>err & run=$!
until_true 10 test "$(ask 0 -c xlen clean)" = 2
slot=$(ask 0 cluster keyslot foo) from=$(owner "$(ask 0 cluster keyslot foo)")
for i in {0..2}; do [[ ${ports[$i]} != "$from" ]] && move "$slot" "${ports[$i]}" >/dev/null && break; done
wait $run; is stream-moved-exit 2 $?
grep -q "^weir: dedup: the stream 'foo' is no longer at 127.0.0.1:$from: if it was moved to another server of the cluster, start the run again$" err && ok stream-moved-said || no stream-moved-said "$(cat err)"
for i in 8 9; do to_nodes xadd foo "*" id $i url /a; done
run "${clicks[@]}" --until-end; is stream-moved-again "0 3" "$rc $(ask 0 -c xlen clean)"
trouble_like stream-no-cluster "dedup: no connection to '127.0.0.1:1': *" dedup --from 'redis+cluster://127.0.0.1:1/foo?group=g'

# a run begins while a slice is lost, with its master and the replica of that
keeper=$(owner "$(ask 0 cluster keyslot tree:weir)") other=$(owner "$(ask 0 cluster keyslot three:weir)")
for i in 1 2 3; do
  gone=$(owner "$(ask 0 cluster keyslot "$(tag_of tree $i)")")
  [[ $gone != "$keeper" && $gone != "$other" ]] && break
done
for i in {0..5}; do ask "$i" config set cluster-require-full-coverage no >/dev/null; done
for i in {0..5}; do
  [[ ${ports[$i]} == "$gone" || $(ask "$i" info replication | sed -n 's/^master_port:\([0-9]*\).*/\1/p') == "$gone" ]] && kill -9 "${pids[$i]}"
done
seq 5001 5300 >fresh
for name in tree three; do
  run dedup --at "redis+cluster://127.0.0.1:$keeper/$name" --lost-after 300ms fresh
  is "begins-$name-exit" 0 $rc; same "begins-$name-loses-nothing" out fresh
  is "begins-$name-said" 1 "$(grep -c "of '$name' is lost" err)"
done
finish
