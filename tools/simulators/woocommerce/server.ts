/**
 * WooCommerce's REST API v3 on loopback, as its documentation and the plugin's source describe it: lists by id with offset and total, dates without
 * an offset, `_fields`, refunds, variations, webhooks with their ping. Over http, where WooCommerce itself wants https.
 */
import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { faultQueue, readBody, sendHalf, sendJson, serveLoopback } from "../http.ts";
import {
  makeWooWorld,
  refundAll,
  refundLines,
  slug,
  orderTotalMinor,
  withTax,
  type WooLineRow,
  type WooOrderRow,
  type WooProductRow,
  type WooRefundRow,
  type WooVariant,
  type WooWorld,
  type WooWorldOptions,
} from "./world.ts";

export type WooFault = "status_500" | "status_429" | "html" | "half" | "slow" | "cut";

export interface WooOptions extends WooWorldOptions {
  port: number;
  key: string;
  /** The plugin's version: `/refunds` exists since 9.0, `/variations` since 10.3. */
  version: number;
  /** The key's permission. */
  permission: "read" | "write" | "read_write";
  role: "administrator" | "customer";
}

const DEFAULTS: WooOptions = {
  seed: 1,
  orders: 60,
  products: 12,
  currency: "EUR",
  now: "2026-06-01T00:00:00.000Z",
  port: 0,
  key: "ck_simulated:cs_simulated",
  version: 10.3,
  permission: "read_write",
  role: "administrator",
};

type Webhook = { id: number; topic: string; delivery_url: string; secret: string; status: string };
export type WooSimulator = Awaited<ReturnType<typeof startWooSimulator>>;

export async function startWooSimulator(given: Partial<WooOptions> = {}) {
  const options = { ...DEFAULTS, ...given };
  const world = makeWooWorld(options);
  const faults = faultQueue<WooFault>();
  const webhooks: Webhook[] = [];
  const requests: string[] = [];
  const pings: number[] = [];
  const changes: { after: number; change: () => void }[] = [];
  const state = {
    url: "",
    now: options.now,
    site: "shop" as "shop" | "login" | "plain" | "other" | "moved",
    /** A status of an inactive plugin: lists omit its orders. */
    unknownStatus: "",
    /** The most rows of a page, whatever is requested. */
    mostPerPage: Infinity,
  };
  const server = await serveLoopback(
    options.port,
    async (request, response) => {
      requests.push(request.url ?? "");
      for (const one of changes.splice(0)) {
        if ((one.after -= 1) < 0) one.change();
        else changes.push(one);
      }
      if (await misbehave(faults.take(), response)) return;
      await answer({ options, world, webhooks, pings, state }, request, response);
    },
    (response, error) => sendJson(response, 500, { code: "internal", message: String(error) }),
  );
  state.url = server.url;
  const find = (orderId: number): WooOrderRow => {
    const order = world.orders.find(({ id }) => id === orderId);
    if (order === undefined) throw new Error(`There is no order ${orderId}.`);
    return order;
  };
  return {
    url: server.url,
    world,
    key: options.key,
    webhooks,
    requests,
    /** The statuses of the answers to pings. */
    pings,
    state,
    control: {
      fail: faults.add,
      clear: faults.clear,
      /** Runs `change` after `after` more requests. */
      changeAfter: (after: number, change: () => void) => void changes.push({ after, change }),
      /** Advances the shop's clock, which is otherwise stopped. */
      tick: (seconds: number) => {
        state.now = new Date(Date.parse(state.now) + seconds * 1000).toISOString();
      },
      refund: (orderId: number, lines: WooRefundRow["lines"]) =>
        refundLines(find(orderId), (world.nextId += 1), state.now, lines),
      refundAll: (orderId: number) => refundAll(find(orderId), (world.nextId += 1), state.now),
      /** WooCommerce does not change the order's modification time. */
      deleteRefund: (orderId: number) => void find(orderId).refunds.pop(),
      trash: (orderId: number) => Object.assign(find(orderId), { isTrashed: true, modifiedAt: state.now }),
      /** Deletes permanently: no webhook is sent, and no list has it any more. */
      deleteForGood: (orderId: number) => void world.orders.splice(world.orders.indexOf(find(orderId)), 1),
      set: (orderId: number, values: Partial<WooOrderRow>) =>
        Object.assign(find(orderId), { modifiedAt: state.now }, values),
      /** A delivery as the plugin sends it; returns the status that it got. */
      deliver: (topic: string, orderId: number) => deliver(webhooks, state.url, topic, orderId),
    },
    stop: server.stop,
  };
}

