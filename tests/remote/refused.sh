#!/usr/bin/env bash
# A server that refuses, at the beginning or in the middle of a run: one line, exit 2, and no record is lost.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_module refused
one_line() { is "$1-one-line" 1 "$(wc -l <err)"; }

# no module: what to do is said; slices of places do without
start
trouble_like no-module "dedup: *has not loaded weir's module*" dedup --at "$at/x" --memory 1M /dev/null; one_line no-module
seq 2000 >keys; cat keys keys >twice
run dedup --at "$at/v" --filter 'vertical:of=(bloom)' --memory 1M twice; is places-code 0 $rc; same places out keys

start --loadmodule "$module" --enable-protected-configs yes
# another type, another spec, another version
r lpush list:weir x >/dev/null; trouble_like wrong-type "dedup: *WRONGTYPE*take another*" dedup --at "$at/list" --memory 1M /dev/null
run dedup --at "$at/spec" --memory 1M --fpr 1% /dev/null; is spec-made 0 $rc
trouble_like wrong-spec "dedup: '*/spec' holds a filter with fpr=1%*, not 2%*" dedup --at "$at/spec" --memory 1M --fpr 2% /dev/null
trouble_like wrong-kind "dedup: '*/spec' holds *" dedup --at "$at/spec" --filter bloom --memory 1M /dev/null
r set later:weir 'weir 9
spec=recent' >/dev/null; trouble_like later-version "dedup: the key 'later:weir' on the server is not the description of a filter, or one of another version of weir*" dedup --at "$at/later" /dev/null
r set evil:weir $'weir 1\nspec=recent:memory=1M\e[2J,fpr=1%\ntags=a\n' >/dev/null; trouble_like no-terminal "inspect: the key 'evil:weir' on the server is not the description of a filter, *" inspect "$at/evil"
trouble_like inspect-type "inspect: *WRONGTYPE*" inspect "$at/list"

# addresses and options that say what is not so
trouble_like parameter "dedup: the address has 'group=', which is not known there; *" dedup --at "$at/spec?group=g" keys
trouble_like certificates "dedup: certificates are for TLS, which the address does not ask for: write rediss://*" dedup --at "$at/spec" --ca-file pass keys
trouble_like no-tls "dedup: no TLS connection to *does it speak TLS on this port?" dedup --at "rediss${at#redis}/spec" keys

# users: what the documentation grants is enough, for all that a run does
acl=$(sed -n 's/^ *`ACL SETUSER weir on >PASSWORD \([^`]*\)`.*$/\1/p' "$root/docs/cluster.md")
is acl-is-there 1 "$(grep -c '~clicks' <<<"$acl")"
# shellcheck disable=SC2086
r acl setuser weir on '>sesame' $acl >/dev/null
r acl setuser poor on '>sesame' '~other:*' +get +set >/dev/null
r config set requirepass secret >/dev/null
r() { redis-cli -p "$port" --no-auth-warning -a secret "$@"; }
echo sesame >pass; echo other >wrong
trouble_like noauth "dedup: *NOAUTH*--password-file*" dedup --at "$at/clicks" keys; one_line noauth
trouble_like wrongpass "dedup: *WRONGPASS*" dedup --at "redis://weir@127.0.0.1:$port/clicks" --password-file wrong keys
trouble_like noperm "dedup: *NOPERM*docs/cluster.md*" dedup --at "redis://poor@127.0.0.1:$port/clicks" --password-file pass keys; one_line noperm
run dedup --at "redis://weir@127.0.0.1:$port/clicks" --password-file pass --memory 1M --durability wait:1 -q twice; is acl-code 0 $rc; same acl out keys
WEIR_PASSWORD=sesame run dedup --at "redis://weir@127.0.0.1:$port/clicks" --memory 1M keys; is acl-environment 0 $rc; same acl-again out /dev/null
WEIR_PASSWORD=sesame run inspect "redis://weir@127.0.0.1:$port/clicks"; is acl-inspect 0 $rc
WEIR_PASSWORD=sesame run dedup --at "redis://weir@127.0.0.1:$port/clicks-places" --filter 'vertical:of=(bloom)' --memory 1M twice
[[ $rc == 2 && $(cat err) == *NOPERM* ]] && ok acl-other-name || no acl-other-name "$(cat err)"
r acl setuser rest on '>sesame' '~*' +@all >/dev/null
r config set requirepass '' >/dev/null; r() { redis-cli -p "$port" "$@"; }

