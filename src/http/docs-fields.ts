import type { JsonSchema } from "./openapi-schemas.ts";

/** A field of an answer by its full name, such as `data.rows[].sku`. */
export type Field = { name: string; type: string; description: string };

/** A field with the words of its type, which variants that share it add up to. */
type Found = { name: string; types: string[]; description: string };

type Schema = JsonSchema & { $ref?: string; oneOf?: Schema[]; const?: unknown; format?: string };

/** Every field of an answer's schema in reading order, references followed. */
export function listFields(schema: JsonSchema, components: Readonly<Record<string, unknown>>): Field[] {
  const resolve = (given: Schema): Schema => {
    const name = given.$ref?.split("/").at(-1);
    if (name === undefined) return given;
    // What a reference says of itself is more to the point than what it refers to.
    return {
      ...(components[name] as Schema),
      ...(given.description === undefined ? {} : { description: given.description }),
    };
  };
  const visit = (given: Schema, name: string): Found[] => {
    const resolved = resolve(given);
    const variants = (resolved.oneOf ?? [resolved]).map(resolve);
    const own = { name, types: typeWords(variants), description: resolved.description ?? "" };
    const inner = mergeShared(variants.flatMap((variant) => innerFields(variant, name, visit)));
    return name === "" ? inner : [own, ...inner];
  };
  return visit(schema, "").map(({ name, types, description }) => ({
    name,
    type: types.join(" or "),
    description,
  }));
}

/** The variants of a selector share members: each is listed once, with what every variant makes of it. */
function mergeShared(fields: readonly Found[]): Found[] {
  const merged = new Map<string, Found>();
  for (const field of fields) {
    const types = [...(merged.get(field.name)?.types ?? []), ...field.types];
    merged.set(field.name, { ...field, ...merged.get(field.name), types: [...new Set(types)] });
  }
  return [...merged.values()];
}

function innerFields(
  schema: Schema,
  name: string,
  visit: (schema: Schema, name: string) => Found[],
): Found[] {
  if (schema.items !== undefined) {
    const [, ...fields] = visit(schema.items, `${name}[]`);
    return fields;
  }
  const prefix = name === "" ? "" : `${name}.`;
  return Object.entries(schema.properties ?? {}).flatMap(([member, property]) =>
    visit(property, `${prefix}${member}`),
  );
}

/** A schema's type in a few words: `integer`, `string or null`, `"month" or "year"`. */
export function typeText(variants: readonly Schema[]): string {
  return typeWords(variants).join(" or ");
}

function typeWords(variants: readonly Schema[]): string[] {
  const words = variants.flatMap((schema) => {
    if (schema.const !== undefined) return [JSON.stringify(schema.const)];
    if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value));
    const types = [schema.type ?? "any"].flat();
    return types.map((type) => namedType(type, schema));
  });
  return [...new Set(words)];
}

function namedType(type: string, { format, items }: Schema): string {
  if (type === "string" && format !== undefined) return format;
  if (type === "array")
    return items?.type === undefined || items.type === "object" ? "list" : `list of ${String(items.type)}s`;
  return type;
}
