// What is asked of a page. Each check gives the faults that it found, as sentences; none means that all is well.

import fs from "node:fs";
import path from "node:path";

export const WIDE = { width: 1280, height: 800 };
export const PHONE = { width: 320, height: 640 };

/** Opens an address and gives what went wrong while it was opened: what it loads, says, violates or runs. */
export async function open(page, base, file, { settle = 0 } = {}) {
  const faults = [];
  const listeners = {
    request: (request) => {
      const address = request.url();
      if (!address.startsWith(base) && !address.startsWith("data:image/")) faults.push(`asks for ${address}`);
    },
    // The icon of the page before may still be under way when this one is opened.
    requestfailed: (request) => {
      const reason = request.failure()?.errorText;
      if (reason !== "net::ERR_ABORTED") faults.push(`can't load ${request.url()}: ${reason}`);
    },
    console: (message) => {
      if (["error", "warning"].includes(message.type())) faults.push(`the console says: ${message.text()}`);
    },
    pageerror: (error) => faults.push(`a script fails: ${error.message}`),
    dialog: (dialog) => {
      faults.push(`a dialog opens: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    },
    popup: (popup) => faults.push(`a window opens: ${popup.url()}`),
    framenavigated: (frame) => {
      if (frame !== page.mainFrame()) faults.push(`a frame opens: ${frame.url()}`);
    },
  };
  for (const [event, listener] of Object.entries(listeners)) page.on(event, listener);
  const wanted = new URL(file, base).href;
  await page.goto(wanted, { waitUntil: "load" });
  if (settle) await page.waitForTimeout(settle);
  for (const [event, listener] of Object.entries(listeners)) page.off(event, listener);
  if (page.url() !== wanted) faults.push(`leads on to ${page.url()}`);
  const seen = await page.evaluate(() => ({ hit: window.__hit, violations: window.__violations ?? [] }));
  if (seen.hit !== undefined) faults.push("a stranger's script has run");
  faults.push(...seen.violations.map((violation) => `violates its policy: ${violation}`));
  return faults;
}

/** To be run before any script of a page: keeps what the policy forbade. */
export function watch() {
  window.__violations = [];
  document.addEventListener("securitypolicyviolation", (event) => {
    window.__violations.push(`${event.violatedDirective}, by ${event.blockedURI} in line ${event.lineNumber}`);
  });
}

/** Reads every page of a site without opening it: kind and title of each, and every link that leads nowhere. */
export async function links(page, site, files) {
  await page.goto("about:blank");
  const all = new Set(files);
  const pages = {};
  for (const file of files.filter((name) => name.endsWith(".html"))) {
    const text = fs.readFileSync(path.join(site.folder, file), "utf8");
    // A page that leads from a short id to the page of its node, and the one that a server shows for a wrong address.
    if (text.includes('http-equiv="refresh"') || file === "404.html") continue;
    pages[file] = await page.evaluate((text) => {
      const parsed = new DOMParser().parseFromString(text, "text/html");
      const values = (name) => [...parsed.querySelectorAll(`[${name}]`)].map((element) => element.getAttribute(name));
      return {
        kind: /(?:^|\s)page-([\w-]+)/.exec(parsed.body.className)?.[1] ?? "other",
        heading: parsed.querySelector("h1")?.textContent.trim() ?? "",
        bytes: text.length,
        ids: values("id"),
        // Links of drawings too, whose attribute has a namespace in older ones.
        links: [...values("href"), ...values("src"), ...values("xlink\\:href")],
      };
    }, text);
  }
  const faults = [];
  const linked = new Set(["index.html"]);
  for (const [file, { links: targets }] of Object.entries(pages)) {
    for (const link of targets) {
      if (/^(https?|mailto):/i.test(link)) continue;
      const address = new URL(link, `x://host/${file.split("/").map(encodeURIComponent).join("/")}`);
      const target = decodeURIComponent(address.pathname.slice(1));
      const id = decodeURIComponent(address.hash.slice(1));
      linked.add(target);
      if (address.protocol !== "x:" || address.host !== "host" || !all.has(target)) {
        faults.push(`${file} links to ${link}, which is no file of the site`);
      } else if (id && pages[target] && !pages[target].ids.includes(id)) {
        faults.push(`${file} links to ${link}: there is no such id`);
      }
    }
  }
  for (const file of Object.keys(pages)) {
    if (!linked.has(file)) faults.push(`${file} is linked from nowhere`);
  }
  return { pages, faults };
}

/** Whether the open page is wider than its window, and whether what scrolls inside it says that it does. */
export function sideways(page) {
  return page.evaluate(() => {
    const faults = [];
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) {
      const wide = [...document.querySelectorAll("body *")].filter(
        (element) => element.getBoundingClientRect().right > root.clientWidth + 1,
      );
      const named = wide.slice(0, 3).map((element) => `<${element.localName} class="${element.className}">`);
      faults.push(`scrolls sideways: ${root.scrollWidth} of ${root.clientWidth} px, by ${named.join(", ")}`);
    }
    for (const element of document.querySelectorAll("body *")) {
      const style = getComputedStyle(element);
      const scrolls = ["auto", "scroll"].includes(style.overflowX) && element.scrollWidth > element.clientWidth + 1;
      if (scrolls && element.tabIndex < 0 && !element.querySelector("a, button, input, [tabindex]")) {
        faults.push(`<${element.localName} class="${element.className}"> scrolls, but no key can reach it`);
      }
    }
    return faults;
  });
}

