#!/usr/bin/env python3
"""The official TypeScript clients against a real server, over stdio and over HTTP.

  node_clients.py path/to/tot-mcp path/to/node_modules

npm's `@modelcontextprotocol/sdk` (the 1.x line) and `@modelcontextprotocol/client` (2.x) list the tools and run the
investigation of `investigation.py`; this script looks at what they got, and at the git repository. How to install the
modules by hand stands at the head of inspector.py.
"""

import json
import os
import subprocess
import sys
import tempfile

import investigation

TOKEN = "a-token-for-the-node-clients"
CLIENTS = {
    # way: package, options of its client
    "sdk": ("@modelcontextprotocol/sdk", {}),
    "client": ("@modelcontextprotocol/client", {}),
    "client, 2026-07-28": ("@modelcontextprotocol/client", {"versionNegotiation": {"mode": "auto"}}),
}


def play(modules, way, asked):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node_clients.mjs")
    done = subprocess.run(
        [investigation.node(modules), script, modules, way.split(",")[0]],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{way}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return json.loads(done.stdout)


def check(played):
    """That the calls were answered as they must be; gives the repository and the last commit."""
    assert played["instructions"], "the server gives no instructions"
    investigation.check_tools(played["tools"])
    repository = head = None
    for call, result in zip(investigation.CALLS, played["results"], strict=True):
        reply = investigation.reply(result)
        investigation.check_reply(call, reply, result.get("isError"))
        repository, head = repository or reply["repository"], reply.get("commit") or head
    return repository, head


def main():
    server, modules = map(os.path.abspath, sys.argv[1:3])
    calls = investigation.CALLS
    for way, (package, options) in CLIENTS.items():
        with open(os.path.join(modules, package, "package.json"), encoding="utf-8") as file:
            version = json.load(file)["version"]
        for over in ["stdio", "HTTP"]:
            with tempfile.TemporaryDirectory() as home:
                asked = {"calls": calls, "options": options}
                if over == "stdio":
                    asked |= {"server": server, "root": os.path.join(home, "investigations")}
                    asked |= {"environment": investigation.environment(home)}
                    played = play(modules, way, asked)
                else:
                    with investigation.http_server(server, home, TOKEN) as url:
                        played = play(modules, way, asked | {"url": url, "token": TOKEN})
                repository, head = check(played)
                commits = investigation.check_repository(repository, home, head)
            print(
                f"PASS {package} {version} over {over}, protocol {played['protocol']}: "
                f"{len(calls)} calls, {commits} commits"
            )


if __name__ == "__main__":
    main()
