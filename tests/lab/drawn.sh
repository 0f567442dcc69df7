#!/usr/bin/env bash
# weir-accuracy on drawn streams: a few of them as a regression, its options, bad input.
#
# The floors are what the filter reached when they were set, less a little. They are to be
# raised when it gets better, and the goal is what weir-accuracy itself asks for.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
WEIR=$(dirname "$WEIR")/weir-accuracy
streams=40; case $WEIR in *asan*|*tsan*|*coverage*) streams=3;; esac
most_median=1.90 least_within=65

run --drawn $streams --draw-seed 1
is drawn-rules-kept "0 break another rule" "$(grep -o '[0-9]* break another rule' out)"
if ((streams >= 40)); then
  read -r median within < <(awk '/median/ {m = $5} /within 1.30/ && /%.*break/ {w = $1} END {print m, w + 0}' out)
  is drawn-median "at most $most_median" "$(awk -v m="$median" -v most=$most_median 'BEGIN {print (m > 0 && m <= most) ? "at most " most : m}')"
  is drawn-within "at least $least_within" "$(awk -v w="$within" -v least=$least_within 'BEGIN {print w >= least ? "at least " least : w}')"
fi
run --drawn 3 --csv --jobs 1; cp out one
run --drawn 3 --csv --jobs 3; same drawn-jobs-do-not-matter one out
is drawn-csv 4 "$(wc -l <out)"
run --only 2 --csv; is drawn-only "$(sed -n 3p one)" "$(sed -n 2p out)"
run --only 2 --csv --draw-seed 2; is drawn-seed different "$([[ $(sed -n 3p one) == $(sed -n 2p out) ]] && echo same || echo different)"
run --only 4 --surprises --filters bloom --csv # a filter that never forgets: no surprise
is seeds-alike "0.000000,0.000000" "$(sed 1d out | cut -d, -f11,12)"
for bad in "--drawn 0" "--drawn x" "--draw-seed -1 --drawn 2" "--only 1.5" "--only x"; do
  # shellcheck disable=SC2086
  run $bad; is "bad: $bad" "2 1" "$rc $(grep -c '^weir-accuracy: ' err)"
done
finish
