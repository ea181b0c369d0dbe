/**
 * The same shop as an import folder, written from its actual history and not from the platform's API: a store synced from
 * the simulator and one imported from this folder must give the same answers.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { csvText } from "../../../src/lib/csv-text.ts";
import { ChangeError } from "./changes.ts";
import { conditionOf, counterpartOf, hasOwnImage, imageAddress } from "./world/catalogue.ts";
import { childNumber, gid } from "./world/ids.ts";
import { decimalOf, lineOf, removedUnits, sumOf } from "./world/units.ts";
import { REASONS } from "./world/types.ts";
import type { RefundLine, Return, ReturnItem, World, WorldOrder } from "./world/types.ts";

type Cell = string | number | boolean | null;

/** Writes products, variants, order lines, returns and refunds; ids are the platform's gids. */
export async function exportFolder(world: World, folder: string) {
  if (world.histories === "full") throw new ChangeError("an import folder holds plain histories only");
  await mkdir(folder, { recursive: true });
  const money = (minor: number): string => decimalOf(minor, world.exponent);
  const write = async (name: string, header: string, rows: Cell[][]): Promise<number> => {
    await writeFile(join(folder, name), csvText([header.split(","), ...rows], "\n"));
    return rows.length;
  };
  await write("products.csv", PRODUCT_COLUMNS, productRows(world));
  await write("variants.csv", VARIANT_COLUMNS, variantRows(world, money));
  const lines = ordersRows(world, (order) => order.lines.map((_, index) => lineRow(order, index, money)));
  const returns = ordersRows(world, (order) =>
    order.returns.flatMap((one, at) => returnRows(order, one, at)),
  );
  const refunds = ordersRows(world, (order) => refundRows(order, money));
  return {
    orders: world.orders.filter((order) => order !== null).length,
    lines: await write("order_lines.csv", LINE_COLUMNS, lines),
    returns: await write("returns.csv", RETURN_COLUMNS, returns),
    refunds: await write("refunds.csv", REFUND_COLUMNS, refunds),
  };
}

const PRODUCT_COLUMNS = "product_id,title,handle,vendor,family,analytics_category,image_url,image_alt";
const VARIANT_COLUMNS = "variant_id,product_id,sku,title,condition,counterpart_sku,unit_cost,image_url";
const LINE_COLUMNS =
  "order_id,line_id,ordered_at,product_id,variant_id,sku,title,vendor,units,unit_price,sold_amount,test,canceled_at,removed_units,gift_card";
const RETURN_COLUMNS =
  "return_id,order_id,line_id,status,units,processed_units,requested_at,closed_at,reason";
const REFUND_COLUMNS = "refund_id,order_id,line_id,refunded_at,units,subtotal,restock_type,return_id";

function ordersRows(world: World, rowsOf: (order: WorldOrder) => Cell[][]): Cell[][] {
  return world.orders.flatMap((order) => (order === null ? [] : rowsOf(order)));
}

function productRows(world: World): Cell[][] {
  return world.products.flatMap((product) => {
    if (product === null) return [];
    const { number, title, handle, vendor, productType, category, image } = product;
    const url = image ? imageAddress(product) : null;
    const alt = image && number % 3 !== 0 ? `Photo of ${title}` : null;
    return [[gid("Product", number), title, handle, vendor, productType, category, url, alt]];
  });
}

function variantRows(world: World, money: (minor: number) => string): Cell[][] {
  return world.products.flatMap((product) =>
    (product?.variants ?? []).flatMap((variant) => {
      if (product === null) return [];
      const condition = conditionOf(product, variant);
      const counterpart = condition === "used" ? counterpartOf(product, variant) : undefined;
      return [
        [
          gid("ProductVariant", childNumber(product.number, variant.position)),
          gid("Product", product.number),
          variant.sku,
          variant.optionValues.join(" / "),
          condition,
          counterpart?.sku ?? null,
          variant.unitCostMinor === null ? null : money(variant.unitCostMinor),
          hasOwnImage(variant) ? imageAddress(product, variant) : null,
        ],
      ];
    }),
  );
}

