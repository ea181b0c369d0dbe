import { mulberry32 } from "../../src/demo/random.ts";
import type { StoreFiles } from "./store.ts";
import { dayText } from "./calendar.ts";

/** A line of a generated store with the meaning of its rows, so that a loop over lines needs no classification. Days from 1970-01-01. */
export type MadeLine = {
  orderId: string;
  sku: string | null;
  product: string | null;
  used: boolean;
  orderedDay: number;
  soldUnits: number;
  /** The only event that returns units; money in minor units. */
  back: {
    day: number;
    units: number;
    refundMinor: number;
    reason: string | null;
    /** Null where label costs are not included. */
    label: { day: number; minor: number } | null;
  } | null;
};
export type MadeProduct = { id: string; family?: string; analytics_category?: string };
export type WarningStore = { lines: MadeLine[]; products: MadeProduct[]; files: StoreFiles };

const PRODUCTS = 9;
const LINES_PER_DAY = 18;
/** Keys with characters that are special in SQL, JSON and the names of entities. */
const STRANGE_SKUS: readonly string[] = [`Q"uote's\\`, "tab:and:colon", "naïve ☂"];

/**
 * Days from `firstDay` to `lastDay`: shared SKUs, used variants, lines without SKU or product, products without family or category,
 * a large and two small categories, canceled orders, removed units, open requests, refunds without units, returns before the order,
 * days without sales, giant orders, recent bad batches, labels and credits; of an even seed, one in another currency.
 */
export function makeWarningStore(seed: number, firstDay: number, lastDay: number): WarningStore {
  const random = mulberry32(seed * 2_654_435_761);
  const products = Array.from({ length: PRODUCTS }, (_, place): MadeProduct => ({
    id: String(place + 1),
    ...(place % 5 === 3 ? {} : { family: `Family ${place % 4}` }),
    ...(place % 7 === 6 ? {} : { analytics_category: place < 5 ? "Big" : `Small ${place % 2}` }),
  }));
  const variants = products.flatMap(({ id }, place) => [
    { variant_id: `v${id}a`, product_id: id, sku: STRANGE_SKUS[place] ?? `SKU-${id}-A` },
    { variant_id: `v${id}b`, product_id: id, sku: place % 4 === 1 ? "SHARED" : `SKU-${id}-B` },
    { variant_id: `v${id}u`, product_id: id, sku: `SKU-${id}-U`, condition: "used" as const },
  ]);
  const badDay = lastDay - 45 - Math.floor(random() * 10);
  const badSkus = new Set([variants[3]?.sku, variants[Math.floor(random() * 6)]?.sku]);
  const files = {
    products: products.map((product) => ({
      product_id: product.id,
      title: `Product ${product.id}`,
      ...product,
      id: undefined,
    })) as unknown as NonNullable<StoreFiles["products"]>,
    variants,
    order_lines: [] as StoreFiles["order_lines"],
    returns: [] as NonNullable<StoreFiles["returns"]>,
    refunds: [] as NonNullable<StoreFiles["refunds"]>,
    return_labels: [] as NonNullable<StoreFiles["return_labels"]>,
  };
  const lines: MadeLine[] = [];
  const silentFrom = firstDay + 100;
  for (let day = firstDay; day <= lastDay; day += 1) {
    if ((day >= silentFrom && day < silentFrom + 35) || random() < 0.05) continue;
    for (let left = Math.round(LINES_PER_DAY * (0.5 + random())); left > 0;) {
      const orderId = `o${seed}-${lines.length}`;
      const isGiant = random() < 0.002;
      const size = isGiant ? 40 : random() < 0.25 ? 2 + Math.floor(random() * 4) : 1;
      const isAllBack = isGiant && random() < 0.5;
      const isCanceled = random() < 0.02;
      left -= isGiant ? 1 : size;
      for (let number = 1; number <= size; number += 1) {
        addLine({ day, orderId, number, isAllBack, isCanceled });
      }
    }
  }
  return { lines, products, files };

  function addLine(order: {
    day: number;
    orderId: string;
    number: number;
    isAllBack: boolean;
    isCanceled: boolean;
  }): void {
    const { day, orderId, number, isAllBack, isCanceled } = order;
    const drawn = random();
    const variant = variants[Math.floor(random() ** 1.5 * variants.length)] as (typeof variants)[number];
    const named =
      drawn < 0.03
        ? { sku: null, product: null, cells: {} }
        : drawn < 0.06
          ? { sku: "LOOSE", product: null, cells: { sku: "LOOSE" } }
          : { sku: variant.sku, product: variant.product_id, cells: { variant_id: variant.variant_id } };
    const used = named.product !== null && "condition" in variant;
    const units = 1 + Math.floor(random() * 3);
    const removed = random() < 0.05 ? 1 + Math.floor(random() * units) : 0;
    const key = { order_id: orderId, line_id: String(number) };
    files.order_lines.push({
      ...key,
      ordered_at: at(day, 10),
      units,
      ...named.cells,
      ...(removed > 0 ? { removed_units: removed } : {}),
      ...(isCanceled ? { canceled_at: at(day, 20) } : {}),
    });
    const isBad = named.sku !== null && badSkus.has(named.sku) && day >= badDay;
    const soldUnits = isCanceled ? 0 : units - removed;
    const isBack = isAllBack || random() < (isBad ? 0.95 : 0.13);
    const lag = isAllBack
      ? 5
      : Math.floor(-Math.log(1 - random()) * (isBad ? 7 : 14)) - (random() < 0.03 ? 2 : 0);
    const backDay = day + lag;
    const backUnits = 1 + Math.floor(random() * Math.max(1, soldUnits));
    const minor = 500 + Math.floor(random() * 5000);
    const event = `e${lines.length}`;
    const reason = ["DEFECTIVE", "TOO_SMALL", "COLOR"][Math.floor(random() ** 2 * 3)] as string;
    let back: MadeLine["back"] = null;
    if (isBack && random() < 0.5) {
      files.returns.push({
        ...key,
        return_id: event,
        status: "CLOSED",
        units: backUnits,
        closed_at: at(backDay, 12),
        reason,
      });
      back = { day: backDay, units: backUnits, refundMinor: 0, reason, label: labelOf(event, backDay) };
    } else if (isBack) {
      const subtotal = (minor / 100).toFixed(2);
      files.refunds.push({
        ...key,
        refund_id: event,
        refunded_at: at(backDay, 12),
        units: backUnits,
        subtotal,
      });
      back = { day: backDay, units: backUnits, refundMinor: minor, reason: null, label: null };
    } else if (random() < 0.05) {
      files.returns.push({ ...key, return_id: event, status: "OPEN", units: 1, reason });
    }
    lines.push({
      orderId,
      sku: named.sku,
      product: named.product,
      used,
      orderedDay: day,
      soldUnits,
      back: soldUnits === 0 ? null : back,
    });
  }

  /** Charged up to a month after the return is closed. */
  function labelOf(returnId: string, backDay: number): NonNullable<MadeLine["back"]>["label"] {
    const labels = files.return_labels;
    const isForeign = seed % 2 === 0;
    const charged = { day: backDay + (labels.length % 30), minor: ((labels.length % 7) - 2) * 300 };
    labels.push({
      label_id: returnId,
      return_id: returnId,
      charged_at: at(charged.day, 12),
      amount: (charged.minor / 100).toFixed(2),
      currency: isForeign && labels.length === 0 ? "USD" : "EUR",
    });
    return isForeign ? null : charged;
  }
}

function at(day: number, hour: number): string {
  return `${dayText(day)}T${hour}:00:00Z`;
}
