// Plots as SVG: they print, scale and can be read aloud. Each is drawn anew when its width changes.

import { h, svg, onWidth, showTip, hideTip } from "./dom";
import { labelOf } from "./table";
import { byteTicks, logTickText, number, tickTexts, ticks } from "./format";

export interface Series {
  readonly name: string;
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly ink: string;
  readonly dots?: boolean; // points alone
  readonly step?: boolean; // holds its value until the next
  readonly area?: boolean;
  readonly solid?: boolean; // an opaque area: stacked ones do not mix
  readonly bars?: boolean; // a bar per value, half a unit to each side
  readonly thin?: boolean; // small points, behind what matters
  readonly upright?: boolean; // a line from top to bottom at each x
  readonly marks?: readonly string[]; // words at the top of each upright line
}

export interface Axis {
  readonly meaning: string | null;
  readonly label?: string;
  readonly log?: boolean;
  readonly least?: number;
  readonly most?: number;
  readonly near?: boolean; // does not begin at 0 when all values are far from it
  readonly text?: (value: number) => string; // words at the ticks
  readonly tell?: (value: number) => string; // words of the tip
}

export const SERIES_INKS = ["compute", "copy", "good", "comm", "bad", "host", "warm", "memset", "idle"];

export function inkOf(index: number): string {
  return `var(--ink-${SERIES_INKS[index % SERIES_INKS.length] ?? "compute"})`;
}

function axisTicks(axis: Axis, least: number, largest: number, most: number): number[] {
  if (axis.log) {
    const found: number[] = [];
    const from = Math.ceil(Math.log10(least) - 1e-9);
    const to = Math.floor(Math.log10(largest) + 1e-9);
    const step = Math.max(1, Math.ceil((to - from) / most));
    for (let power = from; power <= to; power += step) found.push(10 ** power);
    if (found.length >= 3) return found;
    const finer = found.length ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
    const all: number[] = [];
    for (let power = from - 1; power <= to + 1; power++) for (const factor of finer) all.push(factor * 10 ** power);
    return all.filter((value) => value >= least * 0.999 && value <= largest * 1.001);
  }
  if (axis.meaning === "id") {
    const step = Math.max(1, Math.ceil((largest - least) / most));
    const found: number[] = [];
    for (let at = Math.ceil(least); at <= largest; at += step) found.push(at);
    return found;
  }
  return axis.meaning === "bytes" ? byteTicks(least, largest, most) : ticks(least, largest, most);
}

function rangeOf(values: Iterable<number>, axis: Axis, foot: boolean): [number, number] {
  let least = Infinity;
  let largest = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value) || (axis.log && value <= 0)) continue;
    least = Math.min(least, value);
    largest = Math.max(largest, value);
  }
  const room = (largest - least) * 0.15;
  if (foot && axis.near && least > 0 && least > largest * 0.6) return [least - (room || least * 0.1), largest + (room || largest * 0.1)];
  if (foot && !axis.log && least > 0) least = 0;
  least = axis.least ?? least;
  largest = axis.most ?? largest;
  if (!(least <= largest)) return [0, 1];
  if (foot && least === 0 && largest === 0) return [0, 1];
  if (least === largest) return axis.log ? [least / 2, largest * 2] : [least - Math.abs(least || 1) * 0.1, largest + Math.abs(largest || 1) * 0.1];
  if (axis.log) return [least / (largest / least) ** 0.05, largest * (largest / least) ** 0.05];
  return foot ? [least, largest + (largest - least) * 0.04] : [least, largest];
}

function* all(series: readonly Series[], pick: (one: Series) => readonly number[]): Iterable<number> {
  for (const one of series) yield* pick(one);
}

/** Lines, areas or points over an axis, with the nearest value under the pointer. */
export function plot(title: string, series: readonly Series[], x: Axis, y: Axis, height = 200): HTMLElement {
  const figure = h("figure", { class: "plot" });
  const place = h("div", { class: "plot-area" });
  figure.append(h("figcaption", {}, title), place);
  if (series.length > 1 || series[0]?.name) {
    figure.append(h("div", { class: "legend" }, ...series.filter((one) => one.name).map((one) => {
      const key = h("i", { class: "key", "aria-hidden": "true" });
      key.style.background = one.ink;
      return h("span", {}, key, one.name);
    })));
  }
  onWidth(place, (width) => place.replaceChildren(draw(title, series, x, y, width, height)));
  return figure;
}