/** What can be pressed on the open page, but is lower or narrower than 24 px; links within sentences may be. */
export function targets(page) {
  return page.evaluate(() => {
    const isSmall = (element) => {
      const boxes = [element, element.closest("label") ?? element].map((it) => it.getBoundingClientRect());
      const [width, height] = ["width", "height"].map((side) => Math.max(...boxes.map((box) => box[side])));
      const text = (element.closest("sup")?.parentElement ?? element.parentElement).textContent.trim();
      const within = getComputedStyle(element).display === "inline" && text.length > element.textContent.trim().length + 2;
      return !element.disabled && width > 1 && !within && (height < 23.9 || width < 23.9);
    };
    const seen = [...document.querySelectorAll("a, button, summary, input, select")].filter((element) => element.checkVisibility() && isSmall(element));
    return seen.map((element) => `<${element.localName}> “${element.textContent.trim().slice(0, 40)}” is a target below 24 px`);
  });
}

/** Axe's violations on the open page, whose context must let it past the policy. */
export async function axe(page, source) {
  await page.evaluate(source);
  const results = await page.evaluate(() =>
    window.axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
      resultTypes: ["violations"],
    }),
  );
  return results.violations.map(({ id, help, nodes }) => {
    const [first] = nodes;
    return `axe ${id}: ${help}; ${nodes.length} times, first ${first.html.slice(0, 200)} (${first.any[0]?.message ?? first.failureSummary})`;
  });
}

/** Light, dark, print and reduced motion of the open page. */
export async function media(page) {
  const faults = [];
  const background = () =>
    page.evaluate(() => {
      const parts = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number);
      const root = getComputedStyle(document.documentElement).backgroundColor.match(/[\d.]+/g).map(Number);
      const [red, green, blue] = parts[3] === 0 ? root : parts;
      return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
    });
  await page.emulateMedia({ colorScheme: "light" });
  if ((await background()) < 0.8) faults.push("is not light where light is asked for");
  await page.emulateMedia({ colorScheme: "dark" });
  if ((await background()) > 0.2) faults.push("is not dark where dark is asked for");
  await page.emulateMedia({ colorScheme: "dark", media: "print" });
  if ((await background()) < 0.8) faults.push("prints on a dark ground");
  await page.emulateMedia({ colorScheme: "light", media: null });
  const pdf = await page.pdf({ format: "A4" });
  if (pdf.subarray(0, 5).toString() !== "%PDF-" || pdf.length < 5_000) faults.push("can't be printed");
  await page.emulateMedia({ reducedMotion: "reduce" });
  const moving = await page.evaluate(() => {
    const long = (times) => times.split(", ").some((time) => Number.parseFloat(time) > 0.01);
    const moves = (element) => {
      const style = getComputedStyle(element);
      const animated = style.animationName !== "none" && long(style.animationDuration);
      return animated || long(style.transitionDuration) || style.scrollBehavior === "smooth";
    };
    return [...document.querySelectorAll("*")].filter(moves).map((element) => element.localName);
  });
  if (moving.length) faults.push(`moves where motion is to be reduced: ${[...new Set(moving)].join(", ")}`);
  await page.emulateMedia({ reducedMotion: null, colorScheme: null });
  return faults;
}

