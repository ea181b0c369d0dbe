import assert from "node:assert/strict";
import { test } from "node:test";
import type { Endpoint } from "../src/contract/endpoint.ts";
import { filledPath, pathNames, servedPaths, takesSelector } from "../src/contract/endpoint.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { isCitus } from "./support/citus.ts";
import { CANARY, copyAsForeign } from "./support/foreign-tenant.ts";
import { leastParameters, parametersOf, questionsOf, USUAL_PATH_VALUES } from "./support/requests.ts";
import { service } from "./support/shared-service.ts";
import { send, type CalledAnswer } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { createTenant, createTokenOf, insertRows, type Tenant } from "./support/tenants.ts";
import { asRole, openConnections } from "./support/database.ts";

type Asked = { endpoint: Endpoint; params: Record<string, string> };

// The currency of the other tenant, which can hold no canary.
const FOREIGN_CURRENCY = "XTS";

// The two stores differ in rows that affect others: what is matched, grouped, used, or of a vendor.
const MAKE_FEWER = "delete from label_share where shop_key = $1 and order_id like '%JACKET%'";
const MAKE_OTHER = [
  "update product set family = 'Outerwear', analytics_category = 'Jackets', vendor = 'Nordwind' where shop_key = $1",
  "update sku set used = true, vendor = 'Nordwind', product_gid = 'gid://shopify/Product/1' where shop_key = $1",
  "update entity set vendor = 'Nordwind' where shop_key = $1",
];

const asked = ENDPOINTS.flatMap(askedOf);

const own = await createSmallStore(service.database);
await service.database.query(MAKE_FEWER, [own.shopKey]);
const textsAlone = (await askAll(own)).map((answer) => answer.text);
const model = await createSmallStore(service.database);
for (const statement of MAKE_OTHER) await service.database.query(statement, [model.shopKey]);
const foreign = await createTenant(service.database, { currencyCode: FOREIGN_CURRENCY });
await copyAsForeign(service.database, model.shopKey, foreign.shopKey);
// No answer may come from the response cache of before.
await service.database.query("update workspace set data_version = data_version + 1");

/** Requests of an endpoint: each selector, each value of each list, and everything that one request may combine. */
function askedOf(endpoint: Endpoint): Asked[] {
  const limit = parametersOf(endpoint).find(([name]) => name === "limit")?.[1].maximum;
  const widest = limit === undefined ? {} : { limit: String(limit) };
  const tables = servedPaths(endpoint)
    .map(({ values }): Record<string, string> => Object.fromEntries(values))
    .filter(({ format }) => format === "csv");
  return questionsOf(endpoint, {
    months: { start_month: "2025-01", end_month: "2026-06" },
    lastYear: { start_month: "2025-07" },
    filters: [
      { vendor: "Nordwind" },
      { q: "jacket" },
      { q: "zz9" },
      { category: "backfill_completed" },
      { since: "2026-06-02T00:00:00Z" },
      { saleEvent: "summer", saleEventBaseline: "selected_non_sale" },
      { saleEvent: "hats", saleEventScope: "event_scope" },
      { include_incomplete: "true", window: "lifetime" },
      ...tables,
    ],
    selectors: [
      { sku: "JACKET-M", include_used_variants: "true" },
      { product_gid: "gid://shopify/Product/1" },
      { product_gid: "gid://shopify/Product/1", include_used_variants: "true" },
      { product_group_type: "family", product_group_key: "Outerwear" },
      { product_group_type: "analytics_category", product_group_key: "Jackets" },
    ],
  }).map((params) => ({ endpoint, params: { ...widest, ...params } }));
}

async function askAll(tenant: Tenant): Promise<CalledAnswer[]> {
  const answers = [];
  for (const { endpoint, params } of asked) {
    const answer = await service.call(endpoint.path, { token: tenant.token, params });
    assert.equal(answer.status, 200);
    answers.push(answer);
  }
  return answers;
}

test("nothing of another workspace is in any body, header or log, and no answer depends on it", async () => {
  const logged = service.logs.length;
  const answers = await askAll(own);
  for (const [index, answer] of answers.entries()) {
    const where = JSON.stringify([asked[index]?.endpoint.path, asked[index]?.params]);
    const everything = [...answer.headers].flat().join("\n") + answer.text;
    assert.ok(!everything.includes(CANARY), where);
    assert.ok(!everything.includes(FOREIGN_CURRENCY), where);
    assert.equal(versionless(answer.text), versionless(textsAlone[index] ?? ""), where);
  }
  assert.ok(!service.logs.slice(logged).some((line) => line.includes(CANARY)));
});

/** The text without the data version, which the test itself raises. */
function versionless(text: string): string {
  return text.replace(/"data_version":\d+/u, "");
}

test("the same requests by the other workspace do return its texts", async () => {
  const found = new Set<Endpoint>();
  for (const { endpoint, params } of asked) {
    // Planted texts need not follow the schema, so the answer is taken as it is.
    const names = pathNames(endpoint.path);
    const query = Object.entries(params).filter(([name]) => !names.includes(name));
    const path = filledPath(endpoint.path, { ...USUAL_PATH_VALUES, ...params });
    const headers = { authorization: `Bearer ${foreign.token}` };
    const url = `${service.address}${path}?${new URLSearchParams(query).toString()}`;
    if ((await send(url, { headers })).text.includes(CANARY)) found.add(endpoint);
  }
  assert.equal(found.size, ENDPOINTS.length);
});

