/**
 * Writes tools/simulators/shopify/admin-2026-10.graphql: the part of the store platform's published schema that the
 * simulator serves. Usage: node scripts/launch.js scripts/shopify-schema.ts
 *
 * A kept type keeps every field that ends in a scalar or an enum, and every field that leads to another kept
 * type, with its real arguments. So a document with real fields of these types validates, an invented one does not.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import {
  buildClientSchema,
  isCompositeType,
  getNamedType,
  parse,
  printSchema,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from "graphql";
import type {
  IntrospectionQuery,
  IntrospectionField,
  IntrospectionInputValue,
  IntrospectionType,
  IntrospectionTypeRef,
} from "graphql";
import {
  BULK_DOCUMENTS,
  bulkProductsDocument,
  DOCUMENTS,
  productsDocument,
} from "../src/sync/connectors/shopify/api/documents.ts";
import { runTool } from "./lint/tool.ts";

const SOURCE_PACKAGE = "@shopify/dev-mcp@1.16.0";
const SOURCE_FILE = "package/dist/data/admin_2026-10.json.gz";

const root = join(import.meta.dirname, "..");
const target = join(root, "tools", "simulators", "shopify", "admin-2026-10.graphql");

/** The introspection result of the published package, fetched by npm and read without running any of it. */
function readPublished(): IntrospectionQuery {
  const folder = mkdtempSync(join(tmpdir(), "shopify-schema-"));
  try {
    const packed = execFileSync("npm", ["pack", SOURCE_PACKAGE, "--silent"], {
      cwd: folder,
      encoding: "utf8",
    });
    execFileSync("tar", ["-xzf", packed.trim(), SOURCE_FILE], { cwd: folder });
    const json = JSON.parse(gunzipSync(readFileSync(join(folder, SOURCE_FILE))).toString("utf8")) as {
      data: IntrospectionQuery;
    };
    return json.data;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The object types that the connector's own documents reach. */
function typesOfDocuments(schemaData: IntrospectionQuery): Set<string> {
  const schema = buildClientSchema(schemaData);
  const found = new Set<string>();
  const metafield = { namespace: "custom", key: "family" };
  const documents = [
    ...Object.values(DOCUMENTS),
    ...Object.values(BULK_DOCUMENTS),
    productsDocument(metafield),
    bulkProductsDocument(metafield),
  ];
  for (const { text } of documents) {
    const info = new TypeInfo(schema);
    const note = (): void => {
      const type = info.getType();
      const named = type === null || type === undefined ? undefined : getNamedType(type);
      if (named !== undefined && isCompositeType(named)) found.add(named.name);
    };
    visit(parse(text), visitWithTypeInfo(info, { Field: note, InlineFragment: note }));
  }
  return found;
}

const namesIn = (text: string): string[] => text.trim().split(/\s+/u);

const QUERIES = new Set(
  namesIn(`
  orders order return refund nodes node products product productVariants productVariant shop
  currentAppInstallation bulkOperation bulkOperations currentBulkOperation returnReasonDefinitions
  deletionEvents webhookSubscriptions webhookSubscription publicApiVersions ordersCount productsCount
`),
);

const MUTATIONS = namesIn(`
  bulkOperationRunQuery bulkOperationCancel webhookSubscriptionCreate webhookSubscriptionUpdate
  webhookSubscriptionDelete
`);

/** Their connections, edges and the unions and interfaces between them come along by themselves. */
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

type Kept = { types: Map<string, IntrospectionType>; outputs: Set<string> };

/** The schema cut down to the named roots and types, and to what their arguments need. */
function excerptOf(published: IntrospectionQuery, documentTypes: Set<string>): IntrospectionQuery {
  const { __schema: schema } = published;
  const types = new Map(schema.types.map((type) => [type.name, type]));
  const kept: Kept = { types, outputs: keptOutputs(types, documentTypes) };
  const queue = [...kept.outputs, "QueryRoot", "Mutation", "Boolean", "String"];
  const excerpt = new Map<string, IntrospectionType>();
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (excerpt.has(name)) continue;
    const type = types.get(name);
    if (type === undefined) throw new Error(`the published schema has no type ${name}`);
    const cut = cutType(kept, type);
    excerpt.set(name, cut);
    queue.push(...referencesOf(cut));
  }
  const byName = [...excerpt.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return { __schema: { ...schema, types: byName, directives: [], subscriptionType: null } };
}

/** The listed objects and interfaces, their payloads, and every connection, edge and union that leads to them. */
function keptOutputs(types: Map<string, IntrospectionType>, documentTypes: Set<string>): Set<string> {
  const kept = new Set([...OBJECTS, ...INTERFACES, ...documentTypes]);
  for (const mutation of MUTATIONS) kept.add(`${mutation[0]?.toUpperCase()}${mutation.slice(1)}Payload`);
  for (const type of types.values()) {
    if (type.kind === "UNION" && type.possibleTypes.some(({ name }) => kept.has(name))) kept.add(type.name);
  }
  for (const suffix of ["Edge", "Connection"]) {
    for (const type of types.values()) {
      if (!type.name.endsWith(suffix) || type.kind !== "OBJECT") continue;
      const node = type.fields.find(({ name }) => name === (suffix === "Edge" ? "node" : "edges"));
      if (node !== undefined && kept.has(nameOf(node.type))) kept.add(type.name);
    }
  }
  return kept;
}

function cutType(kept: Kept, type: IntrospectionType): IntrospectionType {
  const plain = { ...type, description: null };
  switch (plain.kind) {
    case "OBJECT":
    case "INTERFACE":
      return {
        ...plain,
        interfaces: plain.interfaces.filter(({ name }) => INTERFACES.includes(name)),
        fields: plain.fields.filter((field) => isKept(kept, plain.name, field)).map(withoutText),
        ...(plain.kind === "INTERFACE" && {
          possibleTypes: plain.possibleTypes.filter(({ name }) => kept.outputs.has(name)),
        }),
      };
    case "UNION":
      return {
        ...plain,
        possibleTypes: plain.possibleTypes.filter(({ name }) => kept.outputs.has(name)),
      };
    case "ENUM":
      return { ...plain, enumValues: plain.enumValues.map((value) => ({ ...value, description: null })) };
    case "INPUT_OBJECT":
      return { ...plain, inputFields: plain.inputFields.map(plainInput) };
    default:
      return plain;
  }
}

function isKept(kept: Kept, owner: string, field: IntrospectionField): boolean {
  if (owner === "QueryRoot") return QUERIES.has(field.name);
  if (owner === "Mutation") return MUTATIONS.includes(field.name);
  const reached = kept.types.get(nameOf(field.type));
  return reached?.kind === "SCALAR" || reached?.kind === "ENUM" || kept.outputs.has(nameOf(field.type));
}

function withoutText(field: IntrospectionField): IntrospectionField {
  return { ...field, description: null, args: field.args.map(plainInput) };
}

function plainInput(input: IntrospectionInputValue): IntrospectionInputValue {
  return { ...input, description: null };
}

function referencesOf(type: IntrospectionType): string[] {
  switch (type.kind) {
    case "OBJECT":
    case "INTERFACE":
      return [
        ...type.interfaces.map(({ name }) => name),
        ...type.fields.flatMap((field) => [
          nameOf(field.type),
          ...field.args.map((argument) => nameOf(argument.type)),
        ]),
      ];
    case "INPUT_OBJECT":
      return type.inputFields.map((field) => nameOf(field.type));
    default:
      return [];
  }
}

function nameOf(type: IntrospectionTypeRef): string {
  return type.kind === "LIST" || type.kind === "NON_NULL" ? nameOf(type.ofType) : type.name;
}

const published = readPublished();
const excerpt = excerptOf(published, typesOfDocuments(published));
const excerptText = printSchema(buildClientSchema(excerpt)).replaceAll(
  /@deprecated\(reason: "(?:[^"\\]|\\.)*"\)/g,
  "@deprecated",
);
writeFileSync(target, `${excerptText}\n`);
process.exitCode = runTool("oxfmt/bin/oxfmt", [target]);
