import assert from "node:assert/strict";
import { test } from "node:test";
import papaparse from "papaparse";
import type { StoreFiles } from "./oracle/store.ts";
import { createStore } from "./support/import-store.ts";
import { service } from "./support/shared-service.ts";

type Row = {
  key: string;
  selector: unknown;
  sold_units: number;
  returned_units: number;
  refunded_amount: number;
};

const MONTH = { start_month: "2026-01", end_month: "2026-01" };

/**
 * Vendors v01 to v22 sell 2 units each, of which 1 comes back for as many euros as the vendor's number; the vendor
 * "other" sells 3, 1 comes back for 100 euros; a line of no vendor sells 5, 1 comes back for 0.25.
 */
function storeFiles(): StoreFiles {
  const numbered = Array.from({ length: 22 }, (_, index) => ({
    vendor: `v${String(index + 1).padStart(2, "0")}`,
    units: 2,
    subtotal: `${index + 1}.00`,
  }));
  const sold = [
    ...numbered,
    { vendor: "other", units: 3, subtotal: "100.00" },
    { units: 5, subtotal: "0.25" },
  ];
  return {
    order_lines: sold.map(({ subtotal: _subtotal, ...line }, index) => ({
      order_id: `o${index}`,
      line_id: "l",
      ordered_at: "2026-01-05T12:00:00Z",
      ...line,
    })),
    refunds: sold.map(({ subtotal }, index) => ({
      refund_id: "f",
      order_id: `o${index}`,
      line_id: "l",
      refunded_at: "2026-01-09T12:00:00Z",
      units: 1,
      subtotal,
    })),
  };
}

const tenant = await createStore(service, { asOf: "2026-06-01T00:00:00Z", files: storeFiles() });

const ask = (path: string, params: Record<string, string>) => tenant.ask(path, { ...MONTH, ...params });

test("M7: the row for the rest contains every key beyond the 20 costliest, and lines without a key", async () => {
  const answer = await ask("/api/v1/report", { reportSection: "breakdown", breakdownBy: "vendor" });
  const { rows } = (answer.json().data as unknown as { breakdown: { rows: Row[] } }).breakdown;
  const costliest = Array.from({ length: 19 }, (_, index) => `v${String(22 - index).padStart(2, "0")}`);
  assert.deepEqual(
    rows.map((row) => row.key),
    ["other", ...costliest, "other"],
  );
  const figures = ({ selector, sold_units, returned_units, refunded_amount }: Row) => ({
    selector,
    figures: [sold_units, returned_units, refunded_amount],
  });
  assert.deepEqual(figures(rows[0] as Row), { selector: { vendor: "other" }, figures: [3, 1, 100] });
  // v01, v02 and v03: 6 sold, 3 returned, 6.00; the line of no vendor: 5, 1, 0.25.
  assert.deepEqual(figures(rows[20] as Row), { selector: null, figures: [11, 4, 6.25] });
});

test("an export tells a vendor named other from the row for the rest by its label", async () => {
  const answer = await ask("/api/v1/export/report.csv", { breakdownBy: "vendor" });
  const { data } = papaparse.parse<Record<string, string>>(answer.text, {
    header: true,
    skipEmptyLines: true,
  });
  const soldUnits = data
    .filter(
      (row) => row["section"] === "breakdown" && row["metric"] === "sold_units" && row["key"] === "other",
    )
    .map((row) => [row["label"], row["value"]]);
  assert.deepEqual(soldUnits, [
    ["other", "3"],
    ["Everything else", "11"],
  ]);
});
