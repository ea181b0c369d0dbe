import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSchema, getNamedType, GraphQLError } from "graphql";
import type { GraphQLFieldResolver, GraphQLSchema } from "graphql";
import { pageOf, wholeOf } from "./listing.ts";
import type { Listing } from "./listing.ts";
import { orderFields } from "./order-fields.ts";
import { productFields } from "./product-fields.ts";
import { rootFields } from "./root-fields.ts";
import type { RequestContext, Resolver, ResolversByType, ListingSource } from "./sources.ts";

const RESOLVERS: ResolversByType = { ...orderFields, ...productFields, ...rootFields };

/** Types whose objects are plain records. */
const PLAIN = /(?:Connection|Edge|Payload|UserError|^PageInfo)$/;

let known: GraphQLSchema | undefined;

/** The platform's schema, read once in a process. */
export function readSchema(): GraphQLSchema {
  const file = join(import.meta.dirname, "..", "admin-2026-10.graphql");
  return (known ??= buildSchema(readFileSync(file, "utf8"), { assumeValid: true }));
}

/** The resolver of a field; a real field that the simulator has no data for is an error, never a silent null. */
function resolverOf(typeName: string, fieldName: string): Resolver {
  const resolver = RESOLVERS[typeName]?.[fieldName];
  if (resolver === undefined) throw new Error(`The simulator serves no ${typeName}.${fieldName}`);
  return resolver;
}

export const resolveField: GraphQLFieldResolver<unknown, RequestContext> = (source, args, context, info) => {
  const { name } = info.parentType;
  if (PLAIN.test(name)) return (source as Record<string, unknown>)[info.fieldName];
  const target = getNamedType(info.returnType).name;
  const scope = missingScope(target, context.scopes);
  if (scope !== undefined) throw accessDenied(info.fieldName, scope);
  const value = resolverOf(name, info.fieldName)(source as never, args as never, context);
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
  return (source as ListingSource).typeName;
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
