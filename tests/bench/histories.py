#!/usr/bin/env python3
"""What hostile histories cost: time and memory of `tot check` and `tot-report` on repositories that are small and unfold.

    cargo build --release && python3 tests/bench/histories.py target/release

- messages: 40 commits with messages of 100 MB
- flips: 200 commits that write one node of 7 MB now in one way, now in another
- paths: 300 commits that change 111,000 files each
- reclassified: 1,000 calls of `tot_reclassify` on a node of 3 MB

`--small` makes a hundredth of each, to see that the script works. Memory is that of the process at its peak.
"""

import argparse
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_AUTHOR_NAME": "T",
    "GIT_AUTHOR_EMAIL": "t@localhost",
    "GIT_COMMITTER_NAME": "T",
    "GIT_COMMITTER_EMAIL": "t@localhost",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}
META = """version: 2
id: 01890a5d-ac96-774b-bcce-b302099a8057
title: A
query: A
ruleset: x
mode: x
minRounds: 1
minRoots: 1
allowEarlyTerminal: false
startedAt: 2026-01-05T09:00:00.000Z
"""


class Repository:
    """A repository with the file of an investigation, whose commits are made from objects."""

    def __init__(self, path):
        self.path = path
        subprocess.run(["git", "init", "-q", "-b", "main", path], check=True, env=ENVIRONMENT)
        self.meta = ("100644", "blob", self.blob(META), "investigation.yaml")

    def git(self, *arguments, text=None):
        command = ["git", "-C", self.path, "-c", "core.looseCompression=1", *arguments]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=True, env=ENVIRONMENT).stdout.strip()

    def blob(self, text):
        return self.git("hash-object", "-w", "--stdin", text=text)

    def tree(self, entries):
        return self.git("mktree", text="".join(f"{mode} {kind} {id}\t{name}\n" for mode, kind, id, name in entries))

    def folder(self, name, tree):
        return ("040000", "tree", tree, name)

    def commits(self, trees, message="Change"):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(message)
            file.flush()
            parents = []
            for tree in trees:
                commit = self.git("commit-tree", tree, *parents, "-F", file.name)
                parents = ["-p", commit]
        self.git("update-ref", "refs/heads/main", commit)


def messages(path, part):
    repository = Repository(path)
    message = "Subject\n\n" + "It is long, a line of words.\n" * (100_000_000 // 29 // part)
    repository.commits([repository.tree([repository.meta])] * 40, message)


def flips(path, part):
    repository = Repository(path)

    def tree(version):
        lines = "".join(f"  version {version} line {line} of some words\n" for line in range(7_000_000 // 32 // part))
        end = "proposedAt: 2026-01-05T09:00:00.000Z\n"
        node = repository.blob(f"version: 2\nid: R1.A\ntitle: A\nplannedAction: |\n{lines}{end}")
        inner = repository.tree([("100644", "blob", node, "R1.A.yaml")])
        nodes = repository.tree([repository.folder("R1", inner)])
        return repository.tree([repository.meta, repository.folder("nodes", nodes)])

    repository.commits([tree(1), tree(2)] * 100)


def paths(path, part):
    repository = Repository(path)

    def tree(version):
        blob = repository.blob(str(version))
        inner = repository.tree([("100644", "blob", blob, f"f{file:04}") for file in range(1000)])
        outer = repository.tree([repository.folder(f"d{number:03}", inner) for number in range(max(1, 111 // part))])
        return repository.tree([repository.meta, repository.folder("many", outer)])

    repository.commits([tree(1), tree(2)] * 150)


def reclassified(path, part, programs):
    server = subprocess.Popen(
        [os.path.join(programs, "tot-mcp"), "--root", path, "--durability", "git"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )

    def request(method, params, id=1):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n")
        server.stdin.flush()
        return json.loads(server.stdout.readline())

    def call(tool, **arguments):
        result = request("tools/call", {"name": tool, "arguments": arguments})["result"]
        reply = json.loads(result["content"][0]["text"])
        assert reply["status"] == "OK", reply
        return reply

    client = {"name": "histories", "version": "1"}
    request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
    text = {name: "".join(f"{name} line {line} of words\n" for line in range(40_000 // part)) for name in ("plan", "find", "proof")}
    session = call("tot_start", query="How large may a history be?", mode="smoke")["sessionId"]
    node = {"id": "R1.A", "parent": None, "title": "A", "plannedAction": text["plan"]}
    call("tot_propose", sessionId=session, nodes=[node])
    result = {"nodeId": "R1.A", "state": "EXPLORE", "agentId": "a", "findings": text["find"], "evidence": text["proof"]}
    call("tot_commit", sessionId=session, results=[result])
    for number in range(1000 // part):
        call("tot_reclassify", sessionId=session, nodeId="R1.A", newState=("EXHAUST", "EXPLORE")[number % 2], reason="x")
    server.stdin.close()
    server.wait()


def measure(command):
    """Seconds, MB at the peak, and what it said in one line."""
    since = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 1), said[-500:]
    return time.monotonic() - since, usage.ru_maxrss / 1000, said


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("programs")
    arguments.add_argument("--small", action="store_true")
    arguments = arguments.parse_args()
    programs = os.path.abspath(arguments.programs)
    part = 100 if arguments.small else 1
    print("| history | on disk | `tot check` | memory | `tot-report` | memory |\n|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for make in (messages, flips, paths, reclassified):
            root = os.path.join(folder, make.__name__)
            # In a process of its own: what is started from one begins with its peak.
            making = (root, part, *([programs] if make is reclassified else []))
            maker = multiprocessing.Process(target=make, args=making)
            maker.start()
            maker.join()
            assert maker.exitcode == 0
            found = [name for name in os.listdir(root) if re.match(r"[0-9a-f]{8}-", name)]
            repository = os.path.join(root, found[0]) if found else root
            disk = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(repository) for name in names)
            figures = []
            for command in (["tot", "check", repository], ["tot-report", repository, "--out", os.path.join(folder, "site")]):
                seconds, memory, _ = measure([os.path.join(programs, command[0]), *command[1:]])
                figures.append(f"{seconds:.1f} s | {memory:.0f} MB")
            print(f"| {make.__name__} | {disk / 1e6:.1f} MB | {' | '.join(figures)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
