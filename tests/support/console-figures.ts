import assert from "node:assert/strict";
import { leavesOf } from "./json-leaves.ts";
import type { Leaf } from "./json-leaves.ts";
import { elementsIn, readMarkup, textsIn } from "./markup.ts";
import type { MarkupElement } from "./markup.ts";

/** A page with the API's answers to the requests that its API box lists, by the names of the requests. */
export type AnsweredPage = { page: MarkupElement; answers: ReadonlyMap<string, Map<string, Leaf>> };

/** Asks the API for a path with its query, with a token; returns the bytes as text. */
export type AskApi = (path: string) => Promise<string>;

/** Reads a page, and asks for each request that it lists. */
export async function answerPage(text: string, ask: AskApi): Promise<AnsweredPage> {
  const page = readMarkup(text);
  const listed = elementsIn(page).filter(({ attributes }) => attributes["data-request"] !== undefined);
  const answers = new Map<string, Map<string, Leaf>>();
  for (const { attributes } of listed) {
    const name = attributes["data-request"] as string;
    assert.ok(!answers.has(name), `two requests are called ${name}`);
    answers.set(name, leavesOf(await ask(attributes["data-path"] ?? "")));
  }
  return { page, answers };
}

/** Every figure of the page; `from` = where it says that it comes from. */
export function figuresOf(page: MarkupElement): { from: string; value: string; shown: string }[] {
  return elementsIn(page)
    .filter(({ name }) => name === "data")
    .map((element) => ({
      from: element.attributes["data-from"] ?? "",
      value: element.attributes["value"] ?? "",
      shown: textsIn(element).join("").replaceAll(/\s+/gu, " ").trim(),
    }));
}

/** Every figure has the API's value, byte for byte, and what people read is that value, rounded at most. */
export function assertFigures({ page, answers }: AnsweredPage): void {
  for (const { from, value, shown } of figuresOf(page)) {
    const [name = "", ...steps] = from.split("/");
    const answer = answers.get(name) ?? assert.fail(`${from}: the page lists no request ${name}`);
    const path = steps[0] === "meta" ? steps.join("/") : ["data", ...steps].join("/");
    const leaf =
      answer.get(path) ?? absentLeaf(answer, path) ?? assert.fail(`${from}: the API has no such value`);
    const exact = typeof leaf.value === "string" ? leaf.value : leaf.source;
    assert.equal(value, exact, from);
    if (typeof leaf.value === "number") assertShown(shown, leaf.value, from);
    if (leaf.value === null) assert.match(shown, /^– \S/u, `${from}: absent, with its reason`);
  }
}

/** The path leads into something that the API has as null. */
function absentLeaf(answer: ReadonlyMap<string, Leaf>, path: string): Leaf | undefined {
  const steps = path.split("/");
  const above = steps.map((_, index) => answer.get(steps.slice(0, index).join("/")));
  return above.find((leaf) => leaf?.value === null);
}

const NUMBER =
  /^(?<sign>[−+±-]?)(?:[A-Z]{2,3} ?|[€£$¥])?(?<digits>[\d,]+(?:\.(?<decimals>\d+))?) ?(?<unit>%|points|days?|months?|units?)?$/u;
/** These are percentages in the API as well. */
const WHOLE_PERCENT = /\/cogs_coverage$/u;
const RATE = /(?:rate|low|high|share|share_\w+|level|_change|rate_change\/\w+|\/p)$/u;

/** What is shown is the number, to the decimals that are shown; words in place of it are for zeros and tiny chances, and bounds for almost none and almost all. */
function assertShown(shown: string, value: number, from: string): void {
  const groups = NUMBER.exec(shown)?.groups;
  if (groups === undefined) {
    const isTiny = shown === "less than 0.01 %" && value < 0.0001;
    const isBounded =
      (shown === "< 0.1 %" && value > 0 && value < 0.0005001) ||
      (shown === "> 99.9 %" && value < 1 && value > 0.9994999);
    const isNothing = value === 0 && /^(?:– nothing was sold|no day is complete yet)$/u.test(shown);
    assert.ok(isTiny || isBounded || isNothing, `${from}: ${value} is shown as ${shown}`);
    return;
  }
  const { sign = "", digits = "", decimals = "" } = groups;
  const isHundredfold = RATE.test(from) && !WHOLE_PERCENT.test(from);
  const expected = isHundredfold ? value * 100 : value;
  const number = Number(digits.replaceAll(",", "")) * (/[−-]/u.test(sign) ? -1 : 1);
  // A rate is rounded from its units, which its six decimals are nearly.
  const half = 0.5 * 10 ** -decimals.length + (isHundredfold ? 0.5001e-4 : 1e-9);
  assert.ok(Math.abs(number - expected) <= half, `${from}: ${value} is shown as ${shown}`);
}

/** Figures that are no answer of the API: rules of the service, and choices of a form. */
const KNOWN_WORDS: readonly RegExp[] = [
  // The level of every interval is a rule (M12).
  /95 % interval/gu,
  // The threshold of early warnings is a rule (M17).
  /warning [^.]{0,30}0\.1 %/gu,
];

/** Nothing but figures, drawings, choices, written requests and the API's own texts looks like a rate or an amount. */
export function assertNothingElse({ page, answers }: AnsweredPage): void {
  const isNoFigure = ({ name, attributes }: MarkupElement): boolean =>
    ["data", "svg", "option", "title"].includes(name) || attributes["class"] === "api-box";
  const leaves = [...answers.values()].flatMap((answer) => [...answer.values()]);
  const ofApi = new Set(leaves.map(({ value }) => value));
  const own = textsIn(page, isNoFigure).filter((text) => !ofApi.has(text.trim()));
  const words = KNOWN_WORDS.reduce((text, known) => text.replaceAll(known, ""), own.join(" "));
  const found = /.{0,40}(?:\d\s*%|[€£$¥]\s*\d|\d\s*points|\d[.,]\d).{0,20}/u.exec(words)?.[0];
  assert.equal(found, undefined, `“${found}” is written past figure()`);
}

/** The requests of a report's tabs, by their names. */
const REPORTS = new Set(["report", "curves", "breakdown", "outcomes", "bridge"]);

/**
 * The API's leaves below `data` of the pages' reports that none of the pages shows: none of their figures has their path. What
 * `isExcepted` names is left out.
 */
export function missingLeaves(
  pages: readonly AnsweredPage[],
  isExcepted: (path: string, leaf: Leaf) => boolean,
): string[] {
  const figures = pages.flatMap(({ page }) => figuresOf(page));
  const shown = new Set(figures.map(({ from }) => from.slice(from.indexOf("/") + 1)));
  const reports = pages.flatMap(({ answers }) => [...answers].filter(([name]) => REPORTS.has(name)));
  const leaves = reports.flatMap(([, answer]) => [...answer]);
  return leaves.flatMap(([whole, leaf]) => {
    const path = whole.slice("data/".length);
    return !whole.startsWith("data/") || isShown(shown, path) || isExcepted(path, leaf) ? [] : [path];
  });
}

/** A figure shows it, or shows a null in its place: part of what would be there. */
function isShown(shown: ReadonlySet<string>, path: string): boolean {
  return shown.has(path) || shown.has(`${path}/low`);
}
