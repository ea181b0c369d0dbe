import Type from "typebox";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import type { Json } from "../../kit/foreign.ts";

/** A record's number, as the platform writes it in most payloads. */
const id = Type.Union([
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  Type.String({ pattern: "^[0-9]{1,20}$" }),
]);
const gid = (type: string) => Type.String({ pattern: `^gid://shopify/${type}/`, maxLength: 255 });
const text = Type.String({ minLength: 1, maxLength: 255 });
/** Only other topics have this member. */
const foreign = Type.Optional(Type.Never());

const order = Type.Object({ id: Type.Optional(id), admin_graphql_api_id: gid("Order") });
const product = Type.Object({ id: Type.Optional(id), admin_graphql_api_id: gid("Product") });
/** A deletion tells the number alone; a changed record has its gid. */
const deletion = Type.Object({
  id,
  admin_graphql_api_id: foreign,
  order_id: foreign,
  myshopify_domain: foreign,
});
const returned = Type.Object({
  admin_graphql_api_id: gid("Return"),
  order: Type.Optional(Type.Object({ id: Type.Optional(id), admin_graphql_api_id: Type.Optional(text) })),
});
const shop = { shop_id: id, shop_domain: text };

/** What each topic's payload has and what it must not have, after the platform's webhook reference. */
const PAYLOADS: Readonly<Record<string, TSchema>> = {
  "refunds/create": Type.Object({
    id,
    order_id: id,
    admin_graphql_api_id: Type.Optional(gid("Refund")),
  }),
  "orders/updated": order,
  "orders/cancelled": order,
  "orders/delete": deletion,
  "products/update": product,
  "products/delete": deletion,
  "bulk_operations/finish": Type.Object({ admin_graphql_api_id: gid("BulkOperation") }),
  "app/uninstalled": Type.Object({ id, myshopify_domain: text, shop_domain: foreign }),
  "app_subscriptions/update": Type.Object({
    app_subscription: Type.Object({ admin_graphql_api_id: gid("AppSubscription") }),
  }),
  "customers/data_request": Type.Object({
    ...shop,
    customer: Type.Object({}),
    data_request: Type.Object({}),
    orders_to_redact: foreign,
  }),
  "customers/redact": Type.Object({
    ...shop,
    customer: Type.Object({}),
    orders_to_redact: Type.Optional(Type.Array(id)),
    data_request: foreign,
    orders_requested: foreign,
  }),
  // It removes everything, so that whatever else a payload has makes it one of another topic.
  "shop/redact": Type.Object(shop, { additionalProperties: false }),
};

const isReturn = Compile(returned);
const VALIDATORS = new Map(Object.entries(PAYLOADS).map(([topic, schema]) => [topic, Compile(schema)]));

/**
 * Whether a payload is one of its topic. Topics are not signed: a signed body of one topic must not pass for another.
 * Topics that mean nothing to us have any payload.
 */
export function isPayloadOf(topic: string, payload: Json): boolean {
  const validator = topic.startsWith("returns/") ? isReturn : VALIDATORS.get(topic);
  return validator === undefined || validator.Check(payload);
}
