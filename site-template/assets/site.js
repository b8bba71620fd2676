// Only adds: every page is whole without this file.
"use strict";

(() => {
  // A field above each long list that hides what does not hold the words.
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
    list.before(field, status);
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = (item) => words.every((word) => item.textContent.toLowerCase().includes(word));
      let shown = 0;
      for (const item of items) {
        item.hidden = !fits(item);
        shown += item.hidden ? 0 : 1;
        // What was found shall be seen, and not only be in a part that is folded away.
        for (const part of item.querySelectorAll("details")) {
          const text = part.textContent.toLowerCase();
          part.open = !item.hidden && words.some((word) => text.includes(word));
        }
      }
      status.textContent = `${shown} of ${items.length}`;
    });
  };

  // Times are in UTC on the page; the reader's own zone is in the tooltip.
  const localise = (time) => {
    const date = new Date(time.dateTime);
    if (!Number.isNaN(date.getTime())) time.title = date.toLocaleString();
  };

  // A button that copies a text. From disk a browser may not allow it: then the text is selected.
  const copy = (text) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain-button";
    button.textContent = "Copy";
    text.after(button);
    button.addEventListener("click", async () => {
      getSelection().selectAllChildren(text);
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Selected: copy it with your keyboard";
      }
    });
  };

  // What a link leads to is seen.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };

  document.querySelectorAll("[data-filter]").forEach(filter);
  document.querySelectorAll("[data-copy]").forEach(copy);
  reveal();
  addEventListener("hashchange", reveal);
  // Only where it is asked for: on an index of thousands, all of them would take seconds.
  document.addEventListener("pointerover", ({ target }) => {
    const time = target.closest("time[datetime]");
    if (time && !time.title) localise(time);
  });
})();
