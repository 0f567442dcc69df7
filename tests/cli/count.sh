#!/usr/bin/env bash
# weir count: questions, forms, states, and what is refused.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
s=--seed=7

# --- questions, where every count is exact -------------------------------------------------
printf 'a\na\na\na\na\nb\nb\nb\nc\n' >in
run count $s --csv --top 2 in
is top $'answer,key,value\ntop,a,5\ntop,b,3' "$(cut -d, -f1-3 out)"
run count $s --json --top 1 in
is floor-of-what-found-no-room '"floor":3' "$(grep -o '"floor":[0-9.]*' out)"
run count $s --csv --distinct --self-join in
is sizes $'distinct,3\nself_join,35' "$(tail -n +2 out | awk -F, '{printf "%s,%.0f\n", $1, $3}')"
run count $s --json --distinct in
is distinct-is-whole '"distinct":{"value":3,"low":3,"high":3}' "$(grep -o '"distinct":{[^}]*}' out)"
run count $s --csv --above 20% in
is above $'above,a,5\nabove,b,3' "$(tail -n +2 out | cut -d, -f1-3)"
printf 'b\nnot there\n' >keys
run count $s --csv --query a --query keys in
is query-is-a-key $'query,a,5\nquery,keys,0' "$(tail -n +2 out | cut -d, -f1-3)"
trouble query-file-missing "count: cannot open 'nowhere': No such file or directory" count $s --query-file nowhere in
run count $s --csv --query a --query-file keys in
is query $'query,a,5\nquery,b,3\nquery,not there,0' "$(tail -n +2 out | cut -d, -f1-3)"
printf 'a\na\nc\nd\n' >other
run count $s --csv --join other --distinct --exact in
is join $'distinct,3,3\njoin,11,11\ncommon,2,2' \
  "$(tail -n +2 out | awk -F, '{printf "%s,%.0f,%s\n", $1, $3, $7}')"
seq 1 1000 >numbers
run count $s --csv --range 101:200 --quantiles 50,99 --exact numbers
is integers $'range,101:200,100\nquantile,50%,500\nquantile,99%,990' \
  "$(tail -n +2 out | cut -d, -f1,2,7)"
yes -- -9222383080033140749 | head -5 >least
for form in --csv --json; do
  run count $s $form --quantiles 50 --exact least
  is "whole-keys$form" 4 "$(grep -o -e -9222383080033140749 out | wc -l)"
done
run count $s --quantiles 50 least
is whole-keys-text '-9,222,383,080,033,140,749' "$(awk '/^quantile/ { print $3 }' out)"
run count $s --csv --sample 3 in
is sample 3 "$(grep -c '^sample,[abc],' out)"
run count $s in
is default-questions '1 1' "$(grep -c 'different keys  *3$' out) $(grep -c ' 55.56%  a$' out)"
run count $s --csv --top 1 --query c --distinct --exact --sketch linear:capacity=1000 in
is several-at-once $'top,a,5\nquery,c,1\ndistinct,,3' "$(tail -n +2 out | cut -d, -f1,2,7)"

# --- estimates against the truth -----------------------------------------------------------
# 60000 records of 20000 keys, the i-th with a share like 1/i: counters do collide
awk 'BEGIN { srand(5); for (i = 0; i < 60000; i++) { x = int(exp(rand() * log(20000))); print "key " x } }' >zipf
for how in auto cm cmm cmm-mean agms mi; do
  run count $s --json --top 20 --estimator $how --memory 64K --exact zipf
  is "complete-$how" '"expected":20,"found":20' "$(grep -o '"expected":20,"found":[0-9]*' out)"
  # every true count lies within its bounds (99% each: 20 rows, one may miss)
  missed=$(grep -o '"low":[^,]*,"high":[^,]*,"share":[^,]*,"true":[^}]*' out | tr ':,' '  ' |
    awk '{ if ($8 < $2 - 1e-6 || $8 > $4 + 1e-6) n++ } END { print n + 0 }')
  if ((missed <= 1)); then ok "bounds-$how"; else no "bounds-$how" "$missed of 20 outside"; fi
done
sort zipf | uniq -c | sort -k1,1rn -k3,3 | head -10 | awk '{ print $2 " " $3 "," $1 }' | sort >want
run count $s --csv --top 10 --exact zipf
tail -n +2 out | cut -d, -f2,7 | sort >got
same exact-is-uniq want got
run count $s --csv --top 10 --exact=1K zipf
tail -n +2 out | cut -d, -f2,7 | sort >got
same exact-on-disk want got
run count $s --json --distinct --self-join --exact=1K zipf
sort zipf | uniq -c | awk '{ n++; q += $1 * $1 } END { printf "%d %d", n, q }' >want
is exact-sizes-on-disk "$(cat want)" "$(grep -o '"true":[0-9]*' out | cut -d: -f2 | tr '\n' ' ' | sed 's/ $//')"
# the same answers with any number of threads, and run by run
run count $s --csv --top 50 --query 'key 77' --self-join --distinct -j1 zipf; cp out one
run count $s --csv --top 50 --query 'key 77' --self-join --distinct -j2 zipf
same threads-agree one out
run count $s --csv --top 50 --query 'key 77' --self-join --distinct -j4 zipf
same four-threads-agree one out

