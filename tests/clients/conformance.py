#!/usr/bin/env python3
"""The protocol's own conformance suite (npm `@modelcontextprotocol/conformance`) against a real server over HTTP.

  conformance.py path/to/tot-mcp path/to/node_modules

Runs what each revision of the protocol requires of a server. What fails must stand in conformance-REVISION.yaml, and what
stands there must fail: these are the suite's own fixtures (tools, prompts and resources named `test_*` and `test://`,
which no real server has) and features that the protocol has deprecated. How to install the modules by hand stands at the
head of inspector.py.
"""

import os
import re
import subprocess
import sys
import tempfile

import investigation

REVISIONS = ["2025-11-25", "2026-07-28"]


def run(url, modules, revision, output):
    suite = os.path.join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")
    here = os.path.dirname(os.path.abspath(__file__))
    baseline = os.path.join(here, f"conformance-{revision}.yaml")
    command = [investigation.node(modules), suite, "server", "--url", url, "--requirements", revision]
    done = subprocess.run(
        [*command, "-o", output, "--expected-failures", baseline],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    summary = done.stdout[max(done.stdout.find("=== SUMMARY"), 0) :]
    assert done.returncode == 0, f"conformance {revision}: exit {done.returncode}\n{summary}{done.stderr}"
    passed = re.search(r"Total: (\d+) passed, (\d+) failed", summary)
    return passed.groups() if passed else ("?", "?")


def main():
    server, modules = map(os.path.abspath, sys.argv[1:3])
    for revision in REVISIONS:
        with tempfile.TemporaryDirectory() as home:
            with investigation.http_server(server, home, options=["--log", "error"]) as url:
                passed, failed = run(url, modules, revision, os.path.join(home, "results"))
        print(f"PASS conformance {revision}: {passed} checks passed, {failed} failed as the baseline says")


if __name__ == "__main__":
    main()
