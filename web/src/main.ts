// The frame of a page: header with the answer, contents, sections, footer. Reads the page's documents and draws.

import type { Answer, Page, Profile, Row } from "./data";
import { readDocument, textOf } from "./data";
import { button, command, h } from "./dom";
import { bytes, count, ns, sentence, share } from "./format";
import type { Block } from "./report";
import { flameBlocks, prepared, tableBlocks } from "./compare";
import { reportBlocks } from "./report";

function themeButton(): HTMLElement {
  const root = document.documentElement;
  const dark = (): boolean => root.dataset["theme"] === "dark" || (root.dataset["theme"] !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const made = button("", () => {
    root.dataset["theme"] = dark() ? "light" : "dark";
    try {
      localStorage.setItem("neurolens-theme", root.dataset["theme"]);
    } catch { /* pages from disk may have no storage */ }
    label();
    document.dispatchEvent(new Event("nl-theme"));
  }, { class: "theme" });
  const label = (): void => {
    made.textContent = dark() ? "☀ Light" : "☾ Dark";
    made.setAttribute("aria-label", dark() ? "Use light colours" : "Use dark colours");
  };
  label();
  return made;
}

function facts(profile: Profile, contents?: Page["contents"]): HTMLElement {
  const file = profile.files[0];
  const size = profile.files.reduce((sum, one) => sum + (typeof one["bytes"] === "number" ? one["bytes"] : 0), 0);
  const names = [...new Set(profile.devices.map((device) => textOf(device, "name")).filter(Boolean))];
  const list: [string, string][] = [
    [profile.files.length === 1 ? "File" : "Files", profile.files.length === 1 && file ? textOf(file, "file") : count(profile.files.length)],
    ["Format", profile.formats.join(", ")],
    ["Tool", profile.tools.join(", ")],
    ["Ranks", profile.ranks.length > 1 ? count(profile.ranks.length) : ""],
    ["Devices", names.length ? `${profile.devices.length > 1 ? count(profile.devices.length) + " × " : ""}${names.slice(0, 3).join(", ")}` : ""],
    ["Duration", (contents?.span_ns ?? profile.duration_ns) > 0 ? ns(contents?.span_ns ?? profile.duration_ns) : ""],
    contents && !contents.slices ? [contents.what.replace(/^./, (first) => first.toUpperCase()), count(contents.count)] : ["Events", profile.slices > 0 ? count(profile.slices) : ""],
    ["Size", size > 0 ? bytes(size) : ""],
  ];
  return h("dl", { class: "facts" }, ...list.filter(([, value]) => value).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { title: value }, value))));
}

const VERDICTS: { readonly [name: string]: string } = {
  compute: "compute-bound", memory: "memory-bound", communication: "communication-bound", copy: "copy-bound", launch: "launch-bound",
  input: "input-bound", sync: "bound by synchronisation", startup: "mostly start-up", host: "host-bound", idle: "mostly idle",
  "cpu-only": "CPU only", none: "no clear limiter",
};

/** How verdicts of a gate or a comparison are coloured. */
const JUDGED: { readonly [verdict: string]: string } = { pass: "good", faster: "good", regression: "bad", slower: "bad", inconclusive: "open", incomparable: "open", "cannot compare": "open" };

function verdict(answer: Answer): (HTMLElement | null)[] {
  const told = answer.result["answer"] as Row | undefined;
  const judged = ((answer.result["gate"] ?? answer.result["verdict"]) as Row[] | undefined)?.[0];
  if (judged && typeof judged["verdict"] === "string") return [h("span", { class: `verdict ${JUDGED[judged["verdict"]] ?? ""}` }, judged["verdict"].replace(/[-_]/g, " "))];
  if (!told || typeof told["class"] !== "string") return [];
  const saving = told["saving_ns"];
  const high = Array.isArray(saving) ? (saving as unknown[])[1] : saving;
  return [h("span", { class: "verdict" }, VERDICTS[told["class"]] ?? told["class"].replace(/[-_]/g, " ")),
    typeof high === "number" && high > 0 ? h("span", { class: "saving" }, `saves up to ${ns(high)}`) : null];
}

