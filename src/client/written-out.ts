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
import { ENDPOINTS } from "../contract/registry.ts";
import { listedSaleEvent } from "../contract/report-sections.ts";
import { ENDPOINTS as FACTS, ERROR_STATUS } from "./endpoints.ts";

/** The modules of the package that stand in for what the client imports from the contract, by their file's name. */
export const writtenOut = (): Record<string, string> => ({
  "parameters.ts": parametersText(),
  "answers.ts": answersText(),
  "methods.ts": methodsText(),
  "endpoints.ts": endpointsText(),
});

function parametersText(): string {
  const writer = createTypeWriter({
    shared: [
      shared(
        "SelectorParameters",
        selectorParameters,
        "One selector at most: sku, or product_gid (or an alias), or product_group_type with product_group_key.\n" +
          "None = the whole workspace.",
      ),
      shared("MonthParameters", monthParameters, "The range of order months, both ends included.", true),
      shared("WindowParameters", windowParameters, "Which returns and which months count."),
      shared("SaleEventParameters", reportStateParameters, "A sale event to look at."),
    ],
    named: [],
    allowsUndefined: true,
    prefixOf: (name) => name,
  });
  for (const endpoint of ENDPOINTS) {
    writer.declareObject(
      parametersName(endpoint),
      endpoint.parameters as Schema,
      `Parameters of ${endpoint.path}.`,
    );
  }
  return writer.text();
}

function answersText(): string {
  const writer = createTypeWriter({
    shared: [
      shared("ApiMeta", meta({}).properties, "What every answer says about itself.", true),
      shared("CohortEcho", cohortEcho, "The request over order months, as applied.", true),
      shared("MonthCoverage", monthCoverage, "How much of the range of order months is counted.", true),
      shared("LeaderboardProduct", leaderboardProduct, "The product of a SKU; both ids are the same.", true),
    ],
    named: [
      { name: "Freshness", schema: nonNull(freshness) },
      { name: "SelectorEcho", schema: selectorEcho },
      { name: "EntitySelector", schema: entitySelector },
      { name: "SaleEvent", schema: listedSaleEvent },
    ],
    allowsUndefined: false,
    // The data of an answer and its meta are no level of their own in the names below them.
    prefixOf: (name) => name.replace(/(?:Data|Meta)$/u, ""),
  });
  for (const endpoint of ENDPOINTS) {
    if (endpoint.response === null) continue;
    const name = pascalCase(endpoint.name);
    const { data, meta: metaSchema } = bodyOf(endpoint);
    if (data.type === "array") writer.typeText(name, data);
    else writer.declareObject(`${name}Data`, data, `What ${endpoint.path} answers.`);
    writer.declareObject(`${name}Meta`, metaSchema);
  }
  return writer.text();
}

function methodsText(): string {
  const answers = new Set<string>();
  const methods = ENDPOINTS.map((endpoint) => methodText(endpoint, answers));
  return (
    `import type { FileExport, RequestOptions, Result } from "./result.ts";\n` +
    `import type { ${[...answers].toSorted().join(", ")} } from "./answers.ts";\n` +
    `import type { ${ENDPOINTS.map(parametersName).toSorted().join(", ")} } from "./parameters.ts";\n\n` +
    docText("One method for every endpoint, and an iterator for every endpoint that has pages.") +
    `export interface EndpointMethods {\n${methods.join("\n")}}\n`
  );
}

function methodText(endpoint: Endpoint, answers: Set<string>): string {
  const method = camelCase(endpoint.name);
  const needsSome = listParameters(endpoint.parameters).some((parameter) => parameter.isRequired);
  const given = `(parameters${needsSome ? "" : "?"}: ${parametersName(endpoint)}, options?: RequestOptions)`;
  const needs = [...endpoint.entitlements].filter((name) => name !== "api_access");
  const entitled = needs.length === 0 ? "" : ` and the entitlement \`${needs.join("`, `")}\``;
  const doc = docText(
    `${endpoint.summary}. ${endpoint.description}\n` +
      `GET ${endpoint.path}; needs the scope \`${endpoint.scope}\`${entitled}.`,
  );
  if (endpoint.response === null) return `${doc}${method}: ${given} => Promise<FileExport>;\n`;
  const name = pascalCase(endpoint.name);
  const { data } = bodyOf(endpoint);
  const dataType = data.type === "array" ? `${itemName(name)}[]` : `${name}Data`;
  for (const type of [dataType.replace("[]", ""), `${name}Meta`]) answers.add(type);
  const text = `${doc}${method}: ${given} => Promise<Result<${dataType}, ${name}Meta>>;\n`;
  if (!isPaged(endpoint)) return text;
  const iteratorDoc = docText(`Every row of \`${method}\`, page after page; each page is one request.`);
  const row = dataType.replace("[]", "");
  return `${text}\n${iteratorDoc}iterate${pascalCase(method)}: ${given} => AsyncGenerator<${row}, void, undefined>;\n`;
}

function endpointsText(): string {
  return (
    `export type EndpointFacts = { path: string; fileTypes: readonly string[] | null; isPaged: boolean; parameters: readonly string[] };\n\n` +
    `export const ENDPOINTS: Readonly<Record<string, EndpointFacts>> = ${JSON.stringify(FACTS, null, 2)};\n\n` +
    `/** The closed list of error codes, with the HTTP status of each. */\n` +
    `export const ERROR_STATUS = ${JSON.stringify(ERROR_STATUS)} as const;\n\n` +
    `export type ErrorCode = keyof typeof ERROR_STATUS;\n`
  );
}

