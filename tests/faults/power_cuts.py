#!/usr/bin/env python3
"""Cuts the power under writers again and again, and looks at what the disk kept.

    cargo build --release --bin tot-mcp && python3 tests/faults/power_cuts.py

Two servers propose nodes in one investigation on a small ext4 in a loop device. After a moment the file system is shut
down as by a power cut (EXT4_IOC_SHUTDOWN): what has not reached the disk is gone. The servers are killed, the file system
is mounted again, and it is checked that

- every acknowledged commit is in the history of HEAD, but for those whose reply says that the disk did not confirm them;
- every object that a reference or a reflog's newest line leads to is there and is what its id says;
- the next call that writes is accepted; how many took long is counted;
- git calls the work tree clean, and no lock file of git is left.

It needs root, ext4 and loop devices; where one is missing it says so and ends well. It ends with 1 where a check failed.
"""

import argparse
import fcntl
import glob
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

EXT4_IOC_SHUTDOWN = 0x8004587D
# With and without writing ext4's own journal first.
LOG_FLUSH, NO_LOG_FLUSH = 1, 2
# A call that finds leftovers recovers first; one that waits for a lock takes a second and more.
AT_ONCE = 0.9

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_AUTHOR_NAME": "T",
    "GIT_AUTHOR_EMAIL": "t@localhost",
    "GIT_COMMITTER_NAME": "T",
    "GIT_COMMITTER_EMAIL": "t@localhost",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


class Server:
    def __init__(self, program, root):
        self.process = subprocess.Popen(
            [program, "--root", root],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=ENVIRONMENT,
        )
        self.last = 0
        self.request(
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "cuts", "version": "1"}},
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self.last:
                return message
        raise EOFError

    def call(self, tool, **arguments):
        reply = self.request("tools/call", {"name": tool, "arguments": arguments})
        return json.loads(reply["result"]["content"][0]["text"])

    def kill(self):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


class Disk:
    """A small ext4 that can lose its power."""

    def __init__(self, folder):
        self.image, self.place = os.path.join(folder, "image"), os.path.join(folder, "disk")
        os.mkdir(self.place)
        with open(self.image, "wb") as image:
            image.truncate(200 << 20)
        subprocess.run(["mkfs.ext4", "-q", self.image], check=True)

    def mount(self):
        subprocess.run(["mount", "-o", "loop", self.image, self.place], check=True, capture_output=True)

    def unmount(self):
        # A killed process may still be on its way out.
        for _ in range(50):
            if subprocess.run(["umount", self.place], capture_output=True).returncode == 0:
                return
            time.sleep(0.1)
        raise OSError(f"{self.place} can't be unmounted")


def git(repository, *arguments, **options):
    command = ["git", "-c", "safe.directory=*", "-C", repository, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, **options)


