import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { knownMonth, monthToDate } from "../src/lib/month.ts";
import { loadReturnCosts } from "../src/store/queries/return-cost-leaderboard.ts";
import { loadReturnRates } from "../src/store/queries/return-rate-leaderboard.ts";
import type { Selection } from "../src/store/queries/selection.ts";
import type { Workspace } from "../src/store/workspace.ts";
import { byCodePoint } from "./oracle/numbers.ts";
import { openControlDatabase } from "./support/control.ts";
import { createTenant, insertRows } from "./support/tenants.ts";
import { use } from "./support/use.ts";

type Vendor = "Acme" | "Bolt" | null;
type Row = {
  sku: string;
  sold: number;
  returned: number;
  refund: number;
  label: number;
  vendor: Vendor;
};

const MONTH = knownMonth("2025-01");
const NO_LISTING = "00000000-0000-0000-0000-000000000000";
const VENDORS: readonly Vendor[] = ["Acme", "Bolt", null];
const WHOLE: Selection = { kind: "workspace", key: "", includeUsed: false, vendor: null };
/** Every product is of this family: a ranking within it is that of the whole shop. */
const SELECTIONS: readonly Selection[] = [WHOLE, { ...WHOLE, kind: "family", key: "F" }];

/** A separate shop whose SKUs have these figures in one cohort month. */
async function insertRankedWorkspace(rows: readonly Row[]): Promise<Workspace> {
  const { shopKey: shop_key } = await createTenant(control.pool);
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
    entity_sold_units: sold,
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
      control.pool,
      table,
      records.map((record) => ({ shop_key, ...record })),
    );
  }
  return { shopKey: shop_key } as Workspace;
}

const anyRows = fc.uniqueArray(
  fc
    .record({
      sku: fc.string({ unit: fc.constantFrom("a", "B", "\u{ffff}", "😀"), minLength: 1, maxLength: 3 }),
      sold: fc.integer({ min: 0, max: 6 }),
      part: fc.integer({ min: 0, max: 6 }),
      refund: fc.integer({ min: -2, max: 3 }),
      label: fc.integer({ min: 0, max: 2 }),
      vendor: fc.constantFrom(...VENDORS),
    })
    .map(({ part, ...row }): Row => ({ ...row, returned: Math.min(part, row.sold) })),
  { selector: ({ sku }) => sku, maxLength: 14 },
);

const control = use(openControlDatabase);

type Rates = {
  threshold: number;
  minSoldUnits: number | null;
  minReturnRate: number | null;
  vendor: Vendor;
  cardSize: number | null;
  limit: number;
};

const OPEN: Rates = {
  threshold: 20,
  minSoldUnits: null,
  minReturnRate: null,
  vendor: null,
  cardSize: null,
  limit: 50,
};

/** The SKUs that the statement ranks, the same within a family, and how many pass the filters. */
async function rateRanking(rows: readonly Row[], rates: Rates): Promise<{ skus: string[]; count: number }> {
  const workspace = await insertRankedWorkspace(rows);
  const { threshold, cardSize, limit, ...filters } = rates;
  const answers = [];
  for (const selection of SELECTIONS) {
    const loaded = await loadReturnRates(control.database, workspace, {
      selection,
      months: { startMonth: MONTH, endMonth: MONTH },
      usualMonths: [],
      labelCostsIncluded: false,
      windowDays: 30,
      minSoldUnits: threshold,
      filters,
      cardSize,
      limit,
    });
    answers.push({ skus: loaded.rows.map((row) => row.sku), count: loaded.eligible_count });
  }
  assert.deepEqual(answers[1], answers[0], "within a family");
  return answers[0] as { skus: string[]; count: number };
}

const sold = (sku: string, units: number, returned: number): Row => ({
  sku,
  sold: units,
  returned,
  refund: 0,
  label: 0,
  vendor: null,
});

test("M12: the exact rate ranks, not the rounded one, up to 2^26 units", async () => {
  const close = [sold("lower", 3_000_001, 1_000_000), sold("higher", 3_000_000, 1_000_000)];
  assert.deepEqual((await rateRanking(close, OPEN)).skus, ["higher", "lower"]);
  const large = 2 ** 26;
  const closest = [sold("lower", large - 1, large - 3), sold("higher", large, large - 2)];
  assert.deepEqual((await rateRanking(closest, OPEN)).skus, ["higher", "lower"]);
});

