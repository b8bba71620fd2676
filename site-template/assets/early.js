// Runs before the page is shown: applies the chosen colours.
// Optional: without it, the page uses the colours of the system.
"use strict";

(() => {
  const root = document.documentElement;
  const KEY = "tot-theme";
  // The browser may forbid storage, and the stored value may be anything.
  const kept = () => {
    try { return localStorage.getItem(KEY); } catch { return null; }
  };
  const use = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  use(kept());
  root.classList.add("scripted");
  addEventListener("storage", (event) => { if (event.key === KEY) use(event.newValue); });
  document.addEventListener("DOMContentLoaded", () => {
    const choice = document.querySelector("#theme");
    if (!choice) return;
    choice.value = root.dataset.theme ?? "";
    choice.addEventListener("change", () => {
      use(choice.value);
      try {
        if (choice.value) localStorage.setItem(KEY, choice.value);
        else localStorage.removeItem(KEY);
      } catch {
        // The choice applies to this page only.
      }
    });
  });
})();
