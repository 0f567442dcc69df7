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

# output is compressed by its name; input by any compressor is read
seq 1 200000 | awk '{ print $1 % 50000 }' >numbers
seq 1 49999 >want-numbers; echo 0 >>want-numbers
for how in gz:gzip zst:zstd; do
  run dedup -o "out.${how%:*}" numbers
  "${how#*:}" -dc "out.${how%:*}" >got; same "output-${how%:*}" want-numbers got
done
run dedup --compress none -o plain.gz numbers; same output-not-by-name want-numbers plain.gz
for how in gzip zstd xz bzip2 lz4; do
  command -v $how >/dev/null || { skip "input-$how" "no $how"; continue; }
  { head -n 100000 numbers | $how -c; tail -n +100001 numbers | $how -c; } >packed
  for j in 1 3; do
    run dedup -j $j packed
    if ((rc == 2)) && grep -q "built without" err; then skip "input-$how-$j" "$(cat err)"; continue; fi
    same "input-$how-$j" want-numbers out
    "$WEIR" dedup -j $j <packed >out 2>err; same "input-$how-$j-stdin" want-numbers out
    { cat packed; } | "$WEIR" dedup -j $j >out 2>err; same "input-$how-$j-pipe" want-numbers out
    head -c $(($(stat -c %s packed) - 9)) packed >cut
    trouble_like "input-$how-$j-cut" "dedup: cannot read 'cut': damaged $how data (*); check it with '$how -t'" dedup -j $j cut
  done
done

# CSV: the same
printf '\xef\xbb\xbfid,v\n1,a\n1,b\n2,c\n' >bom.csv
printf 'id,v\n1,a\n3,b\n' >plain.csv
gives csv-mark '\xef\xbb\xbfid,v\n1,a\n2,c\n' dedup $m --format csv --header -k id bom.csv
gives csv-mark-all '\xef\xbb\xbfverdict,id,v\nN,1,a\nS,1,b\nN,2,c\n' dedup $m --format csv --header -k id --emit all bom.csv
gives csv-mark-files '\xef\xbb\xbfid,v\n1,a\n2,c\n3,b\n' dedup $m --format csv --header -k id bom.csv plain.csv
gives csv-mark-second 'id,v\n1,a\n3,b\n2,c\n' dedup $m --format csv --header -k id plain.csv bom.csv
printf '\xef\xbb\xbf"1",a\n1,b\n2,c\n' >bom2.csv
gives csv-mark-key '\xef\xbb\xbf"1",a\n2,c\n' dedup $m --format csv -k 1 bom2.csv
gives csv-mark-seen '\xef\xbb\xbf1,b\n' dedup $m --format csv -k 1 --emit seen bom2.csv

# columns by number must be in the header
trouble csv-number-beyond "dedup: no column 3 in 'plain.csv': its header has 2" dedup $m --format csv --header -k 3 plain.csv
trouble csv-range-beyond "dedup: no column -3 in 'plain.csv': its header has 2" dedup $m --format csv --header -k -3 plain.csv

# fields of lines, delimiters, ranges
printf '1.1.1.1 - - [d] "GET /a"\n2.2.2.2 -  - [d] "GET /b"\n1.1.1.1  -\t- [e]  "GET /a"\n' >words
gives words '1.1.1.1 - - [d] "GET /a"\n2.2.2.2 -  - [d] "GET /b"\n' dedup $m -k 1,6 words
gives words-last '1.1.1.1 - - [d] "GET /a"\n2.2.2.2 -  - [d] "GET /b"\n' dedup $m -k -1 words
printf 'a;x;1\nb;x;2\na;y;3\n' >semi
gives delimiter-lines 'a;x;1\nb;x;2\n' dedup $m -d ';' -k 1 semi
gives delimiter-csv 'a;x;1\na;y;3\n' dedup $m --format csv -d ';' -k 2 semi
gives delimiter-all 'N;a;x;1\nN;b;x;2\nS;a;y;3\n' dedup $m --format csv -d ';' -k 1 --emit all semi
gives range 'a;x;1\nb;x;2\na;y;3\n' dedup $m --format csv -d ';' -k 2- semi
printf 'a::x\nb::x\n' >two
gives delimiter-two 'a::x\n' dedup $m -d '::' -k 2 two
trouble delimiter-bad "dedup: --delimiter cannot be ';;'; of csv and tsv it is one byte, such as ';' or '|', and no quote or line end" dedup $m --format csv -d ';;' semi
trouble delimiter-json "dedup: --delimiter goes with --format lines, csv or tsv" dedup $m --format json -d ';' semi
run count -k 2 --delimiter ';' --csv --top 2 semi; is count-words "x 2" "$(awk -F, '$2 == "x" { print $2, $3 }' out)"

