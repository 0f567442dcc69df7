#!/usr/bin/env bash
# weir pairs: answers, summaries, examples, and what it refuses.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# a table with a known number of similar rows: 300 rows, then some again with one
# or two of six columns changed
awk 'BEGIN { print "id,a,b,c,d,e,f"
  for (i = 1; i <= 300; i++) printf "%d,a%d,b%d,c%d,d%d,e%d,f%d\n", i, i, i, i, i, i, i
  for (i = 1; i <= 40; i++) printf "%d,x%d,b%d,c%d,d%d,e%d,f%d\n", i + 300, i, i, i, i, i, i
  for (i = 1; i <= 60; i++) printf "%d,y%d,z%d,c%d,d%d,e%d,f%d\n", i + 340, i, i, i, i, i, i }' >t.csv
c=(--format csv --header --columns a,b,c,d,e,f -q)

# field NAME: a number of the JSON object in out
field() { sed -E 's/.*"'"$1"'":(\[?[^,}]*).*/\1/' out | head -1; }
number() { grep -oE "\"$1\":-?[0-9.e+]+" out | tail -1 | cut -d: -f2; }

# 40 pairs agree in 5; 60 in 4, and 40 more between the two kinds of copies
run pairs self "${c[@]}" -s 4 --exact --json t.csv
is exact-code 0 $rc
is exact-similar 140 "$(number similar)"
like() { [[ "$(cat out)" == $2 ]] && ok "$1" || no "$1" "got '$(head -c 600 out)'"; }
like exact-counts '*"counts":\[{"agree":4,"pairs":100,*"agree":5,"pairs":40,*"agree":6,"pairs":0,*'
awk 'BEGIN { for (i = 1; i <= 50; i++) for (k = 0; k < 2; k++) { for (c = 1; c < 64; c++)
  printf "%s,", i ((k && c <= 5) ? "x" : "") "c" c; print i } }' >wide.csv
run pairs self --format csv -c "$(seq -s, 1 30)" -s 20 --exact --json -q wide.csv
is exact-30 "0 50 20" "$rc $(number similar) $(number threshold)"; like exact-30-counts '*"agree":25,"pairs":50,*'
like exact-30-spec '*"summary":"pairs:columns=30,threshold=20,*'
run pairs self --format csv -c "$(seq -s, 1 64)" -s 32 --exact --json -q wide.csv; is exact-64 "0 50" "$rc $(number similar)"
run pairs self --set . --values 64 -s 32 --exact --json -q wide.csv; is exact-64-set "0 50" "$rc $(number similar)"
run pairs self --text . --values 64 -s 60 --exact --json -q wide.csv; is exact-64-text 0 $rc
run pairs self "${c[@]}" -s 4 --sample 1 --json t.csv; is whole-sample 140 "$(number similar)"
run pairs self "${c[@]}" -s 4 --sample 1 --ordered --json t.csv; is ordered 680 "$(number similar)"
like ordered-pairs '*"pairs":160000,"ordered":true*'
run pairs self "${c[@]}" -s 4 --sample 1 t.csv
like sentence-about '*about 140 of 80 thousand pairs share 4 or more of 6 fields; 0.175%*'
like bars '*█*'

# the same answer for any number of threads, and from a pipe
run pairs self "${c[@]}" -s 4 --seed 5 --json -j 1 t.csv; one=$(number similar)
run pairs self "${c[@]}" -s 4 --seed 5 --json -j 3 t.csv; is threads "$one" "$(number similar)"
gzip -k t.csv; cp t.csv t2.csv; mv t.csv.gz z; mv z t.csv.gz
run pairs self "${c[@]}" -s 4 --sample 1 --json t.csv.gz; is gzip 140 "$(number similar)"
"$WEIR" pairs self "${c[@]}" -s 4 --sample 1 --json - <t.csv >out; is pipe 140 "$(number similar)"
# an operand that can be read only once is read whole, also if its bytes are there already
piped() { exec 5< <(cat "$1") 6< <(cat "$2"); sleep 0.2; }
piped t.csv t.csv.gz
run pairs self "${c[@]}" -s 4 --sample 1 --json /dev/fd/5; is pipe-operand 140 "$(number similar)"
run pairs self "${c[@]}" -s 4 --sample 1 --json /dev/fd/6; is pipe-gzip 140 "$(number similar)"
seq 1 1000 >numbers; piped numbers numbers
run pairs self --text . --json -q /dev/fd/5; like pipe-lines '*"records":\[1000,1000\],"dropped":0*'
run pairs self --text . --list 2 -q /dev/fd/6; is list-pipe-operand "0 " "$rc $(cat err)"
run pairs self "${c[@]}" -s 4 --online=width=4096,depth=3 --json t.csv; is online-code 0 $rc
like online-method '*width=4096,depth=3*"method":"online"*'

