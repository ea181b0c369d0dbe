import type { TObject } from "typebox";
import { fold } from "../lib/fold.ts";
import { dayFromText, knownMonth } from "../lib/month.ts";
import { meantText } from "../lib/nearest-name.ts";
import { listParameters, pathNames, takesSelector } from "./endpoint.ts";
import type { Endpoint, Parameter, ParameterSchema } from "./endpoint.ts";
import { invalidParameters, REST_WORDS, type Vocabulary } from "./errors.ts";
import { ALIASES, MAXIMUM_MONTHS_BY_INTERVAL, SELECTOR_NAMES, SHARED_PARAMETERS } from "./parameters.ts";
import { ENDPOINTS } from "./registry.ts";
import { selectorProblem, type SelectorInput } from "./selector.ts";
import { TOOLS } from "./tools.ts";

/** A surface's input: values by name, and a sentence for each value that it could not read. */
export type RawInput = { values: ReadonlyMap<string, unknown>; refusals: ReadonlyMap<string, string> };

/** Reads raw parameters (strings of a query, or JSON values of a tool call) into a validated input. */
export type InputReader = (raw: RawInput, newestMonth?: NewestMonth) => Record<string, unknown>;

/** The newest complete month of a window, YYYY-MM, for a request that lacks its months; null = there is none. */
export type NewestMonth = (window: unknown) => string | null;

/** A sentence for each bad field, by its name, in the order in which they are reported. */
type Problems = Map<string, string>;

/** The maximum length of a cursor, the longest value. Longer values reach no regular expression. */
const LONGEST_VALUE = 4096;

type Notes = { problems: Problems; normalized: string[] };

type ParameterReader = {
  name: string;
  /** Returns undefined and records a problem, or the name and its fallback, if the value is not allowed. */
  read: (value: unknown, notes: Notes) => unknown;
  fallback: unknown;
  isRequired: boolean;
};

/**
 * Compiles an endpoint's input on a surface into a reader, once. The reader takes values as in REST ("10", "true") and as in JSON
 * (10, true) and fills in defaults. It throws one `invalid_request` for all errors, a sentence for each invalid field: unknown
 * names first, then the endpoint's own in the order of the contract.
 */
export function compileRequest(endpoint: Endpoint, words: Vocabulary): InputReader {
  const findUnknown = compileUnknownNames(endpoint, words);
  const readInput = compileInput(endpoint.parameters, words);
  return ({ values, refusals }, newestMonth) =>
    readInput(values, refusals, findUnknown(values.keys()), newestMonth);
}

/** The reader of the parameters that a schema lists; it receives problems found before, and names not to read. */
export function compileInput(schema: TObject, words: Vocabulary = REST_WORDS) {
  const parameters = listParameters(schema).map((parameter) => compileParameter(parameter, words));
  const hasSelector = "sku" in schema.properties;
  const hasMonths = "start_month" in schema.properties;
  return (
    values: ReadonlyMap<string, unknown>,
    refusals: ReadonlyMap<string, string> = NO_REFUSALS,
    unknown: readonly string[] = [],
    newestMonth: NewestMonth = () => null,
  ): Record<string, unknown> => {
    const input: Record<string, unknown> = {};
    const problems: Problems = new Map();
    const normalized: string[] = [];
    if (hasSelector) noteRefusal(problems, refusals, "selector");
    for (const parameter of parameters) {
      if (noteRefusal(problems, refusals, parameter.name)) continue;
      const given = values.get(parameter.name);
      const value = isGiven(given) ? parameter.read(given, { problems, normalized }) : parameter.fallback;
      if (parameter.isRequired && !isGiven(given)) {
        const month = newestMonth(values.get("window"));
        const example = month === null ? ", such as 2026-01." : `; the newest complete month is ${month}.`;
        problems.set(parameter.name, `${parameter.name} is required: a month written YYYY-MM${example}`);
      }
      if (value !== undefined) input[parameter.name] = value;
    }
    if (hasSelector) checkSelector(input, problems);
    if (hasMonths) checkMonthRange(input, problems);
    if (unknown.length > 0 || problems.size > 0) {
      throw invalidParameters([
        ...unknown.map((sentence) => ({ name: null, sentence })),
        // A selector is several parameters.
        ...[...problems].map(([name, sentence]) => ({ name: name === "selector" ? null : name, sentence })),
      ]);
    }
    if (input["breakdownBy"] !== undefined && words.surface === "mcp") input["isTool"] = true;
    return normalized.length === 0 ? input : { ...input, normalized };
  };
}

