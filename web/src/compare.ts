// Pages about several profiles: a comparison, a gate, a ranking, a history, the runs of a ledger. Each begins with the
// picture that answers it; the tables behind it follow.

import type { Answer, Page, Row, Section } from "./data";
import { numberOf, rowsOf, textOf } from "./data";
import { h } from "./dom";
import { flameView } from "./flame";
import { count, ns, number, share } from "./format";
import type { Part, Series } from "./plots";
import { inkOf, legend, plot, SERIES_INKS, stack, waterfall } from "./plots";
import type { Block } from "./report";
import { coverage, findings, tableOf, unitMeaning } from "./report";
import { labelOf } from "./table";

const MOST_CHANGES = 16;
const MOST_OPERATORS = 12;

/** A block, and the tables that it shows, which need no block of their own. */
type Drawn = Block & { readonly holds?: readonly string[] };
type Draw = (answer: Answer, page: Page) => Drawn[];

const FAMILIES: { readonly [schema: string]: Draw } = {
  "neurolens.diff": diffBlocks, "neurolens.check": checkBlocks, "neurolens.rank": rankBlocks, "neurolens.trend": trendBlocks, "neurolens.site": siteBlocks,
};

function familyOf(answer: Answer | null): Draw | undefined {
  return answer ? FAMILIES[answer.schema.replace(/\/\d+$/, "")] : undefined;
}

/** The answer as the page says it: candidates of a ranking have short names. */
export function prepared(answer: Answer | null): Answer | null {
  return answer && familyOf(answer) === rankBlocks ? shortened(answer) : answer;
}

export function tableBlocks(answer: Answer | null, page: Page): Block[] {
  const family = familyOf(answer);
  const pictures = answer && family ? family(answer, page) : [];
  const blocks: Block[] = [...pictures];
  const drawn = new Set(pictures.flatMap((one) => one.holds ?? []));
  const list = Array.isArray(answer?.result["findings"]) ? findings(answer) : null;
  if (list) blocks.push({ id: "findings", title: "Findings", body: [list] });
  for (const section of page.sections ?? []) {
    const made = drawn.has(section.name) ? null : tableOf(answer, section, page.kind === "site" ? 200 : 20);
    if (made) blocks.push({ id: `t-${section.name}`, title: section.title || section.name, body: [made] });
  }
  if (answer?.coverage) blocks.push({ id: "coverage", title: "Coverage", body: [coverage(answer)] });
  return blocks;
}

function sectionOf(page: Page, name: string): Section | undefined {
  return page.sections?.find((section) => section.name === name);
}

function block(id: string, title: string, holds: readonly string[], ...body: (HTMLElement | null)[]): Drawn[] {
  return body.some((part) => part !== null) ? [{ id, title, body, holds }] : [];
}

// ---- what changed from A to B ----

const PART_INKS: { readonly [part: string]: string } = {
  compute: "compute", "exposed communication": "comm", "exposed copies": "copy", "exposed memsets": "memset", idle: "idle",
};

/** A and B as bars of one scale, with what each is made of. */
function sides(answer: Answer): HTMLElement | null {
  const rows = rowsOf(answer, "parts");
  if (!rows.length) return null;
  const side = (column: string): Part[] => rows.map((row) => ({ name: textOf(row, "part"), ink: PART_INKS[textOf(row, "part")] ?? "host", value: Math.max(0, numberOf(row, column) || 0) }));
  const total = (parts: readonly Part[]): number => parts.reduce((sum, part) => sum + part.value, 0);
  const [a, b] = [side("base_ns"), side("new_ns")];
  const most = Math.max(total(a), total(b));
  if (!(most > 0)) return null;
  const used = a.filter((part, at) => part.value > 0 || (b[at]?.value ?? 0) > 0);
  const line = (name: string, parts: readonly Part[]): HTMLElement => {
    const bar = stack(name, parts, "ns");
    bar.style.width = `${(total(parts) / most) * 100}%`;
    return h("div", { class: "bar-row" }, h("span", { class: "bar-label" }, name), h("div", {}, bar), h("span", { class: "bar-value" }, ns(total(parts))));
  };
  return h("div", {}, legend(used), h("div", { class: "bars" }, line("A, before", a), line("B, after", b)));
}

