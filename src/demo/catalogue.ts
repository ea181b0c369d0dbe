import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { createRandom, weightedDraw, type Random, type WeightedDraw } from "./random.ts";

export type Variant = {
  variantId: string;
  sku: string;
  title: string;
  /** Empty where the product has none. */
  size: string;
  colour: string;
  condition: "new" | "used";
  /** The new SKU that a used one corresponds to; empty for a new one. */
  counterpartSku: string;
  priceMinor: number;
  unitCostMinor: number | null;
  /** Where the size lies in its range; decides both how often it comes back and why. */
  fit: "smallest" | "middle" | "largest";
  /** Units returned per unit sold over the lifetime, outside sale events. */
  returnRate: number;
  /** Share of its product's sales, relative to its siblings. */
  weight: number;
};

export type Product = {
  productId: string;
  title: string;
  handle: string;
  vendor: string;
  /** Its appearance, by a name of pictures.ts. */
  silhouette: string;
  /** The colour that sells most. */
  colour: string;
  family: string;
  analyticsCategory: string;
  kind: ProductKind;
  season: SeasonName;
  /** Share of the store's lines in an average month. */
  share: number;
  /** How much of the store's life had passed when it was launched, 0 to 1. */
  launchedAfter: number;
  variants: readonly Variant[];
  drawVariant: WeightedDraw<Variant>;
};

const EXTREME_SIZE_FACTOR = 1.45;
const MIDDLE_SIZE_FACTOR = 0.92;
const USED_RETURN_FACTOR = 0.8;
const MAIN_COLOUR_SHARE_OF_BATCH_PRODUCT = 0.87;

/**
 * Builds products and variants from the seed alone, so that the same shop appears on any day. `breadth`: how often the assortment
 * is repeated, each time as separate products. `batchProduct` is also one of the products; its first variant is its main SKU.
 */
export function buildCatalogue(
  seed: number,
  breadth: number,
): { products: Product[]; batchProduct: Product } {
  const random = createRandom(seed, "catalogue");
  const products: Product[] = [];
  for (const plan of Array.from({ length: breadth }, () => FAMILY_PLANS).flat()) {
    const popularity = plan.titles.map(() => random.logNormal(1, 0.75));
    const total = popularity.reduce((sum, value) => sum + value, 0);
    for (const [index, title] of plan.titles.entries()) {
      const share = (plan.share * (popularity[index] ?? 1)) / total / breadth;
      const launchedAfter = index > 1 && random.chance(0.25) ? random.between(0.2, 0.6) : 0;
      products.push(buildProduct(plan, title, products.length + 1, { share, launchedAfter }, random));
    }
  }
  const batchProduct = buildProduct(
    BATCH_PRODUCT_PLAN,
    BATCH_PRODUCT_PLAN.titles[0] ?? "",
    products.length + 1,
    { share: BATCH_PRODUCT_PLAN.share, launchedAfter: 0 },
    random,
  );
  return { products: [...products, batchProduct], batchProduct };
}

function buildProduct(
  plan: FamilyPlan,
  title: string,
  number: number,
  demand: { share: number; launchedAfter: number },
  random: Random,
): Product {
  const productId = String(700_000 + number);
  const [lowMinor, highMinor] = plan.priceRangeMinor;
  const priceMinor = Math.floor(random.integer(lowMinor, highMinor) / 100) * 100;
  const isCostUnknown = plan !== BATCH_PRODUCT_PLAN && random.chance(0.06);
  const cost = isCostUnknown ? null : Math.round(priceMinor * random.between(0.32, 0.5));
  const sizes = plan.sizes.flatMap((size, index) => ({ size, ...sizeTraits(plan.sizes.length, index) }));
  const variants: Variant[] = [];
  const colours = chooseColours(plan, random);
  for (const [colourIndex, colour] of colours.entries()) {
    for (const { size, fit, weight } of sizes) {
      const variant: Variant = {
        variantId: `${productId}${String(variants.length + 1).padStart(3, "0")}`,
        sku: [`${plan.code}${number}`, skuPart(colour), skuPart(size)].filter(Boolean).join("-"),
        title: [colour, size].filter(Boolean).join(" / "),
        size,
        colour,
        condition: "new",
        counterpartSku: "",
        priceMinor,
        unitCostMinor: cost,
        fit,
        returnRate: plan.returnRate * fitFactor(plan, fit),
        weight: weight * colourWeight(plan, colourIndex, random),
      };
      variants.push(variant);
    }
  }
  variants.push(...usedVariants(plan, variants, random));
  return {
    productId,
    title,
    handle: handleOf(title),
    vendor: random.pick(plan.vendors),
    silhouette: plan.silhouettes[plan.titles.indexOf(title)] ?? plan.silhouettes[0] ?? "",
    colour: colours[0] ?? "",
    family: plan.family,
    analyticsCategory: plan.analyticsCategory,
    kind: plan.kind,
    season: plan.season,
    ...demand,
    variants,
    drawVariant: weightedDraw(variants, (variant) => variant.weight),
  };
}