const NO_REFUSALS: ReadonlyMap<string, string> = new Map();

function noteRefusal(problems: Problems, refusals: ReadonlyMap<string, string>, name: string): boolean {
  const sentence = refusals.get(name);
  if (sentence === undefined) return false;
  problems.set(name, sentence);
  return true;
}

function compileParameter({ name, isRequired, ...parameter }: Parameter, words: Vocabulary): ParameterReader {
  // A tool accepts only the listed values where REST accepts any text: a model corrects a refusal, but trusts an empty list.
  const values = words.surface === "mcp" ? parameter.schema["x-tool-enum"] : undefined;
  const schema: ParameterSchema = values === undefined ? parameter.schema : { type: "string", enum: values };
  const decode = decoderOf(schema);
  const allowed = `${name} must be ${allowedText(schema)}`;
  const isNumber = schema.type === "integer" || schema.type === "number";
  // A model corrects a refusal; in REST an unlisted value of the report's state falls back, and meta says so.
  const names = schema.enum ?? schema["x-names"];
  const isNormalized = schema["x-normalized"] === true && (words.surface === "rest" || names === undefined);
  const read = (value: unknown, { problems, normalized }: Notes): unknown => {
    const isTooLong = typeof value === "string" && value.length > LONGEST_VALUE;
    const decoded = isTooLong ? undefined : decode(value);
    if (decoded !== undefined) return decoded;
    if (isNormalized) {
      normalized.push(name);
      return schema["x-unreadable"] ?? schema.default;
    }
    const isOtherNotation = isNumber && !isTooLong && typeof value === "string" && OTHER_NOTATION.test(value);
    const misspelt = schema["x-normalized"] === true && typeof value === "string" ? value : "";
    const end = isOtherNotation ? ", in plain decimal digits." : meantText(misspelt, names ?? []);
    problems.set(name, `${allowed}${end}`);
    return undefined;
  };
  return { name, read, fallback: schema.default, isRequired };
}

/** An empty value counts as not given. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

/** Returns the decoded value, or undefined when the value is not of the schema. */
function decoderOf(schema: ParameterSchema): (value: unknown) => unknown {
  if (schema.enum !== undefined) {
    const values = new Set<unknown>(schema.enum);
    return (value) => (values.has(value) ? value : undefined);
  }
  if (schema.type === "boolean") return decodeBoolean;
  if (schema.type === "integer" || schema.type === "number") {
    return (value) => decodeNumber(value, schema);
  }
  if (schema.format === "date-time") return decodeDateTime;
  const pattern = schema.pattern === undefined ? null : new RegExp(schema.pattern, "u");
  return (value) => decodeText(value, schema, pattern);
}

function decodeBoolean(value: unknown): boolean | undefined {
  if (value === true || value === "true" || value === "1" || value === 1) return true;
  if (value === false || value === "false" || value === "0" || value === 0) return false;
  return undefined;
}

const PLAIN_DECIMAL = /^-?\d{1,30}(\.\d{1,30})?$/u;
/** Numbers that are no plain decimals: 1e-1, .5, 5., +1. */
const OTHER_NOTATION = /^(?!-?\d+(?:\.\d+)?$)[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/iu;

function decodeNumber(value: unknown, schema: ParameterSchema): number | undefined {
  if (typeof value === "string" && !PLAIN_DECIMAL.test(value)) return undefined;
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  // The addition turns −0 into 0.
  const number = Number(value) + 0;
  if (!Number.isFinite(number)) return undefined;
  if (schema.type === "integer" && !(Number.isSafeInteger(number) && !String(value).includes(".")))
    return undefined;
  if (schema.minimum !== undefined && number < schema.minimum) return undefined;
  if (schema.maximum !== undefined && number > schema.maximum) return undefined;
  return number;
}

// RFC 3339; the space stands for an offset's "+" that a query string decoded as a blank.
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)([Zz]|[+\- ]\d{2}:\d{2})$/u;