for (const endpoint of ENDPOINTS.filter(takesSelector)) {
  test(`${endpoint.name}: a foreign id and a missing one give the same bytes`, async () => {
    const selectors: ((prefix: string) => Record<string, string>)[] = [
      (prefix) => ({ sku: `${prefix}JACKET-M` }),
      (prefix) => ({ sku: `${prefix}JACKET-M`, include_used_variants: "true" }),
      (prefix) => ({ product_gid: `${prefix}gid://shopify/Product/1` }),
      (prefix) => ({ product_group_type: "family", product_group_key: `${prefix}Tops` }),
      (prefix) => ({ product_group_type: "analytics_category", product_group_key: `${prefix}Hats` }),
    ];
    for (const selector of selectors) {
      const answers = [];
      for (const prefix of [CANARY, "zz9missing"]) {
        const params = { ...leastParameters(endpoint), ...selector(prefix) };
        answers.push(await service.call(endpoint.path, { token: own.token, params }));
      }
      assert.deepEqual(
        answers.map((answer) => answer.status),
        [400, 400],
      );
      assert.equal(answers[0]?.text, answers[1]?.text);
      assert.deepEqual(comparableHeaders(answers[0]), comparableHeaders(answers[1]));
    }
  });
}

test("a foreign sale event and a missing one give the same bytes", async () => {
  for (const endpoint of ENDPOINTS.filter((candidate) => "saleEvent" in candidate.parameters.properties)) {
    const texts = [];
    for (const prefix of [CANARY, "zz9missing"]) {
      const params = { ...leastParameters(endpoint), saleEvent: `${prefix}summer` };
      texts.push((await service.call(endpoint.path, { token: own.token, params })).text);
    }
    assert.equal(texts[0], texts[1]);
  }
});

test("a foreign vendor and a missing one give the same rows: none", async () => {
  for (const endpoint of ENDPOINTS.filter((candidate) => "vendor" in candidate.parameters.properties)) {
    const texts = [];
    for (const prefix of [CANARY, "zz9missing"]) {
      const params = { ...leastParameters(endpoint), vendor: `${prefix}Nordwind` };
      const answer = await service.call(endpoint.path, { token: own.token, params });
      texts.push(answer.text.replaceAll(prefix, ""));
    }
    assert.equal(texts[0], texts[1]);
  }
});

test("a token is only valid for the workspace in its digits", async () => {
  const { token, tokenId } = await createTokenOf(service.database, own.shopKey);
  const ask = () => service.call("/api/v1/alerts", { token });
  assert.equal((await ask()).json().meta["shop_domain"], own.shopDomain);
  const ofToken = [own.shopKey, tokenId];
  const { rows } = await service.database.query<{ row: Record<string, unknown> }>(
    "select to_jsonb(t) as row from api_token t where shop_key = $1 and token_id = $2",
    ofToken,
  );
  await service.database.query("delete from api_token where shop_key = $1 and token_id = $2", ofToken);
  await insertRows(service.database, "api_token", [{ ...rows[0]?.row, shop_key: foreign.shopKey }]);
  assert.equal((await ask()).status, 401);
});

test("an alert for one user is never served, whatever the request", async () => {
  const { rows } = await service.database.query<{ alert_id: string }>(
    "select alert_id from alert where shop_key = $1 and recipient is not null",
    [own.shopKey],
  );
  assert.equal(rows.length, 3);
  const targeted = new Set(rows.map((row) => row.alert_id));
  const questions: Record<string, string>[] = [{}, { category: "backfill_completed" }];
  for (const params of [...questions, { since: "2026-06-01T00:00:00Z" }]) {
    const answer = await service.call("/api/v1/alerts", {
      token: own.token,
      params: { ...params, limit: "100" },
    });
    const served = answer.json().data.map((alert) => String(alert["id"]));
    assert.ok(served.length > 0);
    assert.deepEqual(
      served.filter((id) => targeted.has(id)),
      [],
    );
  }
});

test("the database itself refuses every write on a serving connection", async () => {
  const reading = openConnections(asRole(service.databaseUrl, "reader"), {
    statementTimeoutMs: 1000,
    applicationName: "returns-reading",
  });
  const write = { name: "write", text: "insert into dirty_cohort values ($1, '2026-01-01')" };
  await assert.rejects(reading.rows(write, [own.shopKey]), { code: "42501" });
  await reading.close();
});

test("a query that would write, answered by the service, is a 500", async (context) => {
  if (isCitus()) {
    context.diagnostic("a node reads the tables of a shard, not the view that this test changes");
    return;
  }
  const { rows } = await service.database.query<{ text: string }>(
    "select pg_get_viewdef('one_shop.alert'::regclass) as text",
  );
  const viewAs = (text = ""): string =>
    `create or replace view one_shop.alert with (security_invoker = true) as ${text}`;
  // Other tests of the process use the view, too.
  context.after(() => service.database.query(`${viewAs(rows[0]?.text)}; drop function write_and_pass()`));
  for (const change of [
    `create function write_and_pass() returns boolean language sql volatile
     as $$ insert into public.dirty_cohort values (${own.shopKey}, '1999-01-01') on conflict do nothing; select true $$`,
    viewAs(`select * from public.alert where write_and_pass() and shop_key = ${own.shopKey}`),
  ]) {
    await service.database.query(change);
  }
  const logged = service.logs.length;
  // Another limit than before, since earlier answers are cached.
  const answer = await service.call("/api/v1/alerts", { token: own.token, params: { limit: "13" } });
  assert.equal(answer.status, 500);
  assert.match(service.logs.slice(logged).join(""), /read-only transaction/u);
});

/** All but what differs between any two answers. */
function comparableHeaders(answer: CalledAnswer | undefined): [string, string][] {
  const changing = new Set(["date", "x-request-id", "x-ratelimit-remaining"]);
  return [...(answer?.headers ?? [])].filter(([name]) => !changing.has(name));
}
