import type { OrderLine } from "./orders.ts";
import type { Random } from "./random.ts";

/** What every shop also sells: things without a SKU, without a product, or without goods at all. */
type Oddment = Pick<
  OrderLine,
  "productId" | "variantId" | "sku" | "title" | "vendor" | "units" | "unitPriceMinor" | "giftCard"
>;

export const GIFT_CARD_PRODUCT = { productId: "790001", title: "Gift Card", vendor: "Demo Store" };
export const SWATCH_PRODUCT = { productId: "790002", title: "Fabric Swatch Set", vendor: "Oriel Home" };

const NAMELESS = { productId: "", variantId: "", sku: "", vendor: "", units: 1, giftCard: false };

/** An oddment instead of a catalogue line, or null, which is the rule. */
export function drawOddment(random: Random): Oddment | null {
  const point = random.fraction();
  if (point < 0.006) {
    const unitPriceMinor = random.pick([2500, 5000, 10_000]);
    return { ...NAMELESS, ...GIFT_CARD_PRODUCT, unitPriceMinor, giftCard: true };
  }
  if (point < 0.01)
    return { ...NAMELESS, ...SWATCH_PRODUCT, units: random.integer(1, 3), unitPriceMinor: 300 };
  // A custom line, with neither product nor SKU.
  if (point < 0.015) return { ...NAMELESS, title: "Gift wrapping", unitPriceMinor: 450 };
  if (point >= 0.017) return null;
  // The product was deleted; its SKU is all that is left.
  const sku = `ARC-${random.integer(101, 108)}`;
  return { ...NAMELESS, sku, title: "Archive sample", vendor: "Northfold", unitPriceMinor: 2900 };
}
