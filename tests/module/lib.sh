# lib.sh - run_python FILE: a test of the module, where all that it needs is there. `--check` instead
# of a file: only see whether it is.
run_python() {
    local name=module/${1##*/}
    for program in "${SERVER:-redis-server}" "${CLIENT:-redis-cli}"; do
        command -v $program >/dev/null || { echo "ok $name # skip no $program here"; exit 0; }
    done
    /usr/bin/python3 -c 'import redis' 2>/dev/null || { echo "ok $name # skip no python3-redis here"; exit 0; }
    [ -e "${BUILD:-build}/module/weir.so" ] || { echo "not ok $name: no weir.so in ${BUILD:-build}/module"; exit 1; }
    if grep -q '^WEIR_SANITIZE:STRING=.' "${BUILD:-build}/CMakeCache.txt" 2>/dev/null; then
        echo "ok $name # skip a module with sanitizers needs a server with sanitizers"
        exit 0
    fi
    [ "$1" = --check ] || exec /usr/bin/python3 "$1"
}
