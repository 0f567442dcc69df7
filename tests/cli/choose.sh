#!/usr/bin/env bash
# choose.sh - what is known only when all was read: --emit once, repeated, counts, --keep last.
# Every answer is that of awk.
source "$(dirname "$0")/lib.sh"
export TMPDIR=$work

once() { awk '{ n[$0]++; l[NR] = $0 } END { for (i = 1; i <= NR; i++) if (n[l[i]] == 1) print l[i] }' "$@"; }
repeated() { awk '{ n[$0]++; l[NR] = $0 } END { for (i = 1; i <= NR; i++) if (n[l[i]] > 1 && !s[l[i]]++) print l[i] }' "$@"; }
counts() { awk '{ n[$0]++; l[NR] = $0 } END { for (i = 1; i <= NR; i++) if (!s[l[i]]++) print n[l[i]] "\t" l[i] }' "$@"; }
last() { awk '{ at[$0] = NR; l[NR] = $0 } END { for (i = 1; i <= NR; i++) if (at[l[i]] == i) print l[i] }' "$@"; }
last_counts() { awk '{ n[$0]++; at[$0] = NR; l[NR] = $0 } END { for (i = 1; i <= NR; i++) if (at[l[i]] == i) print n[l[i]] "\t" l[i] }' "$@"; }

awk 'BEGIN { s = 12345; for (i = 0; i < 40000; i++) { s = (s * 1103515245 + 12345) % 2147483648; print "key-" int(s / 65536) % 20000 } }' >in
# 64K have room for 1,500 keys: 17,000 take some eleven readings, ten with some seeds
for m in 64K 1M; do
  for e in once repeated counts; do
    $e in >want; run dedup -m $m --emit $e in; same "$e-$m" want out; is "$e-$m-quiet" '' "$(cat err)"
  done
  last in >want; run dedup -m $m --keep last in; same "last-$m" want out
  last_counts in >want; run dedup -m $m --keep last --emit counts in; same "last-counts-$m" want out
  counts in >want
  "$WEIR" dedup -m $m --emit counts -j 3 <in >out; same "pipe-$m" want out
  run dedup -m $m --emit counts --stats=json in
  is "stats-$m" "40000 $(wc -l <want)" "$(grep -o '"records":[0-9]*\|"new":[0-9]*' err | cut -d: -f2 | tr '\n' ' ' | sed 's/ $//')"
done
is readings-many yes "$("$WEIR" dedup -m 64K --emit once --stats=json in 2>&1 >/dev/null | grep -o '"readings":[0-9]*' | awk -F: '{ print ($2 > 7 && $2 < 80) ? "yes" : "no: " $2 }')"
run dedup -m 1M --emit once --stats=json in
is readings-two '"readings":2' "$(grep -o '"readings":[0-9]*' err)"
run dedup --emit once --stats in; is readings-said 1 "$(grep -c '^input read *2   times, exactly$' err)"
# the bound that the manual gives, in keys and in memory
if [[ -n ${ASAN_OPTIONS:-} ]]; then skip promised 'the sanitizer takes memory of its own'; else
  is promised yes "$(seq 1500000 | /usr/bin/env bash -c 'ulimit -v 110000; "$0" dedup -j 1 -m 64M --emit once --stats=json' "$WEIR" 2>&1 >/dev/null | grep -o '"readings":[0-9]*' | grep -q ':2$' && echo yes)"
fi

# formats: the count goes in front, a header is written once, the last record may lack its end
printf 'id,v\r\n1,a\r\n2,b\r\n1,c\r\n' >t.csv
gives csv-counts 'count,id,v\r\n2,1,a\r\n1,2,b\r\n' dedup --format csv --header -k id --emit counts t.csv
gives csv-last 'id,v\r\n2,b\r\n1,c\r\n' dedup --format csv --header -k id --keep last t.csv
printf '{"k":1}\n{}\n{"k":1.0,"x":2}\n' >t.json
printf '"x"\n\n[3]\n"x"' >values.json
gives json-values '{"count":2,"value":"x"}\n{"count":1}\n{"count":1,"value":[3]}\n' dedup --format json --emit counts values.json
gives json-counts '{"count":2,"k":1}\n{"count":1}\n' dedup --format json -k .k --emit counts t.json
printf 'a\nb\na' >open
gives open-end 'b\na' dedup --keep last open
gives open-once 'b\n' dedup --emit once open
gives two-files 'b\n' dedup --emit once open -
printf 'c\n' >more; gives several 'b\nc\n' dedup --emit once open more
printf 'aabbaa' >bin; gives fixed 'bb' dedup --format fixed:2 --emit once bin
gives empty '' dedup --emit counts /dev/null
printf 'x\n' >in1; gives to-itself '' dedup --emit repeated -o in1 in1; is to-itself-done 0 "$(wc -c <in1)"

# records without a key, and malformed ones
printf '1,a\n2\n1,b\n3\n' >m.csv
gives missing-pass '2\n1,b\n3\n' dedup --format csv -k 2,1 --keep last --key-skip-prefix 9 m.csv
gives missing-drop '1,b\n' dedup --format csv -k 2,1 --keep last --key-skip-prefix 9 --on-missing drop m.csv
gives missing-repeated '1,a\n' dedup --format csv -k 2,1 --emit repeated --key-skip-prefix 9 m.csv
printf '{"k":1}\n{"k":\n' >bad.json
trouble_like bad-fails "dedup: record 2 of 'bad.json' *" dedup --format json -k .k --emit once -o nothing bad.json
is bad-nothing no "$([[ -e nothing ]] && echo yes || echo no)"
"$WEIR" dedup --format json -k .k --emit once <bad.json 2>err
is bad-named 1 "$(grep -c "record 2 of 'standard input'" err)"
gives bad-pass '{"k":1}\n{"k":\n' dedup --format json -k .k --emit once --on-bad pass bad.json

# nothing: exit code; what does not go together
run dedup --exit-code --emit repeated more; is nothing 1 $rc
run dedup --exit-code --emit once more; is something 0 $rc
trouble with-filter "dedup: --filter does not go with --emit once, which counts all of the input exactly" dedup --filter bloom --emit once in
trouble with-state "dedup: --state does not go with --keep last, which counts all of the input exactly" dedup --state s --keep last in
trouble with-window "dedup: --window does not go with --emit counts, which counts all of the input exactly" dedup --window 1h --emit counts in
trouble last-seen "dedup: --keep last goes with --emit new or counts" dedup --keep last --emit seen in
trouble too-small "dedup: --memory cannot be '32K'; it goes from 64K to 1024T" dedup -m 32K --emit once in
trouble binary-counts "dedup: --emit counts goes with formats of text; binary records have no columns" dedup --format fixed:2 --emit counts bin
TMPDIR=$work/none
printf 'a\n' | "$WEIR" dedup --emit once 2>err; is no-folder "weir: dedup: cannot make a temporary file: No such file or directory; set TMPDIR to a folder with more room" "$(cat err)"
TMPDIR=$work
is nothing-left '' "$(ls | grep weir- || true)"
# the input must not change between the readings
seq 1 200000 >grow
"$WEIR" dedup -m 64K --emit once -o o grow 2>err & pid=$!
sleep 0.3; printf 'x' | dd of=grow conv=notrunc status=none; wait $pid; code=$?
if ((code == 0)); then skip changed "the run was over before"; else is changed 1 "$(grep -c 'has changed while it was read' err)"; fi
finish
