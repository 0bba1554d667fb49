// A flame graph: the lane painter with one lane, a level per depth; callers above, wide first. Clicking zooms.

import type { Flame } from "./data";
import { button, h } from "./dom";
import { count, number, share } from "./format";
import { changeColor, colorOf, KIND_NAMES, kindLegend, patternOf } from "./kinds";
import { LanePainter } from "./lanes";
import { table } from "./table";

export function flameView(flame: Flame): HTMLElement {
  const { nodes } = flame;
  const meaning = flame.name === "samples" && flame.meaning === "count" ? "samples" : flame.meaning;
  const size = nodes.parent.length;
  const compares = nodes.base !== undefined;
  const sum = flame.total || nodes.total[0] || 1;
  const baseSum = nodes.base?.[0] ?? 0;
  const weight = (id: number): number => (compares ? Math.max(nodes.total[id] ?? 0, nodes.base?.[id] ?? 0) : nodes.total[id] ?? 0);
  const start = new Float64Array(size);
  const wide = new Float64Array(size);
  const used = new Float64Array(size);
  const depth = new Uint16Array(size);
  const levels: number[][] = [];
  const below = new Float64Array(size);
  for (let id = 1; id < size; id++) below[nodes.parent[id] ?? 0] = (below[nodes.parent[id] ?? 0] ?? 0) + weight(id);
  for (let id = 0; id < size; id++) { // parents stand before children
    const parent = nodes.parent[id] ?? 0;
    if (!id) {
      wide[0] = weight(0);
    } else {
      // Of a comparison children may together be wider than their parent: they share its width.
      wide[id] = ((wide[parent] ?? 0) * weight(id)) / (Math.max(weight(parent), below[parent] ?? 0) || 1);
      start[id] = (start[parent] ?? 0) + (used[parent] ?? 0);
      used[parent] = (used[parent] ?? 0) + (wide[id] ?? 0);
      depth[id] = (depth[parent] ?? 0) + 1;
    }
    (levels[depth[id] ?? 0] ??= []).push(id);
  }
  const nameOf = (id: number): string => flame.names[nodes.name[id] ?? 0] ?? "";
  const kindOf = (id: number): number => nodes.kind[id] ?? 0;
  const changeOf = (id: number): number => {
    const now = (nodes.total[id] ?? 0) / sum;
    const before = (nodes.base?.[id] ?? 0) / (baseSum || 1);
    return now + before > 0 ? (now - before) / Math.max(now, before) : 0;
  };
  const linesOf = (id: number): string[] => {
    const lines = [nameOf(id), `${number(nodes.total[id] ?? 0, meaning)} · ${share((nodes.total[id] ?? 0) / sum)}`];
    if (compares) lines.push(`before: ${number(nodes.base?.[id] ?? 0, meaning)} · ${share((nodes.base?.[id] ?? 0) / (baseSum || 1))}`);
    else lines.push(`self: ${number(nodes.self[id] ?? 0, meaning)} · ${share((nodes.self[id] ?? 0) / sum)}`);
    const kind = KIND_NAMES[kindOf(id)];
    if (kind && id) lines.push(kind);
    return lines;
  };
  const painter = new LanePainter({
    label: flame.title,
    lanes: [{
      label: flame.title, group: "",
      levels: levels.map((ids) => {
        ids.sort((a, b) => (start[a] ?? 0) - (start[b] ?? 0));
        return {
          starts: Float64Array.from(ids, (id) => start[id] ?? 0),
          ends: Float64Array.from(ids, (id) => (start[id] ?? 0) + (wide[id] ?? 0)),
          ids: Uint32Array.from(ids),
        };
      }),
    }],
    start: 0, end: wide[0] || 1, origin: 0, meaning, gutter: 0, zoomOnClick: true,
    nameOf, linesOf,
    fillOf: (id) => (compares ? changeColor(changeOf(id)) : colorOf(id ? kindOf(id) : 4, nameOf(id))),
    patternOf: (id) => (compares ? null : patternOf(kindOf(id))),
    linksOf: () => [],
  });
  const detail = h("div", { class: "detail" });
  painter.onSelect = (id) => detail.replaceChildren(...(id < 0 ? [] : [describe(id)]));

  function pathOf(id: number): string[] {
    const path: string[] = [];
    for (let at = id; at > 0; at = nodes.parent[at] ?? 0) path.unshift(nameOf(at));
    return path;
  }
  function describe(id: number): HTMLElement {
    return h("div", { class: "slice" }, h("h4", {}, nameOf(id)), h("p", {}, linesOf(id).slice(1).join(" · ")),
      h("ol", { class: "path" }, ...pathOf(id).map((name) => h("li", {}, name))));
  }

  const search = h("input", { type: "search", placeholder: "Search frames", "aria-label": `Search: ${flame.title}` });
  const found = h("span", { class: "status", role: "status" });
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase();
    const hit = flame.names.map((name) => words !== "" && name.toLowerCase().includes(words));
    const ids: number[] = [];
    const covered = new Uint8Array(size);
    let total = 0;
    for (let id = 1; id < size; id++) {
      const parent = nodes.parent[id] ?? 0;
      const matches = hit[nodes.name[id] ?? 0] === true;
      if (matches) ids.push(id);
      if (matches && !covered[parent]) total += nodes.total[id] ?? 0; // recursion counts once
      covered[id] = matches || covered[parent] ? 1 : 0;
    }
    found.textContent = words ? `${count(ids.length)} frames, ${number(total, meaning)}, ${share(total / sum)}` : "";
    painter.match(words ? ids : null);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") painter.nextMatch(event.shiftKey);
  });
  painter.onSearch = () => search.focus();
  const list = h("div");
  const asTable = button("View as table", () => {
    if (list.firstChild) {
      list.replaceChildren();
      return;
    }
    const groups = new Map<number, { total: number; self: number; count: number }>();
    for (let id = 1; id < size; id++) {
      const name = nodes.name[id] ?? 0;
      const group = groups.get(name) ?? { total: 0, self: 0, count: 0 };
      group.self += nodes.self[id] ?? 0;
      group.count++;
      if (!pathHas(id, name)) group.total += nodes.total[id] ?? 0;
      groups.set(name, group);
    }
    const rows = [...groups].map(([name, group]) => ({ name: flame.names[name] ?? "", total: group.total, self: group.self, self_share: group.self / sum, places: group.count }));
    rows.sort((a, b) => b.self - a.self);
    list.replaceChildren(table({
      caption: `${flame.title}, by name`, rows, first: 15,
      columns: [{ name: "name", head: null, meaning: null }, { name: "self", head: null, meaning }, { name: "self_share", head: "self share", meaning: "share" },
        { name: "total", head: "with what it called", meaning }, { name: "places", head: null, meaning: "count" }],
    }));
  });
  function pathHas(id: number, name: number): boolean {
    for (let at = nodes.parent[id] ?? 0; at > 0; at = nodes.parent[at] ?? 0) if (nodes.name[at] === name) return true;
    return false;
  }
  const note = flame.left_out ? h("p", { class: "note" }, `${count(flame.left_out)} frames too narrow to see are left out of this file.`) : null;
  const change = compares ? h("p", { class: "note" }, "Orange: a larger share of the time than before; green: a smaller one. Widths: the larger of both.") : null;
  return h("div", { class: "viewer" }, h("div", { class: "tools" }, search, found, h("span", { class: "grow" }), button("All", () => painter.fit()), asTable),
    painter.element, compares ? change : kindLegend(nodes.kind.slice(1)), note, detail, list);
}
