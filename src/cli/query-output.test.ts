import assert from "node:assert/strict";
import { test } from "node:test";
import { dataText, rowsCsv } from "./query-output.ts";

test("A table leaves out columns without a value, and what only machines use", () => {
  const rows = [
    { id: "1", title: "Spike", body: null, metadata: { a: 1 } },
    { id: "2", title: "Late", body: null, metadata: null },
  ];
  assert.equal(dataText(rows, ["id", "title", "body", "metadata"]), "title\nSpike\nLate\n");
  assert.equal(dataText([], ["title"]), "No rows.\n");
});

test("Rows come before related figures, and parts have their name above", () => {
  const data = { rows: [{ sku: "LAMP-01", sold_units: 3 }], total: 1 };
  assert.equal(
    dataText(data, ["sku", "sold_units"]),
    "sku      sold_units\nLAMP-01           3\n\ntotal  1\n",
  );
  const report = { window_days: null, summary: { rate: 0.5, interval: { low: 0, high: 1 } } };
  assert.equal(
    dataText(report, []),
    "window_days  -\n\nsummary\nrate           0.5\ninterval.low   0\ninterval.high  1\n",
  );
});

test("The rows within a part are a table of their own, also where one lacks a figure", () => {
  const rows = [
    { key: "Acme", selector: { vendor: "Acme" }, interval: { low: 0.1, high: 0.2 } },
    { key: "other", selector: null, interval: null },
  ];
  assert.equal(
    dataText({ breakdown: { breakdown_by: "vendor", rows } }, []),
    "breakdown\nbreakdown_by  vendor\n\nkey    interval.low  interval.high\nAcme   0.1           0.2\nother  -             -\n",
  );
});

test("A list of texts is shown next to its name, as one text", () => {
  const summary = { return_rate: 0, excluded_months: ["2026-05", "2026-06"], rest: [] };
  assert.equal(
    dataText(summary, []),
    "return_rate      0\nexcluded_months  2026-05 2026-06\nrest             -\n",
  );
  assert.equal(
    dataText({ summary }, []),
    "summary\nreturn_rate      0\nexcluded_months  2026-05 2026-06\nrest             -\n",
  );
  assert.equal(rowsCsv(summary, ["excluded_months"]), "excluded_months\r\n2026-05 2026-06\r\n");
});

test("A store's text cannot move the terminal's cursor or change its colours", () => {
  const text = dataText([{ title: "a\u001b[2Jb\u009b31mc\nd\r" }], ["title"]);
  assert.equal(text, "title\na?[2Jb?31mc?d?\n");
});

test("CSV keeps every column and line break, and text that a spreadsheet would run stays text", () => {
  const rows = [
    { title: "=cmd()", note: 'say "hi",\nthen go', change: -1.5, selector: { sku: "A" } },
    { title: "@x", note: null, change: 0, selector: null },
  ];
  assert.equal(
    rowsCsv(rows, ["title", "note", "change", "selector", "absent"]),
    "title,note,change,selector,absent\r\n" +
      '\'=cmd(),"say ""hi"",\nthen go",-1.5,"{""sku"":""A""}",\r\n' +
      "'@x,,0,,\r\n",
  );
  assert.equal(rowsCsv({ rows: [] }, ["sku"]), "sku\r\n");
  assert.equal(rowsCsv({ return_rate: 0.1 }, ["return_rate"]), "return_rate\r\n0.1\r\n");
});
