#!/usr/bin/env bash
# A verdict is worth what it can lose: wrong estimators, planted into the lab (planted.c), must
# make every experiment's verdict fall, or its claims and numbers that hold.
# `planted.sh NAME...` does so for these experiments, WEIR_PLANT_ALL=1 for all.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
[[ -z ${WEIR_QUICK:-} ]] || { skip planted "minutes: make lab-test runs it"; finish; }
case $WEIR in *asan*|*tsan*|*coverage*) skip planted "the plain build has it"; finish;; esac
lab=$(dirname "$WEIR")/tests/weir-lab-planted
[[ -x $lab ]] || { skip planted "$lab was not built"; finish; }

# score MODE NAME: the verdict (2, 1, 0), the printed numbers that agree, and y or n for each claim
score() {
  WEIR_PLANT=$1 "$lab" run --json --out "$1" --seeds 1 "$2" >json 2>said
  grep -q 'is left out' said && { echo missing; return; }
  printf '%s %s %s\n' \
    "$(grep -o '"verdict": "[^"]*"' json | sed 's/.*reproduced.*/2/; s/.*same.*/1/; s/.*differs.*/0/')" \
    "$(grep -o '"within": [0-9]*' json | cut -d' ' -f2)" \
    "$(grep -o '"holds": [a-z]*' json | sed 's/.*true/y/; s/.*false/n/' | tr -d '\n')"
}

# falls RIGHT WRONG: a lower verdict, or no result at all; where the right one is the lowest, fewer
# numbers or a claim lost
falls() {
  local right wrong i
  read -ra right <<<"$1"; read -ra wrong <<<"$2"
  ((${#wrong[@]} < ${#right[@]} || wrong[0] < right[0])) && return 0
  ((right[0] > 0)) && return 1
  ((wrong[1] < right[1])) && return 0
  for ((i = 0; i < ${#right[2]}; i++)); do
    [[ ${right[2]:i:1}${wrong[2]:i:1} == yn ]] && return 0
  done
  return 1
}

# Not verdicts of a filter, a sketch or a formula: the time that a key takes, and properties of
# the streams themselves. In a test of loads or messages verdicts of filters play no part.
untouched='^(count-cost|ours-cost|slices-sizes|slices-fig-4-6|live-designs)$'
# Only formulas, sketches or pairs: no filter to plant into.
unfiltered='^(thesis-3\.[12]|count-|pairs-|slices-fig-1$|slices-fig-5-8$|slices-fig-7c|slices-fig-10-11$|rsbf-theorem|ibf-fig-20|thesis-3\.3|rsbf-fig-7)'
# On servers: tests of keys that were never offered, and messages.
unfiltered+='|^live-fig-(1|7c)$'
# An audit of a filter that is wrong is right: only a wrong audit counts.
unfiltered+='|^ours-audit'
# Filters that forget nothing are right here: exactness, Bloom filters that fit, loads.
forgetless='^(ours-exact|ours-bound|ours-audit|ours-recent|slices-table-1|slices-fig-7c|slices-fig-12$'
forgetless+='|live-fig-5-8|live-table-1|live-fig-12$|live-faults)'
few='thesis-3.1 thesis-3.2 thesis-3.3 thesis-3.6 rsbf-table-2 rsbf-table-3 rsbf-fig-7 rsbf-theorem-5.1'
few+=' ibf-headline ibf-rates ibf-fig-11-19 ibf-fig-20 count-figure-4.1 count-figure-4.2'
few+=' count-figure-4.5 count-distinct pairs-table-5.1 slices-fig-1 slices-fig-5-8 slices-fig-7c'
few+=' slices-fig-10-11 ours-exact ours-bound ours-audit thesis-3.1-grid pairs-cosine live-table-1'
all=$("$lab" list | awk '{ print $1 }')
[[ ${WEIR_PLANT_ALL:-} ]] && few=$all
(($#)) && few=$*
for name in $few; do
  [[ $name =~ $untouched ]] && continue
  right=$(score none "$name")
  [[ $right != missing ]] || { skip "$name" "its streams are not here"; continue; }
  for mode in constant new never; do
    [[ $mode != constant && $name =~ $unfiltered ]] && continue
    [[ $mode == never && $name =~ $forgetless ]] && continue
    wrong=$(score $mode "$name")
    if falls "$right" "$wrong"; then ok "$name-$mode"
    else no "$name-$mode" "a wrong estimator scores '$wrong', the right one '$right'"; fi
  done
done
finish
