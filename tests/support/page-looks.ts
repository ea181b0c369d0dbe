import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";

/** A phone, text of twice its size in a window of 640 px, and a desk. */
const [PHONE, MAGNIFIED, DESK] = [360, 320, 1440];

/** WCAG 2.2 AA for text of normal size. */
const LEAST_CONTRAST = 4.5;
const LEAST_TEXT_PX = 11;
const AXE = readFileSync(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const AXE_OPTIONS = {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  rules: { "target-size": { enabled: true }, "color-contrast": { enabled: false } },
  resultTypes: ["violations"],
};

/**
 * What is wrong with a page's looks: at each width as it is, then with every disclosure open on a phone and, in the dark, on a desk:
 * a layout does not depend on colours. Each entry begins with `name`; `isPhone`: only on a phone. Contrast is only checked by `paleTexts`,
 * which is stricter and faster than axe-core; in the dark nothing else differs.
 */
export async function wrongLooks(page: Page, name: string, isPhone = false): Promise<string[]> {
  const before = page.viewportSize() ?? { width: DESK, height: 800 };
  const show = (width: number): Promise<void> => page.setViewportSize({ ...before, width });
  const wrongs: string[] = [];
  const scrolls = (overflow: number, width: number, what = ""): void => {
    if (overflow > 0) wrongs.push(`scrolls ${overflow} px sideways at ${width} px${what}`);
  };
  for (const width of isPhone ? [PHONE, MAGNIFIED] : [PHONE, MAGNIFIED, DESK]) {
    await show(width);
    scrolls(await sidewaysScroll(page), width);
  }
  for (const [width, colorScheme] of [
    [DESK, "dark"],
    [PHONE, "light"],
  ] as const) {
    if (isPhone && width === DESK) continue;
    await show(width);
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const opened = await page.evaluate<{ overflow: number; texts: string[]; kinds: string[] }>(OPENED);
    scrolls(opened.overflow, width, " with everything open");
    wrongs.push(...opened.texts);
    const kinds = newOf(opened.kinds);
    if (kinds.length > 0) wrongs.push(...(await axeViolations(page, kinds)));
  }
  await page.setViewportSize(before);
  return wrongs.map((wrong) => `${name}: ${wrong}`);
}

/** How many pixels a page scrolls sideways. */
export async function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate(OVERFLOW);
}

/** The same as an expression to evaluate in a page. */
export const OVERFLOW =
  "Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)";

/** How far a page's parts moved while it loaded (cumulative layout shift). */
export async function layoutShift(page: Page): Promise<number> {
  return page.evaluate(`new Promise((done) => {
    let shift = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => (shift += entry.value))).observe({
      type: "layout-shift",
      buffered: true,
    });
    setTimeout(() => done(shift), 50);
  })`);
}

/** The kinds of elements that axe-core has examined in this process. */
const examined = new Set<string>();

/** The kinds of elements, and orders of headings, that no earlier page had: axe-core would find nothing else. */
function newOf(kinds: readonly string[]): string[] {
  const fresh = kinds.filter((kind) => !examined.has(kind));
  for (const kind of fresh) examined.add(kind);
  return fresh;
}

/**
 * An element by what the rules judge: its parent, its attributes, whether the elements that it refers to exist, and whether it is
 * empty. Numbers in a class are shades, and no rule reads the text of a slider.
 */
const KIND = `((each) => {
  const isThere = (ids) => ids.split(" ").every((id) => id === "" || document.getElementById(id) !== null);
  const own = ({ name, value }) =>
    name === "for" || /^aria-(?:labelledby|describedby|controls|owns)$/u.test(name) ? name + isThere(value)
      : name === "id" ? name + document.querySelectorAll("#" + CSS.escape(value)).length
      : name === "class" ? name + "=" + value.replace(/\\d+/gu, "0")
      : /^(?:role|type|scope|tabindex|autocomplete|lang|aria-(?!label|valuetext).*)$/u.test(name) ? name + "=" + value
      : name;
  return [each.parentElement?.localName, each.localName, ...[...each.attributes].map(own), each.textContent.trim() === ""].join(" ");
})`;
const THEN = " then ";
const KINDS = `(() => {
  const headings = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")]
    .filter((each) => each.checkVisibility())
    .map(({ localName }) => localName);
  const orders = headings.map((level, index) => [headings[index - 1], level].join("${THEN}"));
  return [...new Set([...[...document.querySelectorAll("*")].map(${KIND}), ...orders])];
})()`;

