import { ascending, sum } from "d3-array";
import type { DocumentLine, DocumentRefund, OrderDocument } from "../../../metrics/order.ts";
import type { DocumentPart } from "../../document-merge.ts";
import { ROW_DEFAULTS } from "../../stored-document.ts";
import { isObject } from "../shared/foreign.ts";
import { mapProduct, type MappedProduct, type ProductSettings } from "../shared/map-product.ts";
import { minorOf, splitMinor } from "../shared/money.ts";
import { cleanKey, cleanLabel, compareGids, isTime, timeOf } from "../shared/text.ts";
import type { WooOrder, WooProduct, WooRefund, WooVariation } from "./client.ts";

export type MappedOrder = { part: DocumentPart; anomalies: WooAnomalies };

/** Anomalies of orders, as the text after their number in the notes of a run. */
export const ANOMALY_TEXTS = {
  foreignOrders: "orders are in another currency than the workspace; their money is left out.",
  measuredLines: "lines have a quantity that is not a whole number; each counts as one unit.",
  undatedOrders:
    "orders have no date; they count on the day of their payment, completion or last change, and without any of these not at all.",
  undatedRefunds: "orders have the status refunded without a refund; they do not count as refunded.",
  refundsWithoutDate: "refunds have no date; they do not count.",
  refundsBeforeCompletion:
    "refunded lines are of orders that had not been completed; their units count as canceled, not as returned (--refunds-before-completion changes that).",
};
export type WooAnomalies = Partial<Record<keyof typeof ANOMALY_TEXTS, number>>;

export type WooSettings = ProductSettings & {
  url: string;
  /** Whether a refund before the order's completion counts as units never sent, or returned. */
  refundsBeforeCompletion: "canceled" | "returned";
};

/** Not sold yet, or never: not paid, or the checkout was not finished. */
export const SELLS_NOTHING = /^(?:pending|failed|checkout-draft|auto-draft|draft|new|trash)$/u;

export const ORDER_PREFIX = "gid://woocommerce/Order/";

export function gidOf(type: "LineItem" | "Refund" | "Product" | "ProductVariant", id: number): string {
  return `gid://woocommerce/${type}/${id}`;
}

/** The canonical part of an order; `currencyCode` is the workspace's. An order without lines is none. */
export function mapOrder(
  order: WooOrder,
  refunds: readonly WooRefund[],
  { refundsBeforeCompletion }: Pick<WooSettings, "refundsBeforeCompletion">,
  currencyCode: string,
): MappedOrder {
  const { status } = order;
  const statedAt = momentOf(order.date_created_gmt);
  const [completedAt, modifiedAt] = [momentOf(order.date_completed_gmt), momentOf(order.date_modified_gmt)];
  const [firstAt] = [momentOf(order.date_paid_gmt), completedAt, modifiedAt]
    .filter((at) => at !== null)
    .toSorted();
  const createdAt = statedAt ?? firstAt;
  const items = order.line_items.filter(({ quantity }) => quantity > 0);
  const sellsNothing = SELLS_NOTHING.test(status) || items.length === 0;
  const undatedOrders = statedAt === null && !sellsNothing ? 1 : 0;
  if (sellsNothing || createdAt === undefined)
    return { part: { lines: [], returns: [], refunds: [] }, anomalies: { undatedOrders } };
  const isForeign = order.currency !== currencyCode;
  const minor: Minor = (amount) => (isForeign ? 0 : minorOf(amount || "0", currencyCode));
  const lines = items.map(({ product_id: productId, variation_id: variationId, ...line }) => ({
    ...ROW_DEFAULTS.lines,
    lineId: gidOf("LineItem", line.id),
    orderedAt: createdAt,
    // A product without variations is its own variant. A deleted one has the id 0.
    productId: productId ? gidOf("Product", productId) : null,
    variantId: productId ? gidOf("ProductVariant", variationId || productId) : null,
    // The API returns the product's current SKU; if it has one, its variant has it too.
    sku: productId ? null : cleanKey(line.sku ?? null),
    title: cleanLabel(plain(line.name ?? "")),
    units: unitsOf(line.quantity),
    unitPriceMinor: isForeign ? null : Math.round(minor(line.subtotal) / unitsOf(line.quantity)),
    soldMinor: isForeign ? null : minor(line.total),
    // There is no time of cancellation; the last change of a canceled order usually is the cancellation.
    canceledAt: status === "cancelled" ? (modifiedAt ?? createdAt) : null,
  }));
  // M1: WooCommerce defines a completed order as sent. Imported orders, and old ones moved to HPOS, may lack the time.
  const sentAt = completedAt ?? (status === "completed" ? createdAt : null);
  const isUnsent = (at: string) => refundsBeforeCompletion === "canceled" && (sentAt === null || at < sentAt);
  // The status refunded: everything is paid back.
  const restocked = items.map((item) => Number(metaOf(item, "_restock_refunded_items")) || 0);
  const isWhole = status === "refunded";
  const rows = mapRefunds(refunds, { lines, restocked, minor, isUnsent, isWhole });
  return {
    part: {
      orderName: cleanLabel(String(order.number)),
      lines,
      returns: [],
      ...rows,
      channel: cleanLabel(order.created_via ?? null),
      unpaidStatus: status === "on-hold" ? "ON-HOLD" : null,
      free: Number(order.total) === 0,
    },
    anomalies: {
      undatedOrders,
      foreignOrders: isForeign ? 1 : 0,
      measuredLines: items.filter(({ quantity }) => !Number.isInteger(quantity)).length,
      undatedRefunds: status === "refunded" && refunds.length === 0 ? 1 : 0,
      refundsWithoutDate: refunds.filter(({ date_created_gmt: at }) => momentOf(at) === null).length,
      refundsBeforeCompletion: rows.refunds.filter(({ restockType }) => restockType === "CANCEL").length,
    },
  };
}