# a list says whether it may lack some: where no key stands out, nobody can tell
awk 'BEGIN { srand(6); for (i = 0; i < 200000; i++) print int(rand() * 100000) }' >flat
run count $s --memory 64K --top 10 --exact flat
is flat-is-told 'the list may lack some: more --memory would tell' "$(grep -o 'the list may lack some.*' out)"
run count $s --memory 64K --top 10 --json flat
is flat-is-told-json '"complete":false' "$(grep -o '"complete":[a-z]*' out)"
run count $s --memory 64K --top 10 --json zipf
is skewed-is-told-json '"complete":true' "$(grep -o '"complete":[a-z]*' out)"
# equals fill a list, and more memory would tell nothing
for n in 5 41 1000; do
  seq 1 $n >equals
  run count $s --top 1 equals
  is "equals-$n" '1 no other key came by more than 1 times' "$(grep -c '%  ' out) $(tail -1 out)"
done
{ for _ in 1 2 3 4 5; do seq 1 3; done; seq 101 150; seq 101 150; } >equals
run count $s --csv --top 10 equals
is equals-after-others '5 5 5 2 2 2 2 2 2 2' "$(tail -n +2 out | cut -d, -f3 | tr '\n' ' ' | sed 's/ $//')"
# keys that come once in many shards, or panes: the list is right and says what would tell more
for i in {1..25}; do { echo a; ((i % 2)) && echo b; seq $((i * 100)) $((i * 100 + 59)); } >"shard$i"; done
cat shard{1..25} >shards
for i in {1..25}; do run count $s --top 2 --state "shard$i.weir" "shard$i"; done
run merge -o shards.weir shard{1..25}.weir
run count --top 2 --state shards.weir /dev/null
is merged-shards '25 a 13 b' "$(awk '/%  / { print $1, $5 }' out | tr '\n' ' ' | sed 's/ $//')"
is merged-shards-advice 'the list may lack some: a longer --top would tell' "$(grep -o 'the list may lack some.*' out)"
run count $s --window 1000 --top 2 shards
is window-of-shards 'a b' "$(awk '/%  / { print $5 }' out | tr '\n' ' ' | sed 's/ $//')"
# --above misses none, or says so; in its own memory it never has to
for share in 1% 0.1% 0.01% 0.003% 0.001%; do
  for stream in zipf flat; do
    run count $s --above $share --exact --json $stream
    is "above-$share-$stream" yes "$(sed -E 's/.*"complete":([a-z]*).*"expected":([0-9]*),"found":([0-9]*).*/\1 \2 \3/' out |
      awk '{ print $1 == "true" && $2 == $3 ? "yes" : $0 }')"
    run count $s --above $share --exact --json --memory 3M $stream
    is "above-$share-$stream-3M" yes "$(sed -E 's/.*"complete":([a-z]*).*"expected":([0-9]*),"found":([0-9]*).*/\1 \2 \3/' out |
      awk '{ print $1 == "false" || $2 == $3 ? "yes" : $0 }')"
  done
done

# what is asked for and at most 16M more, whatever the threads; a sanitizer takes memory of its own
mkfifo pipe
sizes="1 3 4 8 20"
[[ -z ${ASAN_OPTIONS:-} ]] || sizes=
for size in $sizes; do
  "$WEIR" count $s --memory ${size}M --top 100 --distinct -j4 pipe >/dev/null &
  pid=$!
  exec 3>pipe
  seq 1 1500000 >&3
  peak=$(awk '/^VmHWM/ { print int($2 / 1024) }' /proc/$pid/status)
  exec 3>&-
  wait $pid
  if ((peak <= size + 16)); then ok "memory-${size}M"; else no "memory-${size}M" "$peak MiB"; fi
done

# a window takes what --memory says, or 18 times what one sketch takes; in groups these are small
kilobytes() { run count $s --json --top 10 --window 1000 "$@"; echo $(($(grep -oE '"memory":[0-9]+' out | head -1 | cut -d: -f2) / 1024)); }
seq 1 3000 | awk '{ print $1 % 700 "," $1 % 3 }' >grouped
of=$(kilobytes --memory 1M grouped); ((of <= 1024 + 16)) && ok window-memory || no window-memory "${of}K"
of=$(kilobytes grouped); ((of > 18 * 1024 && of <= 19 * 1024)) && ok window-usual-memory || no window-usual-memory "${of}K"
of=$(kilobytes --format csv --key 1 --group 2 grouped); ((of <= 20 * 64)) && ok window-group-memory || no window-group-memory "${of}K"
run count $s --csv --format csv --key 1 --group 2 --above 0.1% grouped
is long-list-of-groups '0 2100' "$rc $(grep -c ',above,' out)"

