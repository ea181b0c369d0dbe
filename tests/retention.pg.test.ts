import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { STATEMENTS, type Database } from "../src/store/database.ts";
import type { Retention } from "../src/lib/retention.ts";
import { isCitus } from "./support/citus.ts";
import { openControlDatabase } from "./support/control.ts";
import { addDeliveries, addEvents, addRuns } from "./support/old-rows.ts";
import { refuseRows } from "./support/refused-rows.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { DEFAULT_RETENTION, keepAllInOrder } from "./support/worker.ts";
import { use } from "./support/use.ts";

/** What upkeep deletes because of its age, at a given time: rows just before and after each limit. */

const control = use(openControlDatabase);
/** Two shops with the same rows. */
let tenant: Tenant;
let other: Tenant;
beforeEach(async () => {
  await control.pool.query("truncate workspace cascade");
  await control.pool.query("truncate run_queue, shop_account, shop_directory");
  await control.pool.query("truncate audit_event, identity_event");
  tenant = await createTenant(control.pool);
  other = await createTenant(control.pool);
});

const NOW = new Date("2026-07-01T06:00:00Z");
const DAY_MS = 86_400_000;
const FOREVER = Number.POSITIVE_INFINITY;

async function upkeep(
  retention: Partial<Retention> = {},
  now = NOW,
  database: Database = control.database,
): Promise<void> {
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const options = { database, now: () => now, log, retention: { ...DEFAULT_RETENTION, ...retention } };
  const [first] = await keepAllInOrder(options);
  if (first !== undefined) throw new Error("upkeep failed for a shop", { cause: first });
}

async function ask<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return (await control.pool.query<Row>(text, [...values])).rows;
}

const countOf = async (table: string, shopKey: number): Promise<number> =>
  (
    await ask<{ count: number }>(`select count(*)::int as count from ${table} where shop_key = $1`, [shopKey])
  )[0]?.count ?? 0;

/** A second before and after the moment that is so many days ago. */
const around = (days: number): Date[] =>
  [-1000, 1000].map((ms) => new Date(NOW.getTime() - days * DAY_MS + ms));

/** A number of minutes, the last of which ends a day before the limit of `days`. */
const minutesBefore = (count: number, days: number): Date[] =>
  Array.from(
    { length: count },
    (_, minute) => new Date(NOW.getTime() - (days + 1) * DAY_MS - (count - minute) * 60_000),
  );

async function leftOf(table: string, moment: string, { shopKey }: Tenant): Promise<string[]> {
  const rows = await ask<{ at: Date }>(
    `select ${moment} as at from ${table} where shop_key = $1 order by 1`,
    [shopKey],
  );
  return rows.map(({ at }) => at.toISOString());
}

test("runs stay for 90 days, those of webhooks and deliveries for 7, or for as long as is set", async () => {
  for (const shop of [tenant, other]) {
    await addRuns(control.pool, shop, "incremental", [...around(90), ...around(30)]);
    await addRuns(control.pool, shop, "refresh", [...around(7), ...around(3)]);
    await addDeliveries(control.pool, shop, [...around(7), ...around(3)]);
  }
  const [, last90] = around(90);
  const [, last7] = around(7);
  const isoOf = (...dates: (Date | undefined)[]): string[] => dates.map((date) => date?.toISOString() ?? "");
  await upkeep();
  for (const shop of [tenant, other]) {
    assert.deepEqual(await leftOf("webhook_delivery", "received_at", shop), isoOf(last7, ...around(3)));
    assert.deepEqual(
      await leftOf("sync_run", "started_at", shop),
      isoOf(last90, ...around(30), last7, ...around(3)),
    );
  }
  await upkeep({ keepRunsDays: 30, keepDeliveriesDays: 3 });
  const [, last30] = around(30);
  const [, last3] = around(3);
  assert.deepEqual(await leftOf("webhook_delivery", "received_at", tenant), isoOf(last3));
  assert.deepEqual(await leftOf("sync_run", "started_at", tenant), isoOf(last30, last3));
});

test("usage stays for 400 days with its details, for as long as is set, or forever", async () => {
  const dayOf = (daysAgo: number): string =>
    new Date(NOW.getTime() - daysAgo * DAY_MS).toISOString().slice(0, 10);
  for (const daysAgo of [0, 31, 32, 400, 401, 4000]) {
    await control.pool.query("insert into daily_usage (shop_key, day, requests) values ($1, $2, 5)", [
      tenant.shopKey,
      dayOf(daysAgo),
    ]);
    await control.pool.query(
      `insert into usage_detail (shop_key, day, token_id, endpoint, surface, outcome, requests, quota_requests)
       values ($1, $2, 'a', 'summary', 'rest', 'ok', 5, 5), ($1, $2, 'b', 'summary', 'rest', 'ok', 5, 5)`,
      [tenant.shopKey, dayOf(daysAgo)],
    );
  }
  const counts = async (): Promise<number[]> => [
    await countOf("daily_usage", tenant.shopKey),
    await countOf("usage_detail", tenant.shopKey),
  ];
  await upkeep({ keepUsageDays: FOREVER });
  assert.deepEqual(await counts(), [6, 12]);
  await upkeep();
  assert.deepEqual(await counts(), [4, 8]);
  await upkeep({ keepUsageDays: 31 });
  assert.deepEqual(await counts(), [2, 4]);
});

