#!/usr/bin/env python3
"""Measures `tot impact` over 200 investigations with 1,000 runs, for a change of 50 files of a project with 5,000.

    tests/bench/impact.py [PATH-OF-TOT]

Prints the best and the median time of ten calls, beside that of `tot list`, which reads the same investigations, and of
`git diff --name-only`, which reads the same change. Each call is a process of its own, so nothing of tot's is cached. Then the
median of five calls from a cold cache: before each, the system drops the contents of all files of the investigations and of the
project (not their names), so that they come from the disk.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

INVESTIGATIONS, RUNS, FILES, CHANGED = 200, 5, 5_000, 50


def main() -> None:
    tot = Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/tot").resolve()
    with tempfile.TemporaryDirectory() as folder:
        project, root = Path(folder, "project"), Path(folder, "root")
        project.mkdir()
        environment = {**os.environ, "TOT_ROOT": str(root)}

        def run(*command: str, cwd: Path = project, may_fail: bool = False) -> str:
            done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
            assert may_fail or done.returncode == 0, (command, done.stderr)
            return done.stdout

        run("git", "init", "-q", "-b", "main")
        for number in range(FILES):
            file = project / f"src/{number % 100}/{number}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"print({number})\n")
        run("git", "add", "."), run("git", "commit", "-qm", "Begin")
        run(str(tot), "start", "Why?", "--mode", "smoke"), run(str(tot), "propose", "Look")
        run(str(tot), "commit", "R1.A", "-m", "It is looked at.")
        run(str(tot), "propose", "--next")
        for number in range(RUNS):
            run(str(tot), "run", "R2.A1", "--input", f"src/{number}", "--", "python3", f"src/{number}/{number}.py")
        run(str(tot), "commit", "R2.A1", "-m", "It prints its number.", "--state", "FOUND")
        [first] = (found.parent for found in root.glob("*/investigation.yaml"))
        own = first.name[:36] if len(first.name) >= 36 else first.name
        meta = (first / "investigation.yaml").read_text()
        id_of_first = next(line for line in meta.splitlines() if line.startswith("id: "))[4:]
        for _ in range(INVESTIGATIONS - 1):
            new = id_of_first[:24] + uuid.uuid4().hex[:12]
            copy = root / first.name.replace(own, new)
            shutil.copytree(first, copy)
            (copy / "investigation.yaml").write_text(meta.replace(id_of_first, new))
            run("git", "commit", "-qam", "Copy", cwd=copy)
        for number in range(CHANGED):
            (project / f"src/{number % 100}/{number}.py").write_text("print(0)\n")
        run("git", "commit", "-qam", "Change")

        def measured(*command: str) -> str:
            times = []
            for _ in range(10):
                started = time.perf_counter()
                output = run(*command)
                times.append(time.perf_counter() - started)
            return f"{min(times):.2f} s, median {statistics.median(times):.2f} s: {output.strip().splitlines()[-1][:60]}"

        print(f"{INVESTIGATIONS} investigations, {INVESTIGATIONS * RUNS} runs, {CHANGED} of {FILES} files changed")
        print("tot impact HEAD~1..HEAD  ", measured(str(tot), "impact", "HEAD~1..HEAD"))
        print("tot impact               ", measured(str(tot), "impact"))
        print("tot list                 ", measured(str(tot), "list"))
        print("git diff --name-only     ", measured("git", "diff", "--name-only", "HEAD~1", "HEAD"))
        run("sync")
        files = [file for place in (root, project) for file in place.rglob("*") if file.is_file()]
        times = []
        for _ in range(5):
            for file in files:
                with file.open("rb") as opened:
                    os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            started = time.perf_counter()
            run(str(tot), "impact", "HEAD~1..HEAD")
            times.append(time.perf_counter() - started)
        print(f"tot impact, cold cache    {min(times):.2f} s, median {statistics.median(times):.2f} s")


if __name__ == "__main__":
    main()
