// The two documents of a page: the answer (what `--format json` prints) and what only pictures need.

export type Cell = string | number | boolean | null;
export type Row = { readonly [column: string]: Cell };

export interface Column {
  readonly name: string;
  readonly head: string | null;
  readonly meaning: string | null;
}

export interface Section {
  readonly name: string;
  readonly title: string;
  readonly note: string | null;
  readonly rows: number;
  readonly columns: readonly Column[];
}

export interface Example {
  readonly lane: string;
  readonly start_ns: number;
  readonly dur_ns: number | null;
  readonly name: string;
}

export interface Evidence {
  readonly metric: string;
  readonly value: number | null;
  readonly threshold: string | null;
  readonly says: string | null;
  readonly query: string | null;
  readonly examples: readonly Example[];
}

export interface Finding {
  readonly id: string;
  readonly cause: string;
  readonly title: string;
  readonly severity: string;
  readonly confidence: number;
  readonly explained_by: string | null; // a finding above that has most of the same time
  readonly cost_ns: number | null;
  readonly cost_share: number | null;
  readonly saving_ns: readonly (number | null)[];
  readonly scope: Row & { steps?: Cell };
  readonly evidence: readonly Evidence[];
  readonly not_this_if: string | null;
  readonly suggestions: readonly { readonly do: string; readonly why: string; readonly verify: string }[];
  readonly needs: readonly { readonly missing: string; readonly why: string; readonly record: string }[];
}

export interface Profile {
  readonly files: readonly Row[];
  readonly formats: readonly string[];
  readonly tools: readonly string[];
  readonly ranks: readonly number[];
  readonly devices: readonly Row[];
  readonly duration_ns: number;
  readonly slices: number;
  readonly window: Row | null;
}

export interface Answer {
  readonly schema: string;
  readonly profile: Profile | null;
  readonly coverage: { readonly items: readonly Row[] } | null;
  readonly base?: { readonly profile: Profile };
  readonly result: { readonly [name: string]: unknown };
}

export interface Lane {
  readonly label: string;
  readonly kind: string | null;
  readonly rank: number | null;
  readonly device: number | null;
  readonly pid: number | null;
  readonly host: boolean;
  readonly t: readonly number[]; // starts: each from the one before
  readonly d: readonly number[];
  readonly n: readonly number[];
  readonly y?: readonly number[];
  readonly l: readonly number[];
}

export interface Timeline {
  readonly start_ns: number;
  readonly dur_ns: number;
  readonly reason: string;
  readonly slices: number;
  readonly left_out: number;
  readonly least_ns: number;
  readonly lanes_left_out: number;
  readonly lanes: readonly Lane[];
  readonly names: readonly string[];
  readonly kinds: readonly number[];
}

export interface Flame {
  readonly name: string;
  readonly title: string;
  readonly meaning: string;
  readonly total: number;
  readonly left_out: number;
  readonly names: readonly string[];
  readonly nodes: {
    readonly name: readonly number[];
    readonly parent: readonly number[];
    readonly total: readonly number[];
    readonly self: readonly number[];
    readonly kind: readonly number[];
    readonly base?: readonly number[];
  };
}

export interface RankSteps {
  readonly rank: number | null;
  readonly method: string;
  readonly index: readonly number[];
  readonly start: readonly number[];
  readonly dur: readonly number[];
  readonly phase: readonly number[];
}

export interface BusyDevice {
  readonly rank: number | null;
  readonly device: number | null;
  readonly compute: readonly number[];
  readonly comm: readonly number[];
  readonly copy: readonly number[];
}

export interface Kernel {
  readonly name: string;
  readonly count: number;
  readonly total_ns: number;
  readonly min_ns: number;
  readonly median_ns: number;
  readonly p95_ns: number;
  readonly max_ns: number;
  readonly first_bin: number;
  readonly bins: readonly number[];
}

export interface MemorySeries {
  readonly rank: number | null;
  readonly device_type: number | null;
  readonly device: number | null;
  readonly kind: string;
  readonly what: string;
  readonly t: readonly number[];
  readonly v: readonly number[];
}

export interface CounterSeries {
  readonly name: string;
  readonly unit: string;
  readonly lane: string;
  readonly t: readonly number[];
  readonly v: readonly number[];
}

/** What the user's template adds (report --template). */
export interface Own {
  readonly logo: string | null;
  readonly front: string | null;
  readonly hide: readonly string[];
  readonly sections: readonly { readonly name: string; readonly text: string | null; readonly draw: string }[];
}

export interface Page {
  readonly schema: string;
  readonly kind: string;
  readonly title: string;
  readonly version: string;
  readonly command: string | null;
  readonly sections?: readonly Section[];
  readonly timeline?: Timeline | null;
  readonly steps?: { readonly joined: number; readonly ranks: readonly RankSteps[] };
  readonly busy?: { readonly start_ns: number; readonly dur_ns: number; readonly devices: readonly BusyDevice[] };
  readonly kernels?: readonly Kernel[];
  readonly memory?: readonly MemorySeries[];
  readonly counters?: readonly CounterSeries[];
  readonly counter_series?: number;
  readonly flames?: readonly Flame[];
  readonly contents?: { readonly count: number; readonly what: string; readonly slices: boolean; readonly span_ns: number };
  readonly pair?: { readonly a: { readonly dur: readonly number[] }; readonly b: { readonly dur: readonly number[] } };
  readonly own?: Own;
}

/** The document of that id, or null where the page has none. */
export function readDocument<T>(id: string): T | null {
  const text = document.getElementById(id)?.textContent;
  return text ? (JSON.parse(text) as T) : null;
}

/** The rows of a table of the answer; none where it has no such table. */
export function rowsOf(answer: Answer | null, name: string): readonly Row[] {
  const value = answer?.result[name];
  return Array.isArray(value) ? (value as Row[]) : [];
}

export function numberOf(row: Row, column: string): number {
  const value = row[column];
  return typeof value === "number" ? value : NaN;
}

export function textOf(row: Row, column: string): string {
  const value = row[column];
  return value === null || value === undefined ? "" : String(value);
}

/** "rank 3 · GPU 0"; what is not known is left out. */
export function placeOf(rank: number | null | undefined, device: number | null | undefined): string {
  const parts: string[] = [];
  if (rank !== null && rank !== undefined) parts.push(`rank ${rank}`);
  if (device !== null && device !== undefined) parts.push(`GPU ${device}`);
  return parts.join(" · ") || "device";
}
