#!/usr/bin/env python3
"""Start and trivial requests, beside a minimal server on the official TypeScript SDK, in one run.

  bench.py path/to/tot-mcp path/to/node_modules [--test]

Start is from the beginning of the process to the answer to `initialize`, the median of several. `ping` is the same
request to both. Of our tools `tot_status` is called: with arguments that don't fit, of an investigation that there is
not, for which the folder of investigations is looked at, and of a small one that there is, whose head is looked up in its
repository for each call. The other server echoes a text, without a schema and a file.

Requests go one at a time: the first of a new server, which are all that an agent's session has, and thousands to one that
has run for long, whose JavaScript is compiled by then. Later ones go in batches that take turns, so that all meet the same
neighbours; of the batches' times the median counts. `cat` in the place of a server shows what of it are the pipes and
this client. The processor's time is that of the server's process alone, by the kernel's account. With `--test` it only
runs through, without measuring much.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import investigation

# About as many calls as a long investigation takes.
FIRST = 200

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Server:
    def __init__(self, command, environment):
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )

    def exchange(self, line):
        """Sends a line and waits for another one, at the least cost for a client."""
        os.write(self.process.stdin.fileno(), line)
        answer = b""
        while not answer.endswith(b"\n"):
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            assert piece, "the server has ended"
            answer += piece
        return answer

    def ask(self, method, params):
        text = self.exchange(request(method, params))
        while True:
            for line in text.splitlines():
                answer = json.loads(line)
                # What is told unasked stands before or behind.
                if "id" in answer:
                    return answer["result"]
            text = self.exchange(b"")

    def connect(self):
        self.ask("initialize", HELLO)
        os.write(self.process.stdin.fileno(), b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return self

    def processor(self):
        """Seconds of the processor's time so far."""
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except FileNotFoundError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Requests:
    """One kind of request to one server, and the times it took."""

    def __init__(self, server, line, expected):
        self.server, self.line, self.batches, self.used, self.count = server, line, [], 0.0, 0
        answer = server.exchange(line)
        assert expected in answer, answer

    def batch(self, times):
        server, line = self.server, self.line
        used, since = server.processor(), time.perf_counter()
        for _ in range(times):
            server.exchange(line)
        self.batches.append((time.perf_counter() - since) * 1e6 / times)
        self.used += server.processor() - used
        self.count += times

    def time(self):
        """Microseconds of one request, by the median of the batches."""
        return statistics.median(self.batches)

    def processor(self):
        """Microseconds of the processor's time for one request."""
        return self.used * 1e6 / self.count


def request(method, params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


def call(tool, arguments):
    return request("tools/call", {"name": tool, "arguments": arguments})


def start(command, environment):
    """Milliseconds until the answer to `initialize`."""
    server = Server(command, environment)
    server.ask("initialize", HELLO)
    took = time.perf_counter() - server.begun
    server.end()
    return took * 1000


def begin(server):
    """The id of a new investigation with a proposal and a committed node."""
    result = server.ask("tools/call", {"name": "tot_start", "arguments": {"query": "How fast?", "mode": "smoke"}})
    session = json.loads(result["content"][0]["text"])["sessionId"]
    for tool, arguments in (
        ("tot_propose", {"nodes": [{"id": "R1.A", "title": "Measure", "plannedAction": "Look at the clock."}]}),
        (
            "tot_commit",
            {"results": [{"nodeId": "R1.A", "state": "EXPLORE", "findings": "Fast.", "agentId": "bench"}]},
        ),
        ("tot_propose", {"nodes": [{"id": "R2.A1", "parent": "R1.A", "title": "More", "plannedAction": "Look."}]}),
    ):
        result = server.ask("tools/call", {"name": tool, "arguments": {"sessionId": session, **arguments}})
        assert not result["isError"], result
    return session


def fresh(command, environment, line, count):
    """Microseconds of one of the first requests to a new server."""
    server = Server(command, environment).connect()
    since = time.perf_counter()
    for _ in range(count):
        server.exchange(line)
    took = time.perf_counter() - since
    server.end()
    return took * 1e6 / count


def main():
    server, modules = map(os.path.abspath, sys.argv[1:3])
    quick = "--test" in sys.argv
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench_server.mjs")
    with tempfile.TemporaryDirectory() as home:
        environment = investigation.environment(home)
        ours = [server, "--root", os.path.join(home, "investigations")]
        theirs = [investigation.node(modules), script, modules]
        starts = [(start(ours, environment), start(theirs, environment)) for _ in range(2 if quick else 21)]
        mine, other = (statistics.median(times) for times in zip(*starts, strict=True))
        print(f"start to the first reply: {mine:.1f} ms, TypeScript SDK {other:.0f} ms: {other / mine:.0f} times\n")

        tot, typescript, cat = (
            Server(ours, environment).connect(),
            Server(theirs, environment).connect(),
            Server(["cat"], environment),
        )
        session = begin(tot)
        ping, echo = request("ping", {}), call("echo", {"text": "hello"})
        rows = {
            "pipes and client alone (`cat`)": Requests(cat, ping, b"ping"),
            "`ping`": Requests(tot, ping, b'"result":{}'),
            "a call that doesn't fit": Requests(tot, call("tot_status", {}), b"INVALID_ARGUMENT"),
            "a call, no such investigation": Requests(
                tot, call("tot_status", {"sessionId": "00000000"}), b"SESSION_NOT_FOUND"
            ),
            "a call, a small investigation": Requests(
                tot, call("tot_status", {"sessionId": session}), b'"isError":false'
            ),
            "TypeScript SDK: `ping`": Requests(typescript, ping, b'"result":{}'),
            "TypeScript SDK: a call of `echo`": Requests(typescript, echo, b"hello"),
        }
        batches, times = (2, 10) if quick else (60, 500)
        for number in range(batches + 5):
            for requests in rows.values():
                if number == 5:
                    # Those before were warming up.
                    requests.batches, requests.used, requests.count = [], 0.0, 0
                requests.batch(times)
        for each in (tot, typescript, cat):
            each.end()
        commands = {tot: ours, typescript: theirs, cat: None}
        processes, first = (1, 10) if quick else (9, FIRST)
        early = {what: [] for what in rows}
        for _ in range(processes):
            for what, requests in rows.items():
                if command := commands[requests.server]:
                    early[what].append(fresh(command, environment, requests.line, first))
        print(f"| | of the first {first}, µs | times as fast | later, µs | times as fast | processor's µs |")
        print("|---|---:|---:|---:|---:|---:|")
        for what, requests in rows.items():
            beside = "TypeScript SDK: `ping`" if "ping" in what else "TypeScript SDK: a call of `echo`"
            is_ours = requests.server is tot
            sooner = statistics.median(early[what]) if early[what] else None
            cells = [
                what,
                f"{sooner:.1f}" if sooner else "",
                f"{statistics.median(early[beside]) / sooner:.1f}" if is_ours else "",
                f"{requests.time():.1f}",
                f"{rows[beside].time() / requests.time():.1f}" if is_ours else "",
                f"{requests.processor():.1f}",
            ]
            print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
