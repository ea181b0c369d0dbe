import { isDeepStrictEqual } from "node:util";
import { Type, type TProperties } from "typebox";
import { camelCase, isPaged, listParameters, pascalCase, type Endpoint } from "../contract/endpoint.ts";
import { entitySelector } from "../contract/entities.ts";
import { cohortEcho, freshness, meta, monthCoverage, selectorEcho } from "../contract/meta.ts";
import {
  monthParameters,
  reportStateParameters,
  selectorParameters,
  windowParameters,
} from "../contract/parameters.ts";
import { ERROR_STATUS } from "../contract/errors.ts";
import { ENDPOINTS } from "../contract/registry.ts";
import { listedSaleEvent } from "../contract/report-sections.ts";

/** Every type of the package that follows from the contract, written out. */
export function contractTypes(): string {
  const writer = createTypeWriter();
  for (const [name, properties] of Object.entries(SHARED))
    writer.declareObject(name, Type.Object(properties) as Schema);
  const methods = (ENDPOINTS as readonly Endpoint[]).map((endpoint) => methodText(endpoint, writer));
  return [
    ...writer.declarations(),
    `${docText("One method for every endpoint, and an iterator for every endpoint that has pages.")}export interface EndpointMethods {\n${methods.join("\n")}}\n`,
    `export type ErrorCode = ${choice(Object.keys(ERROR_STATUS))};\n`,
  ].join("\n");
}

/** An endpoint's method; its parameters and answer are declared. */
function methodText(endpoint: Endpoint, writer: TypeWriter): string {
  const { path, summary, description, scope, entitlements, response } = endpoint;
  const method = camelCase(endpoint.name);
  const name = pascalCase(endpoint.name);
  const mark = listParameters(endpoint.parameters).some((parameter) => parameter.isRequired) ? "" : "?";
  const parameters = writer.declareObject(`${name}Parameters`, {
    ...(endpoint.parameters as Schema),
    description: `Parameters of ${path}.`,
  });
  const given = `(parameters${mark}: ${parameters}, options?: RequestOptions)`;
  const needs = entitlements.filter((each) => each !== "api_access");
  const entitled = needs.length === 0 ? "" : ` and the entitlement \`${needs.join("`, `")}\``;
  const doc = docText(`${summary}. ${description}\nGET ${path}; needs the scope \`${scope}\`${entitled}.`);
  if (response === null) return `${doc}${method}: ${given} => Promise<FileExport>;\n`;
  const { data, meta: metaSchema } = (response as Schema).properties as { data: Schema; meta: Schema };
  const answer =
    data.type === "array"
      ? writer.typeText(name, data)
      : writer.declareObject(`${name}Data`, { ...data, description: `What ${path} answers.` });
  const result = `Result<${answer}, ${writer.declareObject(`${name}Meta`, metaSchema)}>`;
  const text = `${doc}${method}: ${given} => Promise<${result}>;\n`;
  if (!isPaged(endpoint)) return text;
  const rows = `AsyncGenerator<${answer.replace("[]", "")}, void, undefined>`;
  const iteratorDoc = docText(`Every row of \`${method}\`, page after page; each page is one request.`);
  return `${text}\n${iteratorDoc}iterate${name}: ${given} => ${rows};\n`;
}

