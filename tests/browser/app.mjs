// The MCP App in a frame without network, as a host shows it: the handshake, the tree, and a node behind its card.

import fs from "node:fs";
import path from "node:path";

const PAGE = fs.readFileSync(path.join(import.meta.dirname, "../../src/mcp/app.html"), "utf8");
/** What a host has to enforce where a page asks for nothing. */
const POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'none'";
const DRAWING =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 50"><style>.card{fill:#888}</style>' +
  '<g class="card role-solution"><title>R1.A (FOUND): The answer</title><rect width="90" height="40"/></g></svg>';

/** Shows the page in a host that answers from a list of resources. */
async function host(page, resources) {
  const html = PAGE.replace("<head>", `<head><meta http-equiv="Content-Security-Policy" content="${POLICY}">`);
  await page.goto("about:blank");
  await page.evaluate(
    ({ html, resources }) => {
      const frame = document.createElement("iframe");
      frame.sandbox = "allow-scripts";
      frame.style.width = "100%";
      window.heard = [];
      const send = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
      window.addEventListener("message", ({ data }) => {
        window.heard.push(data.method);
        if (data.method === "ui/initialize") {
          send({ id: data.id, result: { protocolVersion: "2026-01-26", hostContext: { theme: "dark" } } });
        } else if (data.method === "ui/notifications/initialized") {
          send({ method: "ui/notifications/tool-input", params: { arguments: { sessionId: "01a1" } } });
          const content = [{ type: "text", text: "How it stands" }];
          send({ method: "ui/notifications/tool-result", params: { content } });
        } else if (data.method === "resources/read") {
          const text = resources[data.params.uri];
          const error = { code: -32602, message: "no such resource" };
          send({ id: data.id, ...(text ? { result: { contents: [{ text }] } } : { error }) });
        }
      });
      frame.srcdoc = html;
      document.body.append(frame);
    },
    { html, resources },
  );
  return page.frameLocator("iframe");
}

export async function app(page) {
  const faults = [];
  page.on("console", (message) => message.type() === "error" && faults.push(`the console says: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`a script fails: ${error.message}`));
  const frame = await host(page, { "tot://01a1/graph.svg": DRAWING, "tot://01a1/nodes/R1.A": "# R1.A The answer" });
  const text = frame.locator("#text");
  const card = frame.locator("#tree .card");
  await card.waitFor();
  if ((await text.textContent()) !== "How it stands") faults.push("the reply is not shown");
  await card.focus();
  await page.keyboard.press("Enter");
  await frame.getByText("# R1.A The answer").waitFor();
  const heard = await page.evaluate(() => window.heard);
  if (!heard.includes("ui/notifications/size-changed")) faults.push("the host is not told the size");
  // A host that reads no resources for the page.
  const bare = await host(page, {});
  await bare.getByText("How it stands").waitFor();
  if (await bare.locator("#tree").isVisible()) faults.push("an empty tree is shown");
  return faults;
}