/** What can be read of the open page: the text of its main part that is shown. */
export const shown = (page) => page.evaluate(() => document.querySelector("main").innerText.replace(/\s+/g, " ").trim());

/** What a person who has to decide looks for, and where it is: by width of the window. The height is that of the window. */
export const FIRST_SCREENS = [
  { width: 1440, height: 900 },
  { width: 1024, height: 768 },
  { width: 390, height: 844 },
];

/** Whether the first screen of the open page says what was asked, what was found, and how far to trust it. */
export function firstScreen(page) {
  return page.evaluate(() => {
    const faults = [];
    const parts = {
      "the question": ".question",
      "the finding": "#found",
      "the verdict in a sentence": "#trust",
      "who checked it": ".verdict li:first-child",
    };
    if (innerWidth > 1000) {
      Object.assign(parts, {
        "what to check": "#check",
        "where to object": ".actions .button",
        "all lines of the verdict": ".verdict li:last-child",
      });
    }
    for (const [what, selector] of Object.entries(parts)) {
      const element = document.querySelector(selector);
      const place = element?.getBoundingClientRect();
      if (!place?.height) faults.push(`does not show ${what}`);
      // Of a list the first line is enough.
      else if (place.top + Math.min(place.height, 21) > innerHeight) faults.push(`shows ${what} at ${Math.round(place.top)} of ${innerHeight} px`);
    }
    const lines = document.querySelectorAll(".verdict li").length;
    if (lines < 5 || lines > 7) faults.push(`says ${lines} lines of how far to trust it`);
    // The verdict comes before the report; each line and each button is large enough for a finger.
    const top = (selector) => document.querySelector(selector).getBoundingClientRect().top;
    if (top("#trust") > top(".report")) faults.push("gives the report before the verdict");
    for (const link of document.querySelectorAll(".verdict a, .parts a, .actions a, .lane a, .more a")) {
      if (link.getBoundingClientRect().height < 24) faults.push(`has a link of ${Math.round(link.getBoundingClientRect().height)} px: ${link.textContent}`);
    }
    return faults;
  });
}

/** Whether the first page is no longer than it may be at any number of nodes. */
export async function height(page, most) {
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  return height > most ? [`is ${height} px high, of ${most}`] : [];
}

