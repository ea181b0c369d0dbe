import { dayToText } from "../lib/month.ts";
import { DAY_MS, dayOfText } from "./calendar.ts";
import { openImportFolder } from "./import-folder.ts";
import type { ImportFolderWriter } from "./import-folder.ts";
import {
  orderLineRow,
  plainProductRow,
  productRow,
  refundRow,
  returnLabelRow,
  returnRow,
  saleEventRow,
  variantRow,
} from "./import-rows.ts";
import { GIFT_CARD_PRODUCT, SWATCH_PRODUCT } from "./oddments.ts";
import type { Order } from "./orders.ts";
import { offerOn, simulateOrder, timesOfOrders } from "./orders.ts";
import { createRandom } from "./random.ts";
import { simulateRefunds } from "./refunds.ts";
import { simulateLabels } from "./return-labels.ts";
import { simulateReturns } from "./returns.ts";
import { planStore } from "./store-plan.ts";
import type { StorePlan } from "./store-plan.ts";

export interface DemoStoreOptions {
  /** Created where needed; import files of the same names in it are replaced. */
  folder: string;
  /** YYYY-MM-DD. Everything in the store happens before this day begins in UTC. */
  today: string;
  /** Another seed opens another shop. */
  seed?: number;
  /** Called with the number of orders, on the way and once at the end. */
  onProgress?: (done: number, total: number) => void;
}

export interface DemoStoreSummary {
  folder: string;
  /** First and last day with orders. */
  firstDay: string;
  lastDay: string;
  orders: number;
  orderLines: number;
  products: number;
  skus: number;
  /** Rows of the files: one per returned, refunded line and per label. */
  returns: number;
  refunds: number;
  returnLabels: number;
  saleEvents: { slug: string; label: string; startsOn: string; endsOn: string }[];
  /** The product with a spike, its main SKU, and the newest month complete for the primary window, YYYY-MM. */
  badBatch: { productId: string; title: string; sku: string; cohortMonth: string };
}

const DEFAULT_SEED = 20;

/**
 * Writes two years of a made-up shop as an import folder. The same seed and day give the same bytes.
 * Throws when today is no day of the calendar; errors of the file system pass through.
 */
export async function writeDemoStore(options: DemoStoreOptions): Promise<DemoStoreSummary> {
  const plan = planStore(dayOfText(options.today), options.seed ?? DEFAULT_SEED);
  const writer = await openImportFolder(options.folder);
  try {
    writeCatalogue(plan, writer);
    const orders = await writeOrders(plan, writer, options.onProgress);
    await writer.finish();
    return summarize(options.folder, plan, orders, writer);
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}

function writeCatalogue(plan: StorePlan, writer: ImportFolderWriter): void {
  for (const product of plan.catalogue.products) {
    writer.add("products", productRow(product));
    for (const variant of product.variants) writer.add("variants", variantRow(product, variant));
  }
  for (const product of [GIFT_CARD_PRODUCT, SWATCH_PRODUCT]) writer.add("products", plainProductRow(product));
  for (const event of plan.events) writer.add("sale_events", saleEventRow(event));
}

async function writeOrders(
  plan: StorePlan,
  writer: ImportFolderWriter,
  onProgress: DemoStoreOptions["onProgress"],
): Promise<number> {
  const writeDay = dayWriter(plan, writer);
  const total = plan.ordersByDay.reduce((sum, orders) => sum + orders, 0);
  let done = 0;
  for (const [index, orders] of plan.ordersByDay.entries()) {
    writeDay(plan.firstDay + index, orders);
    done += orders;
    await writer.drain();
    onProgress?.(done, total);
  }
  return done;
}

/** Each stage has its own stream of random numbers, so that changing one leaves the others alone. */
function dayWriter(plan: StorePlan, writer: ImportFolderWriter): (day: number, orderCount: number) => void {
  const endAt = plan.todayDay * DAY_MS;
  const randomForTimes = createRandom(plan.seed, "times");
  const randomForOrders = createRandom(plan.seed, "orders");
  const afterSales = afterSalesWriter(plan, endAt, writer);
  const nextOrderId = numbering("", 10_001);
  return (day, orderCount) => {
    const offer = offerOn(plan, day);
    for (const orderedAt of timesOfOrders(day, orderCount, randomForTimes)) {
      const order = simulateOrder(plan, offer, nextOrderId(), orderedAt, randomForOrders);
      for (const line of order.lines) writer.add("order_lines", orderLineRow(order, line));
      afterSales(order);
    }
  };
}

function afterSalesWriter(
  plan: StorePlan,
  endAt: number,
  writer: ImportFolderWriter,
): (order: Order) => void {
  const randomForReturns = createRandom(plan.seed, "returns");
  const randomForRefunds = createRandom(plan.seed, "refunds");
  const randomForLabels = createRandom(plan.seed, "labels");
  const nextReturnId = numbering("R", 1001);
  const nextRefundId = numbering("F", 1001);
  const nextLabelId = numbering("L", 1001);
  return (order) => {
    const returns = simulateReturns(order, endAt, nextReturnId, randomForReturns);
    for (const returnCase of returns) {
      for (const returned of returnCase.lines) writer.add("returns", returnRow(order, returnCase, returned));
    }
    for (const refund of simulateRefunds(order, returns, endAt, nextRefundId, randomForRefunds)) {
      writer.add("refunds", refundRow(order, refund));
    }
    for (const label of simulateLabels(order, returns, endAt, nextLabelId, randomForLabels)) {
      writer.add("return_labels", returnLabelRow(label));
    }
  };
}

function numbering(prefix: string, first: number): () => string {
  let next = first;
  return () => `${prefix}${next++}`;
}

function summarize(
  folder: string,
  plan: StorePlan,
  orders: number,
  writer: ImportFolderWriter,
): DemoStoreSummary {
  const { batch } = plan;
  return {
    folder,
    firstDay: dayToText(plan.firstDay),
    lastDay: dayToText(plan.todayDay - 1),
    orders,
    orderLines: writer.rowCount("order_lines"),
    products: writer.rowCount("products"),
    skus: writer.rowCount("variants"),
    returns: writer.rowCount("returns"),
    refunds: writer.rowCount("refunds"),
    returnLabels: writer.rowCount("return_labels"),
    saleEvents: plan.events.map((event) => ({
      slug: event.slug,
      label: event.label,
      startsOn: dayToText(event.startsOnDay),
      endsOn: dayToText(event.endsOnDay),
    })),
    badBatch: {
      productId: batch.product.productId,
      title: batch.product.title,
      sku: batch.variant.sku,
      cohortMonth: batch.cohortMonth,
    },
  };
}
