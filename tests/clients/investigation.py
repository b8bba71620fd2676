"""A small but whole investigation, for the clients beside this file: the calls of tools.json, and what git must say
afterwards."""

import contextlib
import glob
import json
import os
import signal
import subprocess

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "tools.json"), encoding="utf-8") as file:
    TABLE = json.load(file)

# What is expected of each tool, by name.
TOOLS = TABLE["tools"]

CALLS = TABLE["calls"]


def arguments_of(call, session):
    """The arguments with the id of the investigation, where the tool takes it."""
    arguments = call["arguments"]
    return {**arguments, "sessionId": session} if "sessionId" in arguments else arguments


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


def writing_calls():
    """How many commits the calls make."""
    return sum(1 for call in CALLS if call["expect"] == "COMMIT")


def check_tools(tools):
    """What every listed tool must have: `tools` as the protocol sends it."""
    names = [tool["name"] for tool in tools]
    assert names == list(TOOLS), f"the tools are {names}, not {list(TOOLS)}"
    for tool in tools:
        name, hints = tool["name"], tool.get("annotations") or {}
        assert tool.get("title") and tool.get("description"), f"{name} has no title or no description"
        assert tool["inputSchema"]["type"] == "object", f"{name}: the input schema is no object"
        assert "outputSchema" not in tool, f"{name}: an output schema asks for structuredContent"
        for hint in ["readOnlyHint", "destructiveHint", "openWorldHint"]:
            assert isinstance(hints.get(hint), bool), f"{name} has no {hint}"
        assert hints["readOnlyHint"] == TOOLS[name]["reads"], f"{name}: readOnlyHint is {hints['readOnlyHint']}"


def reply(result):
    """The reply in a result: JSON in its one text, which every client hands to a model; links may follow."""
    assert result.get("structuredContent") is None, "a model would read it twice"
    text, *links = result["content"]
    assert all(link["type"] == "resource_link" for link in links), links
    return json.loads(text["text"])


def check_reply(call, reply, is_error):
    """That a call was answered as expected."""
    told, expect = f"{call['tool']}: {reply}", call["expect"]
    status = "OK" if expect in ("OK", "COMMIT") else "REJECTED"
    assert reply["status"] == status, told
    assert bool(is_error) == (status == "REJECTED"), told
    assert isinstance(reply["message"], str) and reply["message"], told
    assert (reply.get("commit") is not None) == (expect == "COMMIT"), told
    if status == "REJECTED":
        codes = [error["code"] for error in reply["errors"]]
        assert codes and (expect == "REJECTED" or expect in codes), told


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
    command = [server, "--http", "127.0.0.1:0", "--root", os.path.join(home, "investigations")]
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
