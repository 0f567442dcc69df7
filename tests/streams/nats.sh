#!/usr/bin/env bash
# NATS JetStream as source and sink: a real server, crashes at every step.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin
need nats-server nats
need_broker nats://127.0.0.1:1/x nats
free_port
printf 'listen: 127.0.0.1:%s\njetstream { store_dir: "%s/js" }\n' "$port" "$work" >n.conf
nats-server -c n.conf >n.log 2>&1 & servers+=($!)
until_true is_open "$port" || { no nats-starts "$(tail -1 n.log)"; finish; }
h=nats://127.0.0.1:$port
for s in clicks live poison; do "$tool" stream "$h" $s $s || no nats-stream $s; done
"$tool" put "$h/clicks" <events

run dedup --from "$h/clicks?group=a" --until-end "${o[@]}"; is read-code 0 $rc; same read-same exact out
run dedup --from "$h/clicks?group=a" --until-end "${o[@]}"; is read-acknowledged 0 "$(wc -l <out)"
"$tool" stream "$h" clean 'clean.>'
run dedup --from "$h/clicks?group=b" --to "$h/clean.x" --until-end "${o[@]}"; is to-code 0 $rc
"$tool" get "$h/clean?group=r" >out; same to-same exact out

# crashes: each id once. What was not acknowledged comes again after the ack wait, out of order, so it may be another
# of the events with that id
n=0
for place in after-send:40 before-flush:2 after-flush:2 before-save:3 after-save:1 after-save:3 before-settle:4 after-settle:2; do
  n=$((n + 1)); rm -f c.weir*; "$tool" stream "$h" "s$n" "s$n"
  a=(dedup --from "$h/clicks?group=c$n&ack-wait=400ms" --to "$h/s$n" --state c.weir --save-every 1ms --until-end "${o[@]}")
  crash "$place" "${a[@]}"; is "crash-$place-reached" yes $crashed
  run "${a[@]}"; is "crash-$place-code" 0 $rc
  "$tool" get "$h/s$n?group=r" >got; once "crash-$place" got
done
# to a file
rm -f d.weir*
a=(dedup --from "$h/clicks?group=d&ack-wait=400ms" -o file --resume --state d.weir --save-every 1ms --until-end "${o[@]}")
crash after-save:1 "${a[@]}"; crash before-save:1 "${a[@]}"
run "${a[@]}"; is crash-file-code 0 $rc; once crash-file file
# from a file
for place in after-send:400 after-flush:2 after-save:1; do
  n=$((n + 1)); rm -f e.weir*; "$tool" stream "$h" "s$n" "s$n"
  a=(dedup --to "$h/s$n" --state e.weir --resume "${o[@]}" events)
  crash "$place" "${a[@]}"; is "crash-from-file-$place-reached" yes $crashed
  run "${a[@]}"; is "crash-from-file-$place-code" 0 $rc
  "$tool" get "$h/s$n?group=r" >got; same "crash-from-file-$place" exact got
done

# without a state the server drops what is sent again within its window for duplicates
"$tool" stream "$h" once once
a=(dedup --from "$h/clicks?group=w&ack-wait=400ms" --to "$h/once" --until-end "${o[@]}")
crash before-settle:1 "${a[@]}"; run "${a[@]}"
"$tool" get "$h/once?group=r" >got; is no-state-no-message-twice 0 "$(sort got | uniq -d | wc -l)"

# a killed consumer's messages come again
"$tool" hold "$h/clicks?group=t&ack-wait=300ms" 100 >held
run dedup --from "$h/clicks?group=t" --until-end "${o[@]}"; once claimed out

# poison, and a run that waits
printf '{"id":1}\nno json\n{"id":2}\n' | "$tool" put "$h/poison"
trouble_like poison "dedup: message 0-2 of '*': invalid JSON: *" dedup --from "$h/poison?group=p&ack-wait=300ms" --until-end "${o[@]}"
gives poison-drop '{"id":2}\n' dedup --from "$h/poison?group=p" --until-end --on-bad drop "${o[@]}"
"$WEIR" dedup --from "$h/live?group=l" "${o[@]}" --state l.weir >live & pid=$!
printf '{"id":1}\n{"id":1}\n' | "$tool" put "$h/live"; until_true test -s live; is follow '{"id":1}' "$(cat live)"
kill -TERM $pid; wait $pid; is term-code 143 $?
is term-saved 1 "$("$WEIR" inspect l.weir | awk '$1 == "held" { print $2 }')"

# what is wrong
trouble no-stream "dedup: there is no stream 'nothing' at '$h/nothing?group=g'; make it first" dedup --from "$h/nothing?group=g" "${o[@]}"
trouble no-subject "dedup: no stream at '$h/nothing' takes the subject 'nothing'; make one first" dedup --to "$h/nothing" "${o[@]}" events
trouble_like no-group "dedup: '*' does not say which durable consumer it reads by; add ?group=NAME" dedup --from "$h/clicks" "${o[@]}"
trouble_like nobody "dedup: cannot connect to 'nats://127.0.0.1:1/x?group=g': *" dedup --from "nats://127.0.0.1:1/x?group=g" "${o[@]}"
free_port; nats-server -a 127.0.0.1 -p "$port" --user u --pass sesame >plain.log 2>&1 & servers+=($!)
until_true is_open "$port"
trouble_like no-auth "dedup: cannot connect to *" dedup --from "nats://127.0.0.1:$port/x?group=g" "${o[@]}"
WEIR_PASSWORD=sesame trouble no-jetstream "dedup: the server of 'nats://u@127.0.0.1:$port/x?group=g' has no JetStream; start it with -js" dedup --from "nats://u@127.0.0.1:$port/x?group=g" "${o[@]}"
finish
