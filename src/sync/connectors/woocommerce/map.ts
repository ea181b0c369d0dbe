import type { DocumentLine, DocumentRefund } from "../../../metrics/order.ts";
import type { DocumentPart } from "../../document-merge.ts";
import { mapProduct, type MappedProduct } from "../shared/map-product.ts";
import { minorOf, splitMinor } from "../shared/money.ts";
import type { ProductSettings } from "../shared/product-settings.ts";
import { cleanKey, cleanLabel, compareGids, timeOf } from "../shared/text.ts";
import type { WooLine, WooOrder, WooProduct, WooRefund, WooVariation } from "./client.ts";

export type MappedOrder = { part: DocumentPart; anomalies: OrderAnomalies };

/** Anomalies of an order, counted for the notes of a run. */
export type OrderAnomalies = typeof NO_ANOMALIES;

export const NO_ANOMALIES = {
  /** 1 if it has another currency than the workspace: its money is left out. */
  foreignOrders: 0,
  /** Lines with a quantity that is not a whole number: each counts as one unit. */
  measuredLines: 0,
  /** 1 if its status is refunded without a date: nothing of it counts as refunded. */
  undatedRefunds: 0,
  /** Refunds of units before the order was completed: these units were not sent (M1). */
  refundsBeforeCompletion: 0,
};

export type WooSettings = ProductSettings & {
  url: string;
  /** Whether a refund before the order's completion counts as units never sent, or returned. */
  refundsBeforeCompletion: "canceled" | "returned";
};

/** Not sold yet, or never: not paid, or the checkout was not finished. */
const SELLS_NOTHING: ReadonlySet<string> = new Set([
  "pending",
  "failed",
  "checkout-draft",
  "auto-draft",
  "draft",
  "new",
  "trash",
]);

export const ORDER_PREFIX = "gid://woocommerce/Order/";
export const PRODUCT_PREFIX = "gid://woocommerce/Product/";

/** The canonical part of an order; `currencyCode` is the workspace's. An order without lines is none. */
export function mapOrder(
  order: WooOrder,
  refunds: readonly WooRefund[],
  settings: Pick<WooSettings, "refundsBeforeCompletion">,
  currencyCode: string,
): MappedOrder {
  const anomalies = { ...NO_ANOMALIES };
  const status = order.status.replace(/^wc-/u, "");
  const createdAt = order.date_created_gmt ?? order.date_modified_gmt;
  const lines = order.line_items.filter((line) => line.quantity > 0);
  if (SELLS_NOTHING.has(status) || createdAt === null || createdAt === undefined || lines.length === 0) {
    return { part: { lines: [], returns: [], refunds: [] }, anomalies };
  }
  const isForeign = order.currency !== currencyCode;
  const minor = (amount: string | number): number => (isForeign ? 0 : minorOf(amount || "0", currencyCode));
  const modifiedAt = timeOf(order.date_modified_gmt ?? createdAt);
  const mapped = lines.map((line): DocumentLine => {
    const { productId, variantId } = placesOf(line);
    return {
      lineId: `gid://woocommerce/LineItem/${line.id}`,
      orderedAt: timeOf(createdAt),
      productId,
      variantId,
      // The API returns the product's current SKU; if it has one, its variant has it too.
      sku: productId === null ? cleanKey(line.sku ?? null) : null,
      title: cleanLabel(line.name ?? null),
      vendor: null,
      units: unitsOf(line.quantity),
      removedUnits: 0,
      unitPriceMinor: isForeign ? null : Math.round(minor(line.subtotal) / unitsOf(line.quantity)),
      soldMinor: isForeign ? null : minor(line.total),
      test: false,
      // There is no time of cancellation; the last change of a canceled order usually is the cancellation.
      canceledAt: status === "cancelled" ? modifiedAt : null,
      giftCard: false,
    };
  });
  const rows = mapRefunds({ order, status, lines: mapped, refunds, minor, settings, anomalies });
  anomalies.foreignOrders = isForeign ? 1 : 0;
  anomalies.measuredLines = lines.filter(({ quantity }) => !Number.isInteger(quantity)).length;
  return {
    part: {
      orderName: cleanLabel(String(order.number)),
      lines: mapped,
      returns: [],
      ...rows,
      channel: cleanLabel(order.created_via ?? null),
      unpaidStatus: status === "on-hold" ? "ON-HOLD" : null,
      free: Number(order.total) === 0,
    },
    anomalies,
  };
}

