import { isDeepStrictEqual } from "node:util";
import { camelCase, isPaged, listParameters, pascalCase, type Endpoint } from "../contract/endpoint.ts";
import { entitySelector } from "../contract/entities.ts";
import {
  cohortEcho,
  freshness,
  leaderboardProduct,
  meta,
  monthCoverage,
  selectorEcho,
} from "../contract/meta.ts";
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

/** Members that several types have alike: an interface of its own that they extend. */
const SHARED = [
  shared(
    "SelectorParameters",
    selectorParameters,
    "One selector at most: sku, or product_gid (or an alias), or product_group_type with product_group_key. None = the whole workspace.",
  ),
  shared("MonthParameters", monthParameters, "The range of order months, both ends included.", true),
  shared("WindowParameters", windowParameters, "Which returns and which months count."),
  shared("SaleEventParameters", reportStateParameters, "A sale event to look at."),
  shared("ApiMeta", meta({}).properties, "What every answer says about itself.", true),
  shared("CohortEcho", cohortEcho, "The request over order months, as applied.", true),
  shared("MonthCoverage", monthCoverage, "How much of the range of order months is counted.", true),
  shared("LeaderboardProduct", leaderboardProduct, "The product of a SKU; both ids are the same.", true),
];

/** Names for schemas that occur in several places. */
const NAMED: readonly (readonly [name: string, schema: Schema])[] = [
  ["Freshness", nonNull(freshness)],
  ["SelectorEcho", selectorEcho],
  ["EntitySelector", entitySelector],
  ["SaleEvent", listedSaleEvent],
];

/** Optional members are those that TypeBox would leave out of `required`. */
function shared(name: string, properties: object, description: string, areRequired = false) {
  const required = areRequired ? Object.keys(properties) : [];
  return { name, schema: { properties, description, required } as Schema };
}

type TypeWriter = ReturnType<typeof createTypeWriter>;

/** Collects the declarations of TypeScript types under their names, each once, those that others use first. */
function createTypeWriter() {
  const declared = new Map<string, string>();

  const declare = (name: string, write: () => string): string => {
    if (!declared.has(name)) {
      // Reserved first: a schema that is used twice is written once.
      declared.set(name, "");
      const text = write();
      declared.delete(name);
      declared.set(name, text);
    }
    return name;
  };

  /** Declares an interface for an object schema and returns its name. */
  const declareObject = (name: string, schema: Schema): string =>
    declare(name, () => {
      const bases = SHARED.filter((base) => base.name !== name && holdsAll(schema, base.schema));
      const inherited = new Set(bases.flatMap((base) => Object.keys(base.schema.properties ?? {})));
      const names = bases.map((base) => declareObject(base.name, base.schema)).join(", ");
      // A caller may pass `undefined` for an omitted value; no answer has it.
      const absent = name.endsWith("Parameters") ? " | undefined" : "";
      const lines = Object.entries(schema.properties ?? {})
        .filter(([member]) => !inherited.has(member))
        .map(([member, value]) => {
          const type = typeText(name.replace(/(?:Data|Meta)$/u, "") + pascalCase(member), value);
          const end = isRequired(schema, member) ? `: ${type}` : `?: ${type}${absent}`;
          return `${docText(memberDoc(value))}${member}${end};\n`;
        });
      const heritage = names === "" ? "" : ` extends ${names}`;
      return `${docText(schema.description)}export interface ${name}${heritage} {\n${lines.join("")}}\n`;
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
    const inlineText = (schema: Schema): string => {
      const members = Object.entries(schema.properties ?? {}).map(
        ([member, value]) => `${member}${isRequired(schema, member) ? "" : "?"}: ${typeText(name, value)}`,
      );
      return `{ ${members.join("; ")} }`;
    };
    return variants
      .map((variant) => (isOfObjects && variant.properties ? inlineText(variant) : typeText(name, variant)))
      .join(" | ");
  };

  return { declareObject, typeText, declarations: () => declared.values() };
}

function nonNull(schema: Schema): Schema {
  return schema.anyOf?.find((variant) => variant.type !== "null") ?? schema;
}

function holdsAll(schema: Schema, base: Schema): boolean {
  return Object.entries(base.properties ?? {}).every(
    ([name, value]) =>
      isDeepStrictEqual(schema.properties?.[name], value) &&
      isRequired(schema, name) === isRequired(base, name),
  );
}

function isRequired(schema: Schema, name: string): boolean {
  return schema.required?.includes(name) === true;
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
  return [description, formText(inner, description), defaultText(schema)]
    .filter((text) => text !== "")
    .join(" ");
}

function formText(schema: Schema, description: string): string {
  if (schema.format === "date-time") return "ISO 8601, such as 2026-01-31T00:00:00Z.";
  if (schema.pattern?.endsWith("-\\d{2}-\\d{2}$") === true) return "YYYY-MM-DD.";
  if (schema.pattern?.endsWith("-01$") === true) return "YYYY-MM-01.";
  if (schema.pattern !== undefined && !description.includes("YYYY-MM")) return "YYYY-MM.";
  return "";
}

function defaultText(schema: Schema): string {
  return schema.default === undefined ? "" : `Default: ${JSON.stringify(schema.default)}.`;
}
