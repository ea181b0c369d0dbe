/** A generated WooCommerce shop: its content, from which the API's answers and an import folder are written independently. */
import { randomOf } from "../shopify/world/random.ts";

export interface WooVariant {
  id: number;
  sku: string;
  /** Attribute values by name. */
  attributes: Record<string, string>;
  priceMinor: number;
  costMinor: number | null;
}

export interface WooProductRow {
  id: number;
  name: string;
  category: string;
  brand: string | null;
  tags: string[];
  /** A simple product has one variant, with the product's own id. */
  type: "simple" | "variable";
  variants: WooVariant[];
  modifiedAt: string;
  isTrashed: boolean;
}

export interface WooLineRow {
  id: number;
  /** null = the product was deleted for good. */
  product: WooProductRow | null;
  variant: WooVariant | null;
  name: string;
  quantity: number;
  /** Without tax, of all units. */
  subtotalMinor: number;
  totalMinor: number;
}

export interface WooRefundRow {
  id: number;
  at: string;
  lines: { lineId: number; units: number; minor: number }[];
  /** Whether its units were put back into stock. */
  isRestocked: boolean;
  /** Including tax, as the shop paid it. */
  amountMinor: number;
  shippingMinor: number;
}

export interface WooOrderRow {
  id: number;
  number: string;
  status: string;
  currency: string;
  createdAt: string;
  modifiedAt: string;
  completedAt: string | null;
  shippingMinor: number;
  lines: WooLineRow[];
  refunds: WooRefundRow[];
  isTrashed: boolean;
}

export interface WooWorld {
  currency: string;
  products: WooProductRow[];
  orders: WooOrderRow[];
  nextId: number;
}

export const TAX_PERCENT = 20;

export interface WooWorldOptions {
  seed: number;
  orders: number;
  products: number;
  currency: string;
  /** The shop's current time. */
  now: string;
}

export function makeWooWorld({ seed, orders, products, currency, now }: WooWorldOptions): WooWorld {
  const world: WooWorld = { currency, products: [], orders: [], nextId: 10 };
  const random = randomOf(seed, 1);
  const id = (): number => (world.nextId += random.between(1, 3));
  const sizes = ["S", "M", "L", "XL"];
  for (let number = 1; number <= products; number += 1) {
    const productId = id();
    const isVariable = random.chance(0.6);
    const variant = (variantId: number, attributes: Record<string, string>): WooVariant => ({
      id: variantId,
      sku: `W-${number}-${Object.values(attributes).join("-") || "ONE"}`,
      attributes,
      priceMinor: random.between(500, 9000),
      costMinor: random.chance(0.5) ? random.between(100, 400) : null,
    });
    world.products.push({
      id: productId,
      name: `Product ${number}`,
      category: random.pick(["Shirts & Tops", "Shoes", "Hats <5"]),
      brand: random.chance(0.7) ? random.pick(["Quay & Co", "Nord"]) : null,
      tags: random.chance(0.3) ? ["family:Basics"] : [],
      type: isVariable ? "variable" : "simple",
      variants: isVariable
        ? sizes
            .slice(0, random.between(2, 4))
            .map((size) => variant(id(), { Size: size, Colour: "Black & White" }))
        : [variant(productId, random.chance(0.5) ? { Material: "Wool" } : {})],
      modifiedAt: new Date(Date.parse(now) - 400 * DAY_MS).toISOString(),
      isTrashed: random.chance(0.05),
    });
  }
  for (let number = 1; number <= orders; number += 1) {
    world.orders.push(makeOrder(world, randomOf(seed, 2, number), id, now));
  }
  return world;
}

const DAY_MS = 86_400_000;

function makeOrder(
  world: WooWorld,
  random: ReturnType<typeof randomOf>,
  id: () => number,
  now: string,
): WooOrderRow {
  const endMs = Date.parse(now);
  const createdMs = endMs - random.between(60, 700 * 24 * 3600) * 1000;
  const at = (ms: number): string => new Date(Math.min(Math.max(ms, createdMs), endMs)).toISOString();
  const orderId = id();
  const lines = Array.from({ length: random.between(1, 3) }, (): WooLineRow => {
    const product = random.chance(0.03) ? null : random.pick(world.products);
    const variant = product === null ? null : random.pick(product.variants);
    const quantity = random.between(1, 4);
    const subtotalMinor = (variant?.priceMinor ?? 1500) * quantity;
    const totalMinor = random.chance(0.3) ? Math.round(subtotalMinor * 0.85) : subtotalMinor;
    return { id: id(), product, variant, name: product?.name ?? "Gone", quantity, subtotalMinor, totalMinor };
  });
  const status = random.chance(0.75)
    ? "completed"
    : random.pick(["processing", "on-hold", "pending", "failed", "cancelled", "shipped"]);
  const order: WooOrderRow = {
    id: orderId,
    number: String(orderId),
    status,
    currency: world.currency,
    createdAt: at(createdMs),
    modifiedAt: at(createdMs + random.between(60, 3 * 24 * 3600) * 1000),
    completedAt: null,
    shippingMinor: 490,
    lines,
    refunds: [],
    isTrashed: random.chance(0.02),
  };
  if (status === "completed") order.completedAt = order.modifiedAt;
  if ((status === "completed" || status === "processing") && random.chance(0.35)) {
    const refundMs = Date.parse(order.modifiedAt) + random.between(1, 40) * DAY_MS;
    if (refundMs < endMs) addRandomRefund(order, random, id, at(refundMs));
  }
  return order;
}