# --- keys, weights, groups -----------------------------------------------------------------
printf 'user,ms,url\nann,10,/a\nbob,2.5,/a\nann,1,"/b,c"\nann,0.5,/a\n' >t.csv
run count $s --csv --format csv --header --key user --top 2 t.csv
is column $'top,ann,3\ntop,bob,1' "$(tail -n +2 out | cut -d, -f1-3)"
run count $s --csv --format csv --header --key user --weight ms --top 2 t.csv
is weight $'top,ann,11.5\ntop,bob,2.5' "$(tail -n +2 out | cut -d, -f1-3)"
run count $s --csv --format csv --header --key user,url --top 1 --query 'ann,"/b,c"' t.csv
is columns $'top,"ann,/a",2,2\nquery,"ann,""/b,c""",1,1' "$(tail -n +2 out | sed 's/\(,[0-9]*\),[^,]*\(,[0-9]*\),.*/\1\2/')"
printf 'a,"b,c"\n"a,b",c\n"q""",x\n' >rows.csv
printf '{"p":2.5}\n{"p":25e-1}\n{"p":"2.5"}\n{"p":-0.05}\n{"p":1e3}\n' >prices.json
run count $s --csv --format json --key .p --top 4 prices.json
is json-numbers-plain '"""2.5""" -0.05 1000 2.5' "$(grep ^top out | cut -d, -f2 | sort | paste -sd ' ')"
# values are told from strings: a string that reads as a value is in quotes, and all can be asked for as printed
printf '{"v":1}\n{"v":"1"}\n{"v":true}\n{"v":"true"}\n{"v":null}\n{"v":"nul"}\n{"v":"10.0.0.1"}\n{"v":"a\\"b"}\n{"v":"[x"}\n{"v":[1, "x"]}\n{"v":" s"}\n{"v":"\\"\\n"}\n' >values.json
run count $s --csv --format json --key .v --top 20 values.json
is json-values-told '" s" "1" "[x" "\"\u000a" "true" 1 10.0.0.1 [1,"x"] a"b nul null true' \
  "$(grep ^top out | python3 -c 'import csv, sys; print(*sorted(r[1] for r in csv.reader(sys.stdin)))')"
