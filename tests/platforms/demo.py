#!/usr/bin/env python3
"""The demo of the programs for another system: it must make the very commit that it makes on Linux.

  demo.py path/of/tot

On a Linux that starts programs of the other system by an emulator: for aarch64, with Debian's qemu-user-static and
binfmt-support,

  .ci/cross aarch64-unknown-linux-musl
  python3 tests/platforms/demo.py target/cross/aarch64-unknown-linux-musl/release/tot
"""

import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def run(words, expected=0, **options):
    """What a program prints. One that ends otherwise fails the whole run, unless `expected` is None."""
    words = [str(word) for word in words]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", **options
    )
    if expected is not None and done.returncode != expected:
        sys.exit(f"FAIL {words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def demo(tot, scratch):
    """Plays it in the folder `scratch` by the words of the command `tot`."""
    run([*tot, "demo", "demo"], cwd=scratch)
    if not (scratch / "demo" / "site" / "index.html").is_file():
        sys.exit("FAIL the demo made no site")
    [repository] = (path.parent for path in scratch.glob("demo/investigations/*/.git"))
    made = run(["git", "-C", repository, "rev-parse", "HEAD"]).strip()
    heads = run(["git", "bundle", "list-heads", PROJECT / "investigations" / "demo.bundle"])
    if f"{made} HEAD" not in heads:
        sys.exit(f"FAIL the demo made {made}, on Linux\n{heads}")
    status = run(["git", "-C", repository, "status", "--porcelain"])
    faults = run(["git", "-C", repository, "fsck", "--strict", "--no-progress"])
    if status or faults:
        sys.exit(f"FAIL the repository of the demo: {status}{faults}")
    print(f"demo: {made}, as on Linux, clean and sound")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        demo([Path(sys.argv[1]).resolve()], Path(folder))