class Trial:
    def __init__(self, server, disk, chance):
        self.program, self.disk, self.chance = server, disk, chance
        self.root = os.path.join(disk.place, "root")
        self.nodes = self.cuts = self.acknowledged = self.unconfirmed = self.delayed = 0
        self.faults, self.left = [], {}
        self.names = threading.Lock()
        server = Server(self.program, self.root)
        self.session = server.call("tot_start", query="What does a power cut take?", mode="smoke")["sessionId"]
        server.call(
            "tot_propose",
            sessionId=self.session,
            nodes=[{"id": "R1.A", "parent": None, "title": "t", "plannedAction": "p"}],
        )
        result = {"nodeId": "R1.A", "state": "EXPLORE", "findings": "f", "agentId": "a"}
        server.call("tot_commit", sessionId=self.session, results=[result])
        server.kill()
        self.repository = os.path.join(self.root, self.session)

    def propose(self, server):
        with self.names:
            self.nodes += 1
            node = {"id": f"R2.A{self.nodes}", "parent": "R1.A", "title": "t", "plannedAction": "p" * 500}
        return server.call("tot_propose", sessionId=self.session, nodes=[node])

    def write(self, server, acknowledged):
        try:
            while (reply := self.propose(server)).get("status") == "OK":
                # A server that was told of the cut while it waited for the disk says that the disk did not confirm the commit.
                if any(warning["code"] == "STORE_ERROR" for warning in reply.get("warnings", [])):
                    self.unconfirmed += 1
                    break
                acknowledged.append(reply["commit"])
        except (EOFError, BrokenPipeError, json.JSONDecodeError, KeyError):
            pass

    def cut(self):
        """One cut, and what is wrong after it."""
        servers = [Server(self.program, self.root) for _ in range(2)]
        acknowledged = []
        writers = [threading.Thread(target=self.write, args=(server, acknowledged)) for server in servers]
        for writer in writers:
            writer.start()
        time.sleep(self.chance.uniform(0.05, 0.4))
        place = os.open(self.disk.place, os.O_RDONLY)
        fcntl.ioctl(place, EXT4_IOC_SHUTDOWN, struct.pack("I", self.chance.choice([LOG_FLUSH, NO_LOG_FLUSH])))
        os.close(place)
        for writer in writers:
            writer.join()
        for server in servers:
            server.kill()
        self.disk.unmount()
        self.disk.mount()
        self.cuts += 1
        self.acknowledged += len(acknowledged)
        self.judge(acknowledged)

    def fault(self, what):
        self.faults.append(f"cut {self.cuts}: {what}")
        print(self.faults[-1], flush=True)

    def judge(self, acknowledged):
        for path in self.locks() + [os.path.join(self.repository, ".git/tot-journal")]:
            with open(path, "rb") as file:
                content = file.read()
            kind = "empty" if not content else "zeros" if not content.strip(b"\0") else "text"
            name = f"{os.path.basename(path)}, {kind}"
            self.left[name] = self.left.get(name, 0) + 1
        history = git(self.repository, "rev-list", "HEAD").stdout.split()
        for commit in acknowledged:
            if not any(other.startswith(commit) for other in history):
                self.fault(f"{commit} was acknowledged and is lost")
        server = Server(self.program, self.root)
        since = time.monotonic()
        reply = self.propose(server)
        took = time.monotonic() - since
        if reply.get("status") != "OK":
            self.fault(f"a write was refused: {json.dumps(reply)[:400]}")
        elif took > AT_ONCE:
            # No fault: a busy disk does it, too.
            self.delayed += 1
        server.kill()
        if dirty := git(self.repository, "status", "--porcelain", "--untracked-files=all").stdout.splitlines():
            sizes = [os.path.getsize(path) for line in dirty if os.path.exists(path := os.path.join(self.repository, line[3:]))]
            self.fault(f"the work tree is not clean: {dirty}, bytes: {sizes}")
            git(self.repository, "stash", "--include-untracked", check=True)
        if locks := self.locks():
            self.fault(f"locks are left: {locks}")
        # Unreachable objects may be torn: nothing was told of them.
        reachable = git(self.repository, "rev-list", "--objects", "--all", "HEAD", check=True).stdout
        reachable = {line.split()[0] for line in reachable.splitlines()}
        for line in git(self.repository, "fsck", "--strict", "--no-dangling").stderr.splitlines():
            if line.startswith(("error", "fatal", "missing", "broken")) and any(id in line for id in reachable):
                self.fault(line)

    def locks(self):
        return glob.glob(f"{self.repository}/.git/*.lock") + glob.glob(f"{self.repository}/.git/refs/**/*.lock", recursive=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--server", default="target/release/tot-mcp")
    arguments.add_argument("--cuts", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = arguments.parse_args()
    folder = tempfile.mkdtemp(prefix="tot-power-")
    try:
        try:
            disk = Disk(folder)
            disk.mount()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"left out: no ext4 can be mounted here ({error})")
            return 0
        try:
            trial = Trial(os.path.abspath(arguments.server), disk, random.Random(arguments.seed))
            while trial.cuts < arguments.cuts:
                trial.cut()
                if sys.stdout.isatty():
                    print(f"\r{trial.cuts} of {arguments.cuts}", end="", flush=True)
        finally:
            disk.unmount()
    finally:
        shutil.rmtree(folder)
    left = "; ".join(f"{name}: {count}" for name, count in sorted(trial.left.items()))
    print(f"{trial.cuts} cuts, {trial.acknowledged} calls acknowledged, {trial.unconfirmed} told as not confirmed, {len(trial.faults)} faults, {trial.delayed} writes delayed (seed {arguments.seed})")
    print(f"found after the cuts: {left}")
    return 1 if trial.faults else 0


if __name__ == "__main__":
    sys.exit(main())
