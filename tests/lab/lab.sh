#!/usr/bin/env bash
# weir lab: experiments with their verdicts, the cache, the page, bad input.
#
# The quick lab as a whole is run by make test and make lab-test, where the build is the plain
# one; builds with sanitizers and make check run a small part of it.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
plain=yes; case $WEIR in *asan*|*tsan*|*coverage*) plain=no;; esac
few=(thesis-3.1 thesis-3.2 rsbf-table-2)

run lab list; is list-code 0 $rc
is list-names "" "$(for n in thesis-3.1 thesis-3.6 rsbf-table-5 rsbf-fig-7 rsbf-theorem-5.1 ours-recent ours-audit; do grep -q "^$n " out || echo "$n"; done)"
# three columns: each begins at the same place in all rows
is list-aligned "1 1" "$(awk '{ match($0, /^[^ ]+ +/); second[RLENGTH]; rest = substr($0, RLENGTH + 1); match(rest, /^.*[^ ]  +/); third[RLENGTH] } END { print length(second), length(third) }' out)"
run lab list --json
if command -v python3 >/dev/null; then
  is list-json good "$(python3 -c 'import json; d = json.load(open("out")); assert all(set(e) == {"name", "source", "title", "claim", "quick", "full", "quick_seconds", "full_seconds"} for e in d); print("good")' 2>&1 | tail -1)"
else skip list-json "python3 is not installed"; fi

# --- running, the cache, going on ---------------------------------------------------------
run lab run --out r "${few[@]}" --seeds 2; is run-code 0 $rc
is run-verdicts "thesis-3.1 same shape, thesis-3.2 same shape, rsbf-table-2 same shape, " \
  "$(sed -E 's/^([^ ]+) +((same )?[a-z]+).*/\1 \2/' out | sed 's/$/,/' | tr '\n' ' ')"
for f in results thesis-3.1.csv thesis-3.1.md rsbf-table-2.csv; do
  [[ -s r/$f ]] && ok "run-writes-$f" || no "run-writes-$f" "not there"
done
is csv-head "panel,case,row,seeds,bits,fnr_sbf,fnr_sbf_ci,fnr_sbf_paper,fnr_rsbf,fnr_rsbf_ci,fnr_rsbf_paper,fpr_sbf,fpr_sbf_ci,fpr_sbf_paper,fpr_rsbf,fpr_rsbf_ci,fpr_rsbf_paper" "$(head -1 r/rsbf-table-2.csv)"
cp r/results before; cp r/rsbf-table-2.csv csv
run lab run --out r "${few[@]}" --seeds 2; same cache-not-run-again before r/results; same cache-same-table csv r/rsbf-table-2.csv
grep -q '60 of 60 units of work were there already' err && ok cache-said || no cache-said "$(tail -1 err)"
run lab run --out r "${few[@]}" --seeds 3; is seeds-added $(($(wc -l <before) + 30)) "$(wc -l <r/results)"
head -n 20 before >half; mkdir h; cp half h/results; printf '0123 thesis' >>h/results
run lab run --out h "${few[@]}" --seeds 2; is goes-on-code 0 $rc; same goes-on-same-table csv h/rsbf-table-2.csv
run lab run --out j1 rsbf-table-2 --seeds 2 --jobs 1; run lab run --out j4 rsbf-table-2 --seeds 2 --jobs 4
same jobs-do-not-matter j1/rsbf-table-2.csv j4/rsbf-table-2.csv
run lab run --out r rsbf-table-2 --seeds 2 --json
if command -v python3 >/dev/null; then
  is run-json good "$(python3 - 2>&1 <<'PY' | tail -1
import json
e = json.load(open("out"))["experiments"][0]
assert e["name"] == "rsbf-table-2" and e["verdict"] == "same shape" and e["numbers"] == 12
assert all(c["holds"] for c in e["claims"]) and len(e["rows"]) == 3
assert abs(e["rows"][0]["fnr_sbf"] - e["rows"][0]["fnr_sbf_paper"]) < 1
print("good")
PY
)"
else skip run-json "python3 is not installed"; fi