function draw(title: string, series: readonly Series[], x: Axis, y: Axis, width: number, height: number): SVGElement {
  let [x0, x1] = rangeOf(all(series, (one) => one.x), x, false);
  if (series.some((one) => one.bars || (one.dots && x.meaning === "id"))) {
    const edge = series.some((one) => one.bars) ? 0.5 : Math.min(0.5, (x1 - x0) * 0.04);
    x0 -= edge;
    x1 += edge;
  }
  const [y0, y1] = rangeOf(all(series, (one) => one.y), y, true);
  const high = height - 8 - (x.label ? 40 : 26);
  const upright = axisTicks(y, y0, y1, Math.max(2, Math.floor(high / 40)));
  const words = y.log ? upright.map((value) => logTickText(value, y.meaning)) : tickTexts(upright, y.meaning);
  const left = Math.max(44, 16 + 6.4 * words.reduce((most, word) => Math.max(most, word.length), 0));
  const right = 14;
  const top = 8;
  const wide = Math.max(40, width - left - right);
  const place = (value: number, axis: Axis, least: number, most: number): number =>
    axis.log ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least);
  const px = (value: number): number => left + place(value, x, x0, x1) * wide;
  const py = (value: number): number => top + (1 - place(value, y, y0, y1)) * high;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": summary(title, series, y) });
  upright.forEach((value, at) => root.append(svg("line", { class: "grid", x1: left, x2: left + wide, y1: py(value), y2: py(value) }),
    svg("text", { class: "tick", x: left - 8, y: py(value) + 4, "text-anchor": "end" }, words[at] ?? "")));
  const along = axisTicks(x, x0, x1, Math.max(2, Math.floor(wide / 90))).filter((value) => value >= x0 && value <= x1);
  const names = x.text ? along.map(x.text) : x.log ? along.map((value) => logTickText(value, x.meaning)) : tickTexts(along, x.meaning);
  along.forEach((value, at) => {
    const room = (names[at]?.length ?? 0) * 3.2;
    root.append(svg("text", { class: "tick", x: Math.max(room, Math.min(width - room - 2, px(value))), y: top + high + 18, "text-anchor": "middle" }, names[at] ?? ""));
  });
  root.append(svg("line", { class: "axis", x1: left, x2: left + wide, y1: top + high, y2: top + high }));
  if (x.label) root.append(svg("text", { class: "tick", x: left + wide / 2, y: height - 4, "text-anchor": "middle" }, x.label));
  for (const one of series) root.append(one.upright ? drawUpright(one, px, top, top + high) : drawSeries(one, px, py, top + high, x.log === true, y.log === true));
  const cross = svg("line", { class: "cross", y1: top, y2: top + high, visibility: "hidden" });
  const dot = svg("circle", { class: "dot", r: 4, visibility: "hidden" });
  root.append(cross, dot);
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect();
    const found = nearest(series, event.clientX - box.left, event.clientY - box.top, px, py);
    if (!found) return;
    const [one, at] = found;
    const vx = one.x[at] ?? 0;
    const vy = one.y[at] ?? 0;
    cross.setAttribute("x1", String(px(vx)));
    cross.setAttribute("x2", String(px(vx)));
    dot.setAttribute("cx", String(px(vx)));
    dot.setAttribute("cy", String(py(vy)));
    cross.setAttribute("visibility", "visible");
    dot.setAttribute("visibility", "visible");
    showTip(event.clientX, event.clientY, [one.name || title, `${number(vy, y.meaning)}`, x.tell?.(vx) || `${x.label ?? "at"} ${number(vx, x.meaning)}`]);
  });
  root.addEventListener("pointerleave", () => {
    cross.setAttribute("visibility", "hidden");
    dot.setAttribute("visibility", "hidden");
    hideTip();
  });
  return root;
}

function drawUpright(one: Series, px: (x: number) => number, top: number, foot: number): SVGElement {
  const group = svg("g", { class: "upright" });
  one.x.forEach((x, at) => {
    const line = svg("line", { x1: px(x), x2: px(x), y1: top, y2: foot });
    line.style.stroke = one.ink;
    const word = svg("text", { class: "tick", x: px(x) + 5, y: top + 11 }, one.marks?.[at] ?? "");
    word.style.fill = one.ink;
    group.append(line, word);
  });
  return group;
}

