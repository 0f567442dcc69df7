# redis-here.sh - a Redis server with the module, for tools/demo-redis and bench/redis, which source this.
#
#   serve MODULE   starts it in a new folder $work, on a free port $port of 127.0.0.1, as process
#                  $server; both go when the script ends
#   cli ARGUMENTS  redis-cli at that port

cli() { redis-cli -p "$port" "$@"; }

serve() {
    work=$(mktemp -d) server=""
    trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true; rm -rf "$work"' EXIT
    for _ in 1 2 3 4 5; do # another process may have the port
        port=$((20000 + RANDOM % 12000))
        redis-server --port $port --bind 127.0.0.1 --save '' --dir "$work" --loadmodule "$1" >"$work/log" 2>&1 &
        server=$!
        for _ in $(seq 200); do
            kill -0 $server 2>/dev/null || break
            cli info server 2>/dev/null | grep -q "^process_id:$server" && return
            sleep 0.05
        done
        kill $server 2>/dev/null || true
        wait $server || true
    done
    tail -n 5 "$work/log" >&2
    exit 1
}