# --- interrupted ---------------------------------------------------------------------------
set -m # so that background jobs do not ignore SIGINT
"$WEIR" lab run --out i rsbf-table-3 --seeds 40 --jobs 1 >out 2>err & pid=$!
for _ in $(seq 300); do [[ -f i/results ]] && (($(wc -l <i/results) > 2)) && break; sleep 0.1; done
kill -INT $pid; wait $pid; rc=$?; is interrupt-code 130 $rc
grep -q "the same command goes on from there" err && ok interrupt-said || no interrupt-said "$(cat err)"
(($(wc -l <i/results) > 2)) && ok interrupt-kept || no interrupt-kept "nothing"
# as other commands do: a terminal that goes away is a request too
lines=$(wc -l <i/results)
"$WEIR" lab run --out i rsbf-table-3 --seeds 40 --jobs 1 >out 2>err & pid=$!
for _ in $(seq 300); do (($(wc -l <i/results) > lines)) && break; sleep 0.1; done
kill -HUP $pid; wait $pid; is hangup-code 129 $?
grep -q "the same command goes on from there" err && ok hangup-said || no hangup-said "$(cat err)"
set +m

# --- the page --------------------------------------------------------------------------------
run lab report --out r; is report-code 0 $rc; is report-says r/report.html "$(cat out)"
page=$PWD/r/report.html
is no-network "" "$(grep -oE '(src|href)="?(https?:)?//[^"]*' "$page" | head -1)"
for n in "${few[@]}"; do
  grep -q "<section id=\"$n\">" "$page" && ok "page-has-$n" || no "page-has-$n" "not there"
  grep -q "download=\"$n.csv\" href=\"data:text/csv;base64," "$page" && ok "page-data-$n" || no "page-data-$n" "no data"
done
if command -v python3 >/dev/null; then
  is page-data-same good "$(python3 - 2>&1 <<'PY' | tail -1
import base64, re
page = open("r/report.html").read()
data = re.search(r'download="rsbf-table-2.csv" href="data:text/csv;base64,([^"]*)"', page).group(1)
assert base64.b64decode(data) == open("r/rsbf-table-2.csv", "rb").read()
print("good")
PY
)"
fi
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if ! command -v gnuplot >/dev/null; then skip page-looked-at "gnuplot is not installed"
elif [[ -z $browser ]]; then skip page-looked-at "chromium is not installed"
else
  # what the page is once it stands: figures with a size, links that lead somewhere, nothing wider than a phone
  sed 's|</body>|<script>\
    const bad = [];\
    const figures = document.querySelectorAll("figure svg");\
    for (const f of figures) { const b = f.getBoundingClientRect(); if (b.width < 100 \|\| b.height < 100) bad.push("small figure"); }\
    for (const c of document.querySelectorAll("figcaption")) if (c.textContent.length < 10) bad.push("no caption");\
    for (const a of document.querySelectorAll("a")) { const h = a.getAttribute("href");\
      if (h[0] == "#" ? !document.getElementById(h.slice(1)) : !h.startsWith("data:")) bad.push("link " + h); }\
    const ids = [...document.querySelectorAll("[id]")].map(e => e.id);\
    if (new Set(ids).size != ids.length) bad.push("an id twice");\
    if (document.documentElement.scrollWidth > innerWidth) bad.push("wider than the window");\
    document.title = "looked: " + figures.length + " " + bad.join(", ");</script></body>|' "$page" >looked.html
  look() {
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --enable-logging=stderr \
      --window-size="$1" --dump-dom "file://$PWD/looked.html" 2>console | grep -o '<title>looked: [^<]*'
  }
  is page-desktop "<title>looked: 4 " "$(look 1200,900)"
  is page-console "" "$(grep -i 'CONSOLE' console | head -1)"
  is page-phone "<title>looked: 4 " "$(look 500,900)"
  sed -i 's/@media print/@media all/' looked.html # as on paper, 182 mm wide: nothing may scroll there
  sed -i 's/document.title = "looked: "/for (const t of document.querySelectorAll("table")) if (t.offsetWidth > 688) bad.push("cut off"); &/' looked.html
  is page-print "<title>looked: 4 " "$(look 688,900)"
