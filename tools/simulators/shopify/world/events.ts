/** Events of an order. Each changes its updatedAt, as on the platform, and is recorded in its history. */
import {
  agree,
  bought,
  discounted,
  otherSale,
  returnFeeMinor,
  takenBack,
  unitsAmounts,
  lineOf,
  liveItems,
  refundableUnits,
  returnRefundedUnits,
  sumOf,
  unsentUnits,
} from "./units.ts";
import {
  REASONS,
  type ExchangeItem,
  type HistoryEvent,
  type WorldLine,
  type WorldOrder,
  type Refund,
  type RefundLine,
  type WorldRestockType,
  type Return,
  type ReturnItem,
  type Sale,
} from "./types.ts";

export function touch(order: WorldOrder, at: number): void {
  order.updatedAt = Math.max(order.updatedAt, at);
}

function tell(order: WorldOrder, event: HistoryEvent): void {
  order.history.push(event);
  touch(order, event.at);
}

/** Places the order with its current lines. */
export function placeLines(order: WorldOrder): void {
  const at = order.processedAt;
  const sales = order.lines.map((_, lineIndex) => bought(order, lineIndex));
  for (const { lineIndex, quantity, netMinor } of sales) {
    tell(order, { what: "placed", at, line: lineIndex ?? 0, units: quantity ?? 0, netMinor });
  }
  if (order.shippingMinor > 0) {
    sales.push(otherSale("ShippingLineSale", "SHIPPING", "ORDER", order.shippingMinor));
  }
  agree(order, "ORDER", at, sales);
}

/** Adds a line and returns its sale. */
function addLine(order: WorldOrder, line: WorldLine, at: number, returnIndex?: number): Sale {
  order.lines.push({ ...line, addedAt: at });
  const sale = bought(order, order.lines.length - 1);
  tellAdded(order, sale, at, returnIndex);
  return sale;
}

function tellAdded(order: WorldOrder, sale: Sale, at: number, returnIndex?: number): void {
  const { lineIndex, quantity, netMinor } = sale;
  const of = returnIndex === undefined ? {} : { return: returnIndex };
  tell(order, { what: "added", at, line: lineIndex ?? 0, units: quantity ?? 0, netMinor, ...of });
}

/** Takes units off a line's current quantity; returns how many of them had been fulfilled, by default all that can be. */
function take(line: WorldLine, units: number, unsentFirst: boolean, sentAtMost = Infinity): number {
  const unsent = unsentUnits(line);
  const sent = unsentFirst
    ? Math.max(0, units - unsent)
    : Math.min(units, line.fulfilled - line.sentBack, sentAtMost);
  line.currentQuantity -= units;
  line.sentBack += sent;
  return sent;
}

export type Edit = {
  remove?: { lineIndex: number; units: number }[];
  add?: WorldLine[];
  increase?: { lineIndex: number; units: number }[];
  discount?: { lineIndex: number; discountMinor: number }[];
  /** Shopify also writes a refund of the removed units, mostly without money. */
  refund?: { restockType: WorldRestockType; paid: boolean };
};

/** An order edit; it never removes more units than are left. */
export function editOrder(order: WorldOrder, at: number, edit: Edit): void {
  const sales: Sale[] = [];
  const removed: RefundLine[] = [];
  for (const { lineIndex, units } of edit.remove ?? []) {
    const left = Math.min(units, refundableUnits(order, lineIndex));
    if (left <= 0) continue;
    const sent = take(lineOf(order, lineIndex), left, true);
    const sale = takenBack(order, lineIndex, left);
    sales.push(sale);
    tell(order, { what: "removed", at, line: lineIndex, units: left, sent, netMinor: -sale.netMinor });
    removed.push({
      lineIndex,
      quantity: left,
      sent,
      subtotalMinor: -sale.netMinor,
      taxMinor: -sale.taxMinor,
      restockType: edit.refund?.restockType ?? "CANCEL",
    });
  }
  for (const { lineIndex, units } of edit.increase ?? []) {
    const line = lineOf(order, lineIndex);
    const before = line.quantity;
    line.quantity += units;
    line.currentQuantity += units;
    const sale = bought(order, lineIndex, before);
    sales.push(sale);
    tellAdded(order, sale, at);
  }
  for (const line of edit.add ?? []) sales.push(addLine(order, line, at));
  for (const { lineIndex, discountMinor } of edit.discount ?? []) {
    const repriced = discounted(order, lineIndex, discountMinor);
    sales.push(...repriced);
    tell(order, {
      what: "repriced",
      at,
      line: lineIndex,
      netMinor: sumOf(repriced, (sale) => sale.netMinor),
    });
  }
  agree(order, "ORDER_EDIT", at, sales);
  if (edit.refund === undefined || removed.length === 0) return;
  const totalMinor = edit.refund.paid ? grossOf(removed) : 0;
  order.refunds.push({ ...newRefund(at), lines: removed, totalMinor, ofEdit: true });
}

