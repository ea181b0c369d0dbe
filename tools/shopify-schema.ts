/**
 * Writes tools/simulators/shopify/admin-2026-10.graphql: the part of the store platform's published schema that the
 * simulator serves. Usage: node scripts/launch.js tools/shopify-schema.ts
 *
 * A kept type keeps every field whose type is a scalar, an enum or another kept type, with its real arguments. So a document with
 * real fields of these types validates, one with invented fields does not.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import {
  buildClientSchema,
  buildSchema,
  getNamedType,
  isCompositeType,
  isTypeDefinitionNode,
  Kind,
  parse,
  print,
  printSchema,
} from "graphql";
import { TypeInfo, visit, visitWithTypeInfo } from "graphql";
import type { FieldDefinitionNode, IntrospectionQuery, TypeDefinitionNode, TypeNode } from "graphql";
import type { GraphQLSchema } from "graphql";
import { makeFolder } from "../tests/support/folder.ts";
import {
  BULK_DOCUMENTS,
  bulkProductsDocument,
  DOCUMENTS,
  productsDocument,
} from "../src/sync/connectors/shopify/api/documents.ts";

const SOURCE_PACKAGE = "@shopify/dev-mcp@1.16.0";
const SOURCE_FILE = "package/dist/data/admin_2026-10.json.gz";
const PROJECT = join(import.meta.dirname, "..");
const TARGET = join(PROJECT, "tools/simulators/shopify/admin-2026-10.graphql");

const namesIn = (text: string): string[] => text.trim().split(/\s+/u);

const QUERIES = namesIn(`
  orders order return refund nodes node products product productVariants productVariant shop
  currentAppInstallation bulkOperation bulkOperations currentBulkOperation returnReasonDefinitions
  deletionEvents webhookSubscriptions webhookSubscription publicApiVersions ordersCount productsCount
`);

const MUTATIONS = namesIn(`
  bulkOperationRunQuery bulkOperationCancel webhookSubscriptionCreate webhookSubscriptionUpdate
  webhookSubscriptionDelete
`);

/** Their connections and edges, and the unions and interfaces between them, are kept automatically. */
const OBJECTS = namesIn(`
  Order OrderApp OrderAttribution LineItem LineItemGroup Return ReturnDecline ReturnLineItem
  UnverifiedReturnLineItem ReturnReasonDefinition ReturnShippingFee RestockingFee ExchangeLineItem Fulfillment
  FulfillmentLineItem Refund RefundLineItem RefundShippingLine RefundDuty OrderAdjustment OrderTransaction
  OrderAgreement OrderEditAgreement RefundAgreement ReturnAgreement ProductSale GiftCardSale TipSale
  ShippingLineSale AdjustmentSale FeeSale DutySale AdditionalFeeSale UnknownSale ShippingLine
  ReverseFulfillmentOrder ReverseFulfillmentOrderLineItem ReverseFulfillmentOrderDisposition ReverseDelivery
  ReverseDeliveryLineItem ReverseDeliveryShippingDeliverable ReverseDeliveryLabelV2 ReverseDeliveryTrackingV2
  Location TaxLine MoneyBag MoneyV2 Product ProductVariant InventoryItem SelectedOption ProductOption
  TaxonomyCategory MediaImage MediaPreviewImage Image Metafield Shop ShopPlan AppInstallation AccessScope
  AppSubscription AppSubscriptionLineItem AppPlanV2 AppRecurringPricing AppUsagePricing BulkOperation
  BulkOperationUserError DeletionEvent WebhookSubscription WebhookHttpEndpoint UserError ApiVersion Count
  PageInfo
`);

const INTERFACES = namesIn(`
  Node LegacyInteroperability DisplayableError Sale SalesAgreement ReturnLineItemType Media Fee
`);

/** The schema of the published package, fetched by npm and read without running any of it. */
function readPublished(): GraphQLSchema {
  const cwd = makeFolder();
  const packed = execFileSync("npm", ["pack", SOURCE_PACKAGE, "--silent"], { cwd, encoding: "utf8" });
  execFileSync("tar", ["-xzf", packed.trim(), SOURCE_FILE], { cwd });
  const text = gunzipSync(readFileSync(join(cwd, SOURCE_FILE))).toString("utf8");
  return buildClientSchema((JSON.parse(text) as { data: IntrospectionQuery }).data);
}

