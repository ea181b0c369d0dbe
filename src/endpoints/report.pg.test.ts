import assert from "node:assert/strict";
import { test } from "node:test";
import { report as contract } from "../contract/report.ts";
import { REFUND_ONLY, UNSPECIFIED } from "../metrics/returned-units.ts";
import type { Workspace } from "../store/workspace.ts";
import { makeReportStore } from "../../tests/support/random-report-store.ts";
import { countReport, countUnmatchedLabels } from "../../tests/support/report-oracle.ts";
import { AS_OF, WINDOW_DAYS, oracleRequest, startReportService } from "../../tests/support/report-service.ts";
import { reportWorkspace } from "../../tests/support/report-store.ts";
import type { StoreLine } from "../../tests/support/report-store.ts";
import { use } from "../../tests/support/use.ts";

const store = makeReportStore(7);
const WINDOWS = ["primary", "30d", "90d", "lifetime"] as const;

const service = use(() => startReportService(store));
const ask = (parameters: Record<string, unknown>, of?: Workspace) => service.ask(parameters, of);

const isOfProduct = (line: StoreLine, number: number) => line.product_gid === `gid://shop/Product/${number}`;
const SELECTIONS: {
  title: string;
  parameters: Record<string, unknown>;
  selects: (line: StoreLine) => boolean;
}[] = [
  { title: "the workspace", parameters: {}, selects: () => true },
  { title: "a SKU", parameters: { sku: "SHOE-1" }, selects: (line) => line.sku === "SHOE-1" },
  {
    title: "a SKU with its used variants",
    parameters: { sku: "SHOE-1", include_used_variants: true },
    selects: (line) => line.sku === "SHOE-1" || line.sku === "SHOE-1-USED",
  },
  {
    title: "a product",
    parameters: { product_gid: "gid://shop/Product/1" },
    selects: (line) => isOfProduct(line, 1) && !line.used,
  },
  {
    title: "a product with its used variants",
    parameters: { product_gid: "gid://shop/Product/1", include_used_variants: true },
    selects: (line) => isOfProduct(line, 1),
  },
  {
    title: "a family",
    parameters: { product_group_type: "family", product_group_key: '=Hats, "warm"' },
    selects: (line) => isOfProduct(line, 3),
  },
  {
    title: "a category of several products",
    parameters: { product_group_type: "analytics_category", product_group_key: "Feet" },
    selects: (line) => isOfProduct(line, 1) || isOfProduct(line, 2),
  },
];

/** M8: an absent reason's key is the word for it with a leading blank. */
const storedKey = ({ reason, kind }: { reason: string; kind: string }) =>
  kind === "stated" ? reason : ` ${kind}`;

const roundedShare = (part: number, whole: number) =>
  whole === 0 ? null : Math.round((part / whole) * 1e6) / 1e6;

