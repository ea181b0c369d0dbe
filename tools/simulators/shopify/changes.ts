import {
  addRefund,
  cancelOrder,
  closeReturn,
  editOrder,
  endReturn,
  fulfill,
  openReturn,
  placeLines,
  processReturn,
  refundReturn,
  reopenReturn,
  touch,
} from "./world/events.ts";
import { childNumber, gid, idsOf } from "./world/ids.ts";
import { hideLedger, refundableUnits, returnableUnits } from "./world/units.ts";
import { newOrder, variantLine } from "./world/orders.ts";
import { randomOf } from "./world/random.ts";
import type { WorldLine, WorldOrder, WorldProduct, WorldRestockType, Return } from "./world/types.ts";
import { findOrder, type Shop } from "./shop.ts";
import type { WebhookMessage } from "./webhooks.ts";

/** A change of the shop that a test requests. Orders are given by number (1 is the first) or by name (#1001). */
export type Change =
  | {
      do: "placeOrder";
      lines: Goods[];
      processedAt?: string;
      fulfilled?: boolean;
      set?: Partial<
        Pick<WorldOrder, "name" | "tags" | "sourceName" | "payment" | "taxesIncluded" | "returnSales">
      >;
    }
  | { do: "fulfill"; order: number | string; line?: number; units?: number }
  | { do: "removeUnits"; order: number | string; line: number; units: number; refund?: WorldRestockType }
  | ({ do: "addLine"; order: number | string } & Goods)
  | { do: "exchange"; order: number | string; line: number; units: number; for: Goods }
  | { do: "cancelOrder"; order: number | string }
  | { do: "deleteOrder"; order: number | string }
  | {
      do: "openReturn";
      order: number | string;
      line: number;
      units: number;
      reason?: number;
      approved?: boolean;
    }
  | { do: "processReturn"; order: number | string; return: number; units?: number[] }
  | { do: "closeReturn"; order: number | string; return: number; processed?: number[] }
  | { do: "reopenReturn" | "declineReturn" | "cancelReturn"; order: number | string; return: number }
  | { do: "sendParcels"; order: number | string; return: number; trackingNumbers: string[] }
  | { do: "inspectReturn"; order: number | string; return: number }
  | {
      do: "refund";
      order: number | string;
      line: number;
      units: number;
      restockType?: WorldRestockType;
      return?: number;
      inLedger?: boolean;
    }
  | {
      do: "changeProduct";
      product: number;
      set: Partial<Pick<WorldProduct, "title" | "vendor" | "productType" | "category" | "tags">>;
    }
  | { do: "deleteProduct"; product: number }
  | { do: "touchOrders"; count: number; seed?: number };

type Goods = { product: number; position?: number; units: number };

export class ChangeError extends Error {}

/** Makes one change; returns the messages that the platform would send to its subscribers. */
export function change(shop: Shop, asked: Change): { result: unknown; messages: WebhookMessage[] } {
  const made = make(shop, asked);
  shop.changed();
  return made;
}

function make(shop: Shop, asked: Change): { result: unknown; messages: WebhookMessage[] } {
  const at = shop.clock.now();
  switch (asked.do) {
    case "placeOrder":
      return placeOrder(shop, asked);
    case "changeProduct":
    case "deleteProduct":
      return changeProduct(shop, asked);
    case "touchOrders":
      return touchOrders(shop, asked.count, asked.seed ?? 1);
    case "deleteOrder": {
      const order = orderOf(shop, asked.order);
      shop.world.orders[order.number - 1] = null;
      const { id } = idsOf("Order", order.number);
      return { result: null, messages: [{ topic: "ORDERS_DELETE", payload: { id } }] };
    }
    case "removeUnits": {
      const { line: lineIndex, units, refund: restockType } = asked;
      const refunded = restockType === undefined ? {} : { refund: { restockType, paid: false } };
      const order = orderOf(shop, asked.order);
      editOrder(order, at, { remove: [{ lineIndex, units }], ...refunded });
      return { result: null, messages: [updated(order)] };
    }
    case "addLine": {
      const order = orderOf(shop, asked.order);
      editOrder(order, at, { add: [lineOfGoods(shop, asked)] });
      return { result: { line: order.lines.length - 1 }, messages: [updated(order)] };
    }
    case "fulfill": {
      const order = orderOf(shop, asked.order);
      const { line: lineIndex, units = Infinity } = asked;
      fulfill(order, at, lineIndex === undefined ? undefined : [{ lineIndex, units }]);
      return { result: null, messages: [updated(order)] };
    }
    case "exchange":
      return exchange(shop, asked);
    case "inspectReturn":
      returnOf(orderOf(shop, asked.order), asked.return).inspected = true;
      return { result: null, messages: [] };
    case "cancelOrder": {
      const order = orderOf(shop, asked.order);
      cancelOrder(order, at);
      return { result: null, messages: [orderMessage("ORDERS_CANCELLED", order), updated(order)] };
    }
    case "refund":
      return refund(orderOf(shop, asked.order), asked, at);
    default:
      return changeReturn(orderOf(shop, asked.order), asked, at);
  }
}

