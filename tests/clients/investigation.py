"""A small but whole investigation, for the clients beside this file: the calls, and what git must say afterwards."""

import contextlib
import glob
import json
import os
import signal
import subprocess

# (tool, arguments without sessionId, the status that the reply must have, an error code that it must have)
CALLS = [
    ("tot_start", {"query": "Why does the nightly backup take four hours?", "mode": "smoke"}, "OK", None),
    (
        "tot_propose",
        {"nodes": [{"id": "R1.A", "parent": None, "title": "Where time goes", "plannedAction": "Profile one run."}]},
        "OK",
        None,
    ),
    (
        "tot_commit",
        {
            "results": [
                {
                    "nodeId": "R1.A",
                    "state": "EXPLORE",
                    "agentId": "profiler",
                    "findings": "Compression takes 3 h 40 of the 4 h, on one core of eight.\n\n"
                    "## References\n\n- https://facebook.github.io/zstd/\n- scripts/backup.sh:12 - the pipeline\n",
                }
            ]
        },
        "OK",
        None,
    ),
    # Turned down by a rule: the only node still owes a child.
    ("tot_end", {}, "REJECTED", None),
    # Turned down by a rule: the id is taken.
    (
        "tot_propose",
        {"nodes": [{"id": "R1.A", "parent": None, "title": "The same again", "plannedAction": "Nothing."}]},
        "REJECTED",
        "DUPLICATE_ID",
    ),
    (
        "tot_propose",
        {"nodes": [{"id": "R2.A1", "parent": "R1.A", "title": "All cores", "plannedAction": "Run with zstd -T0."}]},
        "OK",
        None,
    ),
    (
        "tot_commit",
        {
            "results": [
                {
                    "nodeId": "R2.A1",
                    "state": "FOUND",
                    "agentId": "measurer",
                    "findings": "With `zstd -T0` the same backup takes 41 minutes.\n",
                }
            ]
        },
        "OK",
        None,
    ),
    (
        "tot_propose",
        {"nodes": [{"id": "R3.A1a", "parent": "R2.A1", "title": "Restore it", "plannedAction": "Restore, compare."}]},
        "OK",
        None,
    ),
    (
        "tot_commit",
        {
            "results": [
                {
                    "nodeId": "R3.A1a",
                    "state": "VERIFY",
                    "agentId": "restorer",
                    "findings": "The restored tree is the same, byte for byte – on “both” disks (✓).\n",
                }
            ]
        },
        "OK",
        None,
    ),
    ("tot_status", {}, "OK", None),
    ("tot_read", {"nodeIds": ["R1.A", "R2.A1"]}, "OK", None),
    ("tot_read", {"nodeIds": ["R9.Z"]}, "REJECTED", "NODE_NOT_FOUND"),
    ("tot_next", {"dimensions": {"disk": ["old", "new"]}}, "OK", None),
    # A whole turn of which nothing is left: it proposes nothing.
    ("tot_step", {"nodes": []}, "OK", None),
    ("tot_reclassify", {"nodeId": "R3.A1a", "newState": "VERIFY", "reason": "as it was"}, "OK", None),
    ("tot_amend", {"nodeId": "R2.A1", "headline": "41 minutes on all cores", "reason": "to be read in lists"}, "OK", None),
    ("tot_comment", {"nodeId": "R2.A1", "text": "The disk was idle.", "agentId": "reader"}, "OK", None),
    ("tot_list", {"text": "backup", "state": "open"}, "OK", None),
    ("tot_end", {"conclusion": "Compress on all cores: `zstd -T0`.", "agentId": "measurer"}, "OK", None),
    ("tot_report", {}, "OK", None),
]

# The tools that write nothing when they are OK.
READERS = {"tot_status", "tot_read", "tot_list"}

# Calls of other tools that commit nothing: the report is no part of the repository, and two of the calls ask for nothing.
WITHOUT_COMMIT = READERS | {"tot_next", "tot_report", "tot_step", "tot_reclassify"}

# The tools that are about no single investigation.
WITHOUT_SESSION = {"tot_start", "tot_list"}

# All tools there are.
TOOLS = {tool for tool, _, _, _ in CALLS}


def arguments_of(tool, arguments, session):
    """The arguments with the id of the investigation, where the tool takes it."""
    return arguments if tool in WITHOUT_SESSION else {"sessionId": session, **arguments}


def resources(session):
    """Addresses with their type and something that must stand there."""
    return [
        ("tot://investigations", "text/markdown", session),
        (f"tot://{session}", "text/markdown", "Compress on all cores"),
        (f"tot://{session}/nodes/R2.A1", "text/markdown", "41 minutes"),
        (f"tot://{session}/graph.dot", "text/vnd.graphviz", "digraph Investigation"),
        (f"tot://{session}/graph.svg", "image/svg+xml", "<svg"),
        (f"tot://{session}/history", "text/markdown", "ended/1"),
    ]


