import assert from "node:assert/strict";
import { test } from "node:test";
import { PAGES } from "../src/console/registry.ts";
import { ENTITLEMENTS } from "../src/contract/endpoint.ts";
import type { StoreFiles } from "./oracle/store.ts";
import { createStoreTenant, importStore } from "./support/import-store.ts";
import { unescaped, wordsOf } from "./support/page-figures.ts";
import { actAs, type Member } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { changePlan, changeWorkspace, createTenant } from "./support/tenants.ts";

const open = (path: string, reader: Member) => reader.get(path);

test("an early warning shows actual and expected returns, the reason and a link", async () => {
  const own = await createTenant(service.database);
  const metadata = {
    kind: "early_warning",
    sku: "LAMP-1",
    as_of: "2026-06-20",
    ordered_from: "2026-05-30",
    ordered_to: "2026-06-19",
    sold_units: 40,
    returned_units: 8,
    sold_lines: 36,
    returned_lines: 7,
    returned_orders: 6,
    expected_lines: 0.37,
    p: 0.000_701,
    excess_cost: 398.91,
    currency_code: "EUR",
    top_reason: { reason: "SIZE_TOO_SMALL", share: 0.375 },
    parts: [],
  };
  await service.database.query(
    `insert into alert (shop_key, alert_id, event_key, category, severity, title, body, metadata, created_at)
     values ($1, 'warning', 'warning', 'return_rate_watchlist', 'critical', 'LAMP-1 comes back', 'Why.', $2, '2026-06-20T08:00:00Z')`,
    [own.shopKey, metadata],
  );
  const of = await actAs(service, own);
  const { text } = await open("/alerts", of);
  const words = wordsOf(text).replaceAll(" ,", ",");
  for (const phrase of [
    "20 Jun 2026",
    "Critical · early warning",
    "Came back by 20 Jun 2026 7 of 36 order lines",
    "Expected by then 0.4 at its usual rate",
    "30 May 2026 to 19 Jun 2026",
    "Size too small, 37.5 % of the returned units",
    "€398.91",
    "0.07 %",
  ])
    assert.ok(words.includes(phrase), `${phrase}: ${words}`);
  assert.match(
    unescaped(text),
    /\/report\?sku=LAMP-1&start_month=2026-05&end_month=2026-06&include_incomplete=true&reportSection=reasons"/u,
  );
});

test("an empty search result shows the search text, and links back", async () => {
  const own = await createSmallStore(service.database);
  const of = await actAs(service, own);
  assert.match((await open("/products?q=zebra", of)).text, /Nothing matches “zebra”/u);
  assert.match((await open("/products?type=sku&vendor=Nobody", of)).text, /vendor “Nobody”/u);
  assert.match((await open("/products?vendor=Nobody", of)).text, /Vendor matches nothing in this workspace/u);
  assert.match((await open("/alerts?category=connection_stale", of)).text, /No alert matches this filter/u);
});

test("without data_export pages offer no file and say why, and a file is 403", async () => {
  const own = await createSmallStore(service.database);
  const of = await actAs(service, own);
  assert.match((await open("/cohorts", of)).text, /csv=report-heat/u);
  await changePlan(service.database, own, {
    entitlements: ENTITLEMENTS.filter((name) => !["full_leaderboards", "data_export"].includes(name)),
  });
  const withoutExport = await open("/cohorts", of);
  assert.match(withoutExport.text, /Your plan does not include downloads as CSV/u);
  assert.doesNotMatch(withoutExport.text, /csv=/u);
  assert.equal((await open("/cohorts?csv=report-heat", of)).status, 403);
  assert.equal((await open("/export/report.csv?start_month=2026-01&end_month=2026-02", of)).status, 403);
});

test("a rate of few units is marked, and comes last in the order of rates", async () => {
  const own = await createSmallStore(service.database);
  await changeWorkspace(service.database, own, { min_sold_units: 1000 });
  const of = await actAs(service, own);
  const { text } = await open("/products?breakdownBy=sku", of);
  assert.equal(text.match(/<small>few units<\/small>/gu)?.length, 6);
  await changeWorkspace(service.database, own, { min_sold_units: 2 });
  await service.database.query("update workspace set data_version = data_version + 1 where shop_key = $1", [
    own.shopKey,
  ]);
  const { text: byRate } = await open("/products?breakdownBy=sku&breakdownOrder=return_rate", of);
  const few = [...byRate.matchAll(/<tr>.*?<\/tr>/gsu)].map(([row]) => row.includes("few units"));
  assert.ok(few.indexOf(true) < 0 || few.indexOf(true) > few.indexOf(false));
});

test("sale events come ten a page, the newest first, and each leads to its report", async () => {
  const own = await createSmallStore(service.database);
  await service.database.query(
    `insert into sale_event (shop_key, slug, label, starts_on, ends_on)
     select $1, 'event-' || n, 'Event ' || n, date '2026-01-01' + n, date '2026-01-02' + n from generate_series(10, 20) n`,
    [own.shopKey],
  );
  const of = await actAs(service, own);
  const slugsOf = (text: string): string[] =>
    [...unescaped(text).matchAll(/href="[^"]*saleEvent=([^"&]+)"/gu)].map(([, slug = ""]) => slug);
  const first = await open("/sale-events", of);
  assert.deepEqual(
    slugsOf(first.text),
    Array.from({ length: 10 }, (_, index) => `event-${20 - index}`),
  );
  assert.match(first.text, /10 sales a page/u);
  assert.match(first.text, /\/sale-events\?page=2"/u);
  const second = await open("/sale-events?page=2", of);
  assert.deepEqual(slugsOf(second.text), ["event-10", "hats", "summer"]);
});

const ONE_ORDER: StoreFiles = {
  products: [{ product_id: "1", title: "Lamp" }],
  variants: [{ variant_id: "1", product_id: "1", sku: "LAMP-1" }],
  order_lines: [
    { order_id: "1", line_id: "1", ordered_at: "2026-01-05T10:00:00Z", variant_id: "1", units: 1 },
  ],
};
const SECTIONS = ["reasons", "timing", "costs"].map((section) => `/report?reportSection=${section}`);
const VIEWS = [...PAGES.map(({ path }) => path), ...SECTIONS, "/products?type=all", "/cohorts?period=all"];

const TINY_STORES: readonly [name: string, files: StoreFiles, said: Readonly<Record<string, RegExp>>][] = [
  ["one order", ONE_ORDER, { "": /0\.0 %/u, "/products": /few units/u }],
  ["no order", { ...ONE_ORDER, order_lines: [] }, { "": /nothing was sold|No month is complete yet/iu }],
];
for (const [name, files, said] of TINY_STORES) {
  test(`every page of a store with ${name} is served, and says what is true`, async () => {
    const tenant = await createStoreTenant(service);
    await importStore(service, tenant, { currencyCode: "EUR", asOf: "2026-07-01T00:00:00Z", files });
    const reader = await actAs(service, tenant);
    for (const path of VIEWS) {
      const { status, text } = await reader.get(path);
      assert.equal(status, 200, path);
      const words = wordsOf(text.replace(/<details class="api-box".*?<\/details>/su, ""));
      assert.doesNotMatch(words, /\b(?:NaN|undefined|null|Infinity)\b|\[object/u, path);
      assert.match(words, said[path] ?? /./u, path);
    }
  });
}
