import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { runAction } from "../src/actions/action.ts";
import { textInput } from "../src/actions/field.ts";
import { eraseWorkspace, keepWorkspace } from "../src/actions/workspace/actions.ts";
import { OPERATOR } from "../src/actions/actor.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { importFolder } from "../src/sync/connectors/csv/import-folder.ts";
import { startDueRun } from "../src/sync/run-record.ts";
import { listQueued, queueConnection } from "../src/store/queries/run-queue.ts";
import { requestRun } from "../src/store/queries/sync-request.ts";
import { pollPlace } from "../src/worker/poll.ts";
import { eraseDue } from "../src/worker/upkeep.ts";
import { PAGES, SETTINGS } from "../src/console/registry.ts";
import { csv, withFolder } from "./support/import-workspace.ts";
import { countRowsByTable } from "./support/rows-by-table.ts";
import { leastParameters } from "./support/requests.ts";
import { startBeside, startTestService, type ServiceCaller } from "./support/service.ts";
import { actAs, type Member } from "./support/scene.ts";
import { createSmallStore } from "./support/small-store.ts";
import type { Tenant } from "./support/tenants.ts";
import { workerOptions } from "./support/worker.ts";
import { operatorOf } from "./support/workspace.ts";
import { use } from "./support/use.ts";

/** A workspace that is scheduled for erasure: nothing of it is served, the erasure can be canceled, then everything is deleted. */

const DAY_MS = 86_400_000;

const service = use(startTestService);

async function ownedTenant(): Promise<{ tenant: Tenant; owner: Member }> {
  const tenant = await createSmallStore(service.database);
  return { tenant, owner: await actAs(service, tenant) };
}

/** The status of every endpoint on a server. */
async function statusesOf(call: ServiceCaller, { token }: Tenant): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  for (const endpoint of ENDPOINTS) {
    statuses[endpoint.name] = (
      await call(endpoint.path, { token, params: leastParameters(endpoint) })
    ).status;
  }
  return statuses;
}

const ALL = (status: number): Record<string, number> =>
  Object.fromEntries(ENDPOINTS.map(({ name }) => [name, status]));

async function operator({ shopDomain }: Tenant, now = new Date()) {
  const { database } = service.installation;
  return operatorOf(database, await requireWorkspace(database, shopDomain), now);
}

/** Requests the erasure as the operator does. */
const erase = async (tenant: Tenant, { typed = tenant.shopDomain, now = new Date() } = {}) =>
  runAction(eraseWorkspace, await operator(tenant, now), textInput({ domain: typed }));

const keep = async (tenant: Tenant) => runAction(keepWorkspace, await operator(tenant), textInput({}));

async function eraseAfter({ shopKey }: Tenant): Promise<Date | null> {
  const { rows } = await service.database.query<{ erase_after: Date | null }>(
    "select erase_after from workspace where shop_key = $1",
    [shopKey],
  );
  return rows[0]?.erase_after ?? null;
}

test("serving stops at once on every server, and canceling restores everything", async (context: TestContext) => {
  const { tenant, owner } = await ownedTenant();
  const other = await startBeside(context, service);
  // Answers that both servers have cached are not served either.
  assert.deepEqual(await statusesOf(service.call, tenant), ALL(200));
  assert.deepEqual(await statusesOf(other.call, tenant), ALL(200));
  const rowsBefore = await countRowsByTable(service.database, tenant.shopKey);

  const response = await owner.post("/settings/data/erase", { domain: tenant.shopDomain });
  assert.deepEqual([response.status, response.location], [303, "/settings/data"]);
  for (const call of [service.call, other.call]) {
    assert.deepEqual(await statusesOf(call, tenant), ALL(409));
    const answer = await call("/api/v1/alerts", { token: tenant.token });
    assert.equal(
      answer.message(),
      "The workspace is not ready (erasing): it is scheduled for erasure, which an owner can cancel.",
    );
  }
  for (const { path } of PAGES) {
    const page = await owner.get(path);
    assert.equal(page.status, 409, path);
    assert.match(page.text, /will be erased/u);
    assert.ok(page.text.includes(`href="/w/${tenant.shopDomain}/settings/data"`));
  }
  const file = await owner.get("/export/report.csv?start_month=2025-01&end_month=2026-03");
  assert.equal(file.status, 409);
  for (const { path } of SETTINGS.filter((each) => !each.path.includes(":"))) {
    const page = await owner.get(path);
    assert.equal(page.status, 200, path);
    assert.match(page.text, /class="banner warn">\s*This workspace will be erased after/u, path);
  }

  assert.equal((await owner.post("/settings/data/keep", {})).status, 303);
  for (const call of [service.call, other.call]) {
    assert.deepEqual(await statusesOf(call, tenant), ALL(200));
  }
  const since = await countRowsByTable(service.database, tenant.shopKey);
  assert.deepEqual(since, {
    ...rowsBefore,
    audit_event: (rowsBefore["audit_event"] ?? 0) + 2,
    daily_usage: since["daily_usage"],
    // Written every few seconds.
    usage_detail: since["usage_detail"],
  });
});

