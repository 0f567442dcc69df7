#!/bin/bash
# The demo of the module finds as many new lines by each of its three ways as sort -u.
cd "$(dirname "$0")" && BUILD=$(realpath "${BUILD:-$PWD/../../build}") && export BUILD && . ./lib.sh
run_demo() {
    out=$(../../tools/demo-redis "$BUILD" 3000 2>&1)
    status=$?
    wanted=$(sed -n 's/^The stream: .*, \([0-9]*\) of them distinct.*/\1/p' <<<"$out")
    found=$(sed -n "s/^  \([0-9]*\) new.*/\1/p" <<<"$out" | uniq -c | tr -s ' ')
    if [ $status = 0 ] && [ "$found" = " 3 $wanted" ]; then echo "ok module/demo: $wanted lines are new, three times"
    else printf '%s\nnot ok module/demo: status %s, found%s, wanted 3 times %s\n' "$out" $status "$found" "$wanted"; fi
    grep -q '^bytes: [0-9]* for the filter, [0-9]* for the set' <<<"$out" || echo "not ok module/demo: memory"
    grep -q '^  weir_filters:' <<<"$out" || echo "not ok module/demo: INFO"
}
run_python --check && run_demo
