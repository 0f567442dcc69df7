#!/usr/bin/env bash
# Importance: a field that says what is to be remembered longest.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# 30000 payments, each twice with 1500 others between; every tenth is a large one.
awk 'BEGIN { srand(1); print "id,amount"
  for (i = 0; i < 31500; i++) {
    if (i < 30000) { a[i] = i % 10 ? 1 + i % 7 : 5000 + i; print "k" i "," a[i] }
    if (i >= 1500) print "k" i - 1500 "," a[i - 1500]
  } }' >pay.csv
common="dedup --format csv --header --key id --memory 24K --fpr 5% --seed 1"
with="$common --filter importance:max=7 --importance amount"
# count of repeats let through, of the large and of the small
passed() { awk -F, 'NR > 1 { n[$1]++; if (n[$1] == 2) { if ($2 > 100) l++; else s++ } }
  END { print l + 0, s + 0 }' "$1"; }

# shellcheck disable=SC2086
{
run $with pay.csv; cp out graded
read -r large small < <(passed graded)
if ((rc == 0 && large * 9 * 5 < small)); then ok large-ones-are-remembered
else no large-ones-are-remembered "$large of the large, $small of the small passed: $(head -1 err)"; fi
run $common --filter importance:max=7 pay.csv
read -r large small < <(passed out)
if ((large * 9 * 5 > small)); then ok all-alike-without-it
else no all-alike-without-it "$large, $small"; fi
case $(head -1 err) in
*'without --importance all records'*) ok says-that-it-makes-no-difference ;;
*) no says-that-it-makes-no-difference "$(head -1 err)" ;;
esac
for threads in 1 2 4; do
  run $with --threads $threads pay.csv
  same "threads-$threads" graded out
done

# by column number, from tabs and from JSON, the same
tail -n +2 pay.csv >rows.csv
tail -n +2 graded >rows.graded
run dedup --format csv --key 1 --memory 24K --fpr 5% --seed 1 --filter importance:max=7 --importance 2 rows.csv
same by-number rows.graded out
sed 's/\(.*\),\(.*\)/{"id":"\1","of":{"amount":"\2"}}/' rows.csv >rows.json
run dedup --format json --key .id --memory 24K --fpr 5% --seed 1 --filter importance:max=7 \
  --importance .of.amount --emit verdicts rows.json
cp out strings
sed 's/"amount":"\([0-9]*\)"/"amount":\1/' rows.json >numbers.json
run dedup --format json --key .id --memory 24K --fpr 5% --seed 1 --filter importance:max=7 \
  --importance .of.amount --emit verdicts numbers.json
same from-json strings out

# saved in the middle, resumed, audited: as if never stopped
head -20001 pay.csv >first.csv
(head -1 pay.csv; tail -n +20002 pay.csv) >second.csv
run $with --state s.weir first.csv; cp out parts
run dedup --format csv --header --key id --importance amount --state s.weir second.csv
tail -n +2 out >>parts
same state graded parts
run $with --audit=1/1 pay.csv
same audit-changes-nothing graded out
is audit 1 "$(grep -c '^audit .*from 1 key in 1' err)"
run inspect s.weir
is inspect 60000 "$(awk '$1 == "rated" { print $2 }' out)"

# what is missing or no number: counted, and by on-missing and on-bad
printf 'id,amount\na,5\nb\nc,x\na,6\nd,nan\ne,-3\n' >odd.csv
run $with --on-bad drop --stats=json odd.csv
is bad-and-missing $'id,amount\na,5\nb\ne,-3' "$(cat out)"
is missing-counted '"missing":1' "$(grep -o '"missing":[0-9]*' err)"
is bad-counted '"bad":2' "$(grep -o '"bad":[0-9]*' err)"
run $with --on-bad pass --on-missing drop odd.csv
is bad-passes $'id,amount\na,5\nc,x\nd,nan\ne,-3' "$(cat out)"
trouble_like bad-fails "dedup: record 4 of 'odd.csv' (at byte *): the field is not a number*" $with odd.csv
trouble_like missing-fails "dedup: record 3 of 'odd.csv' (at byte *): the record has no such number*" \
  $with --on-missing fail odd.csv
# out of the range of a scale: the nearer end, and counted
run $common --filter importance:max=7,scale=linear,low=10,high=1000 --importance amount --state r.weir pay.csv
run inspect r.weir
is outside-counted "$(awk -F, 'NR > 1 && ($2 < 10 || $2 > 1000)' pay.csv | wc -l)" \
  "$(awk '$1 == "outside" { print $2 }' out)"

trouble_like other-filter "dedup: --importance goes with --filter importance; to 'recent'*" $common --importance amount pay.csv
trouble_like other-filter-in-state "dedup: --importance goes with*" \
  dedup --format csv --header --key id --filter stable --importance amount pay.csv
trouble_like no-such-column "dedup: no column 'amonut' in 'pay.csv': did you mean 'amount'*" \
  $common --filter importance --importance amonut pay.csv
trouble "not-a-number" "dedup: record 1 of 'pay.csv' (at byte 0): the field is not a number" \
  dedup --filter importance --importance 1 pay.csv
trouble_like one-field "dedup: cannot read --importance*" $common --filter importance --importance id,amount pay.csv
}
finish
