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
}

const FIRST = 12;
const LONG = 66;

/** Long names lose their middle: what tells kernels apart is often at the end. The title and the CSV have all of it. */
export function elide(text: string): string {
  const bare = text.replace(/^void (?=\S)/, "");
  return bare.length <= LONG ? bare : `${bare.slice(0, 40)}…${bare.slice(-25)}`;
}

function isNumeric(column: Column, rows: readonly Row[]): boolean {
  for (const row of rows) {
    const value = row[column.name];
    if (value !== null && value !== undefined) return typeof value === "number" && column.meaning !== "id";
  }
  return false;
}

function cellText(value: Cell | undefined, meaning: string | null): string {
  if (value === null || value === undefined) return "–";
  return typeof value === "number" ? number(value, meaning) : String(value);
}

function headOf(column: Column): string {
  return (column.head ?? column.name.replace(/_ns$|_bytes$/, "").replace(/_share$/, " share")).replace(/_/g, " ");
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
  const known = options.columns.filter((column) => options.rows.some((row) => row[column.name] !== null && row[column.name] !== undefined));
  const columns = known.map((column) => ({ ...column, meaning: column.meaning ?? meaningOf(column.name) }));
  const numeric = columns.map((column) => isNumeric(column, options.rows));
  const largest = columns.map((column, index) =>
    numeric[index] && column.meaning === "share" ? 1 : 0);
  const first = options.first ?? FIRST;
  const body = h("tbody");
  const more = h("button", { type: "button", class: "more" });
  const status = h("span", { class: "status", role: "status" });
  let shown: readonly Row[] = options.rows;
  let all = false;
  let sorted = -1;
  let descending = true;
  let words = "";

  const draw = (): void => {
    const visible = all ? shown : shown.slice(0, first);
    body.replaceChildren(...visible.map((row) => h("tr", {}, ...columns.map((column, index) => {
      const value = row[column.name];
      const text = cellText(value, column.meaning);
      const cell = h("td", { class: numeric[index] ? "number" : "text" });
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
      cell.append(h("span", text.length > LONG ? { class: "long", title: text } : {}, elide(text)));
      return cell;
    }))));
    more.hidden = shown.length <= first;
    more.textContent = all ? `Show the first ${first}` : `Show all ${shown.length} rows`;
    status.textContent = words ? `${shown.length} of ${options.rows.length} rows match` : "";
  };

  const choose = (): void => {
    const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
    const found = options.rows.filter((row) => {
      const text = columns.map((column) => cellText(row[column.name], column.meaning)).join(" ").toLowerCase();
      return parts.every((part) => text.includes(part));
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
  if (options.filter !== false && options.rows.length > 8) {
    const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": `Filter: ${options.caption}` });
    filter.addEventListener("input", () => {
      words = filter.value;
      all = words !== "" || all;
      choose();
    });
    tools.append(filter);
  }
  tools.append(status, copyButton(csv(columns, options.rows), "Copy as CSV", options.caption));
  choose();
  return h("div", { class: "table" }, tools,
    h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": options.caption },
      h("table", {}, h("caption", { class: "offscreen" }, options.caption), h("thead", {}, h("tr", {}, ...heads)), body)),
    more);
}