/** The change by part of the time: few rows that add up to it. */
function partFall(answer: Answer): HTMLElement | null {
  const parts = rowsOf(answer, "parts").filter((row) => (numberOf(row, "change_ns") || 0) !== 0)
    .map((row) => ({ name: textOf(row, "part"), value: numberOf(row, "change_ns"), ink: numberOf(row, "change_ns") > 0 ? "bad" : "good", note: `${ns(numberOf(row, "base_ns"))} → ${ns(numberOf(row, "new_ns"))}` }));
  return parts.length > 1 ? waterfall("By part of the time", parts, "change", "change_ns") : null;
}

/** The change by what caused it, the largest first; what is not drawn is one row, so that the sum is exact. */
function nameFall(answer: Answer): HTMLElement | null {
  const rows = rowsOf(answer, "attribution").filter((row) => Number.isFinite(numberOf(row, "change_ns")));
  const named = rows.map((row) => ({ name: textOf(row, "part") === "idle" ? textOf(row, "name") : [textOf(row, "part"), textOf(row, "name")].filter(Boolean).join(": "), value: numberOf(row, "change_ns"), ink: numberOf(row, "change_ns") > 0 ? "bad" : "good" }))
    .filter((part) => part.value !== 0).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  if (!named.length) return null;
  const shown: Part[] = named.slice(0, MOST_CHANGES);
  const rest = named.slice(MOST_CHANGES).reduce((sum, part) => sum + part.value, 0);
  if (named.length > MOST_CHANGES) shown.push({ name: `${named.length - MOST_CHANGES} smaller changes`, value: rest, ink: "rest" });
  return waterfall("By kernel, copy and cause of waiting", shown, "change", "change_ns");
}

function change(answer: Answer, page: Page): Drawn[] {
  return block("change", "What the change is made of", ["parts", "attribution"], sides(answer), partFall(answer), tableOf(answer, sectionOf(page, "parts"), 8),
    nameFall(answer), tableOf(answer, sectionOf(page, "attribution"), 12));
}

/** Both sides' steps: how they are spread, not only their medians. */
function stepsOfBoth(page: Page): HTMLElement | null {
  const pair = page.pair;
  if (!pair || pair.a.dur.length < 3 || pair.b.dur.length < 3) return null;
  const series = (name: string, durations: readonly number[], ink: string): Series[] => {
    const x = durations.map((_, at) => at);
    return durations.length <= 60 ? [{ name: "", x, y: durations, ink }, { name, x, y: durations, ink, dots: true }] : [{ name, x, y: durations, ink }];
  };
  return plot("Steady steps in the order in which they ran", [...series("A, before", pair.a.dur, "var(--ink-idle)"), ...series("B, after", pair.b.dur, "var(--ink-compute)")],
    { meaning: "id", label: "step" }, { meaning: "ns" }, 200);
}

function flameChange(page: Page): Drawn[] {
  const flame = page.flames?.[0];
  return flame ? block("flame", "Which stacks grew and shrank", [], h("h3", {}, flame.title), flameView(flame)) : [];
}

function diffBlocks(answer: Answer, page: Page): Drawn[] {
  return [...change(answer, page), ...block("steps", "Steps", [], stepsOfBoth(page)), ...flameChange(page)];
}

// ---- the gate ----

const STATUS_INK: { readonly [status: string]: string } = { pass: "good", fail: "bad", failed: "bad", regression: "bad" };

function limitOf(text: string): number {
  const found = /^([+-][\d.]+)\s*%$/.exec(text.replace(/\u202f|\u00a0/g, " ").trim());
  return found ? Number(found[1]) / 100 : NaN;
}

