#!/usr/bin/env bash
# Kafka as source and sink, against librdkafka's own mock of a cluster: it speaks the protocol of brokers,
# transactions and groups included, but keeps what an aborted transaction wrote.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_broker kafka://127.0.0.1:1/x kafka
mkfifo hold
"$tool" mock in:3 poison:1 out:2 sink1:2 sink2:2 sink3:2 sink4:2 sink5:2 sink6:2 both:2 nothing:0 <hold >addr 2>mock.log & servers+=($!)
exec 7>hold
until_true test -s addr || { no mock-starts "$(tail -1 mock.log)"; finish; }
h=kafka://$(cat addr)
"$tool" put "$h/in" <events

# in and out. The order is that of each partition; of an id's events any may be the first. Runs of groups wait three
# seconds for other members, so several go at once.
"$WEIR" dedup --from "$h/in?group=a" --until-end "${o[@]}" >out.a 2>err.a & a=$!
"$WEIR" dedup --from "$h/in?group=b" --to "$h/out" --until-end "${o[@]}" 2>err.b & b=$!
printf '{"id":1}\nno json\n' | "$tool" put "$h/poison"
"$WEIR" dedup --from "$h/poison?group=p" --until-end "${o[@]}" >out.p 2>err.p & p=$!
echo session.timeout.ms=4000 >fast; echo heartbeat.interval.ms=100 >>fast
# a crash between what was sent and the save, then one between the save and the commit
both=(dedup --from "$h/in?group=x&config=fast" --to "$h/both" --state x.weir --save-every 1ms --until-end "${o[@]}")
(crash after-flush:2 "${both[@]}"; echo $crashed >x1; crash before-settle:2 "${both[@]}"; echo $crashed >x2
  "$WEIR" "${both[@]}" 2>err.x; echo $? >x3) & x=$!
wait $a; is read-code 0 $?; once read out.a
wait $b; is to-code 0 $?
wait $p; is poison-code 2 $?; is poison-before '{"id":1}' "$(cat out.p)"
[[ $(cat err.p) == *"message 0-1 of 'kafka:"*"invalid JSON"* ]] && ok poison || no poison "$(cat err.p)"

# from a file: at every step
n=0
for place in after-send:400 before-flush:1 after-flush:2 before-save:2 after-save:1 after-save:2; do
  n=$((n + 1)); rm -f e.weir*
  a=(dedup --to "$h/sink$n" --state e.weir --resume --save-every 1ms "${o[@]}" events)
  crash "$place" "${a[@]}"; is "crash-$place-reached" yes $crashed
  run "${a[@]}"; is "crash-$place-code" 0 $rc
  "$tool" get "$h/sink$n?group=r$n" >got$n 2>err.got & got[n]=$!
done
"$tool" get "$h/out?group=ro" >out.b & b=$!
trouble no-topic "dedup: there is no topic 'nothing' at '$h/nothing?group=g'; make it first" dedup --from "$h/nothing?group=g" "${o[@]}"
trouble_like no-group "dedup: '*' does not say which consumer group it reads by; add ?group=NAME" dedup --from "$h/in" "${o[@]}"
echo group.id=other >bad; trouble "config-ours" "dedup: 'bad' sets group.id, which weir sets itself" dedup --from "$h/in?group=g&config=bad" "${o[@]}"
echo nonsense=1 >bad; trouble_like config-unknown "dedup: kafka: *nonsense*" dedup --to "$h/in?config=bad" "${o[@]}" events
trouble_like config-missing "dedup: cannot open 'nofile': *" dedup --to "$h/in?config=nofile" "${o[@]}" events
wait $b; once to out.b
for i in "${!got[@]}"; do wait "${got[i]}"; once "crash-file-$i" "got$i"; done
wait $x; is crash-both-first yes "$(cat x1)"; is crash-both-second yes "$(cat x2)"; is crash-both-code 0 "$(cat x3)"
"$tool" get "$h/both?group=rb" >got; once crash-both got
exec 7>&-
finish
