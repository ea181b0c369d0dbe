import { dayToText } from "../lib/month.ts";
import { DAY_MS, dayOfText } from "./calendar.ts";
import { openImportFolder } from "./import-folder.ts";
import type { ImportFolderWriter } from "./import-folder.ts";
import { orderLineRow, productRow, returnRow, saleEventRow, variantRow } from "./import-rows.ts";
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
  /** Whole months before that of today; 24 unless told. */
  months?: number;
  /** Orders in all; 34,000 unless told. */
  orders?: number;
  /** How many times the assortment of about 500 SKUs is in the catalogue; once unless told. */
  breadth?: number;
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
const DEFAULT_MONTHS = 24;
const DEFAULT_ORDERS = 34_000;

/**
 * Writes the history of a made-up shop as an import folder. The same options give the same bytes.
 * Throws when today is no day of the calendar; errors of the file system pass through.
 */
export async function writeDemoStore(options: DemoStoreOptions): Promise<DemoStoreSummary> {
  const { seed = DEFAULT_SEED, months = DEFAULT_MONTHS, orders = DEFAULT_ORDERS, breadth = 1 } = options;
  const plan = planStore({ todayDay: dayOfText(options.today), seed, months, orders, breadth });
  const writer = await openImportFolder(options.folder);
  writeCatalogue(plan, writer);
  const written = await writeOrders(plan, writer, options.onProgress);
  await writer.finish();
  return summarize(options.folder, plan, written, writer);
}

function writeCatalogue(plan: StorePlan, writer: ImportFolderWriter): void {
  for (const product of plan.catalogue.products) {
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

/** Each stage has its own stream of random numbers, so that changing one leaves the others alone. */
function afterSalesWriter(plan: StorePlan, writer: ImportFolderWriter): (order: Order) => void {
  const endAt = plan.todayDay * DAY_MS;
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
