// What speedscope's own importer makes of a file: its application (npm `speedscope`) is served on loopback, opened in a
// browser with the file, and asked for the profiles that it holds.
//
//   node tests/speedscope_read.mjs FILE PACKAGES CHROMIUM
//
// PACKAGES is a folder with node_modules/{speedscope,playwright-core}. Prints one JSON object: per profile its name, its
// total weight and [name, self, total] of every frame; and what the page complained about.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";

const [file, packages, chromium] = process.argv.slice(2);
const { chromium: browserType } = createRequire(join(packages, "x.js"))("playwright-core");
const release = join(packages, "node_modules", "speedscope", "dist", "release");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm",
                ".json": "application/json", ".woff2": "font/woff2" };

const server = createServer(async (question, answer) => {
  const path = normalize(decodeURIComponent(question.url.split("?")[0])).replace(/\/$/, "/index.html");
  try {
    const data = await readFile(path === "/given.json" ? file : join(release, path));
    answer.writeHead(200, { "Content-Type": types[extname(path)] ?? "application/octet-stream" });
    answer.end(data);
  } catch {
    answer.writeHead(404);
    answer.end();
  }
});
await new Promise(done => server.listen(0, "127.0.0.1", done));

const browser = await browserType.launch({ executablePath: chromium, args: [
  "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--use-gl=angle",
  "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"] });
const page = await (await browser.newContext()).newPage();
const faults = [];
page.on("pageerror", error => faults.push(error.message));
page.on("dialog", dialog => { faults.push(dialog.message()); void dialog.dismiss(); });
await page.goto(`http://127.0.0.1:${server.address().port}/#profileURL=${encodeURIComponent("/given.json")}`);

// The application keeps its state in the tree of its view; nodes of that tree hang on the elements.
const find = () => {
  const seen = new Set();
  let group = null;
  const walk = (value, depth) => {
    if (group || depth > 24 || !value || typeof value !== "object" || seen.has(value) || value instanceof Window) return;
    seen.add(value);
    if (Array.isArray(value.profiles) && value.profiles.length && typeof value.profiles[0].profile?.getTotalWeight === "function") {
      group = value;
      return;
    }
    if (value instanceof Element) {
      for (const key of Object.keys(value)) if (key.startsWith("__")) walk(value[key], depth + 1);
      for (const child of value.children) walk(child, depth + 1);
      return;
    }
    if (ArrayBuffer.isView(value)) return;
    for (const key of Object.keys(value)) walk(value[key], depth + 1);
  };
  walk(document.body, 0);
  return group;
};
let told = null;
for (let i = 0; i < 200 && !told && !faults.length; i++) {
  await page.waitForTimeout(100);
  told = await page.evaluate(`(() => {
    const group = (${find})();
    return group && group.profiles.map(({ profile }) => {
      const frames = [];
      profile.forEachFrame(frame => frames.push([frame.name, frame.getSelfWeight(), frame.getTotalWeight()]));
      return { name: profile.getName(), total: profile.getTotalWeight(), unit: profile.getWeightUnit(), frames };
    });
  })()`);
}
await browser.close();
server.close();
console.log(JSON.stringify({ profiles: told ?? [], faults }));
