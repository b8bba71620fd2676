// A page of `tot-report --serve` while somebody objects: it is loaded anew by itself, keeps what was typed, and marks what is new.

import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const ANNA = {
  GIT_AUTHOR_NAME: "Anna",
  GIT_AUTHOR_EMAIL: "anna@example.org",
  GIT_COMMITTER_NAME: "Anna",
  GIT_COMMITTER_EMAIL: "anna@example.org",
};

/** Serves a copy of the investigation, whose folder is not changed. */
export async function served(page, { programs, investigation, folder }) {
  const copy = path.join(folder, "served");
  fs.cpSync(investigation, copy, { recursive: true });
  const env = { ...process.env, HOME: folder };
  const server = spawn(path.join(programs, "tot-report"), [copy, "--serve", "127.0.0.1:0"], { env });
  const faults = [];
  try {
    let said = "";
    for await (const part of server.stderr) {
      said += part;
      if (said.includes("/ serves the site")) break;
    }
    const [address] = /http:\S+/.exec(said);
    page.on("pageerror", (error) => faults.push(`a script fails: ${error.message}`));
    await page.goto(address);
    await page.locator(".search-field").fill("sqlite");
    await page.locator(".search-results a").first().waitFor();
    if (await page.locator(".since b").count()) faults.push("speaks of a last visit at the first");

    const loaded = page.waitForEvent("load");
    execFileSync(path.join(programs, "tot"), ["object", "R4.A1a1", "-m", "It counted errors alone."], {
      cwd: copy,
      stdio: "ignore",
      env: { ...env, ...ANNA },
    });
    await loaded;
    await page.locator(".since b").waitFor();
    const line = await page.locator(".since").innerText();
    if (!line.includes("new since your last visit")) faults.push(`says of what is new: ${line}`);
    const typed = await page.locator(".search-field").inputValue();
    if (typed !== "sqlite") faults.push(`has forgotten what was typed: ${typed}`);
    await page.goto(new URL("tree.html", address).href);
    await page.locator(".since-mark").first().waitFor();
  } finally {
    server.kill();
  }
  return faults;
}
