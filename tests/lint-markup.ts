import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A file that breaks exactly one rule, and the rule's name. */
export type Seed = { title: string; file: string; source: string; code: string };

/** A file that makes markup of a text and a condition. */
const fileOf = (template: string): string =>
  `import { html } from "../lib/html.ts";\nexport const make = (a: string, b: boolean): unknown => [b, html\`${template}\`];\n`;

const REFUSED: readonly (readonly [title: string, template: string])[] = [
  ["an attribute without quotes", "<b title=${a}></b>"],
  ["an attribute in single quotes", "<b title='a'>${a}</b>"],
  ["a value as the name of an element", "<${a}></b>"],
  ["a value as the name of an attribute", '<b ${a}="b"></b>'],
  ["a value that may be no attributes", "<b ${b ? html` hidden` : a}></b>"],
  ["a value in a script", "<script>${a}</script>"],
  ["a value in a style sheet", "<style>${a}</style>"],
  ["a value in a comment", "<!-- ${a} -->"],
  ["a value as an event handler", '<b onclick="${a}"></b>'],
  ["a template that ends inside a tag", '<b title="${a}"'],
];

export const markupSeeds: readonly Seed[] = REFUSED.map(([title, template]) => ({
  title: `in markup, ${title}`,
  file: `src/console/${title.replaceAll(" ", "-")}.ts`,
  source: fileOf(template),
  code: "house(html-places)",
}));

/** What the rule reads, what the seeds import, and a neighbour that keeps the rule. */
export const markupFiles: Readonly<Record<string, string>> = {
  "src/console/markup.ts": fileOf(
    '<a href="${a}"${b && html` class="${a}"`}${b ? html` hidden` : null}>${a}</a><script src="/a"></script>',
  ),
  "src/lib/html.ts":
    "export const html = (parts: TemplateStringsArray, ...values: unknown[]): unknown => [parts, values];\n",
  "src/lib/html-places.ts": readFileSync(
    join(import.meta.dirname, "..", "src", "lib", "html-places.ts"),
    "utf8",
  ),
};