/** Each rule's change with its interval, beside what it allows. */
function rulesPlot(answer: Answer): HTMLElement | null {
  const rows = rowsOf(answer, "rules").filter((row) => Number.isFinite(numberOf(row, "change_share")));
  if (!rows.length) return null;
  const values = rows.flatMap((row) => [numberOf(row, "change_share"), numberOf(row, "change_low_share"), numberOf(row, "change_high_share"), limitOf(textOf(row, "limit"))]).filter(Number.isFinite);
  const least = Math.min(-0.01, ...values);
  const most = Math.max(0.01, ...values);
  const span = (most - least) * 1.08;
  const from = least - (most - least) * 0.04;
  const at = (value: number): string => `${Math.max(0, Math.min(100, ((value - from) / span) * 100))}%`;
  const mark = (kind: string, left: number, right?: number): HTMLElement => {
    const made = h("i", { class: kind });
    made.style.left = at(left);
    if (right !== undefined) made.style.width = `calc(${at(right)} - ${at(left)})`;
    return made;
  };
  return h("figure", { class: "plot" }, h("figcaption", {}, "Change of each metric, its 95 % interval, and what its rule allows"),
    sized(h("ol", { class: "rules" }, ...rows.map((row) => {
      const value = numberOf(row, "change_share");
      const [low, high, limit] = [numberOf(row, "change_low_share"), numberOf(row, "change_high_share"), limitOf(textOf(row, "limit"))];
      const ink = STATUS_INK[textOf(row, "status")] ?? "warm";
      const told = `${number(value, "change_share")}${Number.isFinite(low) && Number.isFinite(high) ? ` (${number(low, "change_share")} to ${number(high, "change_share")})` : ""}`;
      return h("li", {}, h("span", { class: "rule-name", title: textOf(row, "rule") }, textOf(row, "rule")),
        h("span", { class: "rule-value" }, told),
        h("span", { class: `rule-status ink-${ink}` }, textOf(row, "status")),
        h("span", { class: "rule-track", role: "img", "aria-label": `${textOf(row, "rule")}: ${told}; allowed ${textOf(row, "limit") || "see the table"}` },
          mark("rule-zero", 0), Number.isFinite(limit) ? mark("rule-limit", limit) : null,
          Number.isFinite(low) && Number.isFinite(high) ? mark(`rule-range fill-${ink}`, low, high) : null, mark(`rule-dot fill-${ink}`, value)));
    })), rows.map((row) => textOf(row, "rule"))),
    h("div", { class: "legend" }, h("span", {}, h("i", { class: "key rule-key-zero", "aria-hidden": "true" }), "no change"), h("span", {}, h("i", { class: "key rule-key-limit", "aria-hidden": "true" }), "what the rule allows"),
      h("span", {}, h("i", { class: "key rule-key-range", "aria-hidden": "true" }), "95 % interval")));
}

function checkBlocks(answer: Answer, page: Page): Drawn[] {
  return [...block("t-rules", "Rules", ["rules"], rulesPlot(answer), tableOf(answer, sectionOf(page, "rules"), 20)), ...change(answer, page), ...block("steps", "Steps", [], stepsOfBoth(page)), ...flameChange(page)];
}

// ---- the ranking ----

/** What tells files apart: without the folders and the ending that all of them share. */
export function labelsOf(names: readonly string[]): readonly string[] {
  if (names.length < 2) return names.map((name) => name.split("/").pop() ?? name);
  const split = names.map((name) => name.split("/"));
  let same = 0;
  while (split.every((parts) => parts.length > same + 1 && parts[same] === split[0]?.[same])) same++;
  const rest = split.map((parts) => parts.slice(same).join("/"));
  let end = 0;
  const first = rest[0] ?? "";
  while (end < first.length && rest.every((one) => one.length > end + 1 && one[one.length - 1 - end] === first[first.length - 1 - end])) end++;
  const tail = /[._-].*$/.exec(first.slice(first.length - end))?.[0].length ?? 0;
  const cut = rest.map((one) => one.slice(0, one.length - tail).replace(/[._-]+$/, "") || one);
  return new Set(cut).size === names.length ? cut : rest;
}