# join, and a summary on either side
head -301 t.csv >a.csv; (head -1 t.csv; tail -100 t.csv) >b.csv
run pairs join "${c[@]}" -s 4 --exact --json a.csv b.csv; is join-exact 100 "$(number similar)"
run pairs join "${c[@]}" -s 4 --sample 1 --json a.csv b.csv; is join 100 "$(number similar)"
for seed in 1 2 3 4 5 6 7 8; do "$WEIR" pairs join "${c[@]}" -s 4 --seed $seed a.csv b.csv >/dev/null 2>>said || echo $seed; done >bad-seeds
is join-any-seed "" "$(cat bad-seeds)"
piped a.csv b.csv
run pairs join "${c[@]}" -s 4 --sample 1 --json /dev/fd/5 /dev/fd/6; is join-pipes 100 "$(number similar)"
run pairs self "${c[@]}" -s 4 --sample 1 --seed 3 --save a.weir a.csv; is save-code 0 $rc
run pairs self "${c[@]}" -s 4 --sample 1 --seed 3 --save b.weir b.csv
run pairs join --json a.weir b.weir; is join-summaries 100 "$(number similar)"
run pairs self --json a.weir b.weir; is merged 140 "$(number similar)"
run pairs self --json --save all.weir a.weir b.weir; run pairs self --json all.weir; is saved-merge 140 "$(number similar)"
trouble twice "pairs: 'a.weir' and 'a.weir': the summaries hold records of the same numbers and the same draw: they are the same one, or made with one seed from inputs of one name; give one another name, or draw" pairs self a.weir a.weir
trouble_like twice-join "pairs: *same draw*give one another name, or draw" pairs join a.weir a.weir
trouble merge "merge: 'a.weir' holds a summary of pairs; \`weir pairs self A B --save C\` joins them" merge -o c.weir a.weir b.weir
run pairs self "${c[@]}" -s 4 --sample 1 --seed 4 --save other.weir b.csv
trouble_like mismatch "pairs: *do not match*'seed'*" pairs join a.weir other.weir
run pairs self "${c[@]}" -s 5 --sample 1 --seed 3 --save five.weir b.csv
trouble_like mismatch-threshold "pairs: *do not match*'threshold'*" pairs join a.weir five.weir
trouble contradicts-threshold "pairs: 'a.weir' was made with threshold=4, not 5; leave out the option, or make it anew from the records" pairs self -s 5 a.weir
trouble_like contradicts-seed "pairs: 'b.weir' was made with seed=3, not 9;*" pairs self --seed 9 b.weir
trouble_like contradicts-sample "pairs: 'a.weir' was made with sample=1, not 0.5;*" pairs self --sample 50% a.weir
trouble_like contradicts-second "pairs: 'five.weir' was made with threshold=5, not 4;*" pairs join -s 4 a.weir five.weir
trouble_like contradicts-method "pairs: 'a.weir' was made with method=offline, not online;*" pairs self --online a.weir
trouble_like contradicts-fields "pairs: 'a.weir' was made of 'a,b,c,d,e,f', not of 'a,b,c,d,e,id';*" pairs self --format csv --header -c a,b,c,d,e,id -s 4 a.weir
trouble_like contradicts-search "pairs: 'a.weir' was made with threshold=4, not 2;*" pairs search -s 2 a.weir 'a,b,c,d,e,f'
run pairs self "${c[@]}" -s 4 --sample 100% --seed 3 --json a.weir; is agrees "0 300" "$rc $(grep -oE '"records":.[0-9]+' out | grep -oE '[0-9]+')"
run pairs join "${c[@]}" -s 4 --sample 1 --seed 3 --json a.weir b.csv; is agrees-join "0 100" "$rc $(number similar)"

# a summary says how the other side of a join is made; the command line may say how it is laid out
run pairs join --json a.weir b.csv; is join-adopts "0 100" "$rc $(number similar)"
run pairs join --json b.csv a.weir; is join-adopts-first "0 100" "$rc $(number similar)"
run pairs join --json a.weir b.csv --memory 1M -s 4; is join-adopts-some "0 100" "$rc $(number similar)"
tr , '\t' <b.csv | sed 's/^id\ta\tb/id\tA\tB/' >b.tsv
run pairs join --json --format tsv --header -c A,B,c,d,e,f a.weir b.tsv; is join-other-layout "0 100" "$rc $(number similar)"
sed 's/a\([0-9]\)/A\1/; s/c\([0-9]\)/C\1/; s/b\([0-9]\)/ b\1/' b.csv >odd.csv
run pairs self "${c[@]}" -s 4 --sample 1 -i --trim --round f=1 --save loose.weir a.csv
run pairs join --json loose.weir odd.csv; is join-adopts-reading "0 100" "$rc $(number similar)"
run pairs join --json a.weir odd.csv; is join-exact-reading "0 0" "$rc $(number similar)"
trouble_like join-contradicts "pairs: 'a.weir' was made with threshold=4, not 5;*" pairs join -s 5 a.weir b.csv
trouble_like join-contradicts-columns "pairs: 'a.weir' was made with columns=6, not 5;*" pairs join --format csv --header -c a,b,c,d,e a.weir b.csv
trouble_like join-contradicts-case "pairs: 'a.weir' was made without --ignore-case, not with it;*" pairs join -i a.weir b.csv
trouble_like join-contradicts-trim "pairs: 'a.weir' was made without --trim, not with it;*" pairs join --trim b.csv a.weir
trouble_like join-contradicts-round "pairs: 'loose.weir' was made with another --round, not with this;*" pairs join "${c[@]}" --round f=2 loose.weir b.csv
trouble_like contradicts-format "pairs: 'a.weir' was made with --format csv, not tsv;*" pairs search --format tsv a.weir 'a,b,c,d,e,f'

