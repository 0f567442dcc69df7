#!/usr/bin/env bash
# Bad input: one clear line, exit 2, and nothing lost or left half-written.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
m=--memory=1M
printf 'a\nb\n' >in

trouble missing "dedup: cannot read 'nothing': No such file or directory" dedup $m nothing
is missing-no-output "" "$(cat out)"
run dedup $m in nothing; is missing-second-code 2 $rc; is missing-second-output "" "$(cat out)"
mkdir dir; trouble_like directory "dedup: *'dir'*directory*" dedup $m dir
if command -v setpriv >/dev/null && [[ $(id -u) == 0 ]]; then
  chmod 755 . ; cp in secret; chmod 600 secret; cp "$WEIR" ./weir; chmod 755 weir
  if setpriv --reuid=65534 --regid=65534 --clear-groups ./weir --version >/dev/null 2>&1; then
    setpriv --reuid=65534 --regid=65534 --clear-groups ./weir dedup $m secret >out 2>err; rc=$?
    is unreadable-code 2 $rc; is unreadable "weir: dedup: cannot read 'secret': Permission denied" "$(cat err)"
    setpriv --reuid=65534 --regid=65534 --clear-groups ./weir dedup $m -o new in >out 2>err; rc=$?
    is unwritable-code 2 $rc
    is unwritable "weir: dedup: cannot create 'new': Permission denied" "$(cat err)"
  else skip unreadable "nobody cannot run a program here"; fi
  rm -f weir secret
elif [[ $(id -u) != 0 ]]; then
  cp in secret; chmod 000 secret
  trouble unreadable "dedup: cannot read 'secret': Permission denied" dedup $m secret; rm -f secret
else skip unreadable "running as root, without setpriv"; fi

# a file that vanishes between the beginning and its turn
mkfifo first; cp in second
"$WEIR" dedup $m first second >out 2>err & pid=$!
exec 9<>first; printf 'x\n' >&9; sleep 0.3; rm second; exec 9>&-
wait $pid; is vanished-code 2 $?; is vanished "weir: dedup: cannot read 'second': No such file or directory" "$(cat err)"
is vanished-output x "$(cat out)"

# damaged compression
seq 1 100000 >n; gzip -k n
head -c 20000 n.gz >cut.gz; trouble_like gzip-cut "dedup: *cut.gz*" dedup --memory 16M cut.gz
cp n.gz bad.gz; printf 'XXXXXXXX' | dd of=bad.gz bs=1 seek=9000 conv=notrunc 2>/dev/null
trouble_like gzip-bad "dedup: *bad.gz*" dedup --memory 16M bad.gz
(cat n.gz; echo rubbish) >more.gz; trouble_like gzip-rubbish "dedup: *more.gz*" dedup --memory 16M more.gz
if command -v zstd >/dev/null; then
  zstd -q n; head -c 20000 n.zst >cut.zst; trouble_like zstd-cut "dedup: *cut.zst*" dedup --memory 16M cut.zst
  cp n.zst bad.zst; printf 'XXXXXXXX' | dd of=bad.zst bs=1 seek=9000 conv=notrunc 2>/dev/null
  trouble_like zstd-bad "dedup: *bad.zst*" dedup --memory 16M bad.zst
  # sound frames with a window that is too large: what to do instead, and that works
  frame() { printf '\x28\xb5\x2f\xfd\x00'"$1"'\x11\x00\x00a\n'; }
  frame '\xa8' >2g.zst; frame '\x90' >256m.zst; frame '\x89' >144m.zst; frame '\x88' >128m.zst
  printf '\x28\xb5\x2f\xfd\xa0\x00\x00\x00\x20\x11\x00\x00a\n' >at-once.zst
  gives zstd-window-most 'a\n' dedup $m 128m.zst
  trouble zstd-window "dedup: cannot read '256m.zst': its zstd frames need a window of 256M, more than 128M; read it by 'zstd -dc --long=28 FILE | weir ...'" dedup $m 256m.zst
  is zstd-window-read a "$(zstd -dc --long=28 256m.zst | "$WEIR" dedup $m)"
  trouble_like zstd-window-2g "*a window of 2G,*--long=31 FILE*" dedup $m 2g.zst
  trouble_like zstd-window-between "*a window of 144M,*--long=28 FILE*" dedup $m 144m.zst
  trouble_like zstd-window-at-once "*a window of 512M,*--long=29 FILE*" dedup $m at-once.zst
  frame '\xb0' >4g.zst; trouble_like zstd-window-impossible "*damaged zstd data*" dedup $m 4g.zst
  cat 128m.zst 256m.zst >later.zst; trouble_like zstd-window-later "*a window of 256M,*" dedup $m later.zst
  "$WEIR" dedup $m <256m.zst 2>err >out; is zstd-window-stdin "read it by 'zstd -dc --long=28 | weir ...'" "$(grep -o 'read it by.*' err)"
  (head -c 5 256m.zst; sleep 0.3; tail -c +6 256m.zst) | "$WEIR" dedup $m 2>err >out
  is zstd-window-pieces "a window of up to 2G, more than 128M; read it by 'zstd -dc --long=31 | weir ...'" "$(grep -o 'a window of.*' err)"