grep ^top out | python3 -c 'import csv, sys; print(*(r[1] for r in csv.reader(sys.stdin)), sep="\n")' >asked
run count $s --csv --format json --key .v --query-file asked values.json
is json-values-asked 12 "$(grep -c '^query,.*,1,[^,]*,1,[^,]*,,$' out)"
run count $s --json --format json --key .v --top 20 --query '[x' --query 1 values.json
is json-values '[1, "1", true, "true", null, "nul", "10.0.0.1", "a\"b", "[x", [1, "x"], " s", "\"\n"] ["[x", 1]' "$(python3 -c '
import json
r = json.load(open("out"))
want = [json.loads(line)["v"] for line in open("values.json")]
got = [e["key"] for e in r["top"]["keys"]]
alike = sorted(map(json.dumps, got)) == sorted(map(json.dumps, want))
print(json.dumps(want) if alike else got, json.dumps([e["key"] for e in r["query"]]))')"
printf '{"a":1,"b":"x"}\n{"a":"1","b":"x"}\n' >parts.json
run count $s --json --format json --key .a,.b --top 2 --query '["1","x"]' parts.json
is json-parts '["1", "x"] [1, "x"] 1' "$(python3 -c '
import json
r = json.load(open("out"))
print(*sorted(json.dumps(e["key"]) for e in r["top"]["keys"]), round(r["query"][0]["count"]))')"
printf '{"n":"5"}\n{"n":6}\n' >quoted.json
run count $s --csv --format json --key .n --range 5:6 --exact quoted.json
is json-range-strings 'range,5:6,2' "$(tail -n +2 out | cut -d, -f1,2,7)"
run count $s --json --format csv --key 1,2 --top 3 rows.csv
is columns-told-apart '"\"a,b\",c" "\"q\"\"\",x" "a,\"b,c\""' \
  "$(grep -o '"key":"\([^"\\]\|\\.\)*"' out | cut -c7- | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')"
run count $s --csv --format csv --header --key url --group user --top 1 t.csv
is group $'group,answer,key,value\nann,top,/a,2\nbob,top,/a,1' "$(cut -d, -f1-4 out)"
run count $s --csv --format csv --header --key url --group user --groups 1 --top 1 t.csv
is groups-bounded $'ann,top,/a,2\n,top,/a,1' "$(tail -n +2 out | cut -d, -f1-4)"
printf '{"u":"x","n":100}\n{"u":"y","n":1e2}\n{"u":"x","n":-1}\n' >t.json
run count $s --csv --format json --key .n --top 1 --query -1 --query 100.0 t.json
is json-numbers $'top,100,2\nquery,-1,1\nquery,100.0,2' "$(tail -n +2 out | cut -d, -f1-3)"
run count $s --csv --format json --key .u --query x --query '"y"' t.json
is json-strings $'query,x,2\nquery,"""y""",1' "$(tail -n +2 out | cut -d, -f1-3)"
run count $s --csv --format json --key .n --range -5:5 --exact t.json
is json-range 'range,-5:5,1' "$(tail -n +2 out | cut -d, -f1,2,7)"
printf '5,a\n-2,a\n' >neg.csv
run count $s --csv --format csv --key 2 --weight 1 --query a neg.csv
is taking-back 'query,a,3' "$(tail -n +2 out | cut -d, -f1-3)"

# --- keys that are no text -----------------------------------------------------------------
printf 'caf\303\251\n\377\001\tx\n\033[31mred\n' >odd
run count $s --top 3 odd
is safe-text $'\\x1b[31mred\n\\xff\\x01\\tx\ncaf\303\251' "$(grep -v records out | grep '%  ' | sed 's/.*%  //' | sort)"
run count $s --json --top 3 odd
is safe-json '"key":"\ufffd\u0001\tx","key_hex":"ff010978"' "$(grep -o '"key":"[^"]*","key_hex":"[^"]*"' out | sed 's/\\u0009/\\t/')"
printf 'a,b\n"q"\n' >quoted
run count $s --csv --top 2 quoted
is safe-csv $'"""q""",1\n"a,b",1' "$(tail -n +2 out | sed 's/top,\(.*\),1,[0-9.]*,1,.*/\1,1/' | sort)"

# --- the recent past -------------------------------------------------------------------------
{ yes old | head -1000; yes new | head -1000; } >past
run count $s --csv --window 800 --query old --query new past
is window-records 'query,old,0' "$(grep ',old,' out | cut -d, -f1-3)"
run count $s --csv --decay 100 --query old --query new past
is decay-records 'yes' "$(awk -F, '$2 == "old" { o = $3 } $2 == "new" { n = $3 } END { print (o < 1 && n > 100 && n < 200) ? "yes" : o " " n }' out)"
printf '0,x\n10,x\n100,y\n' >times.csv
run count $s --csv --format csv --key 2 --window 20s --time 1 --query x --query y times.csv
is window-time $'query,x,0\nquery,y,1' "$(tail -n +2 out | cut -d, -f1-3)"

# --- forms ---------------------------------------------------------------------------------------
run count $s --top 2 --plot in
is plot 2 "$(grep -c ' |##*' out)"
run count $s --top 2 --plot=bars.svg --json in
is plot-svg 1 "$(grep -c '^<svg' bars.svg)"
(cat in; sleep 0.5; cat in) | "$WEIR" count $s --csv --top 1 --every 100ms >out
is every 'yes' "$([[ $(grep -c '^9,top,a,5' out) -ge 1 && $(tail -1 out) == 18,top,a,10,* ]] && echo yes)"

# labels tell long keys apart, and say that a key was cut
printf 'https://example.com/%s\n' a a b >urls; printf 'äöü\n' >>urls; printf 'z%.0s' {1..3000} >>urls
run count $s --top 9 --memory 16K --plot urls
is plot-labels $'         äöü\nhttp...com/a\nhttp...com/b\nzzzzzzzzz...' "$(sed -n 's/ |##*.*//p' out | sort)"
# and ends with a whole character
printf 'é%.0s' {1..3000} >wide; printf '\nx' >>wide; printf 'é%.0s' {1..3000} >>wide; printf '\nxy' >>wide; printf '日%.0s' {1..3000} >>wide
run count $s --top 9 --memory 16K --json wide; is cut-characters 0 "$(grep -c '_hex\|fffd' out)"; is cut-said 3 "$(grep -o '"cut":true' out | wc -l)"

# --- states -----------------------------------------------------------------------------------------
run count $s --state st --top 5 --distinct in
run count --state st --csv --top 5 --distinct in
is state-continues $'top,a,10\ntop,b,6\ntop,c,2' "$(tail -n +2 out | grep top | cut -d, -f1-3)"
run count --state st --json --top 1 /dev/null
is state-counts-records '"records":18' "$(grep -o '"records":18' out)"
run count $s --state x1 --top 5 --distinct in
run count $s --state x2 --top 5 --distinct other
run merge -o both x1 x2
run count --state both --csv --top 5 /dev/null
is merged 'top,a,7' "$(sed -n 2p out | cut -d, -f1-3)"
run count --state both --json --distinct /dev/null
is merged-records '"records":13' "$(grep -o '"records":13' out)"
run inspect both
is inspected 2 "$(grep -c '^sketch ' out)"
run inspect --json both
is inspected-json '"sketch":"top"' "$(grep -o '"sketch":"top"' out)"
run count $s --state lists --top 5 in
run count --state lists --csv /dev/null
is state-asks-its-list $'top,a,5\ntop,b,3\ntop,c,1' "$(tail -n +2 out | cut -d, -f1-3)"
run count $s --state sizes --distinct in
run count --state sizes --csv /dev/null
is state-asks-its-size 'distinct,,3' "$(tail -n +2 out | cut -d, -f1-3)"
run count $s --state recent --window 1000 --sketch 'window:length=1000,panes=16,of=(top:k=3)' --top 3 in
run count --state recent --window 1000 --csv --top 2 in
is state-of-shorter-list $'top,a,10\ntop,b,6' "$(tail -n +2 out | cut -d, -f1-3)"
trouble_like state-longer-list-of-window "count: the state file 'recent' keeps the 3 most frequent keys*" count --state recent --top 4 in
trouble state-other-memory "count: the state file 'st' does not fit: cannot merge sketches of different spec: 'memory' is not the same; use the same options or another state file" count --state st --memory 64K --top 5 --distinct in
trouble_like state-other-key "count: the state file 'st' was made with --format lines, not csv;*" count --state st --format csv --key 1 --top 5 --distinct t.csv
trouble_like state-other-question "count: the state file 'st' has no sketch 'integers' that could answer this*" count --state st --range 1:2 numbers
trouble_like state-longer-list "count: the state file 'st' keeps the 5 most frequent keys*" count --state st --top 6 in
run dedup --memory 64K --state d.weir in
trouble_like state-of-dedup "count: 'd.weir' holds no sketches*" count --state d.weir in
trouble_like merge-kinds "merge: 'd.weir' holds a filter and 'x1' does not" merge -o y d.weir x1
run count --seed 8 --state x3 --top 5 --distinct in
trouble merge-seed "merge: 'x1' and 'x3': cannot merge sketches of different spec: 'seed' is not the same; make both with the same options and the same --seed" merge -o y x1 x3
run count $s --state x4 --top 5 in
trouble merge-parts "merge: 'x4' holds no sketch 'distinct', as 'x1' does" merge -o y x1 x4
head -c 200 x1 >broken
trouble_like state-broken "count: *broken*" count --state broken in

# --- groups: states, the truth, bars ----------------------------------------------------------------
printf 'user,ms,url\nbob,1,/z\nd%%=e,1,/z\nann,1,/a\n' >u.csv
g="--format csv --header --key url --group user"
# shellcheck disable=SC2086
{
  run count $s $g --csv --top 1 --distinct --exact t.csv
  is group-exact $'ann,top,/a,2,2\nann,distinct,,2,2\nbob,top,/a,1,1\nbob,distinct,,1,1' \
    "$(tail -n +2 out | awk -F, '{ printf "%s,%s,%s,%.0f,%s\n", $1, $2, $3, $4, $8 }')"
  run count $s $g --csv --join u.csv --exact t.csv
  is group-join $'ann,2,2\nbob,1,1' "$(tail -n +2 out | awk -F, '{ printf "%s,%.0f,%s\n", $1, $4, $8 }')"
  run count $s $g --top 2 --plot t.csv
  is group-plot '2 bars and 1' "$(grep -c ' |##*' out | sed 's/3/2 bars and 1/')"
  run count $s $g --top 5 --state g1 t.csv
  run count $g --top 5 --state g1 --csv u.csv
  is group-state $'ann,/a,3\nann,"/b,c",1\nbob,/a,1\nbob,/z,1\nd%=e,/z,1' \
    "$(tail -n +2 out | sed 's/,top//' | sed -E 's/^([^,]*,("[^"]*"|[^,]*),[0-9]*).*/\1/')"
  run count $g --top 1 --state g1 --json /dev/null
  is group-state-kept 3 "$(grep -c '"group":"' out)"
  run count $s $g --top 5 --state g2 t.csv
  run count $s $g --top 5 --state g3 u.csv
  run merge -o g4 g2 g3
  run count $g --top 5 --state g4 --csv /dev/null
  cp out merged
  run count $g --top 5 --state g1 --csv /dev/null
  same group-merged out merged
  run inspect g4
  is group-inspected 'd%25=e' "$(grep -o 'd%25=e' out)"
  run count $s $g --groups 1 --top 5 --state g5 t.csv
  run count $g --groups 1 --top 5 --state g5 --csv u.csv
  is group-state-rest $',top,/z,2\n,top,/a,1' "$(grep '^,' out | cut -d, -f1-4)"
  trouble_like group-state-other "count: the state file 'g1' was made with --group user, not without;*" count --state g1 --format csv --header --key url u.csv
  trouble_like group-state-field "count: the state file 'g1' was made with --group user, not with --group ms;*" count --state g1 --format csv --header --key url --group ms u.csv
  run count $s --format csv --header --key url --group ms --top 5 --state g6 t.csv
  trouble merge-other-groups "merge: 'g1' and 'g6' do not have groups of the same field" merge -o y g1 g6
  run count --seed 8 $g --top 5 --state g7 u.csv
  trouble merge-group-seed "merge: 'g1' and 'g7': cannot merge sketches of different spec: 'seed' is not the same; make both with the same options and the same --seed" merge -o y g1 g7
  trouble_like group-svg "count: --plot=FILE.svg draws one list, and --group makes many;*" count $g --plot=x.svg t.csv
}