# two summaries whose values were made otherwise would count too few pairs: refused, joined or merged
otherwise() { # CASE HOW-A HOW-B A B
  local want="pairs: '$4' was made $2, '$5' $3, so their values do not compare; make one anew from its records, as the other was"
  trouble "otherwise-$1" "$want" pairs join "$4" "$5"
  trouble "otherwise-$1-merge" "$want" pairs self "$4" "$5"
}
made() { run pairs self "${c[@]}" -s 4 --sample 1 --seed 3 "${@:2}" --save "$1" b.csv; }
made case.weir -i; made trim.weir --trim; made round.weir --round f=2
otherwise case "without --ignore-case" "with --ignore-case" a.weir case.weir
otherwise trim "with --trim" "without --trim" trim.weir a.weir
otherwise round "without --round for column 6" "with --round 2 for column 6" a.weir round.weir
cp b.csv b2.csv
run pairs self "${c[@]}" -s 4 --sample 1 --seed 3 -i --save case2.weir b2.csv
run pairs join --json case.weir case2.weir; is alike-case "0 180" "$rc $(number similar)"
awk -F, 'NR > 1 { printf "{\"a\":\"%s\",\"b\":\"%s\",\"c\":\"%s\",\"d\":\"%s\",\"e\":\"%s\",\"f\":\"%s\"}\n", $2, $3, $4, $5, $6, $7 }' b.csv >b.json
j=(--format json --columns .a,.b,.c,.d,.e,.f)
run pairs self "${j[@]}" -s 4 --sample 1 --seed 3 --save json.weir -q b.json
otherwise types "with --format csv" "with --format json" a.weir json.weir
trouble_like join-types "pairs: 'a.weir' was made with --format csv, not json: JSON values have types*; convert*" pairs join "${j[@]}" a.weir b.json
trouble_like join-types-second "pairs: 'json.weir' was made with --format json, not csv: *" pairs join "${c[@]}" b.csv json.weir
printf 'a b,c\nd\n' >split1; cp split1 split2; cp split1 split3
run pairs self --set . --values 3 -s 1 --seed 3 --split ', ' --save split1.weir -q split1
run pairs self --set . --values 3 -s 1 --seed 3 --split ' ,' --save split2.weir -q split2
run pairs self --set . --values 3 -s 1 --seed 3 --split $',\t' --save split3.weir -q split3
otherwise split "with --split ', '" "with --split ',\\x09'" split1.weir split3.weir
run pairs join --json split1.weir split2.weir; is alike-split "0 2" "$rc $(number similar)"
run pairs self --text . --values 3 -s 1 --seed 3 -i --save text1.weir -q split1
run pairs self --text . --values 3 -s 1 --seed 3 --trim --save text2.weir -q split2
run pairs join --json text1.weir text2.weir; is alike-text "0 2" "$rc $(number similar)"
trouble_like join-exact-summary "pairs: --exact and --list need the records*" pairs join --exact a.weir b.csv
run inspect a.weir; is inspect-code 0 $rc

# search
run pairs search a.weir 'a7,b7,c7,d7,X,Y'; is search 'about 1 of 300 records share 4 or more of 6 fields (95%: 1 to 1): a7,b7,c7,d7,X,Y' "$(cat out)"
run pairs search --json all.weir 'a7,b7,c7,d7,e7,f7' 'q,q,q,q,q,q'
is search-two "3 0" "$(grep -oE '"similar":[0-9]+' out | cut -d: -f2 | xargs)"
trouble search-short "pairs: record 2 of the command line (at byte 18): the row has too few columns for the key (byte 23)" pairs search a.weir 'a7,b7,c7,d7,e7,f7' 'a7,b7'
trouble search-long "pairs: record 2 of the command line has more than the 6 columns compared, 'a,b,c,d,e,f'" pairs search a.weir 'a,b,c,d,e,f' 'a7,b7,c7,d7,e7,f7,extra'
run pairs search a.weir 'a7,b7,c7,d7,e7,"f,7"'; is search-quoted 0 $rc
trouble_like search-quote "pairs: record 1 of the command line*quote*" pairs search a.weir 'a7,b7,c7,d7,e7,"f7'
trouble_like search-none "pairs: cannot open 'none': *" pairs search none x
trouble_like search-other-note "pairs: *pairs_note_0.weir' does not say in a way known here how its records were read*" pairs search "$root/tests/golden/pairs_note_0.weir" 1,2
trouble_like search-csv "pairs: 't.csv' is not a weir snapshot" pairs search t.csv x
trouble_like search-alone "pairs: search takes a summary*" pairs search a.weir

# examples: found and verified
run pairs self "${c[@]}" -s 4 --list 4 --json t.csv
is list 4 "$(grep -oE '"agree":[45],"similarity":[0-9.]+,"records"' out | wc -l)"
like list-text '*"text":\["*,c*"\]*'
run pairs join "${c[@]}" -s 4 --list 2 --json a.csv b.csv; is list-join 2 "$(grep -oE '"records":\[[0-9]*,[0-9]*\],"files":\["a.csv","b.csv"\],"text"' out | wc -l)"
printf 'a,b\n\n1\n7,8\n9,9\n\n7,8\n' >gaps.csv
run pairs self --format csv --header -c a,b --on-bad drop --list 1 gaps.csv; like list-numbers '*agree in 2: records 4 and 7
  7,8
  7,8'