function newRefund(at: number): Refund {
  return {
    createdAt: at,
    processedAt: at,
    returnIndex: null,
    lines: [],
    shippingMinor: 0,
    totalMinor: 0,
    ofEdit: false,
  };
}

function grossOf(lines: RefundLine[]): number {
  return sumOf(lines, ({ subtotalMinor, taxMinor }) => subtotalMinor + taxMinor);
}

/** Sends unsent units: all of them, or the given ones. */
export function fulfill(order: WorldOrder, at: number, asked?: { lineIndex: number; units: number }[]): void {
  const wanted = asked ?? order.lines.map((line, lineIndex) => ({ lineIndex, units: unsentUnits(line) }));
  const lines = wanted.flatMap(({ lineIndex, units }) => {
    const line = lineOf(order, lineIndex);
    const quantity = line.kind === "tip" ? 0 : Math.min(units, unsentUnits(line));
    line.fulfilled += quantity;
    return quantity > 0 ? [{ lineIndex, quantity }] : [];
  });
  if (lines.length === 0) return;
  order.fulfillments.push({ createdAt: at, updatedAt: at, canceled: false, lines });
  tellSent(order, order.fulfillments.length - 1, "fulfilled", at);
}

/** A fulfilment that the carrier refused. */
export function failFulfillment(order: WorldOrder, at: number, lineIndex: number, quantity: number): void {
  const lines = [{ lineIndex, quantity }];
  order.fulfillments.push({ createdAt: at, updatedAt: at, canceled: true, failed: true, lines });
  touch(order, at);
}

/** Cancels a fulfilment of which no units have come back. */
export function unfulfill(order: WorldOrder, index: number, at: number): void {
  const fulfillment = order.fulfillments[index];
  if (fulfillment === undefined) return;
  fulfillment.canceled = true;
  fulfillment.updatedAt = at;
  for (const { lineIndex, quantity } of fulfillment.lines) lineOf(order, lineIndex).fulfilled -= quantity;
  tellSent(order, index, "unfulfilled", at);
}

function tellSent(
  order: WorldOrder,
  fulfillment: number,
  what: "fulfilled" | "unfulfilled",
  at: number,
): void {
  for (const { lineIndex, quantity } of order.fulfillments[fulfillment]?.lines ?? []) {
    tell(order, { what, at, line: lineIndex, units: quantity, fulfillment });
  }
}

export type RefundRequest = {
  lines: {
    lineIndex: number;
    quantity: number;
    restockType: WorldRestockType;
    subtotalMinor?: number;
    /** No more of the units than these had been sent; the rest had not, although others of the line were. */
    sentAtMost?: number;
  }[];
  at: number;
  processedAt?: number;
  returnIndex?: number | null;
  adjustmentMinor?: number;
  shippingMinor?: number;
  /** The refunded amount, by default the value of the lines, shipping and adjustment. */
  totalMinor?: number;
};

/**
 * Refunds units at the price paid for them; never more than are left of a line. The ledger takes them back in the
 * refund's agreement, unless the return's own agreement did.
 */
export function addRefund(order: WorldOrder, request: RefundRequest): Refund {
  const { at, processedAt = at, returnIndex = null, adjustmentMinor = 0, shippingMinor = 0 } = request;
  const refund: Refund = { ...newRefund(at), processedAt, returnIndex, shippingMinor };
  const reversed = returnIndex !== null && order.returnSales !== "refund";
  const sales: Sale[] = [];
  for (const asked of request.lines) {
    const line = refundLineOf(order, asked, reversed);
    if (line === undefined) continue;
    refund.lines.push(line);
    const { lineIndex, quantity, sent, subtotalMinor, taxMinor } = line;
    if (!reversed) sales.push(takenBack(order, lineIndex, quantity, { netMinor: subtotalMinor, taxMinor }));
    tell(order, {
      what: "refunded",
      at: processedAt,
      line: lineIndex,
      units: quantity,
      sent,
      netMinor: subtotalMinor,
      refund: order.refunds.length,
      restockType: line.restockType,
      ...(returnIndex !== null && { return: returnIndex }),
    });
  }
  const besides = adjustmentMinor + shippingMinor;
  const amount = { at: processedAt, refund: order.refunds.length };
  if (shippingMinor > 0) tell(order, { what: "shipping refunded", ...amount, netMinor: shippingMinor });
  if (adjustmentMinor > 0) {
    tell(order, { what: "amount refunded", ...amount, netMinor: adjustmentMinor });
    sales.push(otherSale("AdjustmentSale", "ADJUSTMENT", "RETURN", -adjustmentMinor));
  }
  if (shippingMinor > 0) sales.push(otherSale("ShippingLineSale", "SHIPPING", "RETURN", -shippingMinor));
  refund.totalMinor = request.totalMinor ?? grossOf(refund.lines) + besides;
  if (refund.lines.length > 0 || besides > 0) order.refunds.push(refund);
  agree(order, "REFUND", processedAt, sales, order.refunds.length - 1);
  touch(order, at);
  return refund;
}

