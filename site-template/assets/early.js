// What must be known before anything of the page is seen: the colours that the reader has chosen, and whether there is room to
// keep for what is new. Only adds: without it the system's colours hold.
"use strict";

(() => {
  const root = document.documentElement;
  const KEY = "tot-theme";
  // A browser may not allow it, and what is kept may be anybody's.
  const kept = () => {
    try { return localStorage.getItem(KEY); } catch { return null; }
  };
  const use = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  use(kept());
  root.classList.add("scripted");
  // Of an investigation that has another state than at the last visit; `since.js` says which.
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
        // It holds for this page.
      }
    });
  });
})();
