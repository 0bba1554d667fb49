// The page of a report, section by section. A section that has nothing to show is not there.

import type { Answer, Finding, Page, Row, Section } from "./data";
import { numberOf, placeOf, rowsOf, textOf } from "./data";
import { button, command, h } from "./dom";
import { flameView } from "./flame";
import { count, meaningOf, ns, number, sentence, share } from "./format";
import type { Part, Series } from "./plots";
import { heatmap, histogram, inkOf, legend, plot, stack, waterfall } from "./plots";
import { bareName, elide, facts, table } from "./table";
import { timelineView } from "./timeline";

export interface Block {
  readonly id: string;
  readonly title: string;
  readonly body: readonly (HTMLElement | null)[];
  readonly closed?: boolean;
}

const PARTS = [
  { column: "compute_ns", name: "compute", ink: "compute" },
  { column: "exposed_comm_ns", name: "exposed communication", ink: "comm" },
  { column: "exposed_copy_ns", name: "exposed copies", ink: "copy" },
  { column: "idle_ns", name: "idle", ink: "idle" },
];
const MOST_DEVICES = 32;

/** Tables that a picture or a section of their own shows; the others are listed at the end. */
const SHOWN = new Set(["breakdown", "kernels", "step_summary", "idle", "idle_causes", "memory", "missing"]);

export function reportBlocks(answer: Answer | null, page: Page): Block[] {
  const sections = new Map((page.sections ?? []).map((section) => [section.name, section]));
  const blocks: Block[] = [];
  const hidden = new Set(page.own?.hide ?? []);
  const add = (id: string, title: string, ...body: (HTMLElement | null)[]): void => {
    if (!hidden.has(id) && body.some((part) => part !== null)) blocks.push({ id, title, body });
  };
  add("findings", "Findings", findings(answer));
  const moments = page.contents?.slices === false; // allocations or counters, and hardly a slice
  const inTime = (): void => {
    add("memory", "Memory", memory(page), tableOf(answer, sections.get("memory"), 8));
    add("counters", "Counters and telemetry", counters(page));
  };
  for (const own of page.own?.sections ?? []) {
    const section = sections.get(own.name);
    add(own.name, section?.title ?? own.name, own.text ? h("p", {}, own.text) : null,
      own.draw === "bars" ? bars(answer, section) : null, tableOf(answer, section, own.draw === "bars" ? 5 : 15) ?? h("p", { class: "note" }, "No rows."));
  }
  if (moments) inTime();
  add("time", "Where the time goes", breakdown(answer), busy(page), account(answer, sections.get("account")));
  add("steps", "Steps", steps(page), rankHeat(page), stepParts(answer), tableOf(answer, sections.get("step_summary"), 8));
  add("idle", "Why devices were idle", idle(answer), tableOf(answer, sections.get("idle_causes"), 10));
  add("timeline", page.timeline?.reason.startsWith("step ") ? "Timeline of a typical step" : "Timeline", page.timeline?.slices ? timelineView(page.timeline) : null);
  add("flame", "Flame graphs", flames(page));
  add("kernels", "Kernels", tableOf(answer, sections.get("kernels"), 15), distributions(page));
  add("roofline", "Roofline", roofline(answer));
  if (!moments) inTime();
  add("tables", "All tables", tables(answer, page.sections ?? []));
  add("coverage", "Coverage", missing(answer), coverage(answer));
  return blocks;
}

export function tableOf(answer: Answer | null, section: Section | undefined, first: number, facets = false): HTMLElement | null {
  if (!section) return null;
  const rows = rowsOf(answer, section.name);
  if (!rows.length) return null;
  const cut = section.rows > rows.length ? ` The first ${count(rows.length)} of ${count(section.rows)} rows are in this file.` : "";
  const only = rows.length === 1 ? facts(section.columns, rows[0] ?? {}, section.title) : null;
  return h("div", {}, only ?? table({ columns: section.columns, rows, caption: section.title, first, facets }),
    section.note || cut ? h("p", { class: "note" }, `${section.note ?? ""}${cut}`) : null);
}

