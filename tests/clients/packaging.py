#!/usr/bin/env python3
"""What `.packaging/` and `tot setup` give to clients, tried with the clients' own programs.

  packaging.py folder/of/binaries path/to/node_modules

Claude Code (npm `@anthropic-ai/claude-code`, without an account) must find no fault in the plugin, install it, and call
the server connected: added by hand, by `tot setup`, and by the plugin. The tool for MCP bundles (npm
`@anthropic-ai/mcpb`) must find no fault in the manifest and pack a bundle; the server in it must answer.

By hand, from the root of the project:

  cargo build
  mkdir -p target/ci/packaging && cp tests/clients/packaging/package*.json target/ci/packaging
  npm ci --ignore-scripts --prefix target/ci/packaging
  python3 tests/clients/packaging.py target/debug target/ci/packaging/node_modules
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "packaging.py", "version": "1"},
    },
}


class Place:
    """A home and a project of their own, with the binaries on the PATH."""

    def __init__(self, folder, binaries, modules):
        self.home = folder / "home"
        self.project = folder / "project"
        self.modules = modules
        for path in (self.home, self.project):
            path.mkdir(parents=True)
        self.environment = {
            "HOME": str(self.home),
            "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
            # Nothing here needs the network.
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def program(self, name):
        """Gives the path of a packaged program: of Claude Code itself, which its installer only links to."""
        packaged = [*self.modules.glob(f"@anthropic-ai/claude-code-*/{name}"), self.modules / ".bin" / name]
        return next((str(path) for path in packaged if path.exists()), name)

    def run(self, program, *arguments, stdin=""):
        """Runs a program, which must succeed; gives what it printed."""
        done = subprocess.run(
            [self.program(program), *map(str, arguments)],
            cwd=self.project,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
        )
        said = done.stdout + done.stderr
        if done.returncode != 0:
            sys.exit(f"FAIL {program} {' '.join(map(str, arguments))}: exit {done.returncode}\n{said}")
        return said

    def connected(self, server):
        """That Claude Code reaches the server of this name."""
        listed = self.run("claude", "mcp", "list")
        lines = [line for line in listed.splitlines() if line.startswith(f"{server}:")]
        if len(lines) != 1 or "Connected" not in lines[0]:
            sys.exit(f"FAIL claude mcp list does not say that {server} is connected:\n{listed}")


def main():
    binaries, modules = (Path(argument).resolve() for argument in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        count = iter(range(10))

        def place():
            return Place(scratch / str(next(count)), binaries, modules)

        added = place()
        added.run("claude", "mcp", "add", "tot", "--", "tot-mcp")
        added.connected("tot")
        print("claude mcp add: connected")

        # By the client's own command where it is on the PATH, otherwise into a new file.
        shelf = scratch / "shelf"
        shelf.mkdir()
        (shelf / "claude").symlink_to(added.program("claude"))
        for way, folders in {"the file": [], "claude mcp add": [shelf]}.items():
            written = place()
            written.environment["PATH"] = os.pathsep.join([*map(str, folders), written.environment["PATH"]])
            said = written.run("tot", "setup", "claude-code", "--write")
            assert not folders or "claude mcp add" in said, said
            # The consent that Claude Code asks of a person, once, for what a project brings along.
            consent = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["tot"]}
            state = {"projects": {str(written.project.resolve()): consent}}
            (written.home / ".claude.json").write_text(json.dumps(state))
            written.connected("tot")
            print(f"tot setup claude-code, by {way}: connected")

        # From a clone, as a user would: only what is committed counts.
        plugin = place()
        clone = scratch / "clone"
        plugin.run("git", "-c", f"safe.directory={PROJECT}/.git", "clone", "--quiet", PROJECT, clone)
        plugin.run("claude", "plugin", "validate", "--strict", clone)
        plugin.run("claude", "plugin", "validate", "--strict", clone / ".packaging" / "claude-code")
        plugin.run("claude", "plugin", "marketplace", "add", clone)
        plugin.run("claude", "plugin", "install", "tree-of-thoughts@tree-of-thoughts")
        plugin.connected("plugin:tree-of-thoughts:tot")
        print("plugin: valid, installed, connected")

        bundle = place()
        manifest = PROJECT / ".packaging" / "mcpb" / "manifest.json"
        bundle.run("mcpb", "validate", manifest)
        content = bundle.project / "content"
        (content / "server").mkdir(parents=True)
        shutil.copy(manifest, content)
        shutil.copy(binaries / "tot-mcp", content / "server")
        bundle.run("mcpb", "pack", content, bundle.project / "tot.mcpb")
        unpacked = bundle.project / "unpacked"
        bundle.run("mcpb", "unpack", bundle.project / "tot.mcpb", unpacked)
        start = json.loads((unpacked / "manifest.json").read_text())["server"]["mcp_config"]
        words = [start["command"], *start["args"]]
        names = {"${__dirname}": str(unpacked), "${user_config.root}": str(bundle.home / "investigations")}
        for name, value in names.items():
            words = [word.replace(name, value) for word in words]
        # What unpacks a bundle for a user sets this; the tool does not.
        os.chmod(words[0], 0o755)
        reply = json.loads(bundle.run(*words, stdin=json.dumps(INITIALIZE) + "\n").splitlines()[0])
        assert reply["result"]["serverInfo"]["name"], reply
        print("bundle: valid, packed, answers")


if __name__ == "__main__":
    main()
