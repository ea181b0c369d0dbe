import { randomOf, type WorldRandom } from "./random.ts";
import type { WorldProduct, WorldVariant } from "./types.ts";

const DAY = 86_400;

type Kind = {
  productType: string;
  category: string | null;
  code: string;
  names: readonly string[];
  sizes: readonly string[];
  priceMinor: readonly [low: number, high: number];
  /** Share of products that are also sold used. */
  usedShare: number;
};

const KINDS: readonly Kind[] = [
  {
    productType: "Dresses",
    category: "Apparel & Accessories > Clothing > Dresses",
    code: "DR",
    names: ["Wrap Dress", "Shirt Dress", "Slip Dress", "Pinafore"],
    sizes: ["XS", "S", "M", "L", "XL"],
    priceMinor: [4900, 18900],
    usedShare: 0.3,
  },
  {
    productType: "Jeans",
    category: "Apparel & Accessories > Clothing > Pants > Jeans",
    code: "JN",
    names: ["Straight Jeans", "Wide Jeans", "Tapered Jeans"],
    sizes: ["28", "30", "32", "34"],
    priceMinor: [5900, 12900],
    usedShare: 0.5,
  },
  {
    productType: "Sneakers",
    category: "Apparel & Accessories > Shoes > Sneakers",
    code: "SN",
    names: ["Court Sneaker", "Trail Runner", "Canvas Low"],
    sizes: ["37", "39", "41", "43", "45"],
    priceMinor: [6900, 15900],
    usedShare: 0.4,
  },
  {
    productType: "Cameras",
    category: "Cameras & Optics > Cameras > Digital Cameras",
    code: "CM",
    names: ["Compact Camera", "Field Camera", "Instant Camera"],
    sizes: [""],
    priceMinor: [19900, 129900],
    usedShare: 0.8,
  },
  {
    productType: "Candles",
    category: "Home & Garden > Decor > Home Fragrances > Candles",
    code: "CN",
    names: ["Beeswax Candle", "Travel Candle", "Pillar Candle"],
    sizes: [""],
    priceMinor: [1200, 4900],
    usedShare: 0,
  },
  {
    productType: "",
    category: null,
    code: "MX",
    names: ['Tote, "the big one"', "Bandana; cotton", "Sticker set"],
    sizes: [""],
    priceMinor: [500, 3900],
    usedShare: 0,
  },
];

const COLOURS = ["Sage", "Ink", "Rust", "Ivory", "Moss", "Stone"];
const VENDORS = ["North & Field", "Lumen Works", "Quay", "Étude"];
/** Words for used items. */
const USED_WORDS = ["Used", "Pre-owned", "Refurbished", "Open box"];

/** The shop's products, the last one a gift card. */
export function makeCatalogue(seed: number, count: number, now: number): WorldProduct[] {
  const products: WorldProduct[] = [];
  for (let number = 1; number <= count; number += 1) {
    const random = randomOf(seed, 1, number);
    products.push(number === count && count > 1 ? giftCard(number, now) : makeProduct(random, number, now));
  }
  return products;
}

function makeProduct(random: WorldRandom, number: number, now: number): WorldProduct {
  const kind = random.pick(KINDS);
  const title = `${random.pick(COLOURS)} ${random.pick(kind.names)} ${number}`;
  const used = random.chance(kind.usedShare);
  const sized = kind.sizes.length > 1;
  const updatedAt = now - random.between(0, 700) * DAY;
  return {
    number,
    title,
    handle: title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-"),
    vendor: random.pick(VENDORS),
    productType: kind.productType,
    category: kind.category,
    tags: random.chance(0.3) ? ["sale", `season-${random.between(1, 4)}`] : [],
    giftCard: false,
    image: random.chance(0.9),
    createdAt: now - random.between(700, 900) * DAY,
    updatedAt,
    optionNames: [
      ...(sized ? ["Size"] : []),
      ...(used ? ["Condition"] : []),
      ...(sized || used ? [] : ["Title"]),
    ],
    variants: makeVariants(random, kind, number, used),
  };
}

function makeVariants(random: WorldRandom, kind: Kind, number: number, used: boolean): WorldVariant[] {
  const [low, high] = kind.priceMinor;
  const priceMinor = random.between(low / 100, high / 100) * 100 - random.pick([0, 1, 5, 50]);
  const costMinor = random.chance(0.85) ? Math.round(priceMinor * (0.3 + random.next() * 0.3)) : null;
  const word = random.pick(USED_WORDS);
  const variants: WorldVariant[] = [];
  for (const size of kind.sizes) {
    const sku = `${kind.code}-${String(number).padStart(4, "0")}${size === "" ? "" : `-${size}`}`;
    const sized = kind.sizes.length > 1 ? [size] : [];
    const add = (condition: string[], code: string | null, price: number, cost: number | null): void => {
      variants.push({
        position: variants.length + 1,
        sku: code,
        optionValues: sized.length + condition.length === 0 ? ["Default Title"] : [...sized, ...condition],
        priceMinor: price,
        unitCostMinor: cost,
      });
    };
    add(used ? ["New"] : [], random.chance(0.97) ? sku : null, priceMinor, costMinor);
    // Some variants were never returned, so they have no used counterpart.
    if (used && random.chance(0.8)) {
      add(
        [word],
        `${sku}-U`,
        Math.round(priceMinor * 0.6),
        costMinor === null ? null : Math.round(costMinor / 2),
      );
    }
  }
  return variants;
}

function giftCard(number: number, now: number): WorldProduct {
  const variants = [2500, 5000, 10000].map((priceMinor, index) => ({
    position: index + 1,
    sku: null,
    optionValues: [String(priceMinor / 100)],
    priceMinor,
    unitCostMinor: null,
  }));
  return {
    number,
    title: "Gift card",
    handle: "gift-card",
    vendor: "Simulated Shop",
    productType: "Gift Cards",
    category: "Gift Cards",
    tags: [],
    giftCard: true,
    image: true,
    createdAt: now - 900 * DAY,
    updatedAt: now - 900 * DAY,
    optionNames: ["Denominations"],
    variants,
  };
}

/** The address of a product's picture, or of a variant's. Its host belongs to no shop, and nothing is fetched from it. */
export function imageAddress({ number }: WorldProduct, variant: WorldVariant | null = null): string {
  return `https://cdn.shopify.example/files/product-${number}${variant === null ? "" : `-${variant.position}`}.jpg`;
}

/** Every second variant has its own picture. */
export function hasOwnImage({ position }: WorldVariant): boolean {
  return position % 2 === 0;
}

const USED_VALUES = new Set(["used", "pre-owned", "refurbished", "open box"]);

/** Whether a variant is sold used, by its option named Condition. */
export function conditionOf(product: WorldProduct, variant: WorldVariant): "new" | "used" {
  const index = product.optionNames.indexOf("Condition");
  const value = variant.optionValues[index]?.toLowerCase();
  return value !== undefined && USED_VALUES.has(value) ? "used" : "new";
}

/** The new variant with the same other options; undefined when the shop has none. */
export function counterpartOf(product: WorldProduct, variant: WorldVariant): WorldVariant | undefined {
  const index = product.optionNames.indexOf("Condition");
  return product.variants.find(
    (other) =>
      other !== variant &&
      conditionOf(product, other) === "new" &&
      other.optionValues.every((value, at) => at === index || value === variant.optionValues[at]),
  );
}
