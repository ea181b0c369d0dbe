import type pg from "pg";
import fc from "fast-check";
import { knownMonth, monthToDate } from "../../src/lib/month.ts";
import type { Selection } from "../../src/store/queries/selection.ts";
import { createTenant, insertRows } from "./tenants.ts";

export type Vendor = "Acme" | "Bolt" | null;
export type RankedRow = {
  sku: string;
  sold: number;
  returned: number;
  refund: number;
  label: number;
  vendor: Vendor;
};

export const MONTH = knownMonth("2025-01");
const NO_LISTING = "00000000-0000-0000-0000-000000000000";
export const VENDORS: readonly Vendor[] = ["Acme", "Bolt", null];
const WHOLE: Selection = { kind: "workspace", key: "", includeUsed: false, vendor: null };
/** Every product is of this family: a ranking within it is that of the whole shop. */
export const SELECTIONS: readonly Selection[] = [WHOLE, { ...WHOLE, kind: "family", key: "F" }];

/** A shop of its own whose SKUs have these figures in one cohort month. */
export async function insertRankedShop(database: pg.Pool, rows: readonly RankedRow[]): Promise<number> {
  const { shopKey: shop_key } = await createTenant(database);
  const productOf = (vendor: Vendor): string => `p${VENDORS.indexOf(vendor)}`;
  const listings = rows.map(({ sku, vendor }) => ({
    listing_id: NO_LISTING,
    sku,
    product_gid: productOf(vendor),
    line_vendor: "",
    counterpart_sku: "",
    used: false,
  }));
  const uncounted = ["costed_sold", "requested", "open", "closed", "declined", "canceled"];
  const figures = rows.map(({ sku, sold, returned, refund, label }) => ({
    entity_kind: "sku",
    entity_key: sku,
    cohort_month: monthToDate(MONTH),
    listing_id: NO_LISTING,
    sold_units: sold,
    ...Object.fromEntries(uncounted.map((name) => [`${name}_units`, 0])),
    lag_days: [3],
    returned_units: [returned],
    refund_minor: [refund],
    label_minor: [label],
  }));
  const tables = {
    product: VENDORS.map((vendor) => ({
      product_gid: productOf(vendor),
      title: "P",
      vendor,
      family: "F",
      from_lines: false,
    })),
    sku: rows.map(({ sku, vendor }) => ({
      sku,
      product_gid: productOf(vendor),
      vendor,
      used: false,
      from_lines: false,
    })),
    listing: listings,
    cohort: figures,
  };
  for (const [table, records] of Object.entries(tables)) {
    if (records.length === 0) continue;
    await insertRows(
      database,
      table,
      records.map((record) => ({ shop_key, ...record })),
    );
  }
  return shop_key;
}

export const anyRows = fc.uniqueArray(
  fc
    .record({
      sku: fc.string({ unit: fc.constantFrom("a", "B", "\u{ffff}", "😀"), minLength: 1, maxLength: 3 }),
      sold: fc.integer({ min: 0, max: 6 }),
      part: fc.integer({ min: 0, max: 6 }),
      refund: fc.integer({ min: -2, max: 3 }),
      label: fc.integer({ min: 0, max: 2 }),
      vendor: fc.constantFrom(...VENDORS),
    })
    .map(({ part, ...row }): RankedRow => ({ ...row, returned: Math.min(part, row.sold) })),
  { selector: ({ sku }) => sku, maxLength: 14 },
);