/** Adds a refund of some units of some lines, of an amount without units, or of everything that is left. */
function addRandomRefund(
  order: WooOrderRow,
  random: ReturnType<typeof randomOf>,
  id: () => number,
  at: string,
): void {
  const kind = random.next();
  if (kind < 0.6) {
    const lines = order.lines
      .filter(() => random.chance(0.6))
      .map((line) => {
        const units = random.between(1, line.quantity);
        return { lineId: line.id, units, minor: Math.round((line.totalMinor * units) / line.quantity) };
      });
    if (lines.length > 0) refundLines(order, id(), at, lines, random.chance(0.5));
  } else if (kind < 0.8) {
    const amountMinor = random.between(100, 499);
    order.refunds.push({ id: id(), at, lines: [], isRestocked: false, amountMinor, shippingMinor: 0 });
  } else {
    refundAll(order, id(), at);
  }
  order.modifiedAt = at;
}

/** A refund as from the order screen, with the tax of the lines. */
export function refundLines(
  order: WooOrderRow,
  id: number,
  at: string,
  lines: WooRefundRow["lines"],
  isRestocked = false,
): void {
  const net = lines.reduce((sum, line) => sum + line.minor, 0);
  order.refunds.push({ id, at, lines, isRestocked, amountMinor: withTax(net), shippingMinor: 0 });
  order.modifiedAt = at;
}

/** A refund as by a change of status: WooCommerce refunds the rest without naming lines. */
export function refundAll(order: WooOrderRow, id: number, at: string): void {
  const paid = order.refunds.reduce((sum, refund) => sum + refund.amountMinor, 0);
  const amountMinor = orderTotalMinor(order) - paid;
  order.refunds.push({ id, at, lines: [], isRestocked: false, amountMinor, shippingMinor: 0 });
  order.status = "refunded";
  order.modifiedAt = at;
}

export function orderTotalMinor({ lines, shippingMinor }: WooOrderRow): number {
  return lines.reduce((sum, line) => sum + withTax(line.totalMinor), shippingMinor);
}

export function withTax(minor: number): number {
  return minor + Math.round((minor * TAX_PERCENT) / 100);
}

/** An import folder of the same shop, computed from its content. */
export function wooFolder(world: WooWorld): Record<string, string> {
  const money = (minor: number): string => (minor / 100).toFixed(2);
  const rows: Record<string, string[]> = {
    "products.csv": ["product_id,title,handle,vendor,family,analytics_category"],
    "variants.csv": [
      "variant_id,product_id,sku,title,unit_cost,option1_name,option1_value,option2_name,option2_value",
    ],
    "order_lines.csv": [
      "order_id,line_id,ordered_at,product_id,variant_id,title,units,unit_price,sold_amount,canceled_at",
    ],
    "refunds.csv": ["refund_id,order_id,line_id,refunded_at,units,subtotal,restock_type"],
  };
  const add = (file: string, ...cells: (string | number | null)[]): void => {
    rows[file]?.push(cells.map((cell) => cell ?? "").join(","));
  };
  for (const { id, name, category, brand, variants } of world.products) {
    add("products.csv", gid("Product", id), name, slug(name), brand, category, category);
    for (const variant of variants) {
      const [first = ["", ""], second = ["", ""]] = Object.entries(variant.attributes);
      const title = Object.values(variant.attributes).join(" / ");
      const cost = variant.costMinor === null ? null : money(variant.costMinor);
      add(
        "variants.csv",
        gid("ProductVariant", variant.id),
        gid("Product", id),
        variant.sku,
        title,
        cost,
        ...first,
        ...second,
      );
    }
  }
  for (const order of world.orders) {
    if (order.isTrashed || ["pending", "failed"].includes(order.status)) continue;
    const orderId = gid("Order", order.id);
    for (const line of order.lines) {
      const { product, variant } = line;
      add(
        "order_lines.csv",
        orderId,
        gid("LineItem", line.id),
        order.createdAt,
        product === null ? null : gid("Product", product.id),
        variant === null ? null : gid("ProductVariant", variant.id),
        line.name,
        line.quantity,
        money(Math.round(line.subtotalMinor / line.quantity)),
        money(line.totalMinor),
        order.status === "cancelled" ? order.modifiedAt : null,
      );
    }
    const isSent = (at: string): boolean => order.completedAt !== null && order.completedAt <= at;
    for (const refund of order.refunds) {
      // A status "refunded" means that everything was paid back.
      const isRest =
        order.status === "refunded" && refund.lines.length === 0 && refund === order.refunds.at(-1);
      const all = order.lines.map(({ id, quantity, totalMinor: minor }) => ({
        lineId: id,
        units: quantity,
        minor,
      }));
      for (const { lineId, units, minor } of isRest ? all : refund.lines) {
        const sentType = refund.isRestocked ? "RETURN" : "NO_RESTOCK";
        const type = isSent(refund.at) ? sentType : "CANCEL";
        add(
          "refunds.csv",
          gid("Refund", refund.id),
          orderId,
          gid("LineItem", lineId),
          refund.at,
          units,
          money(minor),
          type,
        );
      }
    }
  }
  return Object.fromEntries(Object.entries(rows).map(([name, lines]) => [name, `${lines.join("\n")}\n`]));
}

export function gid(type: string, id: number): string {
  return `gid://woocommerce/${type}/${id}`;
}

export function slug(name: string): string {
  return name.toLowerCase().replaceAll(" ", "-");
}
