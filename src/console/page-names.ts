import type { Endpoint } from "../contract/endpoint.ts";
import { invalidParameters, REST_WORDS } from "../contract/errors.ts";
import { ALIASES, SHARED_PARAMETERS } from "../contract/parameters.ts";
import { ENDPOINTS } from "../contract/registry.ts";
import { compileNames, type NamesOf } from "../contract/input.ts";
import type { JsonEndpoint, Page } from "./page.ts";

/** The names that an endpoint takes, for a page that passes its whole query on to it. */
export function parameterNames(name: JsonEndpoint["name"]): string[] {
  const endpoint = (ENDPOINTS as readonly Endpoint[]).find((each) => each.name === name);
  return Object.keys(endpoint?.parameters.properties ?? {});
}

/**
 * Creates the check of a page's query by name (C2), before its data is loaded. A misspelt name would show a different view, so it
 * is refused as in the API, with `pages` instead of the endpoints; shared parameters are ignored where they do not apply, as in
 * the API. Throws one `invalid_request`.
 */
export function createNameCheck(pages: readonly Page[]): (page: Page, names: Iterable<string>) => void {
  const others = pages.map(namesOf);
  const checks = new Map(
    pages.map((page) => {
      const taken = new Set([...SHARED_PARAMETERS, ...page.takes]);
      return [page, compileNames(namesOf(page), { taken, others, inputKind: REST_WORDS.inputKind })];
    }),
  );
  return (page, names) => {
    const sentences = checks.get(page)?.(names) ?? [];
    if (sentences.length > 0)
      throw invalidParameters(sentences.map((sentence) => ({ name: null, sentence })));
  };
}

function namesOf({ link, name, takes }: Page): NamesOf {
  return { self: link ?? name, listed: takes.filter((each) => !ALIASES.has(each)) };
}