/** The deletions that a shop's audit records, oldest first. */
async function deletionsOf(shopKey: number): Promise<Record<string, unknown>[]> {
  const rows = await ask<{ actor: string; detail: Record<string, unknown> }>(
    "select actor, detail from audit_event where shop_key = $1 and action = 'audit.delete' order by happened_at",
    [shopKey],
  );
  return rows.map(({ actor, detail }) => ({ actor, ...detail }));
}

/** The first moment of the day that is so many days ago, a second before it, and a second after. */
const aroundDay = (days: number): Date[] => {
  const startMs = Date.UTC(2026, 6, 1) - days * DAY_MS;
  return [startMs - 1000, startMs, startMs + 1000].map((ms) => new Date(ms));
};

test("the audit stays forever, unless it is limited: then by whole days, and each deletion is recorded", async () => {
  const keys = [tenant.shopKey, other.shopKey];
  for (const shopKey of keys) await addEvents(control.pool, shopKey, "watch.add", aroundDay(90));
  await control.pool.query(
    `insert into identity_event (actor, action, detail, happened_at)
     select 'user:x', 'session.begin', '{}', h from unnest($1::timestamptz[]) h`,
    [aroundDay(90)],
  );
  const ofInstallation = () =>
    ask<{ action: string; detail: object }>("select action, detail from identity_event order by happened_at");
  await upkeep();
  for (const shopKey of keys) assert.equal(await countOf("audit_event", shopKey), 3);
  assert.equal((await ofInstallation()).length, 3);
  await upkeep({ keepAuditDays: 90 });
  const recorded = { before: "2026-04-02T00:00:00.000Z", events: 1 };
  for (const shopKey of keys) {
    assert.deepEqual(await deletionsOf(shopKey), [{ actor: "upkeep", ...recorded }]);
    assert.equal(await countOf("audit_event", shopKey), 3);
  }
  const left = await ofInstallation();
  assert.deepEqual(
    left.map(({ action }) => action),
    ["session.begin", "session.begin", "audit.delete"],
  );
  assert.deepEqual(left.at(-1)?.detail, recorded);
  await upkeep({ keepAuditDays: 90 }, new Date("2027-07-01T06:00:00Z"));
  assert.deepEqual(
    (await ofInstallation()).map(({ action, detail }) => ({ action, ...detail })),
    [{ action: "audit.delete", before: "2027-04-02T00:00:00.000Z", events: 2 }],
  );
});

test("later on the same day nothing is deleted, and expired records of deletions are deleted without a new record", async () => {
  await addEvents(control.pool, tenant.shopKey, "watch.add", aroundDay(90));
  await upkeep({ keepAuditDays: 90 });
  await upkeep({ keepAuditDays: 90 }, new Date("2026-07-01T23:59:59Z"));
  assert.equal((await deletionsOf(tenant.shopKey)).length, 1);
  await upkeep({ keepAuditDays: 90 }, new Date("2026-07-02T00:00:00Z"));
  assert.equal((await deletionsOf(tenant.shopKey)).length, 2);
  await upkeep({ keepAuditDays: 90 }, new Date("2027-07-01T06:00:00Z"));
  assert.equal(await countOf("audit_event", tenant.shopKey), 0);
});

test("the newest import and the newest change of windows stay: doctor and the list of setup steps read them", async () => {
  const days = [aroundDay(300), aroundDay(200)].flat();
  for (const action of ["import", "windows.set", "watch.add"])
    await addEvents(control.pool, tenant.shopKey, action, days);
  await upkeep({ keepAuditDays: 90 });
  const left = await ask<{ action: string; happened_at: Date }>(
    "select action, happened_at from audit_event where shop_key = $1 and actor = 'operator' order by action",
    [tenant.shopKey],
  );
  const newest = days.at(-1);
  assert.deepEqual(left, [
    { action: "import", happened_at: newest },
    { action: "windows.set", happened_at: newest },
  ]);
});

const MANY = 11_000;

