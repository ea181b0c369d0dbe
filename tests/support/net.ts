import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { elementsIn, readMarkup, textsIn, type MarkupElement } from "./markup.ts";

/** Snapshots of what people see and scripts read, without what varies from run to run. */

const FOLDER = join(import.meta.dirname, "../net");
const SHOWN_LINES = 6;

/** Fails at the first line that differs; UPDATE_SNAPSHOT=1 writes the file, and git shows every difference. */
export function matchSnapshot(name: string, text: string): void {
  const file = join(FOLDER, name);
  if (process.env["UPDATE_SNAPSHOT"] === "1") {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const expected = readFileSync(file, "utf8");
  if (text === expected) return;
  const [is, was] = [text.split("\n"), expected.split("\n")];
  const first = is.findIndex((line, index) => line !== was[index]);
  const from = first === -1 ? is.length : first;
  const shown = (lines: string[]): string =>
    lines.slice(Math.max(0, from - 2), from + SHOWN_LINES).join("\n");
  assert.fail(
    `tests/net/${name}:${from + 1} differs. Is:\n${shown(is)}\nWas:\n${shown(was)}\n` +
      "When that is meant: UPDATE_SNAPSHOT=1 npm test -- net- console-rights",
  );
}

/** The steps of a test, one a line. */
export function readLines(name: string): string[] {
  return readFileSync(join(FOLDER, name), "utf8").trimEnd().split("\n");
}

/** The files of a folder, sorted. */
export function snapshotsIn(folder: string): string[] {
  return readdirSync(join(FOLDER, folder)).toSorted();
}

/** Later days in texts come from the clock: tests themselves only use earlier ones. */
const LAST_FIXED_DAY = "2026-07-31";
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const ISO = /(?<day>\b\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?/gu;
const WORDS = /(?<date>\d{1,2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4})(?:, \d\d:\d\d(?: UTC)?)?/gu;

/** Replaces variable parts with a word; those of one kind are numbered in the order of the text. */
export function withoutVarying(text: string): string {
  const numbers = new Map<string, number>();
  const numbered = (kind: string, value: string): string => {
    const known = [...numbers.keys()].filter((key) => key.startsWith(`${kind} `));
    const key = `${kind} ${value}`;
    if (!numbers.has(key)) numbers.set(key, known.length + 1);
    return `<${kind} ${numbers.get(key)}>`;
  };
  return text
    .replaceAll(/rta_live_[0-9A-Za-z]{65}/gu, (token) => numbered("token", token))
    .replaceAll(/whsec_[\w+/]+=*/gu, "<signing secret>")
    .replaceAll(/(?<=#)[\w-]{43}\b/gu, "<link secret>")
    .replaceAll(/(?<=\?link=|%3Flink%3D)[\w-]{43}/gu, "<link name>")
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gu, (id) => numbered("uuid", id))
    .replaceAll(/(?<=rta_live_|\b)0{8}[0-9A-Za-z]{8}\b/gu, (id) => numbered("token id", id))
    .replaceAll(/\b(?:shop|org)_[0-9a-f]{24}\b/gu, (id) => numbered("id", id))
    .replaceAll(/(?<="(?:bytes|rows|requests)": )\d+/gu, "<count>")
    .replaceAll(/\d+ rows of/gu, "<count> rows of")
    .replaceAll(/(?<=127\.0\.0\.1:|localhost:)\d+/gu, "<port>")
    .replaceAll(/\/tmp\/[\w/.-]+/gu, "<folder>")
    .replaceAll(ISO, (whole, day: string) => (day > LAST_FIXED_DAY ? "<now>" : whole))
    .replaceAll(WORDS, (whole, date: string, month: string, year: string) => {
      const monthNumber = String(MONTHS.indexOf(month) + 1).padStart(2, "0");
      return `${year}-${monthNumber}-${date.padStart(2, "0")}` > LAST_FIXED_DAY ? "<now>" : whole;
    });
}

/** A page as lines, one for each element; `hasFrame`: with its header and navigation. */
export function pageLines(markup: string, hasFrame: boolean): string[] {
  const root = readMarkup(
    markup
      .replace(/^.*?(?=<title>)/su, "<page>")
      .replace(/<\/html>\s*$/u, "</page>")
      .replace("</head>", ""),
  );
  const title = elementsIn(root).find(({ name }) => name === "title");
  const body = elementsIn(root).find(({ name }) => name === "body");
  if (title === undefined || body === undefined) return [markup];
  return [`title ${textOf(title)}`, ...body.children.flatMap((child) => linesOf(child, 0, hasFrame))];
}

/** If a row, heading or link contains only text, the text is on the same line. */
function linesOf(node: MarkupElement | string, depth: number, hasFrame: boolean): string[] {
  const indent = " ".repeat(depth);
  if (typeof node === "string") {
    const text = node.replaceAll(/\s+/gu, " ").trim();
    return text === "" ? [] : [`${indent}| ${text}`];
  }
  const { name, attributes, children } = node;
  const { class: classes = "" } = attributes;
  if (name === "script" || (name === "ul" && classes === "list")) return [];
  if (!hasFrame && (classes === "top" || classes === "side" || classes === "skip")) return [];
  const named = Object.entries(attributes)
    .filter(([key]) => !LEFT_OUT.has(key))
    .map(([key, value]) => [key, key === "href" ? decoded(value) : value])
    .map(([key, value]) => (value === "" ? ` ${key}` : ` ${key}=${JSON.stringify(value)}`))
    .join("");
  const start = `${indent}${name}${named}`;
  if (name === "svg") return [`${start} ${textOf(node)}`.trimEnd()];
  if (name === "tr" && elementsIn(node).every((each) => CELLS.has(each.name) || INLINE.has(each.name))) {
    const cells = elementsIn(node).filter((each) => CELLS.has(each.name));
    return [`${start} | ${cells.map(textOf).join(" | ")}`];
  }
  if (elementsIn(node).every((each) => INLINE.has(each.name))) return [`${start} ${textOf(node)}`.trimEnd()];
  return [start, ...children.flatMap((child) => linesOf(child, depth + 1, hasFrame))];
}

const LEFT_OUT = new Set(["viewBox", "width", "height", "data-readout", "data-from"]);
const CELLS = new Set(["td", "th"]);
/** Inline elements, whose text belongs to the surrounding sentence. */
const INLINE = new Set("abbr b br code data del em small span strong svg text time title tspan".split(" "));

function decoded(address: string): string {
  return address
    .replaceAll(/(?:%[0-9A-F]{2})+/gu, (escaped) => decodeURIComponent(escaped))
    .replaceAll(/\s+/gu, " ");
}

function textOf(element: MarkupElement): string {
  return textsIn(element)
    .map((text) => text.replaceAll(/\s+/gu, " ").trim())
    .filter((text) => text !== "")
    .join(" ");
}
