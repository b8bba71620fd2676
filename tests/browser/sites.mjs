// The sites under test: made by the real programs, read from disk, and served below a path of a loopback server.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { pathToFileURL } from "node:url";

const TYPES = {
  ".html": "text/html",
  ".css": "text/css",
  ".js": "text/javascript",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".xml": "application/atom+xml",
};

/** The bundles of this repository that are answers to somebody: their first screens are looked at. */
const BUNDLES = ["strangers", "latency", "totals", "decision"];

/** Makes the sites in a folder: name to site. */
export function make({ programs, specimens, folder }) {
  // Outside of this repository, which would be the project of the reports.
  const options = { stdio: ["ignore", "ignore", "inherit"], cwd: folder, env: { ...process.env, HOME: folder } };
  const run = (program, ...given) => execFileSync(program, given, options);
  const at = (...parts) => path.join(folder, ...parts);
  const report = (name, ...inputs) => run(path.join(programs, "tot-report"), ...inputs, "--out", at("sites", name));
  run(path.join(programs, "tot"), "demo", at("demo"));
  run(specimens, "large", "1000", at("large"));
  run(specimens, "hostile", at("hostile"));
  const demo = at("demo", "investigations");
  report("demo", demo);
  report("large", at("large"));
  report("several", demo, at("large"));
  report("hostile", at("hostile"), "--source-url", "https://x.example/{commit}/{path}#L{line}");
  for (const name of BUNDLES) {
    const bundle = path.join(import.meta.dirname, "../../investigations", `${name}.bundle`);
    run("git", "clone", "--quiet", bundle, at("bundles", name));
    report(name, at("bundles", name));
  }
  return Object.fromEntries(
    ["demo", "large", "several", "hostile", ...BUNDLES].map((name) => [name, { name, folder: at("sites", name) }]),
  );
}

/** The files below a folder, relative, in order. */
export function list(folder, below = "") {
  return fs
    .readdirSync(path.join(folder, below), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const name = below ? `${below}/${entry.name}` : entry.name;
      return entry.isDirectory() ? list(folder, name) : [name];
    });
}

/**
 * Serves folders, each below a path of its own, and nothing else. What is asked beside them is in `strays`.
 * Without any header that helps: the pages must bring along what they need.
 */
export async function serve(sites) {
  const strays = [];
  const server = http.createServer((request, response) => {
    const address = decodeURIComponent(new URL(request.url, "http://x").pathname);
    const [, name, rest] = /^\/some\/sub\/([a-z]+)\/(.*)$/.exec(address) ?? [];
    const file = name && sites[name] && path.join(sites[name].folder, rest || "index.html");
    if (!file || !fs.existsSync(file) || request.method !== "GET") {
      strays.push(`${request.method} ${request.url}`);
      response.writeHead(404).end();
      return;
    }
    const type = TYPES[path.extname(file)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": `${type}; charset=utf-8` }).end(fs.readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  for (const site of Object.values(sites)) {
    site.bases = {
      file: `${pathToFileURL(site.folder)}/`,
      http: `${origin}/some/sub/${site.name}/`,
    };
  }
  return { strays, close: () => server.close() };
}