async function deliver(webhooks: Webhook[], home: string, topic: string, orderId: number): Promise<number> {
  const webhook = webhooks.find((one) => one.topic === topic && one.status === "active");
  if (webhook === undefined) throw new Error(`There is no webhook of ${topic}.`);
  const body = JSON.stringify({ id: orderId });
  const [resource = "", event = ""] = topic.split(".");
  const response = await fetch(webhook.delivery_url, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "x-wc-webhook-source": `${home}/`,
      "x-wc-webhook-topic": topic,
      "x-wc-webhook-resource": resource,
      "x-wc-webhook-event": event,
      "x-wc-webhook-signature": createHmac("sha256", webhook.secret).update(body).digest("base64"),
      "x-wc-webhook-id": String(webhook.id),
      "x-wc-webhook-delivery-id": createHash("md5").update(`${webhook.id}`).digest("hex"),
    },
  });
  return response.status;
}

async function misbehave(fault: WooFault | undefined, response: ServerResponse): Promise<boolean> {
  if (fault === "slow") await new Promise((resolve) => setTimeout(resolve, 300));
  if (fault === undefined || fault === "slow") return false;
  if (fault === "status_500") sendJson(response, 500, { code: "internal_server_error", message: "" });
  if (fault === "status_429") sendJson(response, 429, { code: "too_many" }, { "retry-after": "0" });
  if (fault === "html") sendPage(response, 200);
  if (fault === "half") sendHalf(response, 200, [{ id: 1 }]);
  if (fault === "cut") response.destroy();
  return true;
}

function sendPage(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-type": "text/html" }).end("<!doctype html><title>Shop</title>");
}

type Shop = {
  options: WooOptions;
  world: WooWorld;
  webhooks: Webhook[];
  pings: number[];
  state: { url: string; now: string; site: string; unknownStatus: string; mostPerPage: number };
};

async function answer(shop: Shop, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "", shop.state.url);
  const { site } = shop.state;
  if (site === "login") return sendPage(response, 200);
  if (site === "plain") return sendPage(response, 404);
  if (site === "moved") {
    response.writeHead(301, { location: "https://www.shop.example/" }).end();
    return;
  }
  if (url.pathname === "/wp-json/") {
    return sendJson(response, 200, { name: "Shop", home: shop.state.url, namespaces: ["wc/v3", "wp/v2"] });
  }
  const route = /^\/wp-json\/wc\/v3\/(?<route>.*)$/u.exec(url.pathname)?.groups?.["route"];
  if (route === undefined || site === "other") return noRoute(response);
  const refused = refusalOf(shop.options, request);
  if (refused !== null) return sendJson(response, ...refused);
  if (request.method === "POST") return postWebhook(shop, route, await readBody(request), response);
  const orderId = /^orders\/(?<id>\d+)$/u.exec(route)?.groups?.["id"];
  if (orderId !== undefined) return sendOrder(shop.world, Number(orderId), response);
  const rows = rowsOf(shop, route, url.searchParams);
  if (rows === null) return noRoute(response);
  if (!Array.isArray(rows)) return sendJson(response, 200, rows);
  sendList(url.searchParams, rows as Row[], shop.state.mostPerPage, response);
}

/** Sends an order, even from the trash. */
function sendOrder(world: WooWorld, orderId: number, response: ServerResponse): void {
  const order = world.orders.find(({ id }) => id === orderId);
  const code = "woocommerce_rest_shop_order_invalid_id";
  if (order === undefined)
    return sendJson(response, 404, { code, message: "Invalid ID.", data: { status: 404 } });
  sendJson(response, 200, orderJson(order));
}

function noRoute(response: ServerResponse): void {
  sendJson(response, 404, {
    code: "rest_no_route",
    message: "No route was found matching the URL and request method.",
    data: { status: 404 },
  });
}

/**
 * The refusals of WC_REST_Authentication, in the language of a German shop. An unknown key is treated as no key; only a wrong secret
 * is answered with WWW-Authenticate.
 */
function refusalOf(
  { key, permission, role }: WooOptions,
  { headers, method }: IncomingMessage,
): [status: number, json: object, headers?: Record<string, string>] | null {
  const given = Buffer.from((headers.authorization ?? "").replace(/^Basic /u, ""), "base64").toString();
  const refuse = (status: number, code: string, message: string): [number, object] => [
    status,
    { code, message, data: { status } },
  ];
  const cannotView = "Du kannst leider keine Ressourcen auflisten.";
  if (given.split(":")[0] !== key.split(":")[0])
    return refuse(401, "woocommerce_rest_cannot_view", cannotView);
  const error = "woocommerce_rest_authentication_error";
  if (given !== key) {
    const realm = { "www-authenticate": 'Basic realm="WooCommerce API"' };
    return [...refuse(401, error, "Consumer-Secret ist ungültig."), realm];
  }
  const needed = method === "POST" ? "write" : "read";
  if (!permission.includes(needed))
    return refuse(401, error, "Der verwendete API-Schlüssel verfügt nicht über die nötige Berechtigung.");
  return role === "administrator" ? null : refuse(403, "woocommerce_rest_cannot_view", cannotView);
}