function refundLineOf(
  order: WorldOrder,
  asked: RefundRequest["lines"][number],
  reversed: boolean,
): RefundLine | undefined {
  const { lineIndex, restockType, subtotalMinor } = asked;
  const line = order.lines[lineIndex];
  if (line === undefined) return undefined;
  if (subtotalMinor !== undefined) {
    return { lineIndex, quantity: 0, sent: 0, subtotalMinor, taxMinor: 0, restockType };
  }
  const quantity = reversed ? asked.quantity : Math.min(asked.quantity, refundableUnits(order, lineIndex));
  if (quantity <= 0) return undefined;
  const sent = reversed ? quantity : take(line, quantity, restockType === "CANCEL", asked.sentAtMost);
  const { netMinor, taxMinor } = unitsAmounts(line, order.taxesIncluded, quantity);
  return { lineIndex, quantity, sent, subtotalMinor: netMinor, taxMinor, restockType };
}

export type AskedItem = Pick<ReturnItem, "lineIndex" | "quantity" | "reason"> & { legacyReason?: boolean };

export function openReturn(
  order: WorldOrder,
  asked: AskedItem[],
  at: number,
  approved: boolean,
  exchange: WorldLine[] = [],
): Return {
  const request: Return = {
    createdAt: at,
    status: "REQUESTED",
    closedAt: 0,
    approvedAt: 0,
    items: [],
    exchanges: exchange.map((wanted) => ({ wanted, processed: 0, lineIndexes: [] })),
    trackingNumbers: [],
  };
  const index = order.returns.length;
  order.returns.push(request);
  for (const item of asked) request.items.push(...itemsOf(order, item));
  for (const item of request.items) {
    const { lineIndex, quantity: units, fulfillment } = item;
    if (lineIndex === null) continue;
    const of = { return: index, fulfillment: fulfillment[0], reason: handleOf(item) };
    tell(order, { what: "requested", at, line: lineIndex, units, ...of });
  }
  if (approved) approveReturn(order, index, at);
  return request;
}

function handleOf({ reason }: ReturnItem): string | null {
  return reason === null ? null : (REASONS[reason]?.handle ?? null);
}

/** A return item belongs to one fulfilment: units of several fulfilments make several items. */
function itemsOf(order: WorldOrder, asked: AskedItem): ReturnItem[] {
  const { lineIndex, reason, legacyReason = false } = asked;
  const items: ReturnItem[] = [];
  let left = asked.quantity;
  const add = (quantity: number, fulfillment: ReturnItem["fulfillment"]): void => {
    items.push({ lineIndex, fulfillment, quantity, processed: 0, reason, legacyReason });
    left -= quantity;
  };
  const earlier = liveItems(order);
  for (const [index, { canceled, lines }] of order.fulfillments.entries()) {
    const place = lines.findIndex((line) => line.lineIndex === lineIndex);
    if (canceled || place < 0 || left === 0) continue;
    const taken = sumOf(earlier, ({ lineIndex: line, fulfillment: [from], quantity }) =>
      line === lineIndex && from === index ? quantity : 0,
    );
    const here = Math.min(left, (lines[place]?.quantity ?? 0) - taken);
    if (here > 0) add(here, [index, place]);
  }
  if (left > 0) add(left, [0, 0]);
  return items;
}

