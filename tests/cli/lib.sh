#!/usr/bin/env bash
# lib.sh - what the tests of the command share.
#
# Each script is run as  WEIR=/path/to/weir bash tests/cli/NAME.sh  and works in
# a directory of its own. It prints a line `ok CASE` or `not ok CASE: why` for
# each case and exits non-zero if any failed.

set -u
: "${WEIR:?say which weir to test: WEIR=build/weir bash $0}"
WEIR=$(realpath "$WEIR")
[[ -x $WEIR ]] || { echo "not ok $0: $WEIR is no program"; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/weir-cli.XXXXXX")
failures=0
trap 'cd /; rm -rf "$work"' EXIT
cd "$work" || exit 2
export LC_ALL=C

ok() { printf 'ok %s\n' "$1"; }
no() { printf 'not ok %s: %s\n' "$1" "$2"; failures=$((failures + 1)); }
skip() { printf 'ok %s # skip: %s\n' "$1" "$2"; }

# Run weir; its output is in the files out and err, its exit code in $rc.
run() { "$WEIR" "$@" >out 2>err </dev/null; rc=$?; }

# is CASE WANTED GOT
is() {
  if [[ "$2" == "$3" ]]; then ok "$1"; else no "$1" "wanted '$2', got '$3'"; fi
}

# same CASE FILE FILE
same() {
  if cmp -s "$2" "$3"; then ok "$1"; else no "$1" "$(cmp "$2" "$3" 2>&1 | head -1)"; fi
}

# gives CASE EXPECTED ARGS...: exit 0, this on standard output, nothing on standard error
gives() {
  local name=$1 want=$2
  shift 2
  run "$@"
  printf '%b' "$want" >want
  if ((rc != 0)); then no "$name" "exit $rc: $(head -1 err)"
  elif [[ -s err ]]; then no "$name" "said '$(head -1 err)'"
  elif cmp -s want out; then ok "$name"
  else no "$name" "got '$(head -c 300 out | tr '\n\0' '|@')'"
  fi
}

# trouble CASE MESSAGE ARGS...: exit 2 and exactly this line on standard error
trouble() {
  local name=$1 want=$2
  shift 2
  run "$@"
  if ((rc != 2)); then no "$name" "exit $rc, not 2; said '$(head -1 err)'"
  elif [[ "$(cat err)" == "weir: $want" ]]; then ok "$name"
  else no "$name" "said '$(cat err)'"
  fi
}

# trouble_like CASE PATTERN ARGS...: exit 2 and one line that matches a glob
trouble_like() {
  local name=$1 want=$2
  shift 2
  run "$@"
  # shellcheck disable=SC2053
  if ((rc != 2)); then no "$name" "exit $rc, not 2; said '$(head -1 err)'"
  elif (($(wc -l <err) != 1)); then no "$name" "$(wc -l <err) lines, not one: $(cat err)"
  elif [[ "$(cat err)" == weir:\ $want ]]; then ok "$name"
  else no "$name" "said '$(cat err)'"
  fi
}

# Nothing but the named files is left in a directory.
only_files() {
  local name=$1 dir=$2
  shift 2
  is "$name" "$(printf '%s\n' "$@" | sort | tr '\n' ' ')" "$(ls -A "$dir" | sort | tr '\n' ' ')"
}

finish() { ((failures == 0)); exit $?; }