printf '7,8\n1,1\n' >gaps2.csv; sed -i 1d gaps.csv
run pairs self --format csv -c 1,2 --on-bad drop --list 3 gaps2.csv gaps.csv
like list-files "*agree in 2: record 1 of 'gaps2.csv' and record 3 of 'gaps.csv'*"
"$WEIR" pairs self "${c[@]}" --list 4 --csv -q - <t.csv >piped; "$WEIR" pairs self "${c[@]}" --list 4 --csv -q t.csv >filed
is list-pipe "$(cut -d, -f1,2,5 filed | tail -n +2 | sed 's/t.csv/-/' | sort)" "$(cut -d, -f1,2,5 piped | tail -n +2 | sort)"
# of many equal records each is in the list, and pairs that are just similar do not crowd them out
{ for i in {1..300}; do echo "row $i of many that differ,x"; done; for i in {1..40}; do echo "the same again,y"; done; } >crowd.csv
run pairs self --format csv -c 1,2 -s 1 --seed 1 --list 4000 --csv crowd.csv
is list-everybody 40 "$(awk -F, '$1 == 2 { print $3; print $4 }' out | sort -u | wc -l)"
run pairs self --format csv -c 1,2 -s 1 --seed 1 --list 4 --json crowd.csv
is list-found 'yes 4' "$(python3 -c 'import json; r = json.load(open("out")); print("yes" if r["found"] > 300 else r["found"], len(r["examples"]))')"
run pairs self --format csv -c 1,2 -s 1 --seed 1 --list 4 crowd.csv
like list-found-said '*4 of the * similar pairs that were found; a longer --list shows more*'
is list-csv 'agree,similarity,record_a,record_b,file_a,file_b,text_a,text_b' "$(head -1 piped)"
trouble csv-alone "pairs: --csv goes with --list" pairs self "${c[@]}" --csv t.csv
trouble_like list-online "pairs: --list has no effect with --online, which keeps sketches*" pairs self "${c[@]}" --list 2 --online t.csv

# texts, sets, numbers, JSON
printf 'the quick brown fox jumps\nThe quick, brown fox JUMPS!\nsomething else entirely here\n\n' >x.txt
run pairs self --text . --sample 1 --json -q x.txt; is text 1 "$(number similar)"; like text-dropped '*"dropped":1*'
run pairs self --text . --jaccard 0.8 -q x.txt; like curve '*a pair of Jaccard*is counted in*'
awk 'BEGIN { srand(3); for (i = 0; i < 900; i++) { t = ""; for (w = 0; w < 12; w++) t = t " w" int((i % 300) * (w > i % 4) * 7 + rand() * 9 * (w <= i % 4)) + 99 * w; print t } }' >near.txt
run pairs self --text . --jaccard 0.7 --seed 1 --json -q near.txt
python3 -c 'import json; d = json.load(open("out")); assert d["low"] < d["similar"] < d["high"], d' && ok text-interval || no text-interval "$(cat out)"
# the intervals of 95% hold the mean over the seeds, of all that is counted and of each row; 36 of 40
# or more do in 98 of 100 cases if each does with 95%
zstd -dcq "$root/lab/samples/package_titles.tsv.zst" | cut -f4 >titles
for ((seed = 1; seed <= 40; seed++)); do "$WEIR" pairs self --text . --jaccard 0.6 --seed $seed --json -q titles; done >seeds
python3 - <<'EOF' >covered || no text-intervals-hold "$(cat covered)"
import json
runs = [json.loads(line) for line in open("seeds")]
rows = [[r] + r["counts"] for r in runs]
value = lambda x: x.get("pairs") if "agree" in x else x["similar"]
for of in zip(*rows):
    mean = sum(map(value, of)) / len(of)
    held = sum(x["low"] <= mean <= x["high"] for x in of)
    print("#", of[0].get("agree", "all"), "values agree: %.0f pairs," % mean, held, "of", len(of), "intervals")
    assert held >= 36