/** null = there is none. */
function momentOf(text: string | null | undefined): string | null {
  return text && isTime(text) ? timeOf(text) : null;
}

/**
 * Lines keep a variation that was deleted: the API then names only its product, like that of a product without variations. A
 * variation never has the id of a product.
 */
export function keepVariations(part: DocumentPart, stored: OrderDocument | null): DocumentPart {
  const storedById = new Map(stored?.lines.map((line) => [line.lineId, line]));
  const lines = part.lines.map((line) => {
    const { productId, variantId } = storedById.get(line.lineId) ?? line;
    const isOwn = line.variantId === line.productId?.replace("/Product/", "/ProductVariant/");
    return isOwn && productId === line.productId ? { ...line, variantId: variantId ?? line.variantId } : line;
  });
  return { ...part, lines };
}

/** A quantity by weight or length counts as one unit. */
function unitsOf(quantity: number): number {
  return Number.isInteger(quantity) ? Math.abs(quantity) : 1;
}

type Minor = (amount: string | number) => number;

type Lines = readonly DocumentLine[];
type Sale = {
  lines: Lines;
  /** Units of each line that refunds have put back into stock. */
  restocked: readonly number[];
  minor: Minor;
  isUnsent: (at: string) => boolean;
  isWhole: boolean;
};

/**
 * M2: a refund's lines are returned units, because the API has no returns; a refund without a line is money only.
 * If everything is paid back, units in no earlier refund belong to the last one.
 */
function mapRefunds(given: readonly WooRefund[], { lines, restocked, minor, isUnsent, isWhole }: Sale) {
  const refunds = given
    .flatMap((refund) => {
      const refundedAt = momentOf(refund.date_created_gmt);
      if (refundedAt === null) return [];
      const amountMinor = merchandiseMinor(refund, minor);
      return {
        refundId: gidOf("Refund", refund.id),
        refundedAt,
        amountMinor,
        taken: takenBy(refund, lines, minor),
      };
    })
    .toSorted(
      (left, right) =>
        ascending(left.refundedAt, right.refundedAt) || compareGids(left.refundId, right.refundId),
    );
  const last = refunds.at(-1);
  if (isWhole && last !== undefined) {
    const rest = (whole: number | null | undefined, line: number, of: "units" | "minor") =>
      Math.max(0, (whole ?? 0) - sum(refunds, ({ taken }) => taken[line]?.[of]));
    const units = lines.map((line, index) => rest(line.units, index, "units"));
    const weights = lines.map((line, index) => rest(line.soldMinor, index, "minor"));
    // Only the money of a refund without a line cannot be attributed.
    const openMinor = last.taken.some(isSome) ? 0 : Math.max(0, Math.min(sum(weights), last.amountMinor));
    const shares = splitMinor(openMinor, weights);
    for (const [index, taken] of last.taken.entries()) {
      taken.units += units[index] ?? 0;
      taken.minor += shares[index] ?? 0;
    }
  }
  // A refund restocks all of its units or none, and a line has their sum: it is that of the largest refunds.
  const back = new Set<Taken>();
  for (const [line, restockedUnits] of restocked.entries()) {
    let left = restockedUnits;
    const ofLine = refunds.flatMap(({ taken }) => taken[line] ?? []);
    for (const taken of ofLine.toSorted((one, other) => other.units - one.units)) {
      if (taken.units === 0 || taken.units > left) continue;
      back.add(taken);
      left -= taken.units;
    }
  }
  return {
    refunds: refunds.flatMap(({ refundId, refundedAt, taken }) =>
      taken.filter(isSome).map((one): DocumentRefund => {
        const { lineId, units, minor: subtotalMinor } = one;
        const sentType = back.has(one) ? "RETURN" : "NO_RESTOCK";
        const restockType = units > 0 && isUnsent(refundedAt) ? "CANCEL" : sentType;
        return { refundId, lineId, refundedAt, units, subtotalMinor, restockType, returnId: null };
      }),
    ),
    amountRefunds: refunds
      .filter(({ taken, amountMinor }) => amountMinor > 0 && !taken.some(isSome))
      .map(({ taken: _taken, ...refund }) => refund),
  };
}

