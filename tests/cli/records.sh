#!/usr/bin/env bash
# Record formats, compression and keys, from one end to the other.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
m=--memory=1M

printf 'x\r\ny\r\nx\r\nx\n' >in
gives crlf-kept 'x\r\ny\r\nx\n' dedup $m in
printf 'a\nb\na' >in
gives no-last-newline 'a\nb\n' dedup $m in
printf 'a\nb' >in
gives last-newline-not-added 'a\nb' dedup $m in
printf 'b\nc\n' >in2
gives newline-between-files 'a\nb\nc\n' dedup $m in in2
printf '\n\nx\n\n' >in
gives empty-lines '\nx\n' dedup $m in
: >in; gives empty-file '' dedup $m in
printf 'a\0b\0a\0' >in
run dedup $m -z in; is null-terminated "61 00 62 00" "$(od -An -tx1 out | xargs)"

printf 'id,name\n1,x\n2,y\n1,z\n"2",w\n' >t.csv
gives csv-key-number 'id,name\n1,x\n2,y\n' dedup $m --format csv --key 1 t.csv
gives csv-key-name 'id,name\n1,x\n2,y\n' dedup $m --format csv --header -k id t.csv
gives csv-two-keys 'id,name\n1,x\n2,y\n1,z\n"2",w\n' dedup $m --format csv --header -k id,name t.csv
gives csv-header-seen 'id,name\n1,z\n"2",w\n' dedup $m --format csv --header -k id --emit seen t.csv
gives csv-header-all 'verdict,id,name\nN,1,x\nN,2,y\nS,1,z\nS,"2",w\n' dedup $m --format csv --header -k id --emit all t.csv
gives csv-header-verdicts 'N\nN\nS\nS\n' dedup $m --format csv --header -k id --emit verdicts t.csv
cp t.csv u.csv; gives csv-header-once 'id,name\n1,x\n2,y\n' dedup $m --format csv --header -k id t.csv u.csv
trouble_like csv-unknown-column "dedup: *nmae*" dedup $m --format csv --header -k nmae t.csv
printf 'a,"x\ny"\nb,"x\ny"\na,"x\ny"\n' >q.csv
gives csv-embedded-newline 'a,"x\ny"\nb,"x\ny"\n' dedup $m --format csv q.csv
printf 'ab,c\na,bc\nab,c\n' >j.csv
gives csv-unambiguous 'ab,c\na,bc\n' dedup $m --format csv -k 1,2 j.csv
printf '1\tx\n2\tx\n1\tz\n' >t.tsv
gives tsv '1\tx\n2\tx\n' dedup $m --format tsv -k 1 t.tsv
printf '{"a":"A","b":1}\n{"b":2,"a":"\\u0041"}\n{"a":"B"}\n' >t.json
gives json-by-value '{"a":"A","b":1}\n{"a":"B"}\n' dedup $m --format json -k .a t.json
printf '{"u":{"id":1}}\n{"u":{"id":1.0}}\n{"u":{"id":"1"}}\n' >t.json
gives json-path '{"u":{"id":1}}\n{"u":{"id":"1"}}\n' dedup $m --format json -k .u.id t.json
printf 'aabbaacc' >f.bin
gives fixed 'aabbcc' dedup $m --format fixed:2 f.bin
printf '\2\0\0\0aa\1\0\0\0b\2\0\0\0aa' >l.bin
run dedup $m --format len32 l.bin; is len32 "02 00 00 00 61 61 01 00 00 00 62" "$(od -An -tx1 out | xargs)"

printf '1 a\n2 b\n3 a\n' >in
gives skip-prefix '1 a\n2 b\n' dedup $m --key-skip-prefix 2 in
printf 'Ab\naB\nc\n' >in
gives ignore-case 'Ab\nc\n' dedup $m --ignore-case in
printf ' a\na \nb\n' >in
gives trim ' a\nb\n' dedup $m --trim in

