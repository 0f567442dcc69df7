#!/usr/bin/env bash
# engine.sh - what the engine does for every command: late records, names of outputs, metrics,
# files left behind, repeated options, words from other tools.
source "$(dirname "$0")/lib.sh"

# --- late records and leaps of the clock
times() { printf '%s\n' "$@" | sed 's/ /,/' >t.csv; }
D=(dedup --format csv -k 2 --time 1 --window 10s --seed 1)
times '100 a' '101 b' '1000 x' '102 c' '103 a'
trouble_like leap-fails "dedup: record 3 of 't.csv': its time is 14m59s after the latest*--max-leap 1m40s;*" "${D[@]}" t.csv
run "${D[@]}" --on-bad drop t.csv
is leap-dropped $'100,a\n101,b\n102,c' "$(cat out)"
run "${D[@]}" --max-leap none t.csv
is leap-allowed-late "$(cat t.csv)" "$(cat out)"
is late-warned 1 "$(grep -c '^weir: dedup: 2 records of 5 so far came more than --lateness 10s behind .* pass unjudged' err)"
run "${D[@]}" --max-leap none --on-late drop t.csv
is late-dropped $'100,a\n101,b\n1000,x' "$(cat out)"
times '100 a' '130 b' '131 c' '105 c' '106 d'
run "${D[@]}" --max-leap none --on-late judge t.csv
is late-judged $'100,a\n130,b\n131,c\n106,d' "$(cat out)"
is late-judged-quiet '' "$(cat err)"
times '100 a' '101 b' '1000 x' '102 b' '103 a'
C=(count --format csv -k 2 --time 1 --window 10s --seed 1 --csv)
trouble_like count-leap-fails "count: record 3 of 't.csv': its time is 14m59s after the latest*--max-leap 1m40s;*" "${C[@]}" t.csv
run "${C[@]}" --on-bad drop --top 9 t.csv
is count-leap-dropped $'top,a,2\ntop,b,2' "$(grep ^top out | cut -d, -f1-3 | sort)"
run "${C[@]}" --on-bad drop -g 2 --top 9 t.csv
is count-leap-in-groups $'a,top,a,2\nb,top,b,2' "$(grep ,top, out | cut -d, -f1-4 | sort)"
run "${C[@]}" --max-leap none --top 9 t.csv; is count-leap-allowed 1 "$(grep -c '^top,x,1' out)"
trouble leap-needs-time "dedup: --max-leap goes with --time" dedup --max-leap 1h t.csv
trouble time-needs-window "dedup: --time goes with a --window that is a duration, such as --window 1h" \
  dedup --format csv --time 1 t.csv

# --- links that lead to nothing yet, and names of open descriptors
printf 'a\nb\na\n' >in
ln -s real.out link.out; ln -s real.weir link.weir
run dedup -o link.out --state link.weir in
is dangling-output $'a\nb' "$(cat real.out)"
is dangling-state yes "$([[ -L link.out && -L link.weir && -f real.weir ]] && echo yes)"
run count --state link.weir2 in; rm -f link.weir2
ln -s sub/real.weir l2; mkdir sub; run count --state l2 in
is dangling-count-state yes "$([[ -L l2 && -f sub/real.weir ]] && echo yes)"
echo kept >redirected; "$WEIR" dedup -o /dev/stdout in >>redirected
is dev-stdout $'kept\na\nb' "$(cat redirected)"
echo kept >redirected; "$WEIR" dedup -o /dev/fd/3 in 3>>redirected
is dev-fd $'kept\na\nb' "$(cat redirected)"
mkfifo pipe; cat pipe >piped & run dedup -o pipe in; wait $!
is fifo $'a\nb' "$(cat piped)"; is fifo-stays yes "$([[ -p pipe ]] && echo yes)"
trouble state-fifo "dedup: the state 'pipe' is a pipe or device; it must be a file" dedup --state pipe in
trouble resume-descriptor "dedup: --resume reads files and writes a file; pipes and devices cannot be continued" \
  dedup --resume --state r.weir -o /dev/stdout in

# --- what a killed run leaves is removed by the next
mkdir k; cp in k/in; touch k/.out.weir-Abc123 k/.out.weir-Abc1234 k/.other.weir-Abc123
run dedup -o k/out k/in
only_files leftovers k in out .out.weir-Abc1234 .other.weir-Abc123
touch k/.out.weir-Abc123; exec 9<k/.out.weir-Abc123; flock 9; run dedup -o k/out k/in
is leftover-in-use yes "$([[ -e k/.out.weir-Abc123 ]] && echo yes)"; exec 9<&-

