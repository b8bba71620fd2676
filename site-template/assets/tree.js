// The tree by the ARIA tree pattern: one Tab stop, and arrow keys inside. Optional: without this file the page is a nested
// list of links.
"use strict";

(() => {
  const tree = document.querySelector("ul.tree");
  if (!tree) return;
  const tools = document.querySelector(".tree-tools");
  const status = tools.querySelector("[role=status]");
  // The maximum number of rows shown at first. Smaller trees are fully expanded.
  const FEW = 80;

  // The links in reading order, and data derived from their places in the nested lists.
  const links = [...tree.querySelectorAll("li > a")];
  const number = links.length;
  const at = new Map(links.map((link, i) => [link, i]));
  const items = links.map((link) => link.parentElement);
  const groups = links.map((link) => (link.nextElementSibling?.tagName === "UL" ? link.nextElementSibling : null));
  const parents = items.map((item) => {
    const above = item.parentElement.closest("li");
    return above ? at.get(above.firstElementChild) : -1;
  });
  const levels = [];
  parents.forEach((parent, i) => levels.push(parent < 0 ? 1 : levels[parent] + 1));
  // For each node, the index after its last descendant.
  const ends = links.map((_, i) => i + 1);
  for (let i = number - 1; i >= 0; i -= 1) {
    if (parents[i] >= 0) ends[parents[i]] = Math.max(ends[parents[i]], ends[i]);
  }
  const shown = new Array(number).fill(true);
  let current = 0;

  const isOpen = (i) => groups[i] !== null && !groups[i].hidden;
  const setOpen = (i, open) => {
    if (!groups[i]) return;
    groups[i].hidden = !open;
    links[i].setAttribute("aria-expanded", String(open));
  };
  const isVisible = (i) => {
    if (!shown[i]) return false;
    for (let above = parents[i]; above >= 0; above = parents[above]) if (!isOpen(above)) return false;
    return true;
  };
  const openAbove = (i) => {
    for (let above = parents[i]; above >= 0; above = parents[above]) setOpen(above, true);
  };
  // The next and the previous visible row; -1 if there is none.
  const after = (i) => {
    let next = isOpen(i) ? i + 1 : ends[i];
    while (next < number && !shown[next]) next = ends[next];
    return next < number ? next : -1;
  };
  const before = (i) => {
    let previous = i - 1;
    while (previous >= 0 && !isVisible(previous)) previous -= 1;
    return previous;
  };
  const first = () => {
    let i = 0;
    while (i < number && !shown[i]) i = ends[i];
    return i < number ? i : -1;
  };

  const select = (i, focus) => {
    if (i < 0) return;
    links[current].tabIndex = -1;
    current = i;
    links[i].tabIndex = 0;
    if (focus) links[i].focus();
  };
  // After rows were hidden, the Tab stop stays where it was, or moves to the closest row above.
  const keepStop = () => {
    if (isVisible(current)) return;
    const hadFocus = document.activeElement === links[current];
    let i = current;
    while (i >= 0 && !isVisible(i)) i = parents[i];
    select(i >= 0 ? i : first(), hadFocus);
  };

  // Positions among visible siblings, which a screen reader announces as "2 of 5".
  const countPositions = () => {
    const sizes = new Map();
    const places = new Array(number).fill(0);
    for (let i = 0; i < number; i += 1) {
      if (!shown[i]) continue;
      const place = (sizes.get(parents[i]) ?? 0) + 1;
      sizes.set(parents[i], place);
      places[i] = place;
    }
    for (let i = 0; i < number; i += 1) {
      if (!shown[i]) continue;
      links[i].setAttribute("aria-posinset", String(places[i]));
      links[i].setAttribute("aria-setsize", String(sizes.get(parents[i])));
    }
  };

  const prepare = () => {
    tree.setAttribute("role", "tree");
    const twisty = document.createElement("span");
    twisty.className = "twisty";
    twisty.setAttribute("aria-hidden", "true");
    links.forEach((link, i) => {
      items[i].setAttribute("role", "none");
      link.setAttribute("role", "treeitem");
      link.setAttribute("aria-level", String(levels[i]));
      link.tabIndex = i === 0 ? 0 : -1;
      link.prepend(twisty.cloneNode());
      if (groups[i]) {
        groups[i].setAttribute("role", "group");
        groups[i].id = `below-${i}`;
        link.setAttribute("aria-owns", groups[i].id);
      }
    });
    countPositions();
    // Expands as many levels as fit, and the path to each answer.
    const perLevel = [];
    levels.forEach((level) => { perLevel[level] = (perLevel[level] ?? 0) + 1; });
    let depth = 1;
    for (let rows = perLevel[1] ?? 0; depth < perLevel.length; depth += 1) {
      rows += perLevel[depth + 1] ?? 0;
      if (rows > FEW) break;
    }
    links.forEach((_, i) => setOpen(i, levels[i] < depth));
    links.filter((link) => link.classList.contains("role-solution")).slice(0, 20)
      .forEach((link) => openAbove(at.get(link)));
  };

  // The address of a node, such as #R3.A1a, expands the path to it.
  const follow = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* used undecoded */ }
    const element = document.getElementById(id);
    // The address of a state, such as #only-DEAD, shows only its nodes.
    if (element?.matches(".toggle")) {
      toggles.forEach((toggle) => press(toggle, toggle === element));
      filter();
      return;
    }
    const i = at.get(element);
    if (i === undefined) return;
    if (!shown[i]) clearFilter();
    openAbove(i);
    select(i, true);
    links[i].scrollIntoView({ block: "center" });
  };

  let typed = "";
  let typedAt = 0;
  const texts = links.map((link) => {
    const [id, title] = [link.querySelector(".node-id"), link.querySelector("bdi")];
    return [id.textContent.toLowerCase(), title.textContent.trim().toLowerCase()];
  });
  const jump = (key, time) => {
    typed = time - typedAt < 700 ? typed + key.toLowerCase() : key.toLowerCase();
    typedAt = time;
    // A repeated letter moves to the next row. A longer text may match the current row.
    const letters = new Set(typed).size === 1 ? typed[0] : typed;
    let i = letters.length === 1 ? after(current) : current;
    for (let round = 0; round < 2; round += 1) {
      for (; i >= 0; i = after(i)) {
        if (texts[i].some((text) => text.startsWith(letters))) return select(i, true);
      }
      i = first();
    }
  };

  tree.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const i = at.get(event.target);
    if (i === undefined) return;
    switch (event.key) {
      case "ArrowDown": select(after(i), true); break;
      case "ArrowUp": select(before(i), true); break;
      case "ArrowRight":
        if (groups[i] && !isOpen(i)) setOpen(i, true);
        else if (isOpen(i)) select(after(i), true);
        break;
      case "ArrowLeft":
        if (isOpen(i)) setOpen(i, false);
        else select(parents[i], true);
        break;
      case "Home": select(first(), true); break;
      case "End": {
        let last = -1;
        for (let next = first(); next >= 0; next = after(next)) last = next;
        select(last, true);
        break;
      }
      case "*":
        links.forEach((_, other) => { if (parents[other] === parents[i]) setOpen(other, true); });
        break;
      case " ":
        if (event.timeStamp - typedAt < 700) jump(" ", event.timeStamp);
        else setOpen(i, !isOpen(i));
        break;
      default:
        // The slash belongs to the search.
        if (event.key.length !== 1 || event.key === "/") return;
        jump(event.key, event.timeStamp);
    }
    event.preventDefault();
  });
  tree.addEventListener("click", (event) => {
    const link = event.target.closest("li > a");
    if (!link) return;
    select(at.get(link), false);
    if (!event.target.classList.contains("twisty") || !groups[at.get(link)]) return;
    event.preventDefault();
    setOpen(at.get(link), !isOpen(at.get(link)));
    link.focus();
  });
  tree.addEventListener("focusin", (event) => {
    const i = at.get(event.target);
    if (i !== undefined && i !== current) select(i, false);
  });

  // Filters by state. Without any pressed, all nodes are shown. Ancestors of matches stay visible in grey.
  const toggles = [...tools.querySelectorAll(".toggle")];
  const isPressed = (toggle) => toggle.getAttribute("aria-pressed") === "true";
  const press = (toggle, pressed) => toggle.setAttribute("aria-pressed", String(pressed));
  const states = links.map((link) => link.querySelector(".chip").textContent.replace(/^refutes .*/, "Refutes"));
  let foldedBefore = null;
  const filter = () => {
    const wanted = new Set(toggles.filter((toggle) => isPressed(toggle)).map((toggle) => toggle.value));
    const fits = states.map((state) => wanted.size === 0 || wanted.has(state));
    if (wanted.size > 0) foldedBefore ??= links.map((_, i) => isOpen(i));
    shown.fill(false);
    for (let i = number - 1; i >= 0; i -= 1) {
      shown[i] ||= fits[i];
      if (shown[i] && parents[i] >= 0) shown[parents[i]] = true;
    }
    for (let i = 0; i < number; i += 1) {
      items[i].hidden = !shown[i];
      links[i].classList.toggle("aside", !fits[i]);
      if (wanted.size > 0 && shown[i] && groups[i]) setOpen(i, true);
    }
    if (wanted.size === 0 && foldedBefore) {
      foldedBefore.forEach((open, i) => setOpen(i, open));
      foldedBefore = null;
    }
    countPositions();
    keepStop();
    status.textContent = wanted.size === 0 ? "" : `${fits.filter(Boolean).length} of ${number} nodes`;
  };
  const clearFilter = () => {
    toggles.forEach((toggle) => { press(toggle, false); });
    filter();
    window.totKept?.keep("states", []);
  };
  toggles.forEach((toggle) => toggle.addEventListener("click", () => {
    press(toggle, !isPressed(toggle));
    filter();
    window.totKept?.keep("states", toggles.filter(isPressed).map(({ value }) => value));
  }));
  tools.querySelectorAll("[data-fold]").forEach((button) => button.addEventListener("click", () => {
    links.forEach((_, i) => setOpen(i, button.dataset.fold === "open"));
    keepStop();
  }));

  prepare();
  tools.hidden = false;
  document.querySelector(".tree-keys").hidden = false;
  const chosen = window.totKept?.kept("states") ?? [];
  if (chosen.length > 0) {
    toggles.forEach((toggle) => { press(toggle, chosen.includes(toggle.value)); });
    filter();
  }
  window.addEventListener("hashchange", follow);
  follow();
})();
