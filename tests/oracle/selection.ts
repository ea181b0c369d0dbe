import { lastDayOf, dayOf, monthsFrom } from "./calendar.ts";
import type { Ledger, LedgerLine } from "./ledger.ts";
import { byCodePoint } from "./numbers.ts";
import type { Parameters, Store } from "./store.ts";

/** What a request is about; `null` when it names something the store never had. */
export type Selected = {
  holds(line: Pick<LedgerLine, "sku" | "productGid" | "used">): boolean;
  /** The SKUs taken, for a SKU or a product. */
  skus: string[] | null;
  meta: Record<string, unknown>;
} | null;

/** M14: which lines a request takes. */
export function selectionOf({ catalogue }: Ledger, params: Parameters): Selected {
  const withUsed = params["include_used_variants"] === true;
  const { sku, product_group_type: type, product_group_key: key } = params;
  const productGid = params["product_gid"] ?? params["shopify_product_gid"];
  const takenSkus = (takes: (entry: (typeof catalogue.skus)[number]) => boolean): string[] =>
    catalogue.skus
      .filter(takes)
      .map((entry) => entry.sku)
      .toSorted(byCodePoint);
  if (sku !== undefined) {
    if (!catalogue.skus.some((entry) => entry.sku === sku)) return null;
    const skus = takenSkus(
      (entry) => entry.sku === sku || (withUsed && entry.used && entry.counterpartSku === sku),
    );
    return {
      holds: (line) => line.sku !== null && skus.includes(line.sku),
      skus,
      meta: { type: "sku", primarySku: sku, skus },
    };
  }
  if (productGid !== undefined) {
    if (!catalogue.products.some((product) => product.gid === productGid)) return null;
    const skus = takenSkus((entry) => entry.productGid === productGid && (withUsed || !entry.used));
    return {
      holds: (line) => line.productGid === productGid && (withUsed || !line.used),
      skus,
      meta: { type: "product", product_gid: productGid, skus },
    };
  }
  if (key !== undefined) {
    const products = catalogue.products.filter(
      (product) => key === (type === "family" ? product.family : product.analyticsCategory),
    );
    if (products.length === 0) return null;
    return {
      holds: (line) => products.some((product) => product.gid === line.productGid),
      skus: null,
      meta: { type: "product_group", product_group_type: type, product_group_key: key, label: key },
    };
  }
  return { holds: () => true, skus: null, meta: { type: "workspace" } };
}

/** M4: how many days the requested window has; null for lifetime. */
export function windowDaysOf(store: Store, params: Parameters): number | null {
  const days = { "30d": 30, "90d": 90, lifetime: null };
  const window = (params["window"] ?? "primary") as keyof typeof days | "primary";
  return window === "primary" ? store.settings.primary_window_days : days[window];
}

/** M5. */
export function isMonthComplete(store: Store, month: string, windowDays: number | null): boolean {
  return isDayComplete(store, lastDayOf(month), windowDays);
}

/** M5 at day grain, for sale events. */
export function isDayComplete(store: Store, day: number, windowDays: number | null): boolean {
  return windowDays === null || dayOf(store.as_of) > day + windowDays;
}

/** The months between that are not left out as incomplete. */
export function countedMonths(store: Store, params: Parameters, first: string, last: string): string[] {
  const windowDays = windowDaysOf(store, params);
  return monthsFrom(first, last).filter(
    (month) => params["include_incomplete"] === true || isMonthComplete(store, month, windowDays),
  );
}
