const text: unique symbol = Symbol("text");

/** Markup that only the tag `html` makes: what was a value in it is escaped. */
export type Html = { readonly [text]: string };

/** What a place in a template takes. null, undefined and false show nothing; an array shows its members. */
export type HtmlValue = string | number | Html | null | undefined | false | readonly HtmlValue[];

/**
 * Makes markup from a template. Every value is escaped for text and for quoted attributes, but markup made by this tag.
 * There is no way to pass text through: `npm run lint` refuses an unquoted attribute.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let markup = strings[0] as string;
  for (const [index, value] of values.entries()) markup += markupOf(value) + (strings[index + 1] as string);
  return { [text]: markup };
}

/** The text of a whole document or of a part of one. */
export function renderHtml(markup: Html): string {
  return markup[text];
}

function markupOf(value: HtmlValue): string {
  if (typeof value === "string") return escapeHtml(value);
  if (typeof value === "number") return String(value);
  if (value === null || value === undefined || value === false) return "";
  if (isList(value)) return value.map(markupOf).join("");
  return value[text];
}

function isList(value: Html | readonly HtmlValue[]): value is readonly HtmlValue[] {
  return Array.isArray(value);
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(value: string): string {
  return value.replaceAll(/[&<>"']/gu, (character) => ESCAPES[character] as string);
}
