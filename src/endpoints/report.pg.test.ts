import assert from "node:assert/strict";
import { test } from "node:test";
import { createReportWorkspace } from "../../tests/support/report-store.ts";
import { service } from "../../tests/support/shared-service.ts";
import { recordStatements } from "../../tests/support/asked-statements.ts";
import { changeWorkspace } from "../../tests/support/tenants.ts";
import { REPORT_SECTIONS } from "../contract/parameters.ts";
import { report as contract } from "../contract/report.ts";

/** What a report is made of. Its figures are those of the naive oracle (tests/oracle.pg.test.ts), for every selection and window. */

const { tenant, ask } = await createReportWorkspace(service);
const NO_SYNC = { data_as_of: null };

test("M7: reasons, timing, trend and breakdown each sum to the summary, and the costliest 20 come first", async () => {
  const units = (rows: { returned_units: number }[]) =>
    rows.reduce((sum, row) => sum + row.returned_units, 0);
  for (const selection of [
    {},
    { sku: "SHOE-1", include_used_variants: true },
    { product_gid: "gid://import/Product/1" },
    { product_group_type: "analytics_category", product_group_key: "Feet" },
  ]) {
    for (const window of ["primary", "30d", "90d", "lifetime"]) {
      const { data } = await ask({ ...selection, window });
      assert.ok(data.summary.returned_units > 0);
      for (const rows of [data.return_reasons, data.timing_buckets, data.trend])
        assert.equal(units(rows), data.summary.returned_units);
      assert.equal(data.timing_buckets.at(-1)?.cumulative_share, 1);
    }
    for (const breakdownBy of ["vendor", "product", "sku", "family", "analytics_category"]) {
      const { data, meta } = await ask({ ...selection, reportSection: "breakdown", breakdownBy });
      const { breakdown_by: by, rows } = data.breakdown;
      assert.deepEqual([meta["section"], by, rows.at(-1)?.selector], ["breakdown", breakdownBy, null]);
      assert.ok(rows.length <= 21);
      for (const measure of ["sold_units", "returned_units"] as const)
        assert.equal(
          rows.reduce((sum, row) => sum + row[measure], 0),
          data.summary[measure],
        );
      for (const amount of ["refunded_amount", "return_label_cost", "returns_cost"] as const) {
        const cents = rows.reduce((sum, row) => sum + Math.round(row[amount] * 100), 0);
        assert.equal(cents, Math.round(data.summary[amount] * 100));
      }
      const costs = rows.slice(0, -1).map((row) => row.returns_cost);
      assert.deepEqual(
        costs,
        costs.toSorted((left, right) => right - left),
      );
    }
  }
  const { data: fallback } = await ask({ reportSection: "breakdown", breakdownBy: "colour" });
  assert.equal(fallback.breakdown.breakdown_by, "product");
});

test("M5: if every month is incomplete no month counts, and there is no division by zero", async () => {
  const { data } = await ask({ start_month: "2025-05", end_month: "2025-06" });
  assert.deepEqual([data.trend, data.return_reasons, data.comparison], [[], [], null]);
  assert.equal(data.summary.sold_units, 0);
  assert.equal(data.summary.return_rate_interval, null);
  assert.equal(data.summary.cost_per_returned_unit, null);
  assert.equal(data.summary.median_days_to_return, null);
  const { closed_units: closed, share_with_reason, share_with_label } = data.lifecycle_coverage;
  assert.deepEqual([closed, share_with_reason, share_with_label], [0, null, null]);
  const { months_included, excluded_months, complete_through } = data.summary;
  assert.deepEqual(
    [months_included, excluded_months, complete_through],
    [0, ["2025-05", "2025-06"], "2025-04"],
  );
});

test("M5, M12: before the first sync no finite window is complete, compared or ranked", async () => {
  const range = { start_month: "2025-01", end_month: "2025-02" };
  const ranked = async (): Promise<unknown[]> => {
    const { meta } = (await tenant.ask("/api/v1/leaderboards/return-rate")).json();
    return [meta["start_month"], meta["months_included"], meta["excluded_months"], meta["complete_through"]];
  };
  assert.deepEqual(await ranked(), ["2024-05", 12, [], "2025-04"]);
  const { rows } = await service.database.query<{ data_as_of: Date }>(
    "select data_as_of from workspace where shop_key = $1",
    [tenant.shopKey],
  );
  await changeWorkspace(service.database, tenant, NO_SYNC);
  try {
    const { data } = await ask({ ...range, include_incomplete: true });
    assert.equal(data.comparison, null);
    assert.deepEqual([data.summary.months_included, data.summary.complete_through], [2, null]);
    const { data: lifetime } = await ask({ ...range, window: "lifetime" });
    assert.equal(lifetime.comparison?.start_month, "2024-11");
    assert.deepEqual(await ranked(), [undefined, 0, [], null]);
  } finally {
    await changeWorkspace(service.database, tenant, {
      data_as_of: rows[0]?.data_as_of.toISOString() ?? null,
    });
  }
});

