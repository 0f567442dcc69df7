"""docs/redis.md: its transcripts are run, its list of commands is made anew; `docs.py --write` renews both."""
import os
import re
import shlex
import shutil
import subprocess
import sys

from server import BUILD, CLIENT, SOURCE, WEIR, Server, check, equal, finish, work

PAGE, MARK = SOURCE + "/docs/redis.md", "<!-- made by `weir-module-doc --list` -->\n\n"
server = Server()
with open(PAGE) as f:
    head, listed = f.read().split(MARK)


with open(work + "/redis-cli", "w") as f:  # what stands in the page, for this server
    f.write(f'#!/bin/sh\nexec {shutil.which(CLIENT)} --raw -p {server.port} "$@"\n')
os.chmod(work + "/redis-cli", 0o755)
os.symlink(WEIR, work + "/weir")
env = dict(os.environ, PATH=work + ":" + os.environ["PATH"], LC_ALL="C")


def answer(line):
    """`> COMMAND` goes to the server, `$ LINE` to a shell."""
    command = ["bash", "-c", line[2:]] if line[0] == "$" else ["redis-cli", *shlex.split(line[2:])]
    out = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=work, env=env).stdout
    return out.rstrip("\n").split("\n") if out else []


write = sys.argv[1:] == ["--write"]
out, wanted, inside, ran = [], None, False, []


def numbers(lines):
    """Servers print a number with a fraction in one of two ways: 0.9 and 0.90000000000000002."""
    return [float(x) if "." in x and x.replace(".", "").isdigit() else x for x in lines]


def compare():
    global wanted
    if wanted is not None and not write:
        equal("docs/redis.md: " + wanted[0], numbers(wanted[2]), numbers(wanted[1]))
    wanted = None


for line in head.split("\n"):
    if line.startswith("```"):
        inside = not inside
    if inside and line[:2] in ("> ", "$ "):
        compare()
        wanted = [line[2:], answer(line), []]
        ran += re.findall(r"[A-Z]+\.[A-Z]+", line)
        out += [line] + wanted[1]
        continue
    if inside and wanted is not None:
        wanted[2].append(line)
        continue
    compare()
    out.append(line)
made = subprocess.run([BUILD + "/weir-module-doc", "--list"], capture_output=True, text=True).stdout
if write:
    with open(PAGE, "w") as f:
        f.write("\n".join(out) + MARK + made)
    finish()
check("docs/redis.md: examples", len(ran) > 30)
equal("docs/redis.md: the list of commands (renew it with tests/module/docs.py --write)", listed, made)
names = {line.split("`")[1].split()[0] for line in made.split("\n") if line.startswith("- **`")}
equal("docs/redis.md: every command has an example", sorted(names - set(ran)), [])
finish()
