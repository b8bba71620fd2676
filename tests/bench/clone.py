#!/usr/bin/env python3
"""What it costs to take a large investigation from a hub and to look at it first, beside git alone.

    cargo build --release && cargo build -p bench --bin specimens
    python3 tests/bench/clone.py target/release target/debug/specimens

- clone: `tot clone` beside `git clone`, from a bare repository on this disk
- first look: `tot-mcp` started and asked once for `tot_status`, beside `git status`

Each is done in turn with its peer; printed are the medians and how much longer ours takes. `--small` takes 100 nodes in
place of 10,000, once, to see that the script works.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time


def environment(home):
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


def timed(command, env, text=None):
    begun = time.monotonic()
    ran = subprocess.run(command, input=text, capture_output=True, text=True, env=env, check=True)
    return time.monotonic() - begun, ran.stdout


def status(session):
    """A conversation with the server: the greeting, and one call."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
         "params": {"name": "tot_status", "arguments": {"sessionId": session}}},
    ]
    return "".join(json.dumps(message) + "\n" for message in messages)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, help="the folder of tot and tot-mcp")
    parser.add_argument("specimens", type=pathlib.Path, help="the program that makes the investigation")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    nodes, times = (100, 1) if options.small else (10_000, 5)
    tot, server = options.programs.resolve() / "tot", options.programs.resolve() / "tot-mcp"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        env = environment(folder)
        source, hub = folder / "source", folder / "hub.git"
        timed([options.specimens.resolve(), "large", str(nodes), source], env)
        meta = timed(["git", "-C", source, "show", "HEAD:investigation.yaml"], env)[1]
        session = next(line.split(": ")[1].strip() for line in meta.splitlines() if line.startswith("id: "))
        timed(["git", "init", "-q", "--bare", hub], env)
        timed(["git", "-C", source, "push", "-q", hub, f"HEAD:refs/heads/tot/{session}"], env)
        timed(["git", "-C", hub, "gc", "-q"], env)
        found = {name: [] for name in ["git clone", "tot clone", "git status", "tot_status"]}
        for _ in range(times):
            by_git, root = folder / "by-git", folder / "root"
            clone = ["git", "clone", "-q", "--branch", f"tot/{session}", f"file://{hub}", by_git]
            found["git clone"].append(timed(clone, env)[0])
            found["tot clone"].append(timed([tot, "clone", f"file://{hub}", "-i", session, "--root", root], env)[0])
            found["git status"].append(timed(["git", "-C", by_git, "status", "--short"], env)[0])
            took, answer = timed([server, "--root", root], env, status(session))
            told = json.loads(json.loads(answer.splitlines()[-1])["result"]["content"][0]["text"])
            # Some are only proposed.
            assert told["totalNodes"] > nodes * 9 // 10, told
            found["tot_status"].append(took)
            shutil.rmtree(by_git)
            shutil.rmtree(root)
    medians = {name: statistics.median(seconds) for name, seconds in found.items()}
    for what, (theirs, ours) in {"clone": ("git clone", "tot clone"), "first look": ("git status", "tot_status")}.items():
        ratio = medians[ours] / medians[theirs]
        print(f"{what} of {nodes} nodes: {theirs} {medians[theirs]:.2f} s, {ours} {medians[ours]:.2f} s, {ratio:.1f} times as long")


if __name__ == "__main__":
    main()