/** The first texts of a table with their first number as bars. */
function bars(answer: Answer | null, section: Section | undefined): HTMLElement | null {
  const rows = section ? rowsOf(answer, section.name) : [];
  const first = rows[0];
  const name = section?.columns.find((column) => typeof first?.[column.name] === "string");
  const value = section?.columns.find((column) => column.meaning === "ns") ?? section?.columns.find((column) => column.meaning !== "id" && rows.some((row) => typeof row[column.name] === "number"));
  if (!name || !value) return null;
  const most = Math.max(...rows.map((row) => numberOf(row, value.name)).filter(Number.isFinite));
  return aligned(h("div", { class: "bars" }, ...rows.slice(0, 15).map((row) => {
    const label = textOf(row, name.name);
    const size = numberOf(row, value.name);
    const shown = number(size, value.meaning);
    const piece = h("div", { class: "piece fill-compute" });
    piece.style.flexGrow = String(size > 0 && most > 0 ? size / most : 0);
    return h("div", { class: "bar-row" }, h("span", { class: "bar-label", title: label }, label),
      h("div", { class: "stack", role: "img", "aria-label": `${label}: ${shown}` }, piece), h("span", { class: "bar-value" }, shown));
  })));
}

/** Bars that begin where the longest of their names ends. */
function aligned(list: HTMLElement): HTMLElement {
  const longest = [...list.querySelectorAll(".bar-label")].reduce((most, label) => Math.max(most, label.textContent?.length ?? 0), 0);
  list.style.setProperty("--names", `${Math.max(5.5, Math.min(22, 1 + 0.5 * longest))}rem`);
  return list;
}

// ---- findings ----

function fileName(answer: Answer | null): string {
  const file = answer?.profile?.files[0];
  const name = file ? textOf(file, "file") : "";
  return name && answer?.profile?.files.length === 1 ? quote(name) : "PROFILE";
}

function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}

function withFile(text: string, file: string): string {
  return text.replace(/\bPROFILE\b/g, file);
}

export function findings(answer: Answer | null): HTMLElement | null {
  const list = answer?.result["findings"];
  if (!Array.isArray(list)) return null;
  if (!list.length) return null;
  const file = fileName(answer);
  const every = list as Finding[];
  const [own, same] = [every.filter((one) => !one.explained_by), every.filter((one) => one.explained_by)];
  const items = (some: readonly Finding[]): HTMLElement => h("ol", { class: "findings" }, ...some.map((finding) => h("li", {}, card(finding, file, finding === every[0], every))));
  if (!same.length) return items(own);
  return h("div", {}, items(own), h("details", { class: "same-time" }, h("summary", {}, `${same.length} more ${same.length === 1 ? "finding describes" : "findings describe"} time that those above account for`), items(same)));
}

function chip(label: string, value: string): HTMLElement {
  return h("span", { class: "chip" }, h("span", { class: "chip-label" }, label), value);
}

/** The first is open; of the others the title, what it costs and the first thing to do are in sight. */
function card(finding: Finding, file: string, open: boolean, every: readonly Finding[]): HTMLElement {
  const [low, high] = finding.saving_ns;
  const chips = [
    finding.cost_ns ? chip("costs", `${ns(finding.cost_ns)}${finding.cost_share !== null ? ` (${share(finding.cost_share)})` : ""}`) : null,
    typeof high === "number" && high > 0 ? chip("saves", low !== null && low !== undefined && low > 0 && low < high ? `${ns(low)} to ${ns(high)}` : `up to ${ns(high)}`) : null,
    chip("confidence", share(finding.confidence)),
    placeChip(finding),
  ];
  const same = every.find((one) => one.id === finding.explained_by);
  const first = finding.suggestions[0]?.do;
  const queries = finding.evidence.filter((one) => one.query);
  return h("details", { class: `finding ${finding.severity}`, open },
    h("summary", {}, h("span", { class: "finding-head" }, h("span", { class: `badge ${finding.severity}` }, finding.severity), h("h3", {}, sentence(finding.title))),
      h("span", { class: "chips" }, ...chips), first ? h("span", { class: "first-step" }, h("b", {}, "First: "), first) : null),
    same ? h("p", { class: "note" }, `Most of this time is counted in: ${same.title}.`) : null,
    h("h4", {}, "Evidence"),
    h("ul", { class: "evidence" }, ...finding.evidence.map((one) => h("li", {},
      one.says !== null ? sentence(one.says) : `${one.metric}: ${number(one.value ?? NaN, meaningOf(one.metric))}`,
      one.threshold ? h("span", { class: "threshold" }, ` threshold ${one.threshold.replace(/>=/g, "≥").replace(/<=/g, "≤")}`) : null,
      one.examples.length ? h("ul", { class: "examples" }, ...one.examples.map((example) =>
        h("li", { title: example.name }, `${example.dur_ns !== null ? ns(example.dur_ns) + " " : ""}at ${ns(example.start_ns)}: `, h("code", {}, elide(example.name))))) : null))),
    h("h4", {}, "What to do"),
    h("ol", { class: "todo" }, ...finding.suggestions.map((one) => h("li", {}, h("strong", {}, one.do), one.why ? ` — ${one.why}` : "", verify(one.verify, file)))),
    queries.length || finding.not_this_if || finding.needs.length ? h("details", { class: "more-on" }, h("summary", {}, "How to verify"),
      ...queries.map((one) => h("div", { class: "query" }, h("span", {}, one.metric), command(`neurolens sql ${file} ${quote(one.query ?? "")}`))),
      finding.not_this_if ? h("p", {}, h("strong", {}, "Rule it out if: "), finding.not_this_if) : null,
      finding.needs.length ? h("div", {}, h("strong", {}, "To know more, record:"), h("ul", {}, ...finding.needs.map((need) =>
        h("li", {}, h("code", {}, need.record), ` — ${need.why}`)))) : null) : null);
}

