// The lane painter: boxes on lanes over one axis, painted on a canvas the size of the screen, whatever their number.
// Timelines, flame graphs and icicles are layouts of it. Pointer, keyboard and touch do the same things:
//
//   w s + -  zoom      a d ← →  pan      0  all      f, double click  the selection
//   . ,  next, previous box      ↑ ↓  box above, below      ] [  along launches      Enter ⇧Enter  next match

import { announce, button, h, hideTip, onTheme, onWidth, showTip, token } from "./dom";
import { byteTicks, number, ticks } from "./format";

export interface Level {
  readonly starts: Float64Array; // ascending
  readonly ends: Float64Array;
  readonly ids: Uint32Array;
}

export interface LaneLayout {
  readonly label: string;
  readonly group: string;
  readonly levels: readonly Level[];
}

export interface Model {
  readonly label: string; // what it is, for screen readers
  readonly lanes: readonly LaneLayout[];
  readonly start: number;
  readonly end: number;
  readonly origin: number; // added to what the axis shows
  readonly meaning: string;
  readonly zoomOnClick?: boolean;
  readonly gutter: number;
  nameOf(id: number): string;
  linesOf(id: number): readonly string[];
  fillOf(id: number): string; // a colour
  patternOf(id: number): "comm" | "copy" | null;
  linksOf(id: number): readonly number[];
}

interface Spot {
  readonly lane: number;
  readonly level: number;
  readonly at: number;
}

const ROW = 19;
const GAP = 7;
const HEAD = 24;
const TALL = 620; // the part in sight, at most; then what a canvas, and a sheet of paper, can have
const MOST_TALL = 8000;
const PAPER_TALL = 900;
const PAPER_WIDE = 700; // of A4 and Letter between their margins, in px
const FLOOR = 10; // least width of the view, in units of the axis

/** What tells lanes apart, where there is room for few words: the number, and what kind of lane it is. */
function shortLane(label: string, room: number): string {
  const bare = label.includes(" · ") ? label.replace(/ \([^)]*\)/, "") : label;
  return room < 120 ? bare.replace(/^thread (?=\S)/, "") : bare;
}

