import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ENDPOINTS } from "../src/contract/registry.ts";
import type { Endpoint, ParameterSchema } from "../src/contract/endpoint.ts";
import { post, rpc, toolCall, toolError, toolText, type McpAnswer } from "./support/mcp.ts";
import { waitOutMidnight } from "./support/midnight.ts";
import { brokenValues, leastParameters, parametersOf } from "./support/requests.ts";
import { startTestService } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { withoutTable } from "./support/table-away.ts";
import { countedRequests, createTenant, createTokenOf, type Tenant } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";

const service = use(startTestService);
let tenant: Tenant;

before(async () => {
  await waitOutMidnight();
  tenant = await createSmallStore(service.database);
});

type Values = Record<string, string | number | boolean>;

const ask = (body: unknown, token = tenant.token): Promise<McpAnswer> =>
  post(service.address, body, { token });

const MONTHS = { start_month: "2025-03", end_month: "2026-02" };
const GROUP = { product_group_type: "family", product_group_key: "Tops" };
const PRODUCT = { product_gid: "gid://shopify/Product/1", include_used_variants: true };

/** Arguments of each tool, some of which it refuses. */
const CASES: Readonly<Record<string, readonly Values[]>> = {
  list_entities: [{}, { q: "crème" }, { type: "product", limit: 1 }, { vendor: "Nordwind" }, { limit: 0 }],
  get_summary: [
    { ...MONTHS },
    { ...MONTHS, sku: "JACKET-M", window: "90d" },
    { ...MONTHS, ...PRODUCT },
    { ...MONTHS, ...GROUP, include_incomplete: true },
    { ...MONTHS, sku: "NEVER" },
    { start_month: "2026-01" },
  ],
  get_report: [
    { ...MONTHS, ...GROUP },
    { ...MONTHS, reportSection: "reasons", window: "lifetime" },
    { ...MONTHS, saleEvent: "summer", saleEventBaseline: "prior_year" },
    { ...MONTHS, sku: "HAT-1", product_gid: "x" },
  ],
  get_timeseries: [{ ...MONTHS, ...PRODUCT, window: "30d" }, { ...MONTHS, window: "lifetime" }, {}],
  get_return_rate_leaderboard: [
    {},
    { period: "month", limit: 2, min_return_rate: 0.01, min_sold_units: 0 },
    { vendor: "Südstern" },
    { min_return_rate: 2 },
  ],
  get_return_cost_leaderboard: [
    { ...MONTHS },
    { ...MONTHS, min_cost: 10.5, limit: 3, window: "lifetime" },
    { ...MONTHS, limit: 101 },
  ],
  list_alerts: [
    {},
    { category: "return_rate_watchlist", limit: 1 },
    { since: "2026-06-02T00:00:00Z" },
    { since: "yesterday" },
    { cursor: "made up" },
  ],
};

const TOOL_ENDPOINTS = (ENDPOINTS as readonly Endpoint[]).filter((endpoint) => endpoint.tool !== null);

/** For a tool without cases above: its required arguments, and one value that it refuses. */
function leastCases(endpoint: Endpoint): Values[] {
  const least = leastParameters(endpoint);
  const isStrict = (schema: ParameterSchema): boolean =>
    schema["x-normalized"] !== true && (schema.type !== "string" || schema.pattern !== undefined);
  const [name, schema] = parametersOf(endpoint).find((parameter) => isStrict(parameter[1])) ?? [];
  assert.ok(name !== undefined && schema !== undefined, endpoint.name);
  return [least, { ...least, [name]: brokenValues(schema)[0] ?? "" }];
}

/** REST's refusal in the words of tools; no answer contains these phrases. */
function inToolWords(text: string): string {
  return text
    .replace("take selectors from /api/v1/entities.", "take selectors from list_entities.")
    .replace("a meta.next_cursor of this endpoint,", "a meta.next_cursor of this tool,");
}

describe("a tool and its endpoint", () => {
  for (const endpoint of TOOL_ENDPOINTS) {
    const { path, scope } = endpoint;
    const tool = String(endpoint.tool?.name);
    const cases = CASES[tool] ?? leastCases(endpoint);
    test(`${tool} answers the same bytes and refusals as ${path}`, async () => {
      const statuses = new Set<number>();
      for (const params of cases) {
        const rest = await service.call(path, { token: tenant.token, params });
        const answer = await ask(toolCall(tool, params));
        const { text, isError } = toolText(answer);
        assert.equal(text, inToolWords(rest.text), JSON.stringify(params));
        assert.equal(isError, rest.status !== 200);
        statuses.add(rest.status);
      }
      assert.deepEqual(statuses, new Set([200, 400]), "the cases hold answers and refusals");
    });

    test(`${tool} counts once, carries the rate-limit headers and needs the endpoint's scope`, async () => {
      const params = cases[0] ?? {};
      const counted = await countedRequests(service.database, tenant);
      const answer = await ask(toolCall(tool, params));
      assert.equal(await countedRequests(service.database, tenant), counted + 1);
      assert.equal(answer.headers.get("x-ratelimit-limit"), "1000000");
      assert.equal(answer.headers.get("x-ratelimit-remaining"), String(1_000_000 - counted - 1));
      assert.match(answer.headers.get("x-ratelimit-reset") ?? "", /T00:00:00\.000Z$/u);

      const others = ["read:dashboard", "read:reports", "read:exports", "read:alerts"].filter(
        (other) => other !== scope,
      );
      const { token } = await createTokenOf(service.database, tenant.shopKey, { scopes: others });
      const refused = toolError(await ask(toolCall(tool, params), token));
      const rest = await service.call(path, { token, params });
      assert.equal(rest.status, 403);
      assert.equal(JSON.stringify({ error: refused }), rest.text);
      assert.equal(await countedRequests(service.database, tenant), counted + 1);
    });

    test(`${tool} answers its golden output`, async (t) => {
      const { text } = toolText(await ask(toolCall(tool, CASES[tool]?.[0] ?? {})));
      t.assert.fileSnapshot(JSON.parse(text), `${import.meta.dirname}/mcp/golden/${tool}.json`);
    });
  }
});