function placeChip(finding: Finding): HTMLElement | null {
  const devices = numberOf(finding.scope, "devices");
  const of = numberOf(finding.scope, "of_devices");
  const place = placeOf(finding.scope["rank"] as number | null, finding.scope["gpu"] as number | null);
  if (of > 1) return chip("where", `${devices} of ${of} devices, worst ${place}`);
  return place === "device" ? null : chip("where", place);
}

function verify(text: string, file: string): HTMLElement | null {
  if (!text) return null;
  const aside = /\((neurolens [^)]*)\)/.exec(text)?.[1]; // a sentence that names a command in passing
  if (aside) return h("div", { class: "verify" }, h("span", { class: "verify-label" }, "Check: "), h("span", {}, withFile(text, file)), command(withFile(aside, file)));
  const found = /(neurolens .*?)(?::\s|$)/.exec(text);
  if (!found?.[1]) return h("div", { class: "verify" }, h("span", { class: "verify-label" }, "Check: "), withFile(text, file));
  const rest = text.replace(found[1], "").replace(/^:?\s*/, "");
  return h("div", { class: "verify" }, h("span", { class: "verify-label" }, "Check: "), command(withFile(found[1], file)), rest ? h("span", {}, rest) : null);
}

// ---- time ----

function partsOf(row: Row): Part[] {
  return PARTS.filter((part) => Number.isFinite(numberOf(row, part.column))).map((part) => ({ name: part.name, ink: part.ink, value: numberOf(row, part.column) }));
}

function breakdown(answer: Answer | null): HTMLElement | null {
  const rows = rowsOf(answer, "breakdown").filter((row) => numberOf(row, "wall_ns") > 0);
  if (!rows.length) return null;
  const used = PARTS.filter((part) => rows.some((row) => numberOf(row, part.column) > 0));
  const line = (row: Row): HTMLElement => h("div", { class: "bar-row" },
    h("span", { class: "bar-label" }, placeOf(row["rank"] as number | null, row["device"] as number | null)),
    stack(placeOf(row["rank"] as number | null, row["device"] as number | null), partsOf(row), "ns", numberOf(row, "wall_ns")),
    h("span", { class: "bar-value" }, ns(numberOf(row, "wall_ns"))));
  const list = h("div", { class: "bars" }, ...rows.slice(0, MOST_DEVICES).map(line));
  if (rows.length > MOST_DEVICES) list.append(button(`Show all ${rows.length} devices`, () => {
    list.replaceChildren(...rows.map(line));
    aligned(list);
  }, { class: "more" }));
  aligned(list);
  return h("div", {}, legend(used), list, h("p", { class: "note" }, "Of the time from the first to the last work of each device. The parts add up to it exactly."));
}

