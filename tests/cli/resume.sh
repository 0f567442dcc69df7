#!/usr/bin/env bash
# --resume: a run killed at any time and started again gives what one run gives.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
n=${RECORDS:-400000}
rounds=${ROUNDS:-12}
RANDOM=${SEED:-7}

awk -v n="$n" 'BEGIN { s = 12345; for (i = 0; i < n; i++) { s = (s * 1103515245 + 12345) % 2147483648; print "key-" int(s / 65536) % 20000 "," i % 1000 } }' >in.lines
(echo id,n; cat in.lines) >in.csv
gzip -k1 in.lines

# loop CASE OUTPUT ARGS...: kill and resume until it is done. The first round is
# not killed and only tells how long a run takes.
loop() {
  local name=$1 output=$2 midway=0 code pid took
  shift 2
  rm -f s.weir "$output"
  took=$(date +%s%N)
  run dedup --resume --state s.weir --save-every 5ms -o "$output" "$@"
  took=$((($(date +%s%N) - took) / 1000000 + 1))
  rm -f s.weir "$output"
  for ((i = 0; i < 200; i++)); do
    "$WEIR" dedup --resume --state s.weir --save-every 5ms -o "$output" "$@" 2>err & pid=$!
    if ((i < rounds)); then
      sleep "$(printf '0.%03d' $((took * (RANDOM % 60 + 5) / 100 % 1000)))"
      kill -9 $pid 2>/dev/null
    fi
    wait $pid 2>/dev/null; code=$?
    if ((code == 137)); then
      [[ -e s.weir ]] && "$WEIR" inspect s.weir | grep -q '^  complete  *no$' && midway=$((midway + 1))
      continue
    fi
    ((code == 0)) && break
    no "$name" "exit $code: $(cat err)"; return
  done
  if ((midway > 0)); then ok "$name-killed-midway"; else skip "$name-killed-midway" "no kill fell between two saves"; fi
}

# 16K do not hold 20000 keys: the filter forgets, and must forget the same
o=(--filter "${FILTER:-recent}" --memory 16K --seed 3 -q)
run dedup "${o[@]}" in.lines; cp out want.lines
loop lines out.lines "${o[@]}" in.lines; same lines-same want.lines out.lines
run dedup "${o[@]}" --emit all in.lines; cp out want.all
loop all out.all "${o[@]}" --emit all --threads 1 in.lines; same all-same want.all out.all
run dedup "${o[@]}" --format csv --header -k id in.csv; cp out want.csv
loop csv out.csv "${o[@]}" --format csv --header -k id in.csv; same csv-same want.csv out.csv
loop gz out.gz.lines "${o[@]}" in.lines.gz; same gz-input-same want.lines out.gz.lines
run dedup "${o[@]}" in.lines in.lines.gz; cp out want.two
loop two out.two "${o[@]}" in.lines in.lines.gz; same two-files-same want.two out.two
loop gzip-out out.gz "${o[@]}" --compress gzip in.lines
gzip -dc out.gz >plain; same gzip-output-same want.lines plain
if command -v zstd >/dev/null; then
  loop zstd-out out.zst "${o[@]}" --compress zstd in.lines
  zstd -qdc out.zst >plain; same zstd-output-same want.lines plain
else skip zstd "zstd is not installed"; fi
if [[ ${FILTER:-recent} == recent ]]; then
  loop window out.w "${o[@]}" --window 5K in.lines
  run dedup "${o[@]}" --window 5K in.lines; same window-same out out.w
fi
loop audit out.a "${o[@]}" --audit=1/4 in.lines
grep '^audit' err >got; run dedup "${o[@]}" --audit=1/4 in.lines; grep '^audit' err >want; same audit-same want got
is audit-totals "$n" "$(awk '/^records/ { gsub(",", "", $2); print $2 }' err)"