/** The answer with short names of candidates, in its sentences and in its cells. */
function shortened(answer: Answer): Answer {
  const names = rowsOf(answer, "rank").map((row) => textOf(row, "candidate"));
  const labels = labelsOf(names);
  const order = names.map((_, at) => at).sort((a, b) => (names[b]?.length ?? 0) - (names[a]?.length ?? 0));
  const say = (value: unknown): unknown => {
    if (typeof value === "string") return order.reduce((text, at) => text.split(names[at] || "\0").join(labels[at] ?? ""), value);
    if (Array.isArray(value)) return value.map(say);
    return value && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, say(part)])) : value;
  };
  const result = say(answer.result) as Answer["result"];
  const files = names.map((file, at) => ({ candidate: labels[at] ?? file, file }));
  return { ...answer, result: { ...result, files: files.some((row) => row.candidate !== row.file) ? files : [] } as Answer["result"] };
}

/** The first column as wide as its longest name, so that bars begin where names end. */
function sized(list: HTMLElement, names: readonly string[]): HTMLElement {
  list.style.setProperty("--names", `${Math.max(5, Math.min(24, 1 + 0.5 * names.reduce((most, name) => Math.max(most, name.length), 0)))}rem`);
  return list;
}

/** A bar per row, and a whisker where an interval is known. */
function bars(title: string, rows: readonly { name: string; value: number; low: number; high: number; note: string; ink: string }[]): HTMLElement {
  const most = Math.max(...rows.map((row) => Math.max(row.value, Number.isFinite(row.high) ? row.high : 0)));
  return h("figure", { class: "plot" }, h("figcaption", {}, title), sized(h("ol", { class: "ranked" }, ...rows.map((row) => {
    const bar = h("i", { class: "ranked-bar" });
    bar.style.background = row.ink;
    bar.style.width = `${(row.value / most) * 100}%`;
    const range = Number.isFinite(row.low) && Number.isFinite(row.high) ? h("i", { class: "ranked-range" }) : null;
    if (range) {
      range.style.left = `${(row.low / most) * 100}%`;
      range.style.width = `${((row.high - row.low) / most) * 100}%`;
    }
    return h("li", {}, h("span", { class: "ranked-name", title: row.name }, row.name), h("span", { class: "ranked-value" }, ns(row.value)),
      h("span", { class: "ranked-note" }, row.note), h("span", { class: "ranked-track", "aria-hidden": "true" }, bar, range));
  })), rows.map((row) => row.name)));
}

/** How many times as long, with the digits that matter: 1.41, 46.7, 1,275. */
function times(ratio: number): string {
  return ratio >= 100 ? count(ratio) : ratio.toFixed(ratio >= 10 ? 1 : 2);
}

function rankBars(answer: Answer): HTMLElement | null {
  const rows = rowsOf(answer, "rank").filter((row) => numberOf(row, "time_ns") > 0);
  if (!rows.length) return null;
  const best = numberOf(rows[0] ?? {}, "time_ns");
  return bars(rows.every((row) => numberOf(row, "steps") > 0) ? "Typical step of each candidate" : "Time of each candidate", rows.map((row, at) => {
    const ratio = numberOf(row, "ratio");
    const [low, high] = [numberOf(row, "ratio_low"), numberOf(row, "ratio_high")];
    const note = !at ? "fastest" : `× ${times(ratio)}${Number.isFinite(low) && Number.isFinite(high) ? ` (${times(low)} to ${times(high)})` : ""}${textOf(row, "tie") === "yes" ? ", a tie" : ""}`;
    return { name: textOf(row, "candidate"), value: numberOf(row, "time_ns"), low: low * best, high: high * best, note, ink: inkOf(at) };
  }));
}

