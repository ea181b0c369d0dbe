import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { camelCase, isPaged, listParameters, pascalCase } from "../contract/endpoint.ts";
import type { Endpoint, ParameterSchema } from "../contract/endpoint.ts";
import { ENDPOINTS as CONTRACT } from "../contract/registry.ts";
import { VERSION } from "../lib/version.ts";
import { ENDPOINTS, ERROR_STATUS } from "./endpoints.ts";

/** Files of this folder that the package has without their types. */
const SOURCES = ["client", "errors", "retry", "command"];

/**
 * The client as the file that npm installs, without dependencies, made of this folder and the contract: the same bytes each
 * time. `address`: where its command finds the service; null = on this machine.
 */
export function clientPackage(address: string | null): Buffer {
  const files: Record<string, string> = {
    "package.json": JSON.stringify(MANIFEST, null, 2),
    "lib/endpoints.js":
      `export const ENDPOINTS = ${JSON.stringify(ENDPOINTS, null, 2)};\n` +
      `export const ERROR_STATUS = ${JSON.stringify(ERROR_STATUS)};\n`,
    "lib/index.js": 'export * from "./client.js";\nexport * from "./errors.js";\n',
    "lib/index.d.ts": [source("result.ts"), errorTypes(), CLIENT_TYPES, contractTypes()].join("\n"),
    "README.md": readFileSync(join(PROJECT, "docs/client.md"), "utf8"),
    LICENSE: readFileSync(join(PROJECT, "LICENSE"), "utf8"),
  };
  for (const name of SOURCES) {
    const code = stripTypeScriptTypes(source(`${name}.ts`));
    const text = code.replaceAll(/(from "\.\/[a-z-]+)\.ts"/gu, '$1.js"');
    files[`lib/${name}.js`] = address === null ? text : text.replace("http://127.0.0.1:8080", () => address);
  }
  return gzipSync(Buffer.concat([...Object.entries(files).map(archived), Buffer.alloc(1024)]));
}

const PROJECT = join(import.meta.dirname, "../..");

const MANIFEST = {
  name: "returns-analytics-client",
  version: VERSION,
  description: "Typed client of the Returns Analytics API, for Node.js and browsers, without dependencies.",
  license: "MIT",
  type: "module",
  engines: { node: ">=20" },
  sideEffects: ["./lib/command.js"],
  types: "./lib/index.d.ts",
  exports: { ".": { types: "./lib/index.d.ts", default: "./lib/index.js" } },
  bin: { "returns-query": "lib/command.js" },
};

/** Types of the files that hold code; a test compares them with those files. */
function errorTypes(): string {
  return (
    source("errors.ts")
      .replaceAll(/^import .*\n/gmu, "")
      .replaceAll("export class", "export declare class")
      // oxlint-disable-next-line house/linear-patterns -- sees a file of this folder alone
      .replaceAll(/\) \{\n {4}super[^}]*(?:\}[^}]*)?\n {2}\}/gu, ");")
  );
}

const CLIENT_TYPES = `/** A client of the token's workspace. */
export type ReturnsClient = EndpointMethods;
/** Creates a client; no request is sent yet. Throws \`TypeError\` for invalid options. */
export declare function createClient(options: ClientOptions): ReturnsClient;
/** The answers of a method that has pages, one request each, as in \`iteratePages(client.entities, { limit: 100 })\`. */
export declare function iteratePages<Parameters, Data, Meta extends { next_cursor: string | null }>(
  method: (parameters: Parameters & { cursor?: string | undefined }, options?: RequestOptions) => Promise<Result<Data, Meta>>,
  parameters: Parameters & { cursor?: string | undefined },
  options?: RequestOptions,
): AsyncGenerator<Result<Data, Meta>, void, undefined>;
`;

function source(name: string): string {
  return readFileSync(join(import.meta.dirname, name), "utf8");
}

