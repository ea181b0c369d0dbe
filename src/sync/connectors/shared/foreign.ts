import { createHmac, timingSafeEqual } from "node:crypto";
import Type from "typebox";
import type { Static, TObject, TProperties, TSchema, TSchemaOptions } from "typebox";
import { Compile } from "typebox/compile";
import { parsedJson } from "../../../lib/parsed-json.ts";
import { SourceFailed } from "../../connector.ts";
import { cleanLabel, isTime, readCurrency } from "./text.ts";

/** A violation of a foreign object's schema: the field, the expected and the actual value. */
type Anomaly = { field: string; expected: string; found: string };

/** An answer that is not as documented; it names the outermost record with an id that the anomaly is in. */
export class UnreadableAnswer extends SourceFailed {
  readonly anomaly: Anomaly;

  constructor(title: string, anomaly: Anomaly, recordId: string | null) {
    const { field, expected, found } = anomaly;
    const about = recordId === null ? "" : `about ${recordId} `;
    super(`${title}'s answer ${about}cannot be read: ${field} should be ${expected}, and is ${found}.`);
    this.anomaly = anomaly;
  }
}

export type Reader<Value> = (value: unknown) => Value;

/**
 * The reader of one kind of foreign object: it returns valid objects, ignoring members outside the schema, and throws
 * `UnreadableAnswer` for others. The schema is compiled at its first use.
 */
export function reader<Schema extends TSchema>(title: string, schema: Schema): Reader<Static<Schema>> {
  let compiled: ReturnType<typeof Compile> | null = null;
  return (value) => {
    compiled ??= Compile(schema);
    if (compiled.Check(value)) return value as Static<Schema>;
    const [error] = compiled.Errors(value);
    const missing = error?.keyword === "required" ? error.params.requiredProperties.slice(0, 1) : [];
    throw anomalyAt(title, schema, value, [...(error?.instancePath.split("/").slice(1) ?? []), ...missing]);
  };
}

/** `title` is the source's name of the object: an invalid member is reported as "title.member". */
export function object<Properties extends TProperties>(
  title: string,
  properties: Properties,
  options: TSchemaOptions = {},
): TObject<Properties> {
  return Type.Object(properties, { ...options, title });
}

/** May be null or absent. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

/** The same; '' counts as absent, too. */
export function optional<Schema extends TSchema>(schema: Schema) {
  const { description = "" } = schema as { description?: string };
  return nullable(Type.Union([schema, Type.Literal("")], { description }));
}

export function choice<const Choices extends readonly [string, ...string[]]>(choices: Choices) {
  return Type.Enum([...choices] as Choices[number][], { description: `one of ${choices.join(", ")}` });
}

export const Text = Type.String({ description: "text" });
export const Flag = Type.Boolean({ description: "true or false" });
/** Some sources write whole numbers as text. */
export const Whole = Type.Refine(
  Type.Union([Type.Integer(), Type.String({ pattern: "^-?[0-9]+$" })], { description: "a whole number" }),
  (value: number | string) => Number.isSafeInteger(Number(value)),
);
/** Not blank. */
export const Filled = Type.Refine(
  Type.String({ description: "text" }),
  (value: string) => cleanLabel(value) !== null,
);
export const Time = Type.Refine(Type.String({ description: "a time" }), isTime);
/** A number, or its text. */
export const Id = Type.Union([Type.Integer(), Filled], { description: "text" });
/** Money that is not below zero. */
export const Amount = Type.Refine(
  Type.Union([Type.Number(), Type.String()], { description: "an amount of money" }),
  (value: number | string) => /^\d+(?:\.\d+)?$/u.test(String(value).trim()),
);
export const Currency = Type.Refine(
  Type.String({ description: "a currency" }),
  (value: string) => readCurrency(value) !== null,
);

/** The schema of a nullable value without null; any other schema unchanged. */
export function withoutNull(schema: TSchema): TSchema {
  const { anyOf } = schema as { anyOf?: TSchema[] };
  return anyOf?.at(-1) !== undefined && Type.IsNull(anyOf.at(-1)) ? (anyOf[0] as TSchema) : schema;
}

function anomalyAt(
  title: string,
  schema: TSchema,
  value: unknown,
  path: readonly string[],
): UnreadableAnswer {
  let [at, found, field, recordId] = [schema, value, "it", null as string | null];
  for (const step of path) {
    const holder = withoutNull(at) as { title?: string; items?: TSchema; properties?: TProperties };
    const members = isObject(found) ? found : {};
    recordId ??= nameOf(members);
    if (holder.items === undefined) field = `${holder.title ?? "it"}.${step}`;
    at = holder.items ?? holder.properties?.[step] ?? {};
    found = Array.isArray(found) ? (found as unknown[])[Number(step)] : members[step];
  }
  return new UnreadableAnswer(title, { field, expected: expectedBy(at), found: kindOf(found, at) }, recordId);
}

function expectedBy(schema: TSchema): string {
  const inner = withoutNull(schema) as { description?: string; items?: TSchema };
  const what = inner.description ?? (inner.items === undefined ? "an object" : "a list");
  return inner === schema ? what : `${what} or null`;
}

/** A text may be a customer's, so its value is quoted only if it must be one of a few words. */
function kindOf(value: unknown, schema: TSchema): string {
  if (value === undefined) return "missing";
  if (typeof value === "string")
    return Type.IsEnum(withoutNull(schema)) ? JSON.stringify(value.slice(0, 40)) : "text";
  if (Array.isArray(value)) return "a list";
  return isObject(value) ? "an object" : JSON.stringify(value);
}

/** Lines of bulk files name their parent. */
function nameOf({ id, __parentId: parentId }: Json): string | null {
  const ids = [id, parentId].filter((part) => typeof part === "string" || typeof part === "number");
  return ids.length === 0 ? null : ids.join(" of ");
}

/** A JSON object of an answer, before its members are checked. */
export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a webhook's signature is the HMAC-SHA-256 of its raw body, in base64; compared in constant time. */
export function isSigned({ body, signature }: { body: Buffer; signature: string }, secret: string): boolean {
  const expected = createHmac("sha256", secret).update(body).digest();
  const given = Buffer.from(signature, "base64");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** The body of a webhook as an object; null for anything else. */
export function readPayload(body: Buffer): Json | null {
  const value = parsedJson(body.toString("utf8"));
  return isObject(value) ? value : null;
}
