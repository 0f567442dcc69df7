#!/usr/bin/env bash
# Sketches on servers: several runs count together, state files are pushed and taken, a push counts once.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_module sketches
start --loadmodule "$module"
h=redis://127.0.0.1:$port

seq 20000 | awk '{print int(3000 * ((NR * 7919 % 20011) / 20011) ^ 3)}' >all
split -n l/3 -d all part.
# three runs after each other, then two at once: together as one
run count --seed 7 --top 5 --distinct --query 0 --csv all; cp out want
for p in part.0?; do run count --at "$h/words" --seed 7 --top 5 --distinct --query 0 --csv "$p"; is "one-by-one-$p" 0 $rc; done
same as-one-run out want
for p in part.0?; do "$WEIR" count --at "$h/at-once" --seed 7 --top 5 --distinct --query 0 -q "$p" >/dev/null 2>"err.$p" & pids+=($!); done
for p in "${pids[@]}"; do wait "$p"; is at-once-code 0 $?; done
run count --at "$h/at-once" --top 5 --distinct --query 0 --csv /dev/null; same at-once out want
# what was not given is taken from there, questions too
run count --at "$h/words" /dev/null; is asks-what-is-there 0 $rc
# pushed now and then, and running answers of all
awk 'NR <= 5000' all | "$WEIR" count --at "$h/often" --seed 7 --top 5 --distinct --query 0 --csv --save-every 1ms --every 1ms - >/dev/null; awk 'NR > 5000' all | "$WEIR" count --at "$h/often" --top 5 --distinct --query 0 --csv - >out; same often out want
# a window of time, weights, quantiles
seq 3000 | awk '{print "k" $1 % 9 "," 1 + $1 % 4 "," 1700000000 + $1}' >rows
o=(--format csv --key 1 --time 3 --time-format s --seed 7 --csv)
run count "${o[@]}" --window 1h --top 5 rows; cp out want.window
head -1500 rows >rows.0; tail -1500 rows >rows.1
for p in 0 1; do run count "${o[@]}" --window 1h --top 5 --at "$h/hour" rows.$p; done; same window out want.window
o=(--format csv --key 1 --weight 2 --seed 7 --csv --top 5)
run count "${o[@]}" rows; cp out want.weight
for p in 0 1; do run count "${o[@]}" --at "$h/weighed" rows.$p; done; same weights out want.weight

# merge: files to servers, servers to a file, and on
for p in 0 1 2; do run count --seed 7 --top 5 --distinct --query 0 --state s$p.weir part.0$p; done
run merge -o "$h/merged" s0.weir s1.weir; is push-code 0 $rc
run merge -o "$h/merged" s2.weir; is push-one-code 0 $rc
run count --at "$h/merged" --top 5 --distinct --query 0 --csv /dev/null; same pushed out want
run merge -o pulled.weir "$h/merged"; is pull-code 0 $rc
run count --state pulled.weir --top 5 --distinct --query 0 --csv /dev/null; same pulled out want
run merge -o both.weir "$h/merged" s0.weir; is pull-and-file 0 $rc
run inspect "$h/merged"; is inspect-code 0 $rc; is inspect-parts 2 "$(grep -c '^sketch' out)"
run inspect --json "$h/merged"; is inspect-total 20000 "$(grep -o '"total":[0-9]*' out | head -1 | cut -d: -f2)"

# a filter of the same name is shown, too
run dedup --at "$h/merged" --memory 1M part.00
run inspect "$h/merged"; is inspect-both "0 2 1" "$rc $(grep -c '^sketch' out) $(grep -c '^merged:{' out)"
run inspect --json "$h/merged"; is inspect-both-json 2 "$(wc -l <out)"

