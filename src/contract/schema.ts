import Type from "typebox";
import type { TProperties, TSchema } from "typebox";

/** `component` names a schema in the OpenAPI document, where every other place then refers to it. */
type Words = { description?: string; component?: string };

function membersOf({ component, ...words }: Words): Record<string, unknown> {
  return component === undefined ? words : { ...words, "x-component": component };
}

/** An object that has these members and no others. */
export function closed<Properties extends TProperties>(properties: Properties, words: Words = {}) {
  return Type.Object(properties, { ...membersOf(words), additionalProperties: false });
}

/** Members that a row may lack: `fields=required` leaves them out. */
export function spare<Properties extends TProperties>(properties: Properties) {
  return Type.Partial(Type.Object(properties)).properties;
}

export function oneOf<Variants extends TSchema[]>(variants: [...Variants], words: Words = {}) {
  return Type.Union(variants, membersOf(words));
}

export function orNull<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

export function text(description: string) {
  return Type.String({ description });
}

export function count(description: string) {
  return Type.Integer({ minimum: 0, description });
}
