#!/usr/bin/env bash
# Redis streams as source and sink: a real server, crashes at every step.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need redis-server redis
need_broker redis://127.0.0.1:1/x redis
free_port
redis-server --port "$port" --bind 127.0.0.1 --save '' --dir . >redis.log 2>&1 & servers+=($!)
h=redis://127.0.0.1:$port
r() { redis-cli -p "$port" "$@"; }
until_true r ping || { no redis-starts "$(tail -1 redis.log)"; finish; }
"$tool" put "$h/clicks" <events

# in and out
run dedup --from "$h/clicks?group=a" --until-end "${o[@]}"; is read-code 0 $rc; same read-same exact out
is read-acknowledged 0 "$(r xpending clicks a | head -1)"
run dedup --from "$h/clicks?group=b" --to "$h/clean" --until-end --stats --format json --key .id --memory 64K
is to-code 0 $rc; is to-new "$(wc -l <exact)" "$(awk '$1 == "new" { print $2 }' err)"
"$tool" get "$h/clean?group=r" >out; same to-same exact out
run dedup --to "$h/fromfile" "${o[@]}" events; "$tool" get "$h/fromfile?group=r" >out; same file-same exact out
is no-marks-without-state 0 "$(r --raw xrange fromfile - + | grep -c '^weir$')"

# entries of several fields, and one of them
r xadd multi '*' id 7 t 'a"b' >/dev/null; r xadd multi '*' id 7 t 'a"b' >/dev/null; r xadd multi '*' id 8 >/dev/null
gives entry-json '{"id":"7","t":"a\\"b"}\n8\n' dedup --from "$h/multi?group=j" --until-end --memory 64K
gives entry-field '7\n8\n' dedup --from "$h/multi?group=f&field=id" --until-end --memory 64K
run dedup --from "$h/multi?group=k" --to "$h/multi2" --until-end --memory 64K
is entry-kept 'id 7 t a"b id 8' "$(r --raw xrange multi2 - + | grep -v -- '-[01]$' | xargs -d '\n')"
gives socket-like '7\n8\n' dedup --from "redis://127.0.0.1:$port/multi?group=s&field=id&db=0" --until-end --memory 64K

# poison: what has no record, and what is not JSON
r xadd poison '*' data '{"id":1}' >/dev/null; r xadd poison '*' other x >/dev/null; r xadd poison '*' data 'not json' >/dev/null; r xadd poison '*' data '{"id":2}' >/dev/null
trouble_like poison-field "dedup: message *-* of '$h/poison?group=p&field=data': the message has no such field as the URL asks for (field=)" dedup --from "$h/poison?group=p&field=data" --until-end "${o[@]}"
is poison-before '{"id":1}' "$(cat out)"; is poison-others-wait 3 "$(r xpending poison p | head -1)"
gives poison-drop '{"id":2}\n' dedup --from "$h/poison?group=p&field=data" --until-end --on-bad drop "${o[@]}"
is poison-done 0 "$(r xpending poison p | head -1)"
trouble_like poison-json "dedup: message *-* of '*': invalid JSON: *" dedup --from "$h/poison?group=q" --until-end "${o[@]}"
run dedup --from "$h/poison?group=w&field=data" --to "$h/passed" --until-end --on-bad pass "${o[@]}"; is poison-pass 4 "$(r xlen passed)"

# long entries: not as many at once as of short ones, in the source and where the sink is read after a crash; and
# one that is too long by itself
r eval "for i = 1, 300 do redis.call('xadd', KEYS[1], '*', 'data', i) end for i = 1, 58 do redis.call('xadd', KEYS[1], '*', 'data', string.rep('x', 1200000) .. i) end" 1 long >/dev/null
a=(dedup --from "$h/long?group=c" --to "$h/sink" --state long.weir --until-end --memory 64K -q)
crash after-send:357 "${a[@]}"; is long-crashed yes $crashed
run "${a[@]}"; is long-code 0 $rc; is long-all "358 0" "$(r xlen sink) $(r xpending long c | head -1)"
r xadd huge '*' data a >/dev/null
r eval "redis.call('xadd', KEYS[1], '*', 'data', string.rep('y', 70000000))" 1 huge >/dev/null
run dedup --from "$h/huge?group=c" --until-end --memory 64K -q --on-bad drop; is huge-dropped "0 1" "$rc $(wc -l <out)"
is huge-done 0 "$(r xpending huge c | head -1)"
r del long huge sink >/dev/null