function placeOrder(shop: Shop, asked: Extract<Change, { do: "placeOrder" }>) {
  const at = shop.clock.now();
  const processedAt = asked.processedAt === undefined ? at : Math.floor(Date.parse(asked.processedAt) / 1000);
  const order = newOrder(shop.world.orders.length + 1, processedAt, at);
  order.lines.push(...asked.lines.map((goods) => lineOfGoods(shop, goods)));
  Object.assign(order, asked.set);
  placeLines(order);
  if (asked.fulfilled ?? true) fulfill(order, at);
  shop.world.orders.push(order);
  const result = { number: order.number, name: order.name, id: gid("Order", order.number) };
  return { result, messages: [orderMessage("ORDERS_CREATE", order), updated(order)] };
}

function lineOfGoods(shop: Shop, { product: number, position = 1, units }: Goods): WorldLine {
  const product = shop.product(number);
  const variant = product?.variants[position - 1];
  if (product === null || variant === undefined)
    throw new ChangeError(`no variant ${position} of product ${number}`);
  return variantLine(product, variant, units);
}

/** A native exchange from request to completion; the amount owed to the customer is refunded. */
function exchange(shop: Shop, asked: Extract<Change, { do: "exchange" }>) {
  const at = shop.clock.now();
  const order = orderOf(shop, asked.order);
  requireReturnable(order, asked.line, asked.units);
  if (order.returnSales === "refund")
    throw new ChangeError("this order's returns are sales with their refund");
  const item = { lineIndex: asked.line, quantity: asked.units, reason: null };
  const request = openReturn(order, [item], at, true, [lineOfGoods(shop, asked.for)]);
  const index = order.returns.length - 1;
  processReturn(order, index, at);
  refundReturn(order, index, at, "RETURN");
  closeReturn(order, request, at);
  const result = { return: index, line: order.lines.length - 1 };
  return { result, messages: [returnMessage("RETURNS_PROCESS", order, index), updated(order)] };
}

function requireReturnable(order: WorldOrder, line: number, units: number): void {
  if (returnableUnits(order, line) < units)
    throw new ChangeError(`line ${line} has fewer than ${units} units left`);
}

function refund(order: WorldOrder, asked: Extract<Change, { do: "refund" }>, at: number) {
  const { line, units, restockType = "RETURN", inLedger = true } = asked;
  if (refundableUnits(order, line) < units)
    throw new ChangeError(`line ${line} has fewer than ${units} units left`);
  const returnIndex = asked.return ?? null;
  addRefund(order, { at, lines: [{ lineIndex: line, quantity: units, restockType }], returnIndex });
  hideLedger(order, !inLedger);
  const number = childNumber(order.number, order.refunds.length - 1);
  const payload = { ...idsOf("Refund", number), order_id: idsOf("Order", order.number).id };
  const result = { refund: order.refunds.length - 1, id: payload.admin_graphql_api_id };
  return { result, messages: [{ topic: "REFUNDS_CREATE", payload }, updated(order)] };
}

type ReturnChange = Extract<
  Change,
  {
    do:
      | "openReturn"
      | "processReturn"
      | "closeReturn"
      | "reopenReturn"
      | "declineReturn"
      | "cancelReturn"
      | "sendParcels";
  }
>;

function changeReturn(order: WorldOrder, asked: ReturnChange, at: number) {
  if (asked.do === "openReturn") {
    const { line, units, reason, approved = true } = asked;
    requireReturnable(order, line, units);
    openReturn(order, [{ lineIndex: line, quantity: units, reason: reason ?? null }], at, approved);
    const index = order.returns.length - 1;
    const topic = approved ? "RETURNS_APPROVE" : "RETURNS_REQUEST";
    const result = { return: index, id: gid("Return", childNumber(order.number, index)) };
    return { result, messages: [returnMessage(topic, order, index), updated(order)] };
  }
  const request = returnOf(order, asked.return);
  const topic = applyToReturn(order, request, asked, at);
  return { result: null, messages: [returnMessage(topic, order, asked.return), updated(order)] };
}