function drawSeries(one: Series, px: (x: number) => number, py: (y: number) => number, foot: number, logX: boolean, logY: boolean): SVGElement {
  const group = svg("g", one.solid ? { class: "solid" } : {});
  if (one.bars) {
    const wide = Math.max(1, (px(1) - px(0)) * 0.82);
    one.x.forEach((x, at) => {
      const top = py(one.y[at] ?? NaN);
      if (!Number.isFinite(top)) return;
      const bar = svg("rect", { x: px(x) - wide / 2, width: wide, y: top, height: Math.max(0, foot - top) });
      bar.style.fill = one.ink;
      group.append(bar);
    });
    return group;
  }
  let path = "";
  let pen = false;
  let start = 0;
  let last = 0;
  let fill = "";
  for (let at = 0; at < one.x.length; at++) {
    const x = one.x[at] ?? NaN;
    const y = one.y[at] ?? NaN;
    if (!Number.isFinite(x) || !Number.isFinite(y) || (logX && x <= 0) || (logY && y <= 0)) {
      if (pen) fill += `L${last} ${foot}L${start} ${foot}Z`;
      pen = false;
      continue;
    }
    const cx = Number(px(x).toFixed(1));
    const cy = Number(py(y).toFixed(1));
    if (one.dots) {
      const mark = svg("circle", { cx, cy, r: one.thin ? 3 : 4, class: "mark" });
      mark.style.fill = one.ink;
      group.append(mark);
      continue;
    }
    const part = pen ? (one.step ? `H${cx}V${cy}` : `L${cx} ${cy}`) : `M${cx} ${cy}`;
    path += part;
    fill += part;
    if (!pen) start = cx;
    last = cx;
    pen = true;
  }
  if (one.dots) return group;
  if (pen) fill += `L${last} ${foot}L${start} ${foot}Z`;
  if (one.area) {
    const area = svg("path", { d: fill, class: "area" });
    area.style.fill = one.solid ? `color-mix(in srgb, ${one.ink} 72%, var(--page))` : one.ink;
    group.append(area);
  }
  const line = svg("path", { d: path, class: "line" });
  line.style.stroke = one.ink;
  group.append(line);
  return group;
}

function nearest(series: readonly Series[], x: number, y: number, px: (x: number) => number, py: (y: number) => number): [Series, number] | null {
  let best: [Series, number] | null = null;
  let least = Infinity;
  for (const one of series) {
    for (let at = 0; at < one.x.length; at++) {
      const dx = px(one.x[at] ?? NaN) - x;
      const dy = (py(one.y[at] ?? NaN) - y) * (one.dots ? 1 : 0.15);
      const distance = dx * dx + dy * dy;
      if (distance < least) {
        least = distance;
        best = [one, at];
      }
    }
  }
  return best;
}

/** What the picture says, for those who do not see it. */
function summary(title: string, series: readonly Series[], y: Axis): string {
  const parts = series.slice(0, 6).map((one) => {
    if (one.upright) return `${one.name}: ${one.marks?.join(", ") ?? one.x.length}`;
    const known = one.y.filter(Number.isFinite);
    if (!known.length) return one.name;
    const least = known.reduce((a, b) => Math.min(a, b), Infinity);
    const most = known.reduce((a, b) => Math.max(a, b), -Infinity);
    return `${one.name ? one.name + ": " : ""}${known.length} values from ${number(least, y.meaning)} to ${number(most, y.meaning)}`;
  });
  return `${title}. ${parts.join("; ")}`;
}

export interface Part {
  readonly name: string;
  readonly value: number;
  readonly ink: string; // name of the palette
  readonly note?: string;
}

/** A bar divided into parts, each with its share; patterns tell the parts apart without colour. */
export function stack(label: string, parts: readonly Part[], meaning: string, total?: number): HTMLElement {
  const sum = total ?? parts.reduce((a, part) => a + Math.max(0, part.value), 0);
  const bar = h("div", { class: "stack", role: "img", "aria-label": `${label}: ${parts.map((part) => `${part.name} ${number(part.value, meaning)}, ${number(sum ? part.value / sum : NaN, "share")}`).join("; ")}` });
  for (const part of parts) {
    if (!(part.value > 0) || !(sum > 0)) continue;
    const width = part.value / sum;
    const piece = h("div", { class: `piece fill-${part.ink}` }, width > 0.07 ? h("span", {}, number(width, "share")) : null);
    piece.style.flexGrow = String(width);
    piece.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, [part.name, `${number(part.value, meaning)} · ${number(width, "share")}`, label]));
    piece.addEventListener("pointerleave", hideTip);
    bar.append(piece);
  }
  return bar;
}

