#!/usr/bin/env python3
"""The static programs for Linux, beside those that use this system's glibc.

  static.py folder/of/static/binaries folder/of/binaries

They must need no library, and make the same demo. How long `tot-mcp` takes from its start to its answer to `initialize` is
printed as a ratio, of the medians of starts in turns.

By hand, from the root of the project:

  .ci/cross x86_64-unknown-linux-musl && cargo build --release
  python3 tests/platforms/static.py target/cross/x86_64-unknown-linux-musl/release target/release
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from demo import demo, run

STARTS = 30
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "static.py", "version": "1"},
    },
}


def start(server, root):
    since = time.perf_counter()
    with subprocess.Popen(
        [server, "--root", root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        process.stdin.write(json.dumps(INITIALIZE) + "\n")
        process.stdin.flush()
        reply = json.loads(process.stdout.readline())
        took = time.perf_counter() - since
        process.stdin.close()
    assert reply["result"]["serverInfo"]["name"], reply
    return took


def main():
    static, usual = (Path(folder).resolve() for folder in sys.argv[1:])
    headers = run(["readelf", "--program-headers", "--dynamic", static / "tot-mcp"])
    if "INTERP" in headers or "NEEDED" in headers:
        sys.exit(f"FAIL tot-mcp is not static\n{headers}")
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        demo([static / "tot"], scratch)
        taken = {static: [], usual: []}
        for _ in range(STARTS):
            for folder, times in taken.items():
                times.append(start(folder / "tot-mcp", scratch / "investigations"))
    ratio = statistics.median(taken[static]) / statistics.median(taken[usual])
    print(f"static: no libraries; its start takes {ratio:.2f} times that with glibc")


if __name__ == "__main__":
    main()
