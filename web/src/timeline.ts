// A timeline of one window: lanes of devices and threads, search, selection with its rank among its name, areas summed.

import type { Lane, Timeline } from "./data";
import { placeOf } from "./data";
import { button, h } from "./dom";
import { count, ns } from "./format";
import { colorOf, KIND_NAMES, kindLegend, patternOf } from "./kinds";
import type { LaneLayout, Level } from "./lanes";
import { LanePainter } from "./lanes";
import { table } from "./table";

interface Slices {
  readonly start: Float64Array;
  readonly dur: Float64Array;
  readonly name: Uint32Array;
  readonly link: Int32Array;
  readonly lane: Uint16Array;
}

function decode(timeline: Timeline): { slices: Slices; lanes: LaneLayout[] } {
  const total = timeline.lanes.reduce((sum, lane) => sum + lane.t.length, 0);
  const slices: Slices = {
    start: new Float64Array(total), dur: new Float64Array(total), name: new Uint32Array(total),
    link: new Int32Array(total), lane: new Uint16Array(total),
  };
  let id = 0;
  const lanes = timeline.lanes.map((lane, index) => {
    const levels: number[][] = [];
    let start = 0;
    for (let at = 0; at < lane.t.length; at++, id++) {
      start += lane.t[at] ?? 0;
      slices.start[id] = start;
      slices.dur[id] = Math.max(0, lane.d[at] ?? 0);
      slices.name[id] = lane.n[at] ?? 0;
      slices.link[id] = lane.l[at] ?? -1;
      slices.lane[id] = index;
      (levels[lane.y?.[at] ?? 0] ??= []).push(id);
    }
    return { label: labelOf(lane), group: groupOf(lane), levels: squeeze(levels, slices) };
  });
  return { slices, lanes: together(lanes, slices) };
}

/** Lanes of one process stand together, in the order in which processes come first. */
function together(lanes: readonly LaneLayout[], slices: Slices): LaneLayout[] {
  const first = new Map<string, number>();
  lanes.forEach((lane, at) => first.set(lane.group, first.get(lane.group) ?? at));
  const order = lanes.map((_, at) => at).sort((a, b) => (first.get(lanes[a]?.group ?? "") ?? 0) - (first.get(lanes[b]?.group ?? "") ?? 0) || a - b);
  const place = new Uint16Array(lanes.length);
  order.forEach((from, to) => (place[from] = to));
  for (let id = 0; id < slices.lane.length; id++) slices.lane[id] = place[slices.lane[id] ?? 0] ?? 0;
  return order.flatMap((at) => lanes[at] ?? []);
}

/** Depths without slices take no room: a lane whose outer ranges lie outside the window begins at its first. */
function squeeze(levels: readonly (readonly number[] | undefined)[], slices: Slices): Level[] {
  return levels.filter((ids): ids is number[] => ids !== undefined && ids.length > 0).map((ids) => ({
    starts: Float64Array.from(ids, (id) => slices.start[id] ?? 0),
    ends: Float64Array.from(ids, (id) => (slices.start[id] ?? 0) + (slices.dur[id] ?? 0)),
    ids: Uint32Array.from(ids),
  }));
}

function labelOf(lane: Lane): string {
  return lane.label;
}

function groupOf(lane: Lane): string {
  if (lane.device !== null && !lane.host) return placeOf(lane.rank, lane.device);
  const parts = [lane.rank !== null ? `rank ${lane.rank}` : "", lane.pid !== null ? `process ${lane.pid}` : ""];
  return parts.filter(Boolean).join(" · ") || "host";
}