/** The tree of the open page, by the pattern that WAI-ARIA describes for it. */
export async function tree(page) {
  const faults = [];
  const state = () =>
    page.evaluate(() => {
      const tree = document.querySelector("[role=tree]");
      const items = [...tree.querySelectorAll("[role=treeitem]")];
      const visible = items.filter((item) => item.checkVisibility());
      const focused = document.activeElement.closest("[role=treeitem]");
      return {
        name: tree.getAttribute("aria-label") ?? tree.getAttribute("aria-labelledby"),
        items: items.length,
        visible: visible.length,
        at: visible.indexOf(focused),
        stops: items.filter((item) => item.tabIndex === 0).length,
        expanded: focused?.getAttribute("aria-expanded") ?? null,
        level: visible.map((item) => {
          let level = 0;
          for (let up = item; up && up !== tree; up = up.parentElement) level += up.getAttribute("role") === "treeitem";
          return Number(item.getAttribute("aria-level") ?? level);
        }),
        text: visible.map((item) => (item.getAttribute("aria-label") ?? item.textContent).trim()),
        inside: items.reduce((sum, item) => {
          const inner = [...item.querySelectorAll("a[href], button, input, [tabindex='0']")];
          return sum + inner.filter((element) => element.getAttribute("role") !== "treeitem" && element.tabIndex >= 0).length;
        }, 0),
        childless: items.filter((item) => {
          const owned = item.getAttribute("aria-owns");
          const group = owned ? document.getElementById(owned) : item.querySelector("[role=group]") ?? item.parentElement.querySelector(":scope > [role=group]");
          return item.hasAttribute("aria-expanded") !== Boolean(group?.querySelector("[role=treeitem]"));
        }).length,
      };
    });
  const press = async (key) => {
    await page.keyboard.press(key);
    return state();
  };
  const must = (holds, what) => holds || faults.push(`the tree: ${what}`);
  const first = await state();
  must(first.name, "has no name");
  must(first.items > 1, `has ${first.items} items`);
  must(first.stops === 1, `has ${first.stops} tab stops, not one`);
  must(first.inside === 0, `${first.inside} controls inside of its items can be reached by Tab`);
  must(first.childless === 0, `aria-expanded is wrong on ${first.childless} items`);
  await page.evaluate(() => {
    document.activeElement?.blur();
    document.querySelector("[role=tree]").scrollIntoView();
  });
  let now = first;
  for (let tabs = 0; tabs < 200 && now.at < 0; tabs += 1) now = await press("Tab");
  must(now.at >= 0, "Tab does not lead into it");
  now = await press("Home");
  must(now.at === 0, "Home does not lead to the first item");
  if (now.expanded === "false") now = await press("ArrowRight");
  must(now.expanded === "true", "ArrowRight does not open a closed item");
  const open = now.visible;
  now = await press("ArrowRight");
  must(now.at === 1 && now.level[1] === now.level[0] + 1, "ArrowRight does not lead from an open item to its first child");
  now = await press("ArrowLeft");
  // The child may have been open: then it is closed first.
  if (now.at === 1) now = await press("ArrowLeft");
  must(now.at === 0, "ArrowLeft does not lead to the parent");
  now = await press("ArrowLeft");
  must(now.expanded === "false" && now.visible < open, "ArrowLeft does not close an open item");
  now = await press("ArrowRight");
  now = await press("ArrowDown");
  must(now.at === 1, "ArrowDown does not lead to the next item");
  now = await press("ArrowUp");
  must(now.at === 0, "ArrowUp does not lead to the one before");
  now = await press("End");
  must(now.at === now.visible - 1, "End does not lead to the last item");
  const letter = now.text[0].trim()[0];
  now = await press(letter);
  must(now.text[now.at]?.toLowerCase().startsWith(letter.toLowerCase()) && now.at !== now.visible - 1, `typing ${letter} finds nothing`);
  const stops = (await state()).stops;
  must(stops === 1, `has ${stops} tab stops after moving, not one`);
  const before = page.url();
  await press("Home");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(300);
  must(page.url() !== before, "Enter does not open the item");
  return faults;
}

