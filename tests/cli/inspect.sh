#!/usr/bin/env bash
# weir inspect and weir merge.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
printf 'a\nb\na\n' >in; printf 'c\n' >in2
run dedup --memory 1M --seed 5 --audit=1/1 --state s.weir in
run inspect s.weir; is inspect-code 0 $rc
is inspect-first "s.weir: 3 parts, every byte checked" "$(head -1 out)"
for t in '^filter (' '  spec  *recent:memory=1M,fpr=0.0001%,seed=5,' '  offered  *3$' '  seen  *1 (33.33%)' 'nothing forgotten' '^audit (' '  false positives 0% (95% interval' "^note 'run' (" '  records  *3$' '  complete  *yes$'; do
  grep -q -- "$t" out && ok "inspect '$t'" || no "inspect '$t'" "not there"
done
run inspect --json s.weir
if command -v python3 >/dev/null; then
  python3 - <<'PY' >verdict 2>&1
import json
d = json.load(open("out"))
assert d["file"] == "s.weir"
f, a, n = d["parts"]
assert (f["kind"], f["filter"], f["offered"], f["seen"], f["overfull"]) == ("filter", "recent", 3, 1, False)
assert all(set(v) == {"value", "meaning"} for v in f["details"].values()) and f["details"]
assert a["kind"] == "audit" and a["report"]["firsts"] == 2 and a["report"]["repeats"] == 1
assert n["kind"] == "note" and n["values"]["records"] == "3" and n["values"]["format"] == "lines"
print("good")
PY
  is inspect-json good "$(cat verdict)"
else skip inspect-json "python3 is not installed"; fi
run inspect s.weir s.weir; is inspect-two 2 "$(grep -c 'every byte checked' out)"
trouble inspect-none "inspect: a snapshot is missing: weir inspect FILE" inspect
trouble inspect-missing "inspect: cannot open 'nothing': No such file or directory" inspect nothing
trouble inspect-other "inspect: 'in' is not a weir snapshot" inspect in
head -c 200 s.weir >cut; trouble_like inspect-cut "inspect: *'cut'*" inspect cut

# what is held is what was asked for, and at most 8K for the whole and for each slice or site
held() { # SPEC SITES
  rm -f h.weir; run dedup --memory 64K --fpr 1% --filter "$1" --state h.weir -q in; run inspect --json h.weir
  local bytes; bytes=$(grep -oE '"memory":[0-9]+' out | head -1 | cut -d: -f2)
  ((bytes <= 65536 + 8192 * ($2 + 1))) && ok "held $1" || no "held $1" "$bytes bytes"
}
for f in recent bloom stable reservoir counting spectral apbf qht window:length=1000 growing importance buffer vertical; do held $f 0; done
held 'horizontal:slices=8,of=(recent)' 8; held tree 3; held 'tree:levels=3,fanout=3' 13

# a summary of pairs
printf 'n,c,p\nann,x,1\nann,x,2\nbob,y,3\n' >t.csv
run pairs self --format csv --header -c n,c,p -s 2 --seed 5 --trim --save p.weir -q t.csv
run inspect p.weir; is pairs-code 0 $rc
for t in '^pairs (' '  spec  *pairs:columns=3,threshold=2,sample=100%,method=offline,.*seed=5,' '  records  *3$' 'agree in 2 or more of 3 values$' '  super-values  *4 for each record, all of them$' '  method  *offline' '  witnesses  *3 records' '  memory  *[0-9.]*M at most, and what does not fit on disk$' "^note 'fields' (" '  format  *csv$' '  header  *1$' '  trim  *1$' '  fields  *n,c,p$'; do
  grep -q -- "$t" out && ok "pairs '$t'" || no "pairs '$t'" "not there"
done
run pairs self --format csv --header -c n,c,p -s 2 --online=width=64,depth=3 --sample 50% --repeats 3 --save o.weir -q t.csv
run inspect o.weir
for t in '  super-values  *9 for each record, a sample of 50%$' '  method  *online: sketches of 64 counters in 3 rows$' '  repeats  *median of 3$'; do
  grep -q -- "$t" out && ok "pairs '$t'" || no "pairs '$t'" "not there"
done
run inspect --json p.weir
if command -v python3 >/dev/null; then
  is pairs-json "3 3 2 4 offline 0x0000000000000005 n,c,p" "$(python3 -c "
import json
p, n = json.load(open('out'))['parts']
print(p['records'], p['columns'], p['threshold'], p['per_record'], p['method'], p['seed'], n['values']['fields'])")"
else skip pairs-json "python3 is not installed"; fi

b=(--filter bloom --memory 64K --seed 5 -q)
run dedup "${b[@]}" --state a.weir in; run dedup "${b[@]}" --state b.weir in2
run merge -q -o both.weir a.weir b.weir; is merge-code 0 $rc; is merge-quiet "" "$(cat err)"
printf 'a\nc\nd\n' >next; gives merge-knows 'd\n' dedup --state both.weir next
run merge -o both2.weir a.weir b.weir
is merge-says "weir: merge: only filters were joined; audits, and how far a run had come, are left out of 'both2.weir'" "$(cat err)"
# how keys were made stays: what is joined answers no run that makes them otherwise
trouble merge-keeps-keys "dedup: the state file 'both2.weir' was made without --ignore-case; use the same options or another state file" dedup -i --state both2.weir next
trouble merge-keeps-key "dedup: the state file 'both2.weir' was made with --format lines, not csv; use the same options or another state file" dedup --format csv -k 1 --state both2.weir next
run merge -q -o both3.weir both2.weir b.weir; gives merge-again-knows 'd\n' dedup --state both3.weir next
run dedup "${b[@]}" -i --state folded.weir in
trouble merge-again-keys "merge: 'both2.weir' and 'folded.weir' do not have the same keys: made with --ignore-case 'no' and 'yes'" merge -q -o x.weir both2.weir folded.weir
run merge -q -o a.weir a.weir b.weir; is merge-onto-itself 0 $rc
gives merge-onto-itself-knows 'd\n' dedup --state a.weir next
run dedup --filter bloom --memory 64K --seed 6 --state other.weir in
trouble_like merge-other-seed "merge: 'b.weir' and 'other.weir': cannot merge*" merge -q -o x.weir b.weir other.weir
trouble_like merge-other-kind "merge: 'b.weir' and 's.weir': cannot merge a 'bloom' filter with a 'recent' filter; make both with the same options and the same --seed" merge -q -o x.weir b.weir s.weir
run dedup --filter stable --memory 64K --state s1.weir in; cp s1.weir s2.weir
trouble_like merge-unable "merge: 's1.weir' and 's2.weir': 'stable' filters cannot be merged: *" merge -q -o x.weir s1.weir s2.weir
[[ -e x.weir || -e x.weir.lock ]] && no merge-nothing-written "$(ls x.*)" || ok merge-nothing-written
trouble merge-no-output "merge: say where to write the result: weir merge -o OUT A B..." merge a.weir b.weir
trouble merge-one "merge: at least two snapshots are needed: weir merge -o OUT A B..." merge -o x a.weir
trouble merge-missing "merge: cannot open 'nothing': No such file or directory" merge -o x a.weir nothing
finish