# --- quantiles, spectrum, patterns, changes ---------------------------------------------------------
seq -5 1000000 >many
run count $s --csv --quantiles 0,50,100 many
is quantile-ends $'-5\n1000000' "$(grep -E ',(0|100)%,' out | cut -d, -f3)"
half=$(grep ',50%,' out | cut -d, -f3,4,5)
IFS=, read -r value low high <<<"$half"
((low <= 499997 && 499997 <= high && high - low < 1000)) && ok quantile-close || no quantile-close "$half"
# of weights: the ends are exact, intervals are narrow; other weights go to another sketch
awk 'BEGIN { srand(4); for (i = 0; i < 200000; i++) print int(rand() * 1e9) + 7 "," 1 + int(rand() * rand() * 50000) }' >weighed
run count $s --csv --format csv -k 1 --weight 2 --quantiles 0,10,50,99,100 --exact weighed
is quantile-weighed "true true true true true" "$(tail -n +2 out | awk -F, '{ w = ($2 ~ /^(0|100)%/) ? 0 : 1e6; printf "%s%s", (NR > 1 ? " " : ""), (($4 <= $7 && $7 <= $5 && $5 - $4 <= w) ? "true" : $0) }')"
run count $s --csv --format csv -k 1 --weight 2 --quantiles 50 --threads 2 weighed; is quantile-weighed-threads 0 "$rc"
printf '5,2\n7,0.5\n' >parts; printf '5,2\n7,-1\n' >back
other="is no whole number from 0 on, as --quantiles need; --sketch dyadic:bits=64 takes any, with wider intervals and ends that are not exact"
trouble quantile-fraction "count: record 2 of 'parts': its weight 0.5 $other" count --format csv -k 1 --weight 2 --quantiles 50 parts
trouble quantile-back "count: record 2 of 'back': its weight -1 $other" count --format csv -k 1 --weight 2 --quantiles 50 back
for f in parts back; do run count $s --format csv -k 1 --weight 2 --quantiles 50 --csv --sketch dyadic:bits=64 $f; is "quantile-dyadic-$f" 5 "$(tail -n +2 out | cut -d, -f3)"; done
printf '1.5,3\n2.5,1\n' >both; run count $s --format csv -k 1 --weight 2 --quantiles 50,100 --csv both
is quantile-weighed-decimal $'1.5\n2.5' "$(tail -n +2 out | cut -d, -f3)"
printf '%s\n' 0.5 -1.25 3 1e1 +2 >decimals
run count $s --csv --quantiles 0,50,100 --exact decimals
is quantile-decimals $'-1.25,-1.25,-1.25,,-1.25\n2,2,2,,2\n10,10,10,,10' "$(tail -n +2 out | cut -d, -f3-7)"
run count $s --json --quantiles 0 --state dq decimals
run count --json --quantiles 0,100 --state dq decimals
is quantile-state $'"value":-1.25\n"value":10' "$(grep -oE '"value":[-0-9.]+' out)"
printf 'x\n' >word
trouble quantile-word "count: record 1 of 'word': the key 'x' is not a number, as --quantiles need" count --quantiles 50 word
printf '9999999999999999999\n' >huge
trouble range-key-huge "count: record 1 of 'huge': the key '9999999999999999999' is out of range: integers have 64 bits, as --range needs" count --range 0:1 huge
printf -- '-9223372036854775808\n+5\n' >ends
run count $s --csv --range -9223372036854775808:5 ends
is range-key-ends 2 "$(tail -1 out | cut -d, -f3)"
(yes a | head -3; yes b | head -2; echo c; echo d) >few
run count $s --csv --spectrum few
is spectrum $'1,2\n2,1\n3,1\n4,0\n5,0\n6-10,0' "$(tail -n +2 out | cut -d, -f2,3)"
run count $s --csv --distinct --where '[bc]' few
is where 2 "$(grep ^where out | cut -d, -f3)"
run count $s --csv --distinct --where '![bc]' few
is where-not 2 "$(grep ^where out | cut -d, -f3)"
trouble where-alone "count: --where goes with --distinct" count --where a few
run count --seed 7 --top 5 --state old few
run count --seed 7 --top 5 --state new few
(yes c | head -9) | "$WEIR" count --seed 7 --top 5 --state new - >/dev/null
run count --changes old new --csv
is changes 'c,9,9,9,1,10,' "$(sed -n 2p out)"
run count --seed 8 --top 5 --state another few
trouble changes-seed "count: 'old' and 'another' were made with different seeds, so their keys do not compare; make both with the same --seed" count --changes old another
trouble changes-one "count: --changes takes two state files: --changes OLD NEW" count --changes old
# --- lists ------------------------------------------------------------------------------------------
python3 -c 'print("x" * 4096 + "\n" + "x" * 4096 + "\n" + "y" * 4097 + "\n" + "y" * 4098)' >long
run count $s --csv --top 1 long
is key-whole '4096 ,2,2,2,0.5,,' "$(sed -n 2p out | python3 -c 'r = input(); k = r.split(",")[1]; print(len(k), "," + r.split(",", 2)[2])')"
run count $s --csv --top 3 long
is key-cut 2 "$(tail -n +2 out | grep -c ',cut$')"
run count $s --json --top 3 long
is key-cut-json 2 "$(grep -o '"cut":true' out | wc -l)"
awk 'BEGIN { srand(5); for (i = 0; i < 40000; i++) print int(rand() * 5000000) }' >flat
run count $s --top 10 --memory 16K flat
is flat 1 "$(grep -c '^nothing stands out' out)"
run count $s --csv --above 1% in
awk -F, 'NR > 1 { for (i = 3; i <= 5; i++) if ($i != int($i)) exit 1 }' out && ok whole-bounds || no whole-bounds "$(cat out)"
printf '1\n2\n1\n3\n2\n' >even; run count $s --csv even
is skew-none 'skew,,0,0,0,,,' "$(tail -1 out)"
seq 100 >hundred
run count --seed 1 --csv --memory 128 --query a1 --query a2 hundred
is no-minus-zero 'query,a1,0,0,7,0 query,a2,0,0,11,0' "$(tail -n +2 out | cut -d, -f1-6 | paste -sd ' ')"
run count $s --window 10K flat
is window-said 1 "$(grep -c '^window .* the last 10,[0-9]* records are counted$' out)"
trouble memory-above "count: --memory 4K is too little for --above 0.1%; 32K would do" count --memory 4K --window 30K --above 0.1% in
trouble memory-words "count: --memory 10K is too little for --top 100; 64K would do" count --memory 10K --top 100 in
for i in $(seq 1 200); do yes "k$i" | head -$((2000 / i)); done >zipf
run count $s --json --above 2% zipf
python3 - "$PWD/zipf" out <<'P' && ok above-floor || no above-floor "$(cat out)"
import collections, json, sys
counts = collections.Counter(open(sys.argv[1]).read().split())
above = json.load(open(sys.argv[2]))["above"]
listed = {k["key"] for k in above["keys"]}
assert all(n <= above["floor"] for k, n in counts.items() if k not in listed)
assert above["complete"] and above["floor"] <= 0.02 * sum(counts.values())
P