# finished: again is nothing to do; more at the end of the file is read from there
rm -f s.weir; head -1000 in.lines >grow
run dedup --resume --state s.weir -o g "${o[@]}" grow; cp g g1
run dedup --resume --state s.weir -o g "${o[@]}" grow; is again-code 0 $rc; same again-same g1 g
head -2000 in.lines >grow
run dedup --resume --state s.weir -o g "${o[@]}" grow; cp g g2
run dedup "${o[@]}" grow; same grown-same out g2
# whether anything was new is asked of this run alone
run dedup --resume --state s.weir -o g "${o[@]}" --exit-code grow; is again-nothing-new 1 $rc
# a line that was judged without its end may go on in what was added to the file; as long as nothing was it may not
rm -f s.weir; printf 'a\nb' >grow; run dedup --resume --state s.weir --incomplete judge --memory 1M -o g grow
run dedup --resume --incomplete judge --state s.weir -o g grow; is open-again 0 $rc; is open-same $'a\nb' "$(cat g)"
printf 'c\nd\n' >>grow
trouble open-grown "dedup: cannot resume the run that wrote 's.weir': its input 'grow' ended in the middle of a line and has grown since; remove the state file to start over" dedup --resume --state s.weir -o g grow
is open-kept $'a\nb' "$(cat g)"
# a change behind the first bytes is seen where it has moved the last
rm -f s.weir; seq 1 20000 >grow; run dedup --resume --state s.weir --memory 1M -o g grow
sed -i '10000s/.*/xxxxxxxxx/' grow; seq 20001 20003 >>grow
trouble changed-middle "dedup: cannot resume the run that wrote 's.weir': its input 'grow' has changed since" dedup --resume --state s.weir -o g grow

# files added to the list are read in their places; files that were read to their end may go
rm -f s.weir; printf '1\n2\n' >a; printf '5\n2\n' >c
f=(--resume --state s.weir --memory 1M -o g)
run dedup "${f[@]}" a c; printf '3\n5\n' >b; printf '7\n' >>a; printf '8\n' >>c
run dedup "${f[@]}" a b c; is added $'1\n2\n5\n7\n3\n8' "$(cat g)"; is added-quiet '' "$(cat err)"
printf '9\n' >>c
run dedup "${f[@]}" c b; is removed $'1\n2\n5\n7\n3\n8\n9' "$(cat g)"; is removed-quiet '' "$(cat err)"
run dedup "${f[@]}" c c; is twice 0 $rc; is twice-same $'1\n2\n5\n7\n3\n8\n9' "$(cat g)"
# a copy of a file is known by its name and content
cp b b2; mv b2 b; printf '10\n' >>b
run dedup "${f[@]}" c b; is copied 10 "$(tail -1 g)"; is copied-code "0 " "$rc $(cat err)"
# rows after the header of another file; a column by name is found although nothing is read anew
rm -f s.weir; printf 'id,x\n1,a\n' >a.csv; h=(--resume --state s.weir --memory 1M -o g --format csv --header -k id)
run dedup "${h[@]}" a.csv; printf 'id,x\n1,b\n2,b\n' >b.csv
run dedup "${h[@]}" b.csv a.csv; is added-header $'id,x\n1,a\n2,b' "$(cat g)"
# compressed files that were read are left alone
rm -f s.weir; run dedup --resume --state s.weir -o g "${o[@]}" in.lines.gz; cp g g1
run dedup --resume --state s.weir -o g "${o[@]}" --stats=json in.lines.gz in.lines
is compressed-left $((2 * n)) "$(grep -o '"records":[0-9]*' err | cut -d: -f2)"

# a log rotates: what was added to the old file is read before the new one
rm -f s.weir app.log*; f=(--resume --state s.weir --memory 1M -o g)
printf 'a\nb\nhal' >app.log; run dedup "${f[@]}" app.log
printf 'f\nc\n' >>app.log; mv app.log app.log.1; printf 'd\na\n' >app.log
run dedup "${f[@]}" app.log; is rotated $'a\nb\nhalf\nc\nd' "$(cat g)"; is rotated-quiet '' "$(cat err)"
mv app.log.1 app.log.2; mv app.log app.log.1; printf 'x\n' >>app.log.1; printf 'b\ny\n' >app.log
run dedup "${f[@]}" app.log*; is rotated-list $'a\nb\nhalf\nc\nd\ny\nx' "$(cat g)"
# twice since the last run, with a pause between the rename and the first line
mv app.log app.log.0; : >app.log; run dedup "${f[@]}" app.log; is rotated-empty 0 "$rc"
printf 'z\n' >app.log; run dedup "${f[@]}" app.log; is rotated-filled z "$(tail -1 g)"
# the writer goes on with the old file after the rename: it is followed, held lines are read when they
# are whole, and a run that is killed in it goes on
f=(--resume --state s.weir --memory 64M --seed 1 -o g)
rm -f s.weir app.log* g; printf 'a\n' >app.log; run dedup "${f[@]}" app.log
mv app.log app.log.1; printf 'b\nhal' >>app.log.1; printf 'n\n' >app.log; run dedup "${f[@]}" app.log
printf 'f\nc\n' >>app.log.1; run dedup "${f[@]}" app.log; is followed $'a\nb\nn\nhalf\nc' "$(cat g)"
mv app.log.1 app.log.2; mv app.log app.log.1; printf 'd\n' >>app.log.2; printf 'm\n' >>app.log.1; : >app.log
run dedup "${f[@]}" app.log; is followed-twice $'a\nb\nn\nhalf\nc\nd\nm' "$(cat g)"
rm app.log.2; run dedup "${f[@]}" app.log; is followed-gone '0 ' "$rc $(cat err)"
seq 300000 >>app.log; run dedup "${f[@]}" app.log; mv app.log app.log.0; seq 300001 1500000 >>app.log.0; : >app.log
for i in 1 2 3 4 5; do
  "$WEIR" dedup "${f[@]}" --save-every 1ms app.log 2>err & pid=$!
  sleep 0.05; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
