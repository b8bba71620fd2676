// Changes since the last visit: a line on the first page, and marks in the tree. The browser stores the state of each node,
// and nothing leaves the machine. Optional: without it, or on a first visit, nothing is shown.
"use strict";

(() => {
  const line = document.querySelector(".since");
  if (!line) return;
  const { investigation, head, tree } = line.dataset;
  const HEAD = `tot-head:${investigation}`;
  const STATES = `tot-states:${investigation}`;

  // A visit lasts as long as its tab, so all its pages compare with the state before. The browser may forbid storage.
  const before = (() => {
    try {
      if (sessionStorage.getItem(HEAD) === null) {
        sessionStorage.setItem(HEAD, localStorage.getItem(HEAD) ?? "");
        sessionStorage.setItem(STATES, localStorage.getItem(STATES) ?? "");
      }
      return { head: sessionStorage.getItem(HEAD), states: sessionStorage.getItem(STATES) };
    } catch {
      return null;
    }
  })();
  // `c3.A1a;o1.A 2.A1,A2` as a map of id to letter. The stored value may be anything, and a map accepts any key.
  const read = (text) => {
    const known = new Map();
    for (const group of text.split(";")) {
      for (const round of group.slice(1).split(" ")) {
        const [number, nodes = ""] = round.split(".");
        for (const node of nodes.split(",")) if (node) known.set(`R${number}.${node}`, group[0]);
      }
    }
    return known;
  };
  const isAnswer = (letter) => letter === "a" || letter === "c" || letter === "x";
  const change = (was, is) => {
    if (was === is) return null;
    if (is === "x") return "contested";
    if (was === "x" && is === "c") return "no longer contested";
    if (is === "c") return "confirmed";
    if (was === undefined) return "new";
    if (was === "p") return "explored";
    if (is === "r" || (isAnswer(was) && !isAnswer(is)) || was === "d") return "overturned";
    if (was === "c") return "no longer confirmed";
    return "changed";
  };

  const keep = (states) => {
    try {
      // During a first visit, changes count as new: a served page reloads after each commit.
      if (before && !before.head) {
        sessionStorage.setItem(HEAD, head);
        sessionStorage.setItem(STATES, states);
      }
      localStorage.setItem(STATES, states);
      localStorage.setItem(HEAD, head);
    } catch {
      // Storage is full or forbidden.
    }
  };
  const isNew = before?.head && before.head !== head;
  if (!isNew) line.hidden = true;

  const tell = (states) => {
    const [old, now] = [read(before.states ?? ""), read(states)];
    // The room for this line is reserved, so it reports a change even if no states were stored.
    if (old.size === 0) {
      line.append("This investigation has changed since your last visit.");
      return;
    }
    const changes = new Map();
    for (const [id, letter] of now) {
      const what = change(old.get(id), letter);
      if (what) changes.set(id, what);
    }
    const gone = [...old.keys()].filter((id) => !now.has(id)).length;
    const counts = ["confirmed", "contested", "no longer contested", "overturned", "no longer confirmed", "new", "explored", "changed"]
      .map((what) => [what, [...changes.values()].filter((it) => it === what).length])
      .concat([["gone", gone]])
      .filter(([, number]) => number > 0);

    const said = document.createElement("b");
    said.textContent = counts.map(([what, number]) => `${number} ${what}`).join(", ");
    if (counts.length === 0) line.append("No findings have changed since your last visit.");
    else line.append("Since your last visit: ", said, ".");
    if (changes.size > 0 && tree) {
      const link = document.createElement("a");
      link.href = tree;
      link.textContent = "See it in the tree";
      line.append(" ", link);
    }
    for (const link of document.querySelectorAll(".tree li > a")) {
      const what = changes.get(link.id);
      if (!what) continue;
      const mark = document.createElement("span");
      mark.className = `since-mark ${what.split(" ")[0]}`;
      mark.textContent = what;
      link.append(" ", mark);
    }
  };
  const work = (states) => {
    keep(states);
    if (isNew) tell(states);
  };

  // The tree page has the states itself. For other pages they are in a separate file.
  if (line.dataset.states !== undefined) return work(line.dataset.states);
  window.totStates = work;
  const script = document.createElement("script");
  // The address names this state, so an outdated cache entry is not used.
  script.src = `${line.dataset.file}?${head}`;
  script.addEventListener("error", () => { line.hidden = true; });
  document.head.append(script);
})();
