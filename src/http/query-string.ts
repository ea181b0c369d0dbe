import type { RawInput } from "../contract/input.ts";

/**
 * Splits the query of a URL into raw parameters. `+` is a blank. Repeated names and values that are not percent-encoded UTF-8 are
 * reported, not refused: the endpoint decides whether a name is known. A name that cannot be decoded is kept as sent. `given`:
 * parameters already in the path.
 */
export function parseQueryString(url: string, given: readonly [string, string][] = []): RawInput {
  const values = new Map<string, unknown>(given);
  const refusals = new Map<string, string>();
  const start = url.indexOf("?");
  if (start === -1) return { values, refusals };
  const malformed: string[] = [];
  for (const pair of url.slice(start + 1).split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const rawName = equals === -1 ? pair : pair.slice(0, equals);
    const name = decode(rawName) ?? rawName;
    const value = equals === -1 ? "" : decode(pair.slice(equals + 1));
    if (value === null) malformed.push(name);
    if (values.has(name)) refusals.set(name, `${name} must be given once only.`);
    else values.set(name, value);
  }
  for (const name of malformed) refusals.set(name, `${name} must be percent-encoded UTF-8.`);
  return { values, refusals };
}

const PLAIN = /^[\w.:~-]*$/u;

/** null = no percent-encoded UTF-8. */
function decode(text: string): string | null {
  if (PLAIN.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return null;
  }
}