/**
 * What axe-core finds against WCAG 2.2 AA and its best practices, of any impact, with the first element of each: in elements of these
 * kinds, or in the whole page if an order of headings is among them, as it is on the first page.
 */
async function axeViolations(page: Page, kinds: readonly string[]): Promise<string[]> {
  const isWhole = kinds.some((kind) => kind.includes(THEN));
  await page.evaluate(AXE);
  return page.evaluate(
    `(async () => {
      const kinds = new Set(${JSON.stringify(kinds)});
      const isNew = (each) => kinds.has(${KIND}(each));
      const include = ${isWhole} ? document : [...document.querySelectorAll("*")].filter(isNew);
      return axe.run(include, ${JSON.stringify(AXE_OPTIONS)});
    })().then(({ violations }) =>
      violations.map(({ id, nodes }) => id + " at " + nodes.length + ": " + nodes[0].target + " " + nodes[0].failureSummary))`,
  );
}

/** Texts with too little contrast to their background, by element. */
export async function paleTexts(page: Page): Promise<string[]> {
  return page.evaluate(PALE_TEXTS);
}

const PALE_TEXTS = `(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgb = (colour) => {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      known.set(colour, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(colour);
  };
  const luminance = ([red, green, blue]) =>
    [red, green, blue]
      .map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
      .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const knownBehind = new Map();
  const behind = (element) => {
    if (!knownBehind.has(element)) {
      const colour = rgb(getComputedStyle(element).backgroundColor);
      const isOwn = colour[3] > 0 || element.parentElement === null;
      knownBehind.set(element, isOwn ? colour : behind(element.parentElement));
    }
    return knownBehind.get(element);
  };
  const pale = new Set();
  const walker = document.createTreeWalker(document.querySelector("body"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.textContent.trim() === "" || element.closest("svg") !== null) continue;
    if (!element.checkVisibility()) continue;
    const [one, other] = [rgb(getComputedStyle(element).color), behind(element)].map(luminance);
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < ${LEAST_CONTRAST}) pale.add(element.tagName + "." + element.className + " " + contrast.toFixed(2));
  }
  return [...pale];
})()`;

/** Texts of charts that are too small to be read. */
const SMALL_TEXTS = `[...document.querySelectorAll("svg text")]
  .map((text) => [text.getBoundingClientRect().height, text.textContent])
  .filter(([height]) => height > 0 && height < ${LEAST_TEXT_PX})
  .map(([height, text]) => "the text " + text + " is " + height + " px high")`;

/**
 * Opens every disclosure at once, also those of one group, and examines the page after its scripts have handled that: all in one
 * evaluation, since each round trip to the browser takes longer than the work. In the dark no kinds are returned.
 */
const OPENED = `(async () => {
  document.querySelectorAll("details").forEach((each) => { each.removeAttribute("name"); each.open = true; });
  await new Promise((done) => setTimeout(done));
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  return { overflow: ${OVERFLOW}, texts: [...${PALE_TEXTS}, ...${SMALL_TEXTS}], kinds: isDark ? [] : ${KINDS} };
})()`;

/** One stop of the Tab key: its role and name, and whether its focus is visible. */
export type FocusStop = { name: string; isMarked: boolean };

/** Every stop of the Tab key, from the top of a page until the focus leaves it. */
export async function focusStops(page: Page): Promise<FocusStop[]> {
  const stops: FocusStop[] = [];
  for (;;) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate<FocusStop | "same" | null>(FOCUSED);
    if (stop === null) return stops;
    if (stop !== "same") stops.push(stop);
  }
}

const FOCUSED = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return null;
  // A control of several parts is one stop.
  if (element.dataset.focusStop === "last") return "same";
  if (element.dataset.focusStop !== undefined) return null;
  for (const before of document.querySelectorAll("[data-focus-stop]")) before.dataset.focusStop = "";
  element.dataset.focusStop = "last";
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const { top, bottom, left, right } = element.getBoundingClientRect();
  const isInView = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
  const labelledBy = document.getElementById(element.getAttribute("aria-labelledby") ?? "");
  const name = element.ariaLabel ?? (labelledBy ?? element.labels?.[0] ?? element).textContent;
  const kind = element.matches("a") ? "link" : element.matches("[role=group]") ? "region" : element.localName;
  return {
    name: kind + " " + name.replace(/\\s+/g, " ").trim(),
    isMarked: isInView && outlineStyle !== "none" && parseFloat(outlineWidth) >= 2,
  };
})()`;
