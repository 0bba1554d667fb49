// Making elements. Text goes in as text, never as markup: there is no innerHTML in this bundle.

type Child = Node | string | null | undefined | false;
type Attributes = { readonly [name: string]: string | number | boolean | null | undefined };

function fill(element: Element, attributes: Attributes, children: readonly Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child) element.append(child);
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

export function button(label: string, action: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const made = h("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", action);
  return made;
}

export function copyButton(text: string, label = "Copy", what = text.slice(0, 120)): HTMLButtonElement {
  const made = button(label, () => {
    void copy(text).then((done) => {
      made.textContent = done ? "Copied" : "Select and copy";
      setTimeout(() => (made.textContent = label), 1500);
    });
  }, { class: "copy", "aria-label": `${label}: ${what}` });
  return made;
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "offscreen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy"); // pages from disk in some browsers have no clipboard
    area.remove();
    return done;
  }
}

/** A command with its copy button. */
export function command(text: string): HTMLElement {
  return h("div", { class: "command" }, h("code", {}, text), copyButton(text));
}

/** Calls `draw` with the element's width, now and whenever that changes. */
export function onWidth(element: HTMLElement, draw: (width: number) => void): void {
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      draw(width);
    }
  }).observe(element);
}

/** Runs when the page's colours change: dark and light, printing. */
export function onTheme(redraw: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  matchMedia("print").addEventListener("change", redraw);
  document.addEventListener("nl-theme", redraw);
}

/** The value of a design token. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const live = h("div", { class: "offscreen", role: "status", "aria-live": "polite" });

/** Says something to screen readers. */
export function announce(text: string): void {
  if (!live.isConnected) document.body.append(live);
  live.textContent = text;
}

const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });

export function showTip(x: number, y: number, lines: readonly string[]): void {
  if (!tip.isConnected) document.body.append(tip);
  tip.replaceChildren(...lines.map((line, index) => h("div", index ? {} : { class: "tip-head" }, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width > innerWidth ? x - box.width - 10 : x + 14;
  const top = y + 16 + box.height > innerHeight ? y - box.height - 10 : y + 16;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

export function hideTip(): void {
  tip.hidden = true;
}
