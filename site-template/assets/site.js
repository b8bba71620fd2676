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
      }
      status.textContent = `${shown} of ${items.length}`;
    });
  };

  // Times are in UTC on the page; the reader's own zone is in the tooltip.
  const localise = (time) => {
    const date = new Date(time.dateTime);
    if (!Number.isNaN(date.getTime())) time.title = date.toLocaleString();
  };

  // A large graph opens at its root, which stands halfway down.
  const centre = (box) => {
    const root = box.querySelector(".card");
    if (!root) return;
    const [outer, inner] = [box.getBoundingClientRect(), root.getBoundingClientRect()];
    box.scrollTop += inner.top + inner.height / 2 - outer.top - outer.height / 2;
  };

  document.querySelectorAll(".graph-box").forEach(centre);
  document.querySelectorAll("[data-filter]").forEach(filter);
  document.querySelectorAll("time[datetime]").forEach(localise);
})();