def prompts(session):
    """Prompts with their arguments and something that must stand in them."""
    return [
        ("investigate", {"query": "Why is the sky blue?"}, "> Why is the sky blue?"),
        ("continue", {"sessionId": session}, "Why does the nightly backup take four hours?"),
        ("research", {"sessionId": session, "nodeId": "R3.A1a"}, "Restore, compare."),
        ("verify", {"sessionId": session, "nodeId": "R2.A1"}, "41 minutes"),
    ]


def completions(session):
    """Arguments of the prompt `verify`, what is known, and what must be among the values."""
    return [
        ({"name": "sessionId", "value": session[:8]}, {}, session),
        ({"name": "nodeId", "value": "R3"}, {"sessionId": session}, "R3.A1a"),
    ]


def writing_calls():
    """How many commits the calls make."""
    return sum(1 for tool, _, status, _ in CALLS if status == "OK" and tool not in WITHOUT_COMMIT)


def check_tools(tools):
    """What every listed tool must have: `tools` as the protocol sends it."""
    names = [tool["name"] for tool in tools]
    assert set(names) == TOOLS, f"the tools are {names}, and the calls are of {TOOLS}"
    for tool in tools:
        name, hints = tool["name"], tool.get("annotations") or {}
        assert tool.get("title") and tool.get("description"), f"{name} has no title or no description"
        assert tool["inputSchema"]["type"] == "object", f"{name}: the input schema is no object"
        assert "outputSchema" not in tool, f"{name}: an output schema asks for structuredContent"
        for hint in ["readOnlyHint", "destructiveHint", "openWorldHint"]:
            assert isinstance(hints.get(hint), bool), f"{name} has no {hint}"
        assert hints["readOnlyHint"] == (name in READERS), f"{name}: readOnlyHint is {hints['readOnlyHint']}"


def reply(result):
    """The reply in a result: JSON in its one text, which every client hands to a model; links may follow."""
    assert result.get("structuredContent") is None, "a model would read it twice"
    text, *links = result["content"]
    assert all(link["type"] == "resource_link" for link in links), links
    return json.loads(text["text"])


def check_reply(tool, status, code, reply, is_error):
    """That a call was answered as `CALLS` says."""
    told = f"{tool}: {reply}"
    assert reply["status"] == status, told
    assert bool(is_error) == (status == "REJECTED"), told
    assert isinstance(reply["message"], str) and reply["message"], told
    assert (reply.get("commit") is not None) == (status == "OK" and tool not in WITHOUT_COMMIT), told
    if status == "REJECTED":
        codes = [error["code"] for error in reply["errors"]]
        assert codes and (code is None or code in codes), told


def node(modules):
    """The Node that the package.json beside this file brings along."""
    found = glob.glob(os.path.join(modules, "node-linux-*", "bin", "node"))
    assert len(found) == 1, f"one Node is wanted in {modules}, not {found}"
    return found[0]


def environment(home):
    """The environment of a server that knows nothing of the user: no git configuration, no identity."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "XDG_CONFIG_HOME": home,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


def check_repository(repository, home, head):
    """One commit per writing call, a clean work tree, nothing that git's own check finds, and a tag at the end."""

    def git(*arguments):
        done = subprocess.run(
            ["git", "-C", repository, *arguments],
            env=environment(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"git {arguments}: {done.stderr}"
        return done.stdout.strip() + done.stderr.strip()

    commits = int(git("rev-list", "--count", "HEAD"))
    assert commits == writing_calls(), f"{commits} commits for {writing_calls()} writing calls"
    assert git("rev-parse", "HEAD") == head, "HEAD is not the commit that the last reply named"
    assert git("status", "--porcelain") == "", "the work tree is not clean"
    assert git("fsck", "--strict", "--no-progress") == "", "git fsck has something to say"
    assert git("tag", "--points-at", "HEAD"), "no tag at the end"
    return commits


@contextlib.contextmanager
def http_server(server, home, token=None, options=()):
    """A server over HTTP, on a port that the machine chooses; gives its URL. At the end it must stop with success."""
    command = [server, "--http", "127.0.0.1:0", "--max-rate", "0", "--root", os.path.join(home, "investigations")]
    given = environment(home)
    if token:
        given["TOT_TOKEN"] = token
    process = subprocess.Popen(
        [*command, *options], env=given, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        said = process.stderr.readline()
        assert "http://" in said, f"the server gives no address: {said}"
        yield said[said.index("http://") :].strip()
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 0, f"the server ends with {process.returncode}: {said}"
        assert said == "", f"the server has something to say: {said}"
    finally:
        process.kill()
        process.wait()