/** Each search field of the open page: it finds what is there, and says so when there is nothing. */
export async function search(page, others = []) {
  const faults = [];
  const fields = await page.locator("input[type=search]:visible").all();
  const said = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("[role=status], [aria-live], output")].map((element) => element.textContent).join(" "),
    );
  for (const field of fields) {
    const name = (await field.getAttribute("aria-label")) ?? (await field.getAttribute("placeholder")) ?? "search";
    // A word of the last entry of the list that follows, if there is one; else the root, which every site has.
    const word = await field.evaluate((input) => {
      const lists = [...document.querySelectorAll("main ul, main ol")];
      const after = lists.find((list) => input.compareDocumentPosition(list) & Node.DOCUMENT_POSITION_FOLLOWING);
      const last = input.closest("main") && [...(after?.querySelectorAll("li a") ?? [])].at(-1);
      return last ? last.textContent.trim().split(/\s+/)[0] : "R1.A";
    });
    await field.fill("qqzzxxnothing");
    await page.waitForTimeout(300);
    // The data is read when the field is first used: on a busy machine, from a large page, that takes a while.
    for (let tries = 0; tries < 50 && /Loading/.test(await said()); tries += 1) await page.waitForTimeout(100);
    if (!/\b(0|no|none|nothing)\b/i.test(await said())) faults.push(`"${name}" does not say that nothing was found`);
    await field.fill(word);
    await page.waitForTimeout(300);
    const hits = await page.locator("a:visible", { hasText: word }).count();
    const status = await said();
    if (/\b(no|none|nothing)\b|\b0 of\b/i.test(status)) faults.push(`"${name}" finds nothing for ${word}: ${status}`);
    if (hits === 0) faults.push(`"${name}" shows no link for ${word}`);
    // What is typed otherwise than it stands there.
    if (word === "R1.A") {
      for (const [typed, found] of [["r1a", "R1.A"], ...others]) {
        await field.fill(typed);
        await page.waitForTimeout(300);
        const marks = await page.locator("a:visible mark", { hasText: found }).count();
        if (marks === 0) faults.push(`"${name}" does not find ${found} for ${typed}`);
      }
    }
    await field.fill("");
    // No text makes a script fail. Entered all at once, since typing them would take minutes.
    const failed = (error) => faults.push(`"${name}" fails: ${error.message}`);
    page.on("pageerror", failed);
    await field.evaluate((input, word) => {
      const enter = (text) => {
        input.value = text;
        input.dispatchEvent(new Event("input", { bubbles: true }));
        input.form?.requestSubmit();
      };
      const signs = Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at)).filter((sign) => !/\w/.test(sign));
      const pairs = signs.flatMap((one) => signs.map((other) => one + other));
      for (const text of [...signs, ...pairs, signs.join(""), signs.join(" "), "_", "a-b", "R1.A-", "(?<", "\\u{110000}", "\u{d800}"]) enter(text);
      // What it says then stands there for the next field.
      enter(word);
      input.value = "";
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }, word);
    await page.waitForTimeout(200);
    page.off("pageerror", failed);
  }
  return { faults, fields: fields.length };
}

/** The buttons beside the graph of the open page: it grows, shrinks, and comes back. */
export async function zoom(page) {
  const faults = [];
  const width = () =>
    page.evaluate(() => {
      const svg = [...document.querySelectorAll("main svg")].sort((a, b) => b.clientWidth - a.clientWidth)[0];
      const card = svg.querySelector(".card") ?? svg;
      return card.getBoundingClientRect().width;
    });
  const button = (name) => page.getByRole("button", { name }).first();
  const larger = button(/zoom in|larger|enlarge|closer/i);
  if ((await larger.count()) === 0) return { faults, found: false };
  const first = await width();
  await larger.click();
  const second = await width();
  if (second <= first) faults.push(`the graph does not grow: ${first} to ${second} px`);
  await button(/zoom out|smaller|shrink|farther/i).click();
  const third = await width();
  if (third >= second) faults.push(`the graph does not shrink: ${second} to ${third} px`);
  return { faults, found: true };
}

