import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSchema, getNamedType, GraphQLError } from "graphql";
import type { GraphQLFieldResolver, GraphQLSchema } from "graphql";
import { missingScope } from "../access.ts";
import { fulfillmentFields } from "./fulfillment-fields.ts";
import { ledgerFields } from "./ledger-fields.ts";
import { pageOf } from "./listing.ts";
import type { Listing } from "./listing.ts";
import { operationFields } from "./operation-fields.ts";
import { orderFields } from "./order-fields.ts";
import { productFields } from "./product-fields.ts";
import { refundFields } from "./refund-fields.ts";
import type { RequestContext, Resolver, ResolversByType, Source } from "./resolver.ts";
import { returnFields } from "./return-fields.ts";
import { rootFields } from "./root-fields.ts";

const RESOLVERS: ResolversByType = {
  ...orderFields,
  ...returnFields,
  ...refundFields,
  ...fulfillmentFields,
  ...ledgerFields,
  ...productFields,
  ...rootFields,
  ...operationFields,
};

/** Types whose objects are plain records. */
const PLAIN = /(?:Connection|Edge|Payload|UserError|^PageInfo)$/;

export function readSchema(): GraphQLSchema {
  const file = join(import.meta.dirname, "..", "admin-2026-10.graphql");
  return buildSchema(readFileSync(file, "utf8"), { assumeValid: true });
}

/** The resolver of a field; a real field that the simulator has no data for is an error, never a silent null. */
export function resolverOf(typeName: string, fieldName: string): Resolver {
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
  return pageOf(value as Listing, args);
};

function accessDenied(fieldName: string, scope: string): GraphQLError {
  return new GraphQLError(
    `Access denied for ${fieldName} field. Required access: \`${scope}\` access scope.`,
    {
      extensions: { code: "ACCESS_DENIED", requiredAccess: `\`${scope}\` access scope.` },
    },
  );
}

export function typeNameOf(source: unknown): string {
  return (source as Source).typeName;
}