EOF
cat covered; is text-intervals-rows 5 "$(grep -c intervals covered)"
run pairs self --text . --jaccard 0.7 --seed 1 -q near.txt; like text-interval-said '*the interval covers the choice of hashes*'
awk 'BEGIN { srand(4); for (i = 0; i < 400; i++) { t = "a b c d e"; for (w = 0; w < 7; w++) t = t " w" int(rand() * 3000); print t } }' >vague.txt
trouble_like cosine-refused "pairs: --cosine 0.5 cannot be told in these texts: about * pairs counted would be less similar; *" pairs self --text . --cosine 0.5 --seed 1 -q vague.txt
# 300 pairs with 11 of 12 words in common, of 180 thousand: told by the angles
awk 'BEGIN { for (i = 0; i < 600; i++) { t = ""; for (w = 0; w < 12; w++) t = t " w" (w ? int(i / 2) * 12 + w : 9000 + i); print t } }' >close.txt
run pairs self --text . --cosine 0.8 --seed 1 --json -q close.txt
is cosine-told "0.8 yes" "$(grep -o '"at_least":.*' out | tr '{},' ' \n' | awk -F: '/similarity/ { t = $3 } /"pairs/ { n = $2 } /low/ { l = $2 } /high/ { h = $2 } END { print t, (l <= 300 && 300 <= h && n > 285 && n < 315) ? "yes" : "no" }')"
run pairs self --text . --cosine 0.8 --seed 1 -q close.txt; like cosine-said '*about * of 180 thousand pairs have a cosine of 0.8 or more (95%: * to *)*'
run pairs self --text . --cosine 0.9 --sample 1 --json -q x.txt; is cosine 1 "$(number similar)"
printf 'a b c\nc b a\na x y\n' >s.txt
run pairs self --set . --values 3 -s 2 --sample 1 --json -q s.txt; is set 1 "$(number similar)"
printf '{"t":["a","b,1","c"]}\n{"t":["c","a","b,1"]}\n{"t":["a","q"]}\n' >s.json
run pairs self --format json --set .t --values 3 -s 3 --sample 1 --json -q s.json; is set-json 1 "$(number similar)"
# an item is the same in an array and in a text, in whatever case and white space it was said to be
alike() { # FIRST SECOND OPTIONS...: how many items two JSON values share
  printf '{"t":%s}\n{"t":%s}\n' "$1" "$2" >two.json
  run pairs self --format json --set .t --values 4 -s 1 --exact --json -q "${@:3}" two.json
  grep -oE '"agree":[0-9],"pairs":1' out | grep -oE '[0-9]' | head -1
}
is set-array-text 2 "$(alike '["a","b"]' '"a,b"')"
is set-array-number 2 "$(alike '[100,2]' '"2 100"')"
is set-array-escape 2 "$(alike '["\u0061","x\"y"]' '["a","x\u0022y"]')"
is set-array-case 1 "$(alike '["A"]' '["a"]' -i)"
is set-array-case-matters "" "$(alike '["A"]' '["a"]')"
is set-array-trim 1 "$(alike '[" a "]' '["a"]' --trim)"
is set-text-trim 2 "$(alike '"a , b"' '"a,b"' --trim --split ,)"
is set-array-spaces 1 "$(alike '["a b"]' '["a b","a"]')"
is set-array-nested 2 "$(alike '[["a",1],{"b":"]"}]' '[{"b":"]"},["a",1]]')"
is set-array-spelling 2 "$(alike '[1.0,1e2]' '[100,1]')"
is set-alone-array 1 "$(alike 1.50 '[1.5]')"
is set-alone-text 1 "$(alike 100 '"100"')"
is set-alone-word 1 "$(alike true '[true,"x"]')"
is set-alone-object 1 "$(alike '{"b":1, "c":2}' '["x",{"b":1,"c":2}]')"
is set-alone-split 1 "$(alike -1.5 '["-1.5"]' --split .-)"
is set-text-stays "" "$(alike 1 '"1.0"')"
is set-array-null "" "$(alike '[null,"a"]' '[null,"b"]')"
is set-array-empty "" "$(alike '["","b"]' '["","c"]')"
run pairs self --format json --set .t --values 3 -s 3 --save s.weir -q s.json
run pairs join --json s.weir s.json; is set-json-join 4 "$(number similar)"
printf '"x a b"\n"a b x"\n' >words.json
run pairs self --format json --set . --values 3 -s 3 --save w.weir -q words.json
run pairs search --json w.weir '"x a b"'; is set-json-whole 2 "$(number similar)"
printf '["a","b"]\n["b" , "a"]\n"a b"\n' >arrays.json
run pairs self --format json --set . --values 3 -s 2 --exact --json -q arrays.json; is set-json-root 3 "$(number similar)"
run pairs self --format json --set . --values 3 -s 2 --save arrays.weir -q arrays.json
printf 'a b\nc d\n' >plain.txt
run pairs join --format lines --json -q arrays.weir plain.txt; is set-json-root-join "0 3" "$rc $(number similar)"
# so in texts: words of strings without escapes, numbers by value
texts() { # FIRST SECOND: do two JSON values have the same words?
  printf '{"t":%s}\n{"t":%s}\n' "$1" "$2" >two.json
  run pairs self --format json --text .t --exact --json -q two.json; number similar
}
is text-number 1 "$(texts 1.50 '"1.5"')"
is text-word 1 "$(texts true '"true"')"
is text-array 1 "$(texts '["caf\u00e9\nau lait"]' '"café au lait"')"
is text-array-number 1 "$(texts '[1.50, 2]' '[1.5,20e-1]')"
is text-unicode-case 1 "$(texts '"ΣΊΣΥΦΟΣ Straße Ԁ Ꭰ Ż"' '"σίσυφος STRASSE ԁ ꭰ ż"')"
printf 'ŻÓŁW Straße\nżółw STRASSE\n' >fold.txt
run pairs self --text . --exact --json -q fold.txt; is text-unicode-lines 1 "$(number similar)"
run pairs self --format json --text .t --save folded.weir -q two.json; is text-unicode-saved 0 "$rc"
is text-differs 0 "$(texts 15 '"1.5"')"
run pairs self --set . --values 3 -s 2 --split ' ' --save s.weir -q s.txt
run pairs join --json s.weir s.txt; is set-join 5 "$(number similar)"
trouble_like set-contradicts-split "pairs: 's.weir' was made with another --split*" pairs join --set . --values 3 --split , s.weir s.txt
printf '{"n":"Ann","p":12.4}\n{"n":"Ann","p":10.1}\n{"n":"Ann","p":30}\n' >n.json
run pairs self --format json -c .n,.p -s 2 --round .p=5 --sample 1 --json -q n.json; is round 1 "$(number similar)"
printf 'Ann,12.6\nann ,13\n' >n.csv
run pairs self --format csv -c 1,2 -s 2 --round 2=5 -i --trim --sample 1 --json -q n.csv; is round-csv 1 "$(number similar)"

