import Type from "typebox";
import type { Static, TObject, TProperties, TSchema } from "typebox";
import { SourceFailed } from "../../../connector.ts";
import { isObject, nullable, object, reader, Text, Time, Whole, withoutNull } from "../../shared/foreign.ts";
import type { Json, Reader } from "../../shared/foreign.ts";
import {
  AGREEMENT,
  connection,
  FULFILLMENT,
  FULFILLMENT_LINE,
  id,
  LINE,
  ORDER,
  PRODUCT,
  REFUND,
  REFUND_LINE,
  RETURN,
  RETURN_LINE,
  REVERSE_DELIVERY,
  SALE,
  TITLE,
  VARIANT,
} from "./objects.ts";

/**
 * A GraphQL document and the reader of its answer's data, both derived from one schema; errors name the document. `leavesOut`: an
 * error about one of its nodes makes that node null; usually, any error is a refusal.
 */
export type Document<Answer = unknown> = {
  name: string;
  text: string;
  read: Reader<Answer>;
  leavesOut?: boolean;
};

/** `declaration`: the variables, as "($id: ID!)". */
function document<Answer extends TProperties>(
  name: string,
  declaration: string,
  answer: Answer,
  operation = "query",
): Document<Static<TObject<Answer>>> {
  const schema = object("QueryRoot", answer);
  const text = `${operation} ${name}${declaration} { ${selectionOf(schema)} }`;
  return { name, text, read: reader(TITLE, schema) };
}

/**
 * The fields of a schema's members. Options of a member: `field`: its name at the platform, if different; `args`: the arguments
 * after the name; `cast`: the field's type is an interface or union, of which the object is one type; `on`: the types that have
 * it.
 */
function selectionOf(schema: TSchema): string {
  const { properties = {} } = schema as { properties?: TProperties };
  return Object.entries(properties)
    .map(([name, member]) => fieldOf(name, withoutNull(member)))
    .join(" ");
}

type Asked = { field?: string; args?: string; cast?: true; on?: readonly string[]; title?: string };

function fieldOf(name: string, member: TSchema): string {
  const { items } = member as { items?: TSchema };
  const inner = withoutNull(items ?? member);
  const { field, args = "", on, cast, title } = { ...inner, ...member } as Asked;
  const selection = selectionOf(inner);
  const set = cast === true ? `... on ${title} { ${selection} }` : selection;
  const text = `${field === undefined ? name : `${name}: ${field}`}${args}${set === "" ? "" : ` { ${set} }`}`;
  return on === undefined ? text : on.map((type) => `... on ${type} { ${text} }`).join(" ");
}

/** Objects by their ids; null = gone. */
function nodes<Properties extends TProperties>(name: string, node: TObject<Properties>) {
  const list = Type.Array(Type.Union([node, Type.Null()]), { args: "(ids: $ids)", cast: true });
  return document(name, "($ids: [ID!]!)", { nodes: list });
}

/** A further page of a connection of one object. */
function further<Item extends TSchema>(
  name: string,
  type: string,
  field: string,
  item: Item,
  { first = 100, itemField = "nodes" } = {},
) {
  const page = connection(item, `(first: ${first}, after: $after)`, { field, itemField });
  return document(name, "($id: ID!, $after: String)", {
    parent: object(type, { page }, { field: "node", args: "(id: $id)", cast: true }),
  });
}

/** Records by when they were updated. */
function changed(name: string, field: string) {
  const args = "(first: 250, after: $after, query: $query, sortKey: UPDATED_AT)";
  const item = object("Record", { id: Text, updatedAt: Time });
  return document(name, "($query: String, $after: String)", { page: connection(item, args, { field }) });
}

/** A field with what follows its name. */
function called<Schema extends TSchema>(args: string, schema: Schema): Schema {
  return { ...schema, args };
}