printf '1,x\n2\n3,x\n4\n5,y\n' >m.csv
gives missing-pass '1,x\n2\n4\n5,y\n' dedup $m --format csv -k 2 m.csv
gives missing-drop '1,x\n5,y\n' dedup $m --format csv -k 2 --on-missing drop m.csv
gives missing-seen '3,x\n' dedup $m --format csv -k 2 --emit seen m.csv
gives missing-all 'N,1,x\nN,2\nS,3,x\nN,4\nN,5,y\n' dedup $m --format csv -k 2 --emit all m.csv
gives missing-drop-all 'N,1,x\nS,3,x\nN,5,y\n' dedup $m --format csv -k 2 --emit all --on-missing drop m.csv
gives missing-drop-verdicts 'N\nS\nN\n' dedup $m --format csv -k 2 --emit verdicts --on-missing drop m.csv
trouble_like missing-fail "dedup: record 2 of 'm.csv' (at byte 4): *" dedup $m --format csv -k 2 --on-missing fail m.csv
is missing-fail-before "1,x" "$(cat out)"
printf '{"a":1}\n{"a":\n{"a":1}\n{"a":2}\n' >b.json
trouble_like bad-fail "dedup: record 2 of 'b.json' (at byte 8): *" dedup $m --format json -k .a b.json
is bad-fail-before '{"a":1}' "$(cat out)"
gives bad-pass '{"a":1}\n{"a":\n{"a":2}\n' dedup $m --format json -k .a --on-bad pass b.json
gives bad-drop '{"a":1}\n{"a":2}\n' dedup $m --format json -k .a --on-bad drop b.json
run dedup $m --format json -k .a --on-bad drop --stats=json b.json
is bad-counted '1' "$(grep -o '"bad":[0-9]*' err | cut -d: -f2)"

printf 'a\nb\na\n' >in
gives emit-new 'a\nb\n' dedup $m --emit new in
gives emit-seen 'a\n' dedup $m --emit seen in
gives emit-all 'N\ta\nN\tb\nS\ta\n' dedup $m --emit all in
# JSON: a blank line is a record with a verdict; without a key it is always new
printf '{"a":1}\n\n{"a":1}\n \t\n7\n{}' >blank.json
gives json-blank-all '{"verdict":"N","a":1}\n{"verdict":"N"}\n{"verdict":"S","a":1}\n \t{"verdict":"N"}\n{"verdict":"N","value":7}\n{"verdict":"N"}' dedup $m --format json --emit all blank.json
gives json-blank-verdicts 'N\nN\nS\nN\nN\nN\n' dedup $m --format json --emit verdicts blank.json
printf '{"a":1}\n\n{"a":1}\n\n' >blank.json
gives json-blank-key '{"verdict":"N","a":1}\n{"verdict":"N"}\n{"verdict":"S","a":1}\n{"verdict":"N"}\n' dedup $m --format json -k .a --emit all blank.json
gives json-blank-whole '{"verdict":"N","a":1}\n{"verdict":"N"}\n{"verdict":"S","a":1}\n{"verdict":"S"}\n' dedup $m --format json --emit all blank.json

# JSON: a byte order mark belongs to the first record of a file, not to its key
printf '\xef\xbb\xbf{"a":1}\n{"a":1}\n{"a":2}\n' >bom.json
gives json-mark '\xef\xbb\xbf{"a":1}\n{"a":2}\n' dedup $m --format json -k .a bom.json
gives json-mark-whole '\xef\xbb\xbf{"a":1}\n{"a":2}\n' dedup $m --format json bom.json
gives json-mark-all '\xef\xbb\xbf{"verdict":"N","a":1}\n{"verdict":"S","a":1}\n{"verdict":"N","a":2}\n' dedup $m --format json -k .a --emit all bom.json
gives json-mark-files '\xef\xbb\xbf{"a":1}\n{"a":2}\n' dedup $m --format json -k .a bom.json bom.json
printf '{"a":2}\n' >no-bom.json
gives json-mark-second '{"a":2}\n\xef\xbb\xbf{"a":1}\n' dedup $m --format json -k .a no-bom.json bom.json
tr '\n' '\0' <bom.json >bom.nul
gives json-mark-nul '\xef\xbb\xbf{"a":1}\0{"a":2}\0' dedup $m --format json -z -k .a bom.nul
gives json-mark-alone '\xef\xbb\xbf\n' dedup $m --format json <(printf '\xef\xbb\xbf\n')
printf '{"a":1}\n\xef\xbb\xbf{"a":1}\n' >later.json
trouble_like json-mark-later "dedup: record 2 of 'later.json' (at byte 8): invalid JSON*" dedup $m --format json -k .a later.json
printf '\xef\xbb\xbf{"a":x}\n' >bad-bom.json
trouble json-mark-place "dedup: record 1 of 'bad-bom.json' (at byte 0): invalid JSON: expected a value (byte 8)" dedup $m --format json -k .a bad-bom.json
run count --format json -k .a --csv -n 3 bom.json; is json-mark-count 2 "$(awk -F, '$2 == 1 { print $3 }' out)"

