// Marks what changed since the last visit: rows, steps and, on the first page, the bottom line, the verdict and the report. The
// browser stores how many commits it has shown, and checksums of these texts. Nothing leaves the machine. Optional: without it,
// or on a first visit, nothing is marked.
"use strict";

(() => {
  const { investigation, commits } = document.currentScript.dataset;
  const KEY = `tot-seen:${investigation}`;
  // A visit lasts as long as its tab, so all its pages compare with the commits before. The browser may forbid storage, and
  // the stored value may be anything. During a first visit, changes count as new: a served page reloads after each commit.
  let seen = Infinity;
  const places = { "bottom line": "h1#found", verdict: "#trust", report: ".report .prose" };
  const isFirst = document.querySelector(places["bottom line"]);
  const texts = Object.entries(isFirst ? places : {}).map(([name, at]) => [name, document.querySelector(at)]);
  const checksum = (element) => {
    const copy = element?.cloneNode(true);
    // The verdict in a word stands in the heading.
    copy?.querySelector(".sure")?.remove();
    return String([...(copy?.textContent ?? "")].reduce((sum, char) => (Math.imul(sum, 31) + char.codePointAt(0)) | 0, 7));
  };
  let rewritten = [];
  try {
    const kept = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? commits;
    sessionStorage.setItem(KEY, kept);
    localStorage.setItem(KEY, commits);
    seen = /^\d{1,9}$/.test(kept) ? Number(kept) : Infinity;
    rewritten = texts.filter(([name, it]) => {
      const key = `${KEY}:${name}`;
      const [now, kept] = [checksum(it), sessionStorage.getItem(key) ?? localStorage.getItem(key)];
      sessionStorage.setItem(key, kept ?? now);
      localStorage.setItem(key, now);
      return it && kept && kept !== now;
    });
  } catch {
    // Storage is full or forbidden.
  }
  const fresh = [...document.querySelectorAll("[data-changed]")].filter((it) => Number(it.dataset.changed) > seen);
  for (const it of [...fresh, ...rewritten.map(([, it]) => it)]) {
    const mark = document.createElement("span");
    mark.className = "since-mark";
    mark.textContent = "new";
    it.append(" ", mark);
  }
  const line = document.querySelector(".since");
  const rows = fresh.length ? [`${fresh.length} ${fresh.length === 1 ? "row" : "rows"}`] : [];
  const news = [...rewritten.map(([name]) => name), ...rows];
  if (line && (news.length || seen < Number(commits))) {
    const told = document.createElement("b");
    told.textContent = news.length ? `new since your last visit: ${news.join(", ")}` : "nothing here changed since your last visit";
    line.append("· ", told);
  }
})();