export class LanePainter {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { tabindex: 0, role: "application" });
  private readonly overlay = h("canvas", { class: "overlay", "aria-hidden": "true" });
  private readonly scroller = h("div", { class: "lanes-scroll" });
  private readonly spacer = h("div", { class: "lanes-space" });
  private readonly labels = h("ul", { class: "lane-labels" });
  private readonly tops: number[] = [];
  private readonly where = new Map<number, Spot>();
  private readonly high: number;
  private width = 0;
  private from: number;
  private to: number;
  private hover = -1;
  private marked: readonly number[] = [];
  private markedSet: ReadonlySet<number> | null = null;
  private waiting = false;
  private area: [number, number] | null = null;
  private patterns: { comm: CanvasPattern | null; copy: CanvasPattern | null } = { comm: null, copy: null };
  selected = -1;
  onSelect: (id: number) => void = () => {};
  onView: (from: number, to: number) => void = () => {};
  onArea: (from: number, to: number) => void = () => {};
  onSearch: () => void = () => {};

  constructor(private readonly model: Model) {
    this.from = model.start;
    this.to = model.end;
    let top = HEAD;
    let group = "";
    model.lanes.forEach((lane, index) => {
      if (lane.group !== group && lane.group) {
        group = lane.group;
        if (model.gutter) {
          const head = h("li", { class: "lane-group" }, group);
          head.style.top = `${top}px`;
          this.labels.append(head);
          top += ROW;
        }
      }
      this.tops.push(top);
      if (model.gutter) {
        const label = h("li", { title: lane.label }, shortLane(lane.label, model.gutter));
        label.style.top = `${top}px`;
        this.labels.append(label);
      }
      lane.levels.forEach((level, depth) => level.ids.forEach((id, at) => this.where.set(id, { lane: index, level: depth, at })));
      top += lane.levels.length * ROW + GAP;
    });
    this.high = top;
    this.canvas.setAttribute("aria-label", `${model.label}. Arrow keys pan, W and S zoom, period and comma step through, F zooms to the selection, 0 shows all.`);
    this.spacer.style.height = `${top}px`;
    this.labels.style.width = `${model.gutter}px`;
    this.scroller.append(this.spacer);
    this.spacer.append(this.canvas, this.overlay, this.labels);
    this.element = h("div", { class: "lanes" }, this.scroller);
    this.scroller.style.maxHeight = `${Math.min(top + 2, TALL)}px`;
    if (top > TALL + ROW) this.element.append(this.grower());
    let onScreen = "";
    addEventListener("beforeprint", () => {
      onScreen = this.scroller.style.maxHeight;
      this.width = Math.min(this.width, PAPER_WIDE);
      this.grow(PAPER_TALL);
    });
    addEventListener("afterprint", () => {
      this.scroller.style.maxHeight = onScreen;
      this.width = Math.floor(this.scroller.clientWidth);
      this.size();
    });
    this.listen();
    onWidth(this.scroller, (width) => {
      this.width = width;
      this.size();
    });
    onTheme(() => {
      this.patterns = { comm: null, copy: null };
      this.repaint();
    });
    this.scroller.addEventListener("scroll", () => this.request());
  }

  /** What says that there is more than is in sight, and shows it. */
  private grower(): HTMLElement {
    const rest = Math.ceil((this.high - TALL) / ROW);
    const made = button(`Scroll for ${rest} more ${rest === 1 ? "row" : "rows"}, or show all`, () => {
      this.grow(MOST_TALL);
      made.remove();
      this.focus();
    }, { class: "lanes-more" });
    return made;
  }

  private grow(most: number): void {
    this.scroller.style.maxHeight = `${Math.max(this.scroller.clientHeight, Math.min(this.high + 2, most))}px`;
    this.size();
  }

  get view(): readonly [number, number] {
    return [this.from, this.to];
  }

  /** Moves the view, within the model's bounds. */
  show(from: number, to: number): void {
    const span = Math.min(this.model.end - this.model.start, Math.max(FLOOR, to - from));
    const middle = (from + to) / 2;
    this.from = Math.max(this.model.start, Math.min(middle - span / 2, this.model.end - span));
    this.to = this.from + span;
    this.request();
    this.onView(this.from, this.to);
  }

  fit(): void {
    this.show(this.model.start, this.model.end);
  }

  /** Zooms to a box with some room around it. */
  zoomTo(id: number, room = 0.15): void {
    const [start, end] = this.extent(id);
    const span = Math.max(end - start, FLOOR);
    this.show(start - span * room, end + span * room);
  }

  extent(id: number): readonly [number, number] {
    const spot = this.where.get(id);
    const level = spot ? this.model.lanes[spot.lane]?.levels[spot.level] : undefined;
    return spot && level ? [level.starts[spot.at] ?? 0, level.ends[spot.at] ?? 0] : [this.model.start, this.model.end];
  }

  laneOf(id: number): LaneLayout | undefined {
    const spot = this.where.get(id);
    return spot ? this.model.lanes[spot.lane] : undefined;
  }

  select(id: number, reveal = true): void {
    this.selected = id;
    if (id >= 0) {
      if (reveal) this.reveal(id);
      announce(this.model.linesOf(id).join(", "));
    }
    this.request();
    this.onSelect(id);
  }

  /** Matches of a search; null = no search. Others are dimmed. */
  match(ids: readonly number[] | null): void {
    this.marked = ids ?? [];
    this.markedSet = ids ? new Set(ids) : null;
    this.request();
  }

  nextMatch(back: boolean): void {
    if (!this.marked.length) return;
    const at = this.marked.indexOf(this.selected);
    const next = back ? (at <= 0 ? this.marked.length : at) - 1 : (at + 1) % this.marked.length;
    this.select(this.marked[next] ?? -1);
    announce(`${next + 1} of ${this.marked.length}: ${this.model.nameOf(this.marked[next] ?? 0)}`);
  }

  focus(): void {
    this.canvas.focus();
  }

  /** Every box that lies in [from, to), lane by lane. */
  each(from: number, to: number, take: (id: number, start: number, end: number, lane: LaneLayout) => void): void {
    for (const lane of this.model.lanes) for (const level of lane.levels) {
      for (let at = firstAfter(level.ends, from); at < level.ids.length && (level.starts[at] ?? 0) < to; at++)
        take(level.ids[at] ?? 0, level.starts[at] ?? 0, level.ends[at] ?? 0, lane);
    }
  }

  /** Moves the window as little as shows the box. */
  private reveal(id: number): void {
    const [start, end] = this.extent(id);
    const span = this.to - this.from;
    if (end - start > span) this.show(start - span * 0.02, start + span * 0.98);
    else if (start < this.from) this.show(start - span * 0.1, start + span * 0.9);
    else if (end > this.to) this.show(end - span * 0.9, end + span * 0.1);
    const spot = this.where.get(id);
    if (!spot) return;
    const top = (this.tops[spot.lane] ?? 0) + spot.level * ROW;
    if (top < this.scroller.scrollTop + HEAD) this.scroller.scrollTop = top - HEAD - ROW;
    else if (top + ROW > this.scroller.scrollTop + this.scroller.clientHeight) this.scroller.scrollTop = top + 2 * ROW - this.scroller.clientHeight;
  }

  private get plane(): number {
    return Math.max(10, this.width - this.model.gutter);
  }

  private px(value: number): number {
    return this.model.gutter + ((value - this.from) / (this.to - this.from)) * this.plane;
  }

  private valueAt(x: number): number {
    return this.from + ((x - this.model.gutter) / this.plane) * (this.to - this.from);
  }

  private size(): void {
    const ratio = devicePixelRatio || 1;
    const high = Math.max(40, this.scroller.clientHeight);
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.width = Math.floor(this.width * ratio);
      canvas.height = Math.floor(high * ratio);
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${high}px`;
    }
    this.overlay.style.marginTop = `${-high}px`;
    this.repaint(); // at once: a canvas that changed its size is empty, and paper waits for no frame
  }

  private repaint(): void {
    this.paint();
    this.paintOverlay();
  }

  private request(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.repaint();
    });
  }

  private pen(canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
    const pen = canvas.getContext("2d");
    const ratio = devicePixelRatio || 1;
    pen?.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen?.clearRect(0, 0, canvas.width, canvas.height);
    return pen;
  }

  private makePatterns(pen: CanvasRenderingContext2D): void {
    const make = (draw: (p: CanvasRenderingContext2D) => void): CanvasPattern | null => {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 6;
      const p = tile.getContext("2d");
      if (!p) return null;
      p.strokeStyle = token("--stripe");
      p.lineWidth = 1.3;
      draw(p);
      return pen.createPattern(tile, "repeat");
    };
    this.patterns = {
      comm: make((p) => { p.beginPath(); p.moveTo(-1, 7); p.lineTo(7, -1); p.stroke(); }),
      copy: make((p) => { p.beginPath(); p.moveTo(0, 3); p.lineTo(6, 3); p.stroke(); }),
    };
  }

  private paint(): void {
    const pen = this.pen(this.canvas);
    if (!pen || !this.width) return;
    if (!this.patterns.comm) this.makePatterns(pen);
    const scroll = this.scroller.scrollTop;
    const bottom = this.scroller.clientHeight;
    const line = token("--line");
    const text = token("--text-2");
    pen.font = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
    pen.textBaseline = "middle";
    this.paintAxis(pen, bottom, line, text);
    pen.save();
    pen.beginPath();
    pen.rect(this.model.gutter, HEAD, this.plane, bottom - HEAD);
    pen.clip();
    this.model.lanes.forEach((lane, index) => {
      const top = (this.tops[index] ?? 0) - scroll;
      if (top > bottom || top + lane.levels.length * ROW < HEAD) return;
      lane.levels.forEach((level, depth) => this.paintLevel(pen, level, top + depth * ROW));
    });
    pen.restore();
  }

  private paintAxis(pen: CanvasRenderingContext2D, bottom: number, line: string, text: string): void {
    const { origin, meaning } = this.model;
    const find = meaning === "bytes" ? byteTicks : ticks;
    pen.textAlign = "center";
    for (const value of find(this.from + origin, this.to + origin, Math.max(2, Math.floor(this.plane / 110)))) {
      const x = Math.round(this.px(value - origin)) + 0.5;
      if (x < this.model.gutter) continue;
      pen.strokeStyle = line;
      pen.beginPath();
      pen.moveTo(x, HEAD - 5);
      pen.lineTo(x, bottom);
      pen.stroke();
      pen.fillStyle = text;
      const label = number(value, meaning);
      const half = pen.measureText(label).width / 2;
      if (x - half > this.model.gutter && x + half < this.width) pen.fillText(label, x, 10);
    }
    pen.textAlign = "left";
  }

  private paintLevel(pen: CanvasRenderingContext2D, level: Level, top: number): void {
    if (top + ROW < HEAD || top > this.scroller.clientHeight) return;
    let drawn = -Infinity; // right edge of the last narrow run
    const high = ROW - 2;
    for (let at = firstAfter(level.ends, this.from); at < level.ids.length; at++) {
      const start = level.starts[at] ?? 0;
      if (start > this.to) break;
      const id = level.ids[at] ?? 0;
      const x0 = Math.max(this.px(start), this.model.gutter - 2);
      const x1 = Math.min(this.px(level.ends[at] ?? 0), this.width + 2);
      const wide = Math.max(x1 - x0, 1);
      const dim = this.markedSet !== null && !this.markedSet.has(id);
      if (wide <= 1.5 && x0 < drawn && dim) continue;
      pen.globalAlpha = dim ? 0.18 : 1;
      pen.fillStyle = this.model.fillOf(id);
      pen.fillRect(x0, top, wide > 3 ? wide - 0.6 : wide, high);
      if (wide <= 1.5) {
        drawn = x0 + 1;
        continue;
      }
      const pattern = this.model.patternOf(id);
      const stripes = pattern ? this.patterns[pattern] : null;
      if (stripes && wide > 5) {
        pen.fillStyle = stripes;
        pen.fillRect(x0, top, wide - 0.6, high);
      }
      if (wide > 26) this.paintName(pen, this.model.nameOf(id), x0, wide, top + high / 2);
    }
    pen.globalAlpha = 1;
  }

  private paintName(pen: CanvasRenderingContext2D, name: string, x: number, wide: number, y: number): void {
    const from = Math.max(x, this.model.gutter);
    const fits = Math.floor((wide - (from - x) - 8) / 6.65);
    if (fits < 3) return;
    pen.fillStyle = token("--on-ink");
    pen.fillText(name.length > fits ? name.slice(0, fits - 1) + "…" : name, from + 4, y + 0.5);
  }

  private paintOverlay(): void {
    const pen = this.pen(this.overlay);
    if (!pen || !this.width) return;
    const outline = (id: number, color: string, wide: number): void => {
      const spot = this.where.get(id);
      if (!spot) return;
      const [start, end] = this.extent(id);
      const x = Math.max(this.px(start), this.model.gutter - 4);
      const x1 = Math.min(this.px(end), this.width + 4);
      const top = (this.tops[spot.lane] ?? 0) + spot.level * ROW - this.scroller.scrollTop;
      if (x1 < this.model.gutter || top < HEAD - ROW) return;
      pen.strokeStyle = color;
      pen.lineWidth = wide;
      pen.strokeRect(x - 0.5, top - 0.5, Math.max(3, x1 - x), ROW - 1);
    };
    if (this.area) {
      pen.fillStyle = token("--area");
      const x = this.px(Math.min(...this.area));
      pen.fillRect(x, 0, this.px(Math.max(...this.area)) - x, this.overlay.height);
    }
    if (this.hover >= 0) outline(this.hover, token("--text"), 1);
    if (this.selected >= 0) {
      this.paintLinks(pen);
      outline(this.selected, token("--accent"), 2.5);
    }
  }

  private paintLinks(pen: CanvasRenderingContext2D): void {
    const anchor = (id: number, end: boolean): [number, number] | null => {
      const spot = this.where.get(id);
      if (!spot) return null;
      const [start, stop] = this.extent(id);
      return [Math.max(this.model.gutter, this.px(end ? stop : start)), (this.tops[spot.lane] ?? 0) + spot.level * ROW + ROW / 2 - this.scroller.scrollTop];
    };
    pen.strokeStyle = token("--accent");
    pen.lineWidth = 1.5;
    for (const other of this.model.linksOf(this.selected)) {
      const forward = this.extent(other)[0] >= this.extent(this.selected)[0];
      const a = anchor(forward ? this.selected : other, false);
      const b = anchor(forward ? other : this.selected, false);
      if (!a || !b) continue;
      const bend = Math.max(20, Math.abs(b[0] - a[0]) / 2);
      pen.beginPath();
      pen.moveTo(a[0], a[1]);
      pen.bezierCurveTo(a[0] + bend, a[1], b[0] - bend, b[1], b[0], b[1]);
      pen.stroke();
    }
  }

  /** The box under a point of the canvas, or the nearest within 3 px; -1 = none. */
  private hit(x: number, y: number): number {
    const inside = y + this.scroller.scrollTop;
    if (x < this.model.gutter || y < HEAD) return -1;
    for (let index = 0; index < this.model.lanes.length; index++) {
      const lane = this.model.lanes[index];
      const top = this.tops[index] ?? 0;
      const depth = Math.floor((inside - top) / ROW);
      const level = lane && inside >= top ? lane.levels[depth] : undefined;
      if (!level) continue;
      const value = this.valueAt(x);
      const near = (3 * (this.to - this.from)) / this.plane;
      const at = firstAfter(level.ends, value - near);
      let best = -1;
      let least = near;
      for (let i = at; i < level.ids.length && i < at + 16; i++) {
        const start = level.starts[i] ?? 0;
        const end = level.ends[i] ?? 0;
        const away = value < start ? start - value : value > end ? value - end : 0;
        if (away < least || (away === 0 && best < 0)) {
          least = away;
          best = level.ids[i] ?? -1;
        }
        if (away === 0) break;
      }
      return best;
    }
    return -1;
  }

  private zoom(factor: number, around: number): void {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  private listen(): void {
    const points = new Map<number, { x: number; y: number }>();
    let moved = false;
    let pinch = 0;
    let areaFrom = 0;
    const place = (event: PointerEvent | MouseEvent): { x: number; y: number } => {
      const box = this.canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      const at = place(event);
      this.canvas.setPointerCapture(event.pointerId);
      points.set(event.pointerId, at);
      moved = false;
      pinch = 0;
      areaFrom = this.valueAt(at.x);
      if (event.shiftKey) this.area = [areaFrom, areaFrom];
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const at = place(event);
      const before = points.get(event.pointerId);
      if (!before) {
        this.point(at, event);
        return;
      }
      hideTip();
      points.set(event.pointerId, at);
      if (points.size === 2) {
        const [a, b] = [...points.values()];
        if (!a || !b) return;
        const apart = Math.abs(a.x - b.x) + 1;
        if (pinch) this.zoom(pinch / apart, this.valueAt((a.x + b.x) / 2));
        pinch = apart;
        moved = true;
      } else if (this.area) {
        this.area = [areaFrom, this.valueAt(at.x)];
        moved = true;
        this.request();
      } else if (moved || Math.abs(at.x - before.x) > 3) {
        const by = ((before.x - at.x) / this.plane) * (this.to - this.from);
        moved = true;
        this.show(this.from + by, this.to + by);
      } else {
        points.set(event.pointerId, before);
      }
    });
    const up = (event: PointerEvent): void => {
      const at = points.get(event.pointerId);
      points.delete(event.pointerId);
      if (this.area && moved) this.onArea(Math.min(...this.area), Math.max(...this.area));
      else if (at && !moved && event.type === "pointerup") this.click(this.hit(at.x, at.y));
      if (this.area && !moved) this.area = null;
    };
    this.canvas.addEventListener("pointerup", up);
    this.canvas.addEventListener("pointercancel", up);
    this.canvas.addEventListener("pointerleave", () => {
      this.hover = -1;
      hideTip();
      this.request();
    });
    this.canvas.addEventListener("dblclick", (event) => {
      const at = place(event);
      const id = this.hit(at.x, at.y);
      if (id >= 0) this.zoomTo(id);
    });
    this.canvas.addEventListener("wheel", (event) => {
      const at = place(event);
      if (event.ctrlKey || event.metaKey) {
        this.zoom(Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY * 0.004))), this.valueAt(at.x));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const by = (((event.deltaX || event.deltaY) * 1.2) / this.plane) * (this.to - this.from);
        this.show(this.from + by, this.to + by);
      } else {
        return;
      }
      event.preventDefault();
    }, { passive: false });
    this.canvas.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && this.key(event.key, event.shiftKey)) event.preventDefault();
    });
  }

  private point(at: { x: number; y: number }, event: PointerEvent): void {
    const id = this.hit(at.x, at.y);
    if (id !== this.hover) {
      this.hover = id;
      requestAnimationFrame(() => this.paintOverlay());
    }
    if (id >= 0) showTip(event.clientX, event.clientY, this.model.linesOf(id));
    else hideTip();
  }

  private click(id: number): void {
    this.select(id, false);
    if (id >= 0 && this.model.zoomOnClick) this.zoomTo(id, 0);
  }

  private step(back: boolean): number {
    const spot = this.where.get(this.selected);
    if (!spot) {
      let first = -1;
      this.each(this.from, this.to, (id) => (first = first < 0 ? id : first));
      return first;
    }
    const ids = this.model.lanes[spot.lane]?.levels[spot.level]?.ids;
    return ids?.[spot.at + (back ? -1 : 1)] ?? this.selected;
  }

  /** The box above or below the selection that overlaps it. */
  private across(by: number): number {
    const spot = this.where.get(this.selected);
    if (!spot) return this.step(false);
    const [start, end] = this.extent(this.selected);
    let lane = spot.lane;
    let depth = spot.level + by;
    for (let tries = 0; tries < 200; tries++) {
      const levels = this.model.lanes[lane]?.levels;
      if (!levels) return this.selected;
      if (depth < 0 || depth >= levels.length) {
        lane += by;
        depth = by < 0 ? (this.model.lanes[lane]?.levels.length ?? 0) - 1 : 0;
        continue;
      }
      const level = levels[depth];
      const at = level ? firstAfter(level.ends, (start + end) / 2) : 0;
      const near = level && at < level.ids.length ? at : (level?.ids.length ?? 0) - 1;
      if (level && near >= 0 && (this.model.zoomOnClick !== true || (level.starts[near] ?? 0) < end)) return level.ids[near] ?? this.selected;
      depth += by;
    }
    return this.selected;
  }

  private key(key: string, shift: boolean): boolean {
    const middle = (this.from + this.to) / 2;
    const span = this.to - this.from;
    const links = this.selected >= 0 ? this.model.linksOf(this.selected) : [];
    switch (key) {
      case "w": case "W": case "+": case "=": this.zoom(0.7, middle); return true;
      case "s": case "S": case "-": this.zoom(1 / 0.7, middle); return true;
      case "a": case "ArrowLeft": case "h": this.show(this.from - span * 0.15, this.to - span * 0.15); return true;
      case "d": case "ArrowRight": case "l": this.show(this.from + span * 0.15, this.to + span * 0.15); return true;
      case "0": this.fit(); return true;
      case "f": if (this.selected >= 0) this.zoomTo(this.selected); return true;
      case ".": this.select(this.step(false)); return true;
      case ",": this.select(this.step(true)); return true;
      case "ArrowDown": case "j": this.select(this.across(1)); return true;
      case "ArrowUp": case "k": this.select(this.across(-1)); return true;
      case "]": if (links.length) this.select(links[links.length - 1] ?? -1); return true;
      case "[": if (links.length) this.select(links[0] ?? -1); return true;
      case "Enter": this.nextMatch(shift); return this.marked.length > 0;
      case "/": this.onSearch(); return true;
      case "Escape":
        this.area = null;
        this.select(-1);
        return true;
      default: return false;
    }
  }
}

/** Index of the first value after `bound` in an ascending array. */
export function firstAfter(values: Float64Array, bound: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] ?? 0) > bound) high = middle;
    else low = middle + 1;
  }
  return low;
}