/** The members of JSON Schema that the contract uses. */
type Schema = {
  type?: string;
  description?: string;
  enum?: readonly string[];
  const?: string;
  anyOf?: readonly Schema[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  format?: string;
  pattern?: string;
  default?: unknown;
};

/** Members that several types have alike, for programs that handle them apart. */
const SHARED: Readonly<Record<string, TProperties>> = {
  SelectorParameters: selectorParameters,
  MonthParameters: monthParameters,
  WindowParameters: windowParameters,
  SaleEventParameters: reportStateParameters,
  ApiMeta: meta({}).properties,
  CohortEcho: cohortEcho,
  MonthCoverage: monthCoverage,
};

/** Names for schemas that occur in several places. */
const NAMED: readonly (readonly [name: string, schema: Schema])[] = [
  ["Freshness", nonNull(freshness)],
  ["SelectorEcho", selectorEcho],
  ["EntitySelector", entitySelector],
  ["SaleEvent", listedSaleEvent],
];

type TypeWriter = ReturnType<typeof createTypeWriter>;

/** Collects the declarations of TypeScript types under their names, each once. */
function createTypeWriter() {
  const declared = new Map<string, string>();

  const declare = (name: string, write: () => string): string => {
    if (!declared.has(name)) declared.set(name, write());
    return name;
  };

  const membersOf = (schema: Schema, name: string, absent = ""): string[] =>
    Object.entries(schema.properties ?? {}).map(([member, value]) => {
      const type = typeText(name + pascalCase(member), value);
      const end = schema.required?.includes(member) === true ? `: ${type}` : `?: ${type}${absent}`;
      return `${docText(memberDoc(value))}${member}${end};\n`;
    });

  /** Declares an interface for an object schema and returns its name. */
  const declareObject = (name: string, schema: Schema): string =>
    declare(name, () => {
      // A caller may pass `undefined` for an omitted value; no answer has it.
      const absent = name.endsWith("Parameters") ? " | undefined" : "";
      const members = membersOf(schema, name.replace(/(?:Data|Meta)$/u, ""), absent);
      return `${docText(schema.description)}export interface ${name} {\n${members.join("")}}\n`;
    });

  /** The type of a value; `given` is what a nested object would be called. */
  const typeText = (given: string, schema: Schema): string => {
    const known = NAMED.find(([, candidate]) => isDeepStrictEqual(candidate, schema))?.[0];
    const name = known ?? given;
    if (schema.anyOf !== undefined) {
      const write = (): string => unionText(name, schema.anyOf ?? []);
      return known === undefined ? write() : declare(known, () => `export type ${known} = ${write()};\n`);
    }
    if (schema.enum !== undefined) return choice(schema.enum);
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.type === "array") return `${wrapUnion(typeText(itemName(given), schema.items ?? {}))}[]`;
    if (schema.properties !== undefined) return declareObject(name, schema);
    const { type = "unknown" } = schema;
    return NAMED_TYPES[type] ?? type;
  };

  /** Variants of objects stand in the union itself; a single object beside null has a name. */
  const unionText = (name: string, variants: readonly Schema[]): string => {
    const isOfObjects = variants.filter(({ properties }) => properties !== undefined).length > 1;
    return variants
      .map((variant) =>
        isOfObjects && variant.properties
          ? `{\n${membersOf(variant, name).join("")}}`
          : typeText(name, variant),
      )
      .join(" | ");
  };

  return { declareObject, typeText, declarations: () => declared.values() };
}

function nonNull(schema: Schema): Schema {
  return schema.anyOf?.find((variant) => variant.type !== "null") ?? schema;
}

const choice = (values: readonly string[]): string =>
  values.map((value) => JSON.stringify(value)).join(" | ");

/** Types that TypeScript has another name for. */
const NAMED_TYPES: Readonly<Record<string, string>> = {
  integer: "number",
  object: "Record<string, unknown>",
};

function wrapUnion(type: string): string {
  return type.includes("|") ? `(${type})` : type;
}

/** Rows of a list: `ReportTimingBuckets` holds `ReportTimingBucket`s, `ReportTrend` holds `ReportTrendRow`s. */
function itemName(name: string): string {
  if (name.endsWith("ies")) return `${name.slice(0, -3)}y`;
  return name.endsWith("s") ? name.slice(0, -1) : `${name}Row`;
}

function docText(doc = ""): string {
  return doc === "" ? "" : `/** ${doc.replaceAll("\n", "\n * ")} */\n`;
}

/** What the schema says beside the type, in words. */
function memberDoc(schema: Schema): string {
  const inner = nonNull(schema);
  const description = schema.description ?? inner.description ?? "";
  const byDefault = schema.default === undefined ? "" : `Default: ${JSON.stringify(schema.default)}.`;
  return [description, formText(inner, description), byDefault].filter((text) => text !== "").join(" ");
}

function formText(schema: Schema, description: string): string {
  if (schema.format === "date-time") return "ISO 8601, such as 2026-01-31T00:00:00Z.";
  if (schema.pattern?.endsWith("-\\d{2}-\\d{2}$") === true) return "YYYY-MM-DD.";
  if (schema.pattern?.endsWith("-01$") === true) return "YYYY-MM-01.";
  if (schema.pattern !== undefined && !description.includes("YYYY-MM")) return "YYYY-MM.";
  return "";
}
