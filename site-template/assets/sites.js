// The index of investigations: search, filters, order. Optional: without it the page is a plain list.
"use strict";

(() => {
  const form = document.querySelector(".finder");
  const list = document.querySelector(".investigations");
  if (!form || !list || list.children.length < 2) return;
  const words = form.querySelector("#words");
  const order = form.querySelector("#order");
  const status = form.querySelector(".shown");
  const none = document.querySelector(".none-fits");
  const more = document.querySelector(".finder-more");
  // Simple selectors: with a compound one, the browser would search the whole page for each entry.
  const texts = ["h2", ".asked-text", ".best", ".found-text"];
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

  // Read once, since reading 10,000 entries at each key press would be slow.
  const entries = [...list.children].map((item, at) => ({
    item,
    at,
    text: fold(texts.map((part) => item.querySelector(part)?.textContent ?? "").join(" ")),
    title: item.querySelector("h2").textContent,
    states: item.dataset.state.split(" "),
    started: item.dataset.started,
    changed: item.dataset.changed,
    nodes: Number(item.dataset.nodes),
  }));
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const orders = {
    started: (a, b) => compare(b.started, a.started),
    oldest: (a, b) => compare(a.started, b.started),
    changed: (a, b) => compare(b.changed, a.changed),
    nodes: (a, b) => b.nodes - a.nodes,
    title: (a, b) => collator.compare(a.title, b.title),
  };

  // The choices are in the address, so it can be shared.
  const chosen = () => ({
    q: words.value.trim(),
    show: form.querySelector("[name=state]:checked").value,
    order: order.value,
  });
  const remember = ({ q, show, order }) => {
    const choice = new URLSearchParams();
    if (q) choice.set("q", q);
    if (show !== "all") choice.set("show", show);
    if (order !== "need") choice.set("order", order);
    const hash = choice.toString();
    try {
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    } catch {
      // Browsers limit how often this may be called. The page works without it.
    }
  };
  const recall = () => {
    const choice = new URLSearchParams(location.hash.slice(1));
    words.value = choice.get("q") ?? "";
    const state = [...form.querySelectorAll("[name=state]")].find((one) => one.value === choice.get("show"));
    if (state) state.checked = true;
    if (Object.hasOwn(orders, choice.get("order") ?? "")) order.value = choice.get("order");
  };

  // The page contains only the first matches: browsers take seconds to lay out thousands.
  const STEP = 100;
  let fitting = entries;
  let limit = STEP;
  const show = () => {
    list.replaceChildren(...fitting.slice(0, limit).map(({ item }) => item));
    const left = Math.max(0, fitting.length - limit);
    none.hidden = fitting.length > 0;
    more.hidden = left === 0;
    more.textContent = `Show ${Math.min(left, STEP)} more`;
    status.textContent = `${fitting.length} of ${entries.length}${left ? `, the first ${limit} shown` : ""}`;
  };
  const find = () => {
    const choice = chosen();
    const parts = fold(choice.q).split(/\s+/).filter(Boolean);
    fitting = entries.filter(
      ({ text, states }) =>
        (choice.show === "all" || states.includes(choice.show)) && parts.every((part) => text.includes(part)),
    );
    if (choice.order !== "need") fitting.sort((a, b) => orders[choice.order](a, b) || a.at - b.at);
    limit = STEP;
    show();
    remember(choice);
  };

  recall();
  form.hidden = false;
  find();
  words.addEventListener("input", find);
  form.addEventListener("change", find);
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", () => {
    // Focus moves to the first new entry.
    const next = fitting[limit]?.item;
    limit += STEP;
    show();
    next?.querySelector("a").focus();
  });
})();