/** About one new variant in ten of the wearable families also comes back on sale as a used one. */
function usedVariants(plan: FamilyPlan, variants: readonly Variant[], random: Random): Variant[] {
  if (plan.kind === "home") return [];
  return variants
    .filter(() => random.chance(0.1))
    .map((variant) => ({
      ...variant,
      variantId: `${variant.variantId}9`,
      sku: `${variant.sku}-USED`,
      title: `${variant.title} – Used`,
      condition: "used" as const,
      counterpartSku: variant.sku,
      priceMinor: Math.round((variant.priceMinor * 0.55) / 50) * 50,
      unitCostMinor: variant.unitCostMinor === null ? null : Math.round(variant.unitCostMinor * 0.4),
      returnRate: variant.returnRate * USED_RETURN_FACTOR,
      weight: variant.weight * 0.3,
    }));
}

function chooseColours(plan: FamilyPlan, random: Random): string[] {
  if (plan.coloursPerProduct === plan.colours.length) return [...plan.colours];
  const first = random.integer(0, plan.colours.length - 1);
  return [...plan.colours, ...plan.colours].slice(first, first + plan.coloursPerProduct);
}

function colourWeight(plan: FamilyPlan, colourIndex: number, random: Random): number {
  if (plan === BATCH_PRODUCT_PLAN) {
    return colourIndex === 0 ? MAIN_COLOUR_SHARE_OF_BATCH_PRODUCT : 1 - MAIN_COLOUR_SHARE_OF_BATCH_PRODUCT;
  }
  return (colourIndex === 0 ? 1 : 0.5) * random.between(0.85, 1.15);
}

/** Sales by size follow a bell curve; of five sizes or more, the outermost seldom fit. */
function sizeTraits(count: number, index: number): { fit: Variant["fit"]; weight: number } {
  const distance = count === 1 ? 0 : Math.abs(index - (count - 1) / 2) / (count / 2);
  const weight = 1.15 - distance;
  if (count < 5) return { fit: "middle", weight };
  if (index === 0) return { fit: "smallest", weight };
  return { fit: index === count - 1 ? "largest" : "middle", weight };
}

function fitFactor(plan: FamilyPlan, fit: Variant["fit"]): number {
  if (plan.sizes.length < 5) return 1;
  return fit === "middle" ? MIDDLE_SIZE_FACTOR : EXTREME_SIZE_FACTOR;
}

function skuPart(text: string): string {
  return text.toUpperCase().replaceAll(/[^A-Z0-9]/g, "");
}

function handleOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
}

export type SeasonName = "steady" | "summer" | "winter" | "gifts";
export type ProductKind = "apparel" | "shoes" | "home";

/** One family of the demo store: its products, their quantities, and their return rate. */
type FamilyPlan = {
  family: string;
  analyticsCategory: string;
  kind: ProductKind;
  code: string;
  vendors: readonly string[];
  titles: readonly string[];
  /** The appearance of each title, by a name of pictures.ts; a single one applies to all. */
  silhouettes: readonly string[];
  colours: readonly string[];
  coloursPerProduct: number;
  /** From smallest to largest; a single empty size means that the product has none. */
  sizes: readonly string[];
  priceRangeMinor: readonly [low: number, high: number];
  season: SeasonName;
  /** Share of the store's sold lines in an average month. */
  share: number;
  /** Units returned per unit sold, over the lifetime. */
  returnRate: number;
};

const PLANS = parse<Record<string, string>>(readFileSync(new URL("assortment.csv", import.meta.url)), {
  columns: true,
}).map(planOf);

/** The product whose batch goes bad, the last row: steady sales, few variants, an unremarkable return rate until then. */
export const BATCH_PRODUCT_PLAN = PLANS.at(-1) as FamilyPlan;

export const FAMILY_PLANS: readonly FamilyPlan[] = PLANS.slice(0, -1);

function planOf(row: Record<string, string>): FamilyPlan {
  const text = (column: string): string => row[column] ?? "";
  const list = (column: string): string[] => text(column).split(";");
  const number = (column: string): number => Number(text(column));
  return {
    family: text("family"),
    analyticsCategory: text("analytics_category"),
    kind: text("kind") as ProductKind,
    code: text("code"),
    vendors: list("vendors"),
    titles: list("titles"),
    silhouettes: list("silhouettes"),
    colours: list("colours"),
    coloursPerProduct: number("colours_per_product"),
    sizes: list("sizes"),
    priceRangeMinor: [number("lowest_price_minor"), number("highest_price_minor")],
    season: text("season") as SeasonName,
    share: number("share"),
    returnRate: number("return_rate"),
  };
}
