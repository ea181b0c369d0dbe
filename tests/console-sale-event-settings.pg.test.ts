import assert from "node:assert/strict";
import { test } from "node:test";
import { wordsOf } from "./support/page-figures.ts";
import { actAs, auditOf } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import type { TenantOptions } from "./support/tenants.ts";

/** Sale events are added, changed and removed by forms, and reports follow at once. */

const PATH = "/settings/sale-events";
const MONTHS = { start_month: "2025-06", end_month: "2026-05" };
const SPRING = {
  label: "Spring <b>sale</b>",
  starts_on: "2026-04-01",
  ends_on: "2026-04-10",
  skus: "SHIRT-M\r\n\r\n  JACKET-M \nSHIRT-M",
};
const STORED = {
  slug: "spring-b-sale-b",
  label: SPRING.label,
  starts_on: SPRING.starts_on,
  ends_on: SPRING.ends_on,
  skus: ["SHIRT-M", "JACKET-M"],
};

const smallStore = (options: TenantOptions = {}) => createSmallStore(service.database, options);

test("an event is added, changed and removed; the audit has the previous values", async () => {
  const tenant = await smallStore();
  const owner = await actAs(service, tenant);
  const added = await owner.post(PATH, { ...SPRING, slug: "" });
  assert.deepEqual([added.status, added.location], [303, PATH], added.text);
  assert.match(added.done ?? "", /^Added the sale days Spring <b>sale<\/b>\.$/u);
  const page = (await owner.get(PATH)).text;
  assert.match(page, /Spring &lt;b&gt;sale&lt;\/b&gt;/u);
  assert.match(wordsOf(page), /1 Apr 2026 to 10 Apr 2026 · 2 SKUs/u);
  const form = (await owner.get(`${PATH}?slug=${STORED.slug}`)).text;
  assert.match(form, /value="2026-04-01"/u);
  assert.match(form, /SHIRT-M\nJACKET-M<\/textarea>/u);
  const changed = { ...SPRING, slug: STORED.slug, ends_on: "2026-04-12", skus: "" };
  assert.equal((await owner.post(`${PATH}/change`, changed)).status, 303);
  assert.match(wordsOf((await owner.get(PATH)).text), /1 Apr 2026 to 12 Apr 2026 · the whole store/u);
  const removed = await owner.post(`${PATH}/remove`, { slug: STORED.slug });
  assert.match(removed.done ?? "", /^Removed the sale days /u);
  assert.match(
    (await owner.post(`${PATH}/remove`, { slug: STORED.slug })).done ?? "",
    /^There are no sale days "spring-b-sale-b"\.$/u,
  );
  const later = { ...STORED, ends_on: "2026-04-12", skus: null };
  assert.deepEqual(await auditOf(service, tenant), [
    { action: "sale_event.add", detail: STORED, before: null },
    { action: "sale_event.add", detail: later, before: STORED },
    { action: "sale_event.remove", detail: { slug: STORED.slug }, before: later },
  ]);
});

test("days that are in two events are reported in the list and when an event is saved", async () => {
  const tenant = await smallStore();
  const owner = await actAs(service, tenant);
  await service.database.query("delete from sale_event where shop_key = $1", [tenant.shopKey]);
  await owner.post(PATH, { ...SPRING, label: "First" });
  const second = { ...SPRING, label: "Second", starts_on: "2026-04-10", ends_on: "2026-04-20" };
  const { done } = await owner.post(PATH, second);
  assert.match(done ?? "", /It overlaps First: 10 Apr 2026 is in both\./u);
  await owner.post(PATH, { ...SPRING, label: "Apart", starts_on: "2026-05-01", ends_on: "2026-05-02" });
  const words = wordsOf((await owner.get(PATH)).text);
  assert.match(
    words,
    /First 1 Apr 2026 to 10 Apr 2026 · 2 SKUs It overlaps Second: 10 Apr 2026 is in both\./u,
  );
  assert.match(words, /Apart 1 May 2026 to 2 May 2026 · 2 SKUs Change/u);
  assert.match((await owner.get("/settings")).text, /The days of 3 sales are compared/u);
});

test("a workspace has no more sales than an import takes: 1,000, with 16 MiB of SKUs", async () => {
  const tenant = await smallStore();
  const owner = await actAs(service, tenant);
  const insert = (skus: string, count: number) =>
    service.database.query(
      `insert into sale_event (shop_key, slug, label, starts_on, ends_on, skus)
       select $1, 'filled-' || n, 'Filled', '2026-01-01', '2026-01-02', ${skus} from generate_series(1, $2::integer) n`,
      [tenant.shopKey, count],
    );
  await service.database.query("delete from sale_event where shop_key = $1", [tenant.shopKey]);
  await insert("null", 999);
  assert.equal((await owner.post(PATH, { ...SPRING, slug: "last" })).status, 303);
  const refused = await owner.post(PATH, { ...SPRING, slug: "more" });
  assert.equal(refused.status, 409);
  assert.match(wordsOf(refused.text), /A workspace has at most 1,000 sales: remove the days of one first\./u);
  assert.equal((await owner.post(`${PATH}/change`, { ...SPRING, slug: "last", skus: "" })).status, 303);

  await service.database.query("delete from sale_event where shop_key = $1", [tenant.shopKey]);
  await insert("array[repeat('x', 16 * 1024 * 1024 - 7)]", 1);
  const wide = await owner.post(PATH, { ...SPRING, slug: "wide", skus: "JACKET-M" });
  assert.equal(wide.status, 409);
  assert.match(wordsOf(wide.text), /The sales of a workspace name at most 16 MiB of SKUs/u);
  assert.equal((await owner.post(PATH, { ...SPRING, slug: "narrow", skus: "SHIRT-M" })).status, 303);
});

test("a report of a SKU or product links to the form with its SKUs", async () => {
  const tenant = await smallStore();
  const owner = await actAs(service, tenant);
  await owner.post(PATH, { ...SPRING, skus: "JACKET-M" });
  const query = new URLSearchParams(MONTHS).toString();
  const shirt = "product_gid=gid%3A%2F%2Fshopify%2FProduct%2F2";
  for (const [selector, skus] of [
    ["sku=SHIRT-M", "SHIRT-M"],
    [shirt, "SHIRT-M\nSHIRT-S"],
  ] as const) {
    const report = (await owner.get(`/report?${selector}&${query}`)).text;
    assert.ok(report.includes(`${PATH}?${selector}">Add to sale days</a>`), selector);
    const form = (await owner.get(`${PATH}?${selector}`)).text;
    assert.ok(form.includes(`\n${skus}</textarea>`), form);
    assert.match(form, new RegExp(`slug=${STORED.slug}&amp;[^"]*">Add to Spring`, "u"));
    const changing = (await owner.get(`${PATH}?slug=${STORED.slug}&${selector}`)).text;
    assert.ok(changing.includes(`\nJACKET-M\n${skus}</textarea>`), changing);
  }
  assert.match((await owner.get(`${PATH}?slug=none`)).text, /There are no sale days “none”\./u);
});