type Row = { id: number; date_created_gmt?: string | null; date_modified_gmt?: string | null };

/** The rows of a route, or its object; null = there is no such route. */
function rowsOf(
  { world, options, webhooks, state }: Shop,
  route: string,
  query: URLSearchParams,
): object | null {
  const status = query.get("status") ?? "any";
  const isListed = ({ isTrashed }: { isTrashed: boolean }): boolean => isTrashed === (status === "trash");
  const isHidden = (order: WooOrderRow): boolean =>
    ["checkout-draft", "auto-draft", state.unknownStatus].includes(order.status);
  const [, id, part] = /^(?:orders|products)\/(\d+)\/(refunds|variations)$/u.exec(route) ?? [];
  if (route === "data/currencies/current") return { code: world.currency, name: "", symbol: "" };
  if (route === "orders")
    return world.orders.filter((order) => isListed(order) && !isHidden(order)).map(orderJson);
  if (route === "products") return world.products.filter(isListed).map(productJson);
  if (route === "refunds")
    return options.version < 9
      ? null
      : world.orders.flatMap((order) =>
          order.refunds.map((one) => ({ ...refundJson(one), parent_id: order.id })),
        );
  if (route === "variations")
    return options.version < 10.3 ? null : world.products.filter(isListed).flatMap(variationsOf);
  if (part === "refunds")
    return (world.orders.find((order) => order.id === Number(id))?.refunds ?? []).map(refundJson);
  if (part === "variations") {
    // Variations of a product in the trash are in the trash, too.
    const product = world.products.find((one) => one.id === Number(id));
    return product === undefined || !isListed(product) ? [] : variationsOf(product);
  }
  return route === "webhooks" ? webhooks.map(({ secret: _secret, ...webhook }) => webhook) : null;
}

/** `modified_after` and `after` are exclusive. Values with an offset are refused: WordPress would misread them as local time. */
function sendList(query: URLSearchParams, all: Row[], most: number, response: ServerResponse): void {
  const text = (name: string): string | null => query.get(name);
  for (const name of ["after", "modified_after"]) {
    if (/Z|[+-]\d\d:\d\d$/u.test(text(name) ?? "")) throw new Error(`${name} has an offset`);
    if (text(name) !== null && text("dates_are_gmt") !== "true") throw new Error(`${name} is local time`);
  }
  const include = text("include")?.split(",").map(Number);
  const rows = all
    .filter(({ id }) => include === undefined || include.includes(id))
    .filter((row) => text("after") === null || (row.date_created_gmt ?? "") > (text("after") ?? ""))
    .filter(
      (row) =>
        text("modified_after") === null || (row.date_modified_gmt ?? "") > (text("modified_after") ?? ""),
    )
    .toSorted((left, right) => (text("order") === "asc" ? left.id - right.id : right.id - left.id));
  const perPage = Math.min(most, Number(text("per_page") ?? 10));
  const offset = text("offset") === null ? (Number(text("page") ?? 1) - 1) * perPage : Number(text("offset"));
  const fields = text("_fields")?.split(",");
  const page = rows
    .slice(offset, offset + perPage)
    .map((row) =>
      fields === undefined
        ? row
        : Object.fromEntries(Object.entries(row).filter(([name]) => fields.includes(name))),
    );
  sendJson(response, 200, page, {
    "x-wp-total": String(rows.length),
    "x-wp-totalpages": String(Math.ceil(rows.length / perPage)),
  });
}

