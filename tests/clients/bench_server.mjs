// A minimal MCP server on npm's `@modelcontextprotocol/sdk`: one tool that says what it is told. What bench.py measures
// beside the real server.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { resolve } = createRequire(`${process.argv[2]}/package.json`);
const load = (name) => import(pathToFileURL(resolve(`@modelcontextprotocol/sdk/server/${name}.js`)));
const { Server } = await load("index");
const { StdioServerTransport } = await load("stdio");
const types = await import(pathToFileURL(resolve("@modelcontextprotocol/sdk/types.js")));

const server = new Server({ name: "minimal", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(types.ListToolsRequestSchema, async () => ({
  tools: [{ name: "echo", inputSchema: { type: "object", properties: { text: { type: "string" } } } }],
}));
server.setRequestHandler(types.CallToolRequestSchema, async ({ params }) => ({
  content: [{ type: "text", text: String(params.arguments?.text) }],
}));
await server.connect(new StdioServerTransport());
