#!/usr/bin/env python3
"""Real work in few calls: three investigations by agents, each by a solver and an attacker, played through a real server.

  hours.py path/to/tot-mcp

`hours/*.jsonl` has their calls of November 2026, written again: results propose their own nodes, and a change is an edit
instead of the whole text again. The recorded investigations had no bottom line; here it is the first sentence of the
conclusion. Their runs were captured in a shell, and are not played.

No call may be rejected, and the texts stored in the end are word for word the recorded ones: the last line of each file has
their SHA-256 (its beginning). What was sent may exceed these texts by 15 %, with every word that an edit names to be found.
The README names the figures of `totals`.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

MOST = 1.15
TEXTS = "title", "state", "findings", "headline", "evidence"


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def size(value):
    """The number of bytes of all texts in the arguments of a call."""
    if isinstance(value, str):
        return len(value.encode())
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return sum(map(size, values))


def kept(calls):
    """The size of what is left in the end of the texts of all calls."""
    parts = {}
    for call in calls:
        arguments = dict(call["arguments"])
        if call["tool"] == "tot_amend":
            part, text = parts[arguments.pop("nodeId", "tot_end")], "findings"
            text = text if text in part else "conclusion"
            for edit in arguments.pop("edits", []):
                part[text] = part[text].replace(edit["old"], edit["new"], 1)
            part.update({name: new for name, new in arguments.items() if name in part})
        else:
            parts |= {result["nodeId"]: dict(result) for result in arguments.pop("results", [])}
            parts[call["tool"]] = arguments
    return size(parts)


class Server:
    def __init__(self, program, root):
        self.number = 0
        self.process = subprocess.Popen([program, "--root", root], stdin=-1, stdout=-1, stderr=-3, text=True)
        version = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "hours", "version": "1"}}
        self.request("initialize", version)
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while (message := json.loads(self.process.stdout.readline())).get("id") != self.number:
            pass
        return message["result"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def play(program, calls, final, root):
    servers = {agent: Server(program, root) for agent in ("solver", "attacker")}
    session, sent, received, edited = None, 0, 0, 0
    for call in calls:
        arguments = call["arguments"] | ({"sessionId": session} if session else {})
        result = servers[call["agent"]].request("tools/call", {"name": call["tool"], "arguments": arguments})
        reply = json.loads(result["content"][0]["text"])
        assert reply["status"] == "OK" and not reply.get("rejected"), (call["tool"], reply)
        session = session or reply["sessionId"]
        sent, received = sent + size(call["arguments"]), received + size(reply)
        edited += sum(len(edit["old"].encode()) for edit in call["arguments"].get("edits", []))
    for server in servers.values():
        server.close()
    tot = str(pathlib.Path(program).with_name("tot"))
    exported = subprocess.check_output([tot, "export", "--root", root, "-i", session, "--format", "json"])
    stored = json.loads(exported)
    end = stored["conclusion"]
    texts = {node["nodeId"]: {name: node[name] for name in TEXTS if node.get(name)} for node in stored["nodes"]}
    texts["conclusion"] = {name: end[name] for name in ("conclusion", "bottomLine")}
    texts["conclusion"]["notCovered"] = "\n".join(end.get("notCovered", []))
    found = {place: {name: digest(text) for name, text in of.items()} for place, of in texts.items()}
    assert found == final, [(place, found[place], final.get(place)) for place in found if found[place] != final.get(place)]
    return sent, received, edited


def check_readme(calls, sent, received):
    """That the README has these figures; replies may have changed by a tenth since."""
    readme = (pathlib.Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    row = re.search(r"^\| `tot`, with .* \| (\d+) \| ([\d.]+) KB.* \| ([\d.]+) KB.* \|.*\|$", readme, re.M).groups()
    said = [float(figure) for figure in row]
    assert said[:2] == [calls, round(sent / 1000, 1)] and 0.9 < received / said[2] / 1000 < 1.1, (said, calls, sent, received)


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    for file in sorted(pathlib.Path(__file__).with_name("hours").glob("*.jsonl")):
        *calls, last = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        with tempfile.TemporaryDirectory() as root:
            sent, received, edited = play(program, calls, last["final"], root)
        beyond = sent / kept(calls)
        assert beyond <= MOST, f"{file.stem}: {beyond:.3f} of the texts was sent, {MOST} is allowed"
        if file.stem == "totals":
            check_readme(len(calls), sent, received)
        print(f"{file.stem}: {len(calls)} calls, none rejected; {sent} bytes sent, {beyond:.3f} of what is kept; "
              f"{edited} of them to find passages; {received} bytes of replies")


main()