fi

# xz, bzip2 and lz4: damage is named; a build without the library says how to read them
other_compression() { # PROGRAM SUFFIX
  local how=$1 file=n.$2
  command -v "$how" >/dev/null || { skip "$how" "$how is not installed"; return; }
  "$how" -c n >"$file" 2>/dev/null
  if "$WEIR" dedup $m "$file" 2>&1 >/dev/null | grep -q 'compressed by'; then
    trouble "$how-refused" "dedup: cannot read '$file': it is compressed by $how; read it by '$how -dc FILE | weir ...'" dedup $m "$file"
    return
  fi
  "$WEIR" dedup $m <"$file" >out 2>err; same "$how-stdin" n out
  (head -c 3 "$file"; sleep 0.3; tail -c +4 "$file") | "$WEIR" dedup $m >out 2>err; same "$how-pieces" n out
  "$how" -c </dev/null >"none.$2"; gives "$how-empty" '' dedup $m "none.$2"
  head -c 10000 "$file" >"cut.$2"
  trouble "$how-cut" "dedup: cannot read 'cut.$2': damaged $how data (it ends too early); check it with '$how -t'" dedup $m "cut.$2"
  cp "$file" "bad.$2"; printf 'XXXXXXXX' | dd of="bad.$2" bs=1 seek=9000 conv=notrunc 2>/dev/null
  trouble_like "$how-bad" "dedup: cannot read 'bad.$2': damaged $how data (*); check it with '$how -t'" dedup $m "bad.$2"
  echo old >keep; run dedup $m -o keep "cut.$2"; is "$how-cut-old" '2 old' "$rc $(cat keep)"
}
other_compression xz xz
other_compression bzip2 bz2
other_compression lz4 lz4

# a format is known by its whole magic, not by text that begins alike
for text in '\xfd7zXZ' '\xfd7zXZ\n' '\xfd7zXZ\x01\n' BZ BZh BZh9 'BZh9\n' 'BZh91AY&SX' 'BZh91AY&S' 'BZh01AY&SY' 'BZh:1AY&SY' 'BZhello\n'; do
  gives "alike-$text" "$text" dedup $m <(printf '%b' "$text")
done
echo old >keep; run dedup --memory 16M -o keep cut.gz; is gzip-cut-code 2 $rc; is gzip-cut-old old "$(cat keep)"

# records
head -c 3000 /dev/zero | tr '\0' x >long
trouble_like too-long "dedup: record 1 of 'long' (at byte 0) is longer than *--max-record" dedup $m --max-record 2000 long
gives just-fits "$(cat long)" dedup $m --max-record 3000 long
printf 'abcde' >f.bin; trouble_like fixed-truncated "dedup: record 2 of 'f.bin' (at byte 3) is cut short*" dedup $m --format fixed:3 f.bin
is fixed-truncated-before abc "$(cat out)"
printf '\5\0\0\0ab' >l.bin; trouble_like len32-truncated "dedup: record 1 of 'l.bin' (at byte 0) is cut short*" dedup $m --format len32 l.bin
printf '\377\377\377\377ab' >h.bin; trouble_like len32-huge "dedup: record 1 of 'h.bin' (at byte 0) is longer than 64M*--max-record" dedup $m --format len32 h.bin
printf 'a,"b\n' >q.csv; trouble_like csv-open-quote "dedup: record 1 of 'q.csv' (at byte 0): a quote is not closed*" dedup $m --format csv --key 1 q.csv

# what to try is said by the command
printf '1,soon\n1,1700000000000\n' >when.csv
trouble time-format "dedup: record 1 of 'when.csv' (at byte 0): the time is not a number since 1970 (byte 2); --time-format says how times are written" dedup $m --format csv --key 1 --time 2 --window 1h when.csv
trouble name-without-header "dedup: column 'user' is given by name, but there is no header: give --header, or the number of the column" dedup $m --format csv --key user when.csv
trouble name-without-header-count "count: column 'user' is given by name, but there is no header: give --header, or the number of the column" count --format csv --key user when.csv
trouble name-without-header-plan "plan: column 'user' is given by name, but there is no header: give --header, or the number of the column" plan --format csv --key user --sample when.csv
trouble field-of-line "dedup: fields of lines have no names such as 'user': give their numbers, or --format csv, json or clf" dedup $m --key user in
trouble key-named "dedup: cannot read --key '0' at character 1: columns count from 1 to 1000000" dedup $m --format csv --key 0 when.csv
trouble time-named "dedup: cannot read --time '0' at character 1: columns count from 1 to 1000000" dedup $m --format csv --key 1 --window 1h --time 0 when.csv
if [[ -c /dev/full ]]; then trouble disk-full "dedup: cannot write '/dev/full': No space left on device; make room, then go on with --resume if a --state was kept, or start over" dedup $m -o /dev/full in; fi

