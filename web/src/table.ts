// A table that can be sorted by any column and filtered by text: a real <table>, so that it prints, copies and reads.

import type { Cell, Column, Row } from "./data";
import { h, copyButton } from "./dom";
import { meaningOf, number } from "./format";

export interface TableOptions {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly caption: string;
  readonly first?: number; // rows shown before "all"
  readonly filter?: boolean;
  readonly facets?: boolean; // a choice for each column with few different words
}

const FIRST = 12;
const LONG = 66;
const PRINTED = 9; // columns that fit on paper (page.css)

/** A kernel's name without what all of them have: return type, arguments, ATen's namespaces. */
export function bareName(text: string): string {
  const prefix = /^[a-z ]+: (?=void )/.exec(text)?.[0] ?? "";
  let name = text.slice(prefix.length).replace(/^void (?=\S)/, "");
  const kernel = name.length < text.length - prefix.length || /[\w>]<.*>/.test(name);
  if (!kernel) return text;
  name = name.replace(/\bat::native::(\(anonymous namespace\)::)?/g, "");
  if (!name.endsWith(")")) return prefix + name;
  let depth = 0;
  for (let at = name.length - 1; at > 0; at--) {
    depth += name[at] === ")" ? 1 : name[at] === "(" ? -1 : 0;
    if (!depth) return prefix + (/[\w>]/.test(name[at - 1] ?? "") ? name.slice(0, at) : name);
  }
  return prefix + name;
}

/** Long names lose their middle: what tells kernels apart is often at the end. The title and the CSV have all of it. */
export function elide(text: string): string {
  if (text.length <= LONG && !text.startsWith("void ")) return text;
  const bare = bareName(text);
  return bare.length <= LONG ? bare : `${bare.slice(0, 44)}…${bare.slice(-21)}`;
}

/** A name beside a bar: names that begin alike keep the end that tells them apart. */
export function labelOf(text: string): string {
  const bare = bareName(text);
  return bare.length <= 36 ? bare : `${bare.slice(0, 22)}…${bare.slice(-13)}`;
}

/** A table of one row: each value under its name. Null when it has too few columns to gain from it. */
export function facts(columns: readonly Column[], row: Row, caption: string): HTMLElement | null {
  const known = columnsOf(columns, [row]);
  if (known.length < 5) return null;
  return h("div", { class: "table" }, h("dl", { class: "facts wide", "aria-label": caption }, ...known.map((column) => {
    const text = cellText(row[column.name], meaningIn(row, column));
    return h("div", text.length > 40 ? { class: "long-fact" } : {}, h("dt", {}, headOf(column)), h("dd", { title: String(row[column.name]) }, text));
  })), h("div", { class: "table-tools" }, copyButton(csv(columns, [row]), "Copy as CSV", caption)));
}

function isNumeric(column: Column, rows: readonly Row[]): boolean {
  for (const row of rows) {
    const value = row[column.name];
    if (value !== null && value !== undefined) return typeof value === "number" && column.meaning !== "id";
  }
  return false;
}

/** PyTorch's numbers of kinds of devices (c10/core/DeviceType.h), as far as allocations have them. */
const DEVICE_TYPES: readonly (readonly [number, string])[] = [[0, "CPU"], [1, "CUDA"], [6, "HIP"], [9, "XLA"], [12, "XPU"], [13, "MPS"], [15, "HPU"], [19, "MTIA"]];

function cellText(value: Cell | undefined, meaning: string | null): string {
  if (value === null || value === undefined) return "–";
  if (meaning === "device type") return DEVICE_TYPES.find(([one]) => one === value)?.[1] ?? String(value);
  if (typeof value === "number") return number(value, meaning);
  const text = String(value);
  if (/^[0-9a-f]{32}$/.test(text)) return text.slice(0, 8); // an id: as `ls` writes it
  return text.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(\.\d+)?Z$/, "$1 $2");
}

const MEASURED = new Set(["value", "before", "after", "base", "new"]);
const UNITS: { readonly [unit: string]: string } = { ns: "ns", bytes: "bytes", B: "bytes", share: "share", Hz: "Hz", "FLOP/s": "FLOP/s", "bytes/s": "bytes/s" };

/** Where a row has its unit in a column, its values are written with it. */
function meaningIn(row: Row, column: Column): string | null {
  if (column.name === "device_type") return "device type";
  const unit = row["unit"];
  const known = MEASURED.has(column.name) && typeof unit === "string" ? UNITS[unit] : undefined;
  return known ?? column.meaning ?? meaningOf(column.name);
}

/** Columns that have a value; not the unit where values are written with it. */
function columnsOf(given: readonly Column[], rows: readonly Row[]): readonly Column[] {
  const written = rows.every((row) => !row["unit"] || String(row["unit"]) in UNITS);
  return given.filter((column) => rows.some((row) => row[column.name] !== null && row[column.name] !== undefined) && !(written && column.name === "unit" && given.some((other) => MEASURED.has(other.name))));
}

function headOf(column: Column): string {
  return (column.head ?? column.name).replace(/_ns$|_bytes$/, "").replace(/_share$/, " share").replace(/_/g, " ");
}

/** The words of a cell that holds a list. */
function wordsOf(value: Cell | undefined): readonly string[] {
  return typeof value === "string" ? value.split(/,\s*/).filter(Boolean) : [];
}

function compare(a: Cell | undefined, b: Cell | undefined): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}

