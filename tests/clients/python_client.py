#!/usr/bin/env python3
"""The official Python client (PyPI `mcp`) against a real server over stdio and over HTTP.

  python_client.py path/to/tot-mcp

Lists the tools, runs the investigation of `investigation.py`, reads its resources and prompts, and looks
at its git repository. With `mcp` 2.x all of it runs twice: by `initialize`, and by `server/discover` (2026-07-28).
Over stdio the server asks the person in front of the client before the end.

By hand, from the root of the project:

  cargo build
  python3 -m venv target/ci/venv && target/ci/venv/bin/pip install -r tests/clients/requirements.txt
  target/ci/venv/bin/python tests/clients/python_client.py target/debug/tot-mcp

and for `mcp` 1.x the same with another folder and requirements-1.txt.
"""

import asyncio
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version

from mcp import ClientSession, StdioServerParameters
from mcp.types import ElicitResult
from pydantic import AnyUrl
from mcp.client.stdio import stdio_client

import investigation

TOKEN = "a-token-for-the-python-client"


async def play(client):
    """Lists the tools and makes the calls; gives the repository and the last commit."""
    listed = (await client.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)
    investigation.check_tools(listed["tools"])
    session = repository = head = None
    for call in investigation.CALLS:
        result = await client.call_tool(call["tool"], investigation.arguments_of(call, session))
        result = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        reply = investigation.reply(result)
        investigation.check_reply(call, reply, result.get("isError"))
        session, repository = session or reply["sessionId"], repository or reply["repository"]
        head = reply.get("commit") or head
    await look_around(client, session)
    return repository, head


async def look_around(client, session):
    """Resources and prompts."""
    plain = lambda result: result.model_dump(mode="json", by_alias=True, exclude_none=True)
    old = version("mcp").startswith("1.")
    listed = plain(await client.list_resources())["resources"]
    assert f"tot://{session}" in [resource["uri"] for resource in listed], listed
    assert len(plain(await client.list_resource_templates())["resourceTemplates"]) == 5
    for uri, mime, part in investigation.resources(session):
        content = plain(await client.read_resource(AnyUrl(uri) if old else uri))["contents"][0]
        assert content["mimeType"] == mime and part in content["text"], f"{uri}: {content}"
    try:
        uri = f"tot://{session}/nodes/R9.Z"
        await client.read_resource(AnyUrl(uri) if old else uri)
    except Exception as error:
        assert "no such node" in str(error), error
    else:
        raise AssertionError("a resource was read that is not there")
    names = [prompt["name"] for prompt in plain(await client.list_prompts())["prompts"]]
    assert names == [name for name, _, _ in investigation.prompts(session)], names
    for name, arguments, part in investigation.prompts(session):
        prompt = plain(await client.get_prompt(name, arguments))
        assert part in prompt["messages"][0]["content"]["text"], f"{name}: {prompt}"


async def say_yes(context, params):
    """The person in front of the client."""
    assert "May the investigation" in params.message, params
    return ElicitResult(action="accept", content={"accept": True, "comment": "Well done."})


async def by_session(transport):
    """As with `mcp` 1.x: `initialize`, then the calls."""
    heard = []

    async def hear(message):
        heard.append(str(message))

    async with transport as (read, write, *_), ClientSession(
        read, write, message_handler=hear, elicitation_callback=say_yes
    ) as client:
        hello = await client.initialize()
        hello = hello.model_dump(mode="json", by_alias=True)
        assert hello["instructions"], "the server gives no instructions"
        played = await play(client)
        # The older protocol tells everybody of a new investigation.
        assert any("list_changed" in message for message in heard), f"no word of the new investigation: {heard}"
        return hello["protocolVersion"], played


async def by_client(transport):
    """As with `mcp` 2.x: `server/discover`, then the calls."""
    from mcp import Client

    async with Client(transport, elicitation_callback=say_yes) as client:
        assert client.instructions, "the server gives no instructions"
        return client.protocol_version, await play(client)


def assert_checksums(repository):
    """Computes each commit's checksum with git and SHA-256 alone. `src/store/checksum.rs` describes it."""

    def git(*arguments):
        return subprocess.run(["git", "-C", repository, *arguments], check=True, capture_output=True).stdout

    def entry(mode, id):
        return (mode, bytes.fromhex(id.decode())) if int(mode) else (b"", b"")

    for commit in git("rev-list", "HEAD").decode().split():
        head, message = git("cat-file", "commit", commit).split(b"\n\n", 1)
        message, _, checksum = message.rpartition(b"Tot-Checksum: ")
        fields = [*re.search(rb"^author (.*) <(.*)> (.*)$", head, re.M).groups(), message]
        first = re.findall(rb"^parent (.*)$", head, re.M)[:1] or ["--root"]
        changes = git("diff-tree", "-r", "-z", "--no-renames", "--no-commit-id", *first, commit).split(b"\0")
        for path, change in sorted(zip(changes[1::2], changes[::2])):
            old_mode, mode, old, new, _ = change[1:].split(b" ")
            fields += [path, *entry(old_mode, old), *entry(mode, new)]
        digest = hashlib.sha256(b"".join(len(field).to_bytes(8, "big") + field for field in fields))
        assert checksum.decode() == f"1-{digest.hexdigest()[:32]}\n", commit


async def over_stdio(way, server, home):
    root = os.path.join(home, "investigations")
    parameters = StdioServerParameters(command=server, args=["--root", root, "--ask-before-end"], env=investigation.environment(home))
    protocol, (repository, head) = await way(stdio_client(parameters))
    assert_checksums(repository)
    with open(os.path.join(repository, "conclusion.yaml")) as file:
        assert "answer: accepted\n  said: Well done.\n" in file.read(), "what the person said is not stored"
    return protocol, (repository, head)


async def over_http(way, server, home):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with investigation.http_server(server, home, TOKEN) as url:
        if version("mcp").startswith("1."):
            from mcp.client.streamable_http import streamablehttp_client

            return await way(streamablehttp_client(url, headers))
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        async with httpx2.AsyncClient(headers=headers, timeout=30) as client:
            return await way(streamable_http_client(url, http_client=client))


def main():
    server = os.path.abspath(sys.argv[1])
    installed = version("mcp")
    ways = [by_session] if installed.startswith("1.") else [by_session, by_client]
    for way, over in itertools.product(ways, [over_stdio, over_http]):
        with tempfile.TemporaryDirectory() as home:
            protocol, (repository, head) = asyncio.run(over(way, server, home))
            commits = investigation.check_repository(repository, home, head)
        calls, by = len(investigation.CALLS), over.__name__.replace("_", " ")
        print(f"PASS mcp {installed} for Python {by}, protocol {protocol}: {calls} calls, {commits} commits")


if __name__ == "__main__":
    main()
