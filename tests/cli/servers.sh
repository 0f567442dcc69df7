#!/usr/bin/env bash
# weir plan --sites N --chance P: slices, replicas and durability for servers.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
a=(plan --sites 10 --chance 0.1% --memory 16G --fpr 0.01%)
run "${a[@]}" --rate 2M/s; is code 0 $rc
is slices 1 "$(grep -c '^slices  *520 of 31.5M, 52 on each server$' out)"
is replicas 1 "$(grep -c '^replicas  *0 for each server: a slice has no copy 0.1% of the time' out)"
is line 1 "$(grep -c '^    weir dedup --at redis+cluster://HOST/NAME --memory 16G --fpr 0.01% --slices 520 --durability async$' out)"
# more is asked for: a replica, and to wait for it where a failover would forget much
run "${a[@]}" --fnr 0.01%; is one-replica 1 "$(grep -c '^replicas  *1 for each' out)"
run "${a[@]}" --fnr 0.01% --rate 20M/s --json; is wait wait:1 "$(grep -o 'wait:1' out)"
run "${a[@]}" --fnr 0.01% --rate 2K/s --json; is async async "$(grep -o 'async' out)"
trouble chance-alone "plan: --chance goes with --sites" plan --chance 1%
trouble chance-and-fail "plan: --chance says how many may be lost at once; leave out --fail" "${a[@]}" --fail 2
trouble rate-alone "plan: --sites asks about sites, memory and rates alone; ask about the stream without it" plan --sites 10 --rate 5K
trouble_like too-large "plan: * slices of * are too large to be moved; take more nodes, or less memory" plan --sites 2 --chance 1% --memory 100T
trouble_like chance-of-one "plan: --chance *" plan --sites 2 --chance 100% --memory 1G
# what the documentation shows is what it prints
sed -n 's/^    weir \(plan --sites .*\)/\1/p' "$root/docs/cluster.md" >commands; is commands-shown 2 "$(wc -l <commands)"
while read -r line; do
  # shellcheck disable=SC2086
  run $line
  sed '/./s/^/    /' out | grep -vxFf "$root/docs/cluster.md" >differs
  is "shown-${line:5:12}" "0 " "$rc $(cat differs)"
done <commands
finish
