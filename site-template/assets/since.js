// What is new since the reader was here last: on the first page a line, in the tree a mark at each node. The browser keeps how
// each node stood; nothing of it leaves the machine. Only adds: without it, or at a first visit, there is nothing.
"use strict";

(() => {
  const line = document.querySelector(".since");
  if (!line) return;
  const { investigation, head, tree } = line.dataset;
  const HEAD = `tot-head:${investigation}`;
  const STATES = `tot-states:${investigation}`;

  // A visit lasts as long as its tab: what it began with stays, however many pages are read. A browser may allow none of this.
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
  // `c3.A1a;o1.A 2.A1,A2` as id to letter. What is kept may be anybody's: a map takes any name.
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
      // At a first visit, what comes while it lasts is new: a served page is loaded anew with each commit.
      if (before && !before.head) {
        sessionStorage.setItem(HEAD, head);
        sessionStorage.setItem(STATES, states);
      }
      localStorage.setItem(STATES, states);
      localStorage.setItem(HEAD, head);
    } catch {
      // There is no room, or it is not allowed.
    }
  };
  const isNew = before?.head && before.head !== head;
  if (!isNew) line.hidden = true;

  const tell = (states) => {
    const [old, now] = [read(before.states ?? ""), read(states)];
    // Its place is taken: it is not hidden now.
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

  // The tree has the states itself; for a page that stays small they are a file beside it.
  if (line.dataset.states !== undefined) return work(line.dataset.states);
  window.totStates = work;
  const script = document.createElement("script");
  // Of this state, whatever a cache holds.
  script.src = `${line.dataset.file}?${head}`;
  script.addEventListener("error", () => { line.hidden = true; });
  document.head.append(script);
})();
