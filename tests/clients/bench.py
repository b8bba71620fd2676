#!/usr/bin/env python3
"""Start and trivial calls, beside a minimal server on the official TypeScript SDK, in one run.

  bench.py path/to/tot-mcp path/to/node_modules [--test]

Start is from the beginning of the process to the answer to `initialize`, the median of several. `ping` is the same
request to both. The call of a tool is `tot_status` of an investigation that there is not, which goes through the
protocol, the schema, a thread of its own and a look at the folder of investigations; the other server echoes a text. With
`--test` it only runs through, without measuring much.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import investigation

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Server:
    def __init__(self, command, environment):
        self.begun = time.perf_counter()
        self.number = 0
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self.number and "result" in answer, answer

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def start(command, environment):
    """Milliseconds until the answer to `initialize`."""
    server = Server(command, environment)
    server.ask("initialize", HELLO)
    took = time.perf_counter() - server.begun
    server.end()
    return took * 1000


def request(command, environment, times, method, params):
    """Milliseconds of a request, by the median of batches."""
    server = Server(command, environment)
    server.ask("initialize", HELLO)
    message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    server.process.stdin.write(json.dumps(message).encode() + b"\n")
    batches = []
    for _ in range(20):
        since = time.perf_counter()
        for _ in range(times):
            server.ask(method, params)
        batches.append((time.perf_counter() - since) * 1000 / times)
    server.end()
    # The first are warming up.
    return statistics.median(batches[5:])


def main():
    server, modules = map(os.path.abspath, sys.argv[1:3])
    quick = "--test" in sys.argv
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench_server.mjs")
    with tempfile.TemporaryDirectory() as home:
        environment = investigation.environment(home)
        ours = [server, "--root", os.path.join(home, "investigations")]
        theirs = [investigation.node(modules), script, modules]
        # In turns, so that both meet the same neighbours.
        starts = [(start(ours, environment), start(theirs, environment)) for _ in range(2 if quick else 21)]
        mine, other = (statistics.median(times) for times in zip(*starts, strict=True))
        print(f"start to the first reply: {mine:.1f} ms, TypeScript SDK {other:.0f} ms: {other / mine:.0f} times")
        times = 10 if quick else 500
        ours_and_theirs = {
            "ping": [("ping", {})] * 2,
            "a call of a tool": [
                ("tools/call", {"name": "tot_status", "arguments": {"sessionId": "00000000"}}),
                ("tools/call", {"name": "echo", "arguments": {"text": "hello"}}),
            ],
        }
        for what, (one, another) in ours_and_theirs.items():
            mine, other = request(ours, environment, times, *one), request(theirs, environment, times, *another)
            print(f"{what}: {mine:.3f} ms, TypeScript SDK {other:.3f} ms: {other / mine:.1f} times")


if __name__ == "__main__":
    main()
