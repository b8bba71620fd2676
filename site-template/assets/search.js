// The search field in the head of each page. Its data is a script, loaded when the field is first used. Optional: without
// this file the field is hidden.
"use strict";

(() => {
  const root = document.currentScript?.dataset.root ?? "";
  const bar = document.querySelector(".masthead .wrap");
  const form = bar?.querySelector(".search");
  if (!form) return;
  const field = form.querySelector("input");
  field.setAttribute("aria-controls", "search-results");
  // The number of results listed at once.
  const PAGE = 20;
  const AROUND = 90;

  const make = (name, properties = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key in element) element[key] = value;
      else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  };

  const status = make("p", { className: "search-status" });
  status.setAttribute("role", "status");
  const states = make("div", { className: "toggles" });
  states.setAttribute("role", "group");
  states.setAttribute("aria-label", "Filter by state");
  const list = make("ol", { className: "search-results", id: "search-results" });
  const more = make("button", { type: "button", className: "plain-button", hidden: true });
  const slash = make("input", { type: "checkbox" });
  const keys = make("label", { className: "search-keys" }, slash, " Press / to search");
  const panel = make("section", { className: "search-panel", hidden: true }, status, states, list, more, keys);
  panel.setAttribute("aria-label", "Search");
  bar.parentElement.append(panel);

  // Data: loaded once. The script calls back.
  let data = null;
  let failed = false;
  let loading = false;
  const load = () => {
    if (data || loading) return;
    loading = true;
    window.totSearch = (given) => { data = given; search(); };
    const script = make("script", { src: `${root}search-data.js` });
    script.addEventListener("error", () => { failed = true; search(); });
    document.head.append(script);
  };

  let wanted = new Set();
  let found = [];
  let listed = 0;

  // A word as a pattern. Escapes only characters that mode `u` allows to be escaped.
  const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")
    .replace(/ss|[ßẞ]/giu, "(?:ss|[ßẞ])").replace(/[iİ]/giu, "[iİ]").replace(/['’]/gu, "['’]");
  const asPattern = (word) => {
    // `30364` also finds 30,364, and vice versa.
    const digits = word.replace(/(?<=\d)[,.’'](?=\d{3}(?!\d))/gu, "");
    if (/^\d{4,}$/u.test(digits)) return digits.replace(/\B(?=(\d{3})+$)/gu, "[,.’'\\s]?");
    // An id without its dot: `r4a1a1`.
    return escaped(word).replace(/^(r\d+)(?=[a-z])/iu, "$1\\.?");
  };
  const patternsOf = (words) => words.map((word) => new RegExp(asPattern(word), "iu"));

  // A result contains all words. A match in its id counts most, then one in its title.
  const match = (words) => {
    const patterns = patternsOf(words);
    const results = [];
    for (const [id, title, href, state, sure, texts] of data.found) {
      let score = 0;
      for (const pattern of patterns) {
        const within = texts.some(([, text]) => pattern.test(text));
        const here = (pattern.test(id) ? 8 : 0) + (pattern.test(title) ? 4 : 0) + (within ? 1 : 0);
        if (here === 0) { score = 0; break; }
        score += here;
      }
      if (score > 0) results.push({ id, title, href, state, sure, texts, score });
    }
    // The sort is stable, so equal results keep their reading order.
    return results.sort((a, b) => b.score - a.score);
  };
  // The text that contains most of the words.
  const bestOf = (texts, words) => {
    const patterns = patternsOf(words);
    const number = ([, text]) => patterns.filter((pattern) => pattern.test(text)).length;
    return texts.reduce((best, next) => (best && number(best) >= number(next) ? best : next), null);
  };

  // Text with the words marked, always inserted as text.
  const marked = (text, pattern) => {
    const parts = [];
    let last = 0;
    for (const hit of text.matchAll(pattern)) {
      if (hit.index > last) parts.push(text.slice(last, hit.index));
      parts.push(make("mark", { textContent: hit[0] }));
      last = hit.index + hit[0].length;
    }
    parts.push(text.slice(last));
    return parts;
  };
  const excerpt = (text, pattern) => {
    const place = Math.max(text.search(pattern), 0);
    let start = Math.max(place - AROUND, 0);
    let end = Math.min(place + 2 * AROUND, text.length);
    // Starts at a word. Text without spaces is cut anywhere.
    const space = start > 0 ? text.indexOf(" ", start) : -1;
    if (space >= 0 && space < place) start = space + 1;
    if (end < text.length) end = Math.max(text.lastIndexOf(" ", end), place);
    return (start > 0 ? "… " : "") + text.slice(start, end) + (end < text.length ? " …" : "");
  };

  const chip = (state) => {
    const [name, role, meaning] = data.states[state];
    return make("span", { className: `chip ${role}`, textContent: name, title: meaning });
  };
  const row = (result, words) => {
    const pattern = new RegExp(words.map(asPattern).join("|"), "giu");
    const role = result.state === null ? "" : data.states[result.state][1];
    const link = make("a", { className: `node-link ${role}`, href: root + result.href });
    if (result.id) link.append(make("span", { className: "node-id" }, ...marked(result.id, pattern)), " ");
    link.append(make("bdi", {}, ...marked(result.title, pattern)));
    const head = make("p", {}, link);
    if (result.state !== null) head.append(" ", chip(result.state));
    if (result.sure) head.append(" ", make("span", { className: `sure ${result.sure.class}`, textContent: `${result.sure.sign} ${result.sure.label}` }));
    const best = bestOf(result.texts, words);
    if (!best) return make("li", {}, head);
    const [field, text] = best;
    const name = make("span", { className: "search-in", textContent: data.fields[field] });
    const said = make("bdi", {}, ...marked(excerpt(text, pattern), pattern));
    return make("li", {}, head, make("p", { className: "search-text" }, name, " ", said));
  };

  const words = () => field.value.normalize("NFC").split(/\s+/u).filter(Boolean).slice(0, 12);
  const filtered = () => found.filter((result) => wanted.size === 0 || wanted.has(result.state));
  const listMore = () => {
    const results = filtered();
    const rows = results.slice(listed, listed + PAGE).map((result) => row(result, words()));
    list.append(...rows);
    listed += rows.length;
    more.hidden = listed >= results.length;
    more.textContent = `${results.length - listed} more`;
    return rows[0];
  };
  const showStates = () => {
    const counts = new Map();
    for (const { state } of found) {
      if (state !== null) counts.set(state, (counts.get(state) ?? 0) + 1);
    }
    wanted = new Set([...wanted].filter((state) => counts.has(state)));
    states.replaceChildren(...[...counts].sort(([a], [b]) => a - b).map(([state, count]) => {
      const [name, role] = data.states[state];
      const button = make("button", { type: "button", className: `toggle ${role}` },
        name, " ", make("span", { className: "count", textContent: String(count) }));
      button.setAttribute("aria-pressed", String(wanted.has(state)));
      button.addEventListener("click", () => {
        if (!wanted.delete(state)) wanted.add(state);
        button.setAttribute("aria-pressed", String(wanted.has(state)));
        show();
      });
      return button;
    }));
    states.hidden = counts.size < 2;
  };
  const show = () => {
    list.replaceChildren();
    listed = 0;
    const number = filtered().length;
    status.textContent = number === 0 ? "No matches." : number === 1 ? "1 match." : `${number} matches.`;
    if (data.cut > 0) status.textContent += ` Of long texts, the first ${data.cut} characters were searched.`;
    listMore();
  };
  const close = () => { panel.hidden = true; };
  const search = () => {
    const given = words();
    panel.hidden = given.length === 0;
    if (given.length === 0) return;
    if (failed || !data) {
      status.textContent = failed ? "The search data can’t be loaded." : "Loading …";
      more.hidden = true;
      return;
    }
    found = match(given);
    showStates();
    show();
  };

  let timer = 0;
  field.addEventListener("focus", load);
  field.addEventListener("input", () => {
    clearTimeout(timer);
    // A short delay, so that a screen reader does not announce every letter.
    timer = setTimeout(search, 120);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    search();
    list.querySelector("a")?.focus();
  });
  more.addEventListener("click", () => listMore()?.querySelector("a")?.focus());

  // Keys: down from the field into the results, up and down between them, Escape back.
  const links = () => [...list.querySelectorAll("a")];
  bar.parentElement.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !panel.hidden) {
      close();
      field.focus();
      event.preventDefault();
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const all = links();
    const place = all.indexOf(document.activeElement);
    if (!step || panel.hidden || (document.activeElement !== field && place < 0)) return;
    const next = place + step;
    if (next < 0) field.focus();
    else all[next]?.focus();
    event.preventDefault();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!bar.parentElement.contains(event.target)) close();
  });
  field.addEventListener("focus", () => { if (words().length > 0) search(); });
  // A served page reloads when the investigation changes.
  addEventListener("tot-reload", () => {
    window.totKept?.keep("search", { text: field.value, focused: document.activeElement === field });
  });
  const typed = window.totKept?.kept("search");
  if (typed) {
    field.value = typed.text;
    if (typed.focused) field.focus();
    window.totKept.keep("search", undefined);
  }

  // The key `/` can be switched off, for people who use speech input or type it by accident.
  const setting = "tot-search-slash";
  const stored = () => { try { return localStorage.getItem(setting); } catch { return null; } };
  slash.checked = stored() !== "off";
  slash.addEventListener("change", () => {
    try { localStorage.setItem(setting, slash.checked ? "on" : "off"); } catch { /* for this page only */ }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || !slash.checked) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
})();
