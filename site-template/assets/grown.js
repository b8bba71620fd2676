// The history slider: shows the tree as of each commit. Its data is a script, loaded when the slider is opened. Optional.
"use strict";

(() => {
  const part = document.querySelector("details.grown");
  if (!part) return;
  const ROW = 20;
  const WIDTH = 1000;
  const drawn = (name, properties) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
    return element;
  };

  // Every node that ever existed, below its parent. A node keeps its place at all commits.
  const placed = (commits) => {
    const nodes = new Map();
    for (const [, , changes] of commits) {
      for (const [id, parent] of changes) {
        if (nodes.has(id)) continue;
        nodes.set(id, { id, above: nodes.get(parent), row: Number(/^R(\d+)/.exec(id)?.[1] ?? 1) - 1, leaves: 0, next: 0 });
      }
    }
    const all = [...nodes.values()];
    for (const node of [...all].reverse()) {
      node.leaves = Math.max(node.leaves, 1);
      if (node.above) node.above.leaves += node.leaves;
    }
    const top = { next: 0 };
    for (const node of all) {
      const above = node.above ?? top;
      node.from = above.next;
      node.next = above.next;
      above.next += node.leaves;
    }
    return { nodes, wide: Math.max(top.next, 1), rows: Math.max(...all.map(({ row }) => row + 1), 1) };
  };

  const show = ({ states, commits }) => {
    const { nodes, wide, rows } = placed(commits);
    const slider = document.createElement("input");
    Object.assign(slider, { type: "range", min: 1, max: commits.length, value: commits.length });
    const label = document.createElement("label");
    label.append("Tree after commit ", slider);
    const said = document.createElement("p");
    said.className = "said";
    said.setAttribute("role", "status");
    const picture = drawn("svg", { viewBox: `0 0 ${WIDTH} ${rows * ROW}`, preserveAspectRatio: "none", height: rows * ROW, role: "img" });
    for (const node of nodes.values()) {
      const x = (node.from / wide) * WIDTH;
      node.rect = drawn("rect", { x, y: node.row * ROW, width: (node.leaves / wide) * WIDTH, height: ROW });
      const title = drawn("title", {});
      title.textContent = node.id;
      node.rect.append(title);
      picture.append(node.rect);
    }
    const draw = () => {
      const number = Number(slider.value);
      const now = new Map();
      for (const [, , changes] of commits.slice(0, number)) {
        for (const [id, , state] of changes) {
          if (state === null) now.delete(id);
          else now.set(id, state);
        }
      }
      for (const [id, { rect }] of nodes) {
        const wanted = now.has(id) ? states[now.get(id)][1] : null;
        if (wanted === rect.getAttribute("class")) continue;
        if (wanted === null) rect.removeAttribute("class");
        else rect.setAttribute("class", wanted);
      }
      const counts = new Map();
      for (const state of now.values()) counts.set(state, (counts.get(state) ?? 0) + 1);
      const parts = [...counts].sort(([a], [b]) => a - b).map(([state, count]) => [`${count} ${states[state][0]}`, states[state][1]]);
      const [time, subject] = commits[number - 1];
      const strong = document.createElement("b");
      strong.textContent = subject;
      // The chips are also the legend.
      const chips = parts.flatMap(([text, role]) => {
        const chip = document.createElement("span");
        chip.className = `chip ${role}`;
        chip.textContent = text;
        return [" ", chip];
      });
      said.replaceChildren(`${number} of ${commits.length}, ${time}: `, strong, document.createElement("br"), ...chips);
      slider.setAttribute("aria-valuetext", `${number} of ${commits.length}: ${subject}`);
      picture.setAttribute("aria-label", `The tree after commit ${number}, a row for each round: ${parts.map(([text]) => text).join(", ") || "empty"}`);
    };
    const play = document.createElement("button");
    Object.assign(play, { type: "button", className: "plain-button", textContent: "Play" });
    let playing = null;
    const stop = () => {
      clearInterval(playing);
      playing = null;
      play.textContent = "Play";
      said.removeAttribute("aria-busy");
    };
    // Playing takes half a minute in total.
    const step = Math.ceil(commits.length / 300);
    const next = () => {
      slider.stepUp(step);
      draw();
      if (Number(slider.value) === commits.length) stop();
    };
    play.addEventListener("click", () => {
      if (playing !== null) return stop();
      if (Number(slider.value) === commits.length) slider.value = 1;
      play.textContent = "Pause";
      said.setAttribute("aria-busy", "true");
      playing = setInterval(next, (30_000 * step) / commits.length);
      draw();
    });
    slider.addEventListener("input", () => {
      stop();
      draw();
    });
    const tools = document.createElement("div");
    tools.className = "grown-tools";
    tools.append(play, label);
    part.append(tools, picture, said);
    draw();
  };

  part.addEventListener("toggle", () => {
    if (!part.open) return;
    window.totGrown = show;
    const script = document.createElement("script");
    script.src = "grown.js";
    script.addEventListener("error", () => part.append("The data can’t be loaded."));
    document.head.append(script);
  }, { once: true });
})();
