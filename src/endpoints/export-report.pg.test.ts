import assert from "node:assert/strict";
import { test } from "node:test";
import papaparse from "papaparse";
import { createReportWorkspace, MONTHS } from "../../tests/support/report-store.ts";
import { service } from "../../tests/support/shared-service.ts";
import type { ReportData } from "../contract/report.ts";
import { guardedText } from "../lib/csv-text.ts";

type Scalar = string | number | boolean | null;
type CsvRow = Record<"section" | "cohort_month" | "key" | "label" | "metric" | "value" | "unit", string>;

const { tenant, ask } = await createReportWorkspace(service);

const exported = async (parameters: Record<string, string | boolean>) => {
  const { status, text } = await tenant.ask("/api/v1/export/report.csv", { ...MONTHS, ...parameters });
  assert.equal(status, 200, text);
  const { data, errors } = papaparse.parse<CsvRow>(text, {
    header: true,
    delimiter: ",",
    newline: "\r\n",
    skipEmptyLines: true,
  });
  assert.deepEqual(errors, []);
  return { rows: data };
};

const NOTE =
  "No month of the range is complete yet, so nothing was counted and the zeros are not results; ask for months up to " +
  "complete_through, or for include_incomplete=true.";

const NO_BOUNDS = { low: null, high: null };

type Bounded = { return_rate_interval: { low: number; high: number } | null };

/** A row whose interval became the metrics `low` and `high`. */
const flat = <Row extends Bounded>({ return_rate_interval: bounds, ...figures }: Row) => ({
  ...figures,
  ...(bounds ?? NO_BOUNDS),
});

const guarded = (text: string) => (/^[=+\-@\t\r]/u.test(text) ? `'${text}` : text);

/** Where the contract puts each figure of the JSON report, as section|cohort_month|key|label|metric → cell. */
function expectedCells(
  data: Required<ReportData>,
  curves: Required<ReportData>,
  { outcomes, liability }: Pick<Required<ReportData>, "outcomes" | "liability">,
): Map<string, string> {
  const cells = new Map<string, string>();
  const put = (place: string[], figures: Record<string, Scalar>) => {
    for (const [metric, value] of Object.entries(figures)) {
      const name = [...place.map(guarded), metric].join("|");
      assert.ok(!cells.has(name), name);
      cells.set(name, value === null ? "" : typeof value === "string" ? guarded(value) : String(value));
    }
  };
  const { return_rate_interval: interval, excluded_months, outlook, ...summary } = data.summary;
  const { currency_code, window_days, label_costs_included } = data;
  put(["summary", "", "", ""], { currency_code, window_days, label_costs_included, ...summary });
  put(["summary", "", "", ""], { excluded_months: excluded_months.join(" ") });
  if (summary.months_included === 0) put(["summary", "", "", ""], { note: NOTE });
  put(["summary", "", "return_rate_interval", ""], interval ?? NO_BOUNDS);
  put(["summary", "", "outlook", ""], outlook ?? {});
  put(["summary", "", "comparison", ""], data.comparison ?? {});
  for (const {
    cohort_month: month,
    return_rate_interval: bounds,
    outlook: ofMonth,
    ...figures
  } of data.trend) {
    put(["trend", month, "", ""], figures);
    put(["trend", month, "return_rate_interval", ""], bounds ?? NO_BOUNDS);
    put(["trend", month, "outlook", ""], ofMonth ?? {});
  }
  for (const { reason, label, ...figures } of data.return_reasons) {
    const readsAsNone = figures.kind === "stated" && ["refund_only", "unspecified"].includes(reason);
    put(["return_reason", "", readsAsNone ? ` ${reason}` : reason, label], figures);
  }
  put(["refunded_amount", "", "refunds", ""], data.refunds);
  for (const { bucket, ...figures } of data.timing_buckets) put(["timing", "", bucket, ""], figures);
  const { refunded_amount, ...costs } = data.costs;
  put(["refunded_amount", "", "costs", ""], { refunded_amount });
  put(["label_cost", "", "costs", ""], costs);
  put(["lifecycle_coverage", "", "", ""], data.lifecycle_coverage);
  put(["sale_event", "", "", ""], { sale_event_unknown: data.sale_event_unknown });
  for (const { slug, label, ...days } of data.sale_events) put(["sale_events", "", slug, label], days);
  if (data.sale_event !== null) {
    const { event, baseline_period, ...figures } = data.sale_event;
    put(["sale_event", "", "", ""], figures);
    put(["sale_event", "", "event", ""], flat(event));
    put(["sale_event", "", "baseline_period", ""], flat(baseline_period));
  }
  for (const { cohort_month: month, ages, ...figures } of curves.return_curves) {
    put(["return_curve", month, "", ""], figures);
    for (const age of ages) put(["return_curve", month, `${age.age_days}d`, ""], flat(age));
  }
  for (const age of curves.pooled_return_curve) {
    put(["pooled_return_curve", "", `${age.age_days}d`, ""], flat(age));
  }
  const { rows, ...others } = outcomes;
  for (const { outcome, ...figures } of rows) put(["outcomes", "", outcome, ""], figures);
  put(["outcomes", "", "", ""], others);
  const { months = [], ...total } = liability ?? {};
  put(["liability", "", "", ""], total);
  for (const { cohort_month: month, ...figures } of months) put(["liability", month, "", ""], figures);
  return cells;
}

const countLeaves = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? Object.values(value).reduce((total: number, member) => total + countLeaves(member), 0)
    : 1;

