#!/usr/bin/env python3
"""What a site costs: ours beside mdBook on the same text, and our graph beside Graphviz's, in one run.

  report.py FOLDER_OF_THE_PROGRAMS SPECIMENS [MDBOOK]      # 1,000 and 10,000 nodes, and 1,000 investigations
  report.py --many FOLDER_OF_THE_PROGRAMS SPECIMENS [MDBOOK]  # 1,000 investigations alone
  report.py --once FOLDER_OF_THE_PROGRAMS SPECIMENS        # 50 nodes and 8 investigations, to see that it runs

By hand, from the root of the project (mdBook and Graphviz are left out, and said to be, where they are missing):

  cargo build --release --workspace --bins
  cargo install mdbook --locked --root target/mdbook
  python3 tests/bench/report.py target/release target/release/specimens target/mdbook/bin/mdbook

A figure is the processor's time of the whole process, user and system, as the kernel counts it: how busy the machine
is changes it little. Each is the least of three runs. Ours reads a git repository with its history and makes all pages,
the graph among them, and has its time by the clock beside it; mdBook reads the same findings as Markdown files, a chapter
for each node. Memory is the most that was resident. Without a graph there is no page of ours, so the graph is also timed
alone: drawn several times in one process, and `dot -Tsvg` on the same graph.

Of 1,000 investigations of 20 nodes: a first run, one over its site after a commit to one of them, and one after no change;
the ratio is that of the first and each. mdBook and Hugo have the same findings as Markdown files: a book of them all, and a
site with the plainest layout there can be. Both make all pages in each run, also when one text has changed.

For 10,000 nodes mdBook takes minutes, so there the others run once, and end at LIMIT: a figure with `>` is of one that
was not done by then. On four busy cores all of it takes ten minutes.
"""

import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from typing import NamedTuple

RUNS = 3
DRAWINGS = 5
# Seconds of the processor that mdBook and Graphviz may take.
LIMIT = 400


class Cost(NamedTuple):
    """What a command took: seconds of the processor, MB of memory, seconds by the clock; and whether it came to its end."""

    seconds: float
    memory: float
    clock: float
    done: bool = True

    def shown(self, scale, digits):
        """The seconds, times the scale."""
        return f"{'' if self.done else '>'}{self.seconds * scale:.{digits}f}"


def cost(*command, limit=None):
    """What a command takes, at most so many seconds of the processor."""
    start = time.monotonic()
    process = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ])
    if limit:
        resource.prlimit(process, resource.RLIMIT_CPU, (limit, limit + 10))
    _, status, usage = os.wait4(process, 0)
    done = not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU)
    if status and done:
        sys.exit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, time.monotonic() - start, done)


def least(runs, *command, before=lambda: None, limit=None):
    """The least of several runs, of each figure."""
    costs = []
    for _ in range(runs):
        before()
        costs.append(cost(*command, limit=limit))
    return Cost(*(min(figures) for figures in zip(*costs)))


