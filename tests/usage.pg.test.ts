import assert from "node:assert/strict";
import { test } from "node:test";
import { OPERATOR } from "../src/actions/actor.ts";
import { showUsage, type Usage } from "../src/actions/usage/usage.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { runCommand } from "./support/command.ts";
import { post, toolCall } from "./support/mcp.ts";
import { waitOutMidnight } from "./support/midnight.ts";
import { startServerProcess } from "./support/server-process.ts";
import { serviceEnvironment, startBeside } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import {
  changeWorkspace,
  countedRequests,
  createTenant,
  createTokenOf,
  insertRows,
} from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { eventually } from "./support/worker.ts";

/** The counting of requests by endpoint and outcome, from the request to the page's figures. */

await waitOutMidnight();

const ALERTS = "/api/v1/alerts";

type Detail = { outcome: string; surface: string; endpoint: string; requests: number; quota: number };

/** The stored usage details of a workspace. */
async function detailsOf({ shopKey }: Tenant): Promise<Detail[]> {
  const { rows } = await service.database.query<Detail>(
    `select outcome, surface, endpoint, sum(requests)::integer as requests, sum(quota_requests)::integer as quota
       from usage_detail where shop_key = $1 group by 1, 2, 3 order by 1, 2, 3`,
    [shopKey],
  );
  return rows;
}

async function detailed(tenant: Tenant): Promise<number> {
  return (await detailsOf(tenant)).reduce((sum, { requests }) => sum + requests, 0);
}

async function usageOf({ shopDomain }: Tenant, now = new Date()): Promise<Usage> {
  const { database } = service.installation;
  return showUsage(database, OPERATOR, await requireWorkspace(database, shopDomain), {
    now,
    keepUsageDays: 400,
  });
}

test("every request of a known workspace is counted, whatever its outcome; SIGTERM loses none", async (context) => {
  const server = await startServerProcess(context, service.databaseUrl, { CONSOLE: "off" });
  const tenant = await createTenant(service.database, { dailyQuota: 5 });
  const { token } = tenant;
  const ask = async (params: Record<string, string>, status: number, use = token): Promise<void> =>
    assert.equal((await server.call(ALERTS, { token: use, params })).status, status);
  await ask({}, 200);
  await ask({ limit: "none" }, 400);
  await ask({ unheard_of: "1" }, 400);
  const tool = await post(server.address, toolCall("list_alerts", { limit: 1 }), { token });
  assert.equal(tool.status, 200);
  await post(server.address, toolCall("list_alerts", { limit: -1 }), { token });
  await ask({}, 429);
  const narrow = await createTokenOf(service.database, tenant.shopKey, { scopes: ["read:reports"] });
  await ask({}, 403, narrow.token);
  await changeWorkspace(service.database, tenant, { billing_status: "inactive" });
  await ask({}, 403);
  await changeWorkspace(service.database, tenant, { billing_status: "active", readiness: "installing" });
  await ask({}, 409);
  await ask({}, 401, `${token.slice(0, -1)}${token.endsWith("x") ? "y" : "x"}`);
  const revoked = await createTokenOf(service.database, tenant.shopKey, {
    revokedAt: "2026-01-01T00:00:00Z",
  });
  await ask({}, 401, revoked.token);
  assert.deepEqual(await detailsOf(tenant), [], "nothing is written while requests are answered");
  server.signal("SIGTERM");
  assert.equal(await server.ended, 0);
  assert.deepEqual(await detailsOf(tenant), [
    { outcome: "forbidden", surface: "rest", endpoint: "alerts", requests: 2, quota: 0 },
    { outcome: "invalid_request", surface: "mcp", endpoint: "alerts", requests: 1, quota: 1 },
    { outcome: "invalid_request", surface: "rest", endpoint: "alerts", requests: 2, quota: 2 },
    { outcome: "not_ready", surface: "rest", endpoint: "alerts", requests: 1, quota: 0 },
    { outcome: "ok", surface: "mcp", endpoint: "alerts", requests: 1, quota: 1 },
    { outcome: "ok", surface: "rest", endpoint: "alerts", requests: 1, quota: 1 },
    { outcome: "rate_limited", surface: "rest", endpoint: "alerts", requests: 1, quota: 0 },
  ]);
  const usage = await usageOf(tenant);
  assert.equal(await countedRequests(service.database, tenant), 5);
  assert.deepEqual(usage.by_day.at(-1), {
    day: usage.to_day,
    quota_requests: 5,
    other_requests: 4,
    missing_requests: 0,
  });
  assert.deepEqual(usage.refusals, [
    { code: "invalid_request", requests: 3 },
    { code: "forbidden", requests: 2 },
    { code: "not_ready", requests: 1 },
    { code: "rate_limited", requests: 1 },
  ]);
});