fi

# --- without gnuplot ---------------------------------------------------------------------------
mkdir bin; for t in sh env; do ln -s "$(command -v $t)" bin/; done
PATH=$PWD/bin "$WEIR" lab run --out g thesis-3.1 >out 2>err; is no-gnuplot-code 0 $?
is no-gnuplot-said "weir: lab: gnuplot is not installed: tables are made, figures are not; install gnuplot-nox" "$(head -1 err)"
[[ -s g/thesis-3.1.csv && ! -e g/thesis-3.1-1.svg ]] && ok no-gnuplot-tables || no no-gnuplot-tables "$(ls g)"
PATH=$PWD/bin "$WEIR" lab report --out g >out 2>err; is no-gnuplot-report 0 $?

# --- streams -------------------------------------------------------------------------------------
gives stream-same "$("$WEIR" lab stream zipf:n=5,s=1,domain=100 --seed 3 | sed 's/$/\\n/' | tr -d '\n')" lab stream zipf:n=5,s=1,domain=100 --seed 3
run lab stream importance:n=1000,repeat=30% -n 7; is stream-count 7 "$(wc -l <out)"; is stream-tags 2 "$(awk '{print NF}' out | sort -u)"
run lab stream uniform:n=20K,universe=5K --truth
is stream-truth 0 "$(awk '(!seen[$2]++) != $1' out | wc -l)"
run lab stream uniform:n=20K,universe=1G --truth --memory 1M
is stream-truth-disk 0 "$(awk '(!seen[$2]++) != $1' out | wc -l)"
run lab stream records:n=256,d=4,share=50%; is stream-records-code 0 $rc; is stream-records 256 "$(awk 'NF == 4' out | wc -l)"
grep -q 'pairs that agree in exactly so many attributes: 1: ' err && ok stream-pairs || no stream-pairs "$(cat err)"
printf 'id,user\n1,Ann\n2,"ann "\n3,bob\n4\n5,ann\n' >file.csv
run lab stream file:path=file.csv --format csv --header --key user --trim --ignore-case --truth
is stream-keys "1 0 1 0" "$(cut -f1 out | xargs)"; is stream-keys-distinct 2 "$(cut -f2 out | sort -u | wc -l)"
run lab stream file:path=file.csv --format csv --header --key user; is stream-keys-plain 4 "$(sort -u out | wc -l)"
is stream-keys-lines "$("$WEIR" lab stream file:path=file.csv | xargs)" "$("$WEIR" lab stream file:path=file.csv --format lines | xargs)"
printf '{"u":"\\u0041"}\n{"u":"A"}\n{"v":1}\n' >file.json
run lab stream file:path=file.json --format json --key .u --truth; is stream-keys-json "1 0" "$(cut -f1 out | xargs)"
trouble stream-keys-missing "lab: record 5 of 'file.csv' (at byte 29): the row has too few columns for the key (byte 30)" \
  lab stream file:path=file.csv --format csv --header --key user --on-missing fail
trouble stream-keys-drawn "lab: the options of records and keys go with file:path=, not with 'zipf'" lab stream zipf:n=3,s=1,domain=3 --trim
trouble stream-keys-both "lab: columns= and split= do not go with the options of records and keys; take --format and --key" \
  lab stream file:path=file.csv,columns=2 --format csv