/** Operators in which candidates differ most: a bar for each candidate. */
function operatorBars(answer: Answer): HTMLElement | null {
  const every = rowsOf(answer, "rank").map((row) => textOf(row, "candidate"));
  const candidates = every.slice(0, SERIES_INKS.length);
  const value = (row: Row, at: number): number => numberOf(row, `time_${at + 1}_ns`);
  const rows = rowsOf(answer, "operators").filter((row) => candidates.some((_, at) => value(row, at) > 0)).slice(0, MOST_OPERATORS);
  const most = Math.max(0, ...rows.flatMap((row) => candidates.map((_, at) => value(row, at) || 0)));
  if (!rows.length || candidates.length < 2 || !(most > 0)) return null;
  const figure = h("figure", { class: "plot" }, h("figcaption", {}, "Where they differ most, a step of a device"));
  const list = h("ol", { class: "grouped" }, ...rows.map((row) => h("li", {}, h("span", { class: "grouped-name", title: textOf(row, "name") }, labelOf(textOf(row, "name"))),
    h("span", { class: "grouped-bars" }, ...candidates.map((candidate, at) => {
      const bar = h("i", {});
      bar.style.background = inkOf(at);
      bar.style.width = `${((value(row, at) || 0) / most) * 100}%`;
      const none = !Number.isFinite(value(row, at)); // it has no such operator
      return h("span", { class: "grouped-bar" }, h("span", { class: "grouped-track", "aria-hidden": "true" }, none ? null : bar), h("span", { class: "grouped-value" }, h("span", { class: "offscreen" }, `${candidate}: `), Number.isFinite(value(row, at)) ? ns(value(row, at)) : "–"));
    })))));
  figure.append(keys(candidates), list);
  if (every.length > candidates.length) figure.append(h("p", { class: "note" }, `Drawn for the ${candidates.length} fastest of ${every.length} candidates; the table has all.`));
  return figure;
}

function keys(names: readonly string[]): HTMLElement {
  return h("div", { class: "legend" }, ...names.map((name, at) => {
    const key = h("i", { class: "key", "aria-hidden": "true" });
    key.style.background = inkOf(at);
    return h("span", {}, key, name);
  }));
}

function rankBlocks(answer: Answer, page: Page): Drawn[] {
  const files = rowsOf(answer, "files");
  const names = files.length ? h("dl", { class: "names" }, ...files.flatMap((row) => [h("dt", {}, textOf(row, "candidate")), h("dd", {}, textOf(row, "file"))])) : null;
  return [...block("t-rank", "Fastest first", ["rank"], rankBars(answer), tableOf(answer, sectionOf(page, "rank"), 20), names),
    ...block("t-operators", "Where they differ", ["operators"], operatorBars(answer), tableOf(answer, sectionOf(page, "operators"), 10))];
}

// ---- the history ----

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] ?? NaN : ((sorted[half - 1] ?? NaN) + (sorted[half] ?? NaN)) / 2;
}

function meaningOfUnit(unit: string): string | null {
  return unit === "share" || unit === "%" ? "share" : unit === "FLOP/s" ? unit : unitMeaning(unit);
}

