// In served pages only: asks the server whether the investigation has grown, and shows the new page then.
"use strict";

(() => {
  const { src, dataset } = document.currentScript;
  const address = new URL(`../-/shown?not=${encodeURIComponent(dataset.shown)}`, src);
  const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

  (async () => {
    for (;;) {
      try {
        // The server answers when there is something else to show, or after a while.
        const answer = await fetch(address, { cache: "no-store" });
        if (answer.status === 200) {
          dispatchEvent(new Event("tot-reload"));
          location.reload();
          return;
        }
        if (answer.status !== 204) await wait(2000);
      } catch {
        // It was stopped, or is being restarted.
        await wait(2000);
      }
    }
  })();
})();
