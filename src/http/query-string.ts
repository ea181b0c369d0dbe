import type { RawParameters } from "../admission/operation.ts";

/**
 * Splits the query of a URL into raw parameters. `+` is a blank. Names given more than once and values that are no
 * percent-encoded UTF-8 are reported, not judged: those of unknown parameters are ignored. A name that cannot be read
 * is nobody's.
 */
export function parseQueryString(url: string): RawParameters {
  const values = new Map<string, unknown>();
  const repeated = new Set<string>();
  const malformed = new Set<string>();
  const start = url.indexOf("?");
  if (start === -1) return { values, repeated, malformed };
  for (const pair of url.slice(start + 1).split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    if (name === null) continue;
    const value = equals === -1 ? "" : decode(pair.slice(equals + 1));
    if (value === null) malformed.add(name);
    if (values.has(name)) repeated.add(name);
    else values.set(name, value);
  }
  return { values, repeated, malformed };
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
