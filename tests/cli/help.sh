#!/usr/bin/env bash
# Help, man pages, completions: made from one table, and they say the same.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

run --version; is version "weir $(sed -n 's/.*WEIR_VERSION_STRING "\(.*\)"/\1/p' "$root/include/weir.h")" "$(cat out)"
run help; is help-code 0 $rc; is help-first "Usage: weir [OPTIONS] COMMAND [ARGUMENTS]" "$(head -1 out)"
run; is no-command-code 2 $rc
run -h; cp out a; run help; same short-help a out

for c in dedup count pairs plan inspect merge lab help; do
  run $c -h; is "$c-h-code" 0 $rc
  lines=$(wc -l <out)
  if ((lines <= 24)); then ok "$c-h-one-screen"; else no "$c-h-one-screen" "$lines lines"; fi
  run $c --help; cp out a; run help $c; same "$c-help-same" a out
  is "$c-help-quiet" "" "$(cat err)"
done
for c in dedup count pairs plan inspect merge lab help filters weir; do
  run help $c; wide=$(grep -v '^        weir ' out | awk 'length > 80' | head -1)
  is "$c-80-columns" "" "$wide"
  run help --man $c; is "$c-man-code" 0 $rc; cp out page
  if command -v man >/dev/null; then
    MANWIDTH=80 man --warnings -l page >text 2>warnings; is "$c-man-warnings" "" "$(cat warnings)"
    grep -q NAME text && ok "$c-man-text" || no "$c-man-text" "no text"
  else
    skip "$c-man" "man is not installed"
  fi
done
# every option of --help is in the man page, the completions, and the parser knows it
run help dedup; cp out all
grep -oE '^ +(-., )?--[a-z-]+' all | grep -oE -- '--[a-z-]+' | sort -u >names
is options-listed 55 "$(wc -l <names)"
for shell in bash zsh fish; do
  run help --completion $shell; cp out "c.$shell"
  missing=; while read -r n; do grep -qE -- "(--|-l )${n#--}" "c.$shell" || missing+=" $n"; done <names
  is "$shell-has-all" "" "$missing"
  if command -v $shell >/dev/null; then $shell -n "c.$shell" && ok "$shell-syntax" || no "$shell-syntax" "see above"
  else skip "$shell-syntax" "$shell is not installed"; fi
done
complete_bash() { ( . ./c.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weir; echo "${COMPREPLY[*]}" ); }
is bash-commands "dedup" "$(complete_bash weir ded)"
is bash-options "--memory" "$(complete_bash weir dedup --mem)"
is bash-choices "seen" "$(complete_bash weir dedup --emit se)"
is bash-filters "stable" "$(complete_bash weir dedup --filter st)"
is bash-equals "json" "$(complete_bash weir dedup --stats = j)"
# a command that begins with a word of its own offers it, in every shell, then files
touch a-file
is bash-shells "bash zsh fish" "$(complete_bash weir help --completion '')"
is bash-shells-equals "fish" "$(complete_bash weir help --completion = f)"
is bash-topics "filters" "$(complete_bash weir help fi)"
is bash-help-options "--man" "$(complete_bash weir help --m)"
is bash-actions "list run report stream" "$(complete_bash weir lab '')"
is bash-action-late "run report" "$(complete_bash weir lab --full r)"
is bash-questions "self join search" "$(complete_bash weir pairs '')"
is bash-after-action a-file "$(complete_bash weir pairs self a-)"
is bash-action-value a-file "$(complete_bash weir pairs --save a-)"
is zsh-actions "'1:action:(list run report stream)' '1:action:(self join search)'" "$(grep -o "'1:action:.*'" c.zsh | sort | paste -sd ' ')"
is fish-actions 2 "$(grep -cE "and not __fish_seen_subcommand_from (list run report stream|self join search)' -f -a '(list|self)" c.fish)"
# weir(1) leads to the page of every command
run help weir; sed -n '/^SEE ALSO/,$p' out >also
sed -n '/^COMMANDS/,/^OPTIONS/s/^    \([a-z][a-z]*\) .*/weir-\1(1)/p' out | sort >commands
grep -o 'weir-[a-z]*(1)' also | sort >led; same see-also commands led
# the man pages in the tree are those that this program prints; REFRESH=1 rewrites them
for p in weir dedup count pairs plan inspect merge lab help filters sketches; do
  case $p in weir) f=weir.1;; filters|sketches) f=weir-$p.7;; *) f=weir-$p.1;; esac
  run help --man $p
  [[ -n ${REFRESH-} ]] && cp out "$root/docs/man/$f"
  if cmp -s out "$root/docs/man/$f"; then ok "man-$f-fresh"
  else no "man-$f-fresh" "docs/man/$f is out of date; run: REFRESH=1 WEIR=build/weir bash tests/cli/help.sh"; fi
done
trouble unknown-topic "help: unknown topic 'filtres'; did you mean 'filters'?" help filtres
trouble two-topics "help: one topic at a time, please" help dedup merge
finish
