#!/usr/bin/env bash
# Stopped by a signal: what was done is written and saved, nothing is left behind.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# feed NAME SIGNAL CODE: a run on a pipe gets the signal after two records
feed() {
  local name=$1 signal=$2 code=$3 pid
  rm -f pipe s.weir got; mkfifo pipe
  # a job in the background ignores SIGINT unless it is told not to
  (trap - INT; exec "$WEIR" dedup --memory 1M --state s.weir <pipe >got 2>err) & pid=$!
  exec 9<>pipe; printf 'a\nb\na\n' >&9
  for _ in {1..100}; do [[ -e got && $(wc -l <got) == 2 ]] && break; sleep 0.05; done
  kill -"$signal" $pid; wait $pid; is "$name-code" "$code" $?
  exec 9>&-
  is "$name-output" $'a\nb' "$(cat got)"
  is "$name-quiet" "" "$(cat err)"
  [[ -e s.weir.lock ]] && no "$name-lock" "left behind" || ok "$name-lock"
  printf 'a\nc\n' >next; gives "$name-state" 'c\n' dedup --state s.weir next
}
set -m # so that background jobs do not ignore SIGINT
feed term TERM 143
feed int INT 130
feed hup HUP 129

# an output file without a state is left as it was
rm -f pipe; mkfifo pipe; mkdir o; echo old >o/out.txt
"$WEIR" dedup --memory 1M -o o/out.txt <pipe & pid=$!
exec 9<>pipe; printf 'a\n' >&9; for _ in {1..100}; do (($(ls -A o | wc -l) == 2)) && break; sleep 0.05; done
kill -TERM $pid; wait $pid; is file-code 143 $?; exec 9>&-
is file-old old "$(cat o/out.txt)"; only_files file-no-rubbish o out.txt

# a second signal ends a run that cannot finish, because nobody reads its output
rm -f stuck; mkfifo stuck; exec 8<>stuck
seq 1 200000 | "$WEIR" dedup --memory 16M >stuck 2>err & pid=$!
sleep 0.5; kill -TERM $pid; sleep 0.3; kill -TERM $pid; wait $pid; is twice-code 143 $?
exec 8>&-
# a signal that comes twice at once, as those of timeout(1) may, is one: what was read is saved
for i in {1..5}; do
  rm -f twice.weir twice.out pipe; mkfifo pipe
  "$WEIR" dedup --memory 1M --state twice.weir -o twice.out <pipe & pid=$!
  exec 9<>pipe; printf 'a\nb\na\n' >&9; sleep 0.2; kill -TERM $pid $pid; kill -TERM $pid 2>/dev/null
  wait $pid; is "same-signal-code-$i" 143 $?; exec 9>&-
  is "same-signal-saved-$i" "a b 2" "$(tr '\n' ' ' <twice.out)$("$WEIR" inspect twice.weir | awk '$1 == "held" { print $2 }')"
done
# what was ignored stays ignored
rm -f pipe s.weir; mkfifo pipe
(trap '' HUP; exec "$WEIR" dedup --memory 1M <pipe >got) & pid=$!
exec 9<>pipe; printf 'a\n' >&9; sleep 0.3; kill -HUP $pid; printf 'b\n' >&9; exec 9>&-
wait $pid; is nohup-code 0 $?; is nohup-output $'a\nb' "$(cat got)"

# the reader goes away: quiet, like other filters
seq 1 200000 >in
bash -c 'set -o pipefail; "$0" dedup --memory 16M in 2>err | head -1 >got; exit ${PIPESTATUS[0]}' "$WEIR"; is pipe-code 141 $?
is pipe-quiet "" "$(cat err)"; is pipe-output 1 "$(cat got)"
bash -c '"$0" dedup --memory 16M --state p.weir --save-every 1ms in 2>err | head -1 >got; exit ${PIPESTATUS[0]}' "$WEIR"; is pipe-state-code 141 $?
is pipe-state-quiet "" "$(cat err)"
[[ -e p.weir.lock ]] && no pipe-lock "left behind" || ok pipe-lock
finish
