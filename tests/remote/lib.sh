#!/usr/bin/env bash
# lib.sh - what the tests with one server share: a server of their own, on a port that the system gave.
# shellcheck source=../cli/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
build=${BUILD:-build}; [[ $build == /* ]] || build=$root/$build
module=${WEIR_MODULE:-$build/module/weir.so}
# need_module NAME: leave, with a line that says why, unless there is what a server with the module takes
need_module() {
  local p
  if [[ -z ${WEIR_MODULE-} ]] && grep -q '^WEIR_SANITIZE:STRING=.' "$build/CMakeCache.txt" 2>/dev/null; then skip "$1" "a module with sanitizers needs a server with sanitizers"; finish; exit; fi
  for p in redis-server redis-cli python3; do command -v $p >/dev/null || { skip "$1" "$p is not installed"; finish; exit; }; done
  [[ -r $module ]] || { skip "$1" "there is no module at $module"; finish; exit; }
  if ! "$WEIR" dedup --at redis://127.0.0.1:1 </dev/null 2>&1 | grep -q 'no connection'; then skip "$1" "built without hiredis"; finish; exit; fi
}
unset WEIR_PASSWORD REDISCLI_AUTH
servers=()
# shellcheck disable=SC2154
trap 'for p in "${servers[@]}"; do kill -9 "$p" 2>/dev/null; done; cd /; rm -rf "$work"' EXIT
free_port() { port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'); }
until_true() { for _ in {1..200}; do "$@" >/dev/null 2>&1 && return 0; sleep 0.05; done; return 1; }
r() { redis-cli -p "$port" "$@"; }
start() { # MORE...: a server of its own in a folder of its own
  free_port; data=$work/data$port; mkdir "$data"
  redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$data" --logfile log "$@" >/dev/null 2>&1 & servers+=($!); disown $!
  until_true r ping || no starts "$(tail -1 "$data/log")"
  at=redis://127.0.0.1:$port
}
