#!/bin/bash
# cluster.sh - a Redis Cluster of three primaries and three replicas on 127.0.0.1, for a test, the
# table of failures and the demonstration. To be sourced; it starts and ends only its own servers.
#
#   cluster_can          is there what it takes? If not, say what is missing
#   cluster_start DIR MODULE   start it; ports in ports[0..5], process ids in pids[0..5]
#   cluster_stop         end it
#   cluster_url NAME     the address of a filter on it
#
# With APART=yes server 1, a primary, is in a network namespace of its own, so that it can be cut off
# (cluster_cut, cluster_mend); that takes root.
# shellcheck disable=SC2034,SC2154
ports=() pids=() hosts=()

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

# What server 1 being apart takes: two addresses and a wire between them.
net_id=$((RANDOM % 200 + 20))
apart_name=weir-$$ wire_here=weir$$a wire_there=weir$$b
can_be_apart() { [ "$(id -u)" = 0 ] && command -v ip >/dev/null && ip netns add "$apart_name" 2>/dev/null && ip netns del "$apart_name"; }
go_apart() {
    ip netns add "$apart_name" && ip link add "$wire_here" type veth peer name "$wire_there" &&
        ip link set "$wire_there" netns "$apart_name" && ip addr add "10.231.$net_id.1/24" dev "$wire_here" &&
        ip link set "$wire_here" up && ip netns exec "$apart_name" ip link set lo up &&
        ip netns exec "$apart_name" ip addr add "10.231.$net_id.2/24" dev "$wire_there" &&
        ip netns exec "$apart_name" ip link set "$wire_there" up
}
# Packets go to an address that nobody has: nothing is answered, and nothing is refused.
cluster_cut() {
    ip neigh replace "10.231.$net_id.2" lladdr 02:00:00:00:00:01 dev "$wire_here" nud permanent
    ip netns exec "$apart_name" ip neigh replace "10.231.$net_id.1" lladdr 02:00:00:00:00:02 dev "$wire_there" nud permanent
}
cluster_mend() {
    ip neigh del "10.231.$net_id.2" dev "$wire_here"
    ip netns exec "$apart_name" ip neigh del "10.231.$net_id.1" dev "$wire_there"
}

# server I: start server I where its data is
server() {
    local dir=$cluster_dir/${ports[$1]} where=()
    [ "${APART:-no}" = yes ] && [ "$1" = 1 ] && where=(ip netns exec "$apart_name")
    mkdir -p "$dir"
    "${where[@]}" redis-server --port "${ports[$1]}" --bind "${hosts[$1]}" --protected-mode no --cluster-enabled yes \
        --cluster-require-full-coverage no \
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

ask() { redis-cli -h "${hosts[$1]}" -p "${ports[$1]}" "${@:2}" 2>/dev/null; }
is_up() { [ "$(ask "$1" ping)" = PONG ]; }
state_is_ok() { ask "$1" cluster info | grep -q 'cluster_state:ok'; }
has_link() { ask "$1" info replication | grep -qE 'master_link_status:up|role:master'; }
is_primary() { ask "$1" info replication | grep -q role:master; }
replicas_of() { ask "$1" info replication | sed -n 's/^connected_slaves:\([0-9]*\).*/\1/p'; }

cluster_start() {
    cluster_dir=$1 cluster_module=$(realpath "$2")
    local i all=()
    read -ra ports < <(free_ports)
    hosts=(127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1)
    if [ "${APART:-no}" = yes ]; then
        go_apart || { echo "no network namespace can be made"; return 1; }
        for i in {0..5}; do hosts[i]=10.231.$net_id.1; done
        hosts[1]=10.231.$net_id.2
    fi
    for i in {0..5}; do
        server "$i"
        all+=("${hosts[$i]}:${ports[$i]}")
    done
    for i in {0..5}; do until_true 10 is_up "$i" || { echo "a server does not start: $cluster_dir"; return 1; }; done
    redis-cli --cluster create "${all[@]}" --cluster-replicas 1 --cluster-yes >"$cluster_dir/create" 2>&1 ||
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
    if [ "${APART:-no}" = yes ]; then
        ip link del "$wire_here" 2>/dev/null
        ip netns del "$apart_name" 2>/dev/null
    fi
}

cluster_url() { echo "redis+cluster://${hosts[0]}:${ports[0]},${hosts[4]}:${ports[4]}/$1"; }
