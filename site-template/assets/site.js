// Optional: every page is complete without this file.
"use strict";

(() => {
  // Remembers input and choices with this entry of the browser's history. They survive going back and reloading.
  const kept = (name) => history.state?.[name];
  const keep = (name, value) => {
    try {
      history.replaceState({ ...history.state, [name]: value }, "");
    } catch {
      // Browsers limit how often this may be called. The page works without it.
    }
  };
  window.totKept = { kept, keep };

  // A field above each long list that hides items without the words.
  const filter = (list) => {
    const items = [...list.children];
    if (items.length < 8) return;
    const field = document.createElement("input");
    field.type = "search";
    field.placeholder = list.dataset.filter;
    field.setAttribute("aria-label", list.dataset.filter);
    field.className = "filter";
    const status = document.createElement("p");
    status.className = "hidden";
    status.setAttribute("role", "status");
    const place = list.previousElementSibling;
    if (place?.className === "filter-place") place.append(field, status);
    else list.before(field, status);
    const find = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = (item) => words.every((word) => item.textContent.toLowerCase().includes(word));
      let shown = 0;
      for (const item of items) {
        item.hidden = !fits(item);
        shown += item.hidden ? 0 : 1;
        // Expands the part with the match, so that it is visible.
        for (const part of item.querySelectorAll("details")) {
          const text = part.textContent.toLowerCase();
          part.open = !item.hidden && words.some((word) => text.includes(word));
        }
      }
      status.textContent = `${shown} of ${items.length}`;
    };
    field.addEventListener("input", () => {
      find();
      keep("filter", field.value);
    });
    field.value = kept("filter") ?? "";
    if (field.value) find();
  };

  // Times on the page are in UTC. The tooltip has the reader's own time zone.
  const localise = (time) => {
    const date = new Date(time.dateTime);
    if (!Number.isNaN(date.getTime())) time.title = date.toLocaleString();
  };

  // A button that copies text. For pages opened from disk the browser may forbid it, and the text is selected instead.
  const copyButton = (text) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain-button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      getSelection().selectAllChildren(text);
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Selected: copy it with your keyboard";
      }
    });
    return button;
  };
  const copy = (text) => text.after(copyButton(text));
  // Placed over a block of code, so that nothing moves.
  const copyCode = (code) => {
    const box = document.createElement("div");
    box.className = "code-box";
    code.before(box);
    box.append(copyButton(code), code);
  };

  // A card over a link to a node: its title, its state and the first sentence of its findings. It stays while the pointer is
  // on it, and Escape closes it.
  const card = document.createElement("div");
  card.className = "ref-card";
  card.id = "ref-card";
  card.hidden = true;
  card.setAttribute("role", "tooltip");
  let cardOf = null;
  let cardTimer = 0;
  const hideCard = () => {
    clearTimeout(cardTimer);
    cardOf?.removeAttribute("aria-describedby");
    cardOf = null;
    card.hidden = true;
  };
  const paragraph = (name, text) => {
    const line = document.createElement("p");
    const inner = line.appendChild(document.createElement(name));
    inner.textContent = text;
    inner.dir = "auto";
    return line;
  };
  const showCard = (link) => {
    if (cardOf === link) return clearTimeout(cardTimer);
    hideCard();
    // The browser's own tooltip would cover it.
    if (link.title) {
      link.dataset.title = link.title;
      link.removeAttribute("title");
    }
    const title = link.dataset.title ?? link.querySelector("bdi")?.textContent ?? "";
    card.replaceChildren(paragraph("b", title), paragraph("span", link.dataset.state));
    if (link.dataset.first) card.append(paragraph("span", link.dataset.first));
    card.hidden = false;
    const at = link.getClientRects()[0] ?? link.getBoundingClientRect();
    const { width, height } = card.getBoundingClientRect();
    const below = at.bottom + 6 + height <= innerHeight || at.top < height + 6;
    card.style.left = `${Math.max(8, Math.min(at.left, document.documentElement.clientWidth - width - 8))}px`;
    card.style.top = `${below ? at.bottom + 4 : at.top - height - 4}px`;
    link.setAttribute("aria-describedby", card.id);
    cardOf = link;
  };
  const later = (work, time) => {
    clearTimeout(cardTimer);
    cardTimer = setTimeout(work, time);
  };
  const cards = () => {
    document.body.append(card);
    document.addEventListener("pointerover", ({ target, pointerType }) => {
      if (pointerType === "touch") return;
      const link = target.closest("a[data-state]");
      if (link) later(() => showCard(link), 200);
      else if (card.contains(target)) clearTimeout(cardTimer);
      else if (cardOf) later(hideCard, 200);
      else clearTimeout(cardTimer);
    });
    document.addEventListener("focusin", ({ target }) => {
      if (target.matches("a[data-state]") && target.matches(":focus-visible")) showCard(target);
      else hideCard();
    });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideCard(); });
    addEventListener("scroll", hideCard, { passive: true });
  };

  // Single keys for the previous and the next node. They can be switched off.
  const KEYS = "tot-node-keys";
  const nodeKeys = (choice) => {
    try { choice.checked = localStorage.getItem(KEYS) !== "off"; } catch { /* on by default */ }
    choice.addEventListener("change", () => {
      try { localStorage.setItem(KEYS, choice.checked ? "on" : "off"); } catch { /* applies to this page only */ }
    });
    document.addEventListener("keydown", (event) => {
      const rel = { j: "next", k: "prev" }[event.key];
      if (!rel || !choice.checked || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
      if (event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
      document.querySelector(`.neighbours a[rel=${rel}]`)?.click();
    });
  };

  // Expands the element that the address names.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };

  document.querySelectorAll("[data-filter]").forEach(filter);
  document.querySelectorAll("[data-copy]").forEach(copy);
  if (!document.body.classList.contains("page-print")) {
    document.querySelectorAll("main pre:not([data-copy])").forEach(copyCode);
    cards();
  }
  document.querySelectorAll("#node-keys").forEach(nodeKeys);
  reveal();
  addEventListener("hashchange", reveal);
  // Only under the pointer: on an index of thousands, converting all times would take seconds.
  document.addEventListener("pointerover", ({ target }) => {
    const time = target.closest("time[datetime]");
    if (time && !time.title) localise(time);
  });
})();
