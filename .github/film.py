"""Makes the film in the README, `film.svg`: the tree of an investigation grows, commit by commit, in thirty seconds.

    python3 .github/film.py SITE > .github/film.svg

SITE is the folder of one investigation's report. The film shows its `investigation.json` in the colours of its `graph.svg`.
.ci/run compares film.svg with a new one.
"""

import json
import re
import sys
from html import escape
from pathlib import Path

SECONDS, HOLD = 30, 4
WIDTH, HEIGHT, TOP, SIDE = 960, 470, 88, 40
STYLE = """text { font: 15px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--graph-text) }
.quiet { fill: var(--graph-quiet); font-size: 13px } .said { font-weight: 600 }
.edge { fill: none; stroke: var(--graph-border); stroke-width: 1.5 }
.way { fill: none; stroke: var(--role-solution); stroke-width: 5 }
circle { stroke-width: 2; stroke: currentColor; fill: currentColor } .page { fill: var(--graph-background) }
.question { color: var(--graph-text) } .role-refutation { color: var(--role-deadEnd) }
.role-pending { color: var(--graph-quiet); fill: var(--graph-background); stroke-dasharray: 3 2 }
"""


def shorten(text, most):
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


WORDS = {
    "open": "Explored",
    "awaitingConfirmation": "Awaiting confirmation",
    "solution": "Answer",
    "confirmation": "Confirmation",
    "theory": "Theory",
    "exhausted": "Nothing left to try",
    "deadEnd": "Ruled out",
}


def history(investigation):
    """Returns the states, each as word and class, and the commits, oldest first: `(time, subject, [(id, parent, state)])`."""
    nodes = {node["nodeId"]: node for node in investigation["nodes"]}
    roles = {node["state"]: node["role"] for node in nodes.values() if "state" in node}
    refuting = {by for it in investigation["refuted"] for by in it["verdict"].get("refutedBy", [])}
    states = [("Proposed", "role-pending"), ("Refutation", "role-refutation")]
    states += [(word, f"role-{role}") for role, word in WORDS.items()]
    classes = [kind for _, kind in states]
    changed, commits = {}, []
    for commit in reversed(investigation["commits"]):
        changes = []
        for change in commit["changes"]:
            node = nodes.get(change.get("nodeId"))
            if not node or change["what"] not in ("proposed", "committed", "reclassified"):
                continue
            number = changed.get(node["nodeId"], 0)
            if change["what"] == "proposed":
                kind = "role-pending"
            elif node["nodeId"] in refuting:
                kind = "role-refutation"
            elif change["what"] == "committed":
                kind = f"role-{roles[node['committedAs']]}"
            else:
                kind = f"role-{roles[node['reclassified'][number]['to']]}"
                changed[node["nodeId"]] = number + 1
            changes.append((node["nodeId"], node.get("parent"), classes.index(kind)))
        commits.append((commit["at"][:16].replace("T", " ") + " UTC", commit["message"].split("\n")[0], changes))
    return states, commits


def placed(commits):
    """Returns the position and the parent of every node of the history: `{id: (x, y, parent)}`."""
    parents = {}
    for _, _, changes in commits:
        for node, parent, _ in changes:
            parents.setdefault(node, parent)
    leaves = dict.fromkeys(parents, 0)
    for node in reversed(parents):
        leaves[node] = max(leaves[node], 1)
        if parents[node] in leaves:
            leaves[parents[node]] += leaves[node]
    rounds = {node: int(node[1:].split(".")[0]) for node in parents}
    step = (WIDTH - 2 * SIDE) / max(rounds.values())
    height = (HEIGHT - TOP - SIDE) / max(1, sum(leaves[node] for node in parents if parents[node] not in parents))
    used, places = {None: 0.0}, {}
    for node, parent in parents.items():
        parent = parent if parent in parents else None
        above = used[parent]
        used[node] = above
        used[parent] = above + leaves[node] * height
        places[node] = (SIDE + rounds[node] * step, TOP + above + leaves[node] * height / 2, parent)
    return places


