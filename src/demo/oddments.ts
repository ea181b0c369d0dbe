import type { OrderLine } from "./orders.ts";
import type { Random } from "./random.ts";

/** What every shop also sells: things without a SKU, without a product, or without goods at all. */
export type Oddment = Pick<
  OrderLine,
  "productId" | "variantId" | "sku" | "title" | "vendor" | "units" | "unitPriceMinor" | "giftCard"
>;

export const GIFT_CARD_PRODUCT = { productId: "790001", title: "Gift Card", vendor: "Demo Store" };
export const SWATCH_PRODUCT = { productId: "790002", title: "Fabric Swatch Set", vendor: "Oriel Home" };

/** An oddment instead of a catalogue line, or null, which is the rule. */
export function drawOddment(random: Random): Oddment | null {
  const point = random.fraction();
  if (point < 0.006) return giftCard(random.pick([2500, 5000, 10_000]));
  if (point < 0.01) return swatchSet(random.integer(1, 3));
  if (point < 0.015) return giftWrapping();
  if (point < 0.017) return discontinuedItem(random);
  return null;
}

function giftCard(unitPriceMinor: number): Oddment {
  return { ...GIFT_CARD_PRODUCT, variantId: "", sku: "", units: 1, unitPriceMinor, giftCard: true };
}

/** A product whose lines carry no SKU. */
function swatchSet(units: number): Oddment {
  return { ...SWATCH_PRODUCT, variantId: "", sku: "", units, unitPriceMinor: 300, giftCard: false };
}

/** A custom line, with neither product nor SKU. */
function giftWrapping(): Oddment {
  const title = "Gift wrapping";
  return {
    productId: "",
    variantId: "",
    sku: "",
    title,
    vendor: "",
    units: 1,
    unitPriceMinor: 450,
    giftCard: false,
  };
}

/** A line whose product was deleted; its SKU is all that is left. */
function discontinuedItem(random: Random): Oddment {
  const sku = `ARC-${random.integer(101, 108)}`;
  const rest = {
    title: "Archive sample",
    vendor: "Northfold",
    units: 1,
    unitPriceMinor: 2900,
    giftCard: false,
  };
  return { productId: "", variantId: "", sku, ...rest };
}
