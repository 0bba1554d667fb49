// browser.mjs CHROMIUM '{"name": "page.html", …}': opens pages in a real browser and prints a JSON line per check.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const [executablePath, given] = process.argv.slice(2);
const pages = JSON.parse(given);
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const shots = process.env.NEUROLENS_SHOTS; // a folder: keep a picture of each page
if (shots) mkdirSync(shots, { recursive: true });

const say = (name, ok, details = "") => console.log(JSON.stringify({ name, ok: Boolean(ok), details: String(details).slice(0, 3000) }));

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

async function open(path, options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, bypassCSP: false, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) faults.push(message.text()); });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) faults.push("asks for " + request.url()); });
  page.on("dialog", (dialog) => { faults.push("dialog " + dialog.message()); void dialog.dismiss(); });
  await page.goto("file://" + path);
  await page.waitForSelector("main#content", { timeout: 15000 });
  await page.waitForTimeout(150);
  return { context, page, faults };
}

for (const [name, path] of Object.entries(pages)) {
  const bad = [];
  const sizes = [[400, "light"], [768, "dark"], [1280, "light"], [2560, "dark"]];
  for (const [width, colorScheme] of ["diff", "check", "rank", "rank_many", "trend", "runs"].includes(name) ? [[400, "dark"], [1280, "light"]] : sizes) {
    const { context, page, faults } = await open(path, { viewport: { width, height: 900 }, colorScheme });
    // Closed sections draw when they are opened.
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
    await page.waitForTimeout(200);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) {
      const who = await page.evaluate(() => [...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".table-scroll, .lanes")).slice(0, 3).map((one) => one.outerHTML.slice(0, 160)));
      bad.push(`${width} px: ${wide} px too wide: ${who.join(" | ")}`);
    }
    if (await page.evaluate(() => typeof window.hacked !== "undefined")) bad.push("a name was run");
    bad.push(...faults.map((fault) => `${width} px ${colorScheme}: ${fault}`));
    if (width === 1280) { // every page prints, in the light colours, with what is open
      const pdf = await page.pdf({ format: "A4", printBackground: true });
      if (pdf.length < 10000 || pdf.subarray(0, 4).toString() !== "%PDF") bad.push(`a PDF of ${pdf.length} bytes`);
    }
    if (shots && (width === 400 || width === 1280)) await page.screenshot({ path: `${shots}/${name}-${width}.png`, fullPage: true });
    await context.close();
  }
  say(`${name}: draws at 400 to 2560 px, dark and light, with a silent console, and prints`, bad.length === 0, bad.join("\n"));
}

for (const colorScheme of ["light", "dark"]) {
  for (const name of ["kineto", "ranks", "cpu", "memory", "hostile_flame", "hostile_diff", "own", ...(colorScheme === "light" ? ["check", "rank", "runs"] : ["diff", "trend"])]) {
    if (!pages[name]) continue;
    const { context, page } = await open(pages[name], { colorScheme, bypassCSP: true });
    await page.addScriptTag({ content: axeSource });
    const told = await page.evaluate(async () => {
      const found = await window.axe.run(document, { resultTypes: ["violations"] });
      return found.violations.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => `${one.id}: ${one.nodes.length} × ${one.nodes[0].html.slice(0, 160)} ${one.nodes[0].failureSummary ?? ""}`);
    });
    say(`${name}, ${colorScheme}: axe-core finds no serious fault`, told.length === 0, told.join("\n"));
    await context.close();
  }
}

