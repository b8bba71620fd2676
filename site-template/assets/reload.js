// Only on served pages: asks the server whether the investigation has changed, and reloads the page if so.
"use strict";

(() => {
  const { src, dataset } = document.currentScript;
  const address = new URL(`../-/shown?not=${encodeURIComponent(dataset.shown)}`, src);
  const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

  (async () => {
    for (;;) {
      try {
        // The server answers when the page has changed, or after a timeout.
        const answer = await fetch(address, { cache: "no-store" });
        if (answer.status === 200) {
          dispatchEvent(new Event("tot-reload"));
          location.reload();
          return;
        }
        if (answer.status !== 204) await wait(2000);
      } catch {
        // The server was stopped or is restarting.
        await wait(2000);
      }
    }
  })();
})();
