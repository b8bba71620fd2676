#!/usr/bin/env python3
"""What proposals take beside reports: how long a `tot_propose` waits while one server writes four sites.

    cargo build --release && cargo run --release -p bench --bin specimens -- many 4 3000 DIR
    python3 tests/bench/beside.py target/release DIR

The proposals go to a small investigation of the same server, one after the other: first alone, then while `tot_report` of all
others in DIR is under way. Both are told from one run, with and without `--durability git`, and how busy the processors were.
DIR gets the small investigation and the sites; put it on a real disk.
"""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path


class Server:
    def __init__(self, program, root, *arguments):
        command = [str(program), "--root", str(root), "--site", str(root / "site"), *arguments]
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        self.lock, self.waiting, self.next = threading.Lock(), {}, 0
        threading.Thread(target=self.read, daemon=True).start()
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                    "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        with self.lock:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") in self.waiting:
                self.waiting[message["id"]].append(message)
                self.waiting[message["id"]][0].set()

    def request(self, method, params):
        self.next += 1
        heard = self.waiting[self.next] = [threading.Event()]
        self.send({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})
        return heard

    def call(self, tool, arguments):
        heard = self.request("tools/call", {"name": tool, "arguments": arguments})
        heard[0].wait()
        reply = json.loads(heard[1]["result"]["content"][0]["text"])
        # A report that takes longer goes on.
        assert reply.get("status") != "REJECTED" or "TIMED_OUT" in str(reply), reply
        return reply

    def processor(self):
        """Seconds of the processors that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def shown(name, times, share):
    times = sorted(times)
    ninth = times[int(len(times) * 0.9)]
    print(f"  {name}: {len(times)} proposals, median {statistics.median(times):.2f} s, "
          f"nine of ten within {ninth:.2f} s, longest {times[-1]:.2f} s; processors {share:.1f}", flush=True)


def run(program, root, *arguments):
    sessions = sorted(path.name for path in root.iterdir() if (path / ".git").exists())
    server = Server(program, root, *arguments)
    small = server.call("tot_start", {"query": "Why is the sky blue?"})["sessionId"]
    root_node = {"id": "R1.A", "title": "A", "plannedAction": "Look."}
    server.call("tot_propose", {"sessionId": small, "nodes": [root_node]})
    result = {"nodeId": "R1.A", "state": "EXPLORE", "findings": "Seen.", "agentId": "agent-1"}
    server.call("tot_commit", {"sessionId": small, "results": [result]})
    number = 0

    def propose():
        nonlocal number
        number += 1
        since = time.monotonic()
        node = {"id": f"R2.A{number}", "title": "A", "parent": "R1.A", "plannedAction": "Look."}
        server.call("tot_propose", {"sessionId": small, "nodes": [node]})
        return time.monotonic() - since

    def measured(name, goes_on):
        since, used, times = time.monotonic(), server.processor(), []
        while goes_on(times):
            times.append(propose())
            time.sleep(0.05)
        shown(name, times, (server.processor() - used) / (time.monotonic() - since))

    print(" ".join(["tot-mcp", *arguments]))
    measured("alone", lambda times: len(times) < 20)
    for again in ["new sites", "the same sites again"]:
        since = time.monotonic()
        reports = [threading.Thread(target=server.call, args=("tot_report", {"sessionId": session}))
                   for session in sessions]
        for report in reports:
            report.start()
        measured(f"beside {len(reports)} reports, {again}", lambda _: any(it.is_alive() for it in reports))
        print(f"  the reports took {time.monotonic() - since:.1f} s")
        # What is written again changes something.
        for session in sessions:
            server.call("tot_comment", {"sessionId": session, "nodeId": "R1.A", "text": "So it is."})
    server.end()
    subprocess.run(["rm", "-rf", str(root / small), str(root / "site")], check=True)


if __name__ == "__main__":
    programs, root = map(Path, sys.argv[1:3])
    for arguments in [[], ["--durability", "git"]]:
        run(programs / "tot-mcp", root, *arguments)