# --- bad input ------------------------------------------------------------------------------------
trouble top-zero "count: --top cannot be '0'; it goes from 1 to 10M" count --top 0 in
trouble_like above-one "count: --above cannot be '100%'*" count --above 100% in
trouble range-words "count: --range cannot be 'x:y'; it is two integers, such as 10:99" count --range x:y in
trouble range-empty "count: --range '9:3' is empty: it goes from the lower to the higher" count --range 9:3 numbers
trouble range-huge "count: --range '0:99999999999999999999' is out of range: integers have 64 bits" count --range 0:99999999999999999999 numbers
trouble quantile-out "count: --quantiles cannot be '101'; it is a list of percentages from 0 to 100, such as 50,90,99" count --quantiles 101 numbers
trouble quantile-of-nothing "count: nothing was counted, so there is no quantile" count --quantiles 50 /dev/null
trouble not-an-integer "count: record 1 of 'in': the key 'a' is not an integer, as --range needs" count --range 1:2 in
echo 9223372036854775808 >big
trouble integer-too-large "count: record 1 of 'big': the key '9223372036854775808' is out of range: integers have 64 bits, as --range needs" count --range 1:2 big
printf '1\nx\n2\n' >mixed
run count $s --csv --range 1:9 --on-bad drop --exact mixed
is not-an-integer-dropped 'range,1:9,2' "$(tail -1 out | cut -d, -f1,2,7)"
trouble_like width-zero "count: *width*0*" count --sketch countmin:width=0 --query a in
trouble_like depth-zero "count: *depth*0*" count --sketch countmin:depth=0 --query a in
trouble_like sketch-unable "count: --sketch 'hll' cannot answer what is asked for*" count --sketch hll --query a in
trouble_like sketch-unknown "count: --sketch 'contmin': *" count --sketch contmin --query a in
trouble negative-distinct "count: record 2 of 'neg.csv': its weight -2 takes back, which the number of different keys cannot; leave out --distinct" count --format csv --key 2 --weight 1 --distinct neg.csv
trouble negative-usual "count: record 2 of 'neg.csv': its weight -2 takes back, which the number of different keys cannot; ask for a list alone, such as --top 10" count --format csv --key 2 --weight 1 neg.csv
trouble negative-mi "count: record 2 of 'neg.csv': its weight -2 takes back, which --estimator mi cannot; use another, such as agms" count --format csv --key 2 --weight 1 --estimator mi --query a neg.csv
"$WEIR" count --format csv --key 2 --weight 1 <neg.csv >out 2>err; is negative-stdin "weir: count: record 2 of 'standard input'" "$(grep -o "^.*'standard input'" err)"
printf 'a,3
a,2
b,1
' >spaced.csv
run count $s --csv --format csv --key 1 --weight 2 --sketch spacecode --query b spaced.csv; is spacecode-weight "0 " "$rc $(cat err)"
printf 'a,1
b