/** A quantity by weight or length counts as one unit. */
function unitsOf(quantity: number): number {
  const units = Math.abs(quantity);
  return Number.isInteger(units) ? units : 1;
}

/** A product without variations is its own variant. */
function placesOf({
  product_id: product,
  variation_id: variation,
}: Pick<WooLine, "product_id" | "variation_id">) {
  const [productId, variationId] = [Number(product ?? 0), Number(variation ?? 0)];
  if (productId === 0) return { productId: null, variantId: null };
  return { productId: `${PRODUCT_PREFIX}${productId}`, variantId: variantIdOf(variationId || productId) };
}

export function refundIdOf(id: number | string): string {
  return `gid://woocommerce/Refund/${id}`;
}

function variantIdOf(id: number | string): string {
  return `gid://woocommerce/ProductVariant/${id}`;
}

type RefundsContext = {
  order: WooOrder;
  status: string;
  lines: readonly DocumentLine[];
  refunds: readonly WooRefund[];
  minor: (amount: string | number) => number;
  settings: Pick<WooSettings, "refundsBeforeCompletion">;
  anomalies: OrderAnomalies;
};

/** Units and money of a refund by the line that it names. */
type Taken = Map<string, { units: number; minor: number }>;

/**
 * M2: a refund's lines are returned units, because the API has no returns; a refund without a line is money only.
 * An order with the status refunded is paid back completely: units in no earlier refund belong to its last one.
 */
function mapRefunds(context: RefundsContext): Pick<Required<DocumentPart>, "refunds" | "amountRefunds"> {
  const { lines, minor, status, anomalies } = context;
  const refunds = context.refunds
    .map((refund) => ({
      refundId: refundIdOf(refund.id),
      refundedAt: timeOf(refund.date_created_gmt),
      taken: takenBy(refund, context),
      amountMinor: merchandiseMinor(refund, minor),
    }))
    .toSorted(
      (left, right) =>
        Date.parse(left.refundedAt) - Date.parse(right.refundedAt) ||
        compareGids(left.refundId, right.refundId),
    );
  const last = refunds.at(-1);
  if (status === "refunded" && last === undefined) anomalies.undatedRefunds = 1;
  if (status === "refunded" && last !== undefined) {
    const all = refunds.map(({ taken }) => taken);
    const rests = lines.map((line) => restOf(line, all));
    // Only the money of a refund without a line cannot be attributed.
    const open = last.taken.size > 0 ? 0 : rests.reduce((sum, rest) => sum + rest.minor, 0);
    const shares = splitMinor(
      Math.min(open, last.amountMinor),
      rests.map((rest) => rest.minor),
    );
    for (const [index, { lineId }] of lines.entries()) {
      const rest = { units: rests[index]?.units ?? 0, minor: shares[index] ?? 0 };
      if (rest.units > 0 || rest.minor > 0) add(last.taken, lineId, rest);
    }
  }
  return {
    refunds: refunds.flatMap(({ refundId, refundedAt, taken }) => {
      const isCanceled = wasUnsent(refundedAt, context);
      return [...taken].map(([lineId, { units, minor: subtotalMinor }]): DocumentRefund => {
        if (isCanceled && units > 0) anomalies.refundsBeforeCompletion += 1;
        const restockType = isCanceled && units > 0 ? "CANCEL" : "NO_RESTOCK";
        return { refundId, lineId, refundedAt, units, subtotalMinor, restockType, returnId: null };
      });
    }),
    amountRefunds: refunds.flatMap(({ refundId, refundedAt, taken, amountMinor }) =>
      taken.size > 0 || amountMinor <= 0 ? [] : [{ refundId, refundedAt, amountMinor }],
    ),
  };
}

