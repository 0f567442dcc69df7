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

# links that lead nowhere yet are followed by all that writes a file; those that lead in a circle are refused
mkdir far; run count --seed 1 --state one.weir in; cp one.weir two.weir
follows() { # CASE ARGS...: --, a link to a file that is not there, and then it is
  ln -s "far/$1" "link-$1"; run "${@:2}"
  is "follows-$1" "0 yes yes" "$rc $([[ -L link-$1 ]] && echo yes) $([[ -s far/$1 ]] && echo yes)"
}
follows output dedup $m -o link-output in
follows state dedup $m --state link-state in
follows count count --state link-count in
follows metrics dedup $m --metrics link-metrics in
follows merged merge -o link-merged one.weir two.weir
follows saved pairs self --text . --save link-saved in
ln -s far/plain link.gz; run dedup $m -o link.gz in; is follows-name $'a\nb' "$(gzip -dc far/plain)"
ln -s round-a round-b; ln -s round-b round-a; many="Too many levels of symbolic links"
trouble circle-output "dedup: cannot create 'round-a': $many" dedup $m -o round-a in
trouble circle-state "dedup: cannot open 'round-a': $many" dedup $m --state round-a in
trouble circle-merged "merge: cannot write 'round-a': $many" merge -o round-a one.weir two.weir
trouble circle-metrics "dedup: cannot write the metrics to 'round-a': $many" dedup $m --metrics round-a in

# what is open is written into, whatever names it
ln -s /dev/stdout log; "$WEIR" dedup $m -o log in >open; is link-to-stdout $'a\nb' "$(cat open)"
[[ -L log ]] && ok link-to-stdout-kept || no link-to-stdout-kept "it was replaced"
ln -s /dev/fd/5 numbers; "$WEIR" dedup $m -q --metrics numbers in 5>open >/dev/null
is metrics-descriptor 'weir_records_total 3' "$(grep '^weir_records_total' open | tail -1)"
is metrics-descriptor-kept "/dev/fd/5" "$(readlink numbers)"
timeout 60 cat fifo >got & run dedup $m --metrics fifo in; wait; is metrics-fifo 'weir_records_total 3' "$(grep '^weir_records_total' got | tail -1)"
[[ -p fifo ]] && ok metrics-fifo-kept || no metrics-fifo-kept "it was replaced"

# what a killed save left is removed by the next, unless it is under way
touch one.weir.11.new one.weir.12.new one.weir.x.new two.weir.11.new
exec 9<one.weir.12.new; flock 9; run count --seed 1 --state one.weir in
is left-by-save 'one.weir.12.new one.weir.x.new two.weir.11.new' "$(ls | grep 'new$' | grep weir | xargs)"; exec 9<&-

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
