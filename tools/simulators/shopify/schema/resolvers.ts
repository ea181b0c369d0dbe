import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSchema, getNamedType, GraphQLError } from "graphql";
import type { GraphQLFieldResolver, GraphQLSchema } from "graphql";
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
  if (PLAIN.test(parentType.name)) return owner[fieldName];
  const target = getNamedType(info.returnType).name;
  const scope = missingScope(target, context.scopes);
  if (scope !== undefined) throw accessDenied(fieldName, scope);
  if (!(fieldName in owner)) throw new Error(`The simulator serves no ${parentType.name}.${fieldName}`);
  const field = owner[fieldName];
  const value: unknown = typeof field === "function" ? field(args, context) : field;
  if (!target.endsWith("Connection") || value === null) return value;
  return context.isWhole === true ? wholeOf(value as Listing) : pageOf(value as Listing, args);
};

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

/** The scope that is missing to read a field of this type; undefined when none is. */
function missingScope(typeName: string, scopes: readonly string[]): string | undefined {
  const needed = SCOPES[typeName.replace(/(?:Connection|Edge)$/, "")];
  return needed === undefined || scopes.includes(needed) ? undefined : needed;
}