# memory
trouble_like memory-machine "dedup: *memory*" dedup --memory 100T in
trouble_like memory-small "dedup: --memory 1 is out of range; it goes from 1K to *" dedup --memory 1 in

# the disk is full
if [[ -w /dev/full ]]; then
  "$WEIR" dedup --memory 16M n >/dev/full 2>err; is full-code 2 $?
  is full "weir: dedup: cannot write standard output: No space left on device" "$(sed "s/;.*//" err)"
  trouble_like full-file "dedup: cannot write '/dev/full': No space left on device; *" dedup --memory 16M -o /dev/full n
  "$WEIR" dedup $m --state fs.weir in >/dev/full 2>err; is full-state-code 2 $?
  [[ -e fs.weir ]] && no full-state "the state claims what was not written" || ok full-state
fi
if [[ $(id -u) == 0 ]] && mkdir disk && mount -t tmpfs -o size=256k tmpfs disk 2>/dev/null; then
  echo old >disk/out
  trouble_like disk-full "dedup: cannot write 'disk/out': No space left on device; *" dedup --memory 16M -o disk/out n
  is disk-full-old old "$(cat disk/out)"; only_files disk-full-no-rubbish disk out
  # a state that cannot be saved: the output is as it was, too
  echo old >o; run dedup --memory 16M --state disk/s.weir -o o n; is state-full-code 2 $rc
  only_files state-full-no-rubbish disk out; is state-full-output old "$(cat o)"; rm o
  run dedup --memory 16M --state disk/s.weir -o o n; [[ -e o ]] && no state-full-no-output "it is there" || ok state-full-no-output
  # the state is saved until the disk is full: the output ends where the state does
  seq 1 2000000 >big
  run dedup --memory 64K -q --fpr 1% --state disk/s.weir --save-every 1ms -o disk/o2 big; is cut-back-code 2 $rc
  if [[ -e disk/s.weir ]]; then
    run inspect --json disk/s.weir
    is cut-back "$(grep -o '"output.offset":"[0-9]*"' out | tr -dc 0-9)" "$(stat -c %s disk/o2)"
  else only_files cut-back disk out; fi
  umount disk
  mount -t tmpfs -o size=256k,nr_inodes=2 tmpfs disk; echo old >disk/out
  trouble no-room-for-file "dedup: cannot create 'disk/out': No space left on device" dedup $m -o disk/out in
  is no-room-old old "$(cat disk/out)"; umount disk
else skip disk-full "no tmpfs of our own"; fi

# output and input are the same file
printf 'a\na\nb\n' >self; run dedup $m -o self self; is in-place-code 0 $rc; is in-place $'a\nb' "$(cat self)"
trouble in-place-state "dedup: 'self' is both input and output; write to another file" dedup $m --state is.weir -o self self
"$WEIR" dedup $m self >>self 2>err; is append-to-input-code 2 $?
trouble output-directory "dedup: cannot write to 'dir': it is a directory" dedup $m -o dir in
trouble_like output-nowhere "dedup: cannot create 'nowhere/x': No such file or directory" dedup $m -o nowhere/x in
# closed standard streams
"$WEIR" dedup $m in >&- 2>err; is closed-output-code 2 $?; is closed-output "weir: dedup: cannot write standard output: Bad file descriptor" "$(sed 's/;.*//' err)"
"$WEIR" dedup $m --state c.weir in >&- 2>err; is closed-output-state-code 2 $?; [[ -e c.weir || -e c.weir.lock ]] && no closed-output-state "$(ls c.*)" || ok closed-output-state
"$WEIR" dedup $m <&- >out 2>err; is closed-input-code 2 $?
# a failed run leaves the old file, and no other
mkdir dir2; echo old >dir2/x; printf '{"a":1}\n{' >half.json
run dedup $m --format json -o dir2/x half.json; is failed-code 2 $rc; is failed-old old "$(cat dir2/x)"; only_files failed-no-rubbish dir2 x
run dedup $m --format json -o dir2/y half.json; only_files failed-no-file dir2 x
finish
