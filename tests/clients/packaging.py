#!/usr/bin/env python3
"""What `.packaging/` and `tot setup` give to clients, tried with the clients' own programs.

  packaging.py folder/of/binaries path/to/node_modules

`.packaging/pack` packs the binaries as for a release (with maturin, from PyPI). The wheel and the npm packages must install
without a network where there is only Python or only Node, and lead to the demo's site and to a server that answers: by its
name, and by `uvx` (from PyPI's uv) or `npx`, as `tot setup --by` writes it. The tool for MCP bundles (npm `@anthropic-ai/mcpb`)
must find no fault in the manifest and unpack the bundle; the server in it must answer.

Claude Code (npm `@anthropic-ai/claude-code`, without an account) must find no fault in the plugins, install one, and call
the server connected: added by hand, by `tot setup`, and by the plugin.

By hand, from the root of the project:

  cargo build
  python3 -m venv target/ci/venv && target/ci/venv/bin/pip install -r tests/clients/requirements.txt
  mkdir -p target/ci/packaging && cp tests/clients/packaging/package*.json target/ci/packaging
  npm ci --ignore-scripts --prefix target/ci/packaging
  target/ci/venv/bin/python tests/clients/packaging.py target/debug target/ci/packaging/node_modules
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
# Programs from PyPI, beside the Python that runs this.
TOOLS = Path(sys.executable).parent
PYTHON = Path(sys.base_prefix) / "bin" / "python3"
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
            [shutil.which(self.program(program), path=self.environment["PATH"]), *map(str, arguments)],
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

    def only(self, *programs, before=()):
        """Leaves nothing on the PATH but these programs, after the folders in `before`."""
        shelf = self.home / "bin"
        shelf.mkdir()
        for program in programs:
            program = Path(shutil.which(program) or TOOLS / program)
            (shelf / program.name).symlink_to(program)
        self.environment["PATH"] = os.pathsep.join(map(str, [*before, shelf]))

    def answers(self, *words):
        """That these words start the server."""
        reply = json.loads(self.run(*words, stdin=json.dumps(INITIALIZE) + "\n").splitlines()[0])
        assert reply["result"]["serverInfo"]["name"] == "tot-mcp", reply

    def in_a_minute(self, fetcher, fetch, *install):
        """From the files of a release to the demo's site and an answer; then by the commands that `tot setup` writes."""
        begin = time.monotonic()
        for words in install:
            self.run(*words)
        self.run("tot", "demo", "demo")
        assert (self.project / "demo" / "site" / "index.html").exists()
        self.answers("tot-mcp")
        seconds = time.monotonic() - begin
        self.run("tot", "setup", "cursor", "--write", "--by", fetcher)
        written = json.loads((self.project / ".cursor" / "mcp.json").read_text())["mcpServers"]["tot"]
        assert written["command"] == fetcher, written
        self.answers(fetcher, *written["args"])
        readme = (PROJECT / "README.md").read_text().splitlines()
        [command] = (line.split() for line in readme if line.startswith(f"{fetcher} "))
        self.run(*command)
        assert (self.project / "tot-demo" / "site" / "index.html").exists()
        # Who fetched the program to set it up gets the same.
        assert f'"command": "{fetcher}"' in self.run(fetcher, *fetch, "tot", "setup", "gemini"), fetch
        print(f"{' '.join(map(str, install[-1][:2]))}, demo, handshake: {seconds:.0f} s; by {fetcher}: answers")

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
        plugin.run("claude", "plugin", "marketplace", "add", clone)
        plugin.run("claude", "plugin", "install", "tree-of-thoughts@tree-of-thoughts")
        plugin.connected("plugin:tree-of-thoughts:tot")
        print("plugin: valid, installed, connected")

        packages = pack(binaries, scratch)
        with_python = place()
        environment = scratch / "environment"
        # Without a network, they find only the packages.
        for tool, name in ("UV", "UV_OFFLINE"), ("PIP", "PIP_NO_INDEX"):
            with_python.environment |= {f"{tool}_FIND_LINKS": str(packages), name: "1"}
        with_python.only("git", "uvx", PYTHON, before=[environment / "bin"])
        install = ["python3", "-m", "venv", environment], ["pip", "install", "tot-mcp"]
        with_python.in_a_minute("uvx", ["--from", "tot-mcp"], *install)
        with_node = place()
        with_node.only("git", "node", "npm", "npx", "sh", before=[with_node.project / "node_modules" / ".bin"])
        archives = list(packages.glob("*.tgz"))
        fetch = ["--offline", *(f"--package={archive}" for archive in archives)]
        with_node.in_a_minute("npx", fetch, ["npm", "install", "--offline", *archives])

        bundle = place()
        bundle.run("mcpb", "validate", PROJECT / ".packaging" / "mcpb" / "manifest.json")
        unpacked = bundle.project / "unpacked"
        bundle.run("mcpb", "unpack", *packages.glob("*.mcpb"), unpacked)
        start = json.loads((unpacked / "manifest.json").read_text())["server"]["mcp_config"]
        words = [start["command"], *start["args"]]
        names = {"${__dirname}": str(unpacked), "${user_config.root}": str(bundle.home / "investigations")}
        for name, value in names.items():
            words = [word.replace(name, value) for word in words]
        # What unpacks a bundle for a user sets this; the tool does not.
        os.chmod(words[0], 0o755)
        bundle.answers(*words)
        print("bundle: valid, unpacked, answers")


def pack(binaries, scratch):
    """Packs the binaries for this machine; gives the folder of the packages."""
    out = scratch / "packages"
    environment = os.environ | {"LEVEL": "1", "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    words = [PROJECT / ".packaging" / "pack", f"{platform.machine()}-unknown-linux-gnu", binaries, out]
    subprocess.run(words, env=environment, check=True, stderr=subprocess.DEVNULL)
    return out


if __name__ == "__main__":
    main()