function busy(page: Page): HTMLElement | null {
  const data = page.busy;
  if (!data?.devices.length) return null;
  const devices = data.devices;
  const bins = devices[0]?.compute.length ?? 0;
  const x = Array.from({ length: bins }, (_, at) => data.start_ns + (at / bins) * data.dur_ns);
  if (devices.length > 8) {
    return heatmap("How busy devices were over time", devices.map((device) => placeOf(device.rank, device.device)),
      x.map((at) => ns(at)), devices.map((device) => device.compute.map((value, at) => (value + (device.comm[at] ?? 0) + (device.copy[at] ?? 0)) / 1000)), "share");
  }
  const made = devices.map((device) => {
    const upto = (names: readonly ("compute" | "comm" | "copy")[]): number[] => x.map((_, at) => names.reduce((sum, name) => sum + (device[name][at] ?? 0), 0) / 1000);
    const series: Series[] = [];
    if (device.copy.some((value) => value > 0)) series.push({ name: "exposed copies", x, y: upto(["compute", "comm", "copy"]), ink: "var(--ink-copy)", area: true, solid: true, step: true });
    if (device.comm.some((value) => value > 0)) series.push({ name: "exposed communication", x, y: upto(["compute", "comm"]), ink: "var(--ink-comm)", area: true, solid: true, step: true });
    series.push({ name: "compute", x, y: upto(["compute"]), ink: "var(--ink-compute)", area: true, solid: true, step: true });
    return plot(`How busy ${placeOf(device.rank, device.device)} was over time`, series, { meaning: "ns" }, { meaning: "share", most: 1 }, devices.length > 2 ? 120 : 160);
  });
  return h("div", { class: "grid-2" }, ...made);
}

/** Every nanosecond booked once, where the profile's account is there. */
function account(answer: Answer | null, section: Section | undefined): HTMLElement | null {
  const cut = (section?.rows ?? 0) > rowsOf(answer, "account").length;
  const rows = rowsOf(answer, "account").filter((row) => row["inside"] !== 0 && numberOf(row, "ns") > 0);
  if (rows.length < 2) return null;
  const groups = new Map<string, Part>();
  for (const row of rows) {
    const part = textOf(row, "part");
    const culprit = textOf(row, "culprit");
    const name = culprit ? `${part.replace(/_/g, " ")}: ${culprit}` : part.replace(/_/g, " ");
    const known = groups.get(name);
    groups.set(name, { name, value: (known?.value ?? 0) + numberOf(row, "ns"), ink: inkOfPart(part) });
  }
  const parts = [...groups.values()].sort((a, b) => b.value - a.value);
  const wall = rowsOf(answer, "breakdown").reduce((sum, row) => sum + (numberOf(row, "wall_ns") || 0), 0);
  const left = wall - parts.reduce((sum, part) => sum + part.value, 0);
  if (cut && left > 0) parts.push({ name: "rows that are not in this file", value: left, ink: "rest" });
  const shown = parts.slice(0, 14);
  const rest = parts.slice(14).reduce((sum, part) => sum + part.value, 0);
  if (rest > 0) shown.push({ name: `${parts.length - 14} smaller ones`, value: rest, ink: "rest" });
  return waterfall("What the time is spent on, every nanosecond booked once", shown, "in all", "ns");
}

function inkOfPart(part: string): string {
  return part.includes("comm") ? "comm" : part.includes("copy") || part === "migration" ? "copy" : part.includes("memset") ? "memset" : part.includes("compute") ? "compute" : "idle";
}

// ---- steps ----

function steps(page: Page): HTMLElement | null {
  const ranks = page.steps?.ranks.filter((rank) => rank.dur.length > 1) ?? [];
  if (!ranks.length) return null;
  const shown = ranks.slice(0, 8);
  const series: Series[] = [];
  shown.forEach((rank, at) => {
    const name = rank.rank === null ? "step time" : `rank ${rank.rank}`;
    series.push({ name: shown.length > 1 ? name : "steady", x: rank.index, y: rank.dur.map((dur, i) => (rank.phase[i] === 0 ? dur : NaN)), ink: inkOf(at) });
    if (rank.index.length <= 40) series.push({ name: "", x: rank.index, y: rank.dur.map((dur, i) => (rank.phase[i] === 0 ? dur : NaN)), ink: inkOf(at), dots: true });
    if (rank.phase.some((phase) => phase !== 0) && shown.length === 1) {
      series.push({ name: "warm-up or compiling", x: rank.index.filter((_, i) => rank.phase[i] !== 0), y: rank.dur.filter((_, i) => rank.phase[i] !== 0), ink: "var(--ink-warm)", dots: true });
    }
  });
  const joined = (page.steps?.joined ?? 1) > 1 ? ` (of every ${page.steps?.joined} steps the longest)` : "";
  return plot(`Step times${joined}`, series, { meaning: "id", label: "step" }, { meaning: "ns" }, 220);
}