describe("quota", () => {
  test("only calls of known tools count towards the daily quota", async () => {
    const small = await createTenant(service.database, { dailyQuota: 2 });
    const free = [
      rpc("initialize"),
      rpc("ping"),
      rpc("tools/list"),
      rpc("unknown"),
      toolCall("unknown"),
      toolCall("list_entities", []),
      rpc("tools/list", { cursor: "x" }),
      { jsonrpc: "2.0", method: "notifications/initialized" },
      [],
    ];
    const askFree = async (): Promise<void> => {
      for (const body of free) await ask(body, small.token);
    };
    await askFree();
    assert.equal(await countedRequests(service.database, small), 0);
    assert.equal(toolText(await ask(toolCall("list_entities"), small.token)).isError, false);
    // A refused input is a request, as in REST.
    assert.equal(toolError(await ask(toolCall("get_summary"), small.token)).code, "invalid_request");
    await askFree();
    assert.equal(await countedRequests(service.database, small), 2);

    const over = await ask(toolCall("list_entities"), small.token);
    const { code, message } = toolError(over);
    assert.equal(code, "rate_limited");
    assert.match(message, /quota of 2 requests.*resets at \d{4}-\d{2}-\d{2}T00:00:00\.000Z/u);
    assert.equal(over.headers.get("x-ratelimit-remaining"), "0");
    assert.equal(await countedRequests(service.database, small), 2);
    assert.notEqual((await ask(rpc("tools/list"), small.token)).message.result, undefined);
  });

  test("REST and MCP draw on one quota: of 30 at once exactly 10 pass", async () => {
    const small = await createTenant(service.database, { dailyQuota: 10 });
    const passed = await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        if (index % 2 === 0) {
          const rest = await service.call("/api/v1/entities", { token: small.token });
          return rest.status === 200;
        }
        return !toolText(await ask(toolCall("list_entities"), small.token)).isError;
      }),
    );
    assert.equal(passed.filter(Boolean).length, 10);
    assert.equal(await countedRequests(service.database, small), 10);
  });

  test("an unlimited plan is not counted and shows no rate-limit headers", async () => {
    const free = await createTenant(service.database, { dailyQuota: null });
    const answer = await ask(toolCall("list_entities"), free.token);
    assert.equal(answer.headers.get("x-ratelimit-limit"), null);
    assert.equal(await countedRequests(service.database, free), 0);
  });
});

describe("refusals and failures of the endpoint", () => {
  test("a shop that is not ready gives a result that says so, uncounted, with the quota's headers", async () => {
    const early = await createTenant(service.database, { readiness: "installing" });
    const answer = await ask(toolCall("list_entities"), early.token);
    const rest = await service.call("/api/v1/entities", { token: early.token });
    assert.equal(toolText(answer).text, rest.text);
    assert.equal(toolError(answer).code, "not_ready");
    assert.equal(answer.headers.get("x-ratelimit-remaining"), rest.headers.get("x-ratelimit-remaining"));
    assert.equal(await countedRequests(service.database, early), 0);
  });

  test("another workspace's entities are unknown, as entities that never existed", async () => {
    const other = await createTenant(service.database);
    const asOther = async (sku: string): Promise<string> =>
      toolText(await ask(toolCall("get_summary", { ...MONTHS, sku }), other.token)).text;
    assert.equal(await asOther("JACKET-M"), await asOther("NEVER"));
    const listed = toolText(await ask(toolCall("list_entities", { q: "jacket" }), other.token));
    assert.deepEqual((JSON.parse(listed.text) as { data: unknown[] }).data, []);
  });

  test("an unexpected failure is internal_error in a result, and its cause is only in the log", async () => {
    await withoutTable(service.database, "alert", async () => {
      // Another limit than before, since earlier answers are cached.
      const answer = await ask(toolCall("list_alerts", { limit: 13 }));
      assert.equal(toolError(answer).code, "internal_error");
      assert.doesNotMatch(answer.text, /alert_away|relation|does not exist/u);
      const id = answer.headers.get("x-request-id") ?? "";
      const line = service.logs.find((logged) => logged.includes(id) && logged.includes("unexpected error"));
      assert.match(line ?? "", /relation \\"alert\\" does not exist/u);
    });
    assert.equal(toolText(await ask(toolCall("list_alerts"))).isError, false);
  });

  test("a failure during authentication is HTTP 500 with -32603 and Retry-After", async () => {
    await withoutTable(service.database, "api_token", async () => {
      for (const body of [toolCall("list_alerts"), rpc("ping"), rpc("initialize")]) {
        const answer = await ask(body);
        assert.equal(answer.status, 500);
        assert.equal(answer.message.error?.code, -32603);
        assert.equal(answer.message.id, 1);
        assert.equal(answer.headers.get("retry-after"), "1");
        assert.doesNotMatch(answer.text, /api_token|relation/u);
      }
    });
    assert.equal((await ask(rpc("ping"))).status, 200);
  });

  test("no log line contains a token", () => {
    const text = service.logs.join("");
    assert.ok(text.includes("unexpected error"));
    assert.doesNotMatch(text, /rta_live_/u);
  });
});