if (pages.kineto) {
  const { context, page, faults } = await open(pages.kineto, {});
  const timeline = page.locator("#timeline");
  const canvas = timeline.locator("canvas[role=application]");
  await canvas.focus();
  await page.keyboard.press(".");
  const first = await timeline.locator(".slice h4").textContent();
  await page.keyboard.press(".");
  const second = await timeline.locator(".slice dl").textContent();
  await page.keyboard.press("f");
  say("timeline: period selects slices one after another", first && second, `${first} / ${second}`);
  const live = await page.locator("[aria-live=polite]").first().textContent();
  say("timeline: the selection is announced", live && live.length > 5, live);
  await page.keyboard.press("0");
  await page.keyboard.press("w");
  await page.keyboard.press("/");
  await page.keyboard.type("conv");
  const status = await timeline.locator(".tools .status").textContent();
  say("timeline: / searches and counts", /\d+ match/.test(status ?? ""), status);
  await page.keyboard.press("Enter");
  const found = await timeline.locator(".slice h4").textContent();
  say("timeline: Enter goes to a match", /conv/i.test(found ?? ""), found);
  await page.locator("#timeline input[type=search]").fill("cudaLaunchKernel");
  await canvas.focus();
  let launch = "";
  let work = "";
  for (let tries = 0; tries < 100 && launch === work; tries++) { // the work of some lies behind this window
    await page.keyboard.press("Enter");
    launch = (await timeline.locator(".slice h4").textContent()) ?? "";
    await page.keyboard.press("]");
    work = (await timeline.locator(".slice h4").textContent()) ?? "";
  }
  await page.keyboard.press("[");
  const back = await timeline.locator(".slice h4").textContent();
  say("timeline: ] follows a launch to its work, [ back", launch !== work && back === launch, `${launch} → ${work} → ${back}`);
  await timeline.getByRole("button", { name: "View as table" }).click();
  const rows = await timeline.locator(".sums tbody tr").count();
  say("timeline: what is in view is a table on request", rows > 3, rows);
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + 600, box.y + 100);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -400);
  await page.keyboard.up("Control");
  const flame = page.locator("#flame");
  await flame.locator("input[type=search]").first().fill("aten::");
  const share = await flame.locator(".tools .status").first().textContent();
  say("flame: search sums what matches", /%/.test(share ?? ""), share);
  const table = page.locator("#kernels .table").first();
  const head = table.locator("th", { hasText: "count" }).locator("button");
  await head.click();
  const sorted = await table.locator("tbody tr").evaluateAll((list) => list.map((row) => row.children[3]?.textContent ?? ""));
  const numbers = sorted.map((text) => Number(text.replace(/\D/g, "")));
  say("table: a heading sorts", numbers.length > 2 && numbers.every((value, at) => at === 0 || value <= numbers[at - 1]), sorted.join(" "));
  await table.locator("input[type=search]").fill("gemm");
  const left = await table.locator("tbody tr").evaluateAll((list) => list.map((row) => row.textContent ?? ""));
  say("table: filter", left.length > 0 && left.every((text) => text.includes("gemm")), left.length);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => {});
  await page.locator(".finding .copy").first().click();
  await page.waitForTimeout(100);
  say("copy buttons say that they copied", /Copied/.test((await page.locator(".finding .copy").first().textContent()) ?? ""), await page.locator(".finding .copy").first().textContent());
  await page.locator("button.theme").click();
  say("the theme changes", (await page.evaluate(() => document.documentElement.dataset.theme)) === "dark");
  const pixels = await page.evaluate(() => {
    const found = document.querySelector("#timeline canvas");
    const pen = found.getContext("2d");
    const data = pen.getImageData(200, 20, found.width - 210, found.height - 30).data;
    const seen = new Set();
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 200) seen.add(`${data[at]},${data[at + 1]},${data[at + 2]}`);
    return seen.size;
  });
  say("timeline: the canvas has many colours", pixels > 10, pixels);
  say("nothing of that was an error", faults.length === 0, faults.join("\n"));
  const pdf = await page.pdf({ format: "A4", printBackground: true });
  const keys = await timeline.locator(".legend span").allTextContents();
  say("timeline: its colours are explained", keys.includes("compute kernel") && keys.includes("operator") && keys.includes("API call"), keys.join(" | "));
  await page.emulateMedia({ media: "print" });
  const paper = await page.evaluate(() => {
    dispatchEvent(new Event("beforeprint"));
    return [...document.querySelectorAll(".lanes")].filter((one) => one.getClientRects().length).map((one) => {
      const [canvas, overlay] = one.querySelectorAll("canvas");
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      const seen = new Set();
      for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 200) seen.add(`${data[at]},${data[at + 1]},${data[at + 2]}`);
      return { wide: canvas.width / devicePixelRatio, colours: seen.size, over: getComputedStyle(overlay).display };
    });
  });
  say("on paper timelines and flame graphs are drawn, as wide as a sheet, with nothing above them",
    paper.length >= 2 && paper.every((one) => one.wide <= 700 && one.colours > 10 && one.over === "none"), JSON.stringify(paper));
  await page.emulateMedia({ media: "screen" });
  say("prints to PDF", pdf.length > 50000 && pdf.subarray(0, 4).toString() === "%PDF", pdf.length);
  await context.close();
}

if (pages.kineto) {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto("file://" + pages.kineto);
  const text = await page.locator("main").textContent();
  say("without scripts the answer and the findings are there", /Findings/.test(text ?? "") && (text ?? "").length > 300, text?.slice(0, 300));
  await context.close();
}