async function postWebhook(
  { webhooks, pings }: Shop,
  route: string,
  body: string,
  response: ServerResponse,
): Promise<void> {
  const given = JSON.parse(body) as Omit<Webhook, "id">;
  const id = Number(/^webhooks\/(\d+)$/u.exec(route)?.[1] ?? 0);
  const known = webhooks.find((webhook) => webhook.id === id);
  if (known !== undefined) {
    Object.assign(known, given);
    return sendJson(response, 200, known);
  }
  const webhook = { ...given, id: webhooks.length + 1 };
  webhooks.push(webhook);
  const pinged = await fetch(webhook.delivery_url, {
    method: "POST",
    body: `webhook_id=${webhook.id}`,
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  pings.push(pinged.status);
  sendJson(response, 201, webhook);
}

/** Names of categories, tags and attribute values as WordPress stores them. */
function encoded(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

/** Times in UTC as the API writes them: to the second, without an offset. */
function gmt(time: string | null): string | null {
  return time === null ? null : time.slice(0, 19);
}

function decimal(minor: number): string {
  return (minor / 100).toFixed(6);
}

function orderJson(order: WooOrderRow) {
  return {
    id: order.id,
    parent_id: 0,
    number: order.number,
    status: order.isTrashed ? "trash" : order.status,
    currency: order.currency,
    created_via: "checkout",
    total: decimal(orderTotalMinor(order)),
    date_created_gmt: gmt(order.createdAt),
    date_modified_gmt: gmt(order.modifiedAt),
    date_completed_gmt: gmt(order.completedAt),
    billing: { email: "customer@example.com" },
    line_items: order.lines.map((line) => lineJson(line, order.refunds)),
    refunds: order.refunds.map(({ id, amountMinor }) => ({
      id,
      reason: "",
      total: `-${decimal(amountMinor)}`,
    })),
  };
}

function lineJson(
  { id, name, product, variant, quantity, subtotalMinor, totalMinor }: WooLineRow,
  refunds: readonly WooRefundRow[],
) {
  const restocked = refunds
    .filter(({ isRestocked }) => isRestocked)
    .flatMap(({ lines }) => lines.filter(({ lineId }) => lineId === id))
    .reduce((sum, { units }) => sum + units, 0);
  // Of a deleted variation, the product is left.
  const own = product?.variants.find((one) => one === variant) ?? null;
  return {
    id,
    name,
    product_id: product?.id ?? 0,
    variation_id: product?.type === "variable" ? (own?.id ?? 0) : 0,
    quantity,
    subtotal: decimal(subtotalMinor),
    total: decimal(totalMinor),
    total_tax: decimal(withTax(totalMinor) - totalMinor),
    sku: own?.sku ?? (product === null ? null : ""),
    meta_data: restocked === 0 ? [] : [{ id: 1, key: "_restock_refunded_items", value: String(restocked) }],
  };
}

function refundJson(refund: WooRefundRow) {
  return {
    id: refund.id,
    date_created_gmt: gmt(refund.at),
    amount: decimal(refund.amountMinor),
    reason: "",
    line_items: refund.lines.map(({ lineId, units, minor }) => ({
      id: refund.id * 100 + lineId,
      quantity: 0 - units,
      total: decimal(-minor),
      meta_data: [{ id: 1, key: "_refunded_item_id", value: String(lineId) }],
    })),
    shipping_lines:
      refund.shippingMinor === 0 ? [] : [{ total: decimal(-refund.shippingMinor), total_tax: "0.000000" }],
    fee_lines: [],
  };
}

function costOf(variant: WooVariant | undefined) {
  return variant === undefined || variant.costMinor === null
    ? {}
    : { cost_of_goods_sold: { total_value: variant.costMinor / 100 } };
}

function productJson(product: WooProductRow) {
  const isVariable = product.type === "variable";
  const [first] = product.variants;
  const values = (name: string): string[] => [
    ...new Set(product.variants.flatMap(({ attributes }) => attributes[name] ?? [])),
  ];
  return {
    id: product.id,
    name: product.name,
    slug: `${slug(product.name)}${product.isTrashed ? "__trashed" : ""}`,
    type: product.type,
    sku: isVariable ? "" : (first?.sku ?? ""),
    parent_id: 0,
    date_modified_gmt: gmt(product.modifiedAt),
    categories: [{ id: 1, name: encoded(product.category), slug: slug(product.category) }],
    tags: product.tags.map((name, id) => ({ id, name: encoded(name) })),
    brands: product.brand === null ? [] : [{ id: 1, name: encoded(product.brand) }],
    images: [],
    attributes: Object.keys(first?.attributes ?? {}).map((name) => ({
      id: 0,
      name,
      variation: isVariable,
      options: values(name).map(encoded),
    })),
    variations: isVariable ? product.variants.map(({ id }) => id) : [],
    ...(isVariable ? {} : costOf(first)),
  };
}

function variationsOf(product: WooProductRow) {
  if (product.type !== "variable") return [];
  return product.variants.map((variant) => ({
    id: variant.id,
    parent_id: product.id,
    sku: variant.sku,
    image: null,
    date_modified_gmt: gmt(product.modifiedAt),
    attributes: Object.entries(variant.attributes).map(([name, option]) => ({
      id: 0,
      name,
      option: encoded(option),
    })),
    ...costOf(variant),
  }));
}
