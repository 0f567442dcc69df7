"""docs/redis.md: its transcripts are run, its list of commands is made anew; `docs.py --write` renews both."""
import shlex
import subprocess
import sys

from server import BUILD, CLIENT, SOURCE, Server, check, equal, finish

PAGE, MARK = SOURCE + "/docs/redis.md", "<!-- made by `weir-module-doc --list` -->\n\n"
server = Server()
with open(PAGE) as f:
    head, listed = f.read().split(MARK)


def answer(line):
    return subprocess.run([CLIENT, "--raw", "-p", str(server.port), *shlex.split(line)],
                          capture_output=True, text=True, errors="replace").stdout.rstrip("\n").split("\n")


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
    if inside and line.startswith("> "):
        compare()
        wanted = [line[2:], answer(line[2:]), []]
        ran.append(line[2:].split()[0])
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
binary = {"WEIR.INFO", "WEIR.EXPORT", "WEIR.IMPORT", "WEIR.ABSORB", "BF.SCANDUMP", "BF.LOADCHUNK"}  # bytes, or drawn by chance: other tests run them
names = {line.split("`")[1].split()[0] for line in made.split("\n") if line.startswith("- **`")}
equal("docs/redis.md: every command has an example", sorted(names - set(ran) - binary), [])
finish()
