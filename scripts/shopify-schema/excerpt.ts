import type {
  IntrospectionField,
  IntrospectionInputValue,
  IntrospectionQuery,
  IntrospectionType,
  IntrospectionTypeRef,
} from "graphql";

const QUERIES = new Set([
  "orders",
  "order",
  "return",
  "refund",
  "nodes",
  "node",
  "products",
  "product",
  "productVariants",
  "productVariant",
  "shop",
  "currentAppInstallation",
  "bulkOperation",
  "bulkOperations",
  "currentBulkOperation",
  "returnReasonDefinitions",
  "deletionEvents",
  "webhookSubscriptions",
  "webhookSubscription",
  "publicApiVersions",
  "ordersCount",
  "productsCount",
]);

const MUTATIONS = [
  "bulkOperationRunQuery",
  "bulkOperationCancel",
  "webhookSubscriptionCreate",
  "webhookSubscriptionUpdate",
  "webhookSubscriptionDelete",
];

/** Their connections, edges and the unions and interfaces between them come along by themselves. */
const OBJECTS = [
  "Order",
  "OrderApp",
  "OrderAttribution",
  "LineItem",
  "LineItemGroup",
  "Return",
  "ReturnDecline",
  "ReturnLineItem",
  "UnverifiedReturnLineItem",
  "ReturnReasonDefinition",
  "ReturnShippingFee",
  "RestockingFee",
  "ExchangeLineItem",
  "Fulfillment",
  "FulfillmentLineItem",
  "Refund",
  "RefundLineItem",
  "RefundShippingLine",
  "RefundDuty",
  "OrderAdjustment",
  "OrderTransaction",
  "OrderAgreement",
  "OrderEditAgreement",
  "RefundAgreement",
  "ReturnAgreement",
  "ProductSale",
  "GiftCardSale",
  "TipSale",
  "ShippingLineSale",
  "AdjustmentSale",
  "FeeSale",
  "DutySale",
  "AdditionalFeeSale",
  "UnknownSale",
  "ShippingLine",
  "ReverseFulfillmentOrder",
  "ReverseFulfillmentOrderLineItem",
  "ReverseFulfillmentOrderDisposition",
  "ReverseDelivery",
  "ReverseDeliveryLineItem",
  "ReverseDeliveryShippingDeliverable",
  "ReverseDeliveryLabelV2",
  "ReverseDeliveryTrackingV2",
  "Location",
  "TaxLine",
  "MoneyBag",
  "MoneyV2",
  "Product",
  "ProductVariant",
  "InventoryItem",
  "SelectedOption",
  "ProductOption",
  "TaxonomyCategory",
  "MediaImage",
  "MediaPreviewImage",
  "Image",
  "Metafield",
  "Shop",
  "ShopPlan",
  "AppInstallation",
  "AccessScope",
  "AppSubscription",
  "AppSubscriptionLineItem",
  "AppPlanV2",
  "AppRecurringPricing",
  "AppUsagePricing",
  "BulkOperation",
  "BulkOperationUserError",
  "DeletionEvent",
  "WebhookSubscription",
  "WebhookHttpEndpoint",
  "UserError",
  "ApiVersion",
  "Count",
  "PageInfo",
];

const INTERFACES = [
  "Node",
  "LegacyInteroperability",
  "DisplayableError",
  "Sale",
  "SalesAgreement",
  "ReturnLineItemType",
  "Media",
  "Fee",
];

type Kept = { types: Map<string, IntrospectionType>; outputs: Set<string> };

/** The schema cut down to the named roots and types, and to what their arguments need. */
export function excerptOf(published: IntrospectionQuery, documentTypes: Set<string>): IntrospectionQuery {
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
  const target = kept.types.get(nameOf(field.type));
  return target?.kind === "SCALAR" || target?.kind === "ENUM" || kept.outputs.has(nameOf(field.type));
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
