import { isDeepStrictEqual } from "node:util";
import { pascalCase } from "../../src/contract/endpoint.ts";

/** The members of JSON Schema that the contract uses. */
export type Schema = {
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
  minimum?: number;
  maximum?: number;
  default?: unknown;
};

/** Members that several types have alike: an interface of its own that they extend. */
export type SharedMembers = { name: string; schema: Schema };

/** Collects the declarations of TypeScript types under their names, each once, in the order of their use. */
export type TypeWriter = {
  /** Declares an interface for an object schema and returns its name. */
  declareObject(name: string, schema: Schema, doc?: string): string;
  /** The type of a value; `name` is what a nested object would be called. */
  typeText(name: string, schema: Schema): string;
  /** All declarations, those that others use first. */
  text(): string;
};

export type TypeWriterOptions = {
  shared: readonly SharedMembers[];
  /** Names for schemas that occur in several places. */
  named: readonly { name: string; schema: Schema }[];
  /** Optional members may also be given as `undefined`: right for what a caller writes, wrong for what he reads. */
  allowsUndefined: boolean;
  /** Starts the name of a nested object: the endpoint's own name. */
  prefixOf: (name: string) => string;
};

export function createTypeWriter(options: TypeWriterOptions): TypeWriter {
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

  const declareObject = (name: string, schema: Schema, doc?: string): string =>
    declare(name, () => {
      let members = Object.entries(schema.properties ?? {});
      const bases: string[] = [];
      for (const shared of options.shared) {
        if (shared.name === name || !holdsAll(schema, shared.schema)) continue;
        bases.push(declareObject(shared.name, shared.schema, shared.schema.description));
        members = members.filter(([member]) => !(member in (shared.schema.properties ?? {})));
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
    return plainType(schema);
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

function holdsAll(schema: Schema, shared: Schema): boolean {
  return Object.entries(shared.properties ?? {}).every(
    ([name, value]) =>
      isDeepStrictEqual(schema.properties?.[name], value) &&
      isRequired(schema, name) === isRequired(shared, name),
  );
}

function isRequired(schema: Schema, name: string): boolean {
  return schema.required?.includes(name) === true;
}

function plainType(schema: Schema): string {
  switch (schema.type) {
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "object":
      return "Record<string, unknown>";
    case undefined:
      return "unknown";
    default:
      throw new Error(`No type for a schema of type ${schema.type}.`);
  }
}

function wrapUnion(type: string): string {
  return type.includes("|") ? `(${type})` : type;
}

/** Rows of a list: `ReportTimingBuckets` holds `ReportTimingBucket`s, `ReportTrend` holds `ReportTrendRow`s. */
function itemName(name: string): string {
  if (name.endsWith("Rows")) return name.slice(0, -1);
  if (name.endsWith("ies")) return `${name.slice(0, -3)}y`;
  return name.endsWith("s") ? name.slice(0, -1) : `${name}Row`;
}

const DOC_WIDTH = 100;

export function docText(doc: string | undefined): string {
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
  const inner = schema.anyOf?.find((variant) => variant.type !== "null") ?? schema;
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
