#!/usr/bin/env bash
# weir plan: answers, the line to run, the inverse questions, bad input.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

json() { python3 -c "import json,sys; d=json.load(open('out')); print($1)"; }

# A sample: 40000 records of 8000 keys, in CSV, the key in quotes now and then.
awk 'BEGIN { srand(7); print "n,user name,at"; for (i = 0; i < 40000; i++) {
  u = int(8000 * rand()); q = i % 5 ? "" : "\""; printf "%d,%su%d%s,%d\n", i, q, u, q, 1700000000 + i } }' >sample.csv
cut -d, -f2 sample.csv | tail -n +2 | tr -d '"' >keys
kinds=$(sort -u keys | wc -l)

run plan --memory 8K --fpr 1% --sample sample.csv --format csv --header --key 'user name' --plot curve.svg
is sample-code 0 $rc
is sample-quiet "" "$(cat err)"
line=$(tail -1 out)
is sample-line "    weir dedup --memory 8K --fpr 1% --format csv --header --key 'user name' sample.csv" "$line"
grep -q '^sample    40K records' out && ok sample-counted || no sample-counted "$(head -1 out)"
grep -q 'o recent' out && ok sample-plot || no sample-plot "no curve"
python3 -c "import xml.dom.minidom; xml.dom.minidom.parse('curve.svg')" && ok svg-is-xml || no svg-is-xml "$(head -3 curve.svg)"
is svg-lines yes "$(grep -q '<path' curve.svg && echo yes)"
wide=$(awk 'length > 80' out | grep -v '^    weir ' | head -1); is sample-80-columns "" "$wide"

