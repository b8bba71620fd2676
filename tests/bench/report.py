#!/usr/bin/env python3
"""What a site costs: ours beside mdBook on the same text, and our graph beside Graphviz's, in one run.

  report.py FOLDER_OF_THE_PROGRAMS SPECIMENS [MDBOOK]      # 1,000 and 10,000 nodes
  report.py --once FOLDER_OF_THE_PROGRAMS SPECIMENS        # 50 nodes, to see that it runs

By hand, from the root of the project (mdBook and Graphviz are left out, and said to be, where they are missing):

  cargo build --release --bins --example specimens
  cargo install mdbook --locked --root target/mdbook
  python3 tests/bench/report.py target/release target/release/examples/specimens target/mdbook/bin/mdbook

A figure is the processor's time of the whole process, user and system, as the kernel counts it: how busy the machine
is changes it little. Each is the least of three runs. Ours reads a git repository with its history and makes all pages,
the graph among them; mdBook reads the same findings as Markdown files, a chapter for each node. Memory is the most that
was resident. Without a graph there is no page of ours, so the graph is also timed alone: drawn several times in one
process, and `dot -Tsvg` on the same graph.
"""

import os
import shutil
import sys
import tempfile

RUNS = 3
DRAWINGS = 5


def cost(*command):
    """Seconds of the processor and MB of memory that a command takes."""
    process = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ])
    _, status, usage = os.wait4(process, 0)
    if status:
        sys.exit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def least(runs, *command, before=lambda: None):
    """The least of several runs, of time and of memory."""
    figures = []
    for _ in range(runs):
        before()
        figures.append(cost(*command))
    return min(seconds for seconds, _ in figures), min(memory for _, memory in figures)


def main():
    arguments = sys.argv[1:]
    once = arguments[:1] == ["--once"]
    if once:
        arguments = arguments[1:]
    if len(arguments) not in (2, 3):
        sys.exit(__doc__)
    programs, specimens = (os.path.abspath(path) for path in arguments[:2])
    mdbook = shutil.which(arguments[2] if len(arguments) == 3 else "mdbook")
    dot = shutil.which("dot")
    sizes, runs = ((50,), 1) if once else ((1000, 10000), RUNS)
    print(f"{'nodes':>6} {'ours s':>8} {'ms/node':>8} {'MB':>6} {'mdBook s':>9} {'ms/page':>8} {'MB':>6} {'ratio':>6}"
          f" {'graph ms':>9} {'dot ms':>9} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            measure(folder, size, runs, programs, specimens, mdbook, dot)
    for name, found in (("mdBook", mdbook), ("Graphviz's dot", dot)):
        if not found:
            print(f"{name} is missing, and left out.")


def measure(folder, size, runs, programs, specimens, mdbook, dot):
    place = lambda *parts: os.path.join(folder, str(size), *parts)
    os.makedirs(place("book"))
    cost(specimens, "large", str(size), place("repository"))
    seconds, memory = least(runs, os.path.join(programs, "tot-report"), place("repository"), "--out", place("site"))
    row = f"{size:>6} {seconds:>8.2f} {seconds * 1e3 / size:>8.2f} {memory:>6.0f}"
    shutil.rmtree(place("site"))
    if mdbook:
        with open(place("book", "book.toml"), "w", encoding="utf-8") as file:
            file.write('[book]\ntitle = "The same text"\n')
        cost(specimens, "texts", str(size), place("book", "src"))
        # Beyond that it would only cost minutes more.
        most = runs if size <= 1000 else 1
        clear = lambda: shutil.rmtree(place("book", "book"), ignore_errors=True)
        other, other_memory = least(most, mdbook, "build", place("book"), before=clear)
        row += f" {other:>9.2f} {other * 1e3 / size:>8.2f} {other_memory:>6.0f} {other / seconds:>6.1f}"
        clear()
    else:
        row += f" {'-':>9} {'-':>8} {'-':>6} {'-':>6}"
    graph = place("graph.dot")
    none, _ = least(runs, specimens, "graph", str(size), "0", graph)
    many, _ = least(runs, specimens, "graph", str(size), str(DRAWINGS), graph)
    drawn = (many - none) / DRAWINGS
    row += f" {drawn * 1e3:>9.1f}"
    if dot and size <= 1000:
        other, _ = least(runs, dot, "-Tsvg", graph, "-o", place("dot.svg"))
        row += f" {other * 1e3:>9.0f} {other / drawn:>6.1f}"
    else:
        # At 10,000 nodes it runs for many minutes.
        row += f" {'-':>9} {'-':>6}"
    print(row, flush=True)


if __name__ == "__main__":
    main()