def main():
    arguments = sys.argv[1:]
    once = arguments[:1] == ["--once"]
    many = arguments[:1] == ["--many"]
    if once or many:
        arguments = arguments[1:]
    if len(arguments) not in (2, 3):
        sys.exit(__doc__)
    programs, specimens = (os.path.abspath(path) for path in arguments[:2])
    mdbook = shutil.which(arguments[2] if len(arguments) == 3 else "mdbook")
    dot = shutil.which("dot")
    if many:
        return measure_many(1000, programs, specimens, mdbook)
    sizes, runs = ((50,), 1) if once else ((1000, 10000), RUNS)
    print(f"{'nodes':>6} {'ours s':>8} {'clock s':>8} {'ms/node':>8} {'MB':>6}"
          f" {'mdBook s':>9} {'ms/page':>8} {'MB':>6} {'ratio':>6}"
          f" {'graph ms':>9} {'dot ms':>9} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            measure(folder, size, runs, programs, specimens, mdbook, dot)
    for name, found in (("mdBook", mdbook), ("Graphviz's dot", dot)):
        if not found:
            print(f"{name} is missing, and left out.")
    measure_many(8 if once else 1000, programs, specimens, mdbook)


def measure_many(number, programs, specimens, mdbook):
    """What a site of many investigations costs, and over an earlier one after one of them has changed."""
    with tempfile.TemporaryDirectory() as folder:
        all_of_them, site = os.path.join(folder, "all"), os.path.join(folder, "site")
        cost(specimens, "many", str(number), "20", all_of_them)
        report = lambda: cost(os.path.join(programs, "tot-report"), all_of_them, "--out", site)
        first = report()
        one = os.path.join(all_of_them, sorted(os.listdir(all_of_them))[number // 2])
        # Nothing is checked out there, so git's index is made first.
        cost("git", "-C", one, "read-tree", "HEAD")
        note = ("-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "--quiet", "--allow-empty", "-m", "A note")
        cost("git", "-C", one, *note)
        second, third = report(), report()
        print(f"{'investigations':>14} {'by':>8} {'run':>8} {'CPU s':>8} {'clock s':>8} {'MB':>6} {'ratio':>6}")

        def rows(by, *runs):
            for name, run in zip(("first", "one new", "the same"), runs):
                ratio = runs[0].seconds / run.seconds
                print(f"{number:>14} {by:>8} {name:>8} {run.shown(1, 2):>8} {run.clock:>8.2f} {run.memory:>6.0f}"
                      f" {ratio:>6.1f}", flush=True)

        rows("tot", first, second, third)
        shutil.rmtree(site)
        texts = os.path.join(folder, "texts")
        cost(specimens, "texts", "20", texts)
        for name, program, prepare in (("Hugo", shutil.which("hugo"), hugo_site), ("mdBook", mdbook, mdbook_book)):
            if not program:
                print(f"{name} is missing, and left out.")
                continue
            command, changed = prepare(os.path.join(folder, name), texts, number)
            begin = cost(program, *command, limit=LIMIT)
            runs = [begin]
            # One that was not done in time would not be the second time.
            if begin.done:
                with open(changed, "a", encoding="utf-8") as file:
                    file.write("\nA note.\n")
                runs.append(cost(program, *command, limit=LIMIT))
            rows(name, *runs)


def chapters(texts):
    """The names of the files of findings, and what each says."""
    for name in sorted(os.listdir(texts)):
        if name != "SUMMARY.md":
            with open(os.path.join(texts, name), encoding="utf-8") as file:
                yield name, file.read()


def hugo_site(place, texts, number):
    """The same findings for Hugo, once for each investigation: how to make the site, and one of its texts."""
    layouts = os.path.join(place, "layouts", "_default")
    os.makedirs(layouts)
    with open(os.path.join(place, "hugo.toml"), "w", encoding="utf-8") as file:
        file.write('baseURL = "https://example.org/"\ntitle = "The same text"\n')
        file.write('disableKinds = ["taxonomy", "term", "RSS", "sitemap"]\n')
    links = "{{ range .Pages }}<a href={{ .RelPermalink }}>{{ .Title }}</a>{{ end }}"
    for name, body in (("single", "{{ .Content }}"), ("list", links)):
        with open(os.path.join(layouts, f"{name}.html"), "w", encoding="utf-8") as file:
            file.write(f"<!doctype html><title>{{{{ .Title }}}}</title>{body}")
    files = list(chapters(texts))
    for at in range(number):
        folder = os.path.join(place, "content", str(at))
        os.makedirs(folder)
        for name, text in files:
            title, _, rest = text.removeprefix("# ").partition("\n")
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(f"+++\ntitle = '{title.replace(chr(39), '')}'\n+++\n{rest}")
    # The name of the file that it reads has changed between versions.
    return ("--source", place, "--config", os.path.join(place, "hugo.toml"), "--quiet"), os.path.join(folder, name)


def mdbook_book(place, texts, number):
    """The same findings for mdBook, a part of the book for each investigation: how to make it, and one of its texts."""
    source = os.path.join(place, "src")
    os.makedirs(source)
    with open(os.path.join(place, "book.toml"), "w", encoding="utf-8") as file:
        file.write('[book]\ntitle = "The same text"\n')
    files = list(chapters(texts))
    with open(os.path.join(source, "SUMMARY.md"), "w", encoding="utf-8") as summary:
        summary.write("# Summary\n\n")
        for at in range(number):
            os.makedirs(os.path.join(source, str(at)))
            for name, text in files:
                summary.write(f"- [{at} {name.removesuffix('.md')}]({at}/{name})\n")
                with open(os.path.join(source, str(at), name), "w", encoding="utf-8") as file:
                    file.write(text)
    return ("build", place), os.path.join(source, str(at), name)


def measure(folder, size, runs, programs, specimens, mdbook, dot):
    place = lambda *parts: os.path.join(folder, str(size), *parts)
    os.makedirs(place("book"))
    others = runs if size <= 1000 else 1
    cost(specimens, "large", str(size), place("repository"))
    ours = least(runs, os.path.join(programs, "tot-report"), place("repository"), "--out", place("site"))
    row = f"{size:>6} {ours.seconds:>8.2f} {ours.clock:>8.2f} {ours.shown(1e3 / size, 2):>8} {ours.memory:>6.0f}"
    shutil.rmtree(place("site"))
    if mdbook:
        with open(place("book", "book.toml"), "w", encoding="utf-8") as file:
            file.write('[book]\ntitle = "The same text"\n')
        cost(specimens, "texts", str(size), place("book", "src"))
        clear = lambda: shutil.rmtree(place("book", "book"), ignore_errors=True)
        other = least(others, mdbook, "build", place("book"), before=clear, limit=LIMIT)
        row += f" {other.shown(1, 2):>9} {other.shown(1e3 / size, 2):>8} {other.memory:>6.0f}"
        row += f" {other.shown(1 / ours.seconds, 1):>6}"
        clear()
    else:
        row += f" {'-':>9} {'-':>8} {'-':>6} {'-':>6}"
    graph = place("graph.dot")
    none = least(runs, specimens, "graph", str(size), "0", graph)
    many = least(runs, specimens, "graph", str(size), str(DRAWINGS), graph)
    # Of a few nodes it is less than what can be measured.
    drawn = max(many.seconds - none.seconds, 1e-4) / DRAWINGS
    row += f" {drawn * 1e3:>9.1f}"
    if dot:
        other = least(others, dot, "-Tsvg", graph, "-o", place("dot.svg"), limit=LIMIT)
        row += f" {other.shown(1e3, 0):>9} {other.shown(1 / drawn, 1):>6}"
    else:
        row += f" {'-':>9} {'-':>6}"
    print(row, flush=True)


if __name__ == "__main__":
    main()
