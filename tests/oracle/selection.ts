import { lastDayOf, dayOf, monthsFrom } from "./calendar.ts";
import type { OracleLedger, LedgerLine } from "./ledger.ts";
import { byCodePoint } from "./numbers.ts";
import type { OracleParameters, OracleStore } from "./store.ts";

type Countable = Pick<LedgerLine, "sku" | "productGid" | "used" | "counterpartSku" | "vendor">;

/** What a request selects; `null` when it names something that the store never had. */
export type Selected = {
  holds(line: Countable): boolean;
  /** Whether it is less than the whole store. */
  isNarrowed: boolean;
  meta: Record<string, unknown>;
} | null;

/** M14: the lines that a request selects. A vendor selects only its own; leaderboards filter their rows by it instead. */
export function selectionOf(
  ledger: OracleLedger,
  params: OracleParameters,
  vendorSelects: boolean,
): Selected {
  const selected = entityOf(ledger, params);
  const { vendor } = params;
  if (selected === null || !vendorSelects || vendor === undefined) return selected;
  if (!isKnownVendor(ledger, vendor)) return null;
  return { ...selected, isNarrowed: true, holds: (line) => line.vendor === vendor && selected.holds(line) };
}

/** A product's vendor, or one that a line without a product names. */
export function isKnownVendor({ catalogue, lines }: OracleLedger, vendor: unknown): boolean {
  return (
    catalogue.products.some((product) => product.vendor === vendor) ||
    lines.some((line) => line.sold > 0 && line.vendor === vendor)
  );
}

function entityOf(ledger: OracleLedger, params: OracleParameters): Selected {
  const { catalogue } = ledger;
  const withUsed = params["include_used_variants"] === true;
  const { sku, product_group_type: type, product_group_key: key } = params;
  const productGid = params["product_gid"] ?? params["shopify_product_gid"];
  if (sku !== undefined) {
    if (!catalogue.skus.some((entry) => entry.sku === sku)) return null;
    const holds = (line: Countable): boolean =>
      line.sku === sku || (withUsed && line.used && line.counterpartSku === sku);
    const named = catalogue.variants.filter(
      (variant) => withUsed && variant.used && variant.counterpartSku === sku,
    );
    const skus = skusOf(ledger, params, {
      holds,
      listed: [{ sku: String(sku), productGid: null }, ...named],
    });
    return { holds, isNarrowed: true, meta: { type: "sku", primarySku: sku, skus } };
  }
  if (productGid !== undefined) {
    if (!catalogue.products.some((product) => product.gid === productGid)) return null;
    const holds = (line: { productGid: string | null; used: boolean }): boolean =>
      line.productGid === productGid && (withUsed || !line.used);
    const listed = [...catalogue.variants, ...catalogue.skus].filter(holds);
    const skus = skusOf(ledger, params, { holds, listed });
    return { holds, isNarrowed: true, meta: { type: "product", product_gid: productGid, skus } };
  }
  if (key !== undefined) {
    const products = catalogue.products.filter(
      (product) => key === (type === "family" ? product.family : product.analyticsCategory),
    );
    if (products.length === 0) return null;
    return {
      holds: (line) => products.some((product) => product.gid === line.productGid),
      isNarrowed: true,
      meta: { type: "product_group", product_group_type: type, product_group_key: key, label: key },
    };
  }
  return { holds: () => true, isNarrowed: false, meta: { type: "workspace" } };
}

type Taken = {
  holds: (line: Countable) => boolean;
  /** What the catalogue lists of the selection. */
  listed: readonly { sku: string | null; productGid: string | null }[];
};

/** The SKUs of the lines that count and of the listed catalogue entries; with a vendor only its own. */
function skusOf(ledger: OracleLedger, params: OracleParameters, { holds, listed }: Taken): string[] {
  const { catalogue, lines } = ledger;
  const { vendor } = params;
  const isOfVendor = (entry: Taken["listed"][number]): boolean =>
    vendor === undefined ||
    (entry.productGid === null
      ? catalogue.skus.some((known) => known.sku === entry.sku && known.vendor === vendor)
      : catalogue.products.some((product) => product.gid === entry.productGid && product.vendor === vendor));
  const skus = [
    ...lines.filter(
      (line) => line.sold > 0 && holds(line) && (vendor === undefined || line.vendor === vendor),
    ),
    ...listed.filter(isOfVendor),
  ].flatMap((entry) => (entry.sku === null ? [] : [entry.sku]));
  return [...new Set(skus)].toSorted(byCodePoint);
}

/** M4: how many days the requested window has; null for lifetime. */
export function windowDaysOf(store: OracleStore, params: OracleParameters): number | null {
  const days = { "30d": 30, "90d": 90, lifetime: null };
  const window = (params["window"] ?? "primary") as keyof typeof days | "primary";
  return window === "primary" ? store.settings.primary_window_days : days[window];
}

/** M5. */
export function isMonthComplete(store: OracleStore, month: string, windowDays: number | null): boolean {
  return isDayComplete(store, lastDayOf(month), windowDays);
}

/** M5 at day grain, for sale events. */
export function isDayComplete(store: OracleStore, day: number, windowDays: number | null): boolean {
  return windowDays === null || dayOf(store.as_of) > day + windowDays;
}

/** The months between that are not left out as incomplete. */
export function countedMonths(
  store: OracleStore,
  params: OracleParameters,
  first: string,
  last: string,
): string[] {
  const windowDays = windowDaysOf(store, params);
  return monthsFrom(first, last).filter(
    (month) => params["include_incomplete"] === true || isMonthComplete(store, month, windowDays),
  );
}
