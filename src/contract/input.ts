import type { TObject, TSchema } from "typebox";
import { invalidRequest } from "./errors.ts";
import { MAXIMUM_MONTHS } from "./parameters.ts";
import { readSelector } from "./selector.ts";

/** Reads raw parameters (strings of a query, or JSON values of a tool call) into a validated input. */
export type InputReader = (raw: ReadonlyMap<string, unknown>) => Record<string, unknown>;

type ParameterReader = {
  name: string;
  read: (value: unknown) => unknown;
  fallback: unknown;
  required: boolean;
};

/**
 * Compiles an endpoint's parameter schema once into a reader. The reader takes values as REST does ("10", "true") and
 * as JSON does (10, true), fills defaults, ignores what it does not know and throws `invalid_request` with one
 * sentence that names the parameter and what is allowed.
 */
export function compileInput(schema: TObject): InputReader {
  const parameters = Object.entries(schema.properties).map(([name, property]) =>
    compileParameter(name, property as ParameterSchema, (schema.required as string[] | undefined) ?? []),
  );
  const hasSelector = "sku" in schema.properties;
  const hasMonths = "start_month" in schema.properties;
  return (raw) => {
    const input: Record<string, unknown> = {};
    for (const parameter of parameters) {
      const value = readParameter(parameter, raw.get(parameter.name));
      if (value !== undefined) input[parameter.name] = value;
    }
    if (hasSelector) readSelector(input);
    if (hasMonths) checkMonthRange(input);
    return input;
  };
}

type ParameterSchema = TSchema & {
  type?: string;
  enum?: string[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  default?: unknown;
  "x-allowed"?: string;
  "x-normalized"?: boolean;
  "x-unreadable"?: unknown;
};

function compileParameter(name: string, schema: ParameterSchema, required: string[]): ParameterReader {
  const decode = decoderOf(schema);
  const allowed = `${name} must be ${allowedText(schema)}`;
  const isNumber = schema.type === "integer" || schema.type === "number";
  const read = (value: unknown): unknown => {
    const decoded = decode(value);
    if (decoded !== undefined) return decoded;
    if (schema["x-normalized"] === true) return schema["x-unreadable"] ?? schema.default;
    const isOtherNotation = isNumber && typeof value === "string" && OTHER_NOTATION.test(value);
    throw invalidRequest(isOtherNotation ? `${allowed}, in plain decimal digits.` : `${allowed}.`);
  };
  return { name, read, fallback: schema.default, required: required.includes(name) };
}

function readParameter(parameter: ParameterReader, value: unknown): unknown {
  // An empty value counts as not given.
  if (value !== undefined && value !== null && value !== "") return parameter.read(value);
  if (!parameter.required) return parameter.fallback;
  try {
    return parameter.read(undefined);
  } catch {
    throw invalidRequest(`${parameter.name} is required: a month written YYYY-MM, such as 2026-01.`);
  }
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
const OTHER_NOTATION = /^(?!-?\d+(\.\d+)?$)[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/iu;

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

// RFC 3339; the space stands for an offset's "+" that a query string turned into a blank.
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)([Zz]|[+\- ]\d{2}:\d{2})$/u;

function decodeDateTime(value: unknown): string | undefined {
  const match = typeof value === "string" ? DATE_TIME.exec(value) : null;
  if (match === null) return undefined;
  const [, day, time, offset] = match;
  const instant = new Date(`${day}T${time}${offset?.toUpperCase().replace(" ", "+")}`);
  // A day such as 30 February rolls over instead of failing.
  const rolledDay = new Date(`${day}T00:00:00Z`).toJSON()?.slice(0, 10);
  if (rolledDay !== day || Number.isNaN(instant.getTime())) return undefined;
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

function checkMonthRange(input: Record<string, unknown>): void {
  const { start_month: startMonth, end_month: endMonth } = input;
  if (typeof startMonth !== "string" || typeof endMonth !== "string") return;
  if (startMonth > endMonth) throw invalidRequest("start_month must not be later than end_month.");
  const months = monthNumber(endMonth) - monthNumber(startMonth) + 1;
  if (months > MAXIMUM_MONTHS) {
    throw invalidRequest(
      `start_month to end_month must be at most ${MAXIMUM_MONTHS} months; these are ${months}.`,
    );
  }
}

function monthNumber(month: string): number {
  return Number(month.slice(0, 4)) * 12 + Number(month.slice(5));
}