test("an interrupted deletion of audit events is recorded as far as it went, and the next upkeep continues", async () => {
  await addEvents(control.pool, tenant.shopKey, "watch.add", minutesBefore(MANY, 90));
  await addEvents(control.pool, other.shopKey, "watch.add", minutesBefore(3, 90));
  const takeBack = await refuseRows(
    control.pool,
    "audit_event",
    "cut_off",
    "(detail ->> 'events')::integer > 5000",
  );
  await assert.rejects(upkeep({ keepAuditDays: 90 }), /upkeep failed for a shop/u);
  const eventsOf = async (shopKey: number) => (await deletionsOf(shopKey)).map(({ events }) => events);
  assert.deepEqual(await eventsOf(tenant.shopKey), [5000]);
  assert.equal(await countOf("audit_event", tenant.shopKey), MANY - 5000 + 1);
  assert.deepEqual(await eventsOf(other.shopKey), [3], "another shop's deletion is its own");
  await takeBack();
  await upkeep({ keepAuditDays: 90 });
  assert.deepEqual(new Set(await eventsOf(tenant.shopKey)), new Set([5000, MANY - 5000]));
  assert.equal(await countOf("audit_event", tenant.shopKey), 2);
});

/** A database in which the statement of this name fails from its second execution on. */
function failingAfterOne(database: Database, name: string): Database {
  let times = 0;
  return {
    ...database,
    rows: (statement, values) => {
      if (statement.name === name && (times += 1) > 1) return Promise.reject(new Error("cut off"));
      return database.rows(statement, values);
    },
  };
}

test("many rows are deleted in batches: an interrupted upkeep keeps its deletions, and the next one does the rest", async () => {
  const old = minutesBefore(MANY, 7);
  for (const shop of [tenant, other]) await addDeliveries(control.pool, shop, [...old, ...around(3)]);
  const failing = failingAfterOne(control.database, "delete_old_deliveries");
  await assert.rejects(upkeep({}, NOW, failing), /upkeep failed for a shop/u);
  assert.equal(await countOf("webhook_delivery", tenant.shopKey), MANY - 5000 + 2);
  assert.equal(await countOf("webhook_delivery", other.shopKey), MANY + 2);
  await upkeep();
  for (const { shopKey } of [tenant, other]) assert.equal(await countOf("webhook_delivery", shopKey), 2);
});

test("two workers at once delete each row once, and record what they deleted between them", async () => {
  await addEvents(control.pool, tenant.shopKey, "watch.add", minutesBefore(MANY, 90));
  await addDeliveries(control.pool, tenant, minutesBefore(MANY, 7));
  await Promise.all([upkeep({ keepAuditDays: 90 }), upkeep({ keepAuditDays: 90 })]);
  assert.equal(await countOf("webhook_delivery", tenant.shopKey), 0);
  const counted = (await deletionsOf(tenant.shopKey)).map(({ events }) => Number(events));
  assert.equal(
    counted.reduce((sum, events) => sum + events, 0),
    MANY,
  );
  assert.equal(await countOf("audit_event", tenant.shopKey), counted.length);
});

/** Each deletion by the name of its statement, and the index that finds old rows. */
const INDEXES: Readonly<Record<string, { table: string; index: RegExp; values: readonly unknown[] }>> = {
  delete_old_runs: { table: "sync_run", index: /sync_run_by_kind/u, values: [1, NOW, "incremental"] },
  delete_old_deliveries: { table: "webhook_delivery", index: /webhook_delivery_by_time/u, values: [1, NOW] },
  delete_old_usage_details: { table: "usage_detail", index: /usage_detail_pkey/u, values: [1, "2026-01-01"] },
  delete_old_usage: { table: "daily_usage", index: /daily_usage_pkey/u, values: [1, "2026-01-01"] },
  delete_old_events: { table: "audit_event", index: /audit_event_(?:time|of_shop)/u, values: [1, NOW, []] },
  delete_old_installation_events: { table: "identity_event", index: /identity_event_time/u, values: [NOW] },
  delete_expired_links: { table: "console_link", index: /console_link_expiry/u, values: [NOW] },
  delete_expired_challenges: {
    table: "console_challenge",
    index: /console_challenge_expiry/u,
    values: [NOW],
  },
  delete_ended_sessions: { table: "console_session", index: /console_session_end/u, values: [NOW] },
};

test(
  "each deletion finds its rows by an index",
  { skip: isCitus() && "Citus explains a node's plan without the values" },
  async () => {
    for (const [name, { table, index, values }] of Object.entries(INDEXES)) {
      const text = STATEMENTS.get(name)?.text;
      assert.ok(text !== undefined, name);
      const client = await control.pool.connect();
      try {
        // In a nearly empty table the planner may prefer the index of all workspaces to that by workspace.
        await client.query("begin; set local enable_seqscan = off; drop index audit_event_by_time");
        const { rows } = await client.query<{ "QUERY PLAN": string }>(`explain ${text}`, [...values]);
        const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
        assert.match(plan, index, name);
        assert.doesNotMatch(plan, new RegExp(`Seq Scan on ${table}`, "u"), name);
      } finally {
        await client.query("rollback");
        client.release();
      }
    }
  },
);
