import assert from "node:assert/strict";
import { test } from "node:test";
import { wordsOf } from "./support/page-figures.ts";
import { actAs } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import type { TenantOptions } from "./support/tenants.ts";

/** The watchlist: its search, and the links to it from rows and reports. */

const PATH = "/settings/watchlist";
const SHIRT = "gid://shopify/Product/2";
const MONTHS = "start_month=2025-06&end_month=2026-05";

const smallStore = (options: TenantOptions = {}) => createSmallStore(service.database, options);

test("watched entities have a title, their kind in words, and a link to their report", async () => {
  const tenant = await smallStore();
  const owner = await actAs(service, tenant);
  for (const [type, key] of [
    ["product_gid", SHIRT],
    ["family", "Tops"],
    ["analytics_category", "Hats"],
  ] as const) {
    assert.match((await owner.post(PATH, { type, key })).done ?? "", /^Added .* to the watchlist\.$/u);
  }
  const { text } = await owner.get(PATH);
  const words = wordsOf(text);
  assert.match(words, /Crème Jacket SKU JACKET-M · since/u);
  assert.match(words, /Plain Shirt Product gid:\/\/shopify\/Product\/2 · since/u);
  assert.match(words, /Tops Family · since/u);
  assert.match(words, /Hats Category · since/u);
  assert.match(text, /\/report\?product_group_type=family&amp;product_group_key=Tops"/u);
  assert.match((await owner.get("/settings")).text, /4 entries/u);
});

test("a search shows what can be watched, each with a button, and marks what is watched", async () => {
  const tenant = await smallStore();
  const owner = await actAs(service, tenant);
  const { status, text } = await owner.get(`${PATH}?q=jacket`);
  assert.equal(status, 200);
  assert.match(text, /<button\s+class="quiet">Watch Crème Jacket<\/button>/u);
  assert.doesNotMatch(text, />Watch JACKET-M</u);
  assert.match(text, /<span class="tag">watched<\/span>/u);
  assert.match((await owner.get(`${PATH}?q=zebra`)).text, /Nothing matches “zebra”/u);
  const tooLong = await owner.get(`${PATH}?q=${"x".repeat(201)}`);
  assert.equal(tooLong.status, 400);
  assert.match(tooLong.text, /Search must be text of at most 200 characters/u);
});

test("reports link to the watchlist for those who may add, and say what is watched", async () => {
  const tenant = await smallStore();
  const owner = await actAs(service, tenant);
  const viewer = await actAs(service, tenant, "viewer");
  for (const path of [`/report?sku=JACKET-M&${MONTHS}`]) {
    const { text } = await owner.get(path);
    assert.match(text, /<span class="tag">watched<\/span>/u, path);
    const seen = (await viewer.get(path)).text;
    assert.match(seen, /<span class="tag">watched<\/span>/u, path);
    assert.doesNotMatch(seen, /settings\/watchlist|Add to sale days/u, path);
    assert.doesNotMatch(text, /<(?:td|th)[^>]*>\s*<(?:form|button)/u, "no row is a button");
  }
  for (const [path, link] of [
    [`/report?sku=SHIRT-M&${MONTHS}`, "type=sku&amp;key=SHIRT-M"],
    [`/report?product_gid=${SHIRT}&${MONTHS}`, "type=product_gid&amp;key=gid%3A%2F%2Fshopify%2FProduct%2F2"],
    [
      `/report?product_group_type=analytics_category&product_group_key=Hats&${MONTHS}`,
      "type=analytics_category&amp;key=Hats",
    ],
  ] as const) {
    const { text } = await owner.get(path);
    assert.ok(text.includes(`/settings/watchlist?${link}"`), `${path} leads to ${link}`);
    const asked = await owner.get(`${PATH}?${link.replaceAll("&amp;", "&")}`);
    assert.match(wordsOf(asked.text), /is not watched yet\. Watch /u, link);
  }
  assert.doesNotMatch((await owner.get(`/report?${MONTHS}`)).text, /settings\/watchlist\?/u);
  assert.match((await owner.get(`${PATH}?type=sku&key=JACKET-M`)).text, /SKU JACKET-M is already watched/u);
});

test("while figures are withheld the list is shown, without a search; a viewer sees no button", async () => {
  for (const options of [{ readiness: "reconnecting" }, { billingStatus: "inactive" }]) {
    const tenant = await smallStore(options);
    const owner = await actAs(service, tenant);
    const { status, text } = await owner.get(`${PATH}?q=jacket`);
    assert.equal(status, 200);
    assert.match(text, /JACKET-M/u);
    assert.match(text, /The catalogue cannot be searched while figures are withheld/u);
    assert.equal((await owner.post(PATH, { type: "sku", key: "SHIRT-M" })).status, 303);
    const viewer = await actAs(service, tenant, "viewer");
    const seen = await viewer.get(`${PATH}?type=sku&key=SHIRT-S&q=jacket`);
    assert.equal(seen.status, 200);
    assert.doesNotMatch(seen.text, /action="[^"]*settings/u);
    assert.equal((await viewer.post(PATH, { type: "sku", key: "SHIRT-S" })).status, 403);
  }
});