# in the middle of a run: what is written stays, what is not known is written too, and after it is mended a second
# run brings what is missing. NAME SAYS HOW... (a command of redis-cli); MEND is the one that takes it back
middle() {
  local name=$1 says=$2 pid
  shift 2
  mkfifo "$name.fifo"
  "$WEIR" dedup --at "$at/$name" --memory 1M --lost-after 1s --on-lost stop "$name.fifo" >"$name.out" 2>err & pid=$!
  exec 8>"$name.fifo"
  seq 1000 >&8; until_true test -s "$name.out"
  "$@" >/dev/null
  seq 1001 2000 >&8 2>/dev/null; exec 8>&-
  wait $pid; is "$name-code" 2 $?
  # shellcheck disable=SC2053
  [[ $(cat err) == weir:\ dedup:\ $says ]] && ok "$name-says" || no "$name-says" "$(cat err)"
  one_line "$name"
  $mend >/dev/null
  seq 2000 >all; run dedup --at "$at/$name" all; is "$name-mended" 0 $rc
  sort -nu "$name.out" out >got; same "$name-nothing-lost" got all
}
mend="r config set maxmemory 0"; middle oom "*OOM*maxmemory*" r config set maxmemory 1
mend="r replicaof no one"; middle readonly "*READONLY*replica*" r replicaof 127.0.0.1 1
mkdir gone
bad_save() { r info persistence | grep -q rdb_last_bgsave_status:err; }
misconf() { r config set dir "$work/gone"; rmdir "$work/gone"; r config set save '3600 1'; r set any x; r bgsave; until_true bad_save; }
mend_save() { r config set save ''; r config set dir "$work"; }
mend=mend_save; middle misconf "*MISCONF*snapshots fail*" misconf
no_rights() { r acl setuser default -weir.addhash; }
mend="r acl setuser default +@all"; middle noperm-late "*NOPERM*" no_rights
wrong_type() { for k in $(r --raw keys 'wrongtype:{*'); do r del "$k"; r lpush "$k" x; done; }
mend_type() { for k in $(r --raw keys 'wrongtype:{*'); do r del "$k"; done; }
mend=mend_type; middle wrongtype "*WRONGTYPE*" wrong_type

# servers that are none, or are not ready
cat >fake.py <<'END'
import socket, sys
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(8)
print(s.getsockname()[1], flush=True)
says = sys.argv[1].encode().decode("unicode_escape").encode("latin1")
while True:
    c, _ = s.accept()
    try:
        while c.recv(65536):
            c.sendall(says)
            while "endless" in sys.argv: c.sendall(says * 1000)
            if "cut" in sys.argv: break
    except OSError:
        pass
    c.close()
END
fake() { python3 fake.py "$@" >fake.port 2>/dev/null & servers+=($!); disown $!; until_true test -s fake.port; port=$(cat fake.port); : >fake.port; at=redis://127.0.0.1:$port; }
fake 'HTTP/1.1 400 Bad Request\r\n\r\n'; trouble_like garbage "dedup: *no reply in the Redis protocol*" dedup --at "$at/x" keys; one_line garbage
fake '+xxxxxxxxxxxx' endless; trouble_like endless "dedup: *a reply of more than*" dedup --at "$at/x" keys; one_line endless
fake '$100\r\nhalf' cut; trouble_like cut "dedup: *was cut*" dedup --at "$at/x" keys; one_line cut
fake '*2\r\n$1\r\na\r\n:1\r\n'; trouble_like odd "dedup: *" dedup --at "$at/x" keys; one_line odd
fake '-LOADING Redis is loading the dataset in memory\r\n'; trouble_like loading "dedup: *LOADING*reading its data from the disk*" dedup --at "$at/x" keys; one_line loading
finish
