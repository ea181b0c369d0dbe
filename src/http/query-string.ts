import type { RawParameters } from "../admission/operation.ts";
import { invalidRequest } from "../contract/errors.ts";

/**
 * Splits the query of a URL into raw parameters. `+` is a blank; percent-encoding must be well-formed UTF-8, else
 * `invalid_request` names the parameter. Repeated names are reported, not judged: unknown ones are ignored.
 */
export function parseQueryString(url: string): RawParameters {
  const values = new Map<string, unknown>();
  const repeated = new Set<string>();
  const start = url.indexOf("?");
  if (start === -1) return { values, repeated };
  for (const pair of url.slice(start + 1).split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals === -1 ? pair : pair.slice(0, equals), "A parameter name");
    const value = equals === -1 ? "" : decode(pair.slice(equals + 1), name);
    if (values.has(name)) repeated.add(name);
    else values.set(name, value);
  }
  return { values, repeated };
}

function decode(text: string, name: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    const isPlainName = /^[\w.-]{1,64}$/u.test(name);
    throw invalidRequest(`${isPlainName ? name : "A parameter"} must be percent-encoded UTF-8.`);
  }
}
