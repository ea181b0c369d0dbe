import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { startDemoService } from "./docs-demo.ts";
import { randomStore } from "./oracle/random-store.ts";
import type { OracleStore } from "./oracle/store.ts";
import { actAs, auditOf } from "./support/scene.ts";
import { createStoreTenant, importStore } from "./support/import-store.ts";
import { previewIn } from "./support/page-figures.ts";
import { createSmallStore } from "./support/small-store.ts";
import { createTenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";
import { answered, assertPreviewed, PATH, queryOf, SOME } from "./support/window-preview.ts";

/** The return window and the threshold: the preview shows what the API answers after saving. For golden stores see golden.pg.test.ts. */

const demo = use(startDemoService);

test("the preview is what the API answers after saving, over the demo store", async () => {
  const member = await actAs(demo.service, demo.tenant);
  for (const wanted of SOME) await assertPreviewed(demo.service, { member, tenant: demo.tenant }, wanted);
});

async function assertStore(store: OracleStore): Promise<void> {
  const { service } = demo;
  const { settings, as_of: asOf, files } = store;
  const tenant = await createStoreTenant(service, settings);
  await importStore(service, tenant, { currencyCode: settings.currency_code, asOf, files });
  const member = await actAs(service, tenant);
  for (const wanted of SOME) await assertPreviewed(service, { member, tenant, isUnlimited: true }, wanted);
}

test("the preview is what the API answers after saving, over random stores", async () => {
  for (const store of fc.sample(randomStore, { numRuns: 5, seed: 16 })) await assertStore(store);
});

test("a preview changes nothing, and invalid values are shown with their errors", async () => {
  const tenant = await createSmallStore(demo.service.database);
  const member = await actAs(demo.service, tenant);
  const earlier = await answered(demo.service, tenant);
  await member.get(queryOf({ primary_window_days: 90, min_sold_units: 1 }));
  assert.deepEqual(await answered(demo.service, tenant), earlier);
  const refused = await member.get(`${PATH}?primary_window_days=400&min_sold_units=%3Cb%3E`);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /Return window in days must be a whole number from 1 to 365\./u);
  assert.match(refused.text, /Minimum units sold must be a whole number of at least 0\./u);
  assert.match(refused.text, /value="400"[^>]*aria-invalid="true"/u);
  assert.match(refused.text, /value="&lt;b&gt;"/u);
  const posted = await member.post(PATH, { primary_window_days: "0", min_sold_units: "7" });
  assert.equal(posted.status, 400);
  assert.match(
    posted.text,
    /role="alert"[^>]*>\s*Return window in days must be a whole number from 1 to 365\./u,
  );
  assert.match(posted.text, /value="7"/u);
  assert.deepEqual(await auditOf(demo.service, tenant), []);
});

for (const [state, options] of [
  ["no data yet", { readiness: "installing" }],
  ["the history being fetched", { readiness: "backfilling" }],
  ["the store refusing access", { readiness: "reconnecting" }],
  ["billing inactive", { billingStatus: "inactive" }],
] as const) {
  test(`with ${state}, figures are withheld and settings are read and saved`, async () => {
    const tenant = await createTenant(demo.service.database, options);
    const member = await actAs(demo.service, tenant);
    const { status, text } = await member.get(queryOf({ primary_window_days: 90, min_sold_units: 1 }));
    assert.equal(status, 200);
    assert.match(text, /Figures are withheld/u);
    assert.deepEqual(previewIn(text), {});
    assert.equal((await member.post(PATH, { primary_window_days: "90", min_sold_units: "1" })).status, 303);
    assert.match((await member.get("/settings")).text, /A return counts within 90 days/u);
  });
}

test("before the first sync no month is complete, and the settings can be saved", async () => {
  const tenant = await createTenant(demo.service.database, { dataAsOf: null });
  const member = await actAs(demo.service, tenant);
  const { status, text } = await member.get(PATH);
  assert.equal(status, 200);
  assert.match(text, /No month is complete yet/u);
  assert.match(text, /<button name="earlier" value="[^"]*">Save<\/button>/u);
});