function headline(answer: Answer | null): HTMLElement | null {
  const lines = answer?.result["headline"];
  if (!answer || !Array.isArray(lines) || !lines.length) return null;
  const [first, ...rest] = lines as string[];
  return h("section", { class: "answer", "aria-label": "The answer" }, h("div", { class: "verdicts" }, ...verdict(answer)),
    h("p", { class: (first ?? "").length > 170 ? "lead wordy" : "lead" }, sentence(first ?? "")), ...rest.map((line) => h("p", {}, sentence(line))));
}

function idleShare(answer: Answer | null): HTMLElement | null {
  const rows = (answer?.result["breakdown"] as Row[] | undefined) ?? [];
  const sum = (column: string): number => rows.reduce((total, row) => total + (typeof row[column] === "number" ? (row[column] as number) : 0), 0);
  const wall = sum("wall_ns");
  if (!(wall > 0)) return null;
  const every: [string, string, string][] = [["compute", "compute", "compute_ns"], ["exposed communication", "comm", "exposed_comm_ns"], ["exposed copies", "copy", "exposed_copy_ns"], ["idle", "idle", "idle_ns"]];
  const tiles = every.filter(([, ink, column]) => ink === "compute" || ink === "idle" || sum(column) / wall >= 0.0005); // what would not read 0.0 %
  return h("div", { class: "tiles" }, ...tiles.map(([name, ink, column]) => h("div", { class: `tile t-${ink}` }, h("div", { class: "tile-value" }, share(sum(column) / wall)), h("div", { class: "tile-name" }, name))));
}

function contents(blocks: readonly Block[]): HTMLElement {
  const links = blocks.map((block) => h("a", { href: `#${block.id}` }, block.title));
  const nav = h("nav", { class: "contents", "aria-label": "Contents" }, ...links);
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      links.forEach((link) => link.toggleAttribute("aria-current", link.getAttribute("href") === `#${entry.target.id}`));
    }
  }, { rootMargin: "-10% 0px -75% 0px" });
  requestAnimationFrame(() => document.querySelectorAll("section[id]").forEach((section) => seen.observe(section)));
  return nav;
}

/** The template's front page: paragraphs of plain text. */
function front(page: Page): HTMLElement | null {
  const text = page.own?.front;
  return text ? h("section", { class: "front", "aria-label": "Introduction" }, ...text.split(/\n\s*\n/).filter((part) => part.trim()).map((part) => h("p", {}, part.trim()))) : null;
}

function draw(): void {
  const page = readDocument<Page>("page");
  const app = document.getElementById("app");
  if (!page || !app) return;
  const answer = prepared(readDocument<Answer>("answer"));
  try {
    const theme = localStorage.getItem("neurolens-theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset["theme"] = theme;
  } catch { /* pages from disk may have no storage */ }
  const blocks = page.kind === "flame" ? flameBlocks(page) : page.kind === "analyze" ? reportBlocks(answer, page) : tableBlocks(answer, page);
  const head = h("header", { class: "top" },
    h("a", { class: "skip", href: "#content" }, "Skip to the report"),
    page.own?.logo ? h("div", { class: "brand" }, h("img", { class: "own-logo", src: page.own.logo, alt: "" }))
      : h("div", { class: "brand" }, h("span", { class: "logo", "aria-hidden": "true" }), "NeuroLens"),
    h("div", { class: "top-title", title: page.title }, page.title), themeButton());
  const main = h("main", { id: "content", tabindex: -1 }, h("h1", {}, page.title), front(page), headline(answer), idleShare(answer),
    answer?.base ? h("div", { class: "pair" }, h("div", {}, h("h2", { class: "small" }, "A"), facts(answer.base.profile)), answer.profile ? h("div", {}, h("h2", { class: "small" }, "B"), facts(answer.profile)) : null)
      : answer?.profile ? facts(answer.profile, page.contents) : null,
    ...blocks.map((block) => h("section", { id: block.id, "aria-labelledby": `h-${block.id}` }, h("h2", { id: `h-${block.id}` }, block.title), ...block.body)),
    h("footer", {}, page.command ? h("div", {}, h("p", {}, "This page was made by"), command(page.command)) : null, h("p", {}, `NeuroLens ${page.version}`)));
  app.replaceWith(h("div", { class: "frame" }, head, blocks.length > 1 ? contents(blocks) : h("div"), main));
  addEventListener("beforeprint", () => document.querySelectorAll<HTMLDetailsElement>("details.finding, details.same-time").forEach((details) => (details.open = true)));
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

draw();