# web logs
printf 'h1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 1 "-" "A"\nh2 - - [10/Oct/2000:13:55:37 -0700] "GET /b HTTP/1.0" 200 1\nh1 - - [10/Oct/2000:14:55:36 -0700] "GET /c HTTP/1.0" 404 1\n' >web.log
run dedup $m --format clf -k host web.log; is clf-host "h1 h2" "$(awk '{ print $1 }' out | xargs)"
run dedup $m --format clf -k status,method web.log; is clf-two "200 404" "$(awk '{ print $9 }' out | xargs)"
run dedup --format clf -k host --window 30m --time time web.log; is clf-window 3 "$(wc -l <out)"
trouble_like clf-unknown "dedup: a web log has no field 'ulr': did you mean 'url'?*" dedup $m --format clf -k ulr web.log

# letters of Unicode
printf 'stra\xc3\x9fe\nSTRASSE\n' >letters
gives ignore-case-unicode 'stra\xc3\x9fe\n' dedup $m -i letters
printf 'caf\xc3\xa9\ncafe\xcc\x81\n' >letters
gives normalize 'caf\xc3\xa9\n' dedup $m --normalize nfc letters

# JSON: lists, arrays, names that come twice
printf '{"t":[1,2]}\n{"t":[3,2]}\n{"t":[1,2.0]}\n' >lists
gives json-last '{"t":[1,2]}\n' dedup $m --format json -k '.t[-1]' lists
gives json-list '{"t":[1,2]}\n{"t":[3,2]}\n' dedup $m --format json -k '.t[]' lists
printf '[\n  {"k": 1},\n  {"k": 2},\n  {"k": 1}\n]\n' >array.json
gives json-array '{"k": 1}\n{"k": 2}\n' dedup $m --format json -k .k array.json
gives json-array-whole '{"k": 1}\n{"k": 2}\n' dedup $m --format json array.json
run count --format json -k '.t[]' --csv --top 2 lists; is json-list-count '"[1,2]",2' "$(grep -o '"\[1,2\]",2' out)"
printf '{"k":1,"k":2}\n{"k":2}\n' >twice.json
gives json-twice '{"k":1,"k":2}\n' dedup $m --format json -k .k twice.json

# JSON: a byte order mark is no part of a record; that of the first file stays first
printf '\xef\xbb\xbf{"a":1}\n{"a":1}\n{"a":2}\n' >bom.json
gives json-mark '\xef\xbb\xbf{"a":1}\n{"a":2}\n' dedup $m --format json -k .a bom.json
gives json-mark-whole '\xef\xbb\xbf{"a":1}\n{"a":2}\n' dedup $m --format json bom.json
gives json-mark-all '\xef\xbb\xbf{"verdict":"N","a":1}\n{"verdict":"S","a":1}\n{"verdict":"N","a":2}\n' dedup $m --format json -k .a --emit all bom.json
gives json-mark-files '\xef\xbb\xbf{"a":1}\n{"a":2}\n' dedup $m --format json -k .a bom.json bom.json
printf '{"a":2}\n' >no-bom.json
gives json-mark-second '{"a":2}\n{"a":1}\n' dedup $m --format json -k .a no-bom.json bom.json
tr '\n' '\0' <bom.json >bom.nul
gives json-mark-nul '\xef\xbb\xbf{"a":1}\0{"a":2}\0' dedup $m --format json -z -k .a bom.nul
gives json-mark-alone '\xef\xbb\xbf\n' dedup $m --format json <(printf '\xef\xbb\xbf\n')
printf '{"a":1}\n\xef\xbb\xbf{"a":1}\n' >later.json
trouble_like json-mark-later "dedup: record 2 of 'later.json' (at byte 8): invalid JSON*" dedup $m --format json -k .a later.json
printf '\xef\xbb\xbf{"a":x}\n' >bad-bom.json
trouble json-mark-place "dedup: record 1 of 'bad-bom.json' (at byte 3): invalid JSON: expected a value (byte 8)" dedup $m --format json -k .a bad-bom.json
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
