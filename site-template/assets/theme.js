// The colours that the reader has chosen, before anything of the page is seen. Only adds: without it the system's hold.
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