function rankHeat(page: Page): HTMLElement | null {
  const ranks = page.steps?.ranks ?? [];
  if (ranks.length < 2) return null;
  const indices = [...new Set(ranks.flatMap((rank) => [...rank.index]))].sort((a, b) => a - b);
  const at = new Map(indices.map((value, index) => [value, index]));
  const values = ranks.map((rank) => {
    const row = new Array<number>(indices.length).fill(NaN);
    rank.index.forEach((index, i) => (row[at.get(index) ?? 0] = rank.dur[i] ?? NaN));
    return row;
  });
  return heatmap("Step time of every rank", ranks.map((rank) => `rank ${rank.rank ?? "?"}`), indices.map((index) => `step ${index}`), values, "ns");
}

function stepParts(answer: Answer | null): HTMLElement | null {
  const rows = rowsOf(answer, "step_breakdown");
  const first = rows[0];
  if (!first) return null;
  const mine = rows.filter((row) => row["rank"] === first["rank"] && row["device"] === first["device"]);
  if (mine.length < 3) return null;
  const x = mine.map((row) => numberOf(row, "index"));
  const used = PARTS.filter((part) => mine.some((row) => numberOf(row, part.column) > 0));
  const series = used.map((_, at) => {
    const upto = used.slice(0, at + 1);
    return { name: used[at]?.name ?? "", x, y: mine.map((row) => upto.reduce((sum, part) => sum + (numberOf(row, part.column) || 0), 0)), ink: `var(--ink-${used[at]?.ink ?? "idle"})`, area: true, solid: true, bars: mine.length <= 150 };
  }).reverse();
  return plot(`What steps are made of (${placeOf(first["rank"] as number | null, first["device"] as number | null)})`, series, { meaning: "id", label: "step" }, { meaning: "ns" }, 200);
}

// ---- idle ----

function idle(answer: Answer | null): HTMLElement | null {
  const rows = rowsOf(answer, "idle");
  const devices = new Map<string, Row[]>();
  for (const row of rows) {
    const place = placeOf(row["rank"] as number | null, row["device"] as number | null);
    devices.set(place, [...(devices.get(place) ?? []), row]);
  }
  const worst = [...devices].map(([place, list]) => ({ place, list, total: list.reduce((sum, row) => sum + (numberOf(row, "total_ns") || 0), 0) })).sort((a, b) => b.total - a.total)[0];
  if (!worst || !(worst.total > 0)) return null;
  const parts = worst.list.filter((row) => numberOf(row, "total_ns") > 0).sort((a, b) => numberOf(b, "total_ns") - numberOf(a, "total_ns"))
    .map((row) => ({ name: textOf(row, "class").replace(/_/g, " "), value: numberOf(row, "total_ns"), ink: "bad", note: Number.isFinite(numberOf(row, "gaps")) ? `${count(numberOf(row, "gaps"))} ${numberOf(row, "gaps") === 1 ? "gap" : "gaps"}` : "" }));
  return waterfall(`Idle time of ${worst.place}${devices.size > 1 ? ", the most idle" : ""}, by cause`, parts, "idle in all", "ns");
}

// ---- flames, kernels ----

function flames(page: Page): HTMLElement | null {
  const list = page.flames ?? [];
  const first = list[0];
  if (!first) return null;
  const place = h("div", {}, flameView(first));
  if (list.length === 1) return h("div", {}, h("h3", {}, first.title), place);
  const tabs = list.map((flame, index) => {
    const tab = button(flame.title, () => {
      tabs.forEach((other, at) => {
        other.setAttribute("aria-selected", String(at === index));
        other.tabIndex = at === index ? 0 : -1;
      });
      place.replaceChildren(flameView(flame));
    }, { role: "tab", "aria-selected": String(index === 0), tabindex: index ? -1 : 0 });
    tab.addEventListener("keydown", (event) => {
      const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (!by) return;
      const next = tabs[(index + by + tabs.length) % tabs.length];
      next?.click();
      next?.focus();
    });
    return tab;
  });
  place.setAttribute("role", "tabpanel");
  place.setAttribute("aria-label", "Flame graph");
  return h("div", {}, h("div", { role: "tablist", "aria-label": "What to draw", class: "tabs" }, ...tabs), place);
}

