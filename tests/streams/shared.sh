#!/usr/bin/env bash
# A stream in, a stream out, and the filter on a server: the run is killed at every step, and nothing is lost
# nor sent twice.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need redis-server shared
need_broker redis://127.0.0.1:1/x shared
module=${WEIR_MODULE:-$BUILD/module/weir.so}
[[ -r $module ]] || { skip shared "there is no module at $module"; finish; }
if [[ -z ${WEIR_MODULE-} ]] && grep -q '^WEIR_SANITIZE:STRING=.' "$BUILD/CMakeCache.txt"; then skip shared "a module with sanitizers needs a server with sanitizers"; finish; fi
free_port
redis-server --port "$port" --bind 127.0.0.1 --save '' --dir . --loadmodule "$module" >redis.log 2>&1 & servers+=($!)
h=redis://127.0.0.1:$port
r() { redis-cli -p "$port" "$@"; }
until_true r ping || { no redis-starts "$(tail -1 redis.log)"; finish; }
"$tool" put "$h/clicks" <events

# the line of the documentation, keys from the fields of entries
for i in 7 7 8; do r xadd raw '*' id $i url /a >/dev/null; done
run dedup --from "$h/raw?group=g" --to "$h/clean" --key .id --at "$h/one" --until-end -q
is one-line-code 0 $rc; is one-line 2 "$(r xlen clean)"
ttl=$(r ttl "$(r --raw keys 'one:run:*' | head -1)"); ((ttl > 2500000)) && ok note-goes-some-day || no note-goes-some-day "$ttl"
# replicas that are not there are waited for once, not at each batch
run dedup --from "$h/clicks?group=wait" --at "$h/waits" --durability wait:1 --until-end --stats=json "${o[@]}"
is wait-code 0 $rc; [[ $(grep -o '"unsafe":[0-9]*' err) != '"unsafe":0' ]] && ok wait-said || no wait-said "$(cat err)"
r xadd raw '*' id 8 url /b >/dev/null; r xadd raw '*' id 9 url /b >/dev/null
run dedup --from "$h/raw?group=g" --to "$h/clean" --key .id --at "$h/one" --until-end -q
is one-line-again 3 "$(r xlen clean)"; is one-line-acknowledged 0 "$(r xpending raw g | head -1)"

# killed at each step, twice; then to the end
all=(after-send:40 before-flush:3 after-flush:2 after-flush:3 before-settle:4 after-settle:2 before-note:2 after-note:1 after-note:3
  before-ticket:1 before-ticket:2 after-ticket:2 before-collect:2 before-collect:3 after-collect:1 after-collect:2)
