#!/usr/bin/env bash
# guards.sh - what would destroy something is refused: devices and pipes as
# snapshots, another run's output, one file in two roles. And a small window is
# not slower for a large memory.
source "$(dirname "$0")/lib.sh"

printf 'a\nb\na\n' >in
seq 1 2000 >other
small=(--memory 64K --seed 7)

run dedup "${small[@]}" --filter bloom --state a.weir in
run dedup "${small[@]}" --filter bloom --state b.weir other
mkfifo pipe
trouble merge-to-pipe "merge: cannot write 'pipe': it is not a regular file" merge -o pipe a.weir b.weir
if [[ -p pipe ]]; then ok pipe-is-still-there; else no pipe-is-still-there "it was replaced"; fi
trouble state-is-a-pipe "dedup: the state 'pipe' is a pipe or device; it must be a file" dedup --state pipe in
trouble inspect-a-device "inspect: '/dev/null' is not a regular file" inspect /dev/null

run dedup "${small[@]}" --filter bloom --format csv --key 1 --state c.weir in
trouble merge-of-other-keys \
  "merge: 'a.weir' and 'c.weir' do not have the same keys: made with --format 'lines' and 'csv'" \
  merge -o both.weir a.weir c.weir

trouble state-is-output "dedup: --state and --output are the same file 'x'" dedup --state x -o x in

run dedup "${small[@]}" --state run.weir --resume -o kept in
cp kept before
trouble resume-other-input "dedup: cannot resume the run that wrote 'run.weir': its input 'in' is not among the files now" \
  dedup "${small[@]}" --state run.weir --resume -o kept other
same output-is-untouched before kept
trouble resume-other-output "dedup: cannot resume: the run that wrote 'run.weir' was made with --output kept, not elsewhere" \
  dedup "${small[@]}" --state run.weir --resume -o elsewhere in
if [[ -e elsewhere ]]; then no nothing-elsewhere "it was made"; else ok nothing-elsewhere; fi

trouble state-of-other-line-ends \
  "dedup: the state file 'a.weir' was made without --null; use the same options or another state file" \
  dedup "${small[@]}" --filter bloom -z --state a.weir in

# 20,000 records through 20 windows, in 256M: sweeping the whole table would take seconds
seq 1 20000 >many
SECONDS=0
run dedup --window 1000 many
is small-window-all-new "20000" "$(wc -l <out)"
if ((SECONDS <= 4)); then ok small-window-is-quick; else no small-window-is-quick "$SECONDS s"; fi

# a filter touches what its keys need: 163,000 keys are whole hashes in 2 MiB, whatever it may have.
# peak MEMORY: KiB at the peak of a run that is still there
mkfifo keys
peak() {
  "$WEIR" dedup --quiet --seed 7 --threads 1 --memory "$1" keys >/dev/null &
  local pid=$!
  exec 3>keys
  seq 1 163000 >&3
  awk '/^VmHWM/ { print $2 }' /proc/$pid/status
  exec 3>&-
  wait $pid
}
if [[ -n ${ASAN_OPTIONS:-} ]]; then skip touched-memory "a sanitizer takes memory of its own"
else
  small=$(peak 64K) large=$(peak 1G)
  if ((large - small <= 2048 + 512)); then ok touched-memory; else no touched-memory "1G took $((large - small)) KiB more than 64K"; fi
fi

finish
