import assert from "node:assert/strict";
import { test } from "node:test";
import { INDEPENDENT_UNITS } from "../metrics/design-effect.ts";
import { REFUND_ONLY, UNSPECIFIED } from "../metrics/returned-units.ts";
import { sumTotals, type Totals } from "../metrics/totals.ts";
import { presentCosts, presentLifecycle, presentReasons, presentSummary } from "./report-parts.ts";
import type { ReportBasis } from "./report-parts.ts";

const basisOf = (totals: Partial<Totals>, change: Partial<ReportBasis> = {}): ReportBasis => ({
  months: [],
  coverage: { months_included: 1, excluded_months: [], complete_through: "2026-01" },
  totals: { ...sumTotals([]), ...totals },
  figures: {
    reasons: [],
    lags: [],
    returned_not_refunded_units: 0,
    refunded_not_returned_units: 0,
    returned_units_with_label: 0,
    request_units: { REQUESTED: 0, OPEN: 0, CLOSED: 0, DECLINED: 0, CANCELED: 0 },
    unmatched_label_minor: null,
  },
  labelCostsIncluded: true,
  currencyExponent: 2,
  orders: INDEPENDENT_UNITS,
  outlooks: { ofMonth: () => null, ofRange: null },
  ...change,
});

const costPerUnit = (refundMinor: number, returnedUnits: number, currencyExponent = 2) =>
  presentSummary(basisOf({ refundMinor, returnedUnits, soldUnits: returnedUnits }, { currencyExponent }))
    .cost_per_returned_unit;

test("M9: the cost of a returned unit is rounded to the currency's smallest unit, halves away from zero", () => {
  assert.equal(costPerUnit(1000, 3), 3.33);
  assert.equal(costPerUnit(1, 2), 0.01);
  assert.equal(costPerUnit(1, 3), 0);
  assert.equal(costPerUnit(-1, 2), -0.01);
  assert.equal(costPerUnit(-1, 3), 0);
  assert.equal(costPerUnit(-3, 2), -0.02);
  assert.equal(costPerUnit(-2000, 3), -6.67);
  assert.equal(costPerUnit(-1000, 3), -3.33);
  assert.equal(costPerUnit(5, 2, 0), 3);
  assert.equal(costPerUnit(5, 2, 3), 0.003);
  assert.equal(costPerUnit(9_007_199_254_740_991, 1, 0), 9_007_199_254_740_991);
  assert.equal(costPerUnit(1000, 0), null);
});

test("M8: reasons come by units, then by code point", () => {
  const units = { b: 2, "\u{1f9e6}": 2, "\uff5e": 2, a: 5, z: 2 };
  const reasons = Object.entries(units).map(([reason, returned_units]) => ({ reason, returned_units }));
  const basis = basisOf({ returnedUnits: 13 });
  const rows = presentReasons({ ...basis, figures: { ...basis.figures, reasons } });
  assert.deepEqual(
    rows.map((row) => row.reason),
    ["a", "b", "z", "\uff5e", "\u{1f9e6}"],
  );
  assert.equal(rows[0]?.share, 0.384615);
});

test("M8: refunds without return and unspecified reasons are no reason, whatever a stated one reads", () => {
  const basis = basisOf({ returnedUnits: 10 });
  const reasons = [
    { reason: REFUND_ONLY, returned_units: 3 },
    { reason: UNSPECIFIED, returned_units: 2 },
    { reason: "too_small", returned_units: 1 },
    { reason: "refund_only", returned_units: 3 },
    { reason: "unspecified", returned_units: 1 },
  ];
  const lifecycle = presentLifecycle({ ...basis, figures: { ...basis.figures, reasons } });
  assert.equal(lifecycle.refund_only_units, 3);
  assert.equal(lifecycle.share_with_reason, 0.5);
  assert.equal(lifecycle.share_with_refund, 1);
  const rows = presentReasons({ ...basis, figures: { ...basis.figures, reasons } });
  assert.deepEqual(
    rows.map((row) => [row.reason, row.kind, row.returned_units]),
    [
      ["refund_only", "stated", 3],
      ["refund_only", "refund_only", 3],
      ["unspecified", "unspecified", 2],
      ["too_small", "stated", 1],
      ["unspecified", "stated", 1],
    ],
  );
});

test("M13: margin impact is null without a unit cost; coverage is whole percent", () => {
  const totals = { refundMinor: 1000, labelMinor: 200, returnedUnits: 8, costedReturnedUnits: 5 };
  assert.equal(presentCosts(basisOf(totals)).estimated_margin_impact, null);
  const costed = presentCosts(basisOf({ ...totals, costedSoldUnits: 9, restockedCostMinor: 1500 }));
  assert.equal(costed.estimated_margin_impact, -3);
  assert.equal(costed.cogs_coverage, 63);
});

test("M11: label cost is left out of every figure when it is not known", () => {
  const totals = { refundMinor: 1000, labelMinor: 200, returnedUnits: 8, costedSoldUnits: 8 };
  const costs = presentCosts(basisOf(totals, { labelCostsIncluded: false }));
  assert.deepEqual([costs.return_label_cost, costs.returns_cost, costs.estimated_margin_impact], [0, 10, 10]);
  assert.equal(presentCosts(basisOf(totals)).returns_cost, 12);
});