# The line does what was promised: its share of repeats let through is in the range.
eval "$WEIR ${line#    weir} --audit=1 --seed 5 --stats=json --quiet" >/dev/null 2>stats
run plan --memory 8K --fpr 1% --sample sample.csv --format csv --header --key 'user name' --json
is json-code 0 $rc
is json-command "${line#    }" "$(json "d['command']")"
is json-choices "$(json "d['recommended']")" "$(json "d['choices'][0]['filter'].split(':')[0]")"
is json-sample 40000 "$(json "d['sample']['records']")"
within=$(python3 -c "
import json
p = json.load(open('out'))['choices'][0]; a = json.load(open('stats'))['audit']
print(p['fnr_low'] <= a['fnr'] <= p['fnr_high'] and a['fpr'] <= 0.012)")
is line-keeps-its-word True "$within"

# the same keys as plain lines, from standard input, give the same plan
"$WEIR" plan --memory 8K --fpr 1% --sample - --json <keys >out 2>err
is stdin-line "weir dedup --memory 8K --fpr 1%" "$(json "d['command']")"
is stdin-distinct "$kinds" "$(json "d['sample']['distinct']")"
gzip -k keys
run plan --memory 8K --fpr 1% --sample keys.gz --json
is gzip-distinct "$kinds" "$(json "d['sample']['distinct']")"

# importance: repeats are counted by it, and the line names the field if the filter looks at it
awk -F, 'NR == 1 { print $0 ",worth"; next } { k = $2; gsub(/[^0-9]/, "", k); print $0 "," (k % 10 ? 1 : 1000) }' sample.csv >worth.csv
run plan --memory 2K --fpr 10% --sample worth.csv --format csv --header --key 2 --importance worth --json
is importance-line True "$(json "('--importance worth' in d['command']) == (d['recommended'] == 'importance')")"

# without a sample
run plan --memory 64M --fpr 1%; is numbers-none 0 $rc
grep -q 'drawn evenly from 124M keys (twice as many as fit)' out && ok assumed-told || no assumed-told "$(head -1 out)"
run plan --memory 1M --records 1M --distinct 100K --json; is few-keys-recent recent "$(json "d['recommended']")"
is few-keys-exact 0 "$(json "d['choices'][0]['fnr']")"
run plan --memory 1M --fpr 10% --records 10M --distinct 1.4M --json
is bloom-where-it-fits bloom "$(json "d['recommended']")"
is bloom-line "weir dedup --memory 1M --fpr 10% --filter bloom" "$(json "d['command']")"

# how much memory, and it is enough
run plan --records 1M --distinct 200K --fpr 1% --fnr 5% --json; is memory-code 0 $rc
is memory-suffices True "$(json "d['choices'][0]['fnr'] <= 0.05 and 100e3 < d['choices'][0]['memory'] < 400e3")"
run plan --records 1M --distinct 100K --fnr 1% --json
is memory-suffices-by-the-table True "$(json "d['choices'][0]['fnr'] <= 0.01")"

# how long a window
run plan --memory 1M --fpr 0.1% --rate 1k/s --json; is window-code 0 $rc
is window-fits True "$(json "150 < d['stream']['window_fits_seconds'] < 400")"
[[ $(json "d['command']") =~ --window\ [0-9]+m[0-9]*s?$ ]] && ok window-line || no window-line "$(cat out)"
run plan --memory 1M --fpr 0.1% --rate 1K/s --window 1m --json; is window-known "weir dedup --memory 1M --fpr 0.1% --window 1m" "$(json "d['command']")"
run plan --memory 64K --sample sample.csv --format csv --header --key 2 --window 1h --time at --json
is window-sample "weir dedup --memory 64K --fpr 0.0001% --window 1h --format csv --header --key 2 --time at sample.csv" "$(json "d['command']")"
# the shortest windows, in more memory than they could use, are tried as quickly as others
timeout 60 "$WEIR" plan --window 10 --json >out 2>err; is window-short "0 10" "$? $(json "d['stream']['window_records']")"
timeout 60 "$WEIR" plan --window 1s --rate 1 --json >out 2>err; is window-short-time "0 1000000000" "$? $(json "int(d['stream']['window_seconds'] * 1e9)")"
# it is asked of new records: what says something else of the stream is not passed over in silence
for o in "--distinct 1K" "--records 1M" "--sample keys" "--records 1M --distinct 1K" "--sample keys --records 1M --distinct 20K"; do
  word=${o%% *}; [[ $o == *--distinct* && $o != *--sample* ]] && word=--distinct
  # shellcheck disable=SC2086
  trouble "window-of-new${o// /}" "plan: --rate without --window asks which window fits if every record is new, where $word says nothing; leave it out, or give a --window" plan --memory 1M --rate 1K/s $o
done
trouble window-or-memory "plan: --rate asks which window fits a memory, and --fnr which memory fits a stream; give a --window, or leave out one of them" plan --rate 1K/s --fnr 1% --records 1M --distinct 100K
run plan --memory 1M --fpr 0.1% --rate 1K/s --window 1m --distinct 1K --json; is window-distinct "0 1000" "$rc $(json "d['stream']['distinct']")"

# over sites: the rule keeps the bound when some are lost, and says what it costs
run plan --sites 40 --fail 8 --memory 1M --fpr 1% --json; is sites-code 0 $rc
is sites-vertical True "$(json "d['vertical']['best'] and d['vertical']['fnr_lost'] <= 0.01 and d['vertical']['fpr_lost'] <= 0.0100001")"
is sites-horizontal 0.2 "$(json "d['horizontal']['fnr_lost']")"
run plan --sites 4 --memory 1M --fpr 1% --fnr 30% --json
is sites-more-keys True "$(json "d['horizontal']['best'] and d['horizontal']['keys'] > d['vertical']['keys']")"
run plan --sites 40 --fail 8 --memory 1M --fpr 1%
sed -n "s/^    weir dedup.*--filter '\(.*\)'/\1/p" out >spec
seq 1000 >numbers; run dedup --memory 1M --fpr 1% --filter "$(cat spec)" numbers; is sites-line 0 $rc
trouble sites-all-lost "plan: of 3 sites 3 cannot be lost; at least one must stay" plan --sites 3 --fail 3
trouble fail-of-what "plan: --fail goes with --sites, or with --fpr-lost" plan --fail 3
trouble sites-many "plan: --sites cannot be above 1024" plan --sites 2000

# trouble
printf 'a\nb\n' >few
trouble small-sample "plan: 'few': too little to judge by: 2 records with 0 repeats; at least 1000 and 100 are needed" plan --sample few
seq 5000 >distinct
trouble no-repeats "plan: 'distinct': too little to judge by: 5000 records with 0 repeats; at least 1000 and 100 are needed" plan --sample distinct
trouble no-sample "plan: cannot read 'absent': No such file or directory" plan --sample absent
trouble no-plot "plan: cannot write 'absent/x.svg': No such file or directory" plan --sample keys --plot absent/x.svg
trouble operand "plan: 'keys' is not an option; a sample is given as --sample FILE" plan keys
trouble two-questions "plan: --fnr asks how much memory it takes; leave out --memory" plan --memory 1M --fnr 1%
trouble fnr-of-what "plan: --fnr needs to know the stream: --sample, or --records and --distinct" plan --fnr 1%
trouble no-rate "plan: --window 1h needs --rate, or --sample with --time, to know how many records that is" plan --window 1h
trouble more-distinct "plan: there cannot be more --distinct keys than --records" plan --records 10 --distinct 20

# beside a sample --distinct says how the stream goes on, and nothing else
trouble distinct-alone "plan: --distinct says how a stream longer than its --sample goes on; give --records too, or leave it out" plan --sample keys --distinct 20K
trouble distinct-window "plan: under a --window a --sample says all about keys; leave out --distinct" plan --sample keys --distinct 20K --records 1M --window 1K
trouble_like distinct-few "plan: --distinct cannot be 100; the sample has 7.9*K distinct keys already" plan --sample keys --distinct 100 --records 1M
trouble distinct-whole "plan: the sample of 40K records is the whole stream; leave out --distinct" plan --sample keys --distinct 9K --records 40K
trouble_like distinct-far "plan: a stream that goes on as the sample does has at most *K distinct keys in 1M records, not 900K; take a longer sample, *" plan --sample keys --distinct 900K --records 1M
awk 'BEGIN { srand(3); for (i = 0; i < 40000; i++) print int(exp(14 * rand())) }' >growing
# the fewer keys, the more of them come again from far back
fnr_with() { run plan --memory 16K --fpr 1% --sample growing --records 1M --distinct "$1" --json; json "d['choices'][0]['fnr']"; }
is distinct-honoured True "$(few=$(fnr_with 60K); many=$(fnr_with 240K); python3 -c "print($few > $many)")"

trouble importance-of-what "plan: --importance goes with --sample" plan --importance x --format csv
trouble fpr-high "plan: --fpr cannot be above 50%" plan --fpr 60%
trouble_like rate-bad "plan: --rate: *" plan --rate fast
trouble_like memory-bad "plan: --memory cannot be '10'; *" plan --memory 10
printf '{"a":1}\n{"a":\n' >bad.json
trouble_like bad-record "plan: *bad.json*" plan --sample bad.json --format json --key .a
finish
