#!/usr/bin/env python3
"""Real work in few calls: three investigations by agents, each by a solver and an attacker, played through a real server.

  hours.py path/to/tot-mcp

`hours/*.jsonl` has their calls of November 2026, written again: results propose their own nodes, and a change is an edit
instead of the whole text again. The `old` of an edit is the shortest run of at least five whole words that has the change and
is there once: agents quote a phrase, not letters, and seldom a whole sentence. The recorded investigations had no bottom
line; here it is the first sentence of the conclusion. Their commands are run by `tot run`, as far as the recorded replies
show them: a stand-in for each script prints the recorded output and ends as recorded.

No call may be rejected. The texts stored in the end are word for word the recorded ones: the last line of each file has their
SHA-256 (its beginning). The runs stored are the recorded ones, and the agent's. What was sent may exceed the texts by 15 %,
with every word that an edit names to be found. Five of the six sessions stay within 53 KB, with tools and instructions.
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
# Of a session, in bytes. One writes findings of more than that.
SESSION, LONG = 53_000, ("decision", "solver")
TEXTS = "title", "state", "findings", "headline", "evidence"


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def size(value):
    """The number of bytes of all texts in the arguments of a call."""
    if isinstance(value, str):
        return len(value.encode())
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return sum(map(size, values))


def sent_bytes(value):
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def edit(text, edits):
    """The text after the edits, each made in the text as it was."""
    given = text
    for change in sorted(edits, key=lambda change: -given.index(change["old"])):
        old, place = change["old"], given.index(change["old"])
        assert given.count(old) == 1 and len(old.split()) >= 5, change
        text = text[:place] + change["new"] + text[place + len(old):]
    return text


def kept(calls):
    """The size of what is left in the end of the texts of all calls."""
    parts = {}
    for call in calls:
        arguments = dict(call["arguments"])
        if call["tool"] == "tot_amend":
            part, text = parts[arguments.pop("nodeId", "tot_end")], "findings"
            text = text if text in part else "conclusion"
            assert text not in arguments, "a whole text is sent again"
            part[text] = edit(part[text], arguments.pop("edits", []))
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
        instructions = self.request("initialize", version)["instructions"]
        self.send({"method": "notifications/initialized"})
        self.bytes = len(instructions.encode()) + sent_bytes(self.request("tools/list", {})["tools"])

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


def run(tot, call, project, scripts):
    """Runs the recorded command by `tot run`. A stand-in for its script prints the recorded output and ends as recorded."""
    command, signal = call["command"], call.get("signal")
    script = scripts / command[1]
    text = script.with_suffix(".txt")
    text.write_text(call.get("output", ""), encoding="utf-8")
    end = f"import os; os.kill(os.getpid(), {signal})" if signal else f"raise SystemExit({call['exit']})"
    stand_in = f"print(open({str(text)!r}, encoding='utf-8').read(), end='', flush=True)\n{end}\n"
    if command[0] == "bash":
        stand_in = f"cat {str(text)!r}; exit {call['exit']}\n"
    script.write_text(stand_in, encoding="utf-8")
    options = ["--agent", call["agent"], "--with", script]
    for pattern in call.get("expect", {}):
        options += ["--expect", pattern]
    subprocess.run([*tot, "run", *options, call["run"], "--", command[0], script, *command[2:]], cwd=project, capture_output=True)


def recorded(call):
    """What an export says of a run, as recorded."""
    command = [call["command"][0], f"$TOT_FILES/{call['command'][1]}", *call["command"][2:]]
    ended = {name: call[name] for name in ("exit", "signal") if name in call}
    return call["agent"], call["run"], command, ended, call.get("output", ""), list(call.get("expect", {}).items())


def exported(stored):
    for run in stored.get("runs", []):
        ran = run["ran"]
        expected = [(expectation["pattern"], expectation["held"]) for expectation in ran.get("expectations", [])]
        text = ran.get("output", {}).get("text", "")
        yield run["author"]["agentId"], run["nodeId"], ran["command"], ran["ended"], text, expected


def play(program, calls, final, root):
    servers = {agent: Server(program, root) for agent in ("solver", "attacker")}
    project, scripts = pathlib.Path(root, "project"), pathlib.Path(root, "scripts")
    scripts.mkdir()
    subprocess.run(["git", "init", "--quiet", project], check=True)
    session, sent, received, edited = None, 0, 0, 0
    tot = [str(pathlib.Path(program).with_name("tot")), "--root", root]
    for call in calls:
        if "run" in call:
            run([*tot, "-i", session], call, project, scripts)
            continue
        arguments = call["arguments"] | ({"sessionId": session} if session else {})
        result = servers[call["agent"]].request("tools/call", {"name": call["tool"], "arguments": arguments})
        text = result["content"][0]["text"]
        reply = json.loads(text)
        assert reply["status"] == "OK" and not reply.get("rejected"), (call["tool"], reply)
        session = session or reply["sessionId"]
        sent, received = sent + size(call["arguments"]), received + size(reply)
        edited += sum(len(edit["old"].encode()) for edit in call["arguments"].get("edits", []))
        servers[call["agent"]].bytes += sent_bytes(arguments) + len(text.encode())
    for server in servers.values():
        server.close()
    stored = json.loads(subprocess.check_output([*tot, "export", "-i", session, "--format", "json"]))
    end = stored["conclusion"]
    texts = {node["nodeId"]: {name: node[name] for name in TEXTS if node.get(name)} for node in stored["nodes"]}
    texts["conclusion"] = {name: end[name] for name in ("conclusion", "bottomLine")}
    texts["conclusion"]["notCovered"] = "\n".join(end.get("notCovered", []))
    found = {place: {name: digest(text) for name, text in of.items()} for place, of in texts.items()}
    assert found == final, [(place, found[place], final.get(place)) for place in found if found[place] != final.get(place)]
    runs, wanted = list(exported(stored)), [recorded(call) for call in calls if "run" in call]
    assert runs == wanted, [pair for pair in zip(runs, wanted) if pair[0] != pair[1]]
    return sent, received, edited, {agent: server.bytes for agent, server in servers.items()}


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
            sent, received, edited, sessions = play(program, calls, last["final"], root)
        calls = [call for call in calls if "tool" in call]
        beyond = sent / kept(calls)
        assert beyond <= MOST, f"{file.stem}: {beyond:.3f} of the texts was sent, {MOST} is allowed"
        if file.stem == "totals":
            check_readme(len(calls), sent, received)
        assert all(size <= SESSION for agent, size in sessions.items() if (file.stem, agent) != LONG), sessions
        print(f"{file.stem}: {len(calls)} calls, none rejected; {sent} bytes sent, {beyond:.3f} of what is kept; "
              f"{edited} of them to find passages; {received} bytes of replies; sessions: {sessions}")


main()