done
run dedup "${f[@]}" app.log; is followed-killed "0 $((1500000 + 7))" "$rc $(sort -u g | wc -l)"
# gone: said, and refused if lines are lost
f=(--resume --state s.weir --memory 1M -o g)
rm -f s.weir app.log* g; printf 'n\n' >app.log; run dedup "${f[@]}" app.log
mv app.log away; mkdir -p old; mv away old/; printf 'new\n' >app.log
run dedup "${f[@]}" app.log; is gone new "$(tail -1 g)"
is gone-said "weir: dedup: 'app.log' is another file now, and the one that was read is gone from its folder: if anything was added to that after 2 bytes, it is not read" "$(cat err)"
printf 'newer\n' >x.log; cat x.log >app.log
run dedup "${f[@]}" app.log; is changed-in-place "dedup: cannot resume the run that wrote 's.weir': its input 'app.log' has changed since" "$(sed 's/^weir: //' err)"
: >app.log; printf 'q\n' >app.log
run dedup "${f[@]}" app.log; is truncated q "$(tail -1 g)"; is truncated-said 1 "$(grep -c 'is another file now' err)"

# what decides about keys is noted with all of it
rm -f s.weir; printf 'a;b\n' >d; run dedup --memory 1M --state s.weir -d ';' -k 1 d
trouble other-delimiter "dedup: the state file 's.weir' was made with --delimiter ;, not |; use the same options or another state file" dedup --state s.weir -d '|' -k 1 d
trouble other-form "dedup: the state file 's.weir' was made without --normalize nfc; use the same options or another state file" dedup --state s.weir -d ';' -k 1 --normalize nfc d

# refusals name the difference
"$WEIR" dedup --memory 64M --state r.weir --save-every 1ms -o r.out in.lines & pid=$!
for _ in {1..200}; do [[ -e r.weir ]] && break; sleep 0.01; done
kill -TERM $pid; wait $pid; code=$?
if ((code == 143)); then
  trouble_like without-resume "dedup: the run that wrote the state file 'r.weir' was stopped after * records; add --resume to finish it, or remove the file to start over" dedup --state r.weir -o r.out in.lines
  trouble other-output "dedup: cannot resume: the run that wrote 'r.weir' was made with --output r.out, not q.out" dedup --resume --state r.weir -o q.out in.lines
  trouble other-emit "dedup: cannot resume: the run that wrote 'r.weir' was made with --emit new, not seen" dedup --resume --state r.weir -o r.out --emit seen in.lines
  trouble other-input "dedup: cannot resume the run that wrote 'r.weir': its input 'in.lines' is not among the files now" dedup --resume --state r.weir -o r.out in.csv
  cp in.lines x; head -c 10000 x >in.lines
  trouble cut-input "dedup: cannot resume the run that wrote 'r.weir': its input 'in.lines' has changed since" dedup --resume --state r.weir -o r.out in.lines
  sed 1s/k/K/ x >in.lines
  trouble changed-head "dedup: cannot resume the run that wrote 'r.weir': its input 'in.lines' has changed since" dedup --resume --state r.weir -o r.out in.lines
  cp x in.lines
  mv r.out moved; trouble lost-output "dedup: cannot resume in 'r.out': it is gone; remove the state file 'r.weir' to start over" dedup --resume --state r.weir -o r.out in.lines
  is lost-output-stays-so no "$([[ -e r.out ]] && echo yes || echo no)"
  head -c 10 moved >r.out; trouble short-output "dedup: cannot resume in 'r.out': it is shorter than when it was left; remove the state file 'r.weir' to start over" dedup --resume --state r.weir -o r.out in.lines
  is short-output-untouched 10 "$(stat -c %s r.out)"
  mv moved r.out
  run dedup --resume --state r.weir -o r.out in.lines; is resumed-code 0 $rc
  awk '!s[$0]++' in.lines >want; same resumed-same want r.out
else no refusals "the run ended with $code before it could be stopped"; fi
trouble resume-pipe "dedup: --resume reads files and writes a file; pipes and devices cannot be continued" dedup --resume --state p.weir --memory 1M -o p.out -
finish
