#!/usr/bin/env bash
# Producers: a field that says who sent a record chooses the leaf of a tree.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Five producers send the same 300 keys twice each.
awk 'BEGIN { print "who,url"
  for (i = 0; i < 3000; i++) print "p" i % 5 ",u" int(i / 5) % 300 }' >all.csv
tree="--filter tree:fanout=8,levels=2,mode=dense --memory 1M --seed 1"
csv="dedup --format csv --header --key url"
# how many keys each leaf was asked on, those that were at all, in order of size
leaves() { "$WEIR" inspect --json "$1" | grep -o '"level":1,[^}]*"asked":[0-9]*' | grep -o '[0-9]*$' | grep -vx 0 | sort -n | tr '\n' ' '; }
# all keys of a producer go to one leaf: the loads are multiples of what one sends
multiples() { local n; for n in $2; do ((n % $1 == 0)) || return 1; done; [[ $(wc -w <<<"$2") -gt 1 ]]; }

# shellcheck disable=SC2086
{
run dedup --format csv --header --key url all.csv; cp out once
run $csv $tree --producer who --state a.weir all.csv
same the-same-records once out
cp out by_producer
loads=$(leaves a.weir)
if multiples 600 "$loads"; then ok a-producer-has-one-leaf; else no a-producer-has-one-leaf "loads: $loads"; fi
run $csv $tree --state k.weir all.csv
if multiples 600 "$(leaves k.weir)"; then no by-key-without-it "$(leaves k.weir)"; else ok by-key-without-it; fi

# threads, tabs, numbers of columns and JSON: the same leaves
for threads in 2 4; do
  run $csv $tree --producer who --threads $threads --state t$threads.weir all.csv
  is "threads-$threads" "$loads" "$(leaves t$threads.weir)"
done
tail -n +2 all.csv | tr , '\t' >all.tsv
run dedup --format tsv --key 2 $tree --producer 1 --state n.weir all.tsv
is by-number "$loads" "$(leaves n.weir)"
sed 's/\(.*\)\t\(.*\)/{"url":"\2","from":{"who":"\1"}}/' all.tsv >all.json
run dedup --format json --key .url $tree --producer .from.who --state j.weir all.json
is from-json "$loads" "$(leaves j.weir)"
# in a tree that is a part of something else
run $csv --filter 'horizontal:slices=2,of=(tree:fanout=2,levels=2)' --memory 1M --seed 1 --producer who all.csv
same nested once out

# stopped and gone on with, the state is that of one run
head -1501 all.csv >first.csv
(head -1 all.csv; tail -n +1502 all.csv) >second.csv
run $csv $tree --producer who --state s.weir first.csv; cp out parts
run $csv --producer who --state s.weir second.csv
tail -n +2 out >>parts
same state by_producer parts
is state-has-the-loads "$loads" "$(leaves s.weir)"

# without the field a file is a producer, if there are several
for i in 0 1 2 3 4; do (echo who,url; grep "^p$i," all.csv) >from$i.csv; done
run $csv $tree --state f.weir from?.csv
is one-record-for-each-key 301 "$(wc -l <out)"
if multiples 600 "$(leaves f.weir)"; then ok a-file-is-a-producer
else no a-file-is-a-producer "$(leaves f.weir)"; fi

# a record that does not say
printf 'url,who\nx,a\ny\nx,b\n' >odd.csv
run $csv $tree --producer who --stats=json odd.csv
is missing-passes $'url,who\nx,a\ny' "$(cat out)"
is missing-counted '"missing":1' "$(grep -o '"missing":[0-9]*' err)"
trouble_like missing-fails "dedup: record 3 of 'odd.csv' (at byte *): the record does not say who it is from*" \
  $csv $tree --producer who --on-missing fail odd.csv
printf '{"u":1,"w":2}\n{"u":3}\n' >odd.json
trouble_like missing-in-json "dedup: record 2 of 'odd.json' (at byte *): the record does not say who it is from*" \
  dedup --format json --key .u $tree --producer .w --on-missing fail odd.json

trouble_like other-filter "dedup: --producer goes with --filter tree; to 'recent'*" $csv --producer who all.csv
trouble_like slices-alone "dedup: --producer goes with --filter tree; to 'horizontal'*" \
  $csv --filter horizontal --producer who all.csv
trouble_like no-such-column "dedup: no column 'hwo' in 'all.csv': did you mean 'who'*" $csv $tree --producer hwo all.csv
tail -n +2 all.csv | tr ',' ' ' >all.txt
run dedup $tree --key 2 --producer 1 --state l.weir all.txt
is lines "$loads" "$(leaves l.weir)"
trouble_like one-field "dedup: cannot read --producer*" $csv $tree --producer who,url all.csv
}
finish