function lineRow(order: WorldOrder, index: number, money: (minor: number) => string): Cell[] {
  const line = order.lines[index];
  if (line === undefined) return [];
  const { product, variant } = line;
  return [
    gid("Order", order.number),
    lineId(order, index),
    time(line.addedAt === 0 ? order.processedAt : line.addedAt),
    product === null ? null : gid("Product", product.number),
    product === null || variant === null
      ? null
      : gid("ProductVariant", childNumber(product.number, variant.position)),
    line.sku,
    line.title,
    line.vendor,
    line.quantity,
    money(line.unitPriceMinor),
    order.ledgerShown ? money(soldMinor(order, index)) : null,
    order.test,
    time(order.cancelledAt),
    removedUnits(order, index),
    line.kind === "giftCard" || line.kind === "tip",
  ];
}

/** M20: the value of the units placed and added, less those removed. It is unknown for an order without a ledger. */
function soldMinor(order: WorldOrder, index: number): number {
  return sumOf(order.history, ({ what, line, netMinor = 0 }) => {
    if (line !== index) return 0;
    if (what === "placed" || what === "added") return netMinor;
    return what === "removed" ? -netMinor : 0;
  });
}

/**
 * One row for each line of a return, whatever its number of items: units add up, the largest item gives the reason, of a closed
 * return the one with the most processed units.
 */
function returnRows(order: WorldOrder, request: Return, returnIndex: number): Cell[][] {
  const lineIndexes = new Set(
    request.items.flatMap(({ lineIndex }) => (lineIndex === null ? [] : [lineIndex])),
  );
  return [...lineIndexes].map((lineIndex) => {
    const items = request.items.filter((item) => item.lineIndex === lineIndex);
    const processed = sumOf(items, (item) => item.processed);
    const areProcessed = request.status === "CLOSED" && processed > 0;
    const sizeOf = (item: ReturnItem): number => (areProcessed ? item.processed : item.quantity);
    const largest = items.reduce((best, item) => (sizeOf(item) > sizeOf(best) ? item : best));
    return [
      gid("Return", childNumber(order.number, returnIndex)),
      gid("Order", order.number),
      lineId(order, lineIndex),
      request.status,
      items.reduce((sum, item) => sum + item.quantity, 0),
      request.status === "CLOSED" ? processed : null,
      time(request.createdAt),
      time(request.closedAt),
      largest.reason === null ? null : (REASONS[largest.reason]?.handle ?? null),
    ];
  });
}

function refundRows(order: WorldOrder, money: (minor: number) => string): Cell[][] {
  return order.refunds.flatMap((refund, index) =>
    linesAddedUp(refund.ofEdit ? [] : refund.lines).map((line) => [
      gid("Refund", childNumber(order.number, index)),
      gid("Order", order.number),
      lineId(order, line.lineIndex),
      time(refund.processedAt),
      line.quantity,
      money(line.subtotalMinor),
      restockTypeOf(order, line),
      refund.returnIndex === null ? null : gid("Return", childNumber(order.number, refund.returnIndex)),
    ]),
  );
}

/** Units that were not sent yet are canceled, whatever the refund's restock type. */
function restockTypeOf(order: WorldOrder, { lineIndex, quantity, sent, restockType }: RefundLine): string {
  return quantity > 0 && sent === 0 && lineOf(order, lineIndex).requiresShipping ? "CANCEL" : restockType;
}

/** A refund may name a line twice, always with the same restock type. */
function linesAddedUp(lines: RefundLine[]): RefundLine[] {
  const byLine = new Map<number, RefundLine>();
  for (const line of lines) {
    const known = byLine.get(line.lineIndex);
    if (known === undefined) {
      byLine.set(line.lineIndex, { ...line });
    } else {
      known.quantity += line.quantity;
      known.sent += line.sent;
      known.subtotalMinor += line.subtotalMinor;
    }
  }
  return [...byLine.values()];
}

function lineId(order: WorldOrder, index: number): string {
  return gid("LineItem", childNumber(order.number, index));
}

function time(seconds: number): string | null {
  return seconds === 0 ? null : new Date(seconds * 1000).toISOString();
}
