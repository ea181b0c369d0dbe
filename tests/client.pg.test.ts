import assert from "node:assert/strict";
import { before, test } from "node:test";
import { createClient, iteratePages, type ReturnsClient } from "../src/client/client.ts";
import { ReturnsApiError } from "../src/client/errors.ts";
import { ENDPOINTS, type EndpointFacts } from "../src/client/endpoints.ts";
import { pathNames } from "../src/contract/endpoint.ts";
import { USUAL_PATH_VALUES } from "./support/requests.ts";
import { waitOutMidnight } from "./support/midnight.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { AMPLE_QUOTA, createTenant, createTokenOf, insertRows } from "./support/tenants.ts";

const MONTHS = { start_month: "2025-03", end_month: "2026-02" };
const ALERT_COUNT = 7;

const tenant = await createSmallStore(service.database);
await insertRows(
  service.database,
  "alert",
  Array.from({ length: ALERT_COUNT }, (_, index) => ({
    shop_key: tenant.shopKey,
    alert_id: `added-${index}`,
    event_key: `added-${index}`,
    category: "report_ready",
    severity: "info",
    title: `Report ${index}`,
    created_at: `2026-06-0${index + 1}T00:00:00Z`,
  })),
);
const client = clientOf(tenant.token);
before(waitOutMidnight);

function clientOf(token: string): ReturnsClient {
  return createClient({ baseUrl: service.address, token, maxRetries: 0 });
}

type Values = Record<string, string | number | boolean>;
type Method = Exclude<keyof ReturnsClient, `iterate${string}`>;

/** In addition to the required parameters of each method. */
const CALLS: { [Name in Method]?: NonNullable<Parameters<ReturnsClient[Name]>[0]>[] } = {
  entities: [{ q: "jacket" }, { type: "sku", limit: 2, vendor: "Südstern" }],
  summary: [{ ...MONTHS, sku: "JACKET-M", include_used_variants: true, window: "90d" }],
  report: [{ ...MONTHS, reportSection: "costs", product_gid: "gid://shopify/Product/2" }],
  timeseries: [{ ...MONTHS, include_incomplete: true }],
  returnRateLeaderboard: [{ period: "year", limit: 3, min_return_rate: 0.01, min_sold_units: 1 }],
  returnCostLeaderboard: [{ ...MONTHS, limit: 2, min_cost: 0.5 }],
  alerts: [{ since: "2026-06-03T02:00:00+02:00", category: "report_ready", limit: 3 }],
};

for (const [name, { path, parameters, fileTypes }] of Object.entries(ENDPOINTS) as [
  Method,
  EndpointFacts,
][]) {
  test(`${name} returns the endpoint's own answer`, async () => {
    const ofPath = pathNames(path).map((named) => [named, USUAL_PATH_VALUES[named]]);
    const least = { ...(parameters.includes("start_month") ? MONTHS : {}), ...Object.fromEntries(ofPath) };
    const method = client[name] as unknown as (parameters: object) => Promise<Record<string, unknown>>;
    for (const params of [least, ...(CALLS[name] ?? [])]) {
      const result = await method(params);
      const answer = await service.call(path, { token: tenant.token, params: { ...params } as Values });
      assert.equal(answer.status, 200);
      if (fileTypes !== null) {
        assert.equal(await (result["text"] as () => Promise<string>)(), answer.text);
        assert.ok(answer.headers.get("content-disposition")?.endsWith(`"${String(result["filename"])}"`));
      } else {
        assert.deepEqual({ data: result["data"], meta: result["meta"] }, JSON.parse(answer.text));
      }
      const quota = result["quota"] as { limit: number; remaining: number; resetsAt: Date };
      assert.equal(quota.limit, AMPLE_QUOTA);
      assert.equal(quota.remaining, 1 + Number(answer.headers.get("x-ratelimit-remaining")));
      assert.equal(quota.resetsAt.toISOString(), answer.headers.get("x-ratelimit-reset"));
      assert.match(String(result["requestId"]), /^[0-9a-f-]{36}$/u);
    }
  });
}