test("another parser reads each figure of the JSON report once, and equal to it", async () => {
  for (const parameters of [
    {},
    { window: "lifetime", saleEvent: "socks", saleEventBaseline: "selected_non_sale" },
    { window: "90d", include_incomplete: true, saleEvent: "summer", saleEventScope: "event_scope" },
    { product_group_type: "family", product_group_key: '=Hats, "warm"', saleEvent: "socks" },
    { sku: "SHOE-1", include_used_variants: true },
    { start_month: "2025-06", end_month: "2025-06" },
  ]) {
    const { data } = await ask(parameters);
    const { data: curves } = await ask({ ...parameters, reportSection: "curves" });
    const { outcomes } = (await ask({ ...parameters, reportSection: "outcomes" })).data;
    const { liability } = (await ask({ ...parameters, reportSection: "liability" })).data;
    const { rows } = await exported(parameters);
    const cells = rows.map((row) => [
      [row.section, row.cohort_month, row.key, row.label, row.metric].join("|"),
      row.value,
    ]);
    assert.equal(new Set(cells.map(([name]) => name)).size, rows.length);
    assert.deepEqual(
      new Map(cells as [string, string][]),
      expectedCells(data, curves, { outcomes, liability }),
    );

    // Nothing of the JSON is forgotten: its leaves are the values, and the members that became columns.
    const { return_curves, pooled_return_curve } = curves;
    const columns =
      data.trend.length +
      return_curves.length +
      2 * (data.return_reasons.length + data.sale_events.length) +
      data.timing_buckets.length +
      outcomes.rows.length +
      (liability?.months.length ?? 0);
    const outlooks = [data.summary, ...data.trend].map(({ outlook }) => outlook);
    const absent = [data.sale_event, data.comparison, liability, ...outlooks].filter(
      (part) => part === null,
    ).length;
    const bounded = [
      data.summary,
      ...data.trend,
      ...(data.sale_event === null ? [] : [data.sale_event.event, data.sale_event.baseline_period]),
      ...return_curves.flatMap(({ ages }) => ages),
      ...pooled_return_curve,
    ];
    const intervals = bounded.filter((row) => row.return_rate_interval === null).length;
    const { months_included: included, excluded_months: excluded } = data.summary;
    const inWords = 1 - excluded.length + (included === 0 ? 1 : 0);
    assert.equal(
      rows.length,
      countLeaves({ ...data, return_curves, pooled_return_curve, outcomes, liability }) -
        columns -
        absent +
        intervals +
        inWords,
    );
  }
});

test("an export divided by product has the rows of the section breakdown, figure by figure", async () => {
  const { data } = await ask({ reportSection: "breakdown", breakdownBy: "product" });
  const { rows } = await exported({ breakdownBy: "product" });
  const ofBreakdown = rows.filter((row) => row.section === "breakdown");
  const expected = data.breakdown.rows.flatMap(
    ({
      key,
      label: _label,
      selector: _selector,
      return_rate_interval: interval,
      top_reason: top,
      monthly_return_rates: _rates,
      product_title: _title,
      product_image_url: _image,
      ...figures
    }) =>
      Object.entries({
        ...figures,
        low: interval?.low,
        high: interval?.high,
        top_reason: top === null ? null : guardedText(top.reason),
        top_reason_share: top?.share,
      }).map(([metric, value]) => `${key} ${metric} ${value ?? ""}`),
  );
  assert.deepEqual(
    ofBreakdown.map((row) => `${row.key} ${row.metric} ${row.value}`),
    [" breakdown_by product", ...expected],
  );
  assert.ok(!(await exported({})).rows.some((row) => row.section === "breakdown"));
});

test("M24: an export of the bridge has its figures, and lines that add up to each step", async () => {
  await service.database.query("delete from booking_difference where shop_key = $1", [tenant.shopKey]);
  await service.database.query(
    `insert into booking_difference (shop_key, order_id, line_id, booked_on, step, units)
     select l.shop_key, l.order_id, l.line_id, l.ordered_on, s.step, s.units
       from order_line l cross join (values ('order_edits', 2), ('other_days', -1)) s (step, units)
      where l.shop_key = $1`,
    [tenant.shopKey],
  );
  for (const parameters of [{}, { window: "30d", sku: "SHOE-1" }, { include_incomplete: true }]) {
    const { data } = await ask({ ...parameters, reportSection: "bridge" });
    const { steps, rate_change: change, ...figures } = data.bridge;
    const { rows } = await exported({ ...parameters, reportSection: "bridge" });
    const ofBridge = rows.filter((row) => row.section === "bridge");
    assert.deepEqual(
      ofBridge.map((row) => `${row.key} ${row.metric} ${row.value} ${row.unit}`),
      [
        ...Object.entries(figures).map(([metric, value]) => ` ${metric} ${value} units`),
        ...steps.map(({ step, units }) => `${step} units ${units} units`),
        ...Object.entries(change ?? {}).map(([part, value]) => `${part} return_rate_change ${value} ratio`),
      ],
    );
    const lines = rows.filter((row) => row.section === "bridge_line");
    for (const { step, units } of steps) {
      const own = lines.filter((row) => row.metric === `${step}_units`);
      assert.equal(
        own.reduce((sum, row) => sum + Number(row.value), 0),
        units,
        step,
      );
    }
    assert.ok(lines.every((row) => /^\d{4}-\d\d-01$/u.test(row.cohort_month)));
  }
  assert.ok(!(await exported({})).rows.some((row) => row.section.startsWith("bridge")));
});

test("each row has a unit, and money is in the shop's currency", async () => {
  const { rows } = await exported({ saleEvent: "summer" });
  const units = new Set(rows.map((row) => row.unit));
  const known = "EUR boolean date days month months percent ratio text units";
  assert.equal([...units].toSorted().join(" "), known);
  assert.ok(rows.filter((row) => row.unit === "EUR").every((row) => /amount|cost|impact/u.test(row.metric)));
});
