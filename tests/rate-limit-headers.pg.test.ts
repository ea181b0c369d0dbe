import assert from "node:assert/strict";
import { test } from "node:test";
import type { Operation } from "../src/access/operation.ts";
import { filledPath, SCOPES } from "../src/contract/endpoint.ts";
import { ApiError } from "../src/contract/errors.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { createMcpRoutes } from "../src/mcp/transport.ts";
import { MCP_PATH, post, toolCall, withServer } from "./support/mcp.ts";
import { waitOutMidnight } from "./support/midnight.ts";
import { leastParameters, USUAL_PATH_VALUES } from "./support/requests.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { withoutTable } from "./support/table-away.ts";
import { changePlan, changeWorkspace, createTenant, createTokenOf } from "./support/tenants.ts";

/** The specification: the headers stand on 200, 400, 409, 429 and 500 of a finite plan, never on 401 and 403. */

const QUOTA = 100;

await waitOutMidnight();
const tenant = await createSmallStore(service.database, { dailyQuota: QUOTA });

/** The status, and how many of the three headers there are; the URL is sent as it is. */
async function ask(url: string, token: string | null, method = "GET"): Promise<[number, number, number]> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  return countHeaders(await fetch(service.address + url, { method, headers }));
}

function countHeaders({ status, headers }: Pick<Response, "status" | "headers">): [number, number, number] {
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
    // What cannot be routed is not counted.
    for (const broken of [`${path}%zz`, `${path}/%ED%A0%80${query}`]) {
      assert.deepEqual(await ask(broken, token), [400, 3, 97], broken);
      assert.deepEqual(await ask(broken, null), [400, 0, -1], broken);
      assert.deepEqual(await ask(broken, token.replace(/.$/u, "!")), [400, 0, -1], broken);
    }
    // Nothing of another data version is in the cache.
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

test("an unlimited plan has none at a broken path, and one whose billing ended none either", async () => {
  const free = await createTenant(service.database, { dailyQuota: null });
  assert.deepEqual(await ask("/api/v1/%zz", free.token), [400, 0, -1]);
  const inactive = await createTenant(service.database, { billingStatus: "inactive" });
  assert.deepEqual(await ask("/api/v1/%zz", inactive.token), [400, 0, -1]);
});

test("MCP: a message that is none and a broken path have them", async () => {
  const counted = await createTenant(service.database, { dailyQuota: QUOTA });
  const { token } = counted;
  assert.deepEqual(countHeaders(await post(service.address, "{", { token })), [400, 3, 100]);
  assert.deepEqual(await ask(`${MCP_PATH}%zz`, token, "POST"), [400, 3, 100]);
});

test("a workspace that loses its plan or ends while it is asked is answered without them", async () => {
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
        surfaces: [createMcpRoutes({ operations, admit, allowedOrigins: [], publicOrigin: null })],
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
