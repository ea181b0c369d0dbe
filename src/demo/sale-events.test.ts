import assert from "node:assert/strict";
import { test } from "node:test";
import { dayToText } from "../lib/month.ts";
import { dayOfText } from "./calendar.ts";
import { buildCatalogue } from "./catalogue.ts";
import { chooseSaleEvents, skusOnSale } from "./sale-events.ts";

const { products, batchProduct } = buildCatalogue(1, 1);
const eventsOn = (today: string) =>
  chooseSaleEvents(products, dayOfText(today)).map((event) => ({
    slug: event.slug,
    days: `${dayToText(event.startsOnDay)}/${dayToText(event.endsOnDay)}`,
  }));

test("the events are the newest ones with their returns behind them", () => {
  assert.deepEqual(eventsOn("2026-11-21"), [
    { slug: "black-friday-2025", days: "2025-11-28/2025-12-01" },
    { slug: "mid-season-spring-2026", days: "2026-04-10/2026-04-19" },
  ]);
  assert.deepEqual(eventsOn("2027-02-01"), [
    { slug: "mid-season-autumn-2026", days: "2026-10-02/2026-10-11" },
    { slug: "black-friday-2026", days: "2026-11-27/2026-11-30" },
  ]);
});

test("Black Friday follows the fourth Thursday also when November begins on a Friday", () => {
  assert.equal(eventsOn("2025-03-01").at(-1)?.days, "2024-11-29/2024-12-02");
  assert.equal(eventsOn("2020-03-01").at(-1)?.days, "2019-11-29/2019-12-02");
});

test("the mid-season sale is limited to new SKUs of some products, the bad one not among them", () => {
  const event = chooseSaleEvents(products, dayOfText("2026-11-21")).find(({ slug }) =>
    slug.startsWith("mid-"),
  );
  const skus = event === undefined ? [] : skusOnSale(event);
  assert.ok(skus.length > 20 && skus.length < 120, `${skus.length} SKUs`);
  const conditions = new Map(
    products.flatMap((product) => product.variants.map((each) => [each.sku, each.condition])),
  );
  for (const sku of skus) assert.equal(conditions.get(sku), "new", sku);
  for (const { sku } of batchProduct.variants) assert.ok(!skus.includes(sku));
});
