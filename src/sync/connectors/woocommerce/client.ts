import Type, { type TObject } from "typebox";
import { SourceFailed, SourceRefused, type SourcePlace } from "../../connector.ts";
import { Filled, isObject, nullable, object, reader, Text, type Reader } from "../shared/foreign.ts";
import {
  ask,
  isOwnUrl,
  isWebPage,
  readJson,
  type HttpAnswer,
  type Outcome,
  type RetryPolicy,
} from "../shared/http.ts";

export const TITLE = "WooCommerce";

const Id = Type.Integer({ description: "a whole number", minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
/** Tax excluded; refunds are negative. Old orders have none. */
const Amount = Type.Refine(
  Type.Union([Type.Number(), Type.String()], { description: "an amount of money" }),
  (value: number | string) => /^(?:-?\d+(?:\.\d+)?)?$/u.test(String(value).trim()),
);
/** Negative in refunds; a whole number unless a plugin sells by weight. The limit is that of an import. */
const Quantity = Type.Number({ description: "a number of up to 10,000,000", minimum: -1e7, maximum: 1e7 });

/** A date that WordPress does not have is null, or a time of the year 0: MySQL's zero date. `momentOf` reads it. */
const Moment = nullable(Text);

/** Requests only the members of a schema, so that no customer data is sent. */
function resource<Schema extends TObject>(schema: Schema) {
  const fields = Object.keys(schema.properties).join(",");
  return { fields, one: reader(TITLE, schema), list: reader(TITLE, Type.Array(schema)) };
}

const REFUND_IDS = Type.Array(object("OrderRefund", { id: Id }));

const LINE_ITEM = object("LineItem", {
  id: Id,
  name: nullable(Text),
  product_id: nullable(Id),
  variation_id: nullable(Id),
  quantity: Quantity,
  subtotal: Amount,
  total: Amount,
  sku: nullable(Text),
  meta_data: Type.Optional(Type.Unknown()),
});

export const ORDER = resource(
  object("Order", {
    id: Id,
    number: Type.Union([Text, Type.Integer()], { description: "text" }),
    status: Filled,
    currency: Filled,
    created_via: nullable(Text),
    total: Amount,
    date_created_gmt: Moment,
    date_modified_gmt: Moment,
    date_paid_gmt: Moment,
    date_completed_gmt: Moment,
    line_items: Type.Array(LINE_ITEM),
    refunds: REFUND_IDS,
  }),
);

const META = object("Meta", { key: Type.Unknown(), value: Type.Unknown() });
const REFUND_LINE = object("RefundLine", { quantity: Quantity, total: Amount, meta_data: Type.Array(META) });
const CHARGES = nullable(Type.Array(object("Charge", { total: Amount, total_tax: Amount })));

export const REFUND = resource(
  object("Refund", {
    id: Id,
    /** Only in `/refunds`. */
    parent_id: nullable(Id),
    date_created_gmt: Moment,
    amount: Amount,
    line_items: Type.Array(REFUND_LINE),
    shipping_lines: CHARGES,
    fee_lines: CHARGES,
  }),
);

const NAMED = Type.Array(object("Term", { name: Text }));
const IMAGE = object("Image", { src: nullable(Text), alt: nullable(Text) });
/** Since 9.5, if the shop has enabled it. */
const COST = nullable(Type.Object({ total_value: nullable(Amount) }));

export const PRODUCT = resource(
  object("Product", {
    id: Id,
    name: Text,
    slug: nullable(Text),
    type: Text,
    sku: nullable(Text),
    categories: NAMED,
    tags: NAMED,
    /** Since 9.6. */
    brands: nullable(NAMED),
    images: Type.Array(IMAGE),
    attributes: Type.Array(object("Attribute", { name: Text, options: Type.Array(Text) })),
    cost_of_goods_sold: COST,
  }),
);

export const VARIATION = resource(
  object("Variation", {
    id: Id,
    sku: nullable(Text),
    image: nullable(IMAGE),
    attributes: Type.Array(object("VariationAttribute", { name: Text, option: Text })),
    cost_of_goods_sold: COST,
  }),
);

export type WooOrder = ReturnType<typeof ORDER.one>;
export type WooRefund = ReturnType<typeof REFUND.one>;
export type WooProduct = ReturnType<typeof PRODUCT.one>;
export type WooVariation = ReturnType<typeof VARIATION.one>;

/** Of any list. */
export const ROW = resource(
  object("Row", { id: Id, parent_id: nullable(Id), status: nullable(Text), refunds: nullable(REFUND_IDS) }),
);
export const INDEX = resource(object("Index", { home: nullable(Text) }));
export const WEBHOOK = resource(object("Webhook", { id: Id, topic: Text, delivery_url: Text }));
const CURRENCY = resource(object("Currency", { code: Filled }));

/** Whether an address is a shop's: https, or this machine itself. */
export function isShopUrl(url: URL): boolean {
  return url.search === "" && url.hash === "" && isOwnUrl(url, (host) => host.includes("."));
}

/** The secret of a key; it signs only the shop's own webhooks. */
export function consumerSecretOf(secrets: SourcePlace["secrets"]): string {
  const secret = /^[\w-]{4,200}:([\w-]{4,200})$/u.exec(secrets["consumerKey"] ?? "")?.[1];
  if (secret !== undefined) return secret;
  throw new SourceRefused(
    "The key must be the consumer key and the consumer secret, joined by a colon: ck_…:cs_….",
  );
}

type Resource<Value> = { fields: string; one: Reader<Value>; list: Reader<Value[]> };
type Query = Readonly<Record<string, string | number>>;
export type WooClient = ReturnType<typeof openClient>;

/** Client of a shop's REST API. Throws `SourceFailed` and `SourceRefused` with one sentence. */
export function openClient({ url, secrets, signal }: SourcePlace, retryPolicy: RetryPolicy) {
  const root = URL.parse(`${url}/`);
  if (root === null || !isShopUrl(root))
    throw new SourceFailed("This WooCommerce connection has no address such as https://shop.example.");
  consumerSecretOf(secrets);
  const authorization = `Basic ${Buffer.from(secrets["consumerKey"] ?? "").toString("base64")}`;
  const headers = { authorization, accept: "application/json", "content-type": "application/json" };
  const source = { title: TITLE, address: root.host, isForeign: true, signal, retryPolicy };
  const send = (path: string, query: Query, content: { method?: string; body?: string } = {}) => {
    const target = new URL(`wp-json/wc/v3/${path}`, root);
    for (const [name, value] of Object.entries(query)) target.searchParams.set(name, String(value));
    return ask(
      source,
      () => ({ url: target, headers, ...content }),
      (answer) => readAnswer(target, answer),
    );
  };
  const one = async <Value>(path: string, { fields, one: read }: Resource<Value>, query: Query = {}) =>
    read((await send(path, { _fields: fields, ...query })).json);
  return {
    one,
    list: async <Value>(path: string, { fields, list: read }: Resource<Value>, query: Query) => {
      const { json, total } = await send(path, { _fields: fields, ...query });
      return { rows: read(json), total };
    },
    currency: async () => (await one("data/currencies/current", CURRENCY)).code,
    post: (path: string, body: object) => send(path, {}, { method: "POST", body: JSON.stringify(body) }),
  };
}

/** A failure with the code that the shop gave it; "" = none. */
class WooFailed extends SourceFailed {
  readonly code: string;

  constructor(sentence: string, code: string) {
    super(sentence);
    this.code = code;
  }
}

/** Of an order that the shop does not have any more. */
export const NO_ORDER = "woocommerce_rest_shop_order_invalid_id";
/** Of a list that this version of WooCommerce does not have; also if the plugin is not active. */
export const NO_ROUTE = "rest_no_route";

/** null where the shop fails with that code. */
export async function orNull<Value>(code: string, asked: Promise<Value>): Promise<Value | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof WooFailed && error.code === code) return null;
    throw error;
  }
}