# --- a line that is half written is held back, and read when it has its end
printf 'a\nb\nc1' >grow; run dedup --resume --state g.weir -o g.out grow
is held $'a\nb' "$(cat g.out)"
is held-said 1 "$(grep -c 'without its end, 2 bytes, is held back' err)"
printf '23\na\nd' >>grow; run dedup --resume --state g.weir -o g.out grow
is held-then-read $'a\nb\nc123' "$(cat g.out)"
printf '4\n' >>grow; run dedup --resume --state g.weir -o g.out grow
is held-again $'a\nb\nc123\nd4' "$(cat g.out)"; is held-no-more '' "$(cat err)"
printf 'a\nb' >grow; run dedup --incomplete judge --state h.weir -o h.out grow
is held-judged $'a\nb' "$(cat h.out)"
gives unheld 'a\nb' dedup grow

# --- metrics
printf 'a\nb\na\nc\n' >in
run dedup --metrics m.prom --audit=1/1 -o o.txt in
is metrics-records 'weir_records_total 4' "$(grep '^weir_records_total' m.prom)"
is metrics-seen 'weir_seen_total 1' "$(grep '^weir_seen_total' m.prom)"
is metrics-audit 2 "$(grep -c '^weir_audit_f[pn]r ' m.prom)"
is metrics-form '' "$(grep -vE '^(# (HELP|TYPE) weir_[a-z_]+ .+|weir_[a-z_]+ [-+.e0-9]+)$' m.prom)"
is metrics-alone '' "$(ls m.prom.* 2>/dev/null)"
run count --metrics c.prom in
is metrics-count 'weir_records_total 4' "$(grep '^weir_records_total' c.prom)"
now=$(date +%s)
printf '%s,a\n%s,b\n' $((now - 500)) $((now - 900)) >times.csv
for what in dedup count; do
  run $what --format csv -k 2 --time 1 --window 1h --metrics t.prom times.csv
  is metrics-lag-$what 50 "$(awk '$1 == "weir_lag_seconds" { print int($2 / 10) }' t.prom)"
done
(printf ',a\nb\n'; sleep 0.5; cat live.prom >during; printf 'b\n') |
  "$WEIR" count -j 4 --format csv -k 2 --top 1 --metrics live.prom --save-every 50ms >/dev/null
is metrics-count-running 'weir_missing_total 1' "$(grep '^weir_missing_total' during)"
is metrics-count-end 'weir_missing_total 2' "$(grep '^weir_missing_total' live.prom)"
trouble_like metrics-nowhere "dedup: cannot write the metrics to 'no/m': No such file or directory" dedup --metrics no/m in
(printf 'a\n'; sleep 0.5; cat live.prom >during; printf 'b\n') |
  "$WEIR" dedup --metrics live.prom --save-every 50ms >/dev/null
is metrics-while-running 'weir_records_total 1' "$(grep '^weir_records_total' during)"
is metrics-at-end 'weir_records_total 2' "$(grep '^weir_records_total' live.prom)"

# --- repeated options
printf '1,2,x\n1,3,y\n1,2,z\n' >t.csv
gives keys-add-up '1,2,x\n1,3,y\n' dedup --format csv -k 1 -k 2 t.csv
gives keys-add-up-three '1,2,x\n1,3,y\n1,2,z\n' dedup --format csv -k 1,2 --key 3 t.csv
trouble memory-twice "dedup: --memory is given twice; give it once" dedup --memory 1M -m 2M in
trouble audit-twice "dedup: --audit is given twice; give it once" dedup --audit=1/2 --audit in
gives flag-twice 'a\nb\nc\n' dedup -q -q in

# --- words from elsewhere
for c in dedup count pairs inspect; do
  run $c --version; is "$c-version" "weir $("$WEIR" --version | cut -d' ' -f2)" "$(cat out)"
done
for w in uniq unique sort; do
  hint="'weir dedup' does that: write each record the first time it comes, in bounded memory"
  trouble "hint-$w" "unknown command '$w'; $hint" $w
  trouble "hint-help-$w" "help: unknown topic '$w'; $hint" help $w
done
run help sketches; is help-sketches 1 "$(grep -c '^ *countmin$' out)"

# --- all commands end alike when the reader leaves
seq 1 300000 >many; head -1000 many >some
for c in 'dedup many' 'count many' 'dedup --emit counts some' 'pairs self --text . some' 'inspect g.weir' 'help dedup'; do
  # shellcheck disable=SC2086
  (sleep 0.2; "$WEIR" $c 2>err; echo $? >code) | true
  while [[ ! -s code ]]; do sleep 0.1; done
  is "reader-leaves: $c" 141 "$(cat code)"; rm -f code
done
finish
