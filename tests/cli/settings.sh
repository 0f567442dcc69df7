#!/usr/bin/env bash
# Settings: who gives every setting of a filter has chosen its rate of false positives. It is
# built, the rate is said once, and it is refused only where fpr was given too and is less.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

seq 2000 >keys

# implies CASE SPEC RATE: it runs, says the rate once, and stats, inspect and JSON have it
implies() {
  local said="weir: dedup: the settings of '${2%%:*}' allow a false positive rate of up to $3; give fpr to have it bounded"
  rm -f s.weir
  run dedup --filter "$2" --seed 1 --stats --state s.weir keys
  is "$1-said" "$said" "$(grep 'the settings of' err)"
  is "$1-stats" "false positives  at most $3 by its settings" "$(grep '^false pos' err | cut -d';' -f1)"
  is "$1-ran" 0 "$rc"
  run inspect s.weir
  is "$1-inspect" "at most $3 by its settings" "$(sed -n 's/^ *false pos\. *\(.*\);.*/\1/p' out)"
  run inspect --json s.weir
  is "$1-json" '"fpr_implied":true' "$(grep -o '"fpr_implied":[a-z]*' out)"
  run dedup --state s.weir --stats=json keys
  is "$1-goes-on" 0 "$(grep -c 'the settings of' err)"
  is "$1-stats-json" '"fpr_implied":true' "$(grep -o '"fpr_implied":[a-z]*' err)"
}

# the settings of the papers' tables
implies stable stable:memory=512K,max=1,k=2,p=4 11.21%
implies importance importance:memory=16K,k=5,p=10,max=7 75.56%
implies bloom bloom:k=4,capacity=4300,memory=4K 2.95%
implies counting counting:k=4,capacity=4300,memory=4K 59.3%
implies spectral spectral:k=4,capacity=4300,memory=16K 39.55%
implies apbf apbf:k=4,l=4,generation=1000,memory=4K 33.43%
implies reservoir reservoir:memory=4K,k=2,pstar=3% 25%
implies window window:memory=4K,k=2,length=1000,tick=10 72.65%
implies window-without-tick window:memory=64K,k=1,length=1000 1.34%
implies qht qht:memory=4K,slots=2,bits=3 28.57%
# and of filters made of them
implies horizontal "horizontal:slices=4,of=(stable:k=2,p=4),memory=16K" 11.21%
implies tree "tree:memory=64K,of=(qht:bits=3,slots=2)" 57.14%
implies growing "growing:most=2,of=(bloom:k=4,capacity=4300),memory=8K" 6.18%

# fpr was given too
trouble stable-contradicts "dedup: k=2, p=4 allow a false positive rate of 11.21%, above fpr=1%; try p=19" \
  dedup --filter stable:memory=512K,max=1,k=2,p=4,fpr=1% keys
trouble_like importance-contradicts "dedup: k=5, p=10 allow a false positive rate of 75.56%, above fpr=20%*" \
  dedup --filter importance:k=5,p=10,max=7 --fpr 20% keys
trouble_like bloom-contradicts "dedup: capacity=4.30K at fpr=1% needs memory=*" \
  dedup --filter bloom:k=4,capacity=4300,memory=4K --fpr 1% keys
trouble reservoir-contradicts "dedup: k=3 allows a false positive rate of 12.5%, above fpr=10%; try k=6" \
  dedup --filter reservoir:memory=4K,k=3,aim=fpr --fpr 10% keys
run dedup --filter reservoir:memory=4K,k=3 --fpr 10% keys # the paper's own choice, a target
is reservoir-target 0 "$rc"
trouble_like window-contradicts "dedup: --memory 64K is too small for a window at fpr=0.0001%*" \
  dedup --memory 64K --filter window:k=1,length=1000 --fpr 0.0001% keys
trouble_like part-contradicts "dedup: a part with * cannot be made: k=2, p=4 allow*" \
  dedup --filter "horizontal:slices=4,of=(stable:k=2,p=4),memory=16K" --fpr 1% keys
run dedup --filter stable:memory=512K,max=1,k=2,p=4 --fpr 12% --stats keys
is fpr-that-holds "false positives  at most 12%" "$(grep '^false pos' err | cut -d';' -f1)"
# some settings only: the rest follows from fpr, as ever
run dedup --filter stable:memory=512K,k=8 --stats keys
is some-settings "false positives  at most 0.0001%" "$(grep '^false pos' err | cut -d';' -f1)"
finish