trouble stream-keys-run "lab: the options of records and keys go with 'weir lab stream file:path=FILE'" lab run --trim
exec 5< <(cat file.csv)
trouble stream-truth-pipe "lab: --truth reads the file twice; '/dev/fd/5' can be read only once" lab stream file:path=/dev/fd/5 --truth
trouble stream-truth-pipe-keys "lab: --truth reads the file twice; '/dev/fd/5' can be read only once" lab stream file:path=/dev/fd/5 --truth --format csv
exec 5< <(cat file.csv); run lab stream file:path=/dev/fd/5; is stream-pipe-records 6 "$(wc -l <out)"
trouble stream-columns "lab: the first line has no column 99, split by space; see columns= and split=" lab stream file:path=file.csv,columns=99,split=space
trouble stream-columns-also "lab: the first line has no column 98, split by tab; see columns= and split=" lab stream file:path=file.csv,columns=98+99
"$WEIR" lab stream uniform:n=1G,universe=1G 2>err | head -1 >/dev/null; is stream-pipe "" "$(cat err)"

# --- bad input --------------------------------------------------------------------------------------
trouble none "lab: say what to do: weir lab list, run, report or stream" lab
trouble unknown-action "lab: unknown action 'runn'; did you mean 'run'?" lab runn
trouble unknown-name "lab: no experiment 'rsbf-tabel-2'; did you mean 'rsbf-table-2'?" lab run --out x rsbf-tabel-2
trouble unknown-far "lab: no experiment 'qqqqqqqqqqqqqqq'; 'weir lab list' names them" lab run --out x qqqqqqqqqqqqqqq
trouble unknown-stream "lab: no stream is called 'unifrom'; 'weir help lab' names them" lab stream unifrom:n=3
trouble no-stream "lab: name one stream, such as 'weir lab stream zipf:n=1M,s=1,domain=100K'" lab stream
trouble bad-seeds "lab: --seeds 0 is not between 1 and 1000" lab run --seeds 0
trouble small-memory "lab: --memory 4K is less than 1M" lab stream uniform:n=1,universe=1 --memory 4K
trouble nothing-there "lab: 'nowhere' has no results; run 'weir lab run' first" lab report --out nowhere
trouble_like no-folder "lab: cannot make the folder '/proc/x': *" lab run --out /proc/x thesis-3.1
WEIR_DATA=/nosuch "$WEIR" lab run --out without rsbf-fig-2-4-6 --seeds 1 --jobs 1 >out 2>err; is no-data-code 2 $?
is no-data-said "weir: lab: nothing was run: the data is missing; WEIR_DATA names its folder" "$(tail -1 err)"
is no-folder-said "weir: lab: rsbf-fig-2-4-6, 2 KB, 2 KB is left out: there is no folder '/nosuch', which WEIR_DATA names for the real streams" "$(head -1 err)"