# crashes. From a stream to a stream: each id once, and the same events as without
lost=0 twice=0 reached=0
for place in "${places[@]}"; do
  r del sink >/dev/null; r xgroup destroy clicks c >/dev/null; rm -f c.weir*
  a=(dedup --from "$h/clicks?group=c" --to "$h/sink" --state c.weir --save-every 1ms --until-end "${o[@]}")
  crash "$place" "${a[@]}"; [[ $crashed == yes ]] && reached=$((reached + 1))
  crash before-send:1 "${a[@]}"; crash after-flush:1 "${a[@]}" # and again, while it recovers
  run "${a[@]}"; ((rc == 0)) || no "crash-$place-code" "exit $rc: $(head -1 err)"
  "$tool" get "$h/sink?group=r" >got
  cmp -s exact got || { cmp -s exact.ids <(ids got) || no "crash-stream-$place" "$(wc -l <got) records, $(ids got | uniq -d | wc -l) twice"; lost=1; }
  is "crash-stream-$place-acknowledged" 0 "$(r xpending clicks c | head -1)"
done
is crash-stream-order 0 $lost
((reached == ${#places[@]})) && ok crash-stream-reached || no crash-stream-reached "$reached of ${#places[@]}"

# records that are let through without a verdict have no key by which they could be known: their ids must do
awk 'NR % 3' events | sed 's/"id"/"no"/' >keyless; "$tool" put "$h/keyless" <keyless
for place in after-flush:2 after-save:3 before-settle:4; do
  r del sink >/dev/null; r xgroup destroy keyless c >/dev/null; rm -f c.weir*
  a=(dedup --from "$h/keyless?group=c" --to "$h/sink" --state c.weir --save-every 1ms --until-end "${o[@]}")
  crash "$place" "${a[@]}"; is "crash-keyless-$place-reached" yes $crashed
  run "${a[@]}"; "$tool" get "$h/sink?group=r" >got; same "crash-keyless-$place" keyless got
done

# to a file: cut back and continued
for place in before-save:1 after-save:1 before-settle:2 after-settle:1; do
  r xgroup destroy clicks d >/dev/null; rm -f d.weir* file
  a=(dedup --from "$h/clicks?group=d" -o file --resume --state d.weir --save-every 1ms --until-end "${o[@]}")
  crash "$place" "${a[@]}"; is "crash-file-$place-reached" yes $crashed
  run "${a[@]}"; is "crash-file-$place-code" 0 $rc; same "crash-file-$place" exact file
done

# from a file to a stream
for place in after-send:400 before-flush:1 after-flush:2 after-save:1; do
  r del sink >/dev/null; rm -f e.weir*
  a=(dedup --to "$h/sink" --state e.weir --resume "${o[@]}" events)
  crash "$place" "${a[@]}"; is "crash-from-file-$place-reached" yes $crashed
  run "${a[@]}"; is "crash-from-file-$place-code" 0 $rc
  "$tool" get "$h/sink?group=r" >got; same "crash-from-file-$place" exact got
done

# kills by the clock
RANDOM=5
r del sink >/dev/null
for i in {1..6}; do
  "$WEIR" dedup --from "$h/clicks?group=k" --to "$h/sink" --state k.weir --save-every 2ms --until-end "${o[@]}" 2>err & pid=$!
  sleep 0.0$((RANDOM % 5))$((RANDOM % 10)); kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
done
run dedup --from "$h/clicks?group=k" --to "$h/sink" --state k.weir --until-end "${o[@]}"; is killed-code 0 $rc
"$tool" get "$h/sink?group=r" >got; same killed-same exact got

# what another consumer had when it died is taken over; --until-end waits for it
"$tool" hold "$h/clicks?group=t&consumer=dead" 500 >held; is hold 500 "$(wc -l <held)"
run dedup --from "$h/clicks?group=t&consumer=alive&claim=300ms" --until-end "${o[@]}"; once claimed out
is claimed-all 0 "$(r xpending clicks t | head -1)"

# a run that waits is stopped by a signal: done is done
"$WEIR" dedup --from "$h/live?group=l" "${o[@]}" --state l.weir 2>err >out; is no-stream-code 2 $?
is no-stream "weir: dedup: there is no stream 'live' at 127.0.0.1:$port; make it first" "$(tr -d "\n" <err)"
printf '{"id":1}\n{"id":1}\n{"id":2}\n' | "$tool" put "$h/live"
"$WEIR" dedup --from "$h/live?group=l" --to "$h/lives" "${o[@]}" --state l.weir --metrics l.prom --save-every 50ms 2>err >out & pid=$!
two() { [[ $(r xlen lives) == 2 ]]; }; until_true two
settled() { [[ $(r xpending live l | head -1) == 0 ]]; }; until_true settled && ok follow-settled || no follow-settled "$(r xpending live l | head -1)"
until_true grep -q '^weir_stream_lag_messages 0$' l.prom && ok lag || no lag "$(grep lag_m l.prom | tail -1)"
echo '{"id":3}' | "$tool" put "$h/live"; three() { [[ $(r xlen lives) == 3 ]]; }; until_true three; is follow-more 3 "$(r xlen lives)"
kill -TERM $pid; wait $pid; is term-code 143 $?
is term-saved 3 "$("$WEIR" inspect l.weir | awk '$1 == "held" { print $2 }')"; is term-acknowledged 0 "$(r xpending live l | head -1)"

# servers and words that are wrong
r set string x >/dev/null; r hset hash a b >/dev/null
trouble_like wrong-type "dedup: 'string' at * is no stream, but a key of another type" dedup --from "$h/string?group=g" --until-end --memory 64K
trouble_like wrong-type-to "dedup: 'hash' at * is no stream, but a key of another type" dedup --to "$h/hash" "${o[@]}" events
trouble no-group "dedup: '$h/clicks' does not say which consumer group it reads by; add ?group=NAME" dedup --from "$h/clicks" "${o[@]}"
trouble_like password "dedup: --from: a password does not belong on a command line*" dedup --from "redis://u:secret@127.0.0.1:$port/clicks?group=g" "${o[@]}"
grep -q secret err && no password-not-said "$(cat err)" || ok password-not-said
trouble_like no-name "dedup: --from: '$h' names no stream; it looks like redis://HOST/NAME" dedup --from "$h" "${o[@]}"
trouble_like parameter "dedup: --to: 'group' of '*' is not known there; there are: *" dedup --to "$h/x?group=g" "${o[@]}" events
trouble_like empty "dedup: --from: 'group' of '*' is empty" dedup --from "$h/clicks?group=" "${o[@]}"
trouble_like start "dedup: --from: start=last of '*' cannot be; it is first or new" dedup --from "$h/clicks?group=g&start=last" "${o[@]}"
trouble_like no-url "dedup: --to: 'http://h/x' is no URL of a stream; *" dedup --to http://h/x "${o[@]}" events
trouble from-and-files "dedup: --from reads a stream; leave out the files" dedup --from "$h/clicks?group=g" events
trouble_like from-header "dedup: messages have no header; give --key by number" dedup --from "$h/clicks?group=g" --format csv --header
trouble_like from-fixed "dedup: a message is a record of its own length; *" dedup --from "$h/clicks?group=g" --format fixed:8
trouble_like to-all "dedup: --to takes --emit new or seen: *" dedup --to "$h/x" --emit all events
trouble_like output-no-state "dedup: --from and --output need --state FILE: *" dedup --from "$h/clicks?group=g" -o file
trouble_like nobody "dedup: *127.0.0.1:1*" dedup --from redis://127.0.0.1:1/clicks?group=g "${o[@]}"
# what the documentation grants a user is enough
acl=$(sed -n 's/^`ACL SETUSER weir on >PASSWORD \([^`]*\)`.*$/\1/p' "$root/docs/streams.md")
is acl-is-there 1 "$(grep -c '~clicks ~clean' <<<"$acl")"
# shellcheck disable=SC2086
r acl setuser weir on '>sesame' $acl >/dev/null; r del clean >/dev/null; rm -f acl.weir
u=redis://weir@127.0.0.1:$port
WEIR_PASSWORD=sesame run dedup --from "$u/clicks?group=acl&claim=1ms" --to "$u/clean" --state acl.weir --metrics acl.metrics --until-end "${o[@]}"
is acl-code 0 $rc; is acl-all "$(wc -l <exact)" "$(r xlen clean)"; is acl-lag 1 "$(grep -c '^weir_stream_lag_messages 0' acl.metrics)"
r config set requirepass sesame >/dev/null
trouble_like noauth "dedup: *127.0.0.1:$port*" dedup --from "$h/clicks?group=g" --until-end "${o[@]}"
echo sesame >pass; rm -f p.weir
run dedup --from "$h/clicks?group=pw&password-file=pass" --until-end "${o[@]}"; is password-file-code 0 $rc; same password-file exact out
WEIR_PASSWORD=wrong trouble_like wrong-password "dedup: *127.0.0.1:$port*" dedup --from "$h/clicks?group=g" --until-end "${o[@]}"
# a server that is none
if command -v python3 >/dev/null; then
  free_port
  python3 -c 'import socket, sys
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(5)
while True:
    c, _ = s.accept(); c.recv(4096); c.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"); c.close()' "$port" & servers+=($!)
  until_true is_open "$port"
  trouble_like garbage "dedup: *127.0.0.1:$port*" dedup --from "redis://127.0.0.1:$port/clicks?group=g" --until-end "${o[@]}"
fi
finish
