import assert from "node:assert/strict";
import { test } from "node:test";
import { createAdmit } from "../src/access/admit.ts";
import { ApiError, type QuotaState } from "../src/contract/errors.ts";
import { deriveKeys } from "../src/lib/keys.ts";
import { openControlDatabase } from "./support/control.ts";
import { waitOutMidnight } from "./support/midnight.ts";
import { TEST_SECRET } from "./support/secret.ts";
import {
  changePlan,
  countedRequests,
  createTenant,
  insertRows,
  changeWorkspace,
  createTokenOf,
} from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import type { Operation } from "../src/access/operation.ts";
import { filledPath, SCOPES } from "../src/contract/endpoint.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { createMcpRoutes } from "../src/mcp/transport.ts";
import { MCP_PATH, post, toolCall, withServer } from "./support/mcp.ts";
import { leastParameters, USUAL_PATH_VALUES } from "./support/requests.ts";
import { send, startBeside, type WireAnswer } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { withoutTable } from "./support/table-away.ts";
import { use } from "./support/use.ts";

const NEED = { scope: "read:alerts", entitlements: ["api_access"], counted: true } as const;

const control = use(() => openControlDatabase({ maxConnections: 8, applicationName: "returns-admission" }));
const openGuard = () =>
  createAdmit({ database: control.database, pepper: deriveKeys(TEST_SECRET).tokenPepper });

/** Admits a request at a given time; null = over the quota. */
async function admitAt(tenant: Tenant, now: Date): Promise<QuotaState | null> {
  try {
    return (await openGuard()(`Bearer ${tenant.token}`, NEED, now)).quota;
  } catch (error) {
    assert.ok(error instanceof ApiError && error.code === "rate_limited", String(error));
    assert.equal(error.quota?.used, error.quota?.limit);
    return null;
  }
}

test("three servers, 100 requests left, 500 at once: exactly 100 pass", async (context) => {
  const tenant = await createTenant(control.pool, { dailyQuota: 1000 });
  await insertRows(control.pool, "daily_usage", [
    { shop_key: tenant.shopKey, day: new Date().toISOString().slice(0, 10), requests: 900 },
  ]);
  const servers = await Promise.all([1, 2, 3].map(() => startBeside(context, { databaseUrl: control.url })));
  const answers = await Promise.all(
    Array.from({ length: 500 }, async (_, index) =>
      servers[index % 3]?.call("/api/v1/alerts", { token: tenant.token }),
    ),
  );
  const passed = answers.filter((answer) => answer?.status === 200);
  const refused = answers.filter((answer) => answer?.status === 429);
  assert.deepEqual([passed.length, refused.length], [100, 400]);
  const remaining = passed.map((answer) => Number(answer?.headers.get("x-ratelimit-remaining")));
  assert.deepEqual(
    remaining.toSorted((left, right) => left - right),
    Array.from({ length: 100 }, (_, index) => index),
    "each passing request saw a count of its own",
  );
  assert.equal(await countedRequests(control.pool, tenant), 1000);
});