function applyToReturn(
  order: WorldOrder,
  request: Return,
  asked: Exclude<ReturnChange, { do: "openReturn" }>,
  at: number,
) {
  switch (asked.do) {
    case "processReturn":
      processReturn(order, asked.return, at, asked.units === undefined ? {} : { items: asked.units });
      return "RETURNS_PROCESS";
    case "closeReturn":
      closeReturn(order, request, at, asked.processed);
      return "RETURNS_CLOSE";
    case "reopenReturn":
      reopenReturn(order, request, at);
      return "RETURNS_REOPEN";
    case "declineReturn":
      endReturn(order, request, at, "DECLINED");
      return "RETURNS_DECLINE";
    case "sendParcels":
      request.trackingNumbers.push(...asked.trackingNumbers);
      touch(order, at);
      return "RETURNS_UPDATE";
    default:
      endReturn(order, request, at, "CANCELED");
      return "RETURNS_CANCEL";
  }
}

function changeProduct(shop: Shop, asked: Extract<Change, { do: "changeProduct" | "deleteProduct" }>) {
  const product = shop.product(asked.product);
  if (product === null) throw new ChangeError(`no product ${asked.product}`);
  const payload = idsOf("Product", product.number);
  if (asked.do === "changeProduct") {
    Object.assign(product, asked.set);
    product.updatedAt = shop.clock.now();
    const changed = { ...payload, updated_at: new Date(product.updatedAt * 1000).toISOString() };
    return { result: null, messages: [{ topic: "PRODUCTS_UPDATE", payload: changed }] };
  }
  shop.world.products[asked.product - 1] = null;
  for (const order of shop.world.orders) {
    for (const line of order?.lines ?? []) {
      if (line.product === product) Object.assign(line, { product: null, variant: null });
    }
  }
  return { result: null, messages: [{ topic: "PRODUCTS_DELETE", payload: { id: payload.id } }] };
}

/** A busy day: many orders get a return, a closed return or a refund; orders with nothing left are only updated. */
function touchOrders(shop: Shop, count: number, seed: number) {
  const random = randomOf(shop.world.seed, 4, seed);
  const at = shop.clock.now();
  const orders = shop.world.orders.filter((order) => order !== null && order.cancelledAt === 0);
  const messages: WebhookMessage[] = [];
  const most = Math.min(count, orders.length);
  for (let touched = 0; touched < most; touched += 1) {
    const [order] = orders.splice(random.between(0, orders.length - 1), 1);
    if (order === undefined || order === null) continue;
    const open = order.returns.findIndex(({ status }) => status === "OPEN");
    if (open >= 0) {
      closeReturn(order, returnOf(order, open), at);
      messages.push(returnMessage("RETURNS_CLOSE", order, open));
    } else if (random.chance(0.5) && returnableUnits(order, 0) > 0) {
      const item = { lineIndex: 0, quantity: 1, reason: random.between(0, 8) };
      const request = openReturn(order, [item], at, true);
      if (random.chance(0.5)) closeReturn(order, request, at);
    } else if (refundableUnits(order, 0) > 0) {
      addRefund(order, { at, lines: [{ lineIndex: 0, quantity: 1, restockType: "RETURN" }] });
    }
    touch(order, at);
    messages.push(updated(order));
  }
  return { result: { touched: most }, messages };
}

function orderOf(shop: Shop, reference: number | string): WorldOrder {
  const order = findOrder(shop, reference);
  if (order === null) throw new ChangeError(`no order ${reference}`);
  return order;
}

function returnOf(order: WorldOrder, index: number): Return {
  const request = order.returns[index];
  if (request === undefined) throw new ChangeError(`order ${order.number} has no return ${index}`);
  return request;
}

function updated(order: WorldOrder): WebhookMessage {
  return orderMessage("ORDERS_UPDATED", order);
}

function orderMessage(topic: string, order: WorldOrder): WebhookMessage {
  const payload = {
    ...idsOf("Order", order.number),
    name: order.name,
    updated_at: new Date(order.updatedAt * 1000).toISOString(),
  };
  return { topic, payload };
}

/** Payloads name the order in one of two ways, or not at all. */
function returnMessage(topic: string, order: WorldOrder, index: number): WebhookMessage {
  const ids = idsOf("Return", childNumber(order.number, index));
  if (topic === "RETURNS_UPDATE")
    return { topic, payload: { admin_graphql_api_id: ids.admin_graphql_api_id } };
  const ofOrder = idsOf("Order", order.number);
  const isShort = ["RETURNS_CANCEL", "RETURNS_CLOSE", "RETURNS_REOPEN"].includes(topic);
  const status = order.returns[index]?.status.toLowerCase();
  return { topic, payload: { ...ids, status, ...(isShort ? { order_id: ofOrder.id } : { order: ofOrder }) } };
}