test("the domain has to be typed, and an owner needs a recent confirmation of identity", async () => {
  const { tenant, owner } = await ownedTenant();
  const wrong = await owner.post("/settings/data/erase", { domain: "other.<b>example" });
  assert.equal(wrong.status, 400);
  const page = wrong.text;
  assert.match(page, /Type the domain of this workspace, \S+, to have it erased\./u);
  assert.match(page, /value="other\.&lt;b&gt;example"/u);
  assert.equal((await owner.post("/settings/data/erase", {})).status, 400, "nothing was typed");
  await service.database.query("update console_session set proved_at = now() - interval '11 minutes'");
  for (const path of ["/settings/data/erase", "/settings/data/export"]) {
    const stale = await owner.post(path, { domain: tenant.shopDomain });
    assert.equal(stale.status, 403, path);
    assert.match(stale.text, /href="\/confirm\?next=/u);
  }
  assert.equal(await eraseAfter(tenant), null);
  for (const role of ["admin", "viewer"]) {
    await service.database.query("update console_session set proved_at = now()");
    await service.database.query("update workspace_member set role = $2 where shop_key = $1", [
      tenant.shopKey,
      role,
    ]);
    for (const path of ["erase", "export", "keep"]) {
      const refused = await owner.post(`/settings/data/${path}`, { domain: tenant.shopDomain });
      assert.equal(refused.status, 403, `${role} ${path}`);
    }
    const shown = await owner.get("/settings/data");
    assert.equal(shown.status, 200);
    // An admin may give the workspace a name there.
    const forms = [...shown.text.matchAll(/action="[^"]*(\/settings\/data[^"]*)"/gu)].map(([, path]) => path);
    assert.deepEqual(forms, role === "admin" ? ["/settings/data/name"] : []);
  }
  assert.equal(await eraseAfter(tenant), null);
});

test("a second request and a second cancellation are refused in one sentence", async () => {
  const { tenant } = await ownedTenant();
  const now = new Date("2026-11-22T12:00:00Z");
  const request = { typed: ` ${tenant.shopDomain.toUpperCase()} `, now };
  const { result } = await erase(tenant, request);
  assert.equal(result.erase_after.toISOString(), "2026-11-29T12:00:00.000Z");
  await assert.rejects(erase(tenant, request), / has already been requested\./u);
  await keep(tenant);
  await assert.rejects(keep(tenant), /there is nothing to cancel\./u);
  const { rows } = await service.database.query(
    `select is_of_installation, action, before, detail from (
       select false as is_of_installation, happened_at, action, before, detail from audit_event
        union all select true, happened_at, action, before, detail from identity_event) a
      where action like 'workspace.%' and detail ->> 'shop_domain' = $1 order by happened_at, is_of_installation desc`,
    [tenant.shopDomain],
  );
  const asked = { shop_domain: tenant.shopDomain, erase_after: "2026-11-29T12:00:00.000Z" };
  const kept = { shop_domain: tenant.shopDomain, erase_after: null };
  assert.deepEqual(
    rows,
    [
      { action: "workspace.erase", before: { erase_after: null }, detail: asked },
      { action: "workspace.keep", before: { erase_after: "2026-11-29T12:00:00.000Z" }, detail: kept },
    ].flatMap((event) => [true, false].map((is_of_installation) => ({ is_of_installation, ...event }))),
  );
});

test("no run begins and no folder is imported until the erasure is canceled", async () => {
  const { tenant } = await ownedTenant();
  const { shopKey } = tenant;
  const { database } = service.installation;
  await service.database.query(
    "update data_source set is_connection = true, sealed_credentials = '\\x00' where shop_key = $1",
    [shopKey],
  );
  const place = { shopKey, source: "csv" };
  await queueConnection(database, shopKey, "csv", "store", null);
  await requestRun(database, { ...place, kind: "incremental", requestedBy: "operator" });
  await service.database.query("update sync_run set status = 'succeeded'");
  const look = async (): Promise<boolean> => {
    const queued = (await listQueued(database, 1000)).find((row) => row.shop_key === shopKey);
    if (queued === undefined) return false;
    const options = workerOptions({ database, url: service.installation.databaseUrl }, []);
    await pollPlace(options, { place, stop: new AbortController().signal, show: () => {} });
    return true;
  };
  await erase(tenant);
  assert.ok(await look(), "it was asked for");
  assert.equal(await look(), false, "nobody looks at it again");
  assert.equal(await startDueRun(database, place), null);
  await service.database.query("update data_source set sealed_credentials = null where shop_key = $1", [
    shopKey,
  ]);
  const files = {
    "order_lines.csv": csv("order_id,line_id,ordered_at,units", "o1,l1,2025-01-05T10:00:00Z,3"),
  };
  await withFolder(files, async (folder) => {
    const importing = importFolder({
      database,
      actor: OPERATOR,
      shopKey,
      currencyCode: "EUR",
      folder,
      asOf: new Date(),
      now: new Date(),
      skipInvalid: false,
    });
    await assert.rejects(importing, /The workspace is going to be erased\./u);
  });
  await keep(tenant);
  assert.ok(await look(), "what was asked for has waited");
});

test("upkeep erases it when its time has come, not before, and keeps the installation's audit record", async () => {
  const { database } = service.installation;
  const { tenant } = await ownedTenant();
  const { tenant: staying } = await ownedTenant();
  const kept = await countRowsByTable(service.database, staying.shopKey);
  const now = new Date();
  const workspace = await requireWorkspace(database, tenant.shopDomain);
  await erase(tenant, { now });
  await eraseDue(database, tenant.shopKey, new Date(now.getTime() + 7 * DAY_MS - 1));
  assert.equal((await service.call("/api/v1/alerts", { token: tenant.token })).status, 409);

  await eraseDue(database, tenant.shopKey, new Date(now.getTime() + 7 * DAY_MS));
  const left = await countRowsByTable(service.database, tenant.shopKey);
  assert.deepEqual(
    Object.keys(left).filter((table) => left[table] !== 0),
    [],
  );
  assert.deepEqual(await countRowsByTable(service.database, staying.shopKey), kept);
  assert.equal((await service.call("/api/v1/alerts", { token: tenant.token })).status, 401);
  const { rows } = await service.database.query(
    "select actor, action, detail from identity_event where detail ->> 'shop_domain' = $1 order by happened_at",
    [tenant.shopDomain],
  );
  assert.deepEqual(rows.at(-1), {
    actor: "upkeep",
    action: "workspace.delete",
    detail: { shop_domain: tenant.shopDomain },
  });
  const late = runAction(keepWorkspace, operatorOf(database, workspace), textInput({}));
  await assert.rejects(late, /nothing to cancel/u);
});

test("an interrupted erasure leaves the whole workspace, and the next upkeep erases it", async () => {
  const { database } = service.installation;
  const { tenant } = await ownedTenant();
  await erase(tenant, { now: new Date(0) });
  const rowsBefore = await countRowsByTable(service.database, tenant.shopKey);
  // The members are deleted last: a lock on them keeps the erasure from committing.
  const holder = await service.database.connect();
  await holder.query("begin");
  await holder.query("select 1 from workspace_member where shop_key = $1 for update", [tenant.shopKey]);
  const cut = eraseDue(database, tenant.shopKey, new Date());
  const isCut = assert.rejects(cut);
  const waiting =
    "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%workspace_member%' and datname = current_database()";
  let pid: number | undefined;
  while (pid === undefined) {
    const { rows } = await service.database.query<{ pid: number }>(waiting);
    pid = rows[0]?.pid;
  }
  await service.database.query("select pg_terminate_backend($1::integer)", [pid]);
  await isCut;
  await holder.query("rollback");
  holder.release();
  assert.deepEqual(await countRowsByTable(service.database, tenant.shopKey), rowsBefore);
  await eraseDue(database, tenant.shopKey, new Date());
  const left = await countRowsByTable(service.database, tenant.shopKey);
  assert.ok(Object.values(left).every((rows) => rows === 0));
});
