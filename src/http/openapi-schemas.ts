import { pascalCase } from "../contract/endpoint.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { ENDPOINTS } from "../contract/registry.ts";
import { describeField } from "./openapi-fields.ts";

export type JsonObject = { [member: string]: unknown };

/** What the document's own words need of a JSON Schema; the rest is passed on. */
export type JsonSchema = JsonObject & {
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  patternProperties?: Record<string, JsonSchema>;
  pattern?: string;
  /** Under this name every other place refers to it. */
  "x-component"?: string;
};

/** The schemas of the contract's answers as components, each named once and referred to everywhere else. */
export function responseSchemas(): Record<string, JsonSchema> {
  const components = new Map<string, JsonSchema>();
  for (const schema of RESPONSES.values()) collectNamed(schema, components);
  for (const [name, schema] of RESPONSES) {
    components.set(`${name}Meta`, metaOf(schema)).set(`${name}Response`, schema);
  }
  return Object.fromEntries(
    [...components].map(([component, schema]) => [component, written(schema, component)]),
  );
}

/** The schemas of JSON bodies, by the prefix of their components. */
const RESPONSES: ReadonlyMap<string, JsonSchema> = new Map(
  (ENDPOINTS as readonly Endpoint[]).flatMap(({ name, response }) =>
    response === null ? [] : [[pascalCase(name), response as JsonSchema]],
  ),
);

const META_NAMES: ReadonlyMap<JsonSchema, string> = new Map(
  [...RESPONSES].map(([name, schema]) => [metaOf(schema), `${name}Meta`]),
);

function metaOf(response: JsonSchema): JsonSchema {
  return response.properties?.["meta"] as JsonSchema;
}

/** Adds the schemas that the contract names, in reading order. */
function collectNamed(schema: JsonSchema, components: Map<string, JsonSchema>): void {
  const { "x-component": name, anyOf = [], items, properties = {} } = schema;
  if (name !== undefined) {
    const known = components.get(name) ?? schema;
    if (JSON.stringify(known) !== JSON.stringify(schema)) throw new Error(`Two schemas are named ${name}.`);
    components.set(name, known);
  }
  const inner = [...anyOf, ...(items === undefined ? [] : [items]), ...Object.values(properties)];
  for (const member of inner) collectNamed(member, components);
}

/** A schema in the words of OpenAPI 3.1: enums typed, null as a type, nothing internal, patterns that RE2 reads. */
export function plainSchema(schema: JsonSchema): JsonSchema {
  return written(schema, "");
}

/** A schema within a component: a reference where it is one itself. */
function convert(schema: JsonSchema, component: string): JsonSchema {
  const name = META_NAMES.get(schema) ?? schema["x-component"];
  return name === undefined ? written(schema, component) : { $ref: `#/components/schemas/${name}` };
}

function written(schema: JsonSchema, component: string): JsonSchema {
  if (schema.anyOf !== undefined) return writtenUnion(schema, schema.anyOf, component);
  const { properties, items, pattern, patternProperties, ...rest } = schema;
  if (patternProperties !== undefined) return { ...publicMembers(rest), additionalProperties: true };
  return {
    ...(rest.enum === undefined ? {} : { type: "string" }),
    ...publicMembers(rest),
    ...(pattern === undefined ? {} : { pattern: pattern.replaceAll(/\(\?!\w+\)/gu, "") }),
    ...(items === undefined ? {} : { items: convert(items, component) }),
    ...(properties === undefined ? {} : { properties: convertProperties(properties, component) }),
  };
}

function writtenUnion(schema: JsonSchema, members: JsonSchema[], component: string): JsonSchema {
  const [only, ...others] = members
    .filter((member) => member.type !== "null")
    .map((member) => convert(member, component));
  if (others.length > 0) return { ...publicMembers(schema), oneOf: [only, ...others] };
  const { description, ...rest } = only ?? {};
  const words = description === undefined ? {} : { description };
  if (rest["$ref"] !== undefined) return { oneOf: [rest, { type: "null" }] };
  const type = [rest.type as string, "null"];
  return { ...rest, type, ...(rest.enum === undefined ? {} : { enum: [...rest.enum, null] }), ...words };
}

function convertProperties(
  properties: Record<string, JsonSchema>,
  component: string,
): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const converted = convert(property, component);
      const description = converted.description ?? describeField(component, name);
      return [name, description === undefined ? converted : { ...converted, description }];
    }),
  );
}

/** A member that begins with x- is a note of the contract to itself. */
function publicMembers(schema: JsonSchema): JsonSchema {
  const { anyOf: _union, ...rest } = schema;
  return Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith("x-")));
}
