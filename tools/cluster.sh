#!/bin/bash
# cluster.sh - a Redis Cluster of three primaries and three replicas on 127.0.0.1, for a test, the
# table of failures and the demonstration. To be sourced; it starts and ends only its own servers.
#
#   cluster_can          is there what it takes? If not, say what is missing
#   cluster_start DIR MODULE   start it; ports in ports[0..5], process ids in pids[0..5]
#   cluster_stop         end it
#   cluster_url NAME     the address of a filter on it
# shellcheck disable=SC2034,SC2154
ports=() pids=()

cluster_can() {
    local program
    for program in redis-server redis-cli python3; do
        command -v $program >/dev/null || { echo "$program is not installed"; return 1; }
    done
    [ -r "$1" ] || { echo "there is no module at '$1'; build it first"; return 1; }
}

# Six ports whose number for the cluster's own talk, 10,000 higher, is free too.
free_ports() {
    python3 - <<'END'
import os, socket
found, at = [], 12000 + os.getpid() * 13 % 10000
while len(found) < 6:
    try:
        for port in (at, at + 10000):
            with socket.socket() as s:
                s.bind(("127.0.0.1", port))
        found.append(at)
    except OSError:
        pass
    at += 1
print(*found)
END
}

# server I: start server I where its data is
server() {
    local dir=$cluster_dir/${ports[$1]}
    mkdir -p "$dir"
    redis-server --port "${ports[$1]}" --bind 127.0.0.1 --cluster-enabled yes \
        --cluster-node-timeout "${NODE_TIMEOUT:-1000}" --cluster-config-file nodes.conf --save "" \
        --appendonly "${APPENDONLY:-no}" --repl-diskless-sync-delay 0 --dir "$dir" --loadmodule "$cluster_module" \
        --logfile log >/dev/null 2>&1 &
    pids[$1]=$!
    disown $!
}

# until_true SECONDS COMMAND...
until_true() {
    local left=$(($1 * 20))
    shift
    until "$@" >/dev/null 2>&1; do
        ((left-- > 0)) || return 1
        sleep 0.05
    done
}

ask() { redis-cli -p "${ports[$1]}" "${@:2}" 2>/dev/null; }
is_up() { [ "$(ask "$1" ping)" = PONG ]; }
state_is_ok() { ask "$1" cluster info | grep -q 'cluster_state:ok'; }
has_link() { ask "$1" info replication | grep -qE 'master_link_status:up|role:master'; }
is_primary() { ask "$1" info replication | grep -q role:master; }
replicas_of() { ask "$1" info replication | sed -n 's/^connected_slaves:\([0-9]*\).*/\1/p'; }

cluster_start() {
    cluster_dir=$1 cluster_module=$(realpath "$2")
    local i hosts=()
    read -ra ports < <(free_ports)
    for i in {0..5}; do
        server "$i"
        hosts+=("127.0.0.1:${ports[$i]}")
    done
    for i in {0..5}; do until_true 10 is_up "$i" || { echo "a server does not start: $cluster_dir"; return 1; }; done
    redis-cli --cluster create "${hosts[@]}" --cluster-replicas 1 --cluster-yes >"$cluster_dir/create" 2>&1 ||
        { tail -3 "$cluster_dir/create"; return 1; }
    for i in {0..5}; do until_true 10 state_is_ok "$i" && until_true 10 has_link "$i"; done
}

cluster_stop() {
    local pid
    for pid in "${pids[@]}"; do
        kill -CONT "$pid" 2>/dev/null
        kill -9 "$pid" 2>/dev/null
    done
    pids=()
}

cluster_url() { echo "redis+cluster://127.0.0.1:${ports[0]},127.0.0.1:${ports[4]}/$1"; }
