import Type, { type Static, type TObject } from "typebox";
import { SourceFailed, SourceRefused, type SourcePlace } from "../../connector.ts";
import {
  Filled,
  isObject,
  nullable,
  object,
  reader,
  Text,
  Time,
  Whole,
  type Reader,
} from "../shared/foreign.ts";
import { ask, isOwnUrl, readJson, type HttpAnswer, type Outcome, type RetryPolicy } from "../shared/http.ts";

export const TITLE = "WooCommerce";

/** Tax excluded; refunds are negative. Old orders have none. */
const Amount = Type.Refine(
  Type.Union([Type.Number(), Type.String()], { description: "an amount of money" }),
  (value: number | string) => /^(?:-?\d+(?:\.\d+)?)?$/u.test(String(value).trim()),
);
/** As in an import. */
const MOST_UNITS = 10_000_000;
/** Negative in refunds; a whole number unless a plugin sells by weight. */
const Quantity = Type.Number({
  description: "a number of up to 10,000,000",
  minimum: -MOST_UNITS,
  maximum: MOST_UNITS,
});

const LINE = object("LineItem", {
  id: Whole,
  name: nullable(Text),
  product_id: nullable(Whole),
  variation_id: nullable(Whole),
  quantity: Quantity,
  subtotal: Amount,
  total: Amount,
  sku: nullable(Text),
});

const REFUND_IDS = Type.Array(object("OrderRefund", { id: Whole }));

const ORDER = object("Order", {
  id: Whole,
  number: Type.Union([Text, Type.Integer()], { description: "text" }),
  status: Filled,
  currency: Filled,
  created_via: nullable(Text),
  total: Amount,
  date_created_gmt: nullable(Time),
  date_modified_gmt: nullable(Time),
  date_completed_gmt: nullable(Time),
  line_items: Type.Array(LINE),
  refunds: REFUND_IDS,
});

const CHARGES = nullable(Type.Array(object("Charge", { total: Amount, total_tax: Amount })));

const REFUND = object("Refund", {
  id: Whole,
  /** Only in `/refunds`. */
  parent_id: nullable(Whole),
  date_created_gmt: Time,
  amount: Amount,
  line_items: Type.Array(
    object("RefundLine", {
      quantity: Quantity,
      total: Amount,
      meta_data: Type.Array(object("Meta", { key: Type.Unknown(), value: Type.Unknown() })),
    }),
  ),
  shipping_lines: CHARGES,
  fee_lines: CHARGES,
});

const NAMED = Type.Array(object("Term", { name: Text }));
const IMAGE = object("Image", { src: nullable(Text), alt: nullable(Text) });
const COST = nullable(Type.Object({ total_value: nullable(Amount) }));

const PRODUCT = object("Product", {
  id: Whole,
  name: Text,
  slug: nullable(Text),
  type: Text,
  sku: nullable(Text),
  parent_id: nullable(Whole),
  categories: NAMED,
  tags: NAMED,
  /** Since 9.6. */
  brands: nullable(NAMED),
  images: Type.Array(IMAGE),
  attributes: Type.Array(
    object("Attribute", { name: Text, variation: nullable(Type.Boolean()), options: Type.Array(Text) }),
  ),
  /** Since 9.5, if the shop has enabled it. */
  cost_of_goods_sold: COST,
});

const VARIATION = object("Variation", {
  id: Whole,
  sku: nullable(Text),
  image: nullable(IMAGE),
  attributes: Type.Array(object("VariationAttribute", { name: Text, option: Text })),
  cost_of_goods_sold: COST,
});

export type WooOrder = Static<typeof ORDER>;
export type WooLine = Static<typeof LINE>;
export type WooRefund = Static<typeof REFUND>;
export type WooProduct = Static<typeof PRODUCT>;
export type WooVariation = Static<typeof VARIATION>;

/** A list of the API, with the requested members of its rows: nothing else is sent, so no customer data. */
const list = <Schema extends TObject>(schema: Schema) => ({
  fields: Object.keys(schema.properties).join(","),
  read: reader(TITLE, Type.Array(schema)),
});
export const LISTS = {
  orders: list(ORDER),
  refunds: list(REFUND),
  products: list(PRODUCT),
  variations: list(VARIATION),
};

export const readRows = reader(
  TITLE,
  Type.Array(object("Row", { id: Whole, parent_id: nullable(Whole), refunds: nullable(REFUND_IDS) })),
);
export const readOrder = reader(TITLE, ORDER);
export const readCurrency = reader(TITLE, object("Currency", { code: Filled }));
export const readIndex = reader(TITLE, object("Index", { home: nullable(Text) }));
export const readWebhooks = reader(
  TITLE,
  Type.Array(object("Webhook", { id: Whole, topic: Text, delivery_url: Text })),
);

type Query = Readonly<Record<string, string | number>>;
/** `total`: number of rows of the whole list; null: a proxy has removed the header. */
export type WooAnswer<Value> = { value: Value; total: number | null };

/** Client of a shop's REST API. Throws `SourceFailed` and `SourceRefused` with one sentence. */
export type WooClient = {
  get<Value>(path: string, query: Query, read: Reader<Value>): Promise<WooAnswer<Value>>;
  /** null: the shop has no such route, or no such order. */
  find<Value>(path: string, query: Query, read: Reader<Value>): Promise<WooAnswer<Value> | null>;
  post(path: string, body: object): Promise<void>;
};

