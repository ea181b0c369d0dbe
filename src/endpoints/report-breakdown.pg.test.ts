import assert from "node:assert/strict";
import { test } from "node:test";
import { makeReportStore } from "../../tests/support/random-report-store.ts";
import { startReportService } from "../../tests/support/report-service.ts";
import { use } from "../../tests/support/use.ts";

const service = use(() => startReportService(makeReportStore(7)));

const BROKEN_DOWN = [
  {},
  { sku: "SHOE-1", include_used_variants: true },
  { product_gid: "gid://shop/Product/1" },
  { product_group_type: "analytics_category", product_group_key: "Feet" },
];

test("M7: a breakdown lists the costliest 20 and the rest, which sum to the summary, whatever it divides by", async () => {
  for (const breakdownBy of ["vendor", "product", "sku", "family", "analytics_category"] as const) {
    for (const selection of BROKEN_DOWN) {
      const { data, meta } = await service.ask({ ...selection, reportSection: "breakdown", breakdownBy });
      assert.equal(meta["section"], "breakdown");
      assert.equal(data.breakdown.breakdown_by, breakdownBy);
      const { rows } = data.breakdown;
      assert.ok(rows.length <= 21);
      assert.deepEqual(rows.at(-1)?.selector, null);
      for (const measure of ["sold_units", "returned_units"] as const) {
        assert.equal(
          rows.reduce((sum, row) => sum + row[measure], 0),
          data.summary[measure],
        );
      }
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
  const { data: fallback } = await service.ask({ reportSection: "breakdown", breakdownBy: "colour" });
  assert.equal(fallback.breakdown.breakdown_by, "product");
});