/** The object types that the connector's own documents reach. */
function typesOfDocuments(schema: GraphQLSchema): string[] {
  const found: string[] = [];
  const metafield = { namespace: "custom", key: "family" };
  const ofProducts = [productsDocument(metafield), bulkProductsDocument(metafield)];
  for (const { text } of [...Object.values(DOCUMENTS), ...Object.values(BULK_DOCUMENTS), ...ofProducts]) {
    const info = new TypeInfo(schema);
    const note = (): void => {
      const named = getNamedType(info.getType());
      if (isCompositeType(named)) found.push(named.name);
    };
    visit(parse(text), visitWithTypeInfo(info, { Field: note, InlineFragment: note }));
  }
  return found;
}

/** The schema cut down to the named roots and types, and to what their arguments need. */
function excerptOf(published: GraphQLSchema): string {
  const definitions = parse(printSchema(published)).definitions.filter((one) => isTypeDefinitionNode(one));
  const types = new Map(definitions.map((type) => [type.name.value, type]));
  const kept = keptTypes(definitions, typesOfDocuments(published));
  const queue = [...kept, "QueryRoot", "Mutation"];
  const excerpt = new Map<string, TypeDefinitionNode>();
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    const type = types.get(name);
    if (type === undefined || excerpt.has(name)) continue;
    const cut = cutType(
      type,
      (field) => {
        if (name === "QueryRoot") return QUERIES.includes(field.name.value);
        if (name === "Mutation") return MUTATIONS.includes(field.name.value);
        const reached = types.get(nameOf(field.type))?.kind ?? Kind.SCALAR_TYPE_DEFINITION;
        const isLeaf = reached === Kind.SCALAR_TYPE_DEFINITION || reached === Kind.ENUM_TYPE_DEFINITION;
        return isLeaf || kept.has(nameOf(field.type));
      },
      kept,
    );
    excerpt.set(name, cut);
    visit(cut, { NamedType: ({ name: { value } }) => void queue.push(value) });
  }
  const sorted = [...excerpt.values()].toSorted((one, other) => (one.name.value < other.name.value ? -1 : 1));
  const schema = "schema { query: QueryRoot mutation: Mutation }\n";
  return printSchema(buildSchema(schema + sorted.map((type) => print(type)).join("\n")));
}

/** The listed objects and interfaces, their payloads, and every connection, edge and union that leads to them. */
function keptTypes(definitions: readonly TypeDefinitionNode[], ofDocuments: readonly string[]): Set<string> {
  const payloads = MUTATIONS.map((name) => `${name[0]?.toUpperCase()}${name.slice(1)}Payload`);
  const kept = new Set([...OBJECTS, ...INTERFACES, ...ofDocuments, ...payloads]);
  for (const type of definitions) {
    if (type.kind !== Kind.UNION_TYPE_DEFINITION) continue;
    if (type.types?.some(({ name }) => kept.has(name.value)) === true) kept.add(type.name.value);
  }
  for (const [suffix, member] of [
    ["Edge", "node"],
    ["Connection", "edges"],
  ] as const) {
    for (const type of definitions) {
      if (type.kind !== Kind.OBJECT_TYPE_DEFINITION || !type.name.value.endsWith(suffix)) continue;
      const field = type.fields?.find(({ name }) => name.value === member);
      if (field !== undefined && kept.has(nameOf(field.type))) kept.add(type.name.value);
    }
  }
  return kept;
}

/** A type without descriptions, fields and members that are not kept. */
function cutType(
  type: TypeDefinitionNode,
  isKept: (field: FieldDefinitionNode) => boolean,
  kept: ReadonlySet<string>,
): TypeDefinitionNode {
  const isOutput = type.kind === Kind.OBJECT_TYPE_DEFINITION || type.kind === Kind.INTERFACE_TYPE_DEFINITION;
  const cut: TypeDefinitionNode = isOutput
    ? {
        ...type,
        interfaces: type.interfaces?.filter(({ name }) => INTERFACES.includes(name.value)) ?? [],
        fields: type.fields?.filter(isKept) ?? [],
      }
    : type.kind === Kind.UNION_TYPE_DEFINITION
      ? { ...type, types: type.types?.filter(({ name }) => kept.has(name.value)) ?? [] }
      : type;
  return visit(cut, {
    enter: (node) => ("description" in node ? { ...node, description: undefined } : undefined),
  });
}

function nameOf(type: TypeNode): string {
  return type.kind === Kind.NAMED_TYPE ? type.name.value : nameOf(type.type);
}

const excerpt = excerptOf(readPublished()).replaceAll(
  /@deprecated\(reason: "(?:[^"\\]|\\.)*"\)/g,
  "@deprecated",
);
writeFileSync(TARGET, `${excerpt}\n`);
execFileSync(process.execPath, [join(PROJECT, "node_modules/oxfmt/bin/oxfmt"), TARGET]);
