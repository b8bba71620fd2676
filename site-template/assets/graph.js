// Zoom and pan for the graph, and scrolling to the best answer. Optional: without it, the box
// scrolls and links to cards work.
"use strict";

(() => {
  const LEAST = 0.05;
  const MOST = 3;
  const STEP = 1.25;

  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

  // The box fits the first screen, so everything visible in it is visible to the reader.
  const fitWindow = (box) => {
    const room = window.innerHeight - box.getBoundingClientRect().top - window.scrollY - 16;
    if (room >= 280) box.style.maxHeight = `${room}px`;
  };

  // Scrolls the box until a card is fully visible, and no further across than needed.
  const reveal = (box, card) => {
    const [outer, inner] = [box.getBoundingClientRect(), card.getBoundingClientRect()];
    const seen = Math.min(outer.bottom, window.innerHeight) - Math.max(outer.top, 0);
    const room = seen > inner.height ? seen : box.clientHeight;
    box.scrollTop += inner.top + inner.height / 2 - Math.max(outer.top, 0) - room / 2;
    const over = inner.right + 16 - outer.left - box.clientWidth;
    if (over > 0) box.scrollLeft += over;
  };

  // The node that the address names. If it is not on this page, loads the page that has it.
  const namedCard = (box, inside) => {
    let id = "";
    try {
      id = decodeURIComponent(location.hash.slice(1));
    } catch {
      return null;
    }
    const card = id && document.getElementById(id);
    // The tree has the nodes that a picture of a large investigation has no room for.
    if (id && !card) location.replace(`tree.html${location.hash}`);
    return card && inside.contains(card) ? card : null;
  };

  const enhance = (box) => {
    const fit = box.querySelector(".graph-fit");
    const svg = fit.querySelector("svg.graph");
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    let scale = 1;

    const tools = document.createElement("div");
    tools.className = "graph-tools";
    tools.setAttribute("role", "group");
    tools.setAttribute("aria-label", "Zoom");
    const keys = document.createElement("span");
    keys.className = "keys";
    keys.textContent = "Drag to move; Ctrl + wheel or + − 0 to zoom";
    const shown = document.createElement("output");
    const button = (text, label, act) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.setAttribute("aria-label", label);
      button.addEventListener("click", act);
      return button;
    };

    // The picture has a size and the box scrolls, so focus, find-in-page and links to cards keep working.
    const zoom = (to, at) => {
      const before = svg.getBoundingClientRect();
      const frame = box.getBoundingClientRect();
      const point = at || { x: frame.left + box.clientWidth / 2, y: frame.top + box.clientHeight / 2 };
      const inside = { x: (point.x - before.left) / scale, y: (point.y - before.top) / scale };
      scale = Math.min(MOST, Math.max(Math.min(LEAST, whole()), to));
      fit.classList.add("scaled");
      svg.setAttribute("width", (width * scale).toFixed(1));
      svg.setAttribute("height", (height * scale).toFixed(1));
      const after = svg.getBoundingClientRect();
      box.scrollLeft += after.left + inside.x * scale - point.x;
      box.scrollTop += after.top + inside.y * scale - point.y;
      shown.value = `${Math.round(scale * 100)} %`;
    };
    const whole = () => Math.min(1, box.clientWidth / width, tallest() / height);
    // The maximum height of the box, whatever it contains.
    const tallest = () => Math.max(240, parseFloat(getComputedStyle(box).maxHeight) || window.innerHeight * 0.85);

    const centre = (card, smoothly) => {
      const [outer, inner] = [box.getBoundingClientRect(), card.getBoundingClientRect()];
      box.scrollBy({
        left: inner.left + inner.width / 2 - outer.left - box.clientWidth / 2,
        top: inner.top + inner.height / 2 - outer.top - box.clientHeight / 2,
        behavior: smoothly && !calm.matches ? "smooth" : "instant",
      });
    };

    tools.append(
      keys,
      button("−", "Zoom out", () => zoom(scale / STEP)),
      shown,
      button("+", "Zoom in", () => zoom(scale * STEP)),
      button("Fit", "Fit the whole graph", () => zoom(whole())),
      button("100 %", "100 %: actual size", () => zoom(1)),
    );
    box.before(tools);
    box.classList.add("can-drag");

    box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = {
        "+": () => zoom(scale * STEP),
        "=": () => zoom(scale * STEP),
        "-": () => zoom(scale / STEP),
        0: () => zoom(whole()),
        1: () => zoom(1),
      }[event.key];
      const far = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (act) act();
      else if (far) box.scrollBy({ left: far[0] * 60, top: far[1] * 60, behavior: "instant" });
      else return;
      event.preventDefault();
    });

    box.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const by = Math.max(-60, Math.min(60, event.deltaY * lines));
      zoom(scale * Math.exp(-by / 200), { x: event.clientX, y: event.clientY });
    }, { passive: false });

    // A mouse drags, two fingers pinch, and one finger scrolls as usual.
    const pointers = new Map();
    let pinched = null;
    let from = null;
    let dragged = false;
    const two = () => {
      const [a, b] = [...pointers.values()];
      return { far: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    };
    box.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" && event.button !== 0) return;
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      dragged = false;
      if (pointers.size === 2) pinched = { ...two(), scale };
      else if (event.pointerType === "mouse") from = { x: event.clientX, y: event.clientY };
    });
    window.addEventListener("pointermove", (event) => {
      const last = pointers.get(event.pointerId);
      if (!last) return;
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (pointers.size === 2 && pinched) {
        const now = two();
        zoom(pinched.scale * now.far / Math.max(1, pinched.far), now);
      } else if (from) {
        if (!dragged && Math.hypot(event.clientX - from.x, event.clientY - from.y) < 4) return;
        dragged = true;
        box.classList.add("dragging");
        box.scrollLeft -= event.clientX - last.x;
        box.scrollTop -= event.clientY - last.y;
      }
    });
    const lift = (event) => {
      pointers.delete(event.pointerId);
      pinched = null;
      from = null;
      box.classList.remove("dragging");
    };
    window.addEventListener("pointerup", lift);
    window.addEventListener("pointercancel", lift);
    // Dragging a card does not click it, and the mouse does not drag links out of the page.
    box.addEventListener("click", (event) => {
      if (dragged) event.preventDefault();
      dragged = false;
    }, true);
    box.addEventListener("dragstart", (event) => event.preventDefault());

    // `graph.html#R3.A1a` shows that card, on whichever page it is.
    const named = (smoothly) => {
      const card = namedCard(box, svg);
      if (!card) return false;
      // A picture that was shrunk to fit is enlarged until the card is readable.
      if (scale < 0.6) zoom(1);
      centre(card, smoothly);
      return true;
    };
    window.addEventListener("hashchange", () => named(true));
    // The browser scrolls to the card once the page is loaded, but puts it into a corner.
    window.addEventListener("load", () => requestAnimationFrame(() => named(false)), { once: true });

    // The whole picture if it is readable then, otherwise the best answer or the root.
    fitWindow(box);
    const across = Math.min(1, box.clientWidth / width);
    const readable = Number(fit.querySelector(".graph-struts svg").getAttribute("width")) / width;
    zoom(Math.max(across, readable));
    const first = svg.querySelector(".best-answer") ?? svg.querySelector(".card");
    box.scrollLeft = 0;
    if (!named(false) && first) reveal(box, first);
  };

  document.querySelectorAll("[data-graph]").forEach(enhance);
})();
