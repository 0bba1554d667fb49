// Numbers as the command line writes them (src/base/units.c, src/view/celltext.c): the same words on every surface.

const THIN = "\u202f";

/** A sentence of the answer: no line ends between a number and its unit, or "GPU" and its number. */
export function sentence(text: string): string {
  return text.replace(/(\d) (?=(?:%|[nµm]?s|min|h|(?:[KMGTP]i?)?B(?:\/s)?|[KMGTPE]?FLOP\/s|[kMG]?Hz|[mk]?[WJ])(?![\w%]))/g, `$1${THIN}`)
    .replace(/\b(GPU|rank|step) (?=\d)/g, "$1\u00a0");
}

function digits(value: number, unit: string): string {
  const size = Math.abs(value);
  const places = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  return `${value.toFixed(places)}${THIN}${unit}`;
}

export function ns(value: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return "–";
  if (size < 1000) return `${Math.round(value)}${THIN}ns`;
  if (size < 1e6) return digits(value / 1e3, "µs");
  if (size < 1e9) return digits(value / 1e6, "ms");
  if (size < 120e9) return digits(value / 1e9, "s");
  const seconds = Math.round(size / 1e9);
  const sign = value < 0 ? "-" : "";
  if (seconds < 7200) return `${sign}${Math.floor(seconds / 60)}${THIN}min ${seconds % 60}${THIN}s`;
  return `${sign}${Math.floor(seconds / 3600)}${THIN}h ${Math.floor((seconds % 3600) / 60)}${THIN}min`;
}

export function bytes(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  let size = value;
  while (Math.abs(size) >= 1024 && at < units.length - 1) {
    size /= 1024;
    at++;
  }
  return at ? digits(size, units[at] ?? "") : `${Math.round(size)}${THIN}B`;
}

export function count(value: number): string {
  if (!Number.isFinite(value)) return "–";
  return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function share(value: number): string {
  return Number.isFinite(value) ? `${(value * 100).toFixed(1)}${THIN}%` : "–";
}

function scaled(value: number, unit: string): string {
  const steps = ["", "K", "M", "G", "T", "P", "E"];
  let at = 0;
  let size = value;
  while (Math.abs(size) >= 1000 && at < steps.length - 1) {
    size /= 1000;
    at++;
  }
  return digits(size, `${steps[at] ?? ""}${unit}`);
}

export function plain(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return count(value);
  return Number(value.toPrecision(4)).toString();
}

/** A number by what it means (nl_markup_meaning); "signed" meanings show + and -. */
export function number(value: number, meaning: string | null): string {
  switch (meaning) {
    case "ns": return ns(value);
    case "change_ns": return (value > 0 ? "+" : "") + ns(value);
    case "bytes": return bytes(value);
    case "share": return share(value);
    case "change_share": return (value > 0 ? "+" : "") + share(value);
    case "count": return count(value);
    case "samples": return `${count(value)}${THIN}${Math.round(value) === 1 ? "sample" : "samples"}`;
    case "bytes/s": return scaled(value, "B/s");
    case "FLOP/s": return scaled(value, "FLOP/s");
    case "Hz": return scaled(value, "Hz");
    case "id": return String(value);
    default: return plain(value);
  }
}

/** A column's meaning by its name, for tables whose columns are not described. */
export function meaningOf(column: string): string | null {
  if (/_ns$/.test(column)) return "ns";
  if (/_bytes$|^bytes$/.test(column)) return "bytes";
  if (/(_|^)share$/.test(column)) return "share";
  if (/bytes_per_s$/.test(column)) return "bytes/s";
  if (/flops_per_s$/.test(column)) return "FLOP/s";
  if (/^(count|kernels|copies|gaps|launches|rows)$/.test(column)) return "count";
  return null;
}

/** Round numbers that divide a range, at most `most` of them. */
export function ticks(least: number, largest: number, most: number): number[] {
  const span = largest - least;
  if (!(span > 0) || most < 1) return [least];
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? power * 10;
  const found: number[] = [];
  for (let at = Math.ceil(least / step) * step; at <= largest + step * 1e-9; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

/** The same for bytes: powers of two. */
export function byteTicks(least: number, largest: number, most: number): number[] {
  const span = largest - least;
  if (!(span > 0)) return [least];
  const step = 2 ** Math.ceil(Math.log2(span / most));
  const found: number[] = [];
  for (let at = Math.ceil(least / step) * step; at <= largest; at += step) found.push(at);
  return found;
}

const TIME_UNITS: readonly (readonly [number, string])[] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

/** The numbers of an axis in one unit, with no more digits than tell them apart: 0, 50 ms, 100 ms. */
export function tickTexts(values: readonly number[], meaning: string | null): string[] {
  const most = values.reduce((a, value) => Math.max(a, Math.abs(value)), 0);
  let size = 1;
  let unit = "";
  if (meaning === "ns" || meaning === "change_ns") {
    if (most >= 7200e9) return values.map((value) => number(value, meaning));
    [size, unit] = TIME_UNITS.find(([one]) => most >= one) ?? [1, "ns"];
  } else if (meaning === "share" || meaning === "change_share") {
    [size, unit] = [0.01, "%"];
  } else if (meaning === "bytes") {
    const power = Math.min(5, Math.floor(Math.log2(Math.max(1, most)) / 10));
    [size, unit] = [1024 ** power, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][power] ?? "B"];
  } else if (meaning === "bytes/s" || meaning === "FLOP/s" || meaning === "Hz") {
    const power = Math.max(0, Math.min(6, Math.floor(Math.log10(Math.max(1, most)) / 3)));
    [size, unit] = [1000 ** power, `${["", "K", "M", "G", "T", "P", "E"][power] ?? ""}${meaning === "bytes/s" ? "B/s" : meaning}`];
  } else {
    return values.map((value) => number(value, meaning));
  }
  const scaledValues = values.map((value) => value / size);
  const places = [0, 1, 2, 3].find((digits) => scaledValues.every((value) => Math.abs(Number(value.toFixed(digits)) - value) <= Math.abs(value) * 1e-6 + 1e-12)) ?? 3;
  return scaledValues.map((value) => (value === 0 ? "0" : `${value.toFixed(places)}${THIN}${unit}`));
}

/** The numbers of a logarithmic axis: each in its own unit, without zeros behind the point. */
export function logTickText(value: number, meaning: string | null): string {
  return number(value, meaning).replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
}
