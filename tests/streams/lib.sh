#!/usr/bin/env bash
# lib.sh - what the tests of streams share: servers of their own, and crashes at chosen places.
#
# BUILD is the build folder: broker_tool and weir-crashing are there.
# shellcheck source=../cli/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
: "${BUILD:?say where the build is: BUILD=build}"
[[ $BUILD == /* ]] || BUILD=$root/$BUILD
tool=$BUILD/tests/broker_tool
crashing=$BUILD/tests/weir-crashing
servers=()
# shellcheck disable=SC2154
trap 'for p in "${servers[@]}"; do kill -9 "$p" 2>/dev/null; done; cd /; rm -rf "$work"' EXIT
unset WEIR_PASSWORD REDISCLI_AUTH

# Leave, with a line that says why, if something is not here.
need() { command -v "$1" >/dev/null || { skip "$2" "$1 is not installed"; finish; }; }
need_broker() {
  "$WEIR" dedup --from "$1" </dev/null 2>err >/dev/null
  if grep -q "built without" err; then skip "$2" "$(cut -c1-60 err)"; finish; fi
}

# A free port of this machine, into $port.
free_port() {
  for _ in {1..50}; do
    port=$((20000 + RANDOM % 20000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || return 0
  done
}
# until_true COMMAND...: try for ten seconds
until_true() { for _ in {1..200}; do "$@" >/dev/null 2>&1 && return 0; sleep 0.05; done; return 1; }
is_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# 3000 events of 700 ids, and what is to come of them.
awk 'BEGIN { s = 7; for (i = 0; i < 3000; i++) { s = (s * 1103515245 + 12345) % 2147483648; print "{\"id\":" int(s / 65536) % 700 ",\"n\":" i "}" } }' >events
awk -F'[:,]' '!s[$2]++' events >exact
ids() { grep -o '"id":[0-9]*' "$1" | sort; }
ids exact >exact.ids
o=(--format json --key .id --memory 64K -q)

# once CASE FILE: each id once, whichever of its events
once() {
  ids "$2" >got.ids
  if cmp -s exact.ids got.ids; then ok "$1"
  else no "$1" "$(wc -l <got.ids) of $(wc -l <exact.ids) ids, $(uniq -d got.ids | wc -l) of them twice"; fi
}

# crash PLACE:N ARGS...: weir dies there; $crashed says whether it came so far
crash() {
  local place=$1 code
  shift
  WEIR_CRASH=$place "$crashing" "$@" 2>crash.err </dev/null >>crash.out & wait $! 2>/dev/null
  code=$?
  crashed=no
  ((code == 137)) && crashed=yes
  ((code == 137 || code == 0)) || no "crash-$place" "exit $code: $(head -1 crash.err)"
}
places=(after-send:40 before-flush:3 after-flush:2 after-flush:3 before-save:3 after-save:3 before-settle:4 after-settle:2)
