"""Makes the film in the README, `film.svg`: what the demo shows, in thirty seconds.

    python3 .github/film.py DEMO TOT > .github/film.svg

DEMO is the folder of a demo, TOT the program. The film changes one word in a copy of the demo's project, runs the commands, and
shows what they print, but for the measured numbers, which differ each time. .ci/run compares film.svg with a new one.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from textwrap import wrap

SECONDS, COLUMNS = 30, 100
WIDTH, HEIGHT, LEFT, LINE = 960, 420, 36, 22
STYLE = """svg { --page: #ffffff; --text: #1f2328; --quiet: #59636e; --green: #1a7f37; --red: #b3373a; --mark: #fff3c4 }
@media (prefers-color-scheme: dark) {
svg { --page: #0d1117; --text: #e6edf3; --quiet: #9198a1; --green: #3fb950; --red: #f47067; --mark: #4b3f12 } }
text { font: 15px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: var(--text); white-space: pre }
.title { font: 600 17px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif } .page { fill: var(--page) }
.quiet { fill: var(--quiet) } .green { fill: var(--green) } .red { fill: var(--red) } .mark { fill: var(--mark) }
"""
WORD = ("BEGIN IMMEDIATE", "BEGIN")


def text(lines, kind=""):
    """Returns wrapped lines, each with its class."""
    return [(part, kind) for line in lines for part in wrap(line, COLUMNS, subsequent_indent="  ") or [""]]


def scenes(demo, tot):
    """Returns the scenes, each a title and its lines."""
    site = json.loads((demo / "site" / "investigation.json").read_text(encoding="utf-8"))
    source = site["sources"][0]
    run = next(it for it in site["runs"] if it["runId"].endswith(source["target"].split(":")[1]))
    bottom = site["conclusion"]["bottomLine"].replace(f"[{source['text']}]({source['target']})", source["text"] + " ✓")
    bottom = bottom.split("; ")[0] + "."
    shown = [("$ " + " ".join(run["ran"]["command"]), "quiet")]
    for line in run["ran"]["output"]["text"].splitlines():
        is_it = "failed with" in line or line.startswith("transactions")
        shown.append((line, "mark" if is_it else ""))
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "demo"
        shutil.copytree(demo, project)
        file = project / "src" / "queue" / "db.py"
        file.write_text(file.read_text().replace(f'"{WORD[0]}"', f'"{WORD[1]}"'))
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", "You"), ("EMAIL", "you@localhost"), ("DATE", "2026-11-03T09:00:00Z"))}

        def ran(*command):
            done = subprocess.run(command, cwd=project, env={**os.environ, **who}, capture_output=True, text=True)
            return done.stdout.splitlines()

        verdict = next(line for line in ran(tot, "show") if line.startswith("Confirmed"))
        ran("git", "commit", "--all", "--message", "Take the lock later")
        diff = [line for line in ran("git", "show", "--format=") if line[:1] in "+-" and line[:3] not in ("+++", "---")]
        impact = ran(tot, "impact", "HEAD~1..HEAD")
        comment = ran(tot, "impact", "HEAD~1..HEAD", "--markdown")
        rerun = ran(tot, "rerun", "--changed", "R4.A1a1", "--yes", "--no-store")
    said = [line.split(" (exit")[0] for line in rerun if line.startswith(("differs", "0 of", "The conclusion"))]
    impact, comment = ([line for line in lines if "tot rerun" not in line] for lines in (impact, comment))
    return [
        ("An agent's answer. Each important sentence leads to what shows it.", text([bottom]) + [("", "")]
         + text([verdict], "green")),
        ("The source of “" + source["text"] + "”: a captured command, and its output", shown),
        ("Next month, somebody changes one word", [(line, "red" if line[0] == "-" else "green") for line in diff]),
        ("What rests on it? Nothing is run to know this.", [("$ tot impact HEAD~1..HEAD", "quiet")] + text(impact)),
        ("Does it still hold?", [("$ tot rerun --changed R4.A1a1", "quiet")] + text(said, "red")),
        ("The comment on the pull request", text(comment)),
    ]


def film(all_scenes):
    slot, body, keys = 100 / len(all_scenes), [], []
    for number, (title, lines) in enumerate(all_scenes):
        start, end = number * slot, (number + 1) * slot
        keys.append(f"@keyframes s{number} {{ 0%,{start:.2f}% {{ opacity: 0 }} {start + 0.01:.2f}%,{end:.2f}% {{ opacity: 1 }} "
                    f"{min(end + 0.01, 100):.2f}%,100% {{ opacity: {int(end > 99)} }} }}")
        y, drawn = 92, [f'<text class="title" x="{LEFT}" y="48">{escape(title)}</text>']
        for line, kind in lines[: (HEIGHT - y) // LINE]:
            if kind == "mark":
                drawn.append(f'<rect class="mark" x="{LEFT - 6}" y="{y - 16}" width="{9 * len(line) + 14}" height="{LINE}"/>')
            drawn.append(f'<text class="{kind if kind != "mark" else ""}" x="{LEFT}" y="{y}">{escape(line)}</text>')
            y += LINE
        first = "" if number else " first"
        body.append(f'<g class="scene{first}" style="animation-name: s{number}">{"".join(drawn)}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="The demo in thirty seconds">\n'
        f"<style>{STYLE}.scene {{ animation: {SECONDS}s step-end infinite; opacity: 0 }}\n" + "\n".join(keys) + "\n"
        "@media (prefers-reduced-motion: reduce) { .scene { animation: none } .first { opacity: 1 } }</style>\n"
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def main():
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.write(film(scenes(Path(sys.argv[1]), os.path.abspath(sys.argv[2]))))


main()
