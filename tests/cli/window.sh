#!/usr/bin/env bash
# Windows: by records, by arrival, by the time in the record.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
m=--memory=1M

printf 'a\nb\nc\na\nd\ne\nf\ng\na\n' >in
gives window-count 'a\nb\nc\nd\ne\nf\ng\na\n' dedup $m --window 4 in
gives window-count-large 'a\nb\nc\nd\ne\nf\ng\n' dedup $m --window 1K in
(printf 'a\na\n'; sleep 3; printf 'a\n') | "$WEIR" dedup $m --window 1500ms >out
is window-arrival $'a\na' "$(cat out)"
printf '100,a\n105,a\n111,a\n' >t.csv
gives window-time '100,a\n111,a\n' dedup $m --format csv -k 2 --window 10s --time 1 t.csv
printf '100,a\n105,a\n111,a\n' >t.csv
gives window-renew '100,a\n' dedup $m --format csv -k 2 --filter recent:renew=yes --window 10s --time 1 t.csv
gives window-in-spec '100,a\n111,a\n' dedup $m --format csv -k 2 --filter recent:window=10s --time 1 t.csv
gives window-filter '100,a\n111,a\n' dedup $m --format csv -k 2 --filter window --window 10s --time 1 t.csv
gives window-filter-length '100,a\n111,a\n' dedup $m --format csv -k 2 --filter window:length=10s,mode=jumping --time 1 t.csv
gives window-filter-renew '100,a\n' dedup $m --format csv -k 2 --filter window:length=10s,renew=yes --time 1 t.csv
gives window-growing '100,a\n111,a\n' dedup $m --format csv -k 2 --filter 'growing:of=(window:length=10s)' --time 1 t.csv
printf '{"t":"2026-01-01T00:00:00Z","k":1}\n{"t":"2026-01-01T00:00:05Z","k":1}\n{"t":"2026-01-01T01:00:00Z","k":1}\n' >t.json
gives window-iso '{"t":"2026-01-01T00:00:00Z","k":1}\n{"t":"2026-01-01T01:00:00Z","k":1}\n' dedup $m --format json -k .k --window 1m --max-leap none --time .t --time-format iso t.json
printf '01/02/2026 10:00:00,a\n01/02/2026 10:00:01,a\n' >p.csv
gives window-pattern '01/02/2026 10:00:00,a\n' dedup $m --format csv -k 2 --window 1m --time 1 --time-format '%d/%m/%Y %H:%M:%S' p.csv
# out of order: within the lateness judged, beyond it passed and counted
printf '100,a\n150,b\n99,a\n145,b\n120,c\n150,c\n' >l.csv
run dedup $m --format csv -k 2 --window 100s --time 1 --lateness 10s --stats=json l.csv
is late-output $'100,a\n150,b\n99,a\n120,c\n150,c' "$(cat out)"
is late-counted 2 "$(grep -o '"late":[0-9]*' err | cut -d: -f2)"
is late-passed 2 "$(grep -o '"passed":[0-9]*' err | cut -d: -f2)"
run dedup $m --format csv -k 2 --window 100s --time 1 --stats=json l.csv
is default-lateness $'100,a\n150,b\n120,c' "$(cat out)"
printf 'x,a\n' >x.csv
trouble_like bad-time "dedup: record 1 of 'x.csv' (at byte 0): *time*" dedup $m --format csv -k 2 --window 10s --time 1 x.csv
# time does not run backwards from one run to the next on a state
printf '1000,z\n' >a.csv; printf '10,z\n1001,z\n' >b.csv
run dedup $m --format csv -k 2 --window 100s --time 1 --state s a.csv
run dedup --format csv -k 2 --window 100s --time 1 --state s --emit verdicts b.csv
is late-across-runs $'N\nS' "$(cat out)"
# the audit measures from what was passed on: a key that came through a little early is one error
awk 'BEGIN { srand(1); for (i = 0; i < 30000; i++) print int(rand() * 2000) }' >r
run dedup --memory 64K --fpr 0.1% --seed 3 --window 3000 --audit=1/1 --stats=json r
is audit-in-window true "$(grep -o '"false_seen":[0-9]*' err | awk -F: '{ print $2 < 30 ? "true" : "false: " $2 }')"
printf '2024-01-01T00:00:00Z,a\n' >iso.csv
trouble time-format-told "dedup: record 1 of 'iso.csv' (at byte 0): the time looks like ISO 8601: --time-format iso" dedup --format csv -k 2 --window 1h --time 1 iso.csv
# seconds read as a finer unit are times of early 1970
early() { # name, warning, count, format, command...
  printf '%s,a\n%s,b\n' "$3" "$3" >t.csv
  run "${@:5}" --format csv --window 1h --time 1 --time-format "$4" t.csv
  is "time-early-$1" "0 $2" "$rc $(grep -v '^ ' err)"
}
told="record 1 of 't.csv': its time by"
early seconds "weir: dedup: $told unix-ms is in early 1970; it looks like seconds: --time-format unix" 1700000000 unix-ms dedup $m -k 2
early ms "weir: dedup: $told unix-us is in early 1970; it looks like milliseconds: --time-format unix-ms" 1700000000000 unix-us dedup $m -k 2
early us "weir: dedup: $told unix-ns is in early 1970; it looks like microseconds: --time-format unix-us" 1700000000000000 unix-ns dedup $m -k 2
early count "weir: count: $told unix-ms is in early 1970; it looks like seconds: --time-format unix" 1700000000 unix-ms count --distinct -k 2
early not '' 1700000000000 unix-ms dedup $m -k 2
early relative '' 17000 unix-ms dedup $m -k 2
# keys that go before their time: more memory is advised where it would be used
seq 200000 >many
run dedup --memory 64K --seed 1 --window 10000 many
is window-full "weir: dedup: some keys of the window had to go before their time: repeats may pass; --memory 256K would keep more of them" "$(cat err)"
run dedup --memory 64K --seed 1 --window 1000 many
is window-enough '' "$(cat err)"
# with memory to spare the window is exact, to the record and to the second
awk 'BEGIN { srand(2); for (i = 0; i < 50000; i++) print int(rand() * 3000), 1000 + int(i / 20) }' >w
awk -v W=2000 '{ s = ($1 in at) && NR - at[$1] <= W; if (!s) at[$1] = NR; print s ? "S" : "N" }' w >want
run dedup --window 2000 -k 1 --emit verdicts w; same exact-records want out
awk -v W=120 '{ s = ($1 in at) && $2 - at[$1] <= W; if (!s) at[$1] = $2; print s ? "S" : "N" }' w >want
run dedup --window 2m --time 2 -k 1 --emit verdicts w; same exact-seconds want out
run dedup --memory 4M --seed 1 --window 1h many
is window-early "weir: dedup: some keys of the window had to go before their time: repeats may pass; --memory 16M would keep more of them" "$(cat err)"
run dedup --memory 64K --seed 1 --filter window --window 100K many
is window-cut "weir: dedup: some keys of the window had to go before their time: repeats may pass; --memory 256K would keep more of them" "$(cat err)"
finish
