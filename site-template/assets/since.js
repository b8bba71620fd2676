// Marks the rows and steps that changed since the last visit. The browser stores how many commits it has shown, and nothing
// leaves the machine. Optional: without it, or on a first visit, nothing is marked.
"use strict";

(() => {
  const { investigation, commits } = document.currentScript.dataset;
  const KEY = `tot-seen:${investigation}`;
  // A visit lasts as long as its tab, so all its pages compare with the commits before. The browser may forbid storage, and
  // the stored value may be anything. During a first visit, changes count as new: a served page reloads after each commit.
  let seen = Infinity;
  try {
    const kept = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? commits;
    sessionStorage.setItem(KEY, kept);
    localStorage.setItem(KEY, commits);
    seen = /^\d{1,9}$/.test(kept) ? Number(kept) : Infinity;
  } catch {
    // Storage is full or forbidden.
  }
  const fresh = [...document.querySelectorAll("[data-changed]")].filter((it) => Number(it.dataset.changed) > seen);
  for (const it of fresh) {
    const mark = document.createElement("span");
    mark.className = "since-mark";
    mark.textContent = "new";
    it.append(" ", mark);
  }
  const line = document.querySelector(".since");
  if (line && seen < Number(commits)) {
    const said = document.createElement("b");
    said.textContent = fresh.length ? `${fresh.length} new since your last visit` : "no row changed since your last visit";
    line.append("· ", said);
  }
})();