function bodyOf(endpoint: Endpoint): { data: Schema; meta: Schema } {
  return (endpoint.response as Schema).properties as { data: Schema; meta: Schema };
}

function parametersName(endpoint: Endpoint): string {
  return `${pascalCase(endpoint.name)}Parameters`;
}

function nonNull(schema: Schema): Schema {
  return schema.anyOf?.find((variant) => variant.type !== "null") ?? schema;
}

/** Optional members are those that TypeBox would leave out of `required`. */
function shared(
  name: string,
  properties: Record<string, unknown>,
  description: string,
  areRequired = false,
): SharedMembers {
  const schema = { properties: properties as Record<string, Schema>, description };
  return { name, schema: areRequired ? { ...schema, required: Object.keys(properties) } : schema };
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
type SharedMembers = { name: string; schema: Schema };

type TypeWriterOptions = {
  shared: readonly SharedMembers[];
  /** Names for schemas that occur in several places. */
  named: readonly { name: string; schema: Schema }[];
  /** Optional members may also be given as `undefined`: right for what a caller writes, wrong for what he reads. */
  allowsUndefined: boolean;
  /** Starts the name of a nested object: the endpoint's own name. */
  prefixOf: (name: string) => string;
};

/** Collects the declarations of TypeScript types under their names, each once, those that others use first. */
function createTypeWriter(options: TypeWriterOptions) {
  const declarations = new Map<string, string>();

  const declare = (name: string, write: () => string): string => {
    if (!declarations.has(name)) {
      // Reserved first: a schema that is used twice is written once.
      declarations.set(name, "");
      const text = write();
      declarations.delete(name);
      declarations.set(name, text);
    }
    return name;
  };

  /** Declares an interface for an object schema and returns its name. */
  const declareObject = (name: string, schema: Schema, doc?: string): string =>
    declare(name, () => {
      let members = Object.entries(schema.properties ?? {});
      const bases: string[] = [];
      for (const base of options.shared) {
        if (base.name === name || !holdsAll(schema, base.schema)) continue;
        bases.push(declareObject(base.name, base.schema, base.schema.description));
        members = members.filter(([member]) => !(member in (base.schema.properties ?? {})));
      }
      const heritage = bases.length === 0 ? "" : ` extends ${bases.join(", ")}`;
      const lines = members.map(([member, value]) => memberText(name, schema, member, value));
      return `${docText(doc ?? schema.description)}export interface ${name}${heritage} {\n${lines.join("")}}\n`;
    });

  const memberText = (owner: string, schema: Schema, member: string, value: Schema): string => {
    const isOptional = !isRequired(schema, member);
    const type = typeText(options.prefixOf(owner) + pascalCase(member), value);
    const absent = isOptional && options.allowsUndefined ? " | undefined" : "";
    return `${docText(memberDoc(value))}${member}${isOptional ? "?" : ""}: ${type}${absent};\n`;
  };

  /** The type of a value; `name` is what a nested object would be called. */
  const typeText = (name: string, schema: Schema): string => {
    const named = options.named.find((candidate) => isDeepStrictEqual(candidate.schema, schema))?.name;
    if (schema.anyOf !== undefined) {
      const write = (): string => unionText(named ?? name, schema.anyOf ?? []);
      return named === undefined ? write() : declare(named, () => `export type ${named} = ${write()};\n`);
    }
    if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.type === "array") return `${wrapUnion(typeText(itemName(name), schema.items ?? {}))}[]`;
    if (schema.properties !== undefined) return declareObject(named ?? name, schema);
    const { type = "unknown" } = schema;
    return NAMED_TYPES[type] ?? type;
  };

  /** Variants of objects stand in the union itself; a single object beside null has a name. */
  const unionText = (name: string, variants: readonly Schema[]): string => {
    const objects = variants.filter((variant) => variant.properties !== undefined);
    return variants
      .map((variant) =>
        objects.length > 1 && variant.properties !== undefined
          ? inlineText(name, variant)
          : typeText(name, variant),
      )
      .join(" | ");
  };

  const inlineText = (name: string, schema: Schema): string => {
    const members = Object.entries(schema.properties ?? {}).map(([member, value]) => {
      const mark = isRequired(schema, member) ? "" : "?";
      return `${member}${mark}: ${typeText(name, value)}`;
    });
    return `{ ${members.join("; ")} }`;
  };

  return { declareObject, typeText, text: () => [...declarations.values()].join("\n") };
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

const DOC_WIDTH = 100;

function docText(doc: string | undefined): string {
  if (doc === undefined || doc === "") return "";
  const lines = doc.split("\n").flatMap(wrapped);
  if (lines.length === 1) return `/** ${doc} */\n`;
  return `/**\n${lines.map((line) => ` * ${line}\n`).join("")} */\n`;
}

function wrapped(line: string): string[] {
  return line.match(new RegExp(`.{1,${DOC_WIDTH}}(?:\\s|$)`, "gu"))?.map((part) => part.trimEnd()) ?? [line];
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