for (const name of ["diff", "check"]) {
  if (!pages[name]) continue;
  const { context, page } = await open(pages[name], {});
  const sums = await page.locator("#change .fall").evaluateAll((list) => list.map((one) => one.lastElementChild.querySelector(".fall-value").textContent));
  const sides = await page.locator("#change .bars .bar-row .stack").count();
  say(`${name}: both waterfalls end in the change, and A and B are bars`, sums.length === 2 && sums[0] === sums[1] && /^[+-]?\d/.test(sums[0]) && sides === 2, `${sums} ${sides}`);
  say(`${name}: what grew and shrank is drawn`, (await page.locator("#flame canvas").count()) > 0 && /Orange/.test((await page.locator("#flame").textContent()) ?? ""));
  if (name === "check") {
    const rules = await page.locator(".rules li").allTextContents();
    say("check: each rule with a change has its line", rules.length === 2 && rules.every((text) => /pass|fail|regression|inconclusive/.test(text)), rules.join(" | "));
  }
  await context.close();
}

if (pages.trend && pages.rank) {
  const { context, page } = await open(pages.trend, {});
  const dots = await page.locator("#t-changes svg .mark").count();
  const upright = await page.locator("#t-changes svg .upright line").count();
  const rows = await page.locator("#t-series tbody tr").count();
  const values = await page.locator("#t-series tbody td.number:nth-of-type(3)").allTextContents();
  say("trend: values have their unit", values.length > 1 && values.every((text) => /[µmn]?s$/.test(text)), values.join(" "));
  say("trend: a point for each run", dots > 1 && dots === rows, `${dots} points, ${rows} rows, ${upright} changes`);
  await context.close();
  const ten = await open(pages.rank_many, {});
  const drawn = await ten.page.locator(".grouped li").first().locator(".grouped-bar").count();
  const note = await ten.page.locator("#t-operators figure .note").textContent();
  say("rank: of more candidates than colours the fastest are drawn, and it says so", drawn === 9 && /9 fastest of 10/.test(note ?? ""), `${drawn} ${note}`);
  const over = await ten.page.evaluate(() => [...document.querySelectorAll(".ranked li")].filter((one) => {
    const [note, track] = [one.querySelector(".ranked-note"), one.querySelector(".ranked-track")].map((part) => part.getBoundingClientRect());
    return note.left + one.querySelector(".ranked-note").scrollWidth > track.left;
  }).length);
  say("rank: no ratio runs into its bar", over === 0, over);
  await ten.context.close();
  const other = await open(pages.rank, {});
  const names = await other.page.locator(".ranked .ranked-name").allTextContents();
  const bars = await other.page.locator(".grouped li").first().locator(".grouped-bar").count();
  say("rank: candidates by short names, a bar of each for each operator", names.length === 2 && names.every((name) => name.length < 20 && !name.includes("/")) && new Set(names).size === 2 && bars === 2, names.join(" | "));
  await other.context.close();
}

if (pages.own) {
  const { context, page, faults } = await open(pages.own, {});
  const heads = await page.locator("main section h2").allTextContents();
  say("template: own sections follow the findings; hidden ones are gone",
    heads[0] === "Findings" && heads[1] === "Kernels <i>by kind</i>" && heads[2] === "Nothing here" && heads[3] === "Three of ours" && !heads.includes("Flame graphs"), heads.join(" | "));
  const wide = await page.locator("#section_1 .bars .piece").evaluateAll((list) => list.map((one) => one.getBoundingClientRect().width));
  say("template: bars fall from the longest", wide.length > 1 && wide[0] > 50 && wide.every((value, at) => at === 0 || value <= wide[at - 1] + 0.5), wide.join(" "));
  const begins = await page.locator("#section_3 .bars .stack").evaluateAll((list) => list.map((one) => one.getBoundingClientRect().left));
  const told = await page.locator("#section_3 .bars .bar-value").allTextContents();
  say("template: bars of an analysis are times, and begin at one line", begins.length === 3 && new Set(begins).size === 1 && told.every((text) => /s$/.test(text)), `${begins} ${told}`);
  const paragraphs = await page.locator(".front p").allTextContents();
  const logo = await page.locator("img.own-logo").evaluate((one) => one.naturalWidth > 0);
  say("template: front page and logo", paragraphs.length === 2 && paragraphs[0].includes("<script>") && logo && faults.length === 0, paragraphs.join(" / ") + faults.join(" "));
  await context.close();
}

await browser.close();