test("M12: a minimum rate is compared as the exact decimal that was given", async () => {
  for (const [returned, units, minReturnRate, expected] of [
    [1, 10, 0.1, 1],
    [3, 10, 0.3, 1],
    [29_999_999, 100_000_000, 0.3, 0],
    [1, 10_000_000, 1e-7, 1],
    [1, 10_000_001, 1e-7, 0],
    [7, 7, 1, 1],
    [0, 0, 0, 1],
    [0, 0, 0.01, 0],
    [1, 1, 1e21, 0],
  ] as const) {
    const rates = { ...OPEN, threshold: 0, minReturnRate };
    const { skus, count } = await rateRanking([sold("a", units, returned)], rates);
    assert.deepEqual([skus.length, count], [expected, expected], `${returned} of ${units}: ${minReturnRate}`);
  }
});

const RUNS = { numRuns: 40 };

test("M12: any ranking equals a naive sort, with ties, thresholds, cards and absent vendors", async () => {
  const anyRates = fc.record({
    threshold: fc.integer({ min: 0, max: 4 }),
    minSoldUnits: fc.option(fc.integer({ min: 0, max: 6 })),
    minReturnRate: fc.option(fc.constantFrom(0, 0.25, 0.5, 1)),
    vendor: fc.constantFrom(...VENDORS),
    cardSize: fc.option(fc.integer({ min: 1, max: 6 })),
    limit: fc.integer({ min: 1, max: 6 }),
  });
  await fc.assert(
    fc.asyncProperty(anyRows, anyRates, async (rows, rates) => {
      const ranked = rows
        .filter((row) => row.sold >= rates.threshold)
        .toSorted(
          (left, right) =>
            right.returned * (left.sold || 1) - left.returned * (right.sold || 1) ||
            right.returned - left.returned ||
            right.sold - left.sold ||
            byCodePoint(left.sku, right.sku),
        );
      const passes = (row: Row): boolean =>
        row.sold >= (rates.minSoldUnits ?? 0) &&
        (row.sold === 0 ? 0 : row.returned / row.sold) >= (rates.minReturnRate ?? 0) &&
        (rates.vendor === null || row.vendor === rates.vendor);
      const seen = ranked.slice(0, rates.cardSize ?? ranked.length).filter(passes);
      assert.deepEqual(await rateRanking(rows, rates), {
        skus: seen.slice(0, rates.limit).map((row) => row.sku),
        count: ranked.filter(passes).length,
      });
    }),
    RUNS,
  );
});

type Costs = { minCostMinor: number | null; labelCostsIncluded: boolean; vendor: Vendor; limit: number };

async function costRanking(rows: readonly Row[], costs: Costs): Promise<{ skus: string[]; count: number }> {
  const workspace = await insertRankedWorkspace(rows);
  const answers = [];
  for (const selection of SELECTIONS) {
    const range = { selection, windowDays: 30, startMonth: MONTH, endMonth: MONTH, usualMonths: [] };
    const loaded = await loadReturnCosts(control.database, workspace, { ...range, ...costs });
    answers.push({ skus: loaded.rows.map((row) => row.sku), count: loaded.eligible_count });
  }
  assert.deepEqual(answers[1], answers[0], "within a family");
  return answers[0] as { skus: string[]; count: number };
}

test("M13: any ranking equals a naive sort, with ties, credits and absent vendors", async () => {
  const anyCosts = fc.record({
    minCostMinor: fc.option(fc.constantFrom(0, 0.5, 2, 3)),
    labelCostsIncluded: fc.boolean(),
    vendor: fc.constantFrom(...VENDORS),
    limit: fc.integer({ min: 1, max: 6 }),
  });
  await fc.assert(
    fc.asyncProperty(anyRows, anyCosts, async (rows, costs) => {
      const costOf = (row: Row): number => row.refund + (costs.labelCostsIncluded ? row.label : 0);
      const ranked = rows
        .filter((row) => costOf(row) > 0 && costOf(row) >= (costs.minCostMinor ?? 0))
        .filter((row) => costs.vendor === null || row.vendor === costs.vendor)
        .toSorted((left, right) => costOf(right) - costOf(left) || byCodePoint(left.sku, right.sku));
      assert.deepEqual(await costRanking(rows, costs), {
        skus: ranked.slice(0, costs.limit).map((row) => row.sku),
        count: ranked.length,
      });
    }),
    RUNS,
  );
});
