// The report in a real browser: sites of the demo, of 1,000 nodes, of several investigations and of an attacker's,
// from disk and from below a path of a loopback server.
//
//   node run.mjs FOLDER_OF_THE_PROGRAMS SPECIMENS NODE_MODULES [CHROMIUM]
//
// By hand, from the root of the project:
//
//   cargo build --workspace --bins
//   mkdir -p target/ci/browser && cp tests/browser/package*.json target/ci/browser
//   npm ci --ignore-scripts --prefix target/ci/browser
//   node tests/browser/run.mjs target/debug target/debug/specimens target/ci/browser/node_modules
//
// KEEP=DIR keeps the sites in DIR, ONLY=NAME runs the checks of that name, and PAGES=all looks at more pages of each kind.

import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

import { app } from "./app.mjs";
import * as checks from "./checks.mjs";
import { served } from "./served.mjs";
import { list, make, serve } from "./sites.mjs";

const [programs, specimens, modules, chromium = "/usr/bin/chromium"] = process.argv.slice(2).map((given) => path.resolve(given));
if (!modules) {
  console.error("usage: run.mjs FOLDER_OF_THE_PROGRAMS SPECIMENS NODE_MODULES [CHROMIUM]");
  process.exit(2);
}
const require = createRequire(path.join(modules, "x.js"));
const playwright = require("playwright-core");
const axeSource = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** Whether more is looked at than one or two pages of each kind, and more than an eighth of the hostile investigations. */
const ALL = process.env.PAGES === "all";
/** Pages of one kind that are looked at in a large site. */
const SAMPLE = ALL ? 8 : 1;
/** Pages that are open at once. */
const WORKERS = 2;

const started = Date.now();
const folder = process.env.KEEP ?? fs.mkdtempSync(path.join(os.tmpdir(), "tot-browser-"));
const sites = make({ programs, specimens, folder });
const server = await serve(sites);
const browser = await playwright.chromium.launch({
  executablePath: chromium,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    // Whatever a page asks for elsewhere has no address.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
  ],
});

const rows = [];
const faulty = [];

/** Runs one check on pages of a site, and notes a row of the table. */
async function check(name, site, origin, files, options, work) {
  if (process.env.ONLY && process.env.ONLY !== name) return;
  const since = Date.now();
  const faults = [];
  const queue = [...files];
  const worker = async () => {
    const context = await browser.newContext({ viewport: checks.WIDE, ...options });
    await context.addInitScript(checks.watch);
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      try {
        const found = await work(page, file);
        faults.push(...found.map((fault) => `${site.name}, ${origin}, ${file}: ${fault}`));
      } catch (error) {
        faults.push(`${site.name}, ${origin}, ${file}: ${error.message.split("\n")[0]}`);
      }
    }
    await context.close();
  };
  await Promise.all(Array.from({ length: Math.min(WORKERS, queue.length) }, worker));
  faulty.push(...faults.map((fault) => `${name}: ${fault}`));
  const seconds = ((Date.now() - since) / 1000).toFixed(1);
  rows.push([name, site.name, origin, String(files.length), String(faults.length), seconds]);
}

// All links, and with them the kinds of pages there are.
const reader = await browser.newPage();
for (const site of Object.values(sites)) {
  const since = Date.now();
  const { pages, faults } = await checks.links(reader, site, list(site.folder));
  site.pages = pages;
  faulty.push(...faults.map((fault) => `links: ${site.name}: ${fault}`));
  const seconds = ((Date.now() - since) / 1000).toFixed(1);
  rows.push(["links", site.name, "-", String(Object.keys(pages).length), String(faults.length), seconds]);
}
await reader.close();

/** At most so many pages of each kind: the smallest, the largest, and some between. */
function sample(site, most) {
  const kinds = new Map();
  for (const [file, { kind }] of Object.entries(site.pages)) kinds.set(kind, [...(kinds.get(kind) ?? []), file]);
  return [...kinds.values()].flatMap((files) => {
    const sorted = files.sort((a, b) => site.pages[a].bytes - site.pages[b].bytes);
    if (sorted.length <= most) return sorted;
    if (most === 1) return sorted.slice(-1);
    return Array.from({ length: most }, (_, at) => sorted[Math.round((at * (sorted.length - 1)) / (most - 1))]);
  });
}

/** Of each investigation of a site: the largest page of the kinds that show most, and every third time of the others. */
function spread(site) {
  const folders = new Map();
  for (const file of Object.keys(site.pages)) {
    const top = file.includes("/") ? file.split("/")[0] : "";
    folders.set(top, [...(folders.get(top) ?? []), file]);
  }
  const some = [...folders.values()].filter((_, number) => ALL || number % 8 === 0);
  return some.flatMap((files, number) => {
    const pages = Object.fromEntries(files.map((file) => [file, site.pages[file]]));
    const most = ["overview", "history", "node"];
    return sample({ pages }, 1).filter((file) => number % 3 === 0 || most.includes(pages[file].kind));
  });
}

