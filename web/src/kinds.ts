// Colours of slices and frames: hues by what they are, lightness by name, so that neighbours differ.

import { h, onTheme, token } from "./dom";

// Codes as the page's data have them: kinds of slices, 32 (NL_PAGE_CLASS) + class for kernels and copies, both as src/store/enums.def
// numbers them; lint looks for those that are missing.
const CLASSES: { readonly [code: number]: string } = { 32: "compute", 33: "compute", 34: "comm", 35: "copy", 36: "memset", 37: "idle" };
const KINDS: { readonly [code: number]: string } = {
  1: "compute", 2: "copy", 3: "memset", 4: "idle", 5: "copy", 6: "host", 7: "warm", 8: "host", 9: "good", 10: "good",
  11: "comm", 12: "compute", 13: "bad", 14: "bad", 15: "memset", 16: "idle", 17: "idle", 18: "host", 19: "idle", 20: "compute", 21: "idle", 22: "host", 23: "host",
};
export const KIND_NAMES: { readonly [code: number]: string } = {
  1: "kernel", 2: "copy", 3: "memset", 4: "synchronisation", 5: "API call", 6: "operator", 7: "module", 8: "Python", 9: "range", 10: "GPU annotation",
  11: "collective", 12: "graph launch", 13: "garbage collection", 14: "compilation", 15: "allocation", 16: "overhead", 17: "OS call", 18: "library",
  19: "scheduling", 20: "device work", 21: "mark", 22: "slice", 23: "range of a capture", 32: "kernel", 33: "compute kernel", 34: "communication kernel", 35: "copy", 36: "memset",
  37: "waiting kernel",
};

export function inkName(code: number): string {
  return CLASSES[code] ?? KINDS[code] ?? "host";
}

export function patternOf(code: number): "comm" | "copy" | null {
  const ink = inkName(code);
  return ink === "comm" ? "comm" : code === 35 || code === 2 ? "copy" : null;
}

function hash(text: string): number {
  let value = 2166136261;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 16777619);
  return (value >>> 8) / 0x1000000;
}

function mix(color: string, toward: string, part: number): string {
  const read = (text: string): number[] => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const a = read(color);
  const b = read(toward);
  return `#${a.map((value, index) => Math.round(value + ((b[index] ?? value) - value) * part).toString(16).padStart(2, "0")).join("")}`;
}

const cache = new Map<string, string>();
let listening = false;

/** A colour for a name of that kind, in the theme that is on. */
export function colorOf(code: number, name: string): string {
  const key = `${code} ${name}`;
  const known = cache.get(key);
  if (known) return known;
  if (!listening) {
    listening = true;
    onTheme(() => cache.clear());
  }
  const base = token(`--ink-${inkName(code)}`) || "#888888";
  const made = mix(base, token("--shade") || "#000000", hash(name) * 0.3);
  cache.set(key, made);
  return made;
}

/** What the colours of these kinds mean, kinds of one colour and pattern together. */
export function kindLegend(codes: Iterable<number>): HTMLElement {
  const groups = new Map<string, { code: number; names: Set<string> }>();
  for (const code of [...new Set(codes)].sort((a, b) => a - b)) {
    if (!KIND_NAMES[code]) continue; // frames of samples, names of threads
    const key = `${inkName(code)} ${patternOf(code) ?? ""}`;
    const group = groups.get(key) ?? { code, names: new Set<string>() };
    group.names.add(KIND_NAMES[code] ?? "");
    groups.set(key, group);
  }
  return h("div", { class: "legend" }, ...[...groups.values()].map(({ code, names }) => {
    const pattern = patternOf(code);
    const key = h("i", { class: pattern ? `key fill-${pattern}` : "key", "aria-hidden": "true" });
    if (!pattern) key.style.background = `var(--ink-${inkName(code)})`;
    return h("span", {}, key, [...names].join(", "));
  }));
}

/** Blue where it got shorter, orange where longer, grey where it did not change; `part` from -1 to 1. */
export function changeColor(part: number): string {
  const bounded = Math.max(-1, Math.min(1, part));
  const grey = token("--ink-idle") || "#888888";
  return mix(grey, token(bounded > 0 ? "--ink-bad" : "--ink-good") || "#888888", Math.min(1, Math.abs(bounded) * 1.6));
}
