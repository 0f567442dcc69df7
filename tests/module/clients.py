"""ioredis and node-redis against a server with the module."""
import os
import subprocess

from server import BUILD, SOURCE, Server, check, finish

server = Server()
run = subprocess.run(["node", SOURCE + "/tests/module/clients.js", str(server.port)], capture_output=True, text=True,
                     env=dict(os.environ, NODE_PATH=BUILD + "/node/node_modules"), timeout=60)
print(run.stdout, end="")
check("node ends well", run.returncode == 0, run.stderr[-500:])
check("the server lives", server.alive(), server.tail())
finish()