const { demo, large, several, hostile, ...bundles } = sites;
// What a site of several has beside those of one.
several.index = Object.keys(several.pages).filter((file) => !file.includes("/"));

// Opened from disk and from a path: nothing fails, nothing leaves.
for (const origin of ["file", "http"]) {
  const pages = [[demo, ALL ? Object.keys(demo.pages) : sample(demo, 2)], [large, sample(large, SAMPLE)]];
  pages.push([several, ALL ? sample(several, 1) : several.index]);
  for (const [site, files] of pages) {
    await check("opens", site, origin, files, {}, (page, file) => checks.open(page, site.bases[origin], file));
  }
}
// On a phone nothing scrolls sideways, whatever strangers write; nor does anything of theirs run.
for (const [site, files] of [[demo, sample(demo, SAMPLE)], [large, sample(large, 2)], [several, several.index], [hostile, spread(hostile)]]) {
  await check("phone", site, "file", files, { viewport: checks.PHONE }, async (page, file) => [
    ...(await checks.open(page, site.bases.file, file)),
    ...(await checks.sideways(page)),
    // The print is no page for a finger.
    ...(site === demo && site.pages[file].kind !== "print" ? await checks.targets(page) : []),
  ]);
}

// Who has to decide finds the answer and how far to trust it without scrolling.
for (const viewport of checks.FIRST_SCREENS) {
  for (const site of [demo, ...Object.values(bundles)]) {
    await check(`first screen, ${viewport.width} px`, site, "file", ["index.html"], { viewport }, async (page, file) => {
      await page.goto(new URL(file, site.bases.file).href);
      const narrow = viewport.width < 600 ? [...(await checks.sideways(page)), ...(await checks.targets(page))] : [];
      return [...(await checks.firstScreen(page)), ...narrow];
    });
  }
}
// However much was found, a reader comes to the end of the first page.
for (const [viewport, most] of [[checks.FIRST_SCREENS[0], 4000], [checks.FIRST_SCREENS[2], 7500]]) {
  for (const site of [demo, large]) {
    await check(`height, ${viewport.width} px`, site, "file", ["index.html"], { viewport }, async (page, file) => {
      await page.goto(new URL(file, site.bases.file).href);
      return checks.height(page, most);
    });
  }
}

// Graphs of any size open with the best answer in sight; each node is reached by clicking, and by keys.
for (const viewport of checks.FIRST_SCREENS) {
  for (const site of [demo, large]) {
    const files = Object.keys(site.pages).filter((file) => file === "graph.html");
    await check(`best answer, ${viewport.width} px`, site, "file", files, { viewport }, async (page, file) => [
      ...(await checks.open(page, site.bases.file, file, { settle: 100 })),
      ...(await checks.bestAnswer(page)),
    ]);
  }
}
for (const site of [demo, large]) {
  await check("maps", site, "file", ["tree.html"], {}, async () => checks.clicks(site.pages));
}
// What is read stays where it is while the page is loaded.
for (const viewport of [checks.WIDE, checks.PHONE]) {
  for (const [site, files] of [[demo, sample(demo, 1)], [large, sample(large, 1)], [several, several.index]]) {
    await check(`shift, ${viewport.width} px`, site, "file", files, { viewport }, async (page, file) => {
      await page.goto(new URL(file, site.bases.file).href);
      return checks.shift(page);
    });
  }
}

// Every kind of page, in each way that it can be looked at.
for (const [site, files] of [[demo, sample(demo, 1)], [large, ALL ? sample(large, 1) : []], [several, several.index]]) {
  await check("media", site, "file", files, {}, async (page, file) => [
    ...(await checks.open(page, site.bases.file, file)),
    ...(await checks.media(page)),
  ]);
  await check("no script", site, "file", files, { javaScriptEnabled: false }, async (page, file) => {
    const faults = await checks.open(page, site.bases.file, file);
    const bare = await checks.shown(page);
    const context = await browser.newContext({ viewport: checks.WIDE });
    const scripted = await context.newPage();
    await scripted.goto(new URL(file, site.bases.file).href);
    // What only a script can use is no content.
    await scripted.evaluate(() => document.querySelectorAll("main form").forEach((form) => (form.hidden = true)));
    const full = await checks.shown(scripted);
    await context.close();
    // Scripts fold and add; they bring no content.
    if (bare.length < 0.9 * full.length) faults.push(`shows ${bare.length} of ${full.length} characters`);
    return faults;
  });
}
// Axe is a script from elsewhere: here alone, the policy is set aside.
const axe = (scheme, viewport, site, files) =>
  check(`axe, ${scheme}, ${viewport.width} px`, site, "file", files, { viewport, colorScheme: scheme, bypassCSP: true }, async (page, file) => {
    await page.goto(new URL(file, site.bases.file).href);
    return checks.axe(page, axeSource);
  });