for (const { title, parameters, selects } of SELECTIONS) {
  test(`M2, M4, M5, M14: every figure of ${title} is what a loop over its lines counts`, async () => {
    for (const window of WINDOWS) {
      for (const include_incomplete of [false, true]) {
        const { data } = await ask({ ...parameters, window, include_incomplete });
        const request = oracleRequest({
          selects,
          windowDays: WINDOW_DAYS[window],
          includeIncomplete: include_incomplete,
        });
        const counted = countReport(store, request);
        const { summary, lifecycle_coverage: lifecycle } = data;

        assert.ok(counted.returnedUnits > 0);
        assert.deepEqual(
          [summary.sold_units, summary.returned_units, summary.refunded_units],
          [counted.soldUnits, counted.returnedUnits, counted.refundedUnits],
        );
        assert.equal(summary.refunded_amount, counted.refundMinor / 100);
        assert.equal(summary.return_label_cost, counted.labelMinor / 100);
        assert.equal(summary.returns_cost, (counted.refundMinor + counted.labelMinor) / 100);
        const { lags } = counted;
        const middle = [lags[(lags.length - 1) >> 1] ?? 0, lags[lags.length >> 1] ?? 0] as const;
        assert.equal(summary.median_days_to_return, (middle[0] + middle[1]) / 2);
        assert.deepEqual(
          data.trend.map((row) => [
            row.cohort_month,
            row.sold_units,
            row.returned_units,
            row.refunded_amount,
          ]),
          counted.months.map((row) => [
            `${row.month}-01`,
            row.soldUnits,
            row.returnedUnits,
            row.refundMinor / 100,
          ]),
        );
        assert.deepEqual(
          new Map(data.return_reasons.map((row) => [storedKey(row), row.returned_units])),
          counted.unitsByReason,
        );
        assert.deepEqual(
          data.timing_buckets.map((row) => row.returned_units),
          data.timing_buckets.map(
            ({ from_day: from, to_day: to }) =>
              lags.filter((lag) => lag >= from && lag <= (to ?? lag)).length,
          ),
        );
        assert.equal(data.refunds.returned_not_refunded_units, counted.returnedNotRefunded);
        assert.equal(data.refunds.refunded_not_returned_units, counted.refundedNotReturned);
        assert.deepEqual(
          [
            lifecycle.requested_units,
            lifecycle.open_units,
            lifecycle.closed_units,
            lifecycle.declined_units,
            lifecycle.canceled_units,
            lifecycle.refund_only_units,
          ],
          [
            ...["REQUESTED", "OPEN", "CLOSED", "DECLINED", "CANCELED"].map(counted.unitsInState),
            counted.unitsByReason.get(REFUND_ONLY) ?? 0,
          ],
        );
        const withoutReason = [REFUND_ONLY, UNSPECIFIED].map((key) => counted.unitsByReason.get(key) ?? 0);
        assert.equal(
          lifecycle.share_with_reason,
          roundedShare(
            counted.returnedUnits - withoutReason.reduce((sum, units) => sum + units),
            counted.returnedUnits,
          ),
        );
        assert.equal(
          lifecycle.share_with_label,
          roundedShare(counted.returnedWithLabel, counted.returnedUnits),
        );
        assert.equal(
          lifecycle.share_with_refund,
          roundedShare(counted.returnedUnits - counted.returnedNotRefunded, counted.returnedUnits),
        );
      }
    }
  });
}

test("M7: reasons, timing and trend each sum to the summary", async () => {
  const sum = (rows: { returned_units: number }[]) =>
    rows.reduce((total, row) => total + row.returned_units, 0);
  for (const { parameters } of SELECTIONS) {
    for (const window of WINDOWS) {
      const { data } = await ask({ ...parameters, window });
      const { returned_units: returnedUnits } = data.summary;
      assert.equal(sum(data.return_reasons), returnedUnits);
      assert.equal(sum(data.timing_buckets), returnedUnits);
      assert.equal(sum(data.trend), returnedUnits);
      assert.equal(data.timing_buckets.at(-1)?.cumulative_share, 1);
    }
  }
});

test("M6: a comparison that sold nothing has rate 0 and no change", async () => {
  const { data } = await ask({ start_month: "2024-01", end_month: "2024-02" });
  assert.equal(data.comparison?.return_rate, 0);
  assert.equal(data.comparison?.return_rate_change, null);
});

test("M5: where every month is incomplete nothing counts, and nothing is divided", async () => {
  const { data } = await ask({ start_month: "2025-05", end_month: "2025-06" });
  assert.deepEqual(data.trend, []);
  assert.deepEqual(data.return_reasons, []);
  assert.equal(data.summary.sold_units, 0);
  assert.equal(data.summary.return_rate_interval, null);
  assert.equal(data.summary.cost_per_returned_unit, null);
  assert.equal(data.summary.median_days_to_return, null);
  assert.equal(data.lifecycle_coverage.closed_units, 0);
  assert.equal(data.lifecycle_coverage.share_with_reason, null);
  assert.equal(data.lifecycle_coverage.share_with_label, null);
  assert.equal(data.comparison, null);
  const { months_included, excluded_months, complete_through } = data.summary;
  assert.deepEqual(
    [months_included, excluded_months, complete_through],
    [0, ["2025-05", "2025-06"], "2025-04"],
  );
});

