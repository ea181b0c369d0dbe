import type { DocumentLine, DocumentRefund } from "../../../metrics/order.ts";
import type { DocumentPart } from "../../document-merge.ts";
import { mapProduct, type MappedProduct, type ProductSettings } from "../shared/map-product.ts";
import { minorOf, splitMinor } from "../shared/money.ts";
import { cleanKey, cleanLabel, compareGids, timeOf } from "../shared/text.ts";
import type { WooLine, WooOrder, WooProduct, WooRefund, WooVariation } from "./client.ts";

export type MappedOrder = { part: DocumentPart; anomalies: OrderAnomalies };

/** Anomalies of orders, as the text after their number in the notes of a run. */
export const ANOMALY_TEXTS = {
  foreignOrders: "orders are in another currency than the workspace; their money is left out.",
  measuredLines: "lines have a quantity that is no whole number; each counts as one unit.",
  undatedRefunds: "orders have the status refunded without a refund; nothing of them counts as refunded.",
  refundsBeforeCompletion:
    "refunded lines are of orders that had not been completed; their units count as canceled, not as returned (--refunds-before-completion changes that).",
};
export type OrderAnomalies = Record<keyof typeof ANOMALY_TEXTS, number>;
export const NO_ANOMALIES = {
  foreignOrders: 0,
  measuredLines: 0,
  undatedRefunds: 0,
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
  const anomalies: OrderAnomalies = { ...NO_ANOMALIES };
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
      title: cleanLabel(plain(line.name ?? "")),
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
    const rests = lines.map((line) => restOf(line, refunds));
    const weights = rests.map((rest) => rest.minor);
    const open = weights.reduce((sum, weight) => sum + weight, 0);
    // Only the money of a refund without a line cannot be attributed.
    const shares = splitMinor(
      last.taken.size > 0 ? 0 : Math.max(0, Math.min(open, last.amountMinor)),
      weights,
    );
    for (const [index, { lineId, units }] of rests.entries()) add(last.taken, lineId, units, shares[index]);
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
    if (lines.some((line) => line.lineId === lineId))
      add(taken, lineId, quantity === 0 ? 0 : unitsOf(quantity), 0 - minor(total));
  }
  return taken;
}

function add(taken: Taken, lineId: string, units: number, minor = 0): void {
  const known = taken.get(lineId) ?? { units: 0, minor: 0 };
  if (units !== 0 || minor !== 0)
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
function restOf({ lineId, units, soldMinor }: DocumentLine, refunds: readonly { taken: Taken }[]) {
  const named = refunds.flatMap(({ taken }) => taken.get(lineId) ?? []);
  const rest = (whole: number, of: "units" | "minor") =>
    Math.max(
      0,
      named.reduce((left, row) => left - row[of], whole),
    );
  return { lineId, units: rest(units, "units"), minor: rest(soldMinor ?? 0, "minor") };
}

/** M1: WooCommerce defines a completed order as sent. */
function wasUnsent(refundedAt: string, { order, settings }: RefundsContext): boolean {
  if (settings.refundsBeforeCompletion === "returned") return false;
  const { date_completed_gmt: completedAt } = order;
  return completedAt === null || completedAt === undefined || timeOf(completedAt) > refundedAt;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"' };

/** WordPress stores names of categories, tags and values of attributes as HTML, and those of products if a shop manager typed them. */
function plain(html: string): string {
  return html.replaceAll(/&(?:#(\d{1,6})|(amp|lt|gt|quot));/gu, (_, code?: string, name = "") =>
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
  const category = plain(product.categories[0]?.name ?? "");
  const image = product.images[0] ?? null;
  // With several values, it is unknown which one a unit had.
  const single = product.attributes.filter(({ options }) => options.length === 1);
  const attributes = single.map(({ name, options: [option = ""] }) => ({ name, option }));
  const variants = variations.length > 0 ? variations : [{ ...product, image, attributes }];
  return mapProduct(
    {
      product: {
        id: `${PRODUCT_PREFIX}${product.id}`,
        title: plain(product.name),
        // In the trash, a product's slug has an end of its own.
        handle: product.slug?.replace(/__trashed(?:-\d+)?$/u, "") ?? null,
        vendor: plain(product.brands?.[0]?.name ?? ""),
        productType: category,
        tags: product.tags.map(({ name }) => plain(name)),
        category,
        imageUrl: image?.src || null,
        imageAlt: plain(image?.alt ?? ""),
        metafield: null,
      },
      variants: variants.map((variant, position) => {
        const amount = variant.cost_of_goods_sold?.total_value ?? null;
        return {
          id: variantIdOf(variant.id),
          sku: variant.sku ?? null,
          title: plain(variant.attributes.map(({ option }) => option).join(" / ")),
          position,
          options: variant.attributes.map(({ name, option }) => ({
            name: plain(name),
            value: plain(option),
          })),
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
