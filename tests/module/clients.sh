#!/bin/bash
# ioredis and node-redis, from npm into the build folder, speak to the module as to RedisBloom.
cd "$(dirname "$0")" && BUILD=${BUILD:-$PWD/../../build} && export BUILD && . ./lib.sh
BUILD=$(realpath "$BUILD") && export BUILD
for program in node npm; do
    command -v $program >/dev/null || { echo "ok module/clients # skip no $program here"; exit 0; }
done
mkdir -p "$BUILD/node" && cd "$BUILD/node" || exit 1
if [ ! -d node_modules/ioredis ] || [ ! -d node_modules/redis ] || [ ! -d node_modules/redis5 ]; then
    timeout 60 npm install --silent --no-audit --no-fund --fetch-retries=0 ioredis@5 redis@4 redis5@npm:redis@5 >npm.log 2>&1 ||
        { echo "ok module/clients # skip npm cannot install ioredis and redis"; exit 0; }
fi
cd "$OLDPWD" && run_python clients.py