test("M10: unmatched labels are for the whole workspace only, and unknown without a usable source of labels", async () => {
  const costsOf = async (selection = {}) => (await ask({ ...selection, reportSection: "costs" })).data.costs;
  assert.ok(((await costsOf()).unmatched_label_cost ?? 0) > 0);
  assert.equal((await costsOf({ sku: "SOCK" })).unmatched_label_cost, null);
  const setStatus = (status: string) =>
    service.database.query("update data_source set status = $2 where shop_key = $1 and kind = 'label_cost'", [
      tenant.shopKey,
      status,
    ]);
  await setStatus("failed");
  try {
    const { data } = await ask({});
    assert.equal(data.label_costs_included, false);
    assert.equal(data.summary.return_label_cost, 0);
    assert.equal(data.summary.returns_cost, data.summary.refunded_amount);
    assert.ok(data.trend.every((row) => row.return_label_cost === 0));
    assert.equal(data.costs.unmatched_label_cost, null);
    assert.equal(data.lifecycle_coverage.share_with_label, null);
  } finally {
    await setStatus("ok");
  }
});

test("each section is the summary, its part and the sale event; members keep the contract's order", async () => {
  const { data: overview, meta } = await ask({ saleEvent: "summer", reportSection: "unheard-of" });
  assert.equal(meta["section"], "overview");
  assert.deepEqual(meta["normalized"], ["reportSection"]);
  assert.equal((await ask({ reportSection: "overview" })).meta["normalized"], undefined);
  const curves = ["return_curves", "pooled_return_curve"];
  const ofOneSection = new Set([...curves, "breakdown", "outcomes", "bridge", "liability", "fit"]);
  const members = Object.keys(contract.response?.properties.data.properties ?? {});
  const order = members.filter((name) => !ofOneSection.has(name));
  assert.deepEqual(Object.keys(overview), order);
  const parts: Record<string, readonly (keyof typeof overview)[]> = {
    trend: ["trend"],
    reasons: ["return_reasons"],
    refunds: ["refunds"],
    timing: ["timing_buckets"],
    lifecycle: ["lifecycle_coverage"],
    costs: ["costs"],
    curves: ["return_curves", "pooled_return_curve"],
  };
  for (const [section, names] of Object.entries(parts)) {
    const { data, meta: sectionMeta } = await ask({ reportSection: section, saleEvent: "summer" });
    assert.equal(sectionMeta["section"], section);
    assert.deepEqual(Object.keys(data), [...order.slice(0, 4), ...names, ...order.slice(-3)]);
    const shared = [
      ...names.filter((name) => name in overview),
      "sale_event",
      "sale_events",
      "summary",
    ] as const;
    for (const name of shared) assert.deepEqual(data[name], overview[name], `${section} ${name}`);
  }
});

test("M15: every section lists the workspace's events by slug, and says when the one asked for is unknown", async () => {
  const slugs = ["late", "overlap", "socks", "summer"];
  for (const reportSection of REPORT_SECTIONS) {
    for (const [saleEvent, isUnknown] of [
      [undefined, false],
      ["", false],
      ["summer", false],
      ["Summer", true],
      ["x".repeat(600), true],
    ] as const) {
      const { data } = await ask({ reportSection, ...(saleEvent !== undefined && { saleEvent }) });
      assert.deepEqual(
        data.sale_events.map(({ slug }) => slug),
        slugs,
      );
      assert.equal(data.sale_event_unknown, isUnknown);
      assert.equal(data.sale_event?.slug ?? null, saleEvent === "summer" ? "summer" : null);
    }
  }
});

test("a report loads its figures by one statement, sums over orders by another, and a sale event by one more", async () => {
  const statements = recordStatements();
  try {
    for (const [saleEvent, more] of [
      ["", []],
      ["nothing", []],
      ["summer", ["load_group_sale_figures"]],
    ] as const) {
      await service.database.query("update workspace set data_version = data_version + 1");
      statements.forget();
      await ask({ saleEvent });
      const own = ["load_workspace", "load_report_figures", "load_order_sums"];
      assert.deepEqual(
        statements.names().filter((name) => name.startsWith("load_")),
        [...own, ...more],
      );
    }
  } finally {
    statements.stop();
  }
});
