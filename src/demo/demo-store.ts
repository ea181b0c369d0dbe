import { appendFile, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { csvText } from "../lib/csv-text.ts";
import { dayToText } from "../lib/month.ts";
import type { Product, ProductKind, Variant } from "./catalogue.ts";
import { DEMO_STORE } from "./demo-store-facts.ts";
import {
  GIFT_CARD_PRODUCT,
  offerOn,
  simulateOrder,
  simulateReturns,
  soldUnits,
  SWATCH_PRODUCT,
  timesOfOrders,
} from "./orders.ts";
import type { Order, OrderLine, ReturnCase, ReturnedLine } from "./orders.ts";
import { pictureName, PICTURES_PATH } from "./pictures.ts";
import { DAY_MS, HOUR_MS, planStore, skusOnSale, type DemoSaleEvent, type StorePlan } from "./plan.ts";
import { createRandom, type Random } from "./random.ts";

/** Shares of returns with a paid label; other parcels are brought to a shop or sent at the shopper's cost. */
const LABEL_SHARE = { CLOSED: 0.7, OPEN: 0.5, REQUESTED: 0.3, DECLINED: 0, CANCELED: 0.1 };

const COST_RANGE_MINOR: Record<ProductKind, readonly [low: number, high: number]> = {
  apparel: [295, 480],
  shoes: [380, 590],
  home: [490, 1150],
};

/** Simulates the labels of an order's returns up to endAt, and now and then one that belongs to nothing. */
function simulateLabels(
  order: Order,
  returns: readonly ReturnCase[],
  endAt: number,
  nextLabelId: () => string,
  random: Random,
): ImportRow[] {
  return returns.flatMap((returnCase) => {
    if (!random.chance(LABEL_SHARE[returnCase.status])) return [];
    const chargedAt = chargeTime(returnCase, random);
    if (chargedAt >= endAt) return [];
    const label = {
      label_id: nextLabelId(),
      ...referencesOf(order.orderId, returnCase.returnId, random),
      tracking_number: trackingNumber(random),
      charged_at: timeText(chargedAt),
      amount: amountText(costOf(returnCase, random)),
      currency: DEMO_STORE.currency,
      voided_at: optionalTimeText(voidTime(chargedAt, returnCase, endAt, random)),
    };
    return random.chance(0.006) ? [label, strayLabel(label, nextLabelId(), random)] : [label];
  });
}

/** One to two days after the request, but never after the goods have arrived. */
function chargeTime({ requestedAt, closedAt }: ReturnCase, random: Random): number {
  const chargedAt = requestedAt + random.integer(2 * 3600, 44 * 3600) * 1000;
  return closedAt === null ? chargedAt : Math.min(chargedAt, closedAt);
}

/** The references on the carrier's bill: the order, the return, or both. */
function referencesOf(
  orderId: string,
  returnId: string,
  random: Random,
): { order_id: string; return_id: string } {
  const point = random.fraction();
  const isOrderNamed = point < 0.6 || point >= 0.82;
  return { order_id: isOrderNamed ? orderId : "", return_id: point < 0.82 ? returnId : "" };
}

function costOf({ lines }: ReturnCase, random: Random): number {
  const kinds = new Set(lines.map(({ item }) => item.product.kind));
  const kind = (["home", "shoes", "apparel"] as const).find((candidate) => kinds.has(candidate)) ?? "apparel";
  const [lowMinor, highMinor] = COST_RANGE_MINOR[kind];
  return random.integer(lowMinor, highMinor) + 60 * (lines.length - 1);
}

/** Labels of canceled requests are voided, and a few others that were printed twice. */
function voidTime(chargedAt: number, { status }: ReturnCase, endAt: number, random: Random): number | null {
  const voidedAt = chargedAt + Math.round(random.between(0.5, 6) * (DAY_MS / 1000)) * 1000;
  const voided = status === "CANCELED" || random.chance(0.025);
  return voided && voidedAt < endAt ? voidedAt : null;
}

/** A label on the carrier's bill that no order of the store explains. */
function strayLabel(label: ImportRow, labelId: string, random: Random): ImportRow {
  const orderId = random.chance(0.5) ? `MKT-${random.integer(50_000, 59_999)}` : "";
  const references = { label_id: labelId, order_id: orderId, return_id: "" };
  return { ...label, ...references, tracking_number: trackingNumber(random), voided_at: "" };
}

function trackingNumber(random: Random): string {
  return `DS${String(random.integer(0, 999_999_999)).padStart(9, "0")}GB`;
}

const RESTOCKING_FEE = 0.1;

/**
 * Simulates the refunds of an order up to endAt, a row for each line: cancellations, settled returns, and goodwill. Rows
 * of the same refund share its id and time.
 */
function simulateRefunds(
  order: Order,
  returns: readonly ReturnCase[],
  endAt: number,
  nextRefundId: () => string,
  random: Random,
): ImportRow[] {
  const cancellations = refundCancellations(order, nextRefundId);
  const settlements = returns.flatMap((returnCase) =>
    refundReturn(order, returnCase, endAt, nextRefundId, random),
  );
  const requested = new Set(returns.flatMap((returnCase) => returnCase.lines.map(({ line }) => line)));
  const goodwill = order.lines
    .filter((line) => !requested.has(line) && line.item !== null && soldUnits(order, line) > 0)
    .flatMap((line) => refundGoodwill(order, line, endAt, nextRefundId, random));
  return [...cancellations, ...settlements, ...goodwill];
}

/** Units taken out before fulfilment are paid back in one refund per moment. */
function refundCancellations(order: Order, nextRefundId: () => string): ImportRow[] {
  const refundIdByTime = new Map<number, string>();
  return order.lines
    .filter((line) => line.canceledUnits > 0)
    .map((line) => {
      const refundedAt = line.canceledUnitsAt;
      const refundId = refundIdByTime.get(refundedAt) ?? nextRefundId();
      refundIdByTime.set(refundedAt, refundId);
      const units = line.canceledUnits;
      const paidMinor = line.unitPriceMinor * units;
      return refundRow(order, line, { refundId, refundedAt, units, paidMinor, restockType: "CANCEL" });
    });
}

/** Paid shortly before or after the return is closed; exchanges are never paid back. */
function refundReturn(
  order: Order,
  returnCase: ReturnCase,
  endAt: number,
  nextRefundId: () => string,
  random: Random,
): ImportRow[] {
  const { closedAt, requestedAt, returnId } = returnCase;
  if (closedAt === null || returnCase.exchange) return [];
  const earliest = requestedAt + HOUR_MS;
  const refundedAt = Math.max(earliest, closedAt + Math.round(random.between(-86_400, 86_400)) * 1000);
  const restockingFee = random.chance(0.06);
  if (refundedAt >= endAt) return [];
  const refundId = nextRefundId();
  return returnCase.lines.map((returned) => {
    const { line, acceptedUnits: units } = returned;
    const fullMinor = line.unitPriceMinor * units;
    const paidMinor = restockingFee ? Math.round(fullMinor * (1 - RESTOCKING_FEE)) : fullMinor;
    const restockType = restockTypeOf(returned, random);
    return refundRow(order, line, { refundId, refundedAt, units, paidMinor, restockType, returnId });
  });
}

function restockTypeOf({ reason }: ReturnedLine, random: Random): string {
  if (reason === "defective") return "NO_RESTOCK";
  const point = random.fraction();
  if (point < 0.92) return "RETURN";
  if (point < 0.95) return "LEGACY_RESTOCK";
  return point < 0.98 ? "NO_RESTOCK" : "";
}

/** Money for lost or damaged goods that are not sent back; often a partial amount, without units. */
function refundGoodwill(
  order: Order,
  line: OrderLine,
  endAt: number,
  nextRefundId: () => string,
  random: Random,
): ImportRow[] {
  if (!random.chance(0.013)) return [];
  const refundedAt = order.orderedAt + Math.round(random.between(3, 24) * (DAY_MS / 1000)) * 1000;
  if (refundedAt >= endAt) return [];
  const moneyOnly = random.chance(0.6);
  const units = moneyOnly ? 0 : random.integer(1, soldUnits(order, line));
  const part = moneyOnly ? random.pick([0.1, 0.15, 0.25]) : units;
  const refundId = nextRefundId();
  const paidMinor = Math.round(line.unitPriceMinor * part);
  // The platform may omit it, which means NO_RESTOCK.
  const restockType = moneyOnly && random.chance(0.3) ? "" : "NO_RESTOCK";
  return [refundRow(order, line, { refundId, refundedAt, units, paidMinor, restockType })];
}

type Refund = {
  refundId: string;
  refundedAt: number;
  units: number;
  paidMinor: number;
  restockType: string;
  returnId?: string;
};

function refundRow(order: Order, line: OrderLine, refund: Refund): ImportRow {
  return {
    refund_id: refund.refundId,
    order_id: order.orderId,
    line_id: line.lineId,
    refunded_at: timeText(refund.refundedAt),
    units: refund.units,
    subtotal: amountText(refund.paidMinor),
    restock_type: refund.restockType,
    return_id: refund.returnId ?? "",
  };
}

type DemoStoreOptions = {
  /** Created where needed; import files of the same names in it are replaced. */
  folder: string;
  /** YYYY-MM-DD. Everything in the store happens before this day begins in UTC. */
  today: string;
  /** Another seed opens another shop. */
  seed?: number;
  /** Whole months before the current one; default: 24. */
  months?: number;
  /** Total orders; default: 34,000. */
  orders?: number;
  /** How often the assortment of about 500 SKUs is in the catalogue; default: once. */
  breadth?: number;
  /** Called with the number of orders, on the way and once at the end. */
  onProgress?: (done: number, total: number) => void;
};

export type DemoStoreSummary = ReturnType<typeof summarize>;

const DEFAULT_SEED = 20;
const DEFAULT_MONTHS = 24;
const DEFAULT_ORDERS = 34_000;

/**
 * Writes the history of a made-up shop as an import folder. The same options give the same bytes.
 * Throws when today is not a valid day; errors of the file system pass through.
 */
export async function writeDemoStore(options: DemoStoreOptions): Promise<DemoStoreSummary> {
  const { seed = DEFAULT_SEED, months = DEFAULT_MONTHS, orders = DEFAULT_ORDERS, breadth = 1 } = options;
  const plan = planStore({ today: options.today, seed, months, orders, breadth });
  const writer = await openImportFolder(options.folder);
  writeCatalogue(plan, writer);
  const written = await writeOrders(plan, writer, options.onProgress);
  await writer.finish();
  return summarize(options.folder, plan, written, writer);
}

function writeCatalogue(plan: StorePlan, writer: ImportFolderWriter): void {
  for (const product of plan.products) {
    writer.add("products", productRow(product));
    for (const variant of product.variants) writer.add("variants", variantRow(product, variant));
  }
  for (const product of [GIFT_CARD_PRODUCT, SWATCH_PRODUCT]) writer.add("products", productRow(product));
  for (const event of plan.events) writer.add("sale_events", saleEventRow(event));
}

async function writeOrders(
  plan: StorePlan,
  writer: ImportFolderWriter,
  onProgress: DemoStoreOptions["onProgress"],
): Promise<number> {
  const randomForTimes = createRandom(plan.seed, "times");
  const randomForOrders = createRandom(plan.seed, "orders");
  const addAfterSales = afterSalesWriter(plan, writer);
  const nextOrderId = numbering("", 10_001);
  const total = plan.ordersByDay.reduce((sum, orders) => sum + orders, 0);
  let done = 0;
  for (const [index, orderCount] of plan.ordersByDay.entries()) {
    const day = plan.firstDay + index;
    const offer = offerOn(plan, day);
    for (const orderedAt of timesOfOrders(day, orderCount, randomForTimes)) {
      const order = simulateOrder(plan, offer, nextOrderId(), orderedAt, randomForOrders);
      for (const line of order.lines) writer.add("order_lines", orderLineRow(order, line));
      addAfterSales(order);
    }
    done += orderCount;
    await writer.drain();
    onProgress?.(done, total);
  }
  return done;
}

/** Each stage has its own stream of random numbers, so that changing one does not affect the others. */
function afterSalesWriter(plan: StorePlan, writer: ImportFolderWriter): (order: Order) => void {
  const endAt = plan.todayDay * DAY_MS;
  const random = createRandom(plan.seed, "returns");
  const randomForCut = createRandom(plan.seed, "small cut");
  const randomForRefunds = createRandom(plan.seed, "refunds");
  const randomForLabels = createRandom(plan.seed, "labels");
  const nextReturnId = numbering("R", 1001);
  const nextRefundId = numbering("F", 1001);
  const nextLabelId = numbering("L", 1001);
  return (order) => {
    const returns = simulateReturns(order, endAt, nextReturnId, { random, randomForCut });
    for (const returnCase of returns) {
      for (const returned of returnCase.lines) writer.add("returns", returnRow(order, returnCase, returned));
    }
    for (const refund of simulateRefunds(order, returns, endAt, nextRefundId, randomForRefunds)) {
      writer.add("refunds", refund);
    }
    for (const label of simulateLabels(order, returns, endAt, nextLabelId, randomForLabels)) {
      writer.add("return_labels", label);
    }
  };
}

function numbering(prefix: string, first: number): () => string {
  let next = first;
  return () => `${prefix}${next++}`;
}

/** Rows of the files are one per returned line, refunded line and label. */
function summarize(folder: string, plan: StorePlan, orders: number, { rowCount }: ImportFolderWriter) {
  const { batch, smallCut } = plan;
  return {
    folder,
    /** First and last day with orders. */
    firstDay: dayToText(plan.firstDay),
    lastDay: dayToText(plan.todayDay - 1),
    orders,
    orderLines: rowCount("order_lines"),
    products: rowCount("products"),
    skus: rowCount("variants"),
    returns: rowCount("returns"),
    refunds: rowCount("refunds"),
    returnLabels: rowCount("return_labels"),
    saleEvents: plan.events.map(({ slug, label, startsOnDay, endsOnDay }) => ({
      slug,
      label,
      startsOn: dayToText(startsOnDay),
      endsOn: dayToText(endsOnDay),
    })),
    /** The product with a spike, its main SKU, and the newest month complete for the primary window, YYYY-MM. */
    badBatch: {
      productId: batch.product.productId,
      title: batch.product.title,
      sku: batch.variant.sku,
      cohortMonth: batch.cohortMonth,
    },
    /** The product whose middle sizes run small since the first of that month. */
    smallCut: { productId: smallCut.product.productId, title: smallCut.product.title },
  };
}

/** Of a product outside the catalogue nothing is known but its name and its vendor. */
function productRow(product: Pick<Product, "productId" | "title" | "vendor"> & Partial<Product>): ImportRow {
  const { handle = "", family = "", analyticsCategory = "", silhouette = "", colour = "" } = product;
  return {
    product_id: product.productId,
    title: product.title,
    handle,
    vendor: product.vendor,
    family,
    analytics_category: analyticsCategory,
    image_url: handle && pictureAddress(silhouette, colour),
    image_alt: handle && `${product.title} in ${colour.toLowerCase()}`,
  };
}

function pictureAddress(silhouette: string, colour: string): string {
  return `https://${DEMO_STORE.domain}${PICTURES_PATH}${pictureName(silhouette, colour)}.svg`;
}

function variantRow(product: Product, variant: Variant): ImportRow {
  return {
    variant_id: variant.variantId,
    product_id: product.productId,
    sku: variant.sku,
    title: variant.title,
    condition: variant.condition,
    counterpart_sku: variant.counterpartSku,
    unit_cost: variant.unitCostMinor === null ? "" : amountText(variant.unitCostMinor),
    image_url: variant.colour === product.colour ? "" : pictureAddress(product.silhouette, variant.colour),
    option1_name: variant.size === "" ? "" : "Size",
    option1_value: variant.size,
    option2_name: variant.colour === "" ? "" : "Colour",
    option2_value: variant.colour,
  };
}

function orderLineRow(order: Order, line: OrderLine): ImportRow {
  return {
    order_id: order.orderId,
    line_id: line.lineId,
    ordered_at: timeText(order.orderedAt),
    product_id: line.productId,
    variant_id: line.variantId,
    sku: line.sku,
    title: line.title,
    vendor: line.vendor,
    units: line.units,
    unit_price: amountText(line.unitPriceMinor),
    test: String(order.test),
    canceled_at: optionalTimeText(order.canceledAt),
    removed_units: line.removedUnits,
    gift_card: String(line.giftCard),
  };
}

function returnRow(order: Order, returnCase: ReturnCase, returned: ReturnedLine): ImportRow {
  const processedKnown = returnCase.status === "CLOSED" && returned.processedReported;
  return {
    return_id: returnCase.returnId,
    order_id: order.orderId,
    line_id: returned.line.lineId,
    status: returnCase.status,
    units: returned.units,
    processed_units: processedKnown ? returned.acceptedUnits : "",
    requested_at: timeText(returnCase.requestedAt),
    closed_at: optionalTimeText(returnCase.closedAt),
    reason: returned.reason,
  };
}

function saleEventRow(event: DemoSaleEvent): ImportRow {
  return {
    slug: event.slug,
    label: event.label,
    starts_on: dayToText(event.startsOnDay),
    ends_on: dayToText(event.endsOnDay),
    skus: skusOnSale(event).join(";"),
  };
}

function amountText(amountMinor: number): string {
  return (amountMinor / 100).toFixed(2);
}

function timeText(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19)}Z`;
}

function optionalTimeText(time: number | null): string {
  return time === null ? "" : timeText(time);
}

const FILES = [
  "products",
  "variants",
  "order_lines",
  "returns",
  "refunds",
  "return_labels",
  "sale_events",
] as const;

export type ImportFile = (typeof FILES)[number];

/** Values by column; the first row of a file decides its columns and their order. */
type ImportRow = Readonly<Record<string, string | number>>;

type ImportFolderWriter = Awaited<ReturnType<typeof openImportFolder>>;

const ROWS_PER_WRITE = 2000;

/** Writes rows to the files of one folder, with only a few thousand rows in memory; files of the same names are replaced. */
async function openImportFolder(folder: string) {
  await mkdir(folder, { recursive: true });
  const pathOf = (file: ImportFile): string => join(folder, `${file}.csv`);
  for (const file of FILES) await rm(pathOf(file), { force: true });
  const files = new Map(FILES.map((file) => [file, { rows: [] as ImportRow[], count: 0 }]));
  const writeOut = async (fewestRows: number): Promise<void> => {
    for (const [file, { rows, count }] of files) {
      if (rows.length < fewestRows) continue;
      const columns = Object.keys(rows[0] ?? {});
      const header = count === rows.length ? [columns] : [];
      const cells = rows.map((row) => columns.map((column) => row[column] ?? null));
      await appendFile(pathOf(file), csvText([...header, ...cells], "\n"));
      rows.length = 0;
    }
  };
  return {
    add: (file: ImportFile, row: ImportRow): void => {
      const written = files.get(file) as { rows: ImportRow[]; count: number };
      written.rows.push(row);
      written.count += 1;
    },
    /** Writes out the files that have gathered enough rows; await it now and then between rows. */
    drain: () => writeOut(ROWS_PER_WRITE),
    /** Writes the rest. */
    finish: () => writeOut(1),
    rowCount: (file: ImportFile): number => files.get(file)?.count ?? 0,
  };
}