function distributions(page: Page): HTMLElement | null {
  const kernels = (page.kernels ?? []).filter((kernel) => kernel.count >= 8 && kernel.bins.length > 1);
  if (!kernels.length) return null;
  const one = (kernel: (typeof kernels)[number]): HTMLElement => {
    const edges = Array.from({ length: kernel.bins.length + 1 }, (_, at) => Math.max(1, 2 ** ((kernel.first_bin + at) / 4)));
    return h("div", { class: "dist" },
      h("div", { class: "dist-name", title: kernel.name }, bareName(kernel.name)),
      h("div", { class: "dist-facts" }, `${count(kernel.count)} × ${ns(kernel.median_ns)} median, p95 ${ns(kernel.p95_ns)}, ${ns(kernel.total_ns)} in all`),
      histogram(kernel.name, kernel.bins, edges, "ns", [{ name: "median", value: kernel.median_ns }, { name: "p95", value: kernel.p95_ns }]));
  };
  const grid = h("div", { class: "dists" }, ...kernels.slice(0, 6).map(one));
  const more = kernels.length > 6 ? button(`Show ${kernels.length} kernels`, () => {
    grid.replaceChildren(...kernels.map(one));
    more?.remove();
  }, { class: "more" }) : null;
  return h("div", {}, h("h3", {}, "How long instances took"), h("p", { class: "note" }, "Counts by duration, on a logarithmic axis; lines mark the median and the 95th percentile. Two hills are two kinds of work under one name."), grid, more);
}

function roofline(answer: Answer | null): HTMLElement | null {
  const rows = rowsOf(answer, "roofline");
  const points = rows.filter((row) => numberOf(row, "intensity") > 0 && numberOf(row, "flops_per_s") > 0);
  if (points.length < 2) return null;
  const x = points.map((row) => numberOf(row, "intensity"));
  const right = Math.max(...x) * 2;
  const roofs = new Map<string, { peak: number; rate: number; name: string }>();
  for (const row of rows) {
    const [peak, rate] = [numberOf(row, "peak_flops_per_s"), numberOf(row, "peak_bytes_per_s")];
    if (peak > 0 && rate > 0) roofs.set(`${peak} ${rate}`, { peak, rate, name: textOf(row, "dtype") });
  }
  const left = Math.min(...x, ...[...roofs.values()].map((roof) => roof.peak / roof.rate)) / 2;
  const series: Series[] = [...roofs.values()].slice(0, 4).map((roof, at) => ({
    name: `roof${roof.name ? ` of ${roof.name}` : ""}: ${number(roof.peak, "FLOP/s")}, ${number(roof.rate, "bytes/s")}`,
    x: [left, roof.peak / roof.rate, Math.max(right, (roof.peak / roof.rate) * 2)], y: [left * roof.rate, roof.peak, roof.peak], ink: at ? inkOf(at + 1) : "var(--text-2)",
  }));
  const tell = (at: number): string => {
    const row = points.find((one) => numberOf(one, "intensity") === at);
    return row ? `${elide(textOf(row, "name"))}: ${number(at, null)} FLOP per byte` : "";
  };
  series.push({ name: roofs.size ? "kernels and operators" : "operators (the device's peaks are unknown, so there is no roof)", x, y: points.map((row) => numberOf(row, "flops_per_s")), ink: "var(--ink-compute)", dots: true });
  return plot("Work per second against work per byte", series, { meaning: null, label: "FLOP per byte", log: true, tell }, { meaning: "FLOP/s", log: true }, 340);
}

// ---- memory, counters ----

function memory(page: Page): HTMLElement | null {
  // What a snapshot saw at one moment is no curve: the table has it.
  const list = (page.memory ?? []).filter((one) => one.t.some((at) => at !== one.t[0]));
  if (!list.length) return null;
  const groups = new Map<string, Series[]>();
  for (const one of list) {
    const place = [one.rank !== null ? `rank ${one.rank}` : "", one.device_type === 0 ? "CPU" : one.device !== null && one.device >= 0 ? `GPU ${one.device}` : "", one.kind].filter(Boolean).join(" · ") || "memory";
    const series = groups.get(place) ?? [];
    series.push({ name: one.what, x: one.t, y: one.v, ink: one.what === "reserved" ? "var(--ink-idle)" : "var(--ink-compute)", area: one.what !== "reserved", step: true });
    groups.set(place, series.sort((a) => (a.name === "reserved" ? -1 : 1)));
  }
  return h("div", { class: groups.size > 1 ? "grid-2" : "" }, ...[...groups].slice(0, 16).map(([place, series]) => plot(`Memory: ${place}`, series, { meaning: "ns" }, { meaning: "bytes" }, 200)));
}

