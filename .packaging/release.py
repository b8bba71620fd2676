"""Names of the files in a release. Only Cargo.toml states the version."""

import os
import re
from pathlib import Path

PROGRAMS = ("tot", "tot-mcp", "tot-report")

# The targets, with their systems' names in MCP bundles.
SYSTEMS = {
    "x86_64-unknown-linux-musl": "linux",
    "aarch64-unknown-linux-musl": "linux",
    "aarch64-apple-darwin": "darwin",
    "x86_64-apple-darwin": "darwin",
    "x86_64-pc-windows-gnu": "win32",
}

# The package on npm, and the beginning of the names of those for one system.
NPM = "tot-mcp"

MANIFEST = Path(__file__).resolve().parent.parent / "Cargo.toml"
VERSION = re.search(r'^version = "(.+)"$', MANIFEST.read_text(), re.MULTILINE).group(1)


def folder(target):
    """The folder in the archive."""
    return f"tree-of-thoughts-{VERSION}-{target}"


def archive(target):
    return folder(target) + (".zip" if "windows" in target else ".tar.gz")


def bundle(target):
    return folder(target) + ".mcpb"


def system(target):
    return SYSTEMS.get(target, "linux")


def npm_package(target):
    """The npm package for a target, with Node's names of the system and the processor."""
    return f"{NPM}-{system(target)}-{'arm64' if target.startswith('aarch64') else 'x64'}"


def repository():
    """The address of the repository, from Cargo.toml or, in its workflows, from GitHub. npm compares it with the builder's."""
    named = re.search(r'^repository = "(.+?)/?"$', MANIFEST.read_text(), re.MULTILINE)
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    return named.group(1) if named else f"{server}/{name}" if name else None
