// Runs before the page is shown: applies the chosen colours, and reserves room for the line about changes.
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
  // The investigation has changed since the last visit. `since.js` tells how.
  const { investigation, head } = document.currentScript.dataset;
  const seen = (storage) => {
    try { return storage().getItem(`tot-head:${investigation}`); } catch { return null; }
  };
  const before = seen(() => sessionStorage) ?? seen(() => localStorage);
  if (before && before !== head) root.classList.add("seen-before");
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