# memory bound, and nothing left behind when it is stopped
awk 'BEGIN { srand(1); for (i = 0; i < 60000; i++) { k = int(rand() * 20000); print k "," int(rand() * 1000) "," k % 977 "," k % 991 } }' >big.csv
mkdir tmp
run pairs self --format csv -c 1,2,3,4 -s 3 --seed 1 --json -q big.csv; want=$(number similar)
run pairs self --format csv -c 1,2,3,4 -s 3 --seed 1 --json -q -m 512K -j 1 --tmp tmp big.csv
is spilled "$want" "$(number similar)"
((${disk:=$(number disk)} > 0)) && ok spilled-disk || no spilled-disk "nothing went to disk"
is spilled-clean "" "$(ls -A tmp)"
mkfifo slow; (cat big.csv; cat big.csv; sleep 20) >slow & feeder=$!
"$WEIR" pairs self --format csv -c 1,2,3,4 -s 3 -q -m 512K -j 1 --tmp tmp slow >out 2>err & pid=$!
sleep 1; kill -TERM $pid; wait $pid; is term-code 143 $?
is term-clean "" "$(ls -A tmp)"
kill $feeder 2>/dev/null; wait 2>/dev/null
TMPDIR=$PWD/nowhere trouble_like tmp "pairs: cannot make a temporary file in '*nowhere'*" pairs self --format csv -c 1,2,3,4 -m 512K -q big.csv

# a figure
run pairs self "${c[@]}" -s 4 --plot f.svg t.csv; is plot-code 0 $rc; is plot '<svg' "$(grep -o '<svg' f.svg | head -1)"

# bad input
trouble no-question "pairs: a question is missing: give \`self FILE\`, \`join A B\` or \`search SUMMARY RECORD\`" pairs
trouble_like question "pairs: unknown question 'slef'*'self'*" pairs slef t.csv
trouble no-columns "pairs: nothing to compare is named: give --columns, --text or --set" pairs self t.csv
trouble_like lines-columns "pairs: --columns goes with --format csv*" pairs self -c 1,2 t.csv
trouble_like both "pairs: --columns, --text and --set exclude*" pairs self "${c[@]}" --text a t.csv
trouble threshold "pairs: --threshold cannot be 7; a record has 6 values" pairs self "${c[@]}" -s 7 t.csv
run pairs self "${c[@]}" -s 0 --json -q t.csv
python3 -c 'import json; d = json.load(open("out")); assert abs(sum(c["pairs"] for c in d["counts"]) - d["pairs"]) < 1e-6 and d["counts"][0]["agree"] == 0, d' && ok threshold-zero || no threshold-zero "$(cat out)"
run pairs self "${c[@]}" --method sample --seed 1 --json -q t.csv
is method-sample '"method":"sample"' "$(grep -o '"method":"sample"' out)"
run pairs self --format csv --header --columns a,b,c -s 3 --error 50% --confidence 90% --seed 1 --json -q t.csv
is error-plans 1 "$(grep -cE 'sample=[0-9.e-]+,.*repeats=[0-9]*[13579],' out)"
trouble_like error-small "pairs: --error 1e-06 cannot be promised for * records, not even with all super-values;*" pairs self "${c[@]}" --error 0.0001% -q t.csv
trouble confidence-alone "pairs: --confidence goes with --error" pairs self "${c[@]}" --confidence 90% t.csv
many=$(seq -s, 1 65)
trouble many "pairs: 65 columns are too many to compare; at most 64" pairs self --format csv -c "$many" t.csv
trouble_like subsets "pairs: 40 columns have*subsets*" pairs self --format csv -c "$(seq -s, 1 40)" -s 20 t.csv
trouble_like sample "pairs: --sample cannot be '0'*" pairs self "${c[@]}" --sample 0 t.csv
trouble_like sample-more "pairs: --sample cannot be '1.5'*" pairs self "${c[@]}" --sample 1.5 t.csv
trouble_like repeats "pairs: --repeats 2 is even*" pairs self "${c[@]}" --repeats 2 t.csv
trouble_like online-bad "pairs: unknown option*'widht'*width*" pairs self "${c[@]}" --online=widht=3 t.csv
trouble_like shingle "pairs: --shingle cannot be '3x'*" pairs self --text . --shingle 3x x.txt
trouble_like round-bad "pairs: --round 'zzz=5' names no column*" pairs self "${c[@]}" --round zzz=5 t.csv
trouble_like round-step "pairs: --round 'a=-1' has no step*" pairs self "${c[@]}" --round a=-1 t.csv
trouble_like set-values "pairs: --set needs --values*" pairs self --set . s.txt
trouble_like set-large "pairs: record 1 of 's.txt'*its set has too many different items; raise --values" pairs self --set . --values 2 s.txt
run pairs self --set . --values 2 -s 1 --on-bad drop --json s.txt; is set-large-drop-code 2 $rc
: >empty; trouble_like empty "pairs: 'empty' has no records*" pairs self --text . empty
echo one >one; trouble_like one "pairs: 'one' has one record*" pairs self --text . one
printf 'a,b,c\n1,2,3\n1,2\n1,2,3\n1,2,3\n' >ragged.csv
trouble_like ragged "pairs: record 3 of 'ragged.csv'*too few columns*" pairs self --format csv --header -c a,b,c ragged.csv
run pairs self --format csv --header -c a,b,c --on-bad drop --sample 1 --json ragged.csv
is ragged-drop 3 "$(number similar)"; like ragged-dropped '*"dropped":1*'
trouble_like unknown-column "pairs: *'zzz'*" pairs self --format csv --header -c a,zzz ragged.csv
trouble_like join-one "pairs: join takes two files" pairs join "${c[@]}" t.csv