export function legend(parts: readonly { readonly name: string; readonly ink: string }[]): HTMLElement {
  return h("div", { class: "legend" }, ...parts.map((part) => h("span", {}, h("i", { class: `key fill-${part.ink}`, "aria-hidden": "true" }), part.name)));
}

/** Bars that each begin where the one before ended; the last line is what they sum to. */
export function waterfall(title: string, parts: readonly Part[], endName: string, meaning: string, start?: { name: string; value: number }): HTMLElement {
  const from = start?.value ?? 0;
  let at = from;
  let least = Math.min(0, from);
  let most = Math.max(0, from);
  for (const part of parts) {
    at += part.value;
    least = Math.min(least, at);
    most = Math.max(most, at);
  }
  const span = most - least || 1;
  const rows: HTMLElement[] = [];
  const line = (name: string, value: number, a: number, b: number, ink: string, note?: string): void => {
    const bar = h("i", { class: `fill-${ink}` });
    bar.style.left = `${((Math.min(a, b) - least) / span) * 100}%`;
    bar.style.width = `max(2px, ${(Math.abs(b - a) / span) * 100}%)`;
    rows.push(h("li", {}, h("span", { class: "fall-name", title: name }, labelOf(name)), h("span", { class: "fall-value" }, number(value, meaning)),
      h("span", { class: "fall-note" }, note ?? ""), h("span", { class: "fall-track", "aria-hidden": "true" }, bar)));
  };
  if (start) line(start.name, start.value, 0, start.value, "idle");
  at = from;
  for (const part of parts) {
    line(part.name, part.value, at, at + part.value, part.ink, part.note);
    at += part.value;
  }
  line(endName, at, 0, at, "total");
  return h("figure", { class: "plot" }, h("figcaption", {}, title), h("ol", { class: parts.some((part) => part.note) ? "fall" : "fall bare" }, ...rows));
}