export const API = "wp-json/wc/v3/";
/** Of a page of 100 orders; what any shop answers may be made to fill memory. */
const MOST_BYTES = 16 * 1024 * 1024;
const KEY = /^(?<key>[\w-]{4,200}):(?<secret>[\w-]{4,200})$/u;

/** Whether an address is a shop's: https, or this machine itself. */
export function isShopUrl(url: URL): boolean {
  return url.search === "" && url.hash === "" && isOwnUrl(url, (host) => host.includes("."));
}

/** The secret of a key; it signs only the shop's own webhooks. */
export function consumerSecretOf(secrets: SourcePlace["secrets"]): string {
  const secret = KEY.exec(secrets["consumerKey"] ?? "")?.groups?.["secret"];
  if (secret !== undefined) return secret;
  throw new SourceRefused(
    "The key must be the consumer key and the consumer secret, joined by a colon: ck_…:cs_….",
  );
}

export function openClient({ url, secrets, signal }: SourcePlace, retryPolicy: RetryPolicy): WooClient {
  const parsed = URL.parse(`${url}/`);
  if (parsed === null || !isShopUrl(parsed))
    throw new SourceFailed("This WooCommerce connection has no address such as https://shop.example.");
  consumerSecretOf(secrets);
  const authorization = `Basic ${Buffer.from(secrets["consumerKey"] ?? "").toString("base64")}`;
  const where = `${TITLE} at ${parsed.host}`;
  const source = {
    title: TITLE,
    address: parsed.host,
    isForeign: true,
    signal,
    retryPolicy: { ...retryPolicy, maxAnswerBytes: Math.min(retryPolicy.maxAnswerBytes, MOST_BYTES) },
  };
  const send = (path: string, query: Query, content: { method?: string; body?: string }) => {
    const target = new URL(path, parsed);
    for (const [name, value] of Object.entries(query)) target.searchParams.set(name, String(value));
    const headers = { authorization, accept: "application/json", "content-type": "application/json" };
    return ask(
      source,
      () => ({ url: target, headers, ...content }),
      (answer) => readAnswer(where, target, answer),
    );
  };
  const find: WooClient["find"] = async (path, query, read) => {
    const found = await send(path, query, {});
    return found === null ? null : { value: read(found.value), total: found.total };
  };
  return {
    find,
    get: async (path, query, read) => {
      const found = await find(path, query, read);
      if (found !== null) return found;
      throw new SourceFailed(
        `${where} has no ${path}: check that WooCommerce is active there, and at least version 5.8.`,
      );
    },
    post: async (path, body) => {
      await send(path, {}, { method: "POST", body: JSON.stringify(body) });
    },
  };
}

const NO_ORDER = "woocommerce_rest_shop_order_invalid_id";

type Found = { value: unknown; total: number | null };

/** null: WordPress answers, but has no such route or order. */
function readAnswer(where: string, target: URL, answer: HttpAnswer<string>): Outcome<Found | null> {
  const { status, headers, body } = answer;
  const outcome = readJson(body);
  const json = "value" in outcome ? outcome.value : null;
  const code = isObject(json) && typeof json["code"] === "string" ? json["code"] : null;
  if (status === 200 || status === 201) {
    if ("value" in outcome) {
      const total = headers.get("x-wp-total");
      return { value: { value: json, total: /^\d+$/u.test(total ?? "") ? Number(total) : null } };
    }
    const isPage = body.trimStart().startsWith("<");
    const page =
      "a web page came instead of data, such as a login, a maintenance notice or a firewall's check";
    return isPage ? { again: page, delayMs: null } : outcome;
  }
  if (status >= 300 && status < 400) {
    const to = URL.parse(headers.get("location") ?? "", target);
    const end = to === null ? "elsewhere" : `to ${to.origin}`;
    throw new SourceFailed(`${where} redirects ${end}: connect the address that it leads to.`);
  }
  if (status === 401 || status === 403) throw refusal(where, status, code, json);
  if (status === 404 && (code === "rest_no_route" || code === NO_ORDER)) return { value: null };
  if (status === 404 && code === null) {
    throw new SourceFailed(
      `${where} has no REST API at ${target.pathname}: check the address, and that Settings → Permalinks in WordPress is not "Plain".`,
    );
  }
  if (status === 400 && code === "rest_invalid_param")
    throw new SourceFailed(
      `${where} does not know a parameter of this request: it must be WooCommerce 5.8 or newer.`,
    );
  throw new SourceFailed(`${where} answered with status ${status}${code === null ? "" : ` (${code})`}.`);
}

/** Only WooCommerce's own refusal of the key ends the connection: a firewall's refusal may be temporary. */
function refusal(where: string, status: number, code: string | null, json: unknown): Error {
  if (code === null || !code.startsWith("woocommerce_")) {
    return new SourceFailed(
      `${where} refused the request before WooCommerce saw it (status ${status}): a firewall or security plugin must let the REST API pass.`,
    );
  }
  const message = isObject(json) ? String(json["message"]) : "";
  if (/permission/iu.test(message)) {
    return new SourceRefused(
      `${where} says that this key may not do that: it needs the permission Read, or Read/Write to register webhooks.`,
    );
  }
  if (status === 403) {
    return new SourceRefused(
      `${where} does not show orders or products to this key: it must belong to an administrator or shop manager.`,
    );
  }
  return new SourceRefused(
    `${where} does not accept this key: check that both of its parts are complete, that it was not revoked, and that the server passes on the header Authorization.`,
  );
}
