#!/usr/bin/env bash
# The parser: every way to write an option, and what it says about wrong ones.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

printf 'a\nb\na\n' >in
gives long-value 'a\nb\n' dedup --memory 1M in
gives long-equals 'a\nb\n' dedup --memory=1M in
gives short-value 'a\nb\n' dedup -m 1M in
gives short-joined 'a\nb\n' dedup -m1M in
gives options-after-operands 'a\nb\n' dedup in --memory 1M
gives short-cluster 'a\nb\na\n' dedup -qzm1M in
cp in ./-odd
gives double-dash 'a\nb\n' dedup --memory 1M -- -odd
gives dash-output 'a\nb\n' dedup -m1M -o - in
run dedup -ofile in; is short-output-code 0 $rc; same short-output file <(printf 'a\nb\n')
"$WEIR" dedup -m1M - <in >out; is dash-is-stdin $'a\nb' "$(cat out)"
"$WEIR" dedup -m1M <in >out; is no-file-is-stdin $'a\nb' "$(cat out)"
"$WEIR" dedup -m1M in - <in >out; is stdin-among-files $'a\nb' "$(cat out)"

trouble unknown-option "dedup: unknown option '--memroy'; did you mean '--memory'?" dedup --memroy 1M in
trouble unknown-option-far "dedup: unknown option '--xyzzy'; see 'weir help dedup'" dedup --xyzzy in
trouble unknown-short "dedup: unknown option '-x'; see 'weir help dedup'" dedup -x in
trouble missing-value "dedup: --memory needs a value: --memory SIZE" dedup in --memory
trouble missing-short-value "dedup: -o needs a value: -o FILE" dedup in -o
trouble value-of-flag "dedup: --trim takes no value, but got 'yes'" dedup --trim=yes in
trouble wrong-choice "dedup: --emit cannot be 'sen'; did you mean 'seen'?" dedup --emit sen in
trouble wrong-choice-far "dedup: --emit cannot be 'everything'; it is one of new|seen|all|verdicts|once|repeated|counts" dedup --emit everything in
trouble unknown-command "unknown command 'dedpu'; did you mean 'dedup'?" dedpu in
trouble unknown-command-far "unknown command 'frobnicate'; see 'weir help'" frobnicate in
trouble unknown-main-option "unknown option '--versoin'; did you mean '--version'?" --versoin