# a program that was moved finds what is above it, and knows nothing of where it was made
mkdir -p moved/bin; cp "$WEIR" "$(dirname "$WEIR")/weir-lab" moved/bin/
above=$PWD; until [[ -z $above || -e $above/shared/data ]]; do above=${above%/*}; done
if [[ -e $above/shared/data ]]; then skip moved "there is $above/shared/data"
else
  (unset WEIR_DATA; moved/bin/weir lab stream weblog >out 2>err); is moved-code 2 $?
  is moved-said "weir: lab: the real streams are not here; let WEIR_DATA name their folder" "$(cat err)"
  # in a plain checkout the bundled samples stand in for them, and what came of them says so
  mkdir -p moved/lab; cp -r "$root/lab/samples" moved/lab/
  is samples-found 12000 "$(unset WEIR_DATA; moved/bin/weir lab stream weblog | wc -l)"
  (unset WEIR_DATA; moved/bin/weir lab run --out s --jobs 1 slices-fig-12c ibf-table-1 >out 2>err); is samples-code 0 $?
  is samples-said "; on samples" "$(grep -o '^slices-fig-12c.*' out | grep -o '; on samples')"
  is samples-missing yes "$(grep -q 'ibf-table-1.* is left out: cannot read .*block_trace' err && echo yes)"
  (unset WEIR_DATA; moved/bin/weir lab run --out s --jobs 1 slices-fig-12c 2>&1 >out | tail -1 | grep -o '4 of 4 units') >said
  is samples-kept "4 of 4 units" "$(cat said)"
fi
mkdir -p moved/shared/data; printf 'a\nb\n' | zstd -q >moved/shared/data/repo_urls.txt.zst
is moved-finds 2 "$(unset WEIR_DATA; moved/bin/weir lab stream repo_urls | wc -l)"
if grep -q '^CMAKE_BUILD_TYPE:STRING=Release' "$(dirname "$WEIR")/CMakeCache.txt" 2>/dev/null; then
  for program in "$WEIR" "$(dirname "$WEIR")/weir-lab"; do
    grep -qaF "$root/" "$program" && no "no-path-inside-${program##*/}" "$(strings -a "$program" | grep -F "$root/" | head -1)" || ok "no-path-inside-${program##*/}"
  done
else skip no-path-inside "not a release build"; fi
[[ ! -e x ]] && ok nothing-made || no nothing-made "x"
mkdir old; echo "weir-lab 99" >old/results
trouble other-format "lab: 'old/results' was written by another version of weir lab; name another folder with --out, or remove it" lab run --out old thesis-3.1
printf 'weir-lab 2\n0123456789abcdef thesis-3.1 quick 0 1 0.5 1 3 1 2 3\n' >old/results
trouble other-code "lab: all 1 results in 'old' are of other versions of the code; run 'weir lab run' again" lab report --out old
run lab run --out old thesis-3.1; is other-code-run 0 $rc
is other-code-said "weir: lab: 1 results in 'old' are of other versions of the code and are not used" "$(head -1 err)"
"$WEIR" lab stream uniform:n=1T,universe=1T >big 2>err; is disk-code 2 $?; is disk-nothing 0 "$(wc -c <big)"
grep -q '^weir: lab: the stream needs up to .* of disk and .* are free' err && ok disk-said || no disk-said "$(cat err)"
if [[ $plain == yes ]]; then
  (ulimit -v 600000; "$WEIR" lab run --out m --full rsbf-table-5 >out 2>err); is memory-code 2 $?
  grep -q '^weir: lab: rsbf-table-5 needs .* of memory and .* can be had; run it without --full' err && ok memory-said || no memory-said "$(cat err)"
else skip memory "an address sanitizer takes all addresses"; fi

# --- a program of its own ------------------------------------------------------------------------------------
lab=$(dirname "$WEIR")/weir-lab
is own-version "weir-lab $("$WEIR" --version | cut -d' ' -f2)" "$("$lab" --version)"
is own-list "$("$WEIR" lab list)" "$("$lab" list)"
is own-help "$("$WEIR" lab --help)" "$("$WEIR" help lab)"
"$lab" runn >out 2>err; is own-trouble "2 weir: lab: unknown action 'runn'; did you mean 'run'?" "$? $(cat err)"
mkdir -p alone path; cp "$WEIR" alone/; ln -s "$lab" path/
(PATH=/nosuch alone/weir lab list) >out 2>err
is not-installed "2 weir: lab: the program weir-lab is neither beside weir nor on the PATH; 'make install' puts it beside weir" "$? $(cat err)"
is on-the-path "$("$lab" list)" "$(PATH=$PWD/path:$PATH alone/weir lab list)"
touch alone/weir-lab # there, but not to be run
(PATH=$PWD/path alone/weir lab list) >out 2>err; is not-a-program "2 weir: lab: cannot run weir-lab: Permission denied" "$? $(cat err)"
is not-linked 0 "$(grep -c 'rsbf-theorem-5.1' "$WEIR")"

# --- all of it, at the quick sizes -----------------------------------------------------------------------
if [[ -n ${WEIR_QUICK:-} ]]; then skip quick-lab "minutes: make lab-test runs it"
elif [[ $plain == yes ]]; then
  run lab run --out all -q; is quick-lab "0 " "$rc $(grep 'worse than expected' out)"
  run lab report --out all; is quick-report 0 $rc
else skip quick-lab "the plain build runs it"; fi
finish
