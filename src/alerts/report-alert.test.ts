import assert from "node:assert/strict";
import { test } from "node:test";
import { monthFromText } from "../lib/month.ts";
import { reportAlerts } from "./report-alert.ts";

const month = (text: string) => monthFromText(text) as number;
const sold = (text: string) => ({ cohortMonth: month(text), soldUnits: 1234, returnedUnits: 98 });
const primaryWindowDays = 30;
const keysOf = (texts: string[], announcedMonth: number | null): string[] =>
  reportAlerts(texts.map(sold), { announcedMonth, primaryWindowDays }).map((alert) => alert.eventKey);

test("M5: a month that became complete has a report", () => {
  assert.deepEqual(reportAlerts([sold("2026-05")], { announcedMonth: month("2026-04"), primaryWindowDays }), [
    {
      eventKey: "report_ready:2026-05",
      category: "report_ready",
      severity: "info",
      title: "The report of May 2026 is ready",
      body: "98 of 1,234 units sold in May 2026 (7.9 %) came back within 30 days.",
      metadata: { cohort_month: "2026-05" },
    },
  ]);
});

test("the first time only the newest complete month is announced", () => {
  assert.deepEqual(keysOf(["2025-12", "2026-01", "2026-02"], null), ["report_ready:2026-02"]);
  assert.deepEqual(keysOf([], null), []);
});

test("later each month since the newest announced one is announced, and none before it", () => {
  const months = ["2025-12", "2026-01", "2026-03"];
  assert.deepEqual(keysOf(months, month("2025-12")), ["report_ready:2026-01", "report_ready:2026-03"]);
  assert.deepEqual(keysOf(months, month("2026-03")), []);
  assert.deepEqual(keysOf(months, month("2026-05")), []);
});