# what would be ignored is refused: OPTIONS in a mode
useless() {
  local name=$1 words=$2
  shift 2
  trouble_like "useless-$name" "pairs: $words; leave it out" pairs "$@"
}
exact="has no effect with --exact, which compares the records themselves"
online="has no effect with --online, which keeps sketches and no super-values"
for o in --online --sample=1 --memory=1M --repeats=3 --tmp=. --save=x.weir --list=2; do
  useless "exact$o" "${o%%=*} $exact" self "${c[@]}" --exact "$o" t.csv
done
for o in --memory=1M --tmp=. --list=2; do useless "online$o" "${o%%=*} $online" self "${c[@]}" --online "$o" t.csv; done
for o in --exact --memory=1M --tmp=. --save=x.weir --list=2 --plot=x.svg --ordered --null --on-missing=drop --on-bad=drop; do
  useless "search$o" "${o%%=*} has no effect in \`search\`, *" search "$o" a.weir 'a7,b7,c7,d7,e7,f7'
done
for o in --save=x.weir --ordered; do useless "join$o" "${o%%=*} has no effect in \`join\`" join "${c[@]}" "$o" a.csv b.csv; done
for o in --split=x --shingle=2w --values=3 --group=2 --on-missing=drop; do useless "columns$o" "${o%%=*} has no effect with --columns" self "${c[@]}" "$o" t.csv; done
for o in --split=x --round=a=5; do useless "text$o" "${o%%=*} has no effect with --text" self --text . "$o" x.txt; done
for o in --shingle=2w --group=2 --round=a=5; do useless "set$o" "${o%%=*} has no effect with --set" self --set . --values 3 "$o" s.txt; done
for o in --split=x --round=a=5 --values=3; do useless "summary$o" "${o%%=*} has no effect without --columns, --text or --set" self "$o" a.weir; done
for o in --memory=1M --tmp=. --null --on-bad=drop; do useless "summaries$o" "${o%%=*} has no effect on summaries, which are read as they are" join "$o" a.weir b.weir; done
trouble_like online-word "pairs: --online takes width=W,depth=D or error=RATE, *not 'x'" pairs self "${c[@]}" --online=x t.csv

trouble_like missing "pairs: cannot read 'nothing'*" pairs self "${c[@]}" nothing
trouble tmp-missing "pairs: --tmp: cannot make files in 'nowhere': No such file or directory; make that folder, or name another" pairs self "${c[@]}" --tmp nowhere t.csv
trouble tmp-file "pairs: --tmp: cannot make files in 't.csv': Not a directory; make that folder, or name another" pairs self "${c[@]}" --tmp t.csv t.csv
trouble_like memory "pairs: *memory*" pairs self "${c[@]}" -m 1 t.csv
printf 'x,"y\n' >open.csv; trouble_like open-quote "pairs: record 1 of 'open.csv'*quote*" pairs self --format csv -c 1,2 open.csv

# the first example of docs/pairs.md is what it prints, but for the time
data=; for d in "${WEIR_DATA-}" "$root"/{.,..,../..}/shared/data; do [[ -r $d/package_titles.tsv.zst ]] && data=$d && break; done
if [[ $data ]] && command -v zstd >/dev/null; then
  zstd -qdc "$data/package_titles.tsv.zst" >package_titles.tsv
  awk '/^    \$ weir pairs/ { inside = 1 } inside && /^[^ ]/ { exit } inside { sub(/^    /, ""); print }' "$root/docs/pairs.md" >example
  read -ra words < <(sed -n '1s/^\$ weir //p' example); run "${words[@]}"; cp out got
  without_time() { sed -E 's/[0-9.]+ s$//' "$1"; }
  is docs-example "$(without_time <(tail -n +2 example))" "$(without_time got)"