/** Counts in bins whose edges are `edges` (one more than bins), logarithmic. */
export function histogram(title: string, counts: readonly number[], edges: readonly number[], meaning: string, marks: readonly { name: string; value: number }[], height = 96): HTMLElement {
  const figure = h("figure", { class: "plot small" });
  const place = h("div", { class: "plot-area" });
  figure.append(place);
  onWidth(place, (width) => {
    const most = counts.reduce((a, b) => Math.max(a, b), 1);
    const low = edges[0] ?? 1;
    const span = Math.log((edges[edges.length - 1] ?? 2) / low) || 1;
    const px = (value: number): number => 4 + (Math.log(Math.max(value, low) / low) / span) * (width - 8);
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${title}: ${marks.map((mark) => `${mark.name} ${number(mark.value, meaning)}`).join(", ")}` });
    counts.forEach((value, index) => {
      if (!value) return;
      const a = px(edges[index] ?? low);
      const b = px(edges[index + 1] ?? low);
      const tall = Math.max(2, (value / most) * (height - 26));
      const bar = svg("rect", { class: "bin", x: a, width: Math.max(1, b - a - 1), y: height - 20 - tall, height: tall },
        svg("title", {}, `${number(edges[index] ?? 0, meaning)} to ${number(edges[index + 1] ?? 0, meaning)}: ${value}`));
      root.append(bar);
    });
    marks.forEach((mark) => root.append(svg("line", { class: "cross", x1: px(mark.value), x2: px(mark.value), y1: 2, y2: height - 20 }, svg("title", {}, `${mark.name} ${number(mark.value, meaning)}`))));
    root.append(svg("line", { class: "axis", x1: 4, x2: width - 4, y1: height - 20, y2: height - 20 }),
      svg("text", { class: "tick", x: 4, y: height - 5 }, number(low, meaning)),
      svg("text", { class: "tick", x: width - 4, y: height - 5, "text-anchor": "end" }, number(edges[edges.length - 1] ?? low, meaning)));
    place.replaceChildren(root);
  });
  return figure;
}

// cividis (Nuñez, Anderton, Renslow 2018): even in lightness, the same with and without red-green vision.
const RAMP = [[0, 32, 77], [38, 60, 108], [86, 92, 108], [124, 123, 120], [165, 156, 116], [210, 193, 94], [255, 234, 70]];

function rampColor(part: number): string {
  const at = Math.max(0, Math.min(1, part)) * (RAMP.length - 1);
  const low = RAMP[Math.floor(at)] ?? [0, 0, 0];
  const high = RAMP[Math.ceil(at)] ?? low;
  const mix = at - Math.floor(at);
  return `rgb(${low.map((value, index) => Math.round(value + ((high[index] ?? value) - value) * mix)).join(",")})`;
}

/** Names of columns below a heat map: the first, the last, and as many between them as have room. */
function nameColumns(pen: CanvasRenderingContext2D, columns: readonly string[], from: number, wide: number, y: number): void {
  const longest = columns.reduce((a, name) => Math.max(a, pen.measureText(name).width), 1) + 16;
  const most = Math.max(2, Math.min(columns.length, Math.floor(wide / longest)));
  for (let at = 0; at < most; at++) {
    const column = Math.round((at * (columns.length - 1)) / (most - 1));
    const name = columns[column] ?? "";
    const half = pen.measureText(name).width / 2;
    const middle = from + ((column + 0.5) / columns.length) * wide;
    pen.fillText(name, Math.max(from, Math.min(from + wide - 2 * half, middle - half)), y);
  }
}

/** rows × columns values as colours, with the value under the pointer. */
export function heatmap(title: string, labels: readonly string[], columns: readonly string[], values: readonly (readonly number[])[], meaning: string): HTMLElement {
  const figure = h("figure", { class: "plot" });
  const place = h("div", { class: "plot-area" });
  let least = Infinity;
  let most = -Infinity;
  for (const row of values) for (const value of row) {
    if (!Number.isFinite(value)) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const scale = h("div", { class: "scale" }, h("span", {}, number(least, meaning)), h("canvas", { width: 120, height: 10, "aria-hidden": "true" }), h("span", {}, number(most, meaning)));
  figure.append(h("figcaption", {}, title), place, scale);
  const bar = scale.querySelector("canvas")?.getContext("2d");
  if (bar) for (let x = 0; x < 120; x++) {
    bar.fillStyle = rampColor(x / 119);
    bar.fillRect(x, 0, 1, 10);
  }
  onWidth(place, (width) => {
    const gutter = Math.min(120, 12 + 7 * labels.reduce((a, label) => Math.max(a, label.length), 0));
    const wide = Math.max(40, width - gutter);
    const high = Math.max(3, Math.min(22, Math.floor(420 / Math.max(1, labels.length))));
    const canvas = h("canvas", { role: "img", tabindex: 0, "aria-label": `${title}: ${labels.length} rows, ${columns.length} columns, from ${number(least, meaning)} to ${number(most, meaning)}` });
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    const foot = columns.length > 1 ? 18 : 0; // room for the names of columns
    canvas.height = (labels.length * high + foot) * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${labels.length * high + foot}px`;
    const pen = canvas.getContext("2d");
    if (pen) {
      pen.scale(ratio, ratio);
      pen.font = "11px system-ui, sans-serif";
      pen.textBaseline = "middle";
      pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--text-2");
      const every = Math.ceil(13 / high);
      labels.forEach((_, y) => {
        if (y % every === 0) pen.fillText(labels[y] ?? "", 0, y * high + high / 2, gutter - 6);
      });
      if (foot) nameColumns(pen, columns, gutter, wide, labels.length * high + 11);
      values.forEach((row, y) => row.forEach((value, x) => {
        if (!Number.isFinite(value)) return;
        pen.fillStyle = rampColor(most > least ? (value - least) / (most - least) : 0);
        const from = gutter + (x / columns.length) * wide;
        pen.fillRect(from, y * high, Math.max(1, wide / columns.length - (wide / columns.length > 4 ? 1 : 0)), high > 4 ? high - 1 : high);
      }));
    }
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const x = Math.floor(((event.clientX - box.left - gutter) / wide) * columns.length);
      const y = Math.floor((event.clientY - box.top) / high);
      const value = values[y]?.[x];
      if (value === undefined || x < 0) return hideTip();
      showTip(event.clientX, event.clientY, [labels[y] ?? "", `${columns[x] ?? ""}`, number(value, meaning)]);
    });
    canvas.addEventListener("pointerleave", hideTip);
    place.replaceChildren(canvas);
  });
  return figure;
}