test("across midnight UTC each day has its own quota: neither doubled nor negative", async () => {
  const tenant = await createTenant(control.pool, { dailyQuota: 20 });
  const lastInstant = new Date("2026-03-31T23:59:59.999Z");
  const firstInstant = new Date("2026-04-01T00:00:00.000Z");
  const states = await Promise.all(
    Array.from({ length: 120 }, async (_, index) => {
      const now = index % 2 === 0 ? lastInstant : firstInstant;
      return { now, quota: await admitAt(tenant, now) };
    }),
  );
  for (const [now, resetsAt] of [
    [lastInstant, "2026-04-01T00:00:00.000Z"],
    [firstInstant, "2026-04-02T00:00:00.000Z"],
  ] as const) {
    const passed = states.filter((state) => state.now === now && state.quota !== null);
    assert.deepEqual(
      passed.map((state) => state.quota?.used ?? 0).toSorted((left, right) => left - right),
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
    assert.ok(passed.every((state) => state.quota?.resetsAt.toISOString() === resetsAt));
  }
  assert.equal(await countedRequests(control.pool, tenant), 40);
});

test("the seconds to wait at the end of a day are at least one, and never more than the day has left", async () => {
  const tenant = await createTenant(control.pool, { dailyQuota: 0 });
  const admit = openGuard();
  for (const [now, seconds] of [
    ["2026-03-31T23:59:59.999Z", 1],
    ["2026-03-31T23:59:00.000Z", 60],
    ["2026-04-01T00:00:00.000Z", 86_400],
  ] as const) {
    await assert.rejects(admit(`Bearer ${tenant.token}`, NEED, new Date(now)), {
      code: "rate_limited",
      retryAfterSeconds: seconds,
    });
  }
});

test("a quota lowered below the used requests leaves 0, never a negative number", async () => {
  const tenant = await createTenant(control.pool, { dailyQuota: 5 });
  const now = new Date("2026-05-01T12:00:00Z");
  for (let used = 1; used <= 5; used++) assert.equal((await admitAt(tenant, now))?.used, used);
  await changePlan(control.pool, tenant, { dailyQuota: 3 });
  const admit = openGuard();
  await assert.rejects(admit(`Bearer ${tenant.token}`, NEED, now), { code: "rate_limited" });
  await changePlan(control.pool, tenant, { dailyQuota: 6 });
  assert.equal((await admitAt(tenant, now))?.used, 6);
  assert.equal(await admitAt(tenant, now), null);
});

test("a message that does not count passes with a used-up quota, uncounted", async () => {
  const tenant = await createTenant(control.pool, { dailyQuota: 0, readiness: "installing" });
  const admit = openGuard();
  await admit(`Bearer ${tenant.token}`, { scope: null, entitlements: ["api_access"], counted: false });
  assert.equal(await countedRequests(control.pool, tenant), 0);
});

test("the last use of a token is at most 15 minutes stale, and not written with each request", async () => {
  const tenant = await createTenant(control.pool);
  const lastUse = async () => {
    const { rows } = await control.pool.query<{ last_used_at: Date; version: string }>(
      "select last_used_at, xmin::text as version from api_token where token_id = $1",
      [tenant.tokenId],
    );
    return { at: rows[0]?.last_used_at.toISOString(), version: rows[0]?.version };
  };
  await admitAt(tenant, new Date("2026-05-01T12:00:00Z"));
  const first = await lastUse();
  assert.equal(first.at, "2026-05-01T12:00:00.000Z");
  for (const time of ["12:00:01", "12:07:00", "12:15:00"]) {
    await admitAt(tenant, new Date(`2026-05-01T${time}Z`));
  }
  assert.deepEqual(await lastUse(), first);
  await admitAt(tenant, new Date("2026-05-01T12:15:01Z"));
  assert.equal((await lastUse()).at, "2026-05-01T12:15:01.000Z");
});

/** The specification: the headers are on 200, 400, 409, 429 and 500 of a limited plan, never on 401 and 403. */

const QUOTA = 100;

await waitOutMidnight();
const tenant = await createSmallStore(service.database, { dailyQuota: QUOTA });

/** The status, and how many of the three headers there are; the URL is sent unchanged. */
async function ask(url: string, token: string | null, method = "GET"): Promise<[number, number, number]> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  return countHeaders(await send(service.address + url, { method, headers }));
}

function countHeaders({ status, headers }: Omit<WireAnswer, "text">): [number, number, number] {
  const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) =>
    headers.get(`x-ratelimit-${name}`),
  );
  const given = [limit, remaining, reset].filter((value) => typeof value === "string");
  return [status, given.length, Number(remaining ?? -1)];
}