/** Whether a map opens with the best answer in sight, and as a list where a picture could not be read. */
export function bestAnswer(page) {
  return page.evaluate(() => {
    const faults = [];
    const box = document.querySelector(".graph-box");
    const drawn = box?.checkVisibility() ?? false;
    const best = drawn ? box.querySelector(".best-answer") : document.querySelector(".graph-best");
    const place = best?.getBoundingClientRect();
    if (!place?.height) return ["shows no best answer"];
    const frame = drawn ? box.getBoundingClientRect() : { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
    const [right, bottom] = [Math.min(frame.right, innerWidth), Math.min(frame.bottom, innerHeight)];
    const inside = place.left >= frame.left - 1 && place.top >= frame.top - 1 && place.right <= right + 1 && place.bottom <= bottom + 1;
    if (!inside) {
      const numbers = [place.left, place.top, place.right, place.bottom].map(Math.round);
      faults.push(`shows the best answer at ${numbers.join(", ")} px, not wholly in sight`);
    }
    if (innerWidth > 640) return faults;
    if (drawn) faults.push("shows a picture where a list can be read");
    const listed = [...document.querySelectorAll(".map-outline a")].filter((link) => link.checkVisibility());
    if (!listed.length) faults.push("shows no list in the place of the picture");
    return faults;
  });
}

/** Whether a reader who only follows links comes from the tree to every node. */
export function clicks(pages) {
  const nodes = new Set(pages["tree.html"].links.map((link) => decodeURIComponent(new URL(link, "x://host/").pathname.slice(1))));
  const lost = Object.keys(pages).filter((file) => file.startsWith("nodes/") && !nodes.has(file));
  return lost.map((file) => `the tree does not lead to ${file}`);
}

/** How far the content of the open page has moved while it was loaded, as browsers reckon it (Cumulative Layout Shift). */
export async function shift(page) {
  const sum = await page.evaluate(
    () =>
      new Promise((resolve) => {
        let sum = 0;
        const add = (list) => list.getEntries().forEach(({ value, hadRecentInput }) => (sum += hadRecentInput ? 0 : value));
        new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
        setTimeout(() => resolve(sum), 300);
      }),
  );
  return sum < 0.05 ? [] : [`moves while it is loaded: ${sum.toFixed(3)}`];
}

/** What was chosen on the open page is there again on going back to it, and after it was loaded anew. */
export async function kept(page) {
  const faults = [];
  const toggle = page.locator("main .tree-tools .toggle").first();
  const field = page.locator("main input.filter").first();
  const isTree = (await toggle.count()) > 0;
  if (isTree) await toggle.click();
  else if ((await field.count()) > 0) await field.fill("sql");
  else return { faults, found: false };
  const holds = async () => (isTree ? (await toggle.getAttribute("aria-pressed")) === "true" : (await field.inputValue()) === "sql");
  await page.locator(".masthead nav a").first().click();
  await page.waitForLoadState();
  await page.goBack();
  if (!(await holds())) faults.push("has forgotten on going back what was chosen");
  await page.reload();
  if (!(await holds())) faults.push("has forgotten what was chosen when it was loaded anew");
  return { faults, found: true };
}

/** What scripts add to the page of a node: a card over links, keys, buttons over code, and where the node stands. */
export async function node(page) {
  const faults = [];
  const must = (holds, what) => holds || faults.push(what);
  const card = page.locator(".ref-card");
  const link = page.locator("main a[data-state]:visible").first();
  must((await link.count()) === 1, "no link leads to another node");
  await link.hover();
  await card.waitFor({ state: "visible" });
  must((await card.locator("p").count()) >= 2, `the card says only ${await card.textContent()}`);
  must((await link.getAttribute("aria-describedby")) === "ref-card", "the card does not describe its link");
  await card.hover();
  await page.waitForTimeout(400);
  must(await card.isVisible(), "the card goes when the pointer is on it");
  await page.keyboard.press("Escape");
  must(!(await card.isVisible()), "Escape does not take the card away");
  await page.mouse.move(0, 0);

  const codes = await page.locator("main pre:not([data-copy])").count();
  const buttons = await page.locator(".code-box > button").count();
  must(codes === buttons, `${codes} blocks of code have ${buttons} buttons`);
  const anchor = page.locator(".prose .anchor").first();
  if (await anchor.count()) {
    const target = await anchor.getAttribute("href");
    must((await page.locator(`[id="${target.slice(1)}"]`).count()) === 1, `${target} is not one place of the page`);
  }

  const wide = page.viewportSize().width >= 1344;
  must((await page.locator(".beside").isVisible()) === wide, "where the node stands is shown on narrow screens, or not on wide ones");

  const start = page.url();
  const pressed = async (key) => {
    await page.keyboard.press(key);
    await page.waitForTimeout(300);
    return page.url();
  };
  const search = page.locator(".search-field");
  if (await page.locator(".neighbours [rel=next]").count()) {
    await search.focus();
    must((await pressed("j")) === start, "j leads on while somebody types");
    await page.evaluate(() => document.activeElement.blur());
    await page.locator("#node-keys").uncheck();
    must((await pressed("j")) === start, "j leads on though it was switched off");
    await page.locator("#node-keys").check();
    await page.evaluate(() => document.activeElement.blur());
    // On a busy machine the next page may take longer than what `pressed` waits.
    const leads = async (key, fits) => {
      await pressed(key);
      await page.waitForURL(fits, { timeout: 5000 }).catch(() => {});
      return fits(new URL(page.url()));
    };
    must(await leads("j", (url) => url.href !== start), "j does not lead to the next node");
    must(await leads("k", (url) => url.href === start), "k does not lead back");
  }
  return faults;
}

/** The choice of colours: it holds at once, on the next page, and from its first moment on. */
export async function theme(page) {
  const faults = [];
  const dark = () => page.evaluate(() => Math.max(...getComputedStyle(document.documentElement).backgroundColor.match(/\d+/g).slice(0, 3)) < 128);
  const ground = async (choice) => {
    await page.locator("#theme").selectOption(choice);
    const now = await dark();
    await page.reload();
    if ((await dark()) !== now) faults.push(`the colours ${choice} are forgotten`);
    return now;
  };
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    if (!(await ground("dark"))) faults.push(`no dark colours by choice on a ${scheme} system`);
    if (await ground("light")) faults.push(`no light colours by choice on a ${scheme} system`);
    if ((await ground("")) !== (scheme === "dark")) faults.push(`not the colours of a ${scheme} system`);
  }
  return faults;
}