# one way to write a seed, wherever there is one
printf 'a,b\nc,d\n' >seed.csv
seeded() { # SEED COMMAND...: the same as with the number that it stands for?
  local name=$1 number=$2 seed=$3
  shift 3
  run "$@" --seed "$number"; sed 's/; [0-9.]* s$//' out >first # less the time it took
  run "$@" --seed "$seed"; sed -i 's/; [0-9.]* s$//' out
  if ((rc != 0)); then no "$name" "exit $rc: $(head -1 err)"; else same "$name" first out; fi
}
for seed in 16=0x10 10000000=10M 10=010; do
  n=${seed%=*} s=${seed#*=}
  run dedup --state state.weir --seed "$n" -q in
  gives "dedup-seed-$s" '' dedup --state state.weir --seed "$s" -q in; rm -f state.weir
  seeded "count-seed-$s" "$n" "$s" count -d --json in
  seeded "pairs-seed-$s" "$n" "$s" pairs self --format csv -c 1,2 -q seed.csv
  seeded "lab-seed-$s" "$n" "$s" lab stream uniform:n=20,universe=1M
done
for command in "dedup in" "count in" "pairs self --format csv -c 1,2 seed.csv" "lab stream uniform:n=2,universe=9"; do
  # shellcheck disable=SC2086
  trouble "bad-seed-${command%% *}" "${command%% *}: --seed: '0x' is not a number from 0 to 2^64-1" $command --seed 0x
done

trouble bad-memory "dedup: --memory: 'much' is not a size such as 64M or 1.5G" dedup --memory much in
trouble bad-memory-unit "dedup: --memory: '12Q' is not a size such as 64M or 1.5G" dedup --memory 12Q in
trouble bad-threads "dedup: --threads cannot be 'x'; it goes from 1 to 256" dedup --threads x in
trouble bad-window "dedup: --window: '12Q' is neither a number of records such as 10M nor a time such as 10m" dedup --window 12Q in
trouble bad-count-window "count: --window: 'abc' is neither a number of records such as 10M nor a time such as 10m" count --window abc in
trouble bad-plan-window "plan: --window: '12Q' is neither a number of records such as 10M nor a time such as 10m" plan --window 12Q
trouble bad-rate "plan: --rate: '5q/s' is not a number of records a second such as 50K/s" plan --rate 5q/s
trouble bad-spec-word "dedup: '64M' in the spec is not of the form option=value, such as memory=64M" dedup --filter recent:64M in
trouble bad-spec-choice "dedup: unknown max 'x'; there are 1, 3, 7, 15" dedup --filter stable:max=x in
trouble bad-spec-count "dedup: k: 'x' is not a count from 1 to 32" dedup --filter bloom:k=x in
trouble no-near-option "count: unknown option '--point'; see 'weir help count'" count --point 5 in
trouble bad-fpr-text "dedup: --fpr: 'few' is not a rate such as 1% or 0.01" dedup --fpr few in
for r in 0 1 100% 2; do
  trouble "fpr-$r" "dedup: --fpr cannot be '$r'; it is a rate between 0 and 1, such as 0.01%" dedup --fpr $r in
done
trouble_like fpr-too-high "dedup: --fpr 90% is out of range; *" dedup --fpr 90% in
trouble_like memory-too-small "dedup: --memory 10 is out of range; *1K*" dedup --memory 10 in
trouble_like memory-too-small-in-spec "dedup: memory=10 is out of range; *1K*" dedup --filter recent:memory=10 in
trouble_like memory-too-small-for-kind "dedup: --memory 1K is too small for *" dedup --filter tree --memory 1K in
trouble_like pairs-memory-too-small "pairs: --memory 1K is out of range; *64K*" pairs self -m 1K -c 1,2 -s 1 --format csv in
trouble_like count-error-too-small "count: --error 1e-12 is out of range; *" count --error 1e-12 in
trouble_like memory-too-large "dedup: *" dedup --memory 900T in
trouble_like unknown-filter "dedup: unknown filter 'stabel'; did you mean 'stable'?" dedup --filter stabel in
trouble_like unknown-filter-option "dedup: unknown option of filter 'stable' 'mox'; did you mean 'max'?" dedup --filter stable:mox=1 in
trouble spec-conflict "dedup: --memory 2M and memory=1M in --filter 'stable:memory=1M' disagree; give it once" dedup --memory 2M --filter stable:memory=1M in
gives spec-agrees 'a\nb\n' dedup --memory 1024K --filter stable:memory=1M in
gives spec-alone 'a\nb\n' dedup --filter bloom:memory=1M,fpr=1% in
trouble window-of-bloom "dedup: --window 10m does not go with the filter 'bloom'; leave out --filter, or take --filter window" dedup --filter bloom --window 10m in
trouble window-of-growing "dedup: --window belongs to the filters inside 'growing'; write --filter 'growing:of=(window:length=10m)'" dedup --filter growing --window 10m in
trouble window-of-tree "dedup: --window belongs to the filters inside 'tree'; write --filter 'tree:of=(recent:window=100)'" dedup --filter tree --window 100 in
trouble window-of-growing-records "dedup: --window belongs to the filters inside 'growing'; write --filter 'growing:of=(window:length=100)'" dedup --filter growing --window 100 in
trouble window-of-growing-none "dedup: a window inside 'growing' needs a length, such as length=1h" dedup --filter "growing:of=(window)" in
trouble_like large-seed "dedup: --seed: '18446744073709551616' is not a number*" dedup --seed 18446744073709551616 in
trouble_like bad-seed "dedup: --seed: 'x' is not a number*" dedup --seed x in
trouble bad-threads "dedup: --threads cannot be '0'; it goes from 1 to 256" dedup --threads 0 in
trouble bad-max-record "dedup: --max-record cannot be '2G'; it goes from 1 to 1G" dedup --max-record 2G in
trouble bad-save-every "dedup: --save-every: '10' is not a duration such as 30s or 1m30s (units d h m s ms)" dedup --save-every 10 in
for o in "dedup --output" "dedup --state" "count --state" "count --plot" "count --join" "pairs --save" "plan --plot" "plan --sample" "merge --output"; do
  trouble "no-name-${o// /}" "${o% *}: ${o#* } cannot be ''; it is the name of a file" "${o% *}" "${o#* }=" in
done
trouble no-name-folder "pairs: --tmp cannot be ''; it is the name of a folder" pairs --tmp '' in
trouble save-every-alone "dedup: --save-every goes with --state FILE or --metrics FILE" dedup --save-every 1s in
trouble save-every-alone-count "count: --save-every goes with --state FILE, --at URL or --metrics FILE" count --save-every 1s in
trouble short-save-every "dedup: --save-every cannot be '10us'; it is at least 1ms" dedup --save-every 10us in
trouble_like bad-format "dedup: *'csvv'*csv*" dedup --format csvv in
trouble bad-audit "dedup: --audit cannot be '1/100'; N is a power of two, such as 64 or 128" dedup --audit=1/100 in
trouble header-of-lines "dedup: --header goes with --format csv or tsv" dedup --header in
trouble null-of-csv "dedup: -z goes with --format lines or json" dedup -z --format csv in
trouble key-of-binary "dedup: --key goes with --format lines, csv, tsv, json or clf; binary records have no fields" dedup --format len32 --key 1 in
trouble resume-without-state "dedup: --resume needs --state FILE to continue from" dedup --resume -o x in
trouble resume-without-output "dedup: --resume needs --output FILE to continue" dedup --resume --state s in
trouble time-without-window "dedup: --time goes with a --window that is a duration, such as --window 1h" dedup --format csv --time 1 in
trouble lateness-without-time "dedup: --lateness goes with --time" dedup --lateness 1s in
trouble count-leap-without-time "count: --max-leap goes with --time" count --max-leap 1h in
trouble time-format-without-time "dedup: --time-format goes with --time" dedup --time-format iso in
run dedup in --exit-code -m1M; is exit-code-new 0 $rc
run dedup --exit-code -m1M /dev/null; is exit-code-nothing 1 $rc
run dedup --state s -m1M in; run dedup --state s --exit-code in; is exit-code-all-seen 1 $rc
printf 'a\nb\na\n' >in
for level in scalar sse avx2 avx512; do
  WEIR_CPU=$level "$WEIR" dedup in >out 2>err; rc=$?
  if ((rc == 2)); then skip "cpu-$level" "$(cat err)"; else is "cpu-$level" "a b" "$(xargs <out)"; fi
done
WEIR_CPU=fast "$WEIR" dedup in >out 2>err; is cpu-unknown "2 weir: WEIR_CPU cannot be 'fast'; this processor has" "$? $(grep -o '.*processor has' err)"

finish