/** One file of a tar archive (POSIX ustar), in the folder that npm expects. */
function archived([name, text]: [string, string]): Buffer {
  const body = Buffer.from(text);
  const octal = (value: number, width: number): string => `${value.toString(8).padStart(width, "0")}\u0000`;
  const mode = octal(name.endsWith("command.js") ? 0o755 : 0o644, 7);
  const owner = octal(0, 7).repeat(2);
  const before =
    `package/${name}`.padEnd(100, "\u0000") + mode + owner + octal(body.length, 11) + octal(0, 11);
  const after = `0${"\u0000".repeat(100)}ustar\u000000`;
  const sum = Buffer.from(`${before}        ${after}`).reduce((total, byte) => total + byte, 0);
  const head = Buffer.from(`${before}${octal(sum, 6)} ${after}`.padEnd(512, "\u0000"));
  return Buffer.concat([head, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

/** Every type of the package that follows from the contract; parts of answers are named as in the OpenAPI document. */
function contractTypes(): string {
  const writer = createTypeWriter();
  const methods = (CONTRACT as readonly Endpoint[]).map((endpoint) => methodText(endpoint, writer));
  return [
    ...writer.declared.values(),
    `${docText("One method for every endpoint, and an iterator for every endpoint that has pages.")}export interface EndpointMethods {\n${methods.join("\n")}}\n`,
    `export type ErrorCode = ${choice(Object.keys(ERROR_STATUS))};\n`,
  ].join("\n");
}

/** An endpoint's method; its parameters and answer are declared. */
function methodText(endpoint: Endpoint, { declare, shapeText, typeText }: TypeWriter): string {
  const { path, summary, description, scope, entitlements, response } = endpoint;
  const method = camelCase(endpoint.name);
  const name = pascalCase(endpoint.name);
  const mark = listParameters(endpoint.parameters).some((parameter) => parameter.isRequired) ? "" : "?";
  // A caller may pass `undefined` for an omitted value; no answer has it.
  const asked = () => shapeText(endpoint.parameters, " | undefined");
  const parameters = declare(`${name}Parameters`, asked, `Parameters of ${path}.`);
  const given = `(parameters${mark}: ${parameters}, options?: RequestOptions)`;
  const needs = entitlements.filter((each) => each !== "api_access");
  const entitled = needs.length === 0 ? "" : ` and the entitlement \`${needs.join("`, `")}\``;
  const doc = docText(`${summary}. ${description}\nGET ${path}; needs the scope \`${scope}\`${entitled}.`);
  if (response === null) return `${doc}${method}: ${given} => Promise<FileExport>;\n`;
  const { data, meta } = (response as Schema).properties as { data: Schema; meta: Schema };
  const answer = data.items
    ? typeText(data)
    : declare(`${name}Data`, () => typeText(data), `What ${path} answers.`);
  const result = `Result<${answer}, ${declare(`${name}Meta`, () => typeText(meta))}>`;
  const text = `${doc}${method}: ${given} => Promise<${result}>;\n`;
  if (!isPaged(endpoint)) return text;
  const rows = `AsyncGenerator<${typeText(data.items ?? {})}, void, undefined>`;
  const iteratorDoc = docText(`Every row of \`${method}\`, page after page; each page is one request.`);
  return `${text}\n${iteratorDoc}iterate${name}: ${given} => ${rows};\n`;
}

/** The members of JSON Schema that the contract uses. */
type Schema = ParameterSchema & {
  const?: string;
  anyOf?: readonly Schema[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  "x-component"?: string;
};

type TypeWriter = ReturnType<typeof createTypeWriter>;

/** Writes schemas as types of TypeScript, and collects the declarations of those with a name, each once. */
function createTypeWriter() {
  const declared = new Map<string, string>();
  const declare = (name: string, write: () => string, doc?: string): string => {
    if (!declared.has(name)) declared.set(name, `${docText(doc)}export type ${name} = ${write()};\n`);
    return name;
  };
  const typeText = (schema: Schema): string => {
    const name = schema["x-component"]?.replace(/^Public/u, "");
    return name === undefined
      ? shapeText(schema)
      : declare(name, () => shapeText(schema), schema.description);
  };
  /** `absent`: what stands for a member that is left out. */
  const shapeText = (schema: Schema, absent = ""): string => {
    const { type = "unknown", anyOf, enum: choices, items, properties, required } = schema;
    if (anyOf !== undefined) return anyOf.map(typeText).join(" | ");
    if (choices !== undefined) return choice(choices);
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (items !== undefined) return `(${typeText(items)})[]`;
    if (properties === undefined) return NAMED_TYPES[type] ?? type;
    const members = Object.entries(properties).map(([name, value]) => {
      const [mark, end] = required?.includes(name) === true ? ["", ""] : ["?", absent];
      return `${docText(memberDoc(value))}${name}${mark}: ${typeText(value)}${end};\n`;
    });
    return `{\n${members.join("")}}`;
  };
  return { declare, typeText, shapeText, declared };
}

const choice = (values: readonly string[]): string =>
  values.map((value) => JSON.stringify(value)).join(" | ");

/** Types that TypeScript has another name for. */
const NAMED_TYPES: Readonly<Record<string, string>> = {
  integer: "number",
  object: "Record<string, unknown>",
};

function docText(doc = ""): string {
  return doc === "" ? "" : `/** ${doc.replaceAll("\n", "\n * ")} */\n`;
}

/** What the schema says beside the type, in words. */
function memberDoc(schema: Schema): string {
  const inner = schema.anyOf?.find((variant) => variant.type !== "null") ?? schema;
  const description = schema.description ?? inner.description ?? "";
  const byDefault = schema.default === undefined ? "" : `Default: ${JSON.stringify(schema.default)}.`;
  return [description, formText(inner, description), byDefault].filter((text) => text !== "").join(" ");
}

function formText({ format, pattern }: Schema, description: string): string {
  if (format === "date-time") return "ISO 8601, such as 2026-01-31T00:00:00Z.";
  if (pattern?.endsWith("-\\d{2}-\\d{2}$") === true) return "YYYY-MM-DD.";
  if (pattern?.endsWith("-01$") === true) return "YYYY-MM-01.";
  return pattern === undefined || description.includes("YYYY-MM") ? "" : "YYYY-MM.";
}
