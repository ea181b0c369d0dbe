import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSchema, getNamedType, GraphQLError } from "graphql";
import type { GraphQLFieldResolver, GraphQLObjectType, GraphQLSchema } from "graphql";
import { pageOf, wholeOf } from "./listing.ts";
import type { Listing } from "./listing.ts";
import type { RequestContext, Shown } from "./nodes.ts";
import { ROOTS } from "./root-fields.ts";

/** Types whose objects are plain records. */
const PLAIN = /(?:Connection|Edge|Payload|UserError|^PageInfo)$/;

let known: GraphQLSchema | undefined;

/** The platform's schema, read once in a process. */
export function readSchema(): GraphQLSchema {
  const file = join(import.meta.dirname, "..", "admin-2026-10.graphql");
  return (known ??= buildSchema(readFileSync(file, "utf8"), { assumeValid: true }));
}

/** A real field that the simulator has no data for is an error, never a silent null. */
export const resolveField: GraphQLFieldResolver<unknown, RequestContext> = (source, args, context, info) => {
  const { fieldName, parentType } = info;
  const owner = (source ?? ROOTS[parentType.name]) as Record<string, unknown>;
  const { isPlain, scope, isConnection } = kindOf(parentType, fieldName);
  if (isPlain) return owner[fieldName];
  if (scope !== undefined && !context.scopes.includes(scope)) throw accessDenied(fieldName, scope);
  if (!(fieldName in owner)) throw new Error(`The simulator serves no ${parentType.name}.${fieldName}`);
  const field = owner[fieldName];
  const value: unknown = typeof field === "function" ? field(args, context) : field;
  if (!isConnection || value === null) return value;
  return context.isWhole === true ? wholeOf(value as Listing) : pageOf(value as Listing, args);
};

/** What a field of a type is, and the access scope that it needs. */
type FieldKind = { isPlain: boolean; isConnection: boolean; scope: string | undefined };

/** Known fields: there are few, and each is resolved thousands of times. */
const kinds = new WeakMap<GraphQLObjectType, Map<string, FieldKind>>();

function kindOf(type: GraphQLObjectType, name: string): FieldKind {
  const ofType = kinds.get(type) ?? new Map<string, FieldKind>();
  kinds.set(type, ofType);
  const kind = ofType.get(name);
  if (kind !== undefined) return kind;
  const field = type.getFields()[name];
  const target = field === undefined ? "" : getNamedType(field.type).name;
  const made = {
    isPlain: PLAIN.test(type.name),
    isConnection: target.endsWith("Connection"),
    scope: SCOPES[target.replace(/(?:Connection|Edge)$/, "")],
  };
  ofType.set(name, made);
  return made;
}

export const ACCESS_DENIED = "ACCESS_DENIED";

function accessDenied(fieldName: string, scope: string): GraphQLError {
  return new GraphQLError(
    `Access denied for ${fieldName} field. Required access: \`${scope}\` access scope.`,
    {
      extensions: { code: ACCESS_DENIED, requiredAccess: `\`${scope}\` access scope.` },
    },
  );
}

export function typeNameOf(source: unknown): string {
  return (source as Shown).typeName;
}

/** The access scope that an object's type needs. */
const SCOPES: Record<string, string> = {
  Order: "read_orders",
  Refund: "read_orders",
  Return: "read_returns",
  ReturnReasonDefinition: "read_returns",
  Product: "read_products",
  ProductVariant: "read_products",
};