test("M10: unmatched labels are those charged in the requested months, for the whole workspace only", async () => {
  const { data } = await ask({ start_month: "2024-05", end_month: "2024-09" });
  const expected = countUnmatchedLabels(store, { startMonth: "2024-05", endMonth: "2024-09" });
  assert.ok(expected > 0);
  assert.equal(data.costs.unmatched_label_cost, expected / 100);
  assert.equal((await ask({ reportSection: "costs" })).data.costs.unmatched_label_cost !== null, true);
  assert.equal((await ask({ sku: "SOCK" })).data.costs.unmatched_label_cost, null);
});

test("M10: without a usable label source label costs are 0 and label facts unknown", async () => {
  const sources = reportWorkspace(1, AS_OF).sources.map((source) => ({
    ...source,
    status: source.kind === "label_cost" ? "failed" : source.status,
  }));
  const { data } = await ask({}, reportWorkspace(1, AS_OF, { sources }));
  assert.equal(data.label_costs_included, false);
  assert.equal(data.summary.return_label_cost, 0);
  assert.equal(data.summary.returns_cost, data.summary.refunded_amount);
  assert.ok(data.trend.every((row) => row.return_label_cost === 0));
  assert.equal(data.costs.unmatched_label_cost, null);
  assert.equal(data.lifecycle_coverage.share_with_label, null);
});

test("each section is the summary, one part and the sale event; members keep the contract's order", async () => {
  const { data: overview, meta } = await ask({ saleEvent: "summer", reportSection: "unheard-of" });
  assert.equal(meta["section"], "overview");
  const ofOneSection = new Set(["return_curves", "pooled_return_curve", "breakdown", "outcomes", "bridge"]);
  const members = Object.keys(contract.response?.properties.data.properties ?? {});
  const order = members.filter((name) => !ofOneSection.has(name));
  assert.deepEqual(Object.keys(overview), order);
  const parts = {
    trend: "trend",
    reasons: "return_reasons",
    refunds: "refunds",
    timing: "timing_buckets",
    lifecycle: "lifecycle_coverage",
    costs: "costs",
  } as const;
  for (const section of Object.keys(parts) as (keyof typeof parts)[]) {
    const { data, meta: sectionMeta } = await ask({ reportSection: section, saleEvent: "summer" });
    assert.equal(sectionMeta["section"], section);
    assert.deepEqual(Object.keys(data), [...order.slice(0, 4), parts[section], ...order.slice(-3)]);
    assert.deepEqual(data.sale_event, overview.sale_event);
    assert.deepEqual(data.sale_events, overview.sale_events);
    assert.deepEqual(data.summary, overview.summary);
    assert.deepEqual(data[parts[section]], overview[parts[section]]);
  }
});

test("the section curves has the months' curves and the pooled one, which no other section has", async () => {
  const { data: overview } = await ask({ saleEvent: "summer" });
  const { data, meta } = await ask({ saleEvent: "summer", reportSection: "curves" });
  assert.equal(meta["section"], "curves");
  const names = Object.keys(overview);
  const own = ["return_curves", "pooled_return_curve"];
  assert.deepEqual(Object.keys(data), [...names.slice(0, 4), ...own, ...names.slice(-3)]);
  assert.deepEqual(data.summary, overview.summary);
});

test("the widest and the oldest ranges are answered", async () => {
  const { data: oldest } = await ask({ start_month: "0001-01", end_month: "0010-12", saleEvent: "summer" });
  assert.equal(oldest.comparison, null);
  assert.equal(oldest.trend.length, 120);
  const last = { start_month: "9990-01", end_month: "9999-12", include_incomplete: true };
  const { data: latest } = await ask({
    ...last,
    saleEvent: "summer",
    saleEventBaseline: "selected_non_sale",
  });
  assert.equal(latest.summary.sold_units, 0);
  assert.equal(latest.sale_event?.baseline_period.days, 3652);
});

test("an entity of nobody and one of another workspace are refused in the same words", async () => {
  await service.database.rows({ name: "", text: "insert into sku (shop_key, sku) values (2, 'THEIRS')" }, []);
  const message = async (sku: string) => {
    try {
      await ask({ sku });
      return assert.fail();
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.equal(await message("THEIRS"), await message("NOBODYS"));
});