test("iterateEntities yields every entity once, in the order of one long page", async () => {
  const { data: all } = await client.entities({ limit: 100 });
  assert.ok(all.length > 10);
  for (const limit of [1, 3, 100]) {
    const visited = await Array.fromAsync(client.iterateEntities({ limit }));
    assert.deepEqual(visited, all);
  }
  const skus = await Array.fromAsync(client.iterateEntities({ type: "sku", limit: 4 }));
  assert.equal(skus.length, 6);
});

test("iterateAlerts yields every alert once, newest first", async () => {
  const { data: all } = await client.alerts({ limit: 100 });
  assert.ok(all.length >= ALERT_COUNT);
  assert.deepEqual(await Array.fromAsync(client.iterateAlerts({ limit: 2 })), all);
});

test("An iterator requests a page only when it is needed, and continues from a cursor", async () => {
  const remaining = (await client.alerts()).quota?.remaining ?? 0;
  for await (const alert of client.iterateAlerts({ limit: 2 })) {
    assert.ok(alert.id);
    break;
  }
  assert.equal((await client.alerts()).quota?.remaining, remaining - 2);
  const first = await client.alerts({ limit: 2 });
  const rest = await Array.fromAsync(
    client.iterateAlerts({ cursor: first.meta.next_cursor ?? "", limit: 3 }),
  );
  assert.deepEqual([...first.data, ...rest], (await client.alerts({ limit: 100 })).data);
});

test("iteratePages yields whole answers", async () => {
  const pages = await Array.fromAsync(iteratePages(client.entities, { limit: 5 }));
  assert.deepEqual(
    pages.map(({ data, meta }) => data.length === meta.returned),
    pages.map(() => true),
  );
  assert.equal(pages.at(-1)?.meta.next_cursor, null);
  assert.ok((pages[0]?.quota?.remaining ?? 0) > (pages.at(-1)?.quota?.remaining ?? 0));
});

test("An entity's selector can be passed to the other methods", async () => {
  for await (const { selector } of client.iterateEntities()) {
    const { meta } = await client.summary({ ...selector, ...MONTHS });
    assert.notEqual(meta.selector.type, "workspace");
  }
});

test("Every refusal of the service is a ReturnsApiError with its code, status, sentence and request id", async () => {
  const narrow = await createTokenOf(service.database, tenant.shopKey, { scopes: ["read:alerts"] });
  const unready = await createTenant(service.database, { readiness: "backfilling" });
  const spent = await createTenant(service.database, { dailyQuota: 1 });
  await clientOf(spent.token).alerts();
  const cases = [
    [() => client.summary({ ...MONTHS, sku: "NONE" }), "invalid_request", 400, true],
    [() => clientOf("rta_live_nonsense").alerts(), "unauthorized", 401, false],
    [() => clientOf(narrow.token).summary(MONTHS), "forbidden", 403, false],
    [() => clientOf(unready.token).summary(MONTHS), "not_ready", 409, true],
    [() => clientOf(spent.token).alerts(), "rate_limited", 429, true],
  ] as const;
  for (const [call, code, status, showsQuota] of cases) {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof ReturnsApiError);
      assert.deepEqual([error.code, error.status, error.quota !== null], [code, status, showsQuota]);
      assert.ok(error.message.length > 10 && error.requestId !== null);
      assert.equal(error.retryAfterSeconds !== null, code === "rate_limited");
      return true;
    });
  }
});

test("A used-up quota is not waited for until the next day, with any number of retries", async () => {
  const spent = await createTenant(service.database, { dailyQuota: 1 });
  const patient = createClient({
    baseUrl: service.address,
    token: spent.token,
    maxRetries: 5,
    maxRetryWaitMs: 900,
  });
  await patient.alerts();
  await assert.rejects(patient.alerts(), (error) => {
    assert.ok(error instanceof ReturnsApiError);
    assert.deepEqual([error.quota?.limit, error.quota?.remaining], [1, 0]);
    return error.code === "rate_limited";
  });
});

test("A plan without a daily limit has no quota to show", async () => {
  const unlimited = await createTenant(service.database, { dailyQuota: null });
  assert.equal((await clientOf(unlimited.token).alerts()).quota, null);
});
