import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluateAlerts } from "../src/alerts/evaluate-alerts.ts";
import { dayFromText, dayToText } from "../src/lib/month.ts";
import { clearWorkspace } from "../src/store/queries/workspace-erase.ts";
import { makeWarningStore } from "./oracle/warning-store.ts";
import { oracleWarnings } from "./oracle/warnings.ts";
import type { StoreFiles } from "./oracle/store.ts";
import { createStoreTenant, importStore } from "./support/import-store.ts";
import { service } from "./support/shared-service.ts";
import type { Tenant } from "./support/tenants.ts";

const LAST_DAY = dayFromText("2026-05-10") as number;
const STORE = makeWarningStore(1, LAST_DAY - 330, LAST_DAY);

const tenant = await createStoreTenant(service);
const other = await createStoreTenant(service);

/** The rows that a shop could have exported on a day. */
function filesOf(day: number): StoreFiles {
  const until = `${dayToText(day)}T23:59:59Z`;
  const { order_lines: orders, refunds = [], returns = [], ...catalogue } = STORE.files;
  const known = orders.filter((row) => row.ordered_at <= until);
  const ids = new Set(known.map((row) => row.order_id));
  return {
    ...catalogue,
    order_lines: known,
    refunds: refunds.filter((row) => ids.has(row.order_id) && row.refunded_at <= until),
    returns: returns.filter((row) => ids.has(row.order_id) && (row.closed_at ?? "") <= until),
  };
}

const importAt = (day: number) =>
  importStore(service, tenant, { asOf: `${dayToText(day)}T23:59:59Z`, files: filesOf(day) });
const evaluate = ({ shopKey }: Tenant = tenant) =>
  evaluateAlerts({ database: service.installation.database, shopKey, now: new Date() });

/** Announced so far: the entity and the as-of day, oldest first. */
async function told({ shopKey }: Tenant = tenant): Promise<string[]> {
  const { rows } = await service.database.query<{ event_key: string }>(
    "select event_key from alert where shop_key = $1 and event_key like 'early_warning:%' order by created_at, event_key",
    [shopKey],
  );
  return rows.map((row) => row.event_key);
}

const entityOf = (eventKey: string): string => eventKey.replace(/:[^:]+$/u, "");
let announced: string[] = [];

test("M17: imports with as-ofs, one after the other, warn as of their day and once per episode", async () => {
  for (const age of [36, 24, 0]) {
    const day = LAST_DAY - age;
    const earlier = new Set(await told());
    await importAt(day);
    // Two evaluations at once: one of them waits for the other and finds nothing left to write.
    await Promise.all([evaluate(), evaluate()]);
    const news = (await told()).filter((key) => !earlier.has(key));
    assert.ok(
      news.every((key) => key.endsWith(`:${dayToText(day)}`)),
      news.join(),
    );
    const called = new Set(
      oracleWarnings(STORE, day, 30).map(({ kind, key }) => `early_warning:${kind}:${key}`),
    );
    assert.ok(
      news.every((key) => called.has(entityOf(key))),
      news.join(),
    );
    assert.deepEqual(await evaluate(), { written: 0 });
  }
  announced = await told();
  assert.ok(announced.length >= 2, announced.join());
  assert.equal(new Set(announced.map(entityOf)).size, announced.length, announced.join());
});

test("M17: an import with an older as-of announces nothing again, and neither does the next one", async () => {
  await importAt(LAST_DAY - 50);
  await evaluate();
  await importAt(LAST_DAY);
  await evaluate();
  assert.deepEqual(await told(), announced);
});

test("M17: after 45 days without a warning an entity is announced again", async () => {
  await service.database.query(
    "update warning_episode set started_on = started_on - 47, latest_on = latest_on - 47 where shop_key = $1",
    [tenant.shopKey],
  );
  const { rows } = await service.database.query<{ earlier: Date }>(
    "select data_as_of - interval '1 day' as earlier from workspace where shop_key = $1",
    [tenant.shopKey],
  );
  await service.database.query("update workspace set data_as_of = $2 where shop_key = $1", [
    tenant.shopKey,
    rows[0]?.earlier,
  ]);
  await evaluate();
  const again = (await told()).slice(announced.length);
  assert.ok(again.length > 0);
  assert.ok(again.every((key) => key.endsWith(`:${dayToText(LAST_DAY - 1)}`)));
});

test("M17: clearing a workspace clears its warnings, and no others", async () => {
  await evaluate(other);
  assert.deepEqual(await told(other), []);
  await clearWorkspace(service.installation.database, tenant.shopKey);
  assert.deepEqual(await told(), []);
  // An evaluation beside the import sees all of it or nothing.
  await Promise.all([importAt(LAST_DAY), evaluate()]);
  await evaluate();
  const fresh = await told();
  assert.ok(fresh.length > 0 && fresh.every((key) => key.endsWith(`:${dayToText(LAST_DAY)}`)), fresh.join());
  assert.deepEqual(await evaluate(), { written: 0 });
  assert.deepEqual(await told(other), []);
});
