#!/usr/bin/env bash
# The example of docs/streams.md really runs, on a server of its own.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need redis-server example
need_broker redis://127.0.0.1:1/x example
free_port
redis-server --port "$port" --bind 127.0.0.1 --save '' --dir . >redis.log 2>&1 & servers+=($!)
until_true redis-cli -p "$port" ping || { no redis-starts "$(tail -1 redis.log)"; finish; }
mkdir bin; ln -s "$WEIR" bin/weir; PATH=$work/bin:$PATH
sed -n 's/^    \$ //p' "$root/docs/streams.md" | sed "s/redis-cli/redis-cli -p $port/; s/localhost/127.0.0.1:$port/g" >commands
wanted=$(sed -n '/^    \$ redis-cli xlen/{n;s/^ *//p}' "$root/docs/streams.md")
while read -r line; do
  bash -c "$line" >out 2>err </dev/null || no "${line:0:40}" "$(head -1 err)"
done <commands
is example "$wanted" "$(cat out)"; is example-lines 5 "$(wc -l <commands)"
finish
