#!/usr/bin/env bash
# The examples of the manual really run.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# whether a command talks to a server; tests/module, tests/remote and tests/streams start some
needs_server() { [[ $1 =~ (redis|rediss|redis\+cluster|nats|kafka):// ]]; }
mkdir bin; ln -s "$WEIR" bin/weir; PATH=$work/bin:$PATH
for f in access yesterday a b; do for i in {1..700} {1..700}; do echo "$f GET /$i"; done >$f.log; done
printf 'user,day,url\n1,mon,/a\n1,mon,/b\n2,mon,/a\n' >events.csv; gzip -k events.csv
printf '{"id":7,"at":"2026-01-01T00:00:00Z"}\n{"id":7,"at":"2026-01-01T00:10:00Z"}\n{"id":7,"at":"2026-01-01T01:10:00Z"}\n' >events.json
printf 'user,ms,bytes\nann,12,900\nbob,7,14.5\n' >traffic.csv
printf 'id,amount\n1,5\n2,900\n1,5\n' >payments.csv
printf 'x\n' | weir dedup --memory 1M --state seen.weir >/dev/null
count=0
for page in dedup count inspect merge weir filters; do
  # commands stand indented by eight columns; a backslash continues them
  weir help $page | awk '/^        weir / || more { sub(/^ +/, ""); more = sub(/\\$/, ""); printf "%s%s", $0, more ? "" : "\n" }' >commands
  while read -r line; do
    [[ $line == weir\ * ]] || continue
    if needs_server "$line"; then skip "$line" "it needs a server"; continue; fi
    count=$((count + 1))
    [[ $line == *--state\ seen.weir* && $line != *--exit-code* ]] && rm -f seen.weir
    if bash -c "$line" >out 2>err </dev/null && ! grep -q '^weir: .*\(unknown\|cannot\)' err; then ok "$line"; else no "$line" "$(head -1 err)"; fi
    [[ -e seen.weir ]] || weir dedup --memory 1M --state seen.weir access.log >/dev/null
  done <commands
done
# those of the README, but for the one that never ends
cp access.log today.log; cp access.log huge.log; cp access.log app.log
cp events.csv clicks.csv; gzip -f clicks.csv
printf 'name,city,mail\nann,x,a@x\nann,x,b@x\nbob,y,c@y\n' >people.csv
sed -n 's/^\$ \(weir [^#]*[^# ]\) *\(#.*\)*$/\1/p' "$root/README.md" | grep -v 'repo_urls' >commands
while read -r line; do
  if needs_server "$line"; then skip "README: $line" "it needs a server"; continue; fi
  count=$((count + 1)); rm -f seen.weir run.weir once.log
  if bash -c "$line" >out 2>err </dev/null; then ok "README: $line"; else no "README: $line" "$(head -1 err)"; fi
  # an hour by the clock of the records, not by that of the machine
  [[ $line == *--window* ]] && is readme-window "00:00:00Z 01:10:00Z" "$(grep -o '..:..:..Z' out | xargs)"
done <commands
((count >= 15)) && ok examples-found || no examples-found "only $count"
finish
