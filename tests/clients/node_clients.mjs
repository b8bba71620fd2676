// The official TypeScript clients (npm `@modelcontextprotocol/sdk` and `@modelcontextprotocol/client`) against a real
// server, over stdio and over HTTP. Started by node_clients.py, which has the calls and looks at the repository:
//
//   node node_clients.mjs MODULES WAY < {"server", "root", "environment", "url", "token", "calls"}
//
// WAY is `sdk` or `client`. The answer is one line of JSON: what was listed, what each call gave, and the protocol.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, way] = process.argv.slice(2);
const asked = JSON.parse(readFileSync(0, "utf8"));
const { resolve } = createRequire(`${modules}/package.json`);
const load = (name) => import(pathToFileURL(resolve(name)));

const packages = {
  sdk: async () => {
    const sdk = "@modelcontextprotocol/sdk/client";
    return {
      ...(await load(`${sdk}/index.js`)),
      ...(await load(`${sdk}/stdio.js`)),
      ...(await load(`${sdk}/streamableHttp.js`)),
    };
  },
  client: async () => ({
    ...(await load("@modelcontextprotocol/client")),
    ...(await load("@modelcontextprotocol/client/stdio")),
  }),
};
const { Client, StdioClientTransport, StreamableHTTPClientTransport } = await packages[way]();

const transport = asked.url
  ? new StreamableHTTPClientTransport(new URL(asked.url), {
      requestInit: { headers: { Authorization: `Bearer ${asked.token}` } },
    })
  : new StdioClientTransport({
      command: asked.server,
      args: ["--root", asked.root],
      env: asked.environment,
    });
const client = new Client({ name: "tot-tests", version: "1" }, asked.options ?? {});
await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
let session;
for (const call of asked.calls) {
  const ofSession = "sessionId" in call.arguments;
  const given = ofSession ? { ...call.arguments, sessionId: session } : call.arguments;
  const result = await client.callTool({ name: call.tool, arguments: given });
  session ??= JSON.parse(result.content[0].text).sessionId;
  results.push(result);
}
const protocol = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? "of initialize";
const instructions = client.getInstructions();
if (asked.url) await transport.terminateSession?.();
await client.close();
console.log(JSON.stringify({ tools, results, instructions, protocol }));