/** What is new: nothing at a first visit; then what the browser has kept tells it, whatever that is. Nothing moves. */
export async function since(page, base) {
  const faults = [];
  const marks = () => page.locator(".since-mark").count();
  const open = async (file) => {
    const failed = (error) => faults.push(`${file} fails: ${error.message}`);
    page.on("pageerror", failed);
    await page.goto(new URL(file, base).href);
    faults.push(...(await shift(page)).map((fault) => `${file} ${fault}`));
    page.off("pageerror", failed);
  };
  const visit = (seen) =>
    page.evaluate((seen) => {
      const { investigation } = document.querySelector("[data-commits]").dataset;
      sessionStorage.clear();
      localStorage.setItem(`tot-seen:${investigation}`, seen);
    }, seen);
  const said = () => page.locator(".since").textContent();
  await open("index.html");
  if ((await marks()) > 0 || (await said())) faults.push("something is new at a first visit");
  const commits = Number(await page.locator("[data-commits]").getAttribute("data-commits"));
  await visit(String(commits - 5));
  for (const file of ["index.html", "tree.html"]) {
    await open(file);
    const all = await page.locator("[data-changed]").count();
    if ((await marks()) === 0 || (await marks()) === all) faults.push(`${await marks()} of ${all} are marked in ${file}`);
  }
  await open("index.html");
  if (!(await said()).includes("new since your last visit")) faults.push(`says of what is new: ${await said()}`);
  await page.evaluate(() => {
    sessionStorage.clear();
    localStorage.setItem(Object.keys(localStorage).find((key) => key.endsWith(":verdict")), "another");
  });
  await open("index.html");
  if (!(await said()).endsWith("new since your last visit: verdict")) faults.push(`says of another verdict: ${await said()}`);
  for (const odd of ["", "x", "-1", "1e9", "9".repeat(9999), "\u0000", "<img src=x onerror=window.__hit=1>"]) {
    await visit(odd);
    for (const file of ["index.html", "tree.html"]) {
      await open(file);
      if ((await marks()) > 0) faults.push(`something is new in ${file} after ${odd.slice(0, 20)}`);
    }
  }
  // Where nothing may be kept, nothing fails.
  await page.addInitScript(() => {
    for (const name of ["localStorage", "sessionStorage"]) {
      Object.defineProperty(window, name, { get: () => { throw new DOMException("no", "SecurityError"); } });
    }
  });
  await open("index.html");
  if ((await marks()) > 0) faults.push("something is new though nothing is kept");
  return faults;
}