function takenBy({ line_items: items }: WooRefund, { lines, minor }: RefundsContext): Taken {
  const taken: Taken = new Map();
  for (const { quantity, total, meta_data: meta } of items) {
    const itemId = meta.find(({ key }) => key === "_refunded_item_id")?.value;
    const lineId = `gid://woocommerce/LineItem/${Number(itemId ?? 0)}`;
    const row = { units: quantity === 0 ? 0 : unitsOf(quantity), minor: 0 - minor(total) };
    if (lines.some((line) => line.lineId === lineId) && (row.units > 0 || row.minor !== 0))
      add(taken, lineId, row);
  }
  return taken;
}

function add(taken: Taken, lineId: string, { units, minor }: { units: number; minor: number }): void {
  const known = taken.get(lineId) ?? { units: 0, minor: 0 };
  taken.set(lineId, { units: known.units + units, minor: known.minor + minor });
}

/** The amount of a refund without shipping and fees. */
function merchandiseMinor(refund: WooRefund, minor: (amount: string | number) => number): number {
  const charges = [...(refund.shipping_lines ?? []), ...(refund.fee_lines ?? [])];
  return charges.reduce(
    (left, { total, total_tax: tax }) => left - Math.abs(minor(total)) - Math.abs(minor(tax)),
    Math.abs(minor(refund.amount)),
  );
}

/** The rest of a line that no refund names. */
function restOf({ lineId, units, soldMinor = null }: DocumentLine, all: readonly Taken[]) {
  const rest = { units, minor: soldMinor ?? 0 };
  for (const taken of all) {
    rest.units -= taken.get(lineId)?.units ?? 0;
    rest.minor -= taken.get(lineId)?.minor ?? 0;
  }
  return { units: Math.max(0, rest.units), minor: Math.max(0, rest.minor) };
}

/** M1: WooCommerce defines a completed order as sent. */
function wasUnsent(refundedAt: string, { order, settings }: RefundsContext): boolean {
  if (settings.refundsBeforeCompletion === "returned") return false;
  const { date_completed_gmt: completedAt } = order;
  return completedAt === null || completedAt === undefined || timeOf(completedAt) > refundedAt;
}

/** The catalogue rows of a product with its variations, in their order; without any it is its own variant. */
export function mapWooProduct(
  product: WooProduct,
  variations: readonly WooVariation[],
  settings: ProductSettings,
  currencyCode: string,
): MappedProduct {
  const category = product.categories[0]?.name ?? null;
  const image = product.images[0] ?? null;
  // With several values, it is unknown which one a unit had.
  const single = product.attributes.filter(({ options }) => options.length === 1);
  const attributes = single.map(({ name, options: [option = ""] }) => ({ name, option }));
  const variants = variations.length > 0 ? variations : [{ ...product, image, attributes }];
  return mapProduct(
    {
      product: {
        id: `${PRODUCT_PREFIX}${product.id}`,
        title: product.name,
        handle: product.slug ?? null,
        vendor: product.brands?.[0]?.name ?? null,
        productType: category,
        tags: product.tags.map(({ name }) => name),
        category,
        imageUrl: image?.src || null,
        imageAlt: image?.alt || null,
        metafield: null,
      },
      variants: variants.map((variant, position) => {
        const amount = variant.cost_of_goods_sold?.total_value ?? null;
        return {
          id: variantIdOf(variant.id),
          sku: variant.sku ?? null,
          title: variant.attributes.map(({ option }) => option).join(" / ") || null,
          position,
          options: variant.attributes.map(({ name, option }) => ({ name, value: option })),
          // A cost of 0 means that none was entered.
          unitCost: amount === null || Number(amount) === 0 ? null : { amount, currencyCode },
          imageUrl: variant.image?.src || null,
        };
      }),
    },
    settings,
    currencyCode,
  );
}
