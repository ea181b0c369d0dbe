import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import type { SeasonName } from "./seasonality.ts";

export type ProductKind = "apparel" | "shoes" | "home";

/** One family of the demo store: what is sold, how much of it, and how often it comes back. */
export interface FamilyPlan {
  family: string;
  analyticsCategory: string;
  kind: ProductKind;
  code: string;
  vendors: readonly string[];
  titles: readonly string[];
  /** What each title looks like, by a name of pictures.ts; a single one is that of all. */
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
}

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
