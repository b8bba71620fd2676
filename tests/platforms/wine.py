#!/usr/bin/env python3
"""The programs for Windows, tried on Linux under Wine.

  wine.py folder/of/exes [tests.exe path/of/python]

The demo must make the very commit that it makes on Linux, and a command of Windows must be evidence. With more arguments, the tests of the store must pass; Wine has no
git.exe, so those that ask git are left out, and counted. The conformance vectors run with the Python of that path, which
has PyYAML.

By hand, from the root of the project, with Debian's gcc-mingw-w64-x86-64 and wine:

  PROFILE=dev .ci/cross x86_64-pc-windows-gnu
  cargo test --target-dir target/cross --target x86_64-pc-windows-gnu --package tree-of-thoughts --lib --no-run     # names tests.exe
  python3 tests/platforms/wine.py target/cross/x86_64-pc-windows-gnu/debug tests.exe target/ci/venv/bin/python
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from demo import PROJECT, demo, run

NO_GIT = "git is on the PATH"


def evidence(wine, programs, scratch):
    tot = [*wine, programs / "tot.exe"]
    run([*tot, "start", "Why?", "--root", "mine"], cwd=scratch)
    printed = run([*tot, "run", "--root", "mine", "--exit", "3", "--", "cmd", "/c", "echo hello& exit 3"], expected=3, cwd=scratch)
    again = run([*tot, "rerun", "--root", "mine", "--all", "--yes", "--at", "here"], cwd=scratch)
    if printed.strip() != "hello" or "1 of 1 same" not in again:
        sys.exit(f"FAIL a command as evidence\n{printed}{again}")
    print("evidence: a command was captured, and run again")


def store(wine, tests):
    # That of the limits makes hundreds of random commits, which takes a minute there.
    said = run([*wine, tests, "store::", "--skip", "store::limits::"], expected=None)
    if not re.search(r"^test result: ", said, re.MULTILINE):
        sys.exit(f"FAIL the tests of the store did not end\n{said}")
    outcomes = dict(re.findall(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", said, re.MULTILINE))
    sections = re.split(r"^---- (\S+) stdout ----$", said, flags=re.MULTILINE)
    why = dict(zip(sections[1::2], sections[2::2]))
    failed = [name for name, outcome in outcomes.items() if outcome == "FAILED"]
    wrong = [name for name in failed if NO_GIT not in why.get(name, "")]
    if wrong:
        sys.exit("FAIL " + "\n".join(f"{name}\n{why.get(name, said)}" for name in wrong))
    passed = sum(outcome == "ok" for outcome in outcomes.values())
    if passed < 10:
        sys.exit(f"FAIL only {passed} tests of the store passed\n{said}")
    print(f"store: {passed} tests passed; {len(failed)} left out, since there is no git.exe")


def vectors(wine, programs, python, scratch):
    start = '{"ruleset":"$RULESET"}'
    script = PROJECT / "tests" / "vectors"
    options = ["--vectors", script, "--skip-slow", "--start-args", start]
    server = [*wine, programs / "tot-mcp.exe", "--root", "vectors"]
    print("vectors:", run([python, script / "run_vectors.py", *options, "--", *server], cwd=scratch).splitlines()[-1])


def main():
    programs, *tests = (Path(path).resolve() for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        os.environ |= {"WINEPREFIX": str(scratch / "wine"), "WINEDEBUG": "-all", "RUST_BACKTRACE": "0"}
        for folder in {programs, *(test.parent for test in tests)}:
            library = folder / "bcryptprimitives.dll"
            source = Path(__file__).with_name("bcryptprimitives.c")
            run(["x86_64-w64-mingw32-gcc", "-shared", "-O2", "-o", library, source, "-ladvapi32"])
        try:
            demo(["wine", programs / "tot.exe"], scratch)
            evidence(["wine"], programs, scratch)
            if tests:
                store(["wine"], tests[0])
                # Not resolved: the Python of a venv is a link.
                vectors(["wine"], programs, Path(sys.argv[3]).absolute(), scratch)
        finally:
            # Else it would outlive its folder.
            subprocess.run(["wineserver", "-k"], stderr=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    main()