/** Approves a return; if the ledger records returns at approval, it takes the units back and sells the exchanges. */
export function approveReturn(order: WorldOrder, index: number, at: number): void {
  const request = order.returns[index];
  if (request === undefined) return;
  request.status = "OPEN";
  request.approvedAt = at;
  tell(order, { what: "approved", at, return: index });
  const sales: Sale[] = [];
  if (order.returnSales === "approval") {
    for (const { lineIndex, quantity } of request.items) {
      if (lineIndex !== null) sales.push(reverse(order, lineIndex, quantity));
    }
    sales.push(...exchangeSales(order, index, at));
  }
  if (order.returnSales !== "processing") sales.push(...feeSales(order, index));
  agree(order, "RETURN", at, sales, index);
}

function feeSales(order: WorldOrder, index: number): Sale[] {
  const fee = returnFeeMinor(order, index);
  return fee > 0 ? [otherSale("FeeSale", "FEE", "ORDER", fee)] : [];
}

function reverse(order: WorldOrder, lineIndex: number, units: number): Sale {
  take(lineOf(order, lineIndex), units, false);
  return takenBack(order, lineIndex, units);
}

/** The opposite: the customer keeps units of a return after all. */
function restore(order: WorldOrder, lineIndex: number, units: number): Sale {
  const line = lineOf(order, lineIndex);
  line.currentQuantity += units;
  line.sentBack -= units;
  const { netMinor, taxMinor } = unitsAmounts(line, order.taxesIncluded, units);
  const amounts = { netMinor: -netMinor, taxMinor: -taxMinor };
  return { ...takenBack(order, lineIndex, -units, amounts), action: "ORDER" };
}

/** Adds lines for exchange items: all units, or the given number of each. */
function exchangeSales(order: WorldOrder, index: number, at: number, units?: number[]): Sale[] {
  return (order.returns[index]?.exchanges ?? []).flatMap((exchange, place) => {
    const left = exchange.wanted.quantity - exchange.processed;
    const quantity = Math.min(left, units?.[place] ?? left);
    if (quantity <= 0) return [];
    exchange.processed += quantity;
    exchange.lineIndexes.push(order.lines.length);
    return [addLine(order, { ...exchange.wanted, quantity, currentQuantity: quantity }, at, index)];
  });
}

export type Processing = { items?: number[]; exchanges?: number[] };

/** Processes units of a return's items and exchanges, by default all that are left. */
export function processReturn(
  order: WorldOrder,
  index: number,
  at: number,
  processing: Processing = {},
): void {
  const request = order.returns[index];
  if (request === undefined) return;
  const sales: Sale[] = [];
  const first = !order.agreements.some(({ reason, subject }) => reason === "RETURN" && subject === index);
  if (order.returnSales === "processing" && first) sales.push(...feeSales(order, index));
  request.items.forEach((item, place) => {
    const left = item.quantity - item.processed;
    const units = Math.min(left, processing.items?.[place] ?? left);
    if (units <= 0) return;
    setProcessed(order, index, place, item.processed + units, at);
    if (order.returnSales === "processing" && item.lineIndex !== null) {
      sales.push(reverse(order, item.lineIndex, units));
    }
  });
  sales.push(...exchangeSales(order, index, at, processing.exchanges));
  agree(order, "RETURN", at, sales, index);
}

function setProcessed(order: WorldOrder, index: number, place: number, processed: number, at: number): void {
  const item = order.returns[index]?.items[place];
  if (item === undefined) return;
  const units = processed - item.processed;
  item.processed = processed;
  if (units === 0 || item.lineIndex === null) return;
  const of = { return: index, fulfillment: item.fulfillment[0], reason: handleOf(item) };
  tell(order, { what: "processed", at, line: item.lineIndex, units, ...of });
}

/** Closes a return. `processed` has the processed units of each item, by default all, unless the ledger records processing itself. */
export function closeReturn(order: WorldOrder, request: Return, at: number, processed?: number[]): void {
  const index = order.returns.indexOf(request);
  if (request.approvedAt === 0) approveReturn(order, index, at);
  request.status = "CLOSED";
  request.closedAt = at;
  if (order.returnSales !== "processing") {
    request.items.forEach((item, place) => {
      setProcessed(order, index, place, Math.min(item.quantity, processed?.[place] ?? item.quantity), at);
    });
  }
  tell(order, { what: "closed", at, return: index });
}

export function endReturn(
  order: WorldOrder,
  request: Return,
  at: number,
  status: "DECLINED" | "CANCELED",
): void {
  const index = order.returns.indexOf(request);
  request.status = status;
  tell(order, { what: status === "DECLINED" ? "declined" : "return canceled", at, return: index });
  if (order.returnSales !== "approval" || request.approvedAt === 0) return;
  const restored = request.items.flatMap(({ lineIndex, quantity }) =>
    lineIndex === null ? [] : [restore(order, lineIndex, quantity)],
  );
  const withdrawn = request.exchanges.flatMap((exchange) =>
    withdraw(order, index, at, exchange, exchange.processed),
  );
  agree(order, "RETURN", at, [...restored, ...withdrawn], index);
}

