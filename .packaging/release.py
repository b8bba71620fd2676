"""Names of the files in a release. Only Cargo.toml states the version."""

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

MANIFEST = Path(__file__).resolve().parent.parent / "Cargo.toml"
VERSION = re.search(r'^version = "(.+)"$', MANIFEST.read_text(), re.MULTILINE).group(1)


def folder(target):
    """The folder in the archive."""
    return f"tree-of-thoughts-{VERSION}-{target}"


def archive(target):
    return folder(target) + (".zip" if "windows" in target else ".tar.gz")


def bundle(target):
    return folder(target) + ".mcpb"
