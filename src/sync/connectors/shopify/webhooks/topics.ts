import Type, { type Static, type TSchema } from "typebox";
import { Compile } from "typebox/compile";
import type { NamedRecord } from "../../../../store/queries/webhook-delivery.ts";
import type { Json } from "../../shared/foreign.ts";

/** A request from a customer or the platform; orders by their numbers. */
export type PrivacyAct =
  | { topic: "customers/data_request" | "shop/redact" }
  | { topic: "customers/redact"; orderNumbers: string[] };

/** The effect of a delivery. `records` have to be fetched again. */
export type Meaning =
  | { act: "refresh"; records: NamedRecord[] }
  | { act: "uninstall" }
  | { act: "privacy"; request: PrivacyAct }
  | { act: "nothing" };

/** The kind of pending record for a return without its order. */
export const RETURN = "return";
/** For a deleted order: if the platform does not find it, it is deleted, whatever else hides orders. */
export const DELETED_ORDER = "deleted_order";

/** Records that a later connection would not discover by itself. */
export const LASTING_KINDS: ReadonlySet<string> = new Set([DELETED_ORDER]);

/** A record's number, as the platform writes it in most payloads. */
const id = Type.Union([
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  Type.String({ pattern: "^[0-9]{1,20}$" }),
]);
const text = Type.String({ minLength: 1, maxLength: 255 });
const gid = (type: string) => Type.String({ pattern: `^gid://shopify/${type}/`, maxLength: 255 });
/** Only other topics have this member. */
const foreign = Type.Optional(Type.Never());
/** A deletion contains only the number; a changed record has its gid. */
const deletion = Type.Object({
  id,
  admin_graphql_api_id: foreign,
  order_id: foreign,
  myshopify_domain: foreign,
});
const changed = (type: string) => Type.Object({ id: Type.Optional(id), admin_graphql_api_id: gid(type) });
const anOrder = Type.Object({ id: Type.Optional(id), admin_graphql_api_id: Type.Optional(text) });
const shop = { shop_id: id, shop_domain: text };

/** A topic by the platform's webhook reference. */
type Topic = {
  /** Required and forbidden members of its payload. */
  schema: TSchema;
  /** Whatever comes with the same body is a repetition. */
  isSentOnce: boolean;
  /** null = the payload is not one of the topic. */
  meaningOf: (payload: never) => Meaning | null;
};

function topic<Schema extends TSchema>(
  schema: Schema,
  meaning: (payload: Static<Schema>) => Meaning | null,
  once = false,
): Topic {
  return { schema, isSentOnce: once, meaningOf: meaning };
}

function refresh(kind: string, recordId: string): Meaning {
  return { act: "refresh", records: [{ kind, recordId }] };
}

const orderChanged = topic(changed("Order"), (order) => refresh("order", order.admin_graphql_api_id));
/** Some name their order by its number alone, updates not at all. */
const returnChanged = topic(
  Type.Object({
    admin_graphql_api_id: gid("Return"),
    order: Type.Optional(anOrder),
    order_id: Type.Optional(id),
  }),
  ({ admin_graphql_api_id: returnId, order, order_id: number }) => {
    const orderId = orderIdOf(order ?? (number === undefined ? {} : { id: number }));
    return orderId === null ? refresh(RETURN, returnId) : refresh("order", orderId);
  },
);

const TOPICS: Readonly<Record<string, Topic>> = {
  "refunds/create": topic(
    Type.Object({ id, order_id: id, admin_graphql_api_id: Type.Optional(gid("Refund")) }),
    (refund) => refresh("order", `gid://shopify/Order/${refund.order_id}`),
    true,
  ),
  "orders/updated": orderChanged,
  "orders/cancelled": orderChanged,
  "orders/delete": topic(
    deletion,
    (order) => refresh(DELETED_ORDER, `gid://shopify/Order/${order.id}`),
    true,
  ),
  "products/update": topic(changed("Product"), (product) => refresh("product", product.admin_graphql_api_id)),
  "products/delete": topic(
    deletion,
    (product) => refresh("product", `gid://shopify/Product/${product.id}`),
    true,
  ),
  "bulk_operations/finish": topic(changed("BulkOperation"), () => ({ act: "refresh", records: [] })),
  "app/uninstalled": topic(
    Type.Object({ id, myshopify_domain: text, shop_domain: foreign }),
    () => ({ act: "uninstall" }),
    true,
  ),
  // Each run asks what the shop pays for. The payload is not trusted: it does not say whose subscription it is.
  "app_subscriptions/update": topic(Type.Object({ app_subscription: changed("AppSubscription") }), () => ({
    act: "refresh",
    records: [],
  })),
  "customers/data_request": topic(
    Type.Object({
      ...shop,
      customer: Type.Object({}),
      data_request: Type.Object({}),
      orders_to_redact: foreign,
    }),
    () => ({ act: "privacy", request: { topic: "customers/data_request" } }),
    true,
  ),
  "customers/redact": topic(
    Type.Object({
      ...shop,
      customer: Type.Object({}),
      orders_to_redact: Type.Optional(Type.Array(id)),
      data_request: foreign,
      orders_requested: foreign,
    }),
    ({ orders_to_redact: orders = [] }) => ({
      act: "privacy",
      request: { topic: "customers/redact", orderNumbers: orders.map(String) },
    }),
    true,
  ),
  // It removes everything, so any other member makes a payload one of another topic.
  "shop/redact": topic(
    Type.Object(shop, { additionalProperties: false }),
    () => ({ act: "privacy", request: { topic: "shop/redact" } }),
    true,
  ),
};

const VALIDATORS = new Map(
  [...Object.values(TOPICS), returnChanged].map((known) => [known, Compile(known.schema)]),
);

function topicOf(name: string): Topic | undefined {
  return name.startsWith("returns/") ? returnChanged : TOPICS[name];
}

export function isSentOnce(name: string): boolean {
  return topicOf(name)?.isSentOnce === true;
}

/**
 * The effect of a topic and its payload; null: the payload does not match the topic: topics are not signed, and a signed body of
 * one must not pass for another. Topics without a subscription have no effect, whatever their payload.
 */
export function meaningOf(name: string, payload: Json): Meaning | null {
  const known = topicOf(name);
  if (known === undefined) return { act: "nothing" };
  return VALIDATORS.get(known)?.Check(payload) === true ? known.meaningOf(payload as never) : null;
}

/** By the gid where the payload has it, else by the number that the gid ends in. */
function orderIdOf({
  admin_graphql_api_id: orderId = "",
  id: number,
}: Static<typeof anOrder>): string | null {
  if (orderId.startsWith("gid://shopify/Order/")) return orderId;
  return number === undefined ? null : `gid://shopify/Order/${number}`;
}
