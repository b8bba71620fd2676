#!/usr/bin/env python3
"""What 1,000 runs in an investigation of 40 nodes cost, beside the same one without a run.

    cargo build --release && cargo build -p bench --bin specimens
    python3 tests/bench/runs.py target/release target/debug/specimens

Each is done in turn with its peer, on a copy of its own; printed are the medians of the processor's time, how many times
as long it takes with runs, and the memory; then the sizes of pages. `--small` takes 40 runs in place of 1,000, once, to see
that the script works.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

NODES = 40
# Each has the same share of the runs.
NODE = "R1.A"


def cost(command, env, text, accepted=(0,)):
    """Seconds of the processor and MB of a command that has this as its input, and what it prints."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as printed:
        given.write(text)
        given.seek(0)
        process = subprocess.Popen(command, env=env, stdin=given, stdout=printed, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        output = printed.read()
    if process.returncode not in accepted:
        raise SystemExit(f"{command} ended with {process.returncode}: {output}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output


def calls(session):
    """A conversation with the server: the greeting, and a call that reads."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
         "params": {"name": "tot_read", "arguments": {"sessionId": session, "nodeIds": [NODE]}}},
    ]
    return "".join(json.dumps(message) + "\n" for message in messages)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, help="the folder of tot, tot-mcp and tot-report")
    parser.add_argument("specimens", type=pathlib.Path, help="the program that makes the investigation")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    many, times = (40, 1) if options.small else (1_000, 5)
    tot, server, report = (options.programs.resolve() / name for name in ("tot", "tot-mcp", "tot-report"))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1",
               "GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
               "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"}
        found = {}
        sessions = {}
        for runs in (0, many):
            place = folder / str(runs) / "one"
            cost([options.specimens.resolve(), "runs", str(runs), str(NODES), place], env, "")
            subprocess.run(["git", "-C", place, "reset", "-q", "--hard"], env=env, check=True)
            meta = (place / "investigation.yaml").read_text()
            sessions[runs] = next(line.split(": ")[1].strip() for line in meta.splitlines() if line.startswith("id: "))
        for _ in range(times):
            for runs, session in sessions.items():
                root = folder / str(runs)
                of = ["--root", root]
                shutil.rmtree(folder / f"site{runs}", ignore_errors=True)
                for name, command, text in [
                    ("tot show", [tot, "show", *of], ""),
                    (f"tot show {NODE}", [tot, "show", NODE, *of], ""),
                    ("tot_read", [server, *of], calls(session)),
                    ("tot run", [tot, "run", NODE, *of, "--", "true"], ""),
                    ("tot check", [tot, "check", *of], ""),
                    ("tot rerun --dry-run", [tot, "rerun", "--all", "--dry-run", *of], ""),
                    ("tot-report", [report, root / "one", "--out", folder / f"site{runs}"], ""),
                ]:
                    # The nodes are older than what they extend, which check finds.
                    accepted = (0, 1) if name == "tot check" else (0,)
                    seconds, memory, output = cost(command, env, text, accepted)
                    assert name != "tot_read" or '"isError":true' not in output, output
                    assert name != "tot rerun --dry-run" or output.count("captured by") >= runs * 4 // 5, output
                    found.setdefault(name, {}).setdefault(runs, []).append((seconds, memory, len(output)))
        print(f"{'':<20} {'0 runs':>9} {f'{many:,} runs':>11} {'times':>6} {'MB':>6} {'MB':>6} {'printed':>9}")
        for name, costs in found.items():
            medians = {runs: [statistics.median(figure) for figure in zip(*taken)] for runs, taken in costs.items()}
            none, all_of_them = medians[0], medians[many]
            print(f"{name:<20} {none[0]:>7.3f} s {all_of_them[0]:>9.3f} s {all_of_them[0] / none[0]:>6.1f}"
                  f" {none[1]:>6.0f} {all_of_them[1]:>6.0f} {all_of_them[2] / 1e3:>6.0f} kB")
        for page in ("index.html", "references.html", f"nodes/{NODE}.html", "history.html", "investigation.json"):
            sizes = [next((folder / f"site{runs}").rglob(page)).stat().st_size / 1e3 for runs in sessions]
            print(f"{page:<20} {sizes[0]:>6.0f} kB {sizes[1]:>8.0f} kB")


if __name__ == "__main__":
    main()