test("SIGKILL loses at most details that were not yet written; the totals stay exact, and the loss is shown", async (context) => {
  const tenant = await createTenant(service.database);
  const server = await startServerProcess(context, service.databaseUrl);
  const ask = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      assert.equal((await server.call(ALERTS, { token: tenant.token })).status, 200);
    }
  };
  await ask(3);
  await eventually(async () => (await detailed(tenant)) === 3, "the first counts are written", 20);
  await ask(2);
  server.signal("SIGKILL");
  await server.ended;
  const missing = 5 - (await detailed(tenant));
  assert.ok(missing >= 0 && missing <= 2, `${missing} are missing`);
  assert.equal(await countedRequests(service.database, tenant), 5);
  assert.equal((await usageOf(tenant)).by_day.at(-1)?.missing_requests, missing);
});

test("two servers add to the same counts; without a daily limit, requests are only counted in the details", async (context) => {
  const tenant = await createTenant(service.database);
  const unlimited = await createTenant(service.database, { dailyQuota: null });
  const servers = await Promise.all([1, 2].map(() => startBeside(context, service)));
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) => servers[index % 2]?.call(ALERTS, { token: tenant.token })),
  );
  await servers[0]?.call(ALERTS, { token: unlimited.token, isUnlimited: true });
  await Promise.all(servers.map((server) => server.stop()));
  const usage = await usageOf(unlimited);
  assert.equal(usage.daily_quota, null);
  const [day, none] = [usage.to_day, { quota_requests: 0, missing_requests: 0 }];
  assert.deepEqual(usage.by_day.at(-1), { day, other_requests: 1, ...none });
  assert.deepEqual(await detailsOf(tenant), [
    { outcome: "ok", surface: "rest", endpoint: "alerts", requests: 20, quota: 20 },
  ]);
});

test("a workspace that is deleted before its requests are written leaves nothing, and no other loses anything", async (context) => {
  const [gone, stays] = [await createTenant(service.database), await createTenant(service.database)];
  const server = await startBeside(context, service);
  for (const { token } of [gone, stays]) await server.call(ALERTS, { token });
  await service.database.query("delete from workspace where shop_key = $1", [gone.shopKey]);
  await server.stop();
  assert.deepEqual([await detailed(gone), await detailed(stays)], [0, 1]);
});

test("the command prints the figures of the page, for the given number of days", async () => {
  const tenant = await createTenant(service.database, { dailyQuota: 1000 });
  const today = new Date().toISOString().slice(0, 10);
  const { shopKey: shop_key, tokenId: token_id, shopDomain } = tenant;
  await insertRows(service.database, "daily_usage", [{ shop_key, day: today, requests: 12 }]);
  const row = { shop_key, day: today, token_id, endpoint: "summary", surface: "rest" };
  await insertRows(service.database, "usage_detail", [
    { ...row, outcome: "ok", requests: 9, quota_requests: 9 },
    { ...row, outcome: "forbidden", requests: 1, quota_requests: 0 },
  ]);
  const run = async (...words: string[]) =>
    runCommand(["usage", "--workspace", shopDomain, ...words], serviceEnvironment(service.databaseUrl));
  const json = await run("--days", "2", "--json");
  const usage = JSON.parse(json.stdout) as Usage;
  assert.equal(usage.by_day.length, 2);
  assert.deepEqual(usage.by_token, [{ key: token_id, requests: 10, refused_requests: 1, name: "reporting" }]);
  assert.deepEqual(
    { ...usage, from_day: null, by_day: usage.by_day.slice(-1), today: { ...usage.today, forecast: null } },
    JSON.parse(
      JSON.stringify({
        ...(await usageOf(tenant)),
        from_day: null,
        by_day: usage.by_day.slice(-1),
        today: { ...(await usageOf(tenant)).today, forecast: null },
      }),
    ),
  );
  const text = await run();
  assert.match(text.stdout, new RegExp(`token +reporting \\(${token_id}\\) +10 +1`, "u"));
  assert.match(text.stderr, /^Today: 12 of 1,?000 requests; the quota resets at .*T00:00:00\.000Z\./u);
  assert.match(text.stderr, /The details lack 3 requests of the totals/u);
  const refused = await run("--days", "401");
  assert.deepEqual(
    [refused.code, refused.stderr],
    [2, "The number of days must be a whole number from 1 to 400.\n"],
  );
});