/** `total`: rows of the whole list; null: a proxy has removed the header. */
type Answer = { json: unknown; total: number | null };

function readAnswer(target: URL, answer: HttpAnswer<string>): Outcome<Answer> {
  const { status, headers, body } = answer;
  const where = `${TITLE} at ${target.host}`;
  const outcome = readJson(body);
  if (status === 200 || status === 201) {
    const total = headers.get("x-wp-total") ?? "";
    if ("value" in outcome)
      return { value: { json: outcome.value, total: /^\d+$/u.test(total) ? Number(total) : null } };
    return isWebPage(body) ? { again: WEB_PAGE, delayMs: null } : outcome;
  }
  const given = "value" in outcome && isObject(outcome.value) ? outcome.value["code"] : null;
  const code = typeof given === "string" ? given : "";
  // Only WooCommerce's own refusal of the key ends the connection: a firewall's refusal may be temporary.
  if ((status === 401 || status === 403) && code.startsWith("woocommerce_"))
    throw new SourceRefused(`${where} ${refusalOf(answer, code)}`);
  throw new WooFailed(`${where} ${failureOf(answer, code, target)}`, code);
}

const WEB_PAGE =
  "a web page came instead of data, such as a login, a maintenance notice or a firewall's check";

/** Why the key is refused, by status, code and header: messages are in the shop's language. */
function refusalOf({ status, headers }: HttpAnswer<string>, code: string): string {
  // A wrong secret has the same status and code, but asks for another one.
  if (code === "woocommerce_rest_authentication_error" && !headers.has("www-authenticate"))
    return "says that this key may not do that: it needs the permission Read, or Read/Write to register webhooks.";
  // 401: WooCommerce does not know the key.
  if (status === 403)
    return "does not show orders or products to this key: it must belong to an administrator or shop manager.";
  return "does not accept this key: check that both of its parts are complete, that it was not revoked, and that the server passes on the header Authorization.";
}

function failureOf({ status, headers }: HttpAnswer<string>, code: string, target: URL): string {
  if (status >= 300 && status < 400) {
    const to = URL.parse(headers.get("location") ?? "", target)?.origin ?? "another address";
    return `redirects to ${to}: connect the address that it leads to.`;
  }
  if (code === NO_ROUTE)
    return `has no ${target.pathname.slice(1)}: check that WooCommerce is active there, and at least version 5.8.`;
  if (status === 404 && code === "")
    return `has no REST API at ${target.pathname}: check the address, and that Settings → Permalinks in WordPress is not "Plain".`;
  if (status === 401 || status === 403)
    return `refused the request before WooCommerce saw it (status ${status}): a firewall or security plugin must let the REST API pass.`;
  return `answered with status ${status}${code === "" ? "" : ` (${code})`}.`;
}