# a column whose name is a number is named in quotes
printf 'x,2,"a,b"\n1,p,7\n2,p,7\n1,q,8\n' >two.csv
printf '2,x\n1,p\n2,p\n1,q\n' >turned.csv
gives column-by-number '2,x\n1,p\n1,q\n' dedup $m --format csv --header -k 2 turned.csv
gives column-named-number '2,x\n1,p\n2,p\n' dedup $m --format csv --header -k '"2"' turned.csv
gives column-with-comma 'x,2,"a,b"\n1,p,7\n1,q,8\n' dedup $m --format csv --header -k '"a,b"' two.csv
run count --format csv --header -k x -w '"2"' --csv -n 1 turned.csv; is column-of-weight 3 "$(awk -F, '$2 == "p" { print $3 }' out)"

gives emit-verdicts 'N\nN\nS\n' dedup $m --emit verdicts in

gzip -k in; gives gzip-in 'a\nb\n' dedup $m in.gz
if command -v zstd >/dev/null; then zstd -q in; gives zstd-in 'a\nb\n' dedup $m in.zst
  run dedup $m --compress zstd in; is zstd-out $'a\nb' "$(zstd -dc out)"; else skip zstd "zstd is not installed"; fi
mv in.gz odd-name; gives gzip-by-content 'a\nb\n' dedup $m odd-name
"$WEIR" dedup $m <odd-name >out; is gzip-stdin $'a\nb' "$(cat out)"
run dedup $m --compress gzip in; is gzip-out $'a\nb' "$(gzip -dc out)"
run dedup $m --compress gzip -o o.gz in; is gzip-file $'a\nb' "$(gzip -dc o.gz)"
run dedup $m --compress gzip /dev/null; gzip -dc out >/dev/null 2>&1; is gzip-empty 0 $?
gives compress-none 'a\nb\n' dedup $m --compress none in

# any number of threads gives the same bytes
seq 1 300000 | awk '{print "https://example.org/page/" ($1 * 7919) % 100003}' >big
awk '!s[$0]++' big >want
for j in 1 2 4; do
  run dedup --memory 64M --threads $j big; same "threads-$j" want out
  run dedup --memory 64K --fpr 1% --seed 5 -q --threads $j --emit verdicts big; cp out "v$j"
done
same threads-verdicts-2 v1 v2; same threads-verdicts-4 v1 v4
run dedup --memory 64K --fpr 1% --seed 6 -q --emit verdicts big
cmp -s v1 out && no seed-matters "another seed gave the same verdicts" || ok seed-matters
for f in recent bloom; do
  run dedup --memory 64M --filter $f big; same "filter-$f" want out
done
run dedup --memory 64M --filter stable:fpr=1% big; n=$(wc -l <out)
((n > 98000 && n < 150000)) && ok filter-stable || no filter-stable "$n records, not about 100003"
# a key that no record has is most likely misspelled: a word about it, and nothing else changes
printf '{"id":1}\n{"id":1}\n' >ids.json
run dedup --format json --key .idd ids.json; is key-nowhere-code 0 $rc; same key-nowhere-passes ids.json out
is key-nowhere-said "weir: dedup: nothing was compared: of 2 records none has the key '.idd'; look at --key, or at --on-missing" "$(cat err)"
run dedup --format json --key .idd -q ids.json; is key-nowhere-quiet "" "$(cat err)"
printf '{"idd":1}\n' >>ids.json; run dedup --format json --key .idd ids.json; is key-somewhere "" "$(cat err)"
finish