/** The amount of a refund without shipping and fees. */
function merchandiseMinor(refund: WooRefund, minor: Minor): number {
  const charges = [...(refund.shipping_lines ?? []), ...(refund.fee_lines ?? [])];
  const sizeOf = (amount: string | number) => Math.abs(minor(amount));
  return sizeOf(refund.amount) - sum(charges, (charge) => sizeOf(charge.total) + sizeOf(charge.total_tax));
}

/** Members that plugins and WooCommerce have added to a line. */
function metaOf({ meta_data: meta }: { meta_data?: unknown }, name: string): unknown {
  const rows = Array.isArray(meta) ? (meta as unknown[]).filter(isObject) : [];
  return rows.find(({ key }) => key === name)?.["value"];
}

type Taken = { lineId: string; units: number; minor: number };

/** Units and money that a refund takes of each line. */
function takenBy({ line_items: items }: WooRefund, lines: Lines, minor: Minor): Taken[] {
  const named = Map.groupBy(items, (item) => gidOf("LineItem", Number(metaOf(item, "_refunded_item_id"))));
  return lines.map(({ lineId }) => {
    const own = named.get(lineId) ?? [];
    const units = sum(own, ({ quantity }) => unitsOf(quantity));
    return { lineId, units, minor: 0 - sum(own, ({ total }) => minor(total)) };
  });
}

function isSome({ units, minor }: Taken): boolean {
  return units !== 0 || minor !== 0;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"' };

/** WordPress stores names of categories, tags and values of attributes as HTML, and those of products if a shop manager typed them. */
function plain(html: string | undefined): string {
  return (html ?? "").replaceAll(/&(?:#(\d{1,6})|(amp|lt|gt|quot));/gu, (_, code?: string, name = "") =>
    code === undefined ? (ENTITIES[name as string] ?? "") : String.fromCodePoint(Number(code)),
  );
}

/** The catalogue rows of a product with its variations, in their order; without any it is its own variant. */
export function mapWooProduct(
  product: WooProduct,
  variations: readonly WooVariation[],
  settings: ProductSettings,
  currencyCode: string,
): MappedProduct {
  const category = plain(product.categories[0]?.name);
  const [image = null] = product.images;
  // With several values, it is unknown which one a unit had.
  const single = product.attributes.filter(({ options }) => options.length === 1);
  const attributes = single.map(({ name, options: [option = ""] }) => ({ name, option }));
  const variants = variations.length > 0 ? variations : [{ ...product, image, attributes }];
  return mapProduct(
    {
      product: {
        id: gidOf("Product", product.id),
        title: plain(product.name),
        // In the trash, a product's slug has a suffix.
        handle: product.slug?.replace(/__trashed(?:-\d+)?$/u, "") ?? null,
        vendor: plain(product.brands?.[0]?.name),
        productType: category,
        tags: product.tags.map(({ name }) => plain(name)),
        category,
        imageUrl: image?.src ?? null,
        imageAlt: plain(image?.alt ?? ""),
        metafield: null,
      },
      variants: variants.map((variant, position) => {
        const options = variant.attributes.map(({ name, option }) => ({
          name: plain(name),
          value: plain(option),
        }));
        const amount = variant.cost_of_goods_sold?.total_value ?? null;
        return {
          id: gidOf("ProductVariant", variant.id),
          sku: variant.sku ?? null,
          title: options.map(({ value }) => value).join(" / "),
          position,
          options,
          // A cost of 0 means that none was entered.
          unitCost: amount === null || Number(amount) === 0 ? null : { amount, currencyCode },
          imageUrl: variant.image?.src ?? null,
        };
      }),
    },
    settings,
    currencyCode,
  );
}