def film(states, commits, investigation, palette):
    places = placed(commits)
    names = {node["nodeId"]: node.get("headline") or node["title"] for node in investigation["nodes"]}
    answer = next((it["nodeId"] for it in investigation["restsOn"]), None)
    slot = (SECONDS - HOLD) / len(commits)
    start = (SIDE, (TOP + HEIGHT - SIDE) / 2)
    edges, captions, frames, keys = {}, [], [], []
    now = {}

    def percent(at):
        return f"{at * slot / SECONDS * 100:.2f}%"

    def appear(at, until, content):
        """Shows content from one commit until before another one, or to the last frame."""
        name = f"k{len(keys)}"
        away = "100%{opacity:1}" if until is None else f"{percent(until)},100%{{opacity:0}}"
        keys.append(f"@keyframes {name}{{0%{{opacity:0}}{percent(at)}{{opacity:1}}{away}}}")
        kept = "" if until is None else " once"
        return f'<g class="f{kept}" style="animation-name:{name}">{content}</g>'

    def edge(node):
        x, y, parent = places[node]
        from_x, from_y = places[parent][:2] if parent else start
        middle = (from_x + x) / 2
        return f"M{from_x:.0f} {from_y:.1f}C{middle:.0f} {from_y:.1f} {middle:.0f} {y:.1f} {x:.0f} {y:.1f}"

    for at, (time, subject, changes) in enumerate(commits):
        for node, _, state in changes:
            since, old = now.get(node, (at, None))
            if old == state:
                continue
            if old is None:
                edges[node] = (at, None)
            else:
                frames.append((since, at, node, old))
            if state is None:
                edges[node] = (edges[node][0], at)
            now[node] = (at, state)
        until = at + 1 if at + 1 < len(commits) else None
        caption = f'<text class="quiet" x="{SIDE}" y="30">Commit {at + 1} of {len(commits)} · {escape(time)}</text>'
        touched = [node for node, _, state in changes if state is not None] if until else [answer]
        about = shorten(names.get(touched[0], ""), 110) if len(touched) == 1 else ""
        caption += f'<text class="said" x="{SIDE}" y="52">{escape(shorten(subject, 100))}</text>'
        caption += f'<text class="quiet" x="{SIDE}" y="72">{escape(about)}</text>'
        captions.append(appear(at, until, caption))
    last = {node: state for node, (_, state) in now.items() if state is not None}
    frames += [(now[node][0], None, node, state) for node, state in last.items()]
    body = [appear(*times, f'<path class="edge" d="{edge(node)}"/>') for node, times in edges.items()]
    way, node = [], answer
    while node:
        way.append(f'<path class="way" d="{edge(node)}"/>')
        node = places[node][2]
    body.append(appear(len(commits) - 1, None, "".join(way)))
    body.append(f'<circle class="question" cx="{start[0]}" cy="{start[1]:.1f}" r="6"/>')
    body.append(f'<text class="quiet" x="{start[0] - 6}" y="{start[1] - 14:.1f}">Question</text>')
    for since, until, node, state in frames:
        x, y, _ = places[node]
        body.append(appear(since, until, f'<circle class="{states[state][1]}" cx="{x:.0f}" cy="{y:.1f}" r="6"/>'))
    legend, x = [], SIDE
    for word, kind in (states[state] for state in sorted(set(last.values()))):
        legend.append(f'<circle class="{kind}" cx="{x + 5}" cy="{HEIGHT - 17}" r="5"/>')
        legend.append(f'<text class="quiet" x="{x + 16}" y="{HEIGHT - 12}">{escape(word)}</text>')
        x += 32 + 8 * len(word)
    used = sorted({kind for _, kind in states} - {"role-pending", "role-refutation"})
    roles = " ".join(f".{kind} {{ color: var(--{kind}) }}" for kind in used)
    title = escape(investigation["meta"]["title"])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">\n'
        f"<style>{palette}\n{STYLE}{roles}\n"
        f".f {{ animation: {SECONDS}s step-end infinite }}\n{''.join(keys)}\n"
        "@media (prefers-reduced-motion: reduce) { .f { animation: none } .once { opacity: 0 } }</style>\n"
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>\n' + "\n".join(body + captions + legend) + "\n</svg>\n"
    )


def main():
    site = Path(sys.argv[1])
    investigation = json.loads((site / "investigation.json").read_text(encoding="utf-8"))
    graph = (site / "graph.svg").read_text(encoding="utf-8")
    palette = "\n".join(re.findall(r"^.*\.graph\{--.*$", graph, re.M)).replace(".graph", "svg")
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.write(film(*history(investigation), investigation, palette))


main()
