import { placesOf, type Place } from "./html-places.ts";

const text: unique symbol = Symbol("text");

/** Markup that only the tag `html` creates: its values are escaped. */
export type Html = { readonly [text]: string };

/** The allowed values in a template. null, undefined and false show nothing; an array shows its members. */
export type HtmlValue = string | number | Html | null | undefined | false | readonly HtmlValue[];

/** The positions in each template of the code, determined once. */
const known = new WeakMap<TemplateStringsArray, Place[]>();

/**
 * Creates markup from a template. Every value is escaped, except markup from this tag. An attribute takes only text; an address
 * that is not http(s), mailto or of this service becomes "about:invalid". Among attributes only templates of attributes are
 * allowed: `<b${isNew && html` hidden`}>`. Throws `TypeError` for a value that does not fit its position.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let places = known.get(strings);
  if (places === undefined) known.set(strings, (places = placesOf(strings)));
  let markup = strings[0] as string;
  for (const [index, value] of values.entries()) {
    markup += write(value, places[index] as Place) + (strings[index + 1] as string);
  }
  return { [text]: markup };
}

/** The text of a whole document or of a part. */
export function renderHtml(markup: Html): string {
  return markup[text];
}

function write(value: HtmlValue, place: Place): string {
  if (place === "address") return write(isAddress(value) ? value : "about:invalid", "attribute");
  if (place !== "nowhere") {
    if (place !== "attributes" && typeof value === "string") return escapeHtml(value);
    if (value === null || value === undefined || value === false || value === "") return "";
    if (isList(value)) return value.map((member) => write(member, place)).join("");
    if (place !== "attribute" && isMarkup(value)) return value[text];
    if (place !== "attributes" && typeof value === "number") return String(value);
  }
  throw new TypeError(`A template takes no ${typeof value} in this place (${place}).`);
}

/** Any other scheme, such as javascript:, may run a program; characters before a scheme would hide it. */
function isAddress(value: HtmlValue): boolean {
  return typeof value === "string" && /^(?:https?:|mailto:|[/#?])/iu.test(value);
}

function isList(value: HtmlValue): value is readonly HtmlValue[] {
  return Array.isArray(value);
}

function isMarkup(value: HtmlValue): value is Html {
  return typeof (value as Html)[text] === "string";
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const ENTITIES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(ESCAPES).map(([character, entity]) => [entity, character]),
);

/** Reverses this file's escaping. */
export function unescapeHtml(value: string): string {
  return value.replaceAll(/&(?:amp|lt|gt|quot|#39);/gu, (entity) => ENTITIES[entity] ?? "");
}

function escapeHtml(value: string): string {
  // Most values need nothing, and a test is faster than a replacement.
  if (!/[&<>"']/u.test(value)) return value;
  return value.replaceAll(/[&<>"']/gu, (character) => ESCAPES[character] as string);
}