c,2
,4
' >lacking.csv
run count $s --format csv --key 1 --weight 2 --top 5 lacking.csv
is lacks-weight "records 5 7 in all 2 without weight" "$(head -1 out | xargs)"
run count $s --format csv --key 2 --weight 1 --top 5 <(printf '1,a
2
3,b
')
is lacks-key "records 3 4 in all 1 without key" "$(head -1 out | xargs)"
printf '%s\n' 'a - - [1/Jan/2020:00:00:00 +0000] "GET /x HTTP/1.1" 200 12' 'a - - [1/Jan/2020:00:00:00 +0000] "HEAD /x HTTP/1.1" 304 -' 'b - - [1/Jan/2020:00:00:00 +0000] "GET /y HTTP/1.1" 200 x' >bytes.log
run count $s --csv --format clf --key url --weight bytes --on-bad drop --top 2 bytes.log
is clf-without-bytes 'top,/x,12,' "$(sed -n 2p out | cut -d, -f1-3),"
run count $s --json --format clf --key url --weight bytes --on-bad drop --top 2 bytes.log
is clf-without-bytes-counted '"missing":1,"unweighted":1,"bad":1' "$(grep -o '"missing":.*"bad":[0-9]*' out)"
run count $s --json --format csv --key 1 --weight 2 --top 5 --state lacking.weir lacking.csv
is lacks-json '"missing":2,"unweighted":2,"bad":0' "$(grep -o '"missing":.*"bad":[0-9]*' out)"
run count $s --json --format csv --key 1 --weight 2 --top 5 --state lacking.weir lacking.csv
is lacks-state '"missing":4,"unweighted":4,"bad":0' "$(grep -o '"missing":.*"bad":[0-9]*' out)"
printf '1500000000,a\n1500000000,a\n' >huge.csv
trouble_like overflow "count: record 2 of 'huge.csv': *overflow*" count --format csv --key 2 --weight 1 --query a --sketch countmin:counter=32 huge.csv
trouble_like weight-no-number "count: record 1 of 't.csv' (at byte *): *not a number*" count --format csv --key 1 --weight 3 t.csv
trouble_like weight-binary "count: --weight goes with --format lines, csv, tsv, json or clf*" count --format len32 --weight 1 in
trouble group-binary "count: --group goes with --format lines, csv, tsv, json or clf; binary records have no fields" count --format len32 --group 1 in
trouble_like group-unknown "count: *nobody*" count --format csv --header --key user --group nobody t.csv
trouble decay-distinct "count: --decay goes with counts and lists; for --distinct, --range, --quantiles and --sample use --window" count --decay 1h --distinct in
trouble window-and-decay "count: --window and --decay do not go together" count --decay 1h --window 1h in
trouble both-forms "count: give --json or --csv, not both" count --json --csv in
trouble mi-window "count: --estimator mi does not go with a window: what was counted by minimal increase cannot be added up or faded" count --estimator mi --window 1h --top 1 in
trouble sample-weight "count: --sample does not go with --weight: records are sampled one by one" count --format csv --weight 1 --sample 2 neg.csv
trouble no-file "count: cannot read 'nowhere': No such file or directory" count nowhere
trouble_like estimator-unknown "count: --estimator cannot be 'cmn'; did you mean 'cm*" count --estimator cmn in

# a record out of order counts as of the latest time before it, however late
printf '100,a\n200,b\n95,c\n10,d\n199,b\n' >late.csv
run count $s --csv --format csv --key 2 --time 1 --window 20s --query a --query b --query c --query d late.csv
is late-counted 'a 0 b 2 c 1 d 1 ' "$(awk -F, '/^query/ { printf "%s %s ", $2, $3 }' out)"

finish