for (const endpoint of ENDPOINTS) {
  const { name } = endpoint;
  const path = filledPath(endpoint.path, USUAL_PATH_VALUES);
  const query = `?${new URLSearchParams(leastParameters(endpoint)).toString()}`;

  test(`${name}: the headers are on each 200, 400, 409, 429 and 500, and on no 401 and 403`, async () => {
    await changePlan(service.database, tenant, { dailyQuota: QUOTA });
    await service.database.query("delete from daily_usage where shop_key = $1", [tenant.shopKey]);
    const { token } = tenant;
    assert.deepEqual(await ask(path + query, token), [200, 3, 99]);
    assert.deepEqual(await ask(`${path}${query}&unknown=1`, token), [400, 3, 98]);
    assert.deepEqual(await ask(`${path}?%zz`, token), [400, 3, 97]);
    // Requests that cannot be routed are not counted.
    for (const broken of [`${path}%zz`, `${path}/%ED%A0%80${query}`]) {
      assert.deepEqual(await ask(broken, token), [400, 3, 97], broken);
      assert.deepEqual(await ask(broken, null), [400, 0, -1], broken);
      assert.deepEqual(await ask(broken, token.replace(/.$/u, "!")), [400, 0, -1], broken);
    }
    // A new data version: nothing of it is cached.
    await service.database.query("update workspace set data_version = data_version + 1 where shop_key = $1", [
      tenant.shopKey,
    ]);
    await withoutTable(service.database, name === "alerts" ? "alert" : tableOf(name), async () =>
      assert.deepEqual(await ask(path + query, token), [500, 3, 96]),
    );
    await changeWorkspace(service.database, tenant, { readiness: "backfilling" });
    assert.deepEqual(await ask(path + query, token), [409, 3, 96]);
    await changeWorkspace(service.database, tenant, { readiness: "ready" });
    await changePlan(service.database, tenant, { dailyQuota: 4 });
    assert.deepEqual(await ask(path + query, token), [429, 3, 0]);
    assert.deepEqual(await ask(path + query, null), [401, 0, -1]);
    const scopes = SCOPES.filter((scope) => scope !== endpoint.scope);
    const { token: other } = await createTokenOf(service.database, tenant.shopKey, { scopes });
    assert.deepEqual(await ask(path + query, other), [403, 0, -1]);
  });
}

function tableOf(name: string): string {
  return name === "entities" ? "entity" : name.startsWith("return-") ? "sku_quarter" : "cohort";
}

test("an unlimited plan has no headers at a broken path, and neither has one with inactive billing", async () => {
  const free = await createTenant(service.database, { dailyQuota: null });
  assert.deepEqual(await ask("/api/v1/%zz", free.token), [400, 0, -1]);
  const inactive = await createTenant(service.database, { billingStatus: "inactive" });
  assert.deepEqual(await ask("/api/v1/%zz", inactive.token), [400, 0, -1]);
});

test("MCP: an invalid message and a broken path have the headers", async () => {
  const counted = await createTenant(service.database, { dailyQuota: QUOTA });
  const { token } = counted;
  assert.deepEqual(countHeaders(await post(service.address, "{", { token })), [400, 3, 100]);
  assert.deepEqual(await ask(`${MCP_PATH}%zz`, token, "POST"), [400, 3, 100]);
});

test("a workspace that loses its plan or is erased during the request is answered without the headers", async () => {
  const quota = { limit: 10, used: 1, resetsAt: new Date("2026-11-24T00:00:00Z") };
  for (const [code, status] of [
    ["unauthorized", 401],
    ["forbidden", 403],
  ] as const) {
    const operations = ENDPOINTS.map((endpoint): Operation => {
      const refuse = () => Promise.reject(new ApiError(code, "Ended meanwhile."));
      return {
        endpoint,
        read: refuse,
        perform: async (_request, onAdmitted) => {
          onAdmitted(quota, "token");
          return refuse();
        },
      };
    });
    const admit = () => Promise.reject(new ApiError("unauthorized", "Nobody."));
    await withServer(
      {
        operations,
        routeGroups: [createMcpRoutes({ operations, admit, allowedOrigins: [], publicOrigin: null })],
      },
      async (address) => {
        for (const { path } of ENDPOINTS) {
          const answer = await fetch(address + filledPath(path, USUAL_PATH_VALUES));
          assert.deepEqual(countHeaders(answer), [status, 0, -1], path);
        }
        const call = await post(address, toolCall("list_entities"), { token: "any" });
        assert.deepEqual(countHeaders(call), [status, 0, -1]);
      },
    );
  }
});