# what does not fit
trouble_like other-seed "count: '$h/words' does not fit: *" count --at "$h/words" --seed 8 --top 5 part.00
trouble_like other-key "count: '$h/words' was made *; use the same options or another name" count --at "$h/words" --format csv -k 2 part.00
trouble_like longer-list "count: '$h/words' keeps the * most frequent keys, so --top can be at most that" count --at "$h/words" --top 5000 part.00
trouble_like other-question "count: '$h/words' has no sketch *" count --at "$h/words" --quantiles 0.5 part.00
trouble merge-other "merge: 's0.weir' and '$h/weighed' do not have the same keys: made with --format 'lines' and 'csv'" merge -o "$h/weighed" s0.weir
trouble_like merge-itself "merge: '$h/merged' is one of those that are joined*" merge -o "$h/merged" "$h/merged"
trouble_like merge-nothing "merge: there are no sketches at '$h/none'*" merge -o x.weir "$h/none"
run dedup --filter bloom --seed 1 --state f.weir part.00; trouble_like merge-filter "merge: 'f.weir' holds a filter; *" merge -o "$h/f" f.weir
trouble with-group "count: --group does not go with --at; push each group's records apart" count --at "$h/g" --group 1 part.00
trouble with-state "count: --state does not go with --at: the sum stays on the servers" count --at "$h/g" --state x.weir part.00
trouble with-exact "count: --exact does not go with --at: others count there, too" count --at "$h/g" --exact part.00
trouble_like records "count: a window of records does not go with --at*" count --at "$h/g" --window 100 part.00
trouble_like no-sum "count: --at adds sketches up, and this one cannot be: *" count --at "$h/g" --sketch 'window:length=100,of=(countmin)' --query 5 part.00
trouble without-at "count: --password-file goes with --at URL" count --password-file x part.00
r set text:sketches hello >/dev/null; trouble_like text "count: the key 'text:sketches' on the server is not the description of sketches*" count --at "$h/text" part.00
r lpush list:sketches x >/dev/null; trouble_like wrong-type "count: *WRONGTYPE*" count --at "$h/list" part.00
r set words:sketch:keys x >/dev/null; trouble_like part-type "count: *WRONGTYPE*" count --at "$h/words" part.00
trouble_like nobody "count: *127.0.0.1:1*" count --at redis://127.0.0.1:1/x part.00

# a push whose connection is cut anywhere counts once: through a proxy that cuts after N bytes, both ways
cat >proxy.py <<'END'
import socket, sys, threading
to, up, down = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
left = [up, down]
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(8)
print(s.getsockname()[1], flush=True)
def pump(a, b, way):
    try:
        while data := a.recv(65536):
            if left[way] < len(data):
                cut, left[way] = left[way], 1 << 60
                b.sendall(data[:cut])
                break
            left[way] -= len(data)
            b.sendall(data)
    except OSError:
        pass
    for x in (a, b):
        try: x.shutdown(socket.SHUT_RDWR)
        except OSError: pass
while True:
    c, _ = s.accept()
    d = socket.create_connection(("127.0.0.1", to))
    threading.Thread(target=pump, args=(c, d, 0), daemon=True).start()
    threading.Thread(target=pump, args=(d, c, 1), daemon=True).start()
END
seq 100 >small; n=0
o=(--seed 7 --sketch countmin:width=16,depth=2 --query 5 --csv -q)
run count "${o[@]}" small; cp out want.small
for cut in "40 9999999" "200 9999999" "400 9999999" "600 9999999" "700 9999999" "800 9999999" "9999999 5" "9999999 10" "9999999 15" "9999999 20" "9999999 25" "9999999 200" "9999999 260"; do
  n=$((n + 1))
  # shellcheck disable=SC2086
  python3 proxy.py "$port" $cut >proxy.port & servers+=($!); disown $!
  until_true test -s proxy.port; through=redis://127.0.0.1:$(cat proxy.port)/cut$n; : >proxy.port
  "$WEIR" count --at "$through" "${o[@]}" small >/dev/null 2>err || no "cut-$n-code" "$(cat err)"
  run count --at "$h/cut$n" --query 5 --csv -q /dev/null
  cmp -s out want.small || no "cut-$n" "cut at $cut: $(tail -1 out) for $(tail -1 want.small)"
done
ok cuts
# servers that refuse
r config set maxmemory 1 >/dev/null; trouble_like oom "count: *OOM*" count --at "$h/oom" part.00; r config set maxmemory 0 >/dev/null
start; h=redis://127.0.0.1:$port
trouble_like no-module "count: *has not loaded weir's module*" count --at "$h/x" part.00
finish
