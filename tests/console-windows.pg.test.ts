import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { startDemoService } from "./docs-demo.ts";
import { readGoldenStores } from "./golden/golden.ts";
import { randomStore } from "./oracle/random-store.ts";
import type { OracleStore } from "./oracle/store.ts";
import { actAs, auditOf, type Member } from "./support/scene.ts";
import { createStoreTenant, importStore } from "./support/import-store.ts";
import { previewIn } from "./support/page-figures.ts";
import { createSmallStore } from "./support/small-store.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";

/** The return window and the threshold: the preview shows what the API answers after saving. */

const demo = use(startDemoService);

const PATH = "/settings/windows";
type Wanted = { primary_window_days: number; min_sold_units: number };

function queryOf(wanted: Wanted): string {
  return `${PATH}?primary_window_days=${wanted.primary_window_days}&min_sold_units=${wanted.min_sold_units}`;
}

function fieldsOf(wanted: Wanted): Record<string, string> {
  return Object.fromEntries(Object.entries(wanted).map(([name, value]) => [name, String(value)]));
}

/** The same figures from the API. */
async function answered(tenant: Tenant, { isUnlimited = false } = {}): Promise<Record<string, string>> {
  const options = { token: tenant.token, isUnlimited };
  const { call } = demo.service;
  const ranking = await call("/api/v1/leaderboards/return-rate", { ...options, params: { period: "year" } });
  const { data, meta } = ranking.json();
  const { start_month, end_month } = meta as { start_month: string; end_month: string };
  const summary = await call("/api/v1/summary", { ...options, params: { start_month, end_month } });
  const totals = summary.json().data;
  return Object.fromEntries(
    Object.entries({
      complete_through: meta["complete_through"],
      total_eligible_count: data["total_eligible_count"],
      min_sold_units: data["min_sold_units"],
      return_rate: totals["return_rate"],
      returned_units: totals["returned_units"],
      sold_units: totals["sold_units"],
    }).map(([name, value]) => [name, String(value)]),
  );
}

async function assertPreviewed(
  member: Member,
  tenant: Tenant,
  wanted: Wanted,
  isUnlimited = false,
): Promise<void> {
  const { status, text } = await member.get(queryOf(wanted));
  assert.equal(status, 200, text);
  const { primary_window_days, ...previewed } = previewIn(text);
  assert.equal(primary_window_days, String(wanted.primary_window_days));
  const saved = await member.post(PATH, fieldsOf(wanted));
  assert.equal(saved.status, 303, saved.text);
  assert.deepEqual(previewed, await answered(tenant, { isUnlimited }), JSON.stringify(wanted));
}

const SOME: readonly Wanted[] = [
  { primary_window_days: 1, min_sold_units: 0 },
  { primary_window_days: 60, min_sold_units: 5 },
  { primary_window_days: 365, min_sold_units: 1000 },
];

test("the preview is what the API answers after saving, over the demo store", async () => {
  const member = await actAs(demo.service, demo.tenant);
  for (const wanted of SOME) await assertPreviewed(member, demo.tenant, wanted);
});

async function assertStore(store: OracleStore, some = SOME): Promise<void> {
  const { service } = demo;
  const { settings, as_of: asOf, files } = store;
  const tenant = await createStoreTenant(service, settings);
  await importStore(service, tenant, { currencyCode: settings.currency_code, asOf, files });
  const member = await actAs(service, tenant);
  for (const wanted of some) await assertPreviewed(member, tenant, wanted, true);
}

test("the preview is what the API answers after saving, over every golden store", async () => {
  for (const [index, { workspace, as_of, files }] of readGoldenStores().entries()) {
    await assertStore({ settings: workspace, as_of, files }, SOME.slice(index % 3, (index % 3) + 1));
  }
});

test("the preview is what the API answers after saving, over random stores", async () => {
  for (const store of fc.sample(randomStore, { numRuns: 5, seed: 16 })) await assertStore(store);
});

test("a preview changes nothing, and invalid values are shown with their errors", async () => {
  const tenant = await createSmallStore(demo.service.database);
  const member = await actAs(demo.service, tenant);
  const earlier = await answered(tenant);
  await member.get(queryOf({ primary_window_days: 90, min_sold_units: 1 }));
  assert.deepEqual(await answered(tenant), earlier);
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