/** Every run's value in order, the level between changes, and a line where the level changed. */
function history(answer: Answer): HTMLElement | null {
  const points = [...rowsOf(answer, "series")].reverse().filter((row) => Number.isFinite(numberOf(row, "value")));
  if (points.length < 2) return null;
  const y = points.map((row) => numberOf(row, "value"));
  const x = points.map((_, at) => at);
  const place = new Map(points.map((row, at) => [textOf(row, "id") || textOf(row, "commit") || textOf(row, "added"), at]));
  const changes = rowsOf(answer, "changes").map((row) => ({ at: place.get(textOf(row, "id") || textOf(row, "commit") || textOf(row, "added")) ?? -1, worse: textOf(row, "worse"), share: numberOf(row, "change_share") }))
    .filter((one) => one.at > 0).sort((a, b) => a.at - b.at);
  const edges = [0, ...changes.map((one) => one.at), points.length];
  const level = y.map((_, at) => {
    const part = edges.findIndex((edge, index) => at >= edge && at < (edges[index + 1] ?? Infinity));
    return median(y.slice(edges[part], edges[part + 1]));
  });
  const meaning = meaningOfUnit(textOf(points[0] ?? {}, "unit"));
  const date = (at: number): string => textOf(points[Math.round(at)] ?? {}, "added").slice(0, 10);
  const oneDay = date(0) !== "" && date(0) === date(points.length - 1);
  const day = (at: number): string => (oneDay ? textOf(points[Math.round(at)] ?? {}, "added").slice(11, 16) : date(at));
  const tell = (at: number): string => {
    const row = points[Math.round(at)] ?? {};
    return [textOf(row, "id").slice(0, 8), textOf(row, "commit").slice(0, 10), textOf(row, "added").slice(0, 16).replace("T", " ")].filter(Boolean).join(" · ");
  };
  const upright = (worse: boolean): Series => {
    const list = changes.filter((one) => (one.worse === "yes") === worse);
    return { name: worse ? "changed for the worse" : "changed", x: list.map((one) => one.at - 0.5), y: list.map(() => NaN), ink: worse ? "var(--ink-bad)" : "var(--ink-good)", upright: true, marks: list.map((one) => `${one.share > 0 ? "+" : ""}${share(one.share)}`) };
  };
  const series: Series[] = [{ name: "each run", x, y, ink: "var(--ink-compute)", dots: points.length <= 400, thin: true }];
  if (points.length > 400) series[0] = { name: "each run", x, y, ink: "var(--ink-compute)" };
  series.push({ name: "level (median between changes)", x, y: level, ink: "var(--text)", step: true });
  for (const worse of [true, false]) if (changes.some((one) => (one.worse === "yes") === worse)) series.push(upright(worse));
  return plot("Every run in the order in which it was added", series, { meaning: "id", label: oneDay ? `${points.length} runs of ${date(0)}` : `${points.length} runs, ${date(0)} to ${date(points.length - 1)}`, text: day, tell }, { meaning, near: true }, 320);
}

function trendBlocks(answer: Answer, page: Page): Drawn[] {
  return block("t-changes", "History", ["changes"], history(answer), tableOf(answer, sectionOf(page, "changes"), 20));
}

// ---- the runs of a ledger ----

/** The step time of every run over time: where to look first. */
function siteSteps(answer: Answer): HTMLElement | null {
  const rows = [...rowsOf(answer, "runs")].reverse().filter((row) => numberOf(row, "metrics.mean_step_ns") > 0);
  if (rows.length < 3) return null;
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const name = textOf(row, "workload.model") || textOf(row, "name");
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  const order = new Map(rows.map((row, at) => [row, at]));
  const largest = [...groups].sort((a, b) => b[1].length - a[1].length).slice(0, 6);
  const rest = rows.filter((row) => !largest.some(([, list]) => list.includes(row)));
  const series: Series[] = [...largest, ...(rest.length ? [["other", rest] as [string, Row[]]] : [])]
    .map(([name, list], at) => ({ name, x: list.map((row) => order.get(row) ?? 0), y: list.map((row) => numberOf(row, "metrics.mean_step_ns")), ink: inkOf(at), dots: true }));
  const tell = (at: number): string => [textOf(rows[Math.round(at)] ?? {}, "id").slice(0, 8), textOf(rows[Math.round(at)] ?? {}, "added").slice(0, 16).replace("T", " ")].filter(Boolean).join(" · ");
  const spread = Math.max(...rows.map((row) => numberOf(row, "metrics.mean_step_ns"))) / Math.min(...rows.map((row) => numberOf(row, "metrics.mean_step_ns")));
  return plot("Mean step of every run", series, { meaning: "id", label: "runs in the order in which they were added", text: () => "", tell }, { meaning: "ns", log: spread > 20 }, 220);
}

function siteBlocks(answer: Answer, page: Page): Drawn[] {
  return block("t-runs", "Runs", ["runs"], siteSteps(answer), tableOf(answer, sectionOf(page, "runs"), 200, true));
}

export function flameBlocks(page: Page): Block[] {
  return (page.flames ?? []).map((flame) => ({ id: flame.name, title: flame.title, body: [flameView(flame)] }));
}