n=0 reached=0
crash_all() { # NAME EMIT WANTED
  local place
  for place in "${all[@]}"; do
    n=$((n + 1))
    a=(dedup --from "$h/clicks?group=$1$n" --to "$h/sink" --at "$h/f$n" --emit "$2" --until-end "${o[@]}")
    r del sink >/dev/null
    crash "$place" "${a[@]}"; [[ $crashed == yes ]] && reached=$((reached + 1))
    crash after-collect:1 "${a[@]}"; crash before-settle:1 "${a[@]}" # and again, while it recovers
    run "${a[@]}"; ((rc == 0)) || no "crash-$1-$place-code" "exit $rc: $(head -1 err)"
    "$tool" get "$h/sink?group=r" >got
    cmp -s "$3" got || no "crash-$1-$place" "$(wc -l <got) records, $(ids got | uniq -d | wc -l) ids twice"
    is "crash-$1-$place-acknowledged" 0 "$(r xpending clicks "$1$n" | head -1)"
    r del "f$n:weir" >/dev/null
  done
}
crash_all new new exact
awk -F'[:,]' 's[$2]++' events >repeats
crash_all seen seen repeats
((reached == 2 * ${#all[@]})) && ok crash-reached || no crash-reached "$reached of $((2 * ${#all[@]}))"

# to a pipe nothing is lost, and a batch at most is written twice
for place in after-note:2 after-collect:2 before-settle:2; do
  n=$((n + 1)); a=(dedup --from "$h/clicks?group=p$n" --at "$h/f$n" --until-end "${o[@]}")
  : >crash.out; crash "$place" "${a[@]}"; is "pipe-$place-reached" yes $crashed
  run "${a[@]}"; cat crash.out out >got; ids got | uniq >got.ids; same "pipe-$place" exact.ids got.ids
done

# several of a group share what they know; one is killed between what it was told and what it sends, and another,
# which takes its messages over, knows
n=$((n + 1)); r del sink >/dev/null
two=("$h/clicks?group=two&claim=300ms" --to "$h/sink" --at "$h/f$n" --until-end "${o[@]}")
WEIR_CRASH=after-collect:2 "$crashing" dedup --from "${two[0]}&consumer=dead" "${two[@]:1}" 2>/dev/null & pid=$!; wait $pid 2>/dev/null; is two-killed 137 $?
run dedup --from "${two[0]}&consumer=alive" "${two[@]:1}"; is two-code 0 $rc
"$tool" get "$h/sink?group=r" >got; once two got
is two-acknowledged 0 "$(r xpending clicks two | head -1)"
n=$((n + 1)); r del sink >/dev/null
two=("$h/clicks?group=both&claim=1s" --to "$h/sink" --at "$h/f$n" --until-end "${o[@]}")
"$WEIR" dedup --from "${two[0]}&consumer=a" "${two[@]:1}" 2>err.a & a=$!
"$WEIR" dedup --from "${two[0]}&consumer=b" "${two[@]:1}" 2>err.b & b=$!
wait $a; is both-a 0 $?; wait $b; is both-b 0 $?
"$tool" get "$h/sink?group=r" >got; once both got

# kills by the clock
RANDOM=7; n=$((n + 1)); r del sink >/dev/null
a=(dedup --from "$h/clicks?group=k" --to "$h/sink" --at "$h/f$n" --local-memory 64K --until-end "${o[@]}")
for _ in {1..6}; do
  "$WEIR" "${a[@]}" 2>err & pid=$!
  sleep 0.0$((RANDOM % 5))$((RANDOM % 10)); kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
done
run "${a[@]}"; is killed-code 0 $rc
"$tool" get "$h/sink?group=r" >got; same killed-same exact got

# the same from and to NATS
PATH=$PATH:/usr/sbin
if command -v nats-server >/dev/null && ! "$WEIR" dedup --from nats://127.0.0.1:1/x </dev/null 2>&1 | grep -q 'built without'; then
  redis=$port; free_port; nats=nats://127.0.0.1:$port
  printf 'listen: 127.0.0.1:%s\njetstream { store_dir: "%s/js" }\n' "$port" "$work" >n.conf
  nats-server -c n.conf >n.log 2>&1 & servers+=($!)
  until_true is_open "$port" || no nats-starts "$(tail -1 n.log)"
  port=$redis
  "$tool" stream "$nats" clicks clicks; "$tool" put "$nats/clicks" <events
  for place in after-send:40 before-settle:2 after-note:2 after-ticket:2 after-collect:3; do
    n=$((n + 1)); "$tool" stream "$nats" "s$n" "s$n"
    a=(dedup --from "$nats/clicks?group=g$n&ack-wait=400ms" --to "$nats/s$n" --at "$h/f$n" --until-end "${o[@]}")
    crash "$place" "${a[@]}"; is "nats-$place-reached" yes $crashed
    run "${a[@]}"; is "nats-$place-code" 0 $rc
    "$tool" get "$nats/s$n?group=r" >got; once "nats-$place" got
  done
else
  skip nats "nats-server or libnats is not installed"
fi

# and to Kafka's mock, whose groups take their time: at once
if ! "$WEIR" dedup --from kafka://127.0.0.1:1/x </dev/null 2>&1 | grep -q 'built without'; then
  mkfifo hold; "$tool" mock in:3 k1:2 k2:2 k3:2 <hold >addr 2>mock.log & servers+=($!)
  exec 7>hold
  until_true test -s addr || no mock-starts "$(tail -1 mock.log)"
  kafka=kafka://$(cat addr); "$tool" put "$kafka/in" <events
  echo session.timeout.ms=4000 >fast; echo heartbeat.interval.ms=100 >>fast
  one_kafka() { # NUMBER PLACE
    local a=(dedup --from "$kafka/in?group=g$1&config=fast" --to "$kafka/k$1" --at "$h/k$1" --until-end "${o[@]}")
    crash "$2" "${a[@]}"; echo $crashed >"reached$1"
    "$WEIR" "${a[@]}" 2>"err.k$1"; echo $? >"code$1"
  }
  one_kafka 1 after-note:2 & k1=$!; one_kafka 2 after-collect:2 & k2=$!; one_kafka 3 before-settle:2 & k3=$!
  wait $k1 $k2 $k3
  for i in 1 2 3; do
    is "kafka-$i-reached" yes "$(cat "reached$i")"; is "kafka-$i-code" 0 "$(cat "code$i")"
    "$tool" get "$kafka/k$i?group=r" >got$i & got[i]=$!
  done
  for i in 1 2 3; do wait "${got[i]}"; once "kafka-$i" "got$i"; done
  exec 7>&-
else
  skip kafka "librdkafka is not installed"
fi

# what cannot be
trouble_like output "dedup: --from with --at writes to a stream*" dedup --from "$h/clicks?group=x" --at "$h/x" -o file "${o[@]}"
trouble_like places "dedup: slices of places answer no batch a second time*" dedup --from "$h/clicks?group=x" --at "$h/y" --filter vertical:of=\(bloom:layout=classic\) --until-end "${o[@]}"
r set "z:run:x" 1 >/dev/null
run dedup --from "$h/clicks?group=x" --to "$h/sink" --at "$h/z" --until-end "${o[@]}"; is note-is-there 0 $rc
key=$(r --raw keys 'z:run:*consumer=*'); r set "$key" garbage >/dev/null
trouble_like note-damaged "dedup: the note '*' on the servers is not one of this version of weir" dedup --from "$h/clicks?group=x" --to "$h/sink" --at "$h/z" --until-end "${o[@]}"
r del "$key" >/dev/null; r lpush "$key" x >/dev/null
trouble_like note-type "dedup: *WRONGTYPE*" dedup --from "$h/clicks?group=x" --to "$h/sink" --at "$h/z" --until-end "${o[@]}"
finish
