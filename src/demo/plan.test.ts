import assert from "node:assert/strict";
import { test } from "node:test";
import { dayToText } from "../lib/month.ts";
import { planStore, skusOnSale } from "./plan.ts";

const planOn = (today: string) => planStore({ today, seed: 1, months: 24, orders: 100, breadth: 1 });
const eventsOn = (today: string) =>
  planOn(today).events.map(
    ({ slug, startsOnDay, endsOnDay }) => `${slug} ${dayToText(startsOnDay)}/${dayToText(endsOnDay)}`,
  );

test("the events are the newest ones whose returns are complete", () => {
  assert.deepEqual(eventsOn("2026-11-21"), [
    "black-friday-2025 2025-11-28/2025-12-01",
    "mid-season-spring-2026 2026-04-10/2026-04-19",
  ]);
  assert.deepEqual(eventsOn("2027-02-01"), [
    "mid-season-autumn-2026 2026-10-02/2026-10-11",
    "black-friday-2026 2026-11-27/2026-11-30",
  ]);
});

test("Black Friday follows the fourth Thursday also when November begins on a Friday", () => {
  assert.equal(eventsOn("2025-03-01").at(-1), "black-friday-2024 2024-11-29/2024-12-02");
  assert.equal(eventsOn("2020-03-01").at(-1), "black-friday-2019 2019-11-29/2019-12-02");
});

test("the mid-season sale is limited to new SKUs of some products, the bad one not among them", () => {
  const { events, products, batch } = planOn("2026-11-21");
  const skus = events.flatMap(skusOnSale);
  assert.ok(skus.length > 20 && skus.length < 120, `${skus.length} SKUs`);
  const conditions = new Map(
    products.flatMap(({ variants }) => variants.map(({ sku, condition }) => [sku, condition])),
  );
  for (const sku of skus) assert.equal(conditions.get(sku), "new", sku);
  for (const { sku } of batch.product.variants) assert.ok(!skus.includes(sku));
});

test("M5: the batch begins with the newest month that is complete for 30 days, and ends three weeks before today", () => {
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
    assert.equal(planOn(today).batch.cohortMonth, month, today);
  const { firstDay, lastDay } = planOn("2026-11-21").batch;
  assert.deepEqual([dayToText(firstDay), dayToText(lastDay)], ["2026-09-01", "2026-10-31"]);
});