const OPERATION = id("BulkOperation");
const OPERATION_STATE = object("BulkOperation", {
  id: Text,
  status: Text,
  errorCode: nullable(Text),
  objectCount: Whole,
  url: nullable(Text),
});
const OPERATION_STARTED = object("BulkOperationRunQueryPayload", {
  bulkOperation: nullable(OPERATION),
  userErrors: Type.Array(object("BulkOperationUserError", { code: nullable(Text), message: Text })),
});
const OPERATION_CANCELLED = object("BulkOperationCancelPayload", { bulkOperation: nullable(OPERATION) });
const SUBSCRIPTION = object("WebhookSubscription", {
  id: Text,
  topic: Text,
  uri: Text,
  includeFields: Type.Array(Text),
});
/** A mutation of subscriptions. */
function subscribed(field: string, args: string) {
  const userErrors = Type.Array(object("UserError", { message: Text }));
  return { made: object("WebhookSubscriptionPayload", { userErrors }, { field, args }) };
}
/** An agreement with the cursor of its successor. */
const AGREEMENT_EDGE = object("SalesAgreementEdge", {
  cursor: Text,
  node: object("SalesAgreement", { ...AGREEMENT, sales: connection(SALE, "(first: 15)") }),
});
const AGREEMENT_SALES = object("SalesAgreementConnection", {
  nodes: Type.Array(object("SalesAgreement", { sales: connection(SALE, "(first: 100, after: $after)") })),
});
const RETURN_NODE = object("Return", { ...RETURN, returnLineItems: connection(RETURN_LINE, "(first: 10)") });
const REFUNDS = Type.Array(
  object("Refund", { ...REFUND, refundLineItems: connection(REFUND_LINE, "(first: 50)") }),
);
const FULFILLMENTS = Type.Array(
  object("Fulfillment", {
    ...FULFILLMENT,
    fulfillmentLineItems: connection(FULFILLMENT_LINE, "(first: 50)"),
  }),
);
const ORDER_NODE = object("Order", {
  ...ORDER,
  fulfillments: FULFILLMENTS,
  lineItems: connection(LINE, "(first: 10)"),
  returns: connection(RETURN_NODE, "(first: 3)"),
  refunds: REFUNDS,
  agreements: connection(AGREEMENT_EDGE, "(first: 5)", { itemField: "edges" }),
});
const REVERSE_ORDER = object("ReverseFulfillmentOrder", {
  id: Text,
  reverseDeliveries: connection(REVERSE_DELIVERY, "(first: 5)"),
});
const TRACKED_RETURN = object("Return", {
  id: Text,
  reverseFulfillmentOrders: connection(REVERSE_ORDER, "(first: 5)"),
});

export const DOCUMENTS = {
  shop: document("Shop", "", {
    shop: object("Shop", { myshopifyDomain: Text, currencyCode: Text }),
    currentAppInstallation: object("AppInstallation", {
      accessScopes: Type.Array(object("AccessScope", { handle: Text })),
      activeSubscriptions: Type.Array(
        object("AppSubscription", { id: Text, name: Text, status: Text, currentPeriodEnd: nullable(Time) }),
      ),
    }),
  }),
  webhookList: document("WebhookList", "($after: String)", {
    page: connection(SUBSCRIPTION, "(first: 100, after: $after)", { field: "webhookSubscriptions" }),
  }),
  webhookCreate: document(
    "WebhookCreate",
    "($topic: WebhookSubscriptionTopic!, $subscription: WebhookSubscriptionInput!)",
    subscribed("webhookSubscriptionCreate", "(topic: $topic, webhookSubscription: $subscription)"),
    "mutation",
  ),
  webhookUpdate: document(
    "WebhookUpdate",
    "($id: ID!, $subscription: WebhookSubscriptionInput!)",
    subscribed("webhookSubscriptionUpdate", "(id: $id, webhookSubscription: $subscription)"),
    "mutation",
  ),
  bulkRun: document(
    "BulkRun",
    "($query: String!)",
    { bulkOperationRunQuery: called("(query: $query, groupObjects: false)", OPERATION_STARTED) },
    "mutation",
  ),
  bulkPoll: document("BulkPoll", "($id: ID!)", {
    bulkOperation: nullable(called("(id: $id)", OPERATION_STATE)),
  }),
  bulkCancel: document(
    "BulkCancel",
    "($id: ID!)",
    { bulkOperationCancel: called("(id: $id)", OPERATION_CANCELLED) },
    "mutation",
  ),
  changedOrders: changed("ChangedOrders", "orders"),
  changedProducts: changed("ChangedProducts", "products"),
  // A return may be there although the app may not see its order, or the order is gone: such a field is an error if it may not be null
  // (https://shopify.dev/changelog/posts/reversefulfillmentorder-order-field-is-nullable-as-of-2025-01).
  returnOrders: {
    ...nodes("ReturnOrders", object("Return", { id: Text, order: id("Order") })),
    leavesOut: true,
  },
  productVariants: further("ProductVariants", "Product", "variants", VARIANT),
  orders: nodes("Orders", ORDER_NODE),
  orderLines: further("OrderLines", "Order", "lineItems", LINE),
  orderReturns: further("OrderReturns", "Order", "returns", RETURN_NODE, { first: 25 }),
  returnLines: further("ReturnLines", "Return", "returnLineItems", RETURN_LINE),
  orderAgreements: further("OrderAgreements", "Order", "agreements", AGREEMENT_EDGE, {
    first: 10,
    itemField: "edges",
  }),
  // An agreement is not a node: it is found as the first one after its predecessor's cursor.
  agreementSales: document("AgreementSales", "($id: ID!, $previous: String, $after: String)", {
    order: called(
      "(id: $id)",
      object("Order", { agreements: called("(first: 1, after: $previous)", AGREEMENT_SALES) }),
    ),
  }),
  refunds: nodes("Refunds", object("Order", { id: Text, refunds: REFUNDS, fulfillments: FULFILLMENTS })),
  refundLines: further("RefundLines", "Refund", "refundLineItems", REFUND_LINE),
  fulfillmentLines: further("FulfillmentLines", "Fulfillment", "fulfillmentLineItems", FULFILLMENT_LINE),
  trackings: nodes("Trackings", TRACKED_RETURN),
  reverseOrders: further("ReverseOrders", "Return", "reverseFulfillmentOrders", REVERSE_ORDER, { first: 25 }),
  reverseDeliveries: further(
    "ReverseDeliveries",
    "ReverseFulfillmentOrder",
    "reverseDeliveries",
    REVERSE_DELIVERY,
  ),
} as const;

