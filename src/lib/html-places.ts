/**
 * The position of a value in a template of the tag `html`: in text, in a quoted attribute, at the start of one that holds an
 * address, or among the attributes of an element. "nowhere" allows no value.
 */
export type Place = "text" | "attribute" | "address" | "attributes" | "nowhere";

const VALUE = "\0";
const ADDRESSES: ReadonlySet<string> = new Set(["action", "formaction", "href", "poster", "src"]);
/** A value in one of these would be a program, a style sheet, a document or a list of addresses. */
const REFUSED = /^(?:on.*|style|srcdoc|srcset)$/iu;

// oxlint-disable-next-line house/linear-patterns -- sees templates of this project alone
const OPAQUE = /<!--.*?-->|<(script|style)\b[^>]*>.*?<\/\1>/gisu;
// oxlint-disable-next-line house/linear-patterns -- sees templates of this project alone
const TAG = /<[/!a-z](?:[^"'>]|"[^"]*"|'[^']*')*>/giu;
// oxlint-disable-next-line house/linear-patterns -- sees templates of this project alone
const OPEN_OPAQUE = /<!--|<(?:script|style)\b(?:[^"'>]|"[^"]*"|'[^']*')*>/iu;

/** The place behind each part of a template: of the value that follows it, and of the template's end. */
export function placesOf(parts: readonly string[]): Place[] {
  let before = holdsAttributes(parts) ? "<a" : "";
  return parts.map((part) => {
    const place = placeAfter(before + part);
    before += part + VALUE;
    return place;
  });
}

/** Whether a template holds attributes for an element of another one: ` hidden` or ` lang="en"`, a blank first. */
export function holdsAttributes(parts: readonly string[]): boolean {
  const [first = ""] = parts;
  return /^(?:\s+[\w:-]+)+="/u.test(first) || (parts.length === 1 && /^(?:\s+[\w:-]+)+$/u.test(first));
}

/** Whether an attribute of a template has a value without double quotes. */
export function hasUnquotedAttribute(parts: readonly string[]): boolean {
  const markup =
    (holdsAttributes(parts) ? "<a" : "") + parts.join(VALUE) + (holdsAttributes(parts) ? ">" : "");
  const tags = markup.replaceAll(OPAQUE, "").match(TAG) ?? [];
  return tags.some((tag) => tag.replaceAll(/="[^"]*"/gu, "").includes("="));
}

function placeAfter(before: string): Place {
  const clear = before.replaceAll(OPAQUE, "");
  if (OPEN_OPAQUE.test(clear)) return "nowhere";
  const tag = /<[/!a-z\0].*$/isu.exec(clear.replaceAll(TAG, ""))?.[0];
  if (tag === undefined) return before.endsWith("<") ? "nowhere" : "text";
  const open = tag.replaceAll(/="[^"]*"/gu, "");
  if (!/[="']/u.test(open)) return "attributes";
  const [, name, given] = /\s([\w:-]+)="([^"]*)$/u.exec(open) ?? [];
  if (name === undefined || REFUSED.test(name)) return "nowhere";
  return given === "" && ADDRESSES.has(name.toLowerCase()) ? "address" : "attribute";
}
