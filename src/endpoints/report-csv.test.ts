import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import papaparse from "papaparse";
import { exportFilename, reportCsv } from "./report-csv.ts";
import type { ReportRow } from "./report-rows.ts";
import { anyCharacter } from "../../tests/support/any-character.ts";

const HEADER = ["section", "cohort_month", "key", "label", "metric", "value", "unit"];
const range = { start_month: "2026-01", end_month: "2026-03" };

const row = (change: Partial<ReportRow>): ReportRow => ({
  section: "return_reason",
  cohort_month: "",
  key: "",
  label: "",
  metric: "returned_units",
  value: 1,
  unit: "units",
  ...change,
});
const csvOf = async (rows: ReportRow[]) => (await Array.fromAsync(reportCsv([rows]))).join("");
const cellsOf = async (rows: ReportRow[]) => {
  const { data, errors } = papaparse.parse<string[]>(await csvOf(rows), { delimiter: ",", newline: "\r\n" });
  assert.deepEqual(errors, []);
  assert.deepEqual(data.shift(), HEADER);
  assert.deepEqual(data.pop(), [""]);
  return data;
};

test("the header is there also without rows, without a byte order mark and ended by CRLF", async () => {
  assert.equal(await csvOf([]), `${HEADER.join(",")}\r\n`);
});

test("numbers are plain decimals and never guarded; null is an empty cell", async () => {
  const values = [-12.5, 0, 0.000001, 9_007_199_254_740_991, 12_345_678.05, null, true];
  const cells = await cellsOf(values.map((value) => row({ value })));
  assert.deepEqual(
    cells.map((cell) => cell[5]),
    ["-12.5", "0", "0.000001", "9007199254740991", "12345678.05", "", "true"],
  );
});

test("text that a spreadsheet would run is guarded by an apostrophe, in every column", async () => {
  for (const start of ["=", "+", "-", "@", "\t", "\r"]) {
    const text = `${start}1+1`;
    const [cells] = await cellsOf([row({ key: text, label: text, value: text, unit: text })]);
    assert.deepEqual(cells, [
      "return_reason",
      "",
      `'${text}`,
      `'${text}`,
      "returned_units",
      `'${text}`,
      `'${text}`,
    ]);
  }
});

test("any text comes back whole from another parser", async () => {
  const text = fc.string({ unit: fc.constantFrom(..."ab ,;\"'\n\r\t=-é🧦".split(/(?:)/u)), maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(text, text, async (key, label) => {
      const [cells] = await cellsOf([row({ key, label })]);
      const guarded = [key, label].map((cell) => (/^[=+\-@\t\r]/u.test(cell) ? `'${cell}` : cell));
      assert.deepEqual(cells?.slice(2, 4), guarded);
    }),
  );
});

test("the file name contains the selection and the months", () => {
  assert.equal(
    exportFilename({ kind: "workspace", key: "" }, range),
    "returns-report_workspace_2026-01_2026-03.csv",
  );
  assert.equal(
    exportFilename({ kind: "product", key: "gid://shopify/Product/123" }, range),
    "returns-report_product-123_2026-01_2026-03.csv",
  );
  assert.equal(
    exportFilename({ kind: "analytics_category", key: "Café & Thé" }, range),
    "returns-report_analytics-category-Cafe-The_2026-01_2026-03.csv",
  );
  assert.equal(
    exportFilename({ kind: "workspace", key: "" }, { ...range, vendor: "Acme & Co" }),
    "returns-report_vendor-Acme-Co_2026-01_2026-03.csv",
  );
  assert.equal(
    exportFilename({ kind: "sku", key: "A1" }, { ...range, vendor: "Acme" }),
    "returns-report_sku-A1-vendor-Acme_2026-01_2026-03.csv",
  );
  assert.equal(exportFilename({ kind: "sku", key: "靴" }, range), "returns-report_sku_2026-01_2026-03.csv");
});

test("the file name is short and harmless whatever the selection is called", () => {
  const names = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 600 }),
    fc.constantFrom("../../etc/passwd", 'a"; filename="b', "a\r\nb", "x".repeat(512), "---", "ﬃ".repeat(300)),
  );
  fc.assert(
    fc.property(names, (name) => {
      for (const selector of [
        { kind: "sku", key: name },
        { kind: "product", key: name },
        { kind: "family", key: name },
      ] as const) {
        const filename = exportFilename(selector, range);
        assert.match(filename, /^returns-report_[A-Za-z0-9-]+_2026-01_2026-03\.csv$/u);
        assert.ok(filename.length <= 110);
      }
    }),
  );
});
