// Builds dist/ from src/: one script, one style sheet. `node build.mjs --check` only says whether dist/ is what src/
// makes. The first line of each file names the digest of the sources, so that a test without node can tell, too.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const root = fileURLToPath(new URL(".", import.meta.url));
const hash = createHash("sha256");
for (const name of readdirSync(root + "src").sort()) {
  hash.update(name + "\n");
  hash.update(readFileSync(root + "src/" + name));
}
const digest = hash.digest("hex");

function bundle(entry) {
  const built = buildSync({
    entryPoints: [root + "src/" + entry],
    bundle: true,
    minify: true,
    format: "iife",
    target: ["chrome100", "firefox100", "safari15.4"],
    charset: "utf8",
    legalComments: "none",
    write: false,
  });
  // What would end the element it is put into.
  const text = built.outputFiles[0].text.trimEnd().replaceAll("</", "<\\/");
  return `/* NeuroLens, Apache-2.0; made from web/src, sha256 ${digest} */\n${text}\n`;
}

const outputs = { "neurolens.js": bundle("main.ts"), "neurolens.css": bundle("page.css") };
let stale = false;
for (const [name, text] of Object.entries(outputs)) {
  const path = root + "dist/" + name;
  if (process.argv.includes("--check")) {
    stale ||= readFileSync(path, "utf8") !== text;
  } else {
    mkdirSync(root + "dist", { recursive: true });
    writeFileSync(path, text);
  }
}
if (stale) {
  console.error("web/dist is not what web/src makes; run `npm run build` in web/");
  process.exit(1);
}