function csv(columns: readonly Column[], rows: readonly Row[]): string {
  const quote = (value: Cell | undefined): string => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  const lines = [columns.map((column) => quote(column.name)).join(",")];
  for (const row of rows) lines.push(columns.map((column) => quote(row[column.name])).join(","));
  return lines.join("\n") + "\n";
}

export function table(options: TableOptions): HTMLElement {
  const columns = columnsOf(options.columns, options.rows);
  const absent = options.columns.filter((column) => !columns.includes(column) && column.name !== "unit");
  if (columns.length < 2 && absent.length > 2 && options.rows.length) return h("p", { class: "note" }, `Not known: ${absent.map(headOf).join(", ")}.`);
  const numeric = columns.map((column) => isNumeric(column, options.rows));
  const largest = columns.map((column, index) =>
    numeric[index] && (column.meaning ?? meaningOf(column.name)) === "share" ? 1 : 0);
  const first = options.first ?? FIRST;
  const body = h("tbody");
  const more = h("button", { type: "button", class: "more" });
  const status = h("span", { class: "status", role: "status" });
  let shown: readonly Row[] = options.rows;
  let all = false;
  let sorted = -1;
  let descending = true;
  let words = "";
  const chosen = new Map<string, string>();

  const draw = (): void => {
    const visible = all ? shown : shown.slice(0, first);
    body.replaceChildren(...visible.map((row) => h("tr", {}, ...columns.map((column, index) => {
      const value = row[column.name];
      const written = column.name === "unit" && typeof value === "string" && value in UNITS && columns.some((other) => MEASURED.has(other.name));
      const text = written ? "" : cellText(value, meaningIn(row, column)); // the unit stands with the values
      const cell = h("td", { class: numeric[index] ? "number" : column.meaning === "id" ? "text id" : text.length <= 20 ? "text short" : "text" });
      if (largest[index] && typeof value === "number" && value >= 0.002) {
        const bar = h("span", { class: "cell-bar", "aria-hidden": "true" });
        bar.style.width = `${Math.max(0, Math.min(1, value)) * 100}%`;
        cell.append(bar);
      }
      // Only names of files beside this page become links: a name from elsewhere cannot lead anywhere else.
      if (column.name === "page" && typeof value === "string" && /^[0-9a-f][\w.-]*\.html$/.test(value)) {
        cell.append(h("a", { href: value }, "open"));
        return cell;
      }
      const short = elide(text);
      cell.append(h("span", short !== String(value) && typeof value === "string" ? { class: short === text ? "" : "long", title: value } : {}, short));
      return cell;
    }))));
    more.hidden = shown.length <= first;
    more.textContent = all ? `Show the first ${first}` : `Show all ${shown.length} rows`;
    status.textContent = words || chosen.size ? `${shown.length} of ${options.rows.length} rows match` : "";
  };

  const choose = (): void => {
    const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
    const found = options.rows.filter((row) => {
      const text = columns.map((column) => cellText(row[column.name], meaningIn(row, column))).join(" ").toLowerCase();
      return parts.every((part) => text.includes(part)) && [...chosen].every(([name, word]) => wordsOf(row[name]).includes(word));
    });
    const column = columns[sorted];
    shown = column ? [...found].sort((a, b) => {
      const order = compare(a[column.name], b[column.name]);
      const unknown = a[column.name] === null || b[column.name] === null;
      return descending && !unknown ? -order : order;
    }) : found;
    draw();
  };

  const heads = columns.map((column, index) => {
    const sort = h("button", { type: "button" }, headOf(column), h("span", { class: "arrow", "aria-hidden": "true" }));
    const head = h("th", { scope: "col", class: numeric[index] ? "number" : "text", "aria-sort": "none" }, sort);
    sort.addEventListener("click", () => {
      descending = sorted === index ? !descending : numeric[index] === true;
      sorted = index;
      heads.forEach((other, at) => other.setAttribute("aria-sort", at === sorted ? (descending ? "descending" : "ascending") : "none"));
      choose();
    });
    return head;
  });
  more.addEventListener("click", () => {
    all = !all;
    draw();
  });
  const tools = h("div", { class: "table-tools" });
  if (options.filter !== false && (options.rows.length > 8 || options.facets)) {
    const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": `Filter: ${options.caption}` });
    filter.addEventListener("input", () => {
      words = filter.value;
      all = words !== "" || all;
      choose();
    });
    tools.append(filter);
  }
  if (options.facets) for (const column of columns) {
    const found = [...new Set(options.rows.flatMap((row) => wordsOf(row[column.name])))].sort();
    if (typeof options.rows.find((row) => row[column.name])?.[column.name] !== "string" || ["page", "id", "added"].includes(column.name) || found.length < 2 || found.length > 40 || found.length > options.rows.length * 0.7) continue;
    const choice = h("select", {}, h("option", { value: "" }, "all"), ...found.map((word) => h("option", { value: word }, word)));
    choice.addEventListener("change", () => {
      if (choice.value) chosen.set(column.name, choice.value);
      else chosen.delete(column.name);
      choose();
    });
    tools.append(h("label", {}, `${headOf(column)} `, choice));
  }
  tools.append(status, copyButton(csv(columns, options.rows), "Copy as CSV", options.caption));
  choose();
  return h("div", { class: "table" }, tools,
    h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": options.caption },
      h("table", {}, h("caption", { class: "offscreen" }, options.caption), h("thead", {}, h("tr", {}, ...heads)), body)),
    columns.length > PRINTED ? h("p", { class: "note on-paper" }, `${columns.length - PRINTED} more ${columns.length - PRINTED === 1 ? "column is" : "columns are"} on the page.`) : null,
    more);
}