/** A connection of a bulk operation, which brings all its pages. */
function bulk(type: string, properties: TProperties): TSchema {
  const edge = object(`${type}Edge`, { node: object(type, properties) });
  return object(`${type}Connection`, { edges: Type.Array(edge) });
}

/** The documents of bulk operations; these take no variables. */
export const BULK_DOCUMENTS = {
  orders: document("BulkOrders", "", {
    orders: bulk("Order", {
      ...ORDER,
      refunds: Type.Array(id("Refund")),
      lineItems: bulk("LineItem", LINE.properties),
    }),
  }),
  returns: document("BulkReturns", "", {
    orders: bulk("Order", {
      id: Text,
      returns: bulk("Return", {
        ...RETURN,
        returnLineItems: bulk("ReturnLineItemType", RETURN_LINE.properties),
      }),
    }),
  }),
  ledger: document("BulkLedger", "", {
    orders: bulk("Order", {
      id: Text,
      agreements: bulk("SalesAgreement", { ...AGREEMENT, sales: bulk("Sale", SALE.properties) }),
    }),
  }),
} as const;

/** A metafield of products; both names hold letters, digits, `_`, `-`, `$` and `:` only. */
export type MetafieldName = { namespace: string; key: string };

/** Products by their ids, with the metafield that names their family, if any does. */
export function productsDocument(metafield: MetafieldName | null) {
  const product = { ...productOf(metafield), variants: connection(VARIANT, "(first: 25)") };
  return nodes("Products", object("Product", product));
}

/** The bulk document of all products, with that metafield. */
export function bulkProductsDocument(metafield: MetafieldName | null): Document {
  const product = { ...productOf(metafield), variants: bulk("ProductVariant", VARIANT.properties) };
  return document("BulkProducts", "", { products: bulk("Product", product) });
}

function productOf(metafield: MetafieldName | null): typeof PRODUCT {
  const { metafield: value, ...product } = PRODUCT;
  if (metafield === null) return product as typeof PRODUCT;
  const args = `(namespace: ${JSON.stringify(metafield.namespace)}, key: ${JSON.stringify(metafield.key)})`;
  return {
    ...product,
    metafield: { ...value, anyOf: [{ ...withoutNull(value), args }, Type.Null()] } as never,
  };
}

/** A file that is cut off or garbled: downloading it again may help. */
export class DownloadBroken extends Error {
  override name = "DownloadBroken";
}

/** No requested record comes near the first limit, nor a file's average near the second. */
const MAX_LINE_CHARACTERS = 4 * 1024 * 1024;
const MAX_BYTES_PER_OBJECT = 65_536;

/** Size limit of a file with this number of objects. */
export function largestFileBytes(objects: number): number {
  return MAX_LINE_CHARACTERS + objects * MAX_BYTES_PER_OBJECT;
}

/**
 * Hands each line of a JSON lines file to `onNode`, in bounded memory; `onChunk` is waited for between chunks. Returns
 * the number of lines. Throws DownloadBroken when it breaks off, SourceFailed when it is larger than it can be.
 */
export async function readLines(
  body: ReadableStream<Uint8Array>,
  onNode: (node: Json) => void,
  onChunk: (lines: number) => Promise<void>,
  maxBytes: number,
): Promise<number> {
  let rest = "";
  let lines = 0;
  let bytes = 0;
  const readLine = (line: string): void => {
    if (line === "") return;
    onNode(parseNode(line));
    lines += 1;
  };
  const chunks = body[Symbol.asyncIterator]();
  const decoder = new TextDecoder();
  try {
    for (let chunk = await nextChunk(chunks); chunk !== null; chunk = await nextChunk(chunks)) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      bytes += chunk.byteLength;
      if (bytes > maxBytes || rest.length > MAX_LINE_CHARACTERS) {
        throw new SourceFailed(
          "The file of a Shopify bulk operation is larger than expected for its records.",
        );
      }
      for (const part of parts) readLine(part);
      await onChunk(lines);
    }
  } finally {
    // Ends the connection of a download that is not read to its end.
    await chunks.return?.().catch(() => {});
  }
  readLine(rest);
  return lines;
}

async function nextChunk(chunks: AsyncIterator<Uint8Array>): Promise<Uint8Array | null> {
  try {
    const { value, done } = await chunks.next();
    return done === true ? null : value;
  } catch (error) {
    throw new DownloadBroken("the connection broke", { cause: error });
  }
}

function parseNode(line: string): Json {
  let node: unknown = null;
  try {
    node = JSON.parse(line);
  } catch (error) {
    throw new DownloadBroken("a line is cut off", { cause: error });
  }
  if (isObject(node)) return node;
  throw new DownloadBroken("a line is not an object");
}