/** Takes units of an exchange that were sold out of the order again. */
function withdraw(
  order: WorldOrder,
  index: number,
  at: number,
  exchange: ExchangeItem,
  units: number,
): Sale[] {
  const [lineIndex] = exchange.lineIndexes;
  if (lineIndex === undefined || units === 0) return [];
  exchange.processed -= units;
  exchange.wanted.quantity -= units;
  take(lineOf(order, lineIndex), units, true);
  const sale = takenBack(order, lineIndex, units);
  tell(order, { what: "removed", at, line: lineIndex, units, netMinor: -sale.netMinor, return: index });
  return [sale];
}

/** Takes units off items of an open return, which stay with the customer, and off its exchanges. */
export function shrinkReturn(
  order: WorldOrder,
  index: number,
  at: number,
  less: {
    items: { item: ReturnItem; units: number }[];
    exchanges: { exchange: ExchangeItem; units: number }[];
  },
): void {
  const sales = less.exchanges.flatMap(({ exchange, units }) => withdraw(order, index, at, exchange, units));
  for (const { item, units } of less.items) {
    const { lineIndex, fulfillment } = item;
    if (lineIndex === null) continue;
    item.quantity -= units;
    const of = { return: index, fulfillment: fulfillment[0], reason: handleOf(item) };
    tell(order, { what: "requested", at, line: lineIndex, units: -units, ...of });
    if (order.returnSales === "approval") sales.push(restore(order, lineIndex, units));
  }
  agree(order, "RETURN", at, sales, index);
}

export function reopenReturn(order: WorldOrder, request: Return, at: number): void {
  request.status = "OPEN";
  request.closedAt = 0;
  tell(order, { what: "reopened", at, return: order.returns.indexOf(request) });
}

/**
 * Refunds a return's processed units that are not refunded yet, less the cost of its exchanges; all its units if the ledger
 * records the return with the refund. `taken` are lines taken in exchange that are not part of the return.
 */
export function refundReturn(
  order: WorldOrder,
  index: number,
  at: number,
  restockType: WorldRestockType,
  taken: number[] = [],
): void {
  const request = order.returns[index];
  if (request === undefined) return;
  const lines = [...new Set(request.items.map(({ lineIndex }) => lineIndex))].flatMap((lineIndex) => {
    if (lineIndex === null) return [];
    const all = order.returnSales === "refund";
    const units = sumOf(request.items, (item) =>
      item.lineIndex === lineIndex ? (all ? item.quantity : item.processed) : 0,
    );
    const quantity = units - returnRefundedUnits(order, index, lineIndex);
    return quantity > 0 ? [{ lineIndex, quantity, restockType }] : [];
  });
  const value = sumOf(lines, ({ lineIndex, quantity }) => grossPaid(order, lineIndex, quantity));
  const charged = sumOf(
    [...taken, ...request.exchanges.flatMap(({ lineIndexes }) => lineIndexes)],
    (lineIndex) => grossPaid(order, lineIndex, lineOf(order, lineIndex).quantity),
  );
  const paidBefore = sumOf(order.refunds, (refund) =>
    refund.returnIndex === index ? grossOf(refund.lines) - refund.totalMinor : 0,
  );
  const totalMinor = value - Math.max(0, charged - paidBefore);
  if (totalMinor > 0) addRefund(order, { at, lines, returnIndex: index, totalMinor });
}

function grossPaid(order: WorldOrder, lineIndex: number, units: number): number {
  const { netMinor, taxMinor } = unitsAmounts(lineOf(order, lineIndex), order.taxesIncluded, units);
  return netMinor + taxMinor;
}

/** Cancels an order and refunds the rest of it as unsent; without payment the refund has no money. */
export function cancelOrder(order: WorldOrder, at: number, restockType: WorldRestockType = "CANCEL"): void {
  order.cancelledAt = at;
  tell(order, { what: "order canceled", at });
  addRefund(order, {
    at,
    lines: order.lines.map(({ currentQuantity: quantity }, lineIndex) => ({
      lineIndex,
      quantity,
      restockType,
    })),
    ...(order.payment !== "PAID" && { totalMinor: 0 }),
  });
}