export function timelineView(timeline: Timeline): HTMLElement {
  const { slices, lanes } = decode(timeline);
  const nameOf = (id: number): string => timeline.names[slices.name[id] ?? 0] ?? "";
  const kindOf = (id: number): number => timeline.kinds[slices.name[id] ?? 0] ?? 0;
  const links = new Map<number, number[]>();
  slices.link.forEach((other, id) => {
    if (other < 0) return;
    links.set(id, [...(links.get(id) ?? []), other].filter((value, at, every) => every.indexOf(value) === at));
    links.set(other, [...(links.get(other) ?? []), id].filter((value, at, every) => every.indexOf(value) === at));
  });
  const painter = new LanePainter({
    label: `Timeline of ${timeline.reason}`,
    lanes,
    start: 0,
    end: timeline.dur_ns,
    origin: timeline.start_ns,
    meaning: "ns",
    gutter: innerWidth < 640 ? 84 : 168,
    nameOf,
    linesOf: (id) => [nameOf(id), `${KIND_NAMES[kindOf(id)] ?? "slice"} · ${ns(slices.dur[id] ?? 0)}`,
      `at ${ns((slices.start[id] ?? 0) + timeline.start_ns)}`, lanes[slices.lane[id] ?? 0]?.label ?? ""],
    fillOf: (id) => colorOf(kindOf(id), nameOf(id)),
    patternOf: (id) => patternOf(kindOf(id)),
    linksOf: (id) => (links.get(id) ?? []).slice(0, 64),
  });
  const detail = h("div", { class: "detail" }, hint());
  const sums = h("div", { class: "sums" });
  painter.onSelect = (id) => detail.replaceChildren(id < 0 ? hint() : describe(id));
  painter.onArea = (from, to) => sums.replaceChildren(sumOf(from, to));

  function hint(): HTMLElement {
    return h("p", { class: "note" }, "Click a slice for its details; drag to pan, ", h("kbd", {}, "Ctrl"), " + wheel to zoom, ", h("kbd", {}, "Shift"), " + drag to sum an area. Keys are listed below.");
  }

  function describe(id: number): HTMLElement {
    const same: number[] = [];
    slices.name.forEach((name, other) => { if (name === slices.name[id]) same.push(slices.dur[other] ?? 0); });
    same.sort((a, b) => a - b);
    const dur = slices.dur[id] ?? 0;
    const rank = same.length - same.filter((value) => value <= dur).length + 1;
    const total = same.reduce((a, b) => a + b, 0);
    const median = same[same.length >> 1] ?? 0;
    const linked = (links.get(id) ?? []).slice(0, 6);
    return h("div", { class: "slice" },
      h("h4", {}, nameOf(id)),
      h("dl", {},
        h("dt", {}, "Kind"), h("dd", {}, KIND_NAMES[kindOf(id)] ?? "slice"),
        h("dt", {}, "Start"), h("dd", {}, ns((slices.start[id] ?? 0) + timeline.start_ns)),
        h("dt", {}, "Duration"), h("dd", {}, ns(dur)),
        h("dt", {}, "Lane"), h("dd", {}, `${lanes[slices.lane[id] ?? 0]?.group ?? ""} · ${lanes[slices.lane[id] ?? 0]?.label ?? ""}`),
        h("dt", {}, "Same name"), h("dd", {}, `${count(same.length)} in this window, ${ns(total)} in all; this is number ${rank} by length, the median is ${ns(median)}`)),
      linked.length ? h("p", {}, "Linked: ", ...linked.map((other) => button(`${nameOf(other).slice(0, 48)} (${ns(slices.dur[other] ?? 0)})`, () => {
        painter.select(other);
        painter.focus();
      }, { class: "link" }))) : null);
  }

  function sumOf(from: number, to: number): HTMLElement {
    const groups = new Map<number, { count: number; total: number; most: number }>();
    painter.each(from, to, (id, start, end) => {
      const part = Math.max(0, Math.min(end, to) - Math.max(start, from));
      const group = groups.get(slices.name[id] ?? 0) ?? { count: 0, total: 0, most: 0 };
      group.count++;
      group.total += part;
      group.most = Math.max(group.most, end - start);
      groups.set(slices.name[id] ?? 0, group);
    });
    const rows = [...groups].map(([name, group]) => ({
      name: timeline.names[name] ?? "", kind: KIND_NAMES[timeline.kinds[name] ?? 0] ?? "slice", count: group.count,
      total_ns: Math.round(group.total), longest_ns: Math.round(group.most), of_window_share: group.total / (to - from),
    })).sort((a, b) => b.total_ns - a.total_ns);
    return h("div", {}, h("h4", {}, `${ns(to - from)} from ${ns(from + timeline.start_ns)}`),
      table({
        caption: "Slices in this part of the timeline", rows, first: 10,
        columns: ["name", "kind", "count", "total_ns", "longest_ns", "of_window_share"].map((name) => ({ name, head: null, meaning: null })),
      }));
  }

  const search = h("input", { type: "search", placeholder: "Search names  ( / )", "aria-label": "Search the timeline" });
  const found = h("span", { class: "status", role: "status" });
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase();
    const ids: number[] = [];
    if (words) {
      const hit = timeline.names.map((name) => name.toLowerCase().includes(words));
      slices.name.forEach((name, id) => { if (hit[name]) ids.push(id); });
      ids.sort((a, b) => (slices.start[a] ?? 0) - (slices.start[b] ?? 0));
    }
    const total = ids.reduce((sum, id) => sum + (slices.dur[id] ?? 0), 0);
    found.textContent = words ? `${count(ids.length)} match, ${ns(total)}` : "";
    painter.match(words ? ids : null);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") painter.nextMatch(event.shiftKey);
    if (event.key === "Escape") {
      search.value = "";
      search.dispatchEvent(new Event("input"));
      painter.focus();
    }
  });
  painter.onSearch = () => search.focus();
  const asTable = button("View as table", () => sums.replaceChildren(sumOf(...painter.view)));
  const bar = h("div", { class: "tools" }, search, found, h("span", { class: "grow" }),
    button("+", () => zoom(0.6), { "aria-label": "Zoom in" }), button("−", () => zoom(1 / 0.6), { "aria-label": "Zoom out" }),
    button("All", () => painter.fit(), { title: "Show all (0)" }), asTable);
  function zoom(factor: number): void {
    const [from, to] = painter.view;
    const middle = (from + to) / 2;
    painter.show(middle - ((to - from) / 2) * factor, middle + ((to - from) / 2) * factor);
  }
  return h("div", { class: "viewer" }, bar, painter.element, kindLegend(slices.name.length ? [...slices.name].map((name) => timeline.kinds[name] ?? 0) : []), coverage(timeline), detail, sums, keys());
}

function coverage(timeline: Timeline): HTMLElement {
  const left = timeline.left_out ? ` ${count(timeline.left_out)} slices shorter than ${ns(timeline.least_ns)} are left out of this file.` : "";
  const lanes = timeline.lanes_left_out ? ` ${count(timeline.lanes_left_out)} lanes are left out.` : "";
  return h("p", { class: "note" }, `Shown: ${timeline.reason}; ${count(timeline.slices)} ${timeline.slices === 1 ? "slice" : "slices"} over ${ns(timeline.dur_ns)}.${left}${lanes}`);
}

export function keys(): HTMLElement {
  const rows: readonly (readonly [string, string])[] = [
    ["W S or + −", "zoom in, out"], ["A D or ← →", "pan"], ["0", "show all"], ["F or double click", "zoom to the selection"],
    [". ,", "next, previous slice"], ["↑ ↓", "slice above, below"], ["] [", "follow a launch to its work, and back"],
    ["/", "search; Enter and Shift+Enter: next, previous match"], ["Esc", "clear the selection"],
  ];
  return h("details", { class: "keys" }, h("summary", {}, "Keys"),
    h("dl", {}, ...rows.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)])));
}