else skip docs-example "the real streams are not here (WEIR_DATA)"; fi
printf '1,2,3\n1,2,4\n' >ranges.csv
trouble columns-range "pairs: ranges such as '1-3' cannot be compared; name each column" pairs self --format csv --columns 1-3 ranges.csv
trouble columns-open "pairs: ranges such as '2-' cannot be compared; name each column" pairs self --format csv --columns 2- ranges.csv

# either side of a join, and what is searched for, comes from a pipe
printf 'a,b,c\nd,e,f\n' >x.csv; printf 'a,b,z\nq,q,q\n' >y.csv; three=(--format csv --columns 1,2,3 --threshold 2 --seed 1)
piped() { local from=$1; shift; "$WEIR" "$@" <"$from" >out 2>err; rc=$?; }
table() { awk '/2 or more/ { print $4; exit }' out; }
piped y.csv pairs join "${three[@]}" x.csv -; is join-pipe-right '0 1' "$rc $(table)"
piped x.csv pairs join "${three[@]}" - y.csv; is join-pipe-left '0 1' "$rc $(table)"
run pairs self "${three[@]}" --save s3.weir x.csv
piped y.csv pairs join s3.weir -; is join-pipe-summary '0 1' "$rc $(table)"
piped y.csv pairs join - s3.weir; is join-pipe-summary-right '0 1' "$rc $(table)"
run pairs search s3.weir a,b,z q,q,q; cp out words
piped y.csv pairs search s3.weir -; is search-pipe "0 $(cat words)" "$rc $(cat out)"
trouble join-pipe-twice "pairs: both sides cannot be standard input; to count the pairs within it: weir pairs self -" pairs join "${three[@]}" - -
piped /dev/null pairs search s3.weir -; is search-pipe-empty '2 weir: pairs: standard input has no records to search for' "$rc $(cat err)"
printf 'a\0b\n' >nul.txt; piped nul.txt pairs search s3.weir -; is search-pipe-nul '2 weir: pairs: record 1 of standard input holds a NUL byte; a record is one line' "$rc $(cat err)"

# neighbours: outliers, distances
printf 'x,y\n0,0\n3,4\n3,4\n6,8\n100,0\n' >points.csv; points=(--format csv --header -c x,y)
run pairs self --distance 5 --outliers 3 --exact "${points[@]}" points.csv
is distance '5 of 10 pairs are within 5; 50%' "$(grep 'are within' out)"
is distance-outliers '3 of 5 records have fewer than 3 such neighbours; 60%' "$(tail -1 out)"
is distance-rows '0:1 0.3125:1 0.625:1 1.25:1 2.5:1 5:5 10:6 20:6 40:6 80:6 160:10' \
  "$(awk '/^  [0-9]/ { printf "%s%s:%s", s, $1, $2; s = " " }' out)"
run pairs self --distance 5 --outliers 3 --json "${points[@]}" points.csv
is distance-json '"near":{"limit":5,"pairs":5,"low":5,"high":5},"outliers":{"fewer":3,"records":3,"low":3,"high":3}' \
  "$(grep -o '"near":{[^}]*},"outliers":{[^}]*}' out)"
run pairs self --outliers 1 -s 2 --exact "${three[@]:0:4}" x.csv y.csv
is outliers '2 of 4 records have fewer than 1 such neighbours; 50%' "$(tail -1 out)"
seq 3000 | awk '{ print $1 % 1500 "," $1 % 7 "," $1 % 11 }' >many.csv
run pairs self --outliers 1 -s 3 --seed 2 --format csv -c 1,2,3 many.csv
is outliers-sampled '3 thousand records, 4.5 million pairs, 1024 records compared with all' "$(head -1 out | cut -d';' -f1)"
printf 'x,y\n1,2\nfar,3\n' >words.csv
trouble distance-words "pairs: record 3 of 'words.csv' (at byte 8): the field is not a number (byte 13)" pairs self --distance 1 "${points[@]}" words.csv
run pairs self --distance 1 --on-bad drop --exact "${points[@]}" words.csv points.csv
is distance-drop '6 records, 15 pairs, 1 left out' "$(head -1 out | cut -d';' -f1)"
trouble distance-none "pairs: --distance cannot be '0'; it is a number above 0" pairs self --distance 0 "${points[@]}" points.csv
trouble distance-join 'pairs: --distance has no effect in `join`; leave it out' pairs join --distance 1 "${points[@]}" points.csv points.csv
trouble distance-text 'pairs: --distance has no effect with --text; leave it out' pairs self --distance 1 --text . points.csv
trouble distance-threshold 'pairs: --threshold has no effect with --distance, which compares numbers; leave it out' pairs self --distance 1 -s 2 "${points[@]}" points.csv
trouble outliers-list 'pairs: --list has no effect with --outliers or --distance, which compare records; leave it out' pairs self --outliers 1 --list 2 "${points[@]}" points.csv
trouble outliers-all 'pairs: --outliers needs a --threshold above 0, or every record is near' pairs self --outliers 1 -s 0 "${points[@]}" points.csv

# bytes that are no UTF-8 make no broken JSON
printf 'k\xffx,1\nk\xffx,1\n' >bytes.csv
run pairs self --format csv -c 1,2 -s 2 --list 1 --json -q bytes.csv
like list-json-bytes '*"text":\["k\\ufffdx,1","k\\ufffdx,1"\]*'

finish