for (const scheme of ["light", "dark"]) {
  for (const viewport of [checks.WIDE, checks.PHONE]) {
    await axe(scheme, viewport, demo, sample(demo, ALL ? 2 : 1));
    await axe(scheme, viewport, several, several.index);
  }
}
// Minutes on a page of ten thousand elements.
if (ALL) {
  await axe("light", checks.WIDE, large, sample(large, 1));
  await axe("dark", checks.PHONE, large, sample(large, 1));
}

// What scripts add.
const ofKind = (site, kind) => sample(site, 3).filter((file) => site.pages[file].kind === kind);
for (const viewport of [{ width: 1440, height: 900 }, { width: 1024, height: 768 }]) {
  await check(`node, ${viewport.width} px`, demo, "file", ofKind(demo, "node"), { viewport }, async (page, file) => {
    await page.goto(new URL(file, demo.bases.file).href);
    return checks.node(page);
  });
}
for (const origin of ["file", "http"]) {
  await check("colours", several, origin, [several.index[0], ...ofKind(several, "node").slice(0, 1)], {}, async (page, file) => {
    await page.goto(new URL(file, several.bases[origin]).href);
    return checks.theme(page);
  });
  await check("last visit", demo, origin, ["index.html"], {}, (page) => checks.since(page, demo.bases[origin]));
}
const having = (site, pattern) =>
  Object.keys(site.pages).filter((file) => pattern.test(fs.readFileSync(path.join(site.folder, file), "utf8")));
let trees = 0;
let fields = 0;
let zooms = 0;
let choices = 0;
for (const site of [demo, large]) {
  for (const origin of ALL || site === demo ? ["file", "http"] : ["file"]) {
    const base = site.bases[origin];
    await check("tree", site, origin, sample(site, 1), {}, async (page, file) => {
      const faults = await checks.open(page, base, file);
      if ((await page.locator("[role=tree]").count()) === 0) return faults;
      trees += 1;
      return [...faults, ...(await checks.tree(page))];
    });
    await check("search", site, origin, sample(site, 1).filter((file) => site.pages[file].kind !== "node"), {}, async (page, file) => {
      const faults = await checks.open(page, base, file);
      const { faults: found, fields: number } = await checks.search(page, site === demo ? [["30364", "30,364"], ["R4a1A1", "R4.A1a1"]] : []);
      fields += number;
      return [...faults, ...found];
    });
    await check("kept", site, origin, sample(site, 1), {}, async (page, file) => {
      await page.goto(new URL(file, base).href);
      const { faults, found } = await checks.kept(page);
      choices += Number(found);
      return faults;
    });
    await check("zoom", site, origin, having(site, /class="page-graph"/).slice(0, 2), {}, async (page, file) => {
      const faults = await checks.open(page, base, file);
      const { faults: found, found: there } = await checks.zoom(page);
      zooms += Number(there);
      return [...faults, ...found];
    });
  }
}
for (const [what, number] of [["tree", trees], ["search field", fields], ["graph that can be enlarged", zooms], ["choice to be kept", choices]]) {
  if (number === 0 && !process.env.ONLY) faulty.push(`no page has a ${what}`);
}
// A page that is served, while the investigation goes on.
const investigations = path.join(folder, "demo", "investigations");
const name = fs.readdirSync(investigations).find((name) => !name.startsWith("."));
const investigation = path.join(investigations, name);
await check("served", demo, "http", ["index.html"], {}, (page) => served(page, { programs, investigation, folder }));
// The page that clients show beside a reply.
await check("app", { name: "-" }, "-", ["src/mcp/app.html"], {}, app);
faulty.push(...server.strays.map((stray) => `the server was asked for ${stray}`));

await browser.close();
server.close();
if (!process.env.KEEP) fs.rmSync(folder, { recursive: true });

const table = [["check", "site", "from", "pages", "faults", "s"], ...rows];
const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
for (const row of table) {
  const cells = row.map((cell, column) => (column < 3 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])));
  console.log(cells.join("  "));
}
// One fault on a hundred pages is shown once.
const kinds = new Map();
for (const fault of faulty) {
  const kind = fault.replace(/, (file|http), [^:]+: /, ": ");
  kinds.set(kind, [...(kinds.get(kind) ?? []), fault]);
}
if (faulty.length) {
  console.error(`\n${faulty.length} faults:`);
  for (const [first, ...more] of kinds.values()) console.error(more.length ? `${first} (and ${more.length} more)` : first);
  process.exitCode = 1;
}
console.log(`${Object.values(sites).reduce((sum, site) => sum + Object.keys(site.pages).length, 0)} pages in ${((Date.now() - started) / 1000).toFixed(0)} s`);
