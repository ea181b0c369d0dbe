import assert from "node:assert/strict";
import { test } from "node:test";
import { planBadBatch } from "./bad-batch.ts";
import { dayToText } from "../lib/month.ts";
import { dayOfText } from "./calendar.ts";
import { buildCatalogue } from "./catalogue.ts";

const batchOn = (today: string) => planBadBatch(buildCatalogue(1, 1).batchProduct, dayOfText(today));

test("M5: the batch begins with the newest month that is complete for 30 days", () => {
  const expected = {
    "2026-11-21": "2026-09",
    "2026-10-30": "2026-08",
    "2026-10-31": "2026-09",
    "2026-11-30": "2026-09",
    "2026-12-01": "2026-10",
    "2027-03-02": "2026-12",
    "2027-03-03": "2027-01",
  };
  for (const [today, month] of Object.entries(expected))
    assert.equal(batchOn(today).cohortMonth, month, today);
});

test("the batch lasts into the following month and is withdrawn three weeks before today", () => {
  const batch = batchOn("2026-11-21");
  assert.equal(dayToText(batch.firstDay), "2026-09-01");
  assert.equal(dayToText(batch.lastDay), "2026-10-31");
});
