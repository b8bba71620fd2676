#!/usr/bin/env python3
"""The inspector's command line (npm `@modelcontextprotocol/inspector`) against a real server over stdio.

  inspector.py path/to/tot-mcp path/to/node_modules

Lists the tools with `--strict`, which must find no error in their schemas (warnings are shown); runs the investigation
of `investigation.py`, a new inspector and a new server for each call; reads resources and prompts; and looks at its git
repository. All of it twice:
by `initialize`, and by `server/discover` (2026-07-28).

By hand, from the root of the project (the inspector needs Node 22, which package.json brings along):

  cargo build
  mkdir -p target/ci/node && cp tests/clients/package*.json target/ci/node
  npm ci --ignore-scripts --prefix target/ci/node
  python3 tests/clients/inspector.py target/debug/tot-mcp target/ci/node/node_modules
"""

import json
import os
import subprocess
import sys
import tempfile

import investigation

# How the inspector says that a tool's result has `isError`.
TOOL_ERROR = 5


class Inspector:
    def __init__(self, server, modules, home, era):
        package = os.path.join(modules, "@modelcontextprotocol", "inspector")
        launcher = os.path.join(package, "clients", "launcher", "build", "index.js")
        self.command = [investigation.node(modules), launcher, "--cli", server, "--root", os.path.join(home, "investigations")]
        self.options = ["--format", "json", "--protocol-era", era]
        # It keeps files of its own in HOME, and gives the server this environment.
        self.environment = investigation.environment(home)

    def run(self, *options):
        """Runs it; gives its exit status and the result, and what it said beside it."""
        done = subprocess.run(
            [*self.command, *self.options, *options],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        try:
            return done.returncode, json.loads(done.stdout)["result"], done.stderr
        except (ValueError, KeyError):
            sys.exit(f"FAIL {options}: exit {done.returncode}\n{done.stdout}{done.stderr}")

    def tools(self):
        status, result, said = self.run("--method", "tools/list", "--strict")
        assert status == 0, f"--strict ends with {status}: {said}"
        # A warning is no failure, but it should be seen.
        told = " ".join(line.strip() for line in said.splitlines() if line.startswith(("Warning: ", "  Path: ")))
        return result["tools"], told

    def call(self, tool, arguments):
        arguments = json.dumps(arguments)
        status, result, _ = self.run(
            "--method", "tools/call", "--tool-name", tool, "--tool-args-json", arguments
        )
        assert status in (0, TOOL_ERROR), f"{tool}: exit {status}, {result}"
        assert (status == TOOL_ERROR) == bool(result.get("isError")), f"{tool}: exit {status}, {result}"
        return result

    def look_around(self, session):
        """Resources and prompts; it has no command for completions."""
        _, listed, _ = self.run("--method", "resources/list")
        assert f"tot://{session}" in [resource["uri"] for resource in listed["resources"]], listed
        _, listed, _ = self.run("--method", "resources/templates/list")
        assert len(listed["resourceTemplates"]) == 5, listed
        for uri, mime, part in investigation.resources(session):
            _, read, _ = self.run("--method", "resources/read", "--uri", uri)
            content = read["contents"][0]
            assert content["mimeType"] == mime and part in content["text"], f"{uri}: {content}"
        for name, arguments, part in investigation.prompts(session):
            pairs = [f"{key}={value}" for key, value in arguments.items()]
            _, prompt, _ = self.run("--method", "prompts/get", "--prompt-name", name, "--prompt-args", *pairs)
            assert part in prompt["messages"][0]["content"]["text"], f"{name}: {prompt}"


def main():
    server, modules = map(os.path.abspath, sys.argv[1:3])
    told = ""
    for era in ["legacy", "modern"]:
        with tempfile.TemporaryDirectory() as home:
            inspector = Inspector(server, modules, home, era)
            tools, told = inspector.tools()
            investigation.check_tools(tools)
            session = repository = head = None
            for call in investigation.CALLS:
                result = inspector.call(call["tool"], investigation.arguments_of(call, session))
                reply = investigation.reply(result)
                investigation.check_reply(call, reply, result.get("isError"))
                session, repository = session or reply["sessionId"], repository or reply["repository"]
                head = reply.get("commit") or head
            inspector.look_around(session)
            commits = investigation.check_repository(repository, home, head)
        calls = len(investigation.CALLS)
        print(f"PASS inspector, {era} protocol: tools/list --strict, {calls} calls, {commits} commits")
    if told:
        print(f"--strict finds no error; it says: {told}")


if __name__ == "__main__":
    main()
