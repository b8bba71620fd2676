// The index of investigations: search, filters, order. Only adds: without it the page is a plain list.
"use strict";

(() => {
  const form = document.querySelector(".finder");
  const list = document.querySelector(".investigations");
  if (!form || !list || list.children.length < 2) return;
  const words = form.querySelector("#words");
  const order = form.querySelector("#order");
  const status = form.querySelector(".shown");
  const none = document.querySelector(".none-fits");
  const texts = [".node-card h2", ".asked-text", ".found-text"];
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

  // Read once: of 10,000 entries, asking the page at each key would be slow.
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
    started: () => 0,
    oldest: (a, b) => b.at - a.at,
    changed: (a, b) => compare(b.changed, a.changed),
    nodes: (a, b) => b.nodes - a.nodes,
    title: (a, b) => collator.compare(a.title, b.title),
  };

  // What is chosen stands in the address, so that it can be sent to somebody.
  const chosen = () => ({
    q: words.value.trim(),
    show: form.querySelector("[name=state]:checked").value,
    order: order.value,
  });
  const remember = ({ q, show, order }) => {
    const choice = new URLSearchParams();
    if (q) choice.set("q", q);
    if (show !== "all") choice.set("show", show);
    if (order !== "started") choice.set("order", order);
    const hash = choice.toString();
    try {
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    } catch {
      // Browsers limit how often this may be called; the page works without it.
    }
  };
  const recall = () => {
    const choice = new URLSearchParams(location.hash.slice(1));
    words.value = choice.get("q") ?? "";
    const state = [...form.querySelectorAll("[name=state]")].find((one) => one.value === choice.get("show"));
    if (state) state.checked = true;
    if (orders[choice.get("order")]) order.value = choice.get("order");
  };

  const filter = () => {
    const choice = chosen();
    const parts = fold(choice.q).split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { item, text, states } of entries) {
      const fits =
        (choice.show === "all" || states.includes(choice.show)) && parts.every((part) => text.includes(part));
      if (item.hidden === fits) item.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    none.hidden = shown > 0;
    status.textContent = `${shown} of ${entries.length} shown`;
    remember(choice);
  };
  const sort = () => {
    const sorted = [...entries].sort((a, b) => orders[order.value](a, b) || a.at - b.at);
    list.append(...sorted.map(({ item }) => item));
  };

  recall();
  form.hidden = false;
  if (order.value !== "started") sort();
  filter();
  words.addEventListener("input", filter);
  form.addEventListener("change", (event) => {
    if (event.target === order) sort();
    filter();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
})();