export function unitMeaning(unit: string): string | null {
  return ({ ns: "ns", bytes: "bytes", B: "bytes", Hz: "Hz", "bytes/s": "bytes/s" } as { readonly [unit: string]: string })[unit] ?? null;
}

function counters(page: Page): HTMLElement | null {
  const list = page.counters ?? [];
  if (!list.length) return null;
  const groups = new Map<string, Series[]>();
  const units = new Map<string, string>();
  for (const one of list) {
    const title = one.unit && !unitMeaning(one.unit) ? `${one.name} (${one.unit})` : one.name;
    const series = groups.get(title) ?? [];
    if (series.length < 8) series.push({ name: one.lane && list.filter((other) => other.name === one.name).length > 1 ? one.lane : "", x: one.t, y: one.v, ink: inkOf(series.length), step: true });
    groups.set(title, series);
    units.set(title, one.unit);
  }
  const left = (page.counter_series ?? 0) - list.length;
  return h("div", {}, h("div", { class: "grid-3" }, ...[...groups].map(([title, series]) => plot(title, series, { meaning: "ns" }, { meaning: unitMeaning(units.get(title) ?? "") }, 130))),
    left > 0 ? h("p", { class: "note" }, `${count(left)} further counters are not drawn: they have fewer than two values, or the file would grow too large.`) : null);
}

// ---- the rest ----

function tables(answer: Answer | null, sections: readonly Section[]): HTMLElement | null {
  const shown = sections.filter((section) => !SHOWN.has(section.name) && rowsOf(answer, section.name).length > 0);
  if (!shown.length) return null;
  return h("div", { class: "all-tables" }, ...shown.map((section) => {
    const details = h("details", {}, h("summary", {}, section.title, h("span", { class: "rows" }, `${count(section.rows)} ${section.rows === 1 ? "row" : "rows"}`)));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) {
        const made = tableOf(answer, section, 25);
        if (made) details.append(made);
      }
    });
    return details;
  }));
}

function missing(answer: Answer | null): HTMLElement | null {
  const rows = rowsOf(answer, "missing");
  if (!rows.length) return null;
  return h("div", {}, h("h3", {}, "Not recorded"), h("ul", { class: "missing" }, ...rows.map((row) => h("li", {},
    h("strong", {}, textOf(row, "missing")), textOf(row, "answers") ? ` would answer: ${textOf(row, "answers")}.` : "", textOf(row, "record") ? " Record it with " : "", textOf(row, "record") ? h("code", {}, textOf(row, "record")) : null))));
}

/** Causes that were not judged, by reason, the commonest first; which they are opens on request. */
function unjudged(rows: readonly Row[]): HTMLElement {
  const reasons = new Map<string, number>();
  for (const row of rows) reasons.set(textOf(row, "reason"), (reasons.get(textOf(row, "reason")) ?? 0) + 1);
  const most = [...reasons].sort((a, b) => b[1] - a[1]);
  const told = most.slice(0, 3).map(([reason, times]) => (most.length > 1 ? `${reason} (${count(times)})` : reason)).join("; ");
  return h("details", { class: "unjudged" }, h("summary", {}, `${count(rows.length)} ${rows.length === 1 ? "cause" : "causes"} could not be judged`, h("span", { class: "rows" }, `${told}${most.length > 3 ? "; …" : ""}`)),
    table({ caption: "Causes that could not be judged", rows, first: 10, columns: ["cause", "reason", "record"].map((name) => ({ name, head: null, meaning: null })) }));
}

export function coverage(answer: Answer | null): HTMLElement | null {
  const rows = answer?.coverage?.items ?? [];
  const abstained = (answer?.result["abstained"] as Row[] | undefined) ?? [];
  const parts: HTMLElement[] = [];
  if (Array.isArray(answer?.result["findings"]) && !answer.result["findings"].length) parts.push(h("p", { class: "note" }, "No cause that could be judged passed its thresholds."));
  if (abstained.length) parts.push(unjudged(abstained));
  if (rows.length) parts.push(h("h3", {}, "How the files were read"), table({ caption: "Coverage", rows, first: 12, columns: ["item", "count", "detail", "file"].map((name) => ({ name, head: null, meaning: name === "count" ? "count" : null })) }));
  return parts.length ? h("div", {}, ...parts) : h("p", { class: "note" }, "Nothing was left out, cut or repaired while reading.");
}
