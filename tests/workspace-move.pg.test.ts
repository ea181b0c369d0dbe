import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { OPERATOR } from "../src/actions/actor.ts";
import { runAction } from "../src/actions/action.ts";
import { textInput } from "../src/actions/field.ts";
import { move, moveWorkspace } from "../src/actions/workspace/move.ts";
import { proxyMap } from "../src/actions/workspace/proxy-map.ts";
import { setWorkspace } from "../src/actions/workspace/settings.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { createPlainDatabase } from "./support/backups.ts";
import { runCommand, startCommand } from "./support/command.ts";
import { KEEP_TEST_KEYS } from "./support/database.ts";
import { refuseRows } from "./support/refused-rows.ts";
import { answersOf } from "./support/requests.ts";
import { countRowsByTable } from "./support/rows-by-table.ts";
import { execute } from "./support/server.ts";
import { serviceEnvironment, startOn, type TestService } from "./support/service.ts";
import { seedSmallStore } from "./support/small-store.ts";
import { createTenant, insertRows, type Tenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";
import { makeWorkspace } from "./support/workspace.ts";

/** Moving workspaces between two installations, each with its own database. */

const SECOND_RANGE = "916132832-1832265663";

const here = use(() => startPlain({}));
const there = use(() => startPlain({ SHOP_KEY_RANGE: SECOND_RANGE }));

async function startPlain(options: Record<string, string>): Promise<TestService> {
  const database = await createPlainDatabase();
  await execute(database.url, KEEP_TEST_KEYS);
  const environment = { ...serviceEnvironment(database.url), ...options };
  const { code, stderr } = await runCommand(["migrate"], environment);
  assert.equal(code, 0, stderr);
  return startOn(database, options);
}

/** A workspace with rows in every table; both installations have its plan. */
async function fullTenant(dailyQuota: number | null = null): Promise<Tenant> {
  const tenant = await createTenant(here.database, { dailyQuota });
  await seedSmallStore(here.database, tenant.shopKey);
  const { rows } = await here.database.query("select * from plan where plan_key = $1", [
    `plan-${tenant.shopKey}`,
  ]);
  await there.database.query("delete from plan where plan_key = $1", [`plan-${tenant.shopKey}`]);
  await insertRows(there.database, "plan", rows as Record<string, unknown>[]);
  return tenant;
}

async function callerOf(service: TestService, { shopDomain }: Pick<Tenant, "shopDomain">) {
  const { database } = service.installation;
  return {
    database,
    workspace: await requireWorkspace(database, shopDomain),
    actor: OPERATOR,
    now: new Date(),
    signal: new AbortController().signal,
    onProgress: () => {},
  };
}

const nameOf = ({ databaseUrl }: TestService): string => {
  const { host, pathname } = new URL(databaseUrl);
  return `${host}${pathname}`;
};

/** Moves a workspace without waiting for servers to write usage details; afterwards the action completes the move. */
async function moveNow(tenant: Pick<Tenant, "shopDomain">, from = here, to = there) {
  const caller = await callerOf(from, tenant);
  const moved = await move(caller, { name: nameOf(to), database: to.installation.database }, 0);
  await runAction(moveWorkspace, caller, textInput({ to: to.databaseUrl }));
  return moved;
}

const cancelMove = async (tenant: Tenant) =>
  runAction(moveWorkspace, await callerOf(here, tenant), textInput({ to: there.databaseUrl, cancel: "yes" }));

async function statusOf(service: TestService, { token }: Pick<Tenant, "token">): Promise<number> {
  return (await service.call("/api/v1/alerts", { token, isUnlimited: true })).status;
}

/** The rows of a shop by table, as sorted text, without what a move itself changes. */
async function rowsOf({ database }: TestService, shopKey: number): Promise<Record<string, string[]>> {
  const rows: Record<string, string[]> = {};
  for (const table of Object.keys(await countRowsByTable(database, shopKey))) {
    // Removed members are not moved: a removal can only be undone where it happened.
    if (table === "removed_member") continue;
    const found = await database.query<{ row: string }>(
      `select (to_jsonb(t) - '{moving_to,moved_at,last_used_at,due_at,asked}'::text[])::text as row from ${table} t
        where shop_key = $1 order by 1`,
      [shopKey],
    );
    rows[table] = found.rows.map(({ row }) => row);
  }
  return rows;
}

test("a moved workspace has every row and gives the same answers to the same token; others keep theirs", async () => {
  const [leaving, staying] = [await fullTenant(), await fullTenant()];
  const native = await makeWorkspace(there.installation.database, "native.example");
  assert.equal(
    native.shop_key,
    Number(SECOND_RANGE.split("-")[0]),
    "the second installation counts in its range",
  );
  const wanted = await answersOf(here, leaving);
  const rowsBefore = await rowsOf(here, leaving.shopKey);
  const empty = Object.keys(rowsBefore).filter((table) => rowsBefore[table]?.length === 0);
  assert.deepEqual(empty, [], "every table of workspaces is to be seeded, or this test proves nothing of it");
  const others = [await rowsOf(here, staying.shopKey), await rowsOf(there, native.shop_key)];

  const moved = await moveNow(leaving);

  const { audit_event: audit = [], ...copied } = await rowsOf(there, leaving.shopKey);
  const { audit_event: auditBefore = [], ...copiedBefore } = rowsBefore;
  // The usage of the requests above is written some seconds later.
  const settled = ({ usage_detail: details = [], ...rows }: Record<string, string[]>) => ({
    ...rows,
    daily_usage: [],
    usage_detail: details.filter((row) => row.includes('"2026-01-01"')),
  });
  assert.deepEqual(settled(copied), settled(copiedBefore));
  assert.deepEqual(
    audit.filter((row) => !row.includes("workspace.move")),
    auditBefore,
  );
  assert.equal(moved.people_to_invite.length, 1);
  assert.deepEqual(await answersOf(there, leaving), wanted);
  assert.deepEqual([await rowsOf(here, staying.shopKey), await rowsOf(there, native.shop_key)], others);
  const old = await here.call("/api/v1/alerts", { token: leaving.token, isUnlimited: true });
  assert.equal(old.status, 409);
  assert.match(old.message(), /^The workspace is not ready \(moving\): it is moving to another server/u);
  const { rows: sequences } = await there.database.query<{ is_ahead: boolean }>(
    `select s.last_value >= (select max(record_number) from sync_record) as is_ahead
       from pg_sequences s where s.sequencename = 'sync_record_record_number_seq'`,
  );
  assert.deepEqual(sequences, [{ is_ahead: true }]);

  const back = await moveNow(leaving, there, here);
  assert.deepEqual([back.people_to_invite, back.known_people.length], [[], 1]);
  assert.deepEqual(await answersOf(here, leaving), wanted);
  assert.equal(await statusOf(there, leaving), 409);
});

test("a quota stays exact while requests go to both sides of a move", async () => {
  const quota = 60;
  const tenant = await fullTenant(quota);
  await here.database.query("delete from daily_usage where shop_key = $1", [tenant.shopKey]);
  const { token } = tenant;
  const statuses: number[] = [];
  const over = { is: false };
  const ask = async (service: TestService): Promise<void> => {
    while (!over.is) {
      const { status } = await fetch(`${service.address}/api/v1/alerts`, {
        headers: { authorization: `Bearer ${token}` },
      });
      statuses.push(status);
      await sleep(5);
    }
  };
  const asking = [ask(here), ask(here), ask(there)];
  const caller = await callerOf(here, tenant);
  await sleep(50);
  // Longer than a check may take, so that all requests admitted before the stop are counted.
  await move(caller, { name: nameOf(there), database: there.installation.database }, 1000);
  await runAction(moveWorkspace, caller, textInput({ to: there.databaseUrl }));
  while (!statuses.includes(429)) await sleep(20);
  over.is = true;
  await Promise.all(asking);
  assert.equal(statuses.filter((status) => status === 200).length, quota);
  const { rows } = await there.database.query<{ requests: number }>(
    "select requests from daily_usage where shop_key = $1 and day = (now() at time zone 'UTC')::date",
    [tenant.shopKey],
  );
  assert.deepEqual(rows, [{ requests: quota }]);
});

test("a killed move continues where it was, and is completed if it was killed at its end", async () => {
  const tenant = await fullTenant();
  const wanted = await answersOf(here, tenant);
  const command = startCommand(
    ["workspace", "move", tenant.shopDomain, "--to", there.databaseUrl, "--yes"],
    serviceEnvironment(here.databaseUrl),
  );
  const blocker = new pg.Client({ connectionString: there.databaseUrl });
  await blocker.connect();
  await blocker.query("begin; lock table return_event in access exclusive mode");
  const isBlocked = async (): Promise<boolean> => {
    const { rows } = await there.database.query(
      `select from pg_stat_activity
        where datname = current_database() and application_name = 'returns-moving' and wait_event_type = 'Lock'`,
    );
    return rows.length > 0;
  };
  while (!(await isBlocked())) await sleep(50);
  command.child.kill("SIGKILL");
  await command.outcome;
  await blocker.query("rollback");
  await blocker.end();

  assert.deepEqual([await statusOf(here, tenant), await statusOf(there, tenant)], [409, 409]);
  const caller = await callerOf(here, tenant);
  await assert.rejects(
    runAction(setWorkspace, { ...caller, keys: here.keys }, textInput({ min_sold_units: "5" })),
    /is moving to another/u,
  );
  const moved = await move(caller, { name: nameOf(there), database: there.installation.database }, 0);
  assert.ok(moved.copied_before > 5, `${moved.copied_before} tables were there`);
  assert.deepEqual([await statusOf(here, tenant), await statusOf(there, tenant)], [409, 200]);

  await here.database.query("update workspace set moved_at = null where shop_key = $1", [tenant.shopKey]);
  const { done } = await runAction(moveWorkspace, caller, textInput({ to: there.databaseUrl }));
  assert.match(done, /^shop-\d+\.example is served by the other installation\./u);
  assert.deepEqual(await answersOf(there, tenant), wanted);
  await assert.rejects(cancelMove(tenant), /has moved to .+: move it back from there/u);
  const elsewhere = runAction(
    moveWorkspace,
    await callerOf(here, tenant),
    textInput({ to: here.databaseUrl }),
  );
  await assert.rejects(elsewhere, /has moved to/u);
});

test("after a failed move the workspace is served here again, and canceling removes the copy", async () => {
  const tenant = await fullTenant();
  const allow = await refuseRows(there.database, "watchlist_entry", "no_room", "true");
  await assert.rejects(moveNow(tenant), /no_room/u);
  assert.deepEqual([await statusOf(here, tenant), await statusOf(there, tenant)], [200, 409]);
  await allow();
  const copied = await countRowsByTable(there.database, tenant.shopKey);
  assert.ok((copied["order_line"] ?? 0) > 0);
  const moveTo = (target: string | null) =>
    here.database.query("update workspace set moving_to = $2 where shop_key = $1", [tenant.shopKey, target]);
  await moveTo("third:5432/returns");
  await assert.rejects(
    cancelMove(tenant),
    /is moving to third:5432\/returns: complete or cancel that first/u,
  );
  assert.equal(await statusOf(here, tenant), 409, "the third installation may serve it already");
  await moveTo(null);
  await cancelMove(tenant);
  const left = Object.values(await countRowsByTable(there.database, tenant.shopKey));
  assert.deepEqual(new Set(left), new Set([0]));
  assert.equal(await statusOf(here, tenant), 200);
  await assert.rejects(cancelMove(tenant), /is not moving there/u);
});

/** States of the other installation that a move refuses: a change there, what undoes it, and the sentence. */
const REFUSALS: Readonly<
  Record<string, (tenant: Tenant) => [change: string, undo: string, sentence: RegExp]>
> = {
  "another workspace with the key": ({ shopKey }) => [
    `insert into shop_directory (shop_key, shop_domain) overriding system value values (${shopKey}, 'other.example')`,
    `delete from shop_directory where shop_key = ${shopKey}`,
    /has another workspace with the shop key \d+\. Nothing was moved\./u,
  ],
  "rows of another workspace with the key": ({ shopKey }) => [
    `insert into workspace (shop_key, organization_id, shop_id, shop_domain, currency_code, plan_key)
       values (${shopKey}, 'o', 'another', 'other.example', 'EUR', 'growth')`,
    `delete from workspace where shop_key = ${shopKey}`,
    /has another workspace with the shop key \d+/u,
  ],
  "the domain": ({ shopDomain }) => [
    `insert into shop_directory (shop_domain) values ('${shopDomain}')`,
    `delete from shop_directory where shop_domain = '${shopDomain}'`,
    /has a workspace shop-\d+\.example\. Nothing was moved\./u,
  ],
  "a range with the key": () => [
    "alter table shop_directory alter column shop_key set minvalue 1 set start with 1",
    "alter table shop_directory alter column shop_key set minvalue 916132832 set start with 916132832",
    /assigns the shop keys 1 to 1832265663, among them \d+ of shop-\d+\.example: set SHOP_KEY_RANGE there/u,
  ],
  "another schema level": () => [
    "update schema_migration set name = '0099_later' where id = (select max(id) from schema_migration)",
    "update schema_migration set name = (select name from here_last) where name = '0099_later'",
    /schemas of the two installations differ \(\d{4}_\w+ here, 0099_later there\)/u,
  ],
  "other keys": () => [
    "update installation set secret_fingerprint = sha256('another')",
    `delete from installation; ${KEEP_TEST_KEYS}`,
    /has its own keys, so no token would work there/u,
  ],
  "another plan of the name": ({ shopKey }) => [
    `update plan set daily_quota = 3 where plan_key = 'plan-${shopKey}'`,
    `update plan set daily_quota = null where plan_key = 'plan-${shopKey}'`,
    /The plan plan-\d+ of shop-\d+\.example is not the same in the other installation/u,
  ],
};

test("a move into an installation in such a state is refused, and nothing stops; afterwards the move works", async () => {
  const tenant = await fullTenant();
  await execute(
    there.databaseUrl,
    "create table here_last as select name from schema_migration order by id desc limit 1",
  );
  for (const [what, of] of Object.entries(REFUSALS)) {
    const [change, undo, sentence] = of(tenant);
    await execute(there.databaseUrl, change);
    await assert.rejects(moveNow(tenant), sentence, what);
    assert.equal(await statusOf(here, tenant), 200, what);
    await execute(there.databaseUrl, undo);
  }
  await execute(there.databaseUrl, "drop table here_last");
  await moveNow(tenant);
  assert.equal(await statusOf(there, tenant), 200);
});

test("a new installation gets the keys with its first workspace, and the map lists the moved workspace", async () => {
  const tenant = await fullTenant();
  const { database } = there.installation;
  const { lines } = await proxyMap(database, { format: "nginx", address: "http://b:1", ofRange: false });
  const prefix = tenant.token.slice("rta_live_".length, "rta_live_".length + 11);
  assert.ok(!lines.includes(`"~^${prefix}" http://b:1;`));
  await execute(there.databaseUrl, "delete from installation");
  await moveNow(tenant);
  const { rows } = await there.database.query("select secret_fingerprint from installation");
  assert.deepEqual(rows, (await here.database.query("select secret_fingerprint from installation")).rows);
  const moved = await proxyMap(database, { format: "nginx", address: "http://b:1", ofRange: false });
  assert.ok(moved.lines.includes(`"~^${prefix}" http://b:1;`));
  const range = await proxyMap(database, { format: "caddy", address: "b:1", ofRange: true });
  assert.deepEqual(range.lines, ['"~^000001" b:1']);
  await assert.rejects(
    proxyMap(database, { format: "apache", address: "b", ofRange: true }),
    /must be nginx or caddy/u,
  );
});