function decodeDateTime(value: unknown): string | undefined {
  const match = typeof value === "string" ? DATE_TIME.exec(value) : null;
  if (match === null) return undefined;
  const [, day = "", time, offset] = match;
  const instant = new Date(`${day}T${time}${offset?.toUpperCase().replace(" ", "+")}`);
  // A day such as 30 February rolls over instead of failing.
  if (dayFromText(day) === null || Number.isNaN(instant.getTime())) return undefined;
  const year = instant.getUTCFullYear();
  return year >= 1 && year <= 9999 ? instant.toISOString() : undefined;
}

const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/u;

function decodeText(given: unknown, schema: ParameterSchema, pattern: RegExp | null): string | undefined {
  // An agent may send a numeric SKU as a number.
  const value = Number.isSafeInteger(given) ? String(given) : given;
  if (typeof value !== "string" || !value.isWellFormed() || CONTROL_CHARACTER.test(value)) return undefined;
  if (value.length > (schema.maxLength ?? Infinity) || value.length < (schema.minLength ?? 0))
    return undefined;
  // Folding writes some characters out: U+FDFA becomes eighteen.
  const foldedLength = schema["x-folded-length"] ?? Infinity;
  if (foldedLength < Infinity && fold(value).length > foldedLength) return undefined;
  return pattern === null || pattern.test(value) ? value : undefined;
}

function allowedText(schema: ParameterSchema): string {
  if (schema["x-allowed"] !== undefined) return schema["x-allowed"];
  if (schema.enum !== undefined) return `one of ${schema.enum.join(", ")}`;
  if (schema.type === "boolean") return "true or false";
  if (schema.format === "date-time") return "a date-time with an offset or Z, such as 2026-01-31T00:00:00Z";
  if (schema.type === "integer" || schema.type === "number") {
    const kind = schema.type === "integer" ? "a whole number" : "a number";
    if (schema.maximum === undefined) return `${kind} of at least ${schema.minimum ?? 0}`;
    return `${kind} from ${schema.minimum ?? 0} to ${schema.maximum}`;
  }
  return "text";
}

function checkSelector(input: SelectorInput, problems: Problems): void {
  const isUnclear = problems.has("selector") || SELECTOR_NAMES.some((name) => problems.has(name));
  const problem = isUnclear ? null : selectorProblem(input);
  if (problem !== null) problems.set("selector", problem);
}

function checkMonthRange(input: Record<string, unknown>, problems: Problems): void {
  const { start_month: startMonth, end_month: endMonth, interval = "month" } = input;
  if (typeof startMonth !== "string" || typeof endMonth !== "string") return;
  if (startMonth > endMonth) {
    problems.set("start_month", "start_month must not be later than end_month.");
    return;
  }
  const months = knownMonth(endMonth) - knownMonth(startMonth) + 1;
  const most = MAXIMUM_MONTHS_BY_INTERVAL[interval as keyof typeof MAXIMUM_MONTHS_BY_INTERVAL];
  if (months > most) {
    const rows = interval === "month" ? "" : ` with interval=${String(interval)}`;
    problems.set(
      "start_month",
      `start_month to end_month must be at most ${most} months${rows}; these are ${months}.`,
    );
  }
}

/** Sentences about the names of a request that its endpoint does not take; none = it takes all. */
type UnknownNames = (names: Iterable<string>) => string[];

const MOST_NAMED = 5;
const LONGEST_SHOWN = 40;

/** Something with parameters: its name in a sentence, and the names that it suggests and lists. */
export type NamesOf = { self: string; listed: readonly string[] };

/**
 * Compiles the parameter names of an endpoint on a surface. An unknown name is refused, because ignoring a misspelt filter would
 * answer for too much. REST ignores shared parameters that the endpoint does not use; a tool accepts those in its input schema,
 * the aliases of product_gid, and with a selector the selector object.
 */
function compileUnknownNames(endpoint: Endpoint, words: Vocabulary): UnknownNames {
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
    const elsewhere =
      takers.length === 0 ? "" : `; ${takers.join(", ")} ${takers.length === 1 ? "takes" : "take"} it`;
    return `${shown(name)} is not ${inputKind} of ${self}${elsewhere}${meantText(name, listed)}`;
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
