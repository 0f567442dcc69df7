#!/usr/bin/env bash
# The output file: replaced as a whole, its links and rights kept.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
m=--memory=1M
printf 'a\nb\na\n' >in
run dedup $m -o new in; is new-file $'a\nb' "$(cat new)"
umask 022; run dedup $m -o new2 in; is new-mode 644 "$(stat -c %a new2)"
echo old >kept; chmod 640 kept; run dedup $m -o kept in; is kept-mode 640 "$(stat -c %a kept)"
echo old >target; ln -s target link; run dedup $m -o link in
[[ -L link ]] && ok link-kept || no link-kept "it was replaced"; is link-target $'a\nb' "$(cat target)"
mkfifo fifo; cat fifo >got & run dedup $m -o fifo in; wait; is fifo $'a\nb' "$(cat got)"
[[ -p fifo ]] && ok fifo-kept || no fifo-kept "it was replaced"
gives device '' dedup $m -o /dev/null in
# records that have come through a pipe are passed on at once
mkfifo pipe; "$WEIR" dedup $m <pipe >live & pid=$!
exec 9<>pipe; printf 'x\n' >&9; for _ in {1..60}; do [[ -s live ]] && break; sleep 0.05; done
is live-output x "$(cat live)"; exec 9>&-; wait $pid

# a file that may not grow is told, not died of: the output, a state, what was chosen
seq 1 100000 >many
(ulimit -f 100; TMPDIR=. "$WEIR" dedup $m -o limited many 2>err; echo $? >code)
is limit-output "2 weir: dedup: cannot write 'limited': File too large" "$(cat code) $(cut -d';' -f1 err)"
(ulimit -f 100; "$WEIR" dedup $m --state limited.weir -o /dev/null many 2>err; echo $? >code)
is limit-state 2 "$(cat code)"; is limit-state-said 1 "$(grep -c 'File too large' err)"
(ulimit -f 100; "$WEIR" count --state limited.weir many >out 2>err; echo $? >code); is limit-count 2 "$(cat code)"
is limit-nothing-left '' "$(ls -A | grep limited | grep -v lock)"

# a name that promises a compression is not given plain text
for end in xz bz2 lz4; do
  trouble "name-$end" "dedup: cannot write 'packed.$end': $end is read, not written; name it .gz or .zst, or give --compress none for plain text" dedup $m -o packed.$end many
  is "name-$end-nothing" '' "$(ls -A | grep packed)"
done
run dedup $m --compress none -o plain.xz in; is name-plain "0 $(head -1 in)" "$rc $(head -1 plain.xz)"

finish
