import { nearestName } from "../lib/nearest-name.ts";
import { pathNames, takesSelector, type Endpoint } from "./endpoint.ts";
import { ALIASES, SHARED_PARAMETERS } from "./parameters.ts";
import { ENDPOINTS } from "./registry.ts";
import { TOOLS } from "./tools.ts";
import type { Vocabulary } from "./errors.ts";

/** Sentences about the names of a request that its endpoint does not take; none = it takes all. */
export type UnknownNames = (names: Iterable<string>) => string[];

const MOST_NAMED = 5;
const LONGEST_SHOWN = 40;

/** Something with parameters: its name in a sentence, and the names that it suggests and lists. */
export type NamesOf = { self: string; listed: readonly string[] };

/**
 * Compiles the parameter names of an endpoint on a surface. An unknown name is refused, because ignoring a misspelt filter would
 * answer for too much. REST ignores shared parameters that the endpoint does not use; a tool accepts those in its input schema,
 * the aliases of product_gid, and with a selector the selector object.
 */
export function compileUnknownNames(endpoint: Endpoint, words: Vocabulary): UnknownNames {
  const self = words.nameOf(endpoint) ?? endpoint.path;
  const listed = listedNames(endpoint, words);
  const taken = new Set([...listed, ...Object.keys(endpoint.parameters.properties)]);
  if (words.surface === "rest") {
    for (const name of [...SHARED_PARAMETERS, ...(endpoint.ignores ?? [])]) taken.add(name);
  } else if (takesSelector(endpoint)) {
    taken.add("selector");
  }
  const others = (ENDPOINTS as readonly Endpoint[]).map((other) => ({
    self: words.nameOf(other) ?? "",
    listed: listedNames(other, words),
  }));
  return compileNames({ self, listed }, { taken, others, inputKind: words.inputKind });
}

/**
 * The sentences about names that are not in `taken`. `others`: others with parameters, mentioned if one of them has the intended
 * name. `inputKind`: the word for a name, with its article.
 */
export function compileNames(
  { self, listed }: NamesOf,
  { taken, others, inputKind }: { taken: ReadonlySet<string>; others: readonly NamesOf[]; inputKind: string },
): UnknownNames {
  const describe = (name: string): string => {
    const takers = others.filter((other) => other.listed.includes(name)).map((other) => other.self);
    const nearest = nearestName(name, listed);
    const elsewhere =
      takers.length === 0 ? "" : `; ${takers.join(", ")} ${takers.length === 1 ? "takes" : "take"} it`;
    const meant = nearest === null ? "" : `; did you mean ${nearest}?`;
    return `${shown(name)} is not ${inputKind} of ${self}${elsewhere}${meant === "" ? "." : meant}`;
  };
  return (names) => {
    const sentences: string[] = [];
    let count = 0;
    for (const name of names) {
      if (taken.has(name)) continue;
      count += 1;
      if (count <= MOST_NAMED) sentences.push(describe(name));
    }
    if (count > MOST_NAMED) sentences.push(`Nor are ${count - MOST_NAMED} more.`);
    if (count > 0) sentences.push(`${self} takes ${listed.length === 0 ? "none" : listed.join(", ")}.`);
    return sentences;
  };
}

/** The names that a surface lists: without the aliases of product_gid, which are kept for compatibility. */
function listedNames(endpoint: Endpoint, { surface }: Vocabulary): string[] {
  if (surface === "mcp") {
    const tool = TOOLS.find(({ name }) => name === endpoint.tool?.name);
    return Object.keys(tool?.inputSchema.properties ?? {});
  }
  const ofPath = pathNames(endpoint.path);
  return Object.keys(endpoint.parameters.properties).filter(
    (name) => !ALIASES.has(name) && !ofPath.includes(name),
  );
}

/** A name as a message may show it: it comes from the caller. */
function shown(name: string): string {
  if (/^[\w.-]{1,40}$/u.test(name)) return name;
  const visible = name
    .slice(0, LONGEST_SHOWN)
    .toWellFormed()
    .replaceAll(/[^\p{L}\p{N}\p{P}\p{S} ]|["\\]/gu, "?");
  return `"${visible}${name.length > LONGEST_SHOWN ? "…" : ""}"`;
}
