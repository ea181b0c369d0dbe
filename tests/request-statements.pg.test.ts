import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { recordStatements, type AskedStatements } from "./support/asked-statements.ts";
import { openConnections } from "./support/database.ts";
import { post, toolCall } from "./support/mcp.ts";
import { leastParameters, questionsOf, type Questions } from "./support/requests.ts";
import { startTestService, type TestService } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import type { Tenant } from "./support/tenants.ts";
import { APP_OPTIONS, connectShop, sendWebhook } from "./support/webhooks.ts";

/**
 * tests/statements.pg.test.ts checks that each statement of the registry is limited to one workspace. Here every surface is
 * called, and everything that its connections run must be in the registry.
 */

let statements: AskedStatements;
let service: TestService;
let tenant: Tenant;

before(async () => {
  statements = recordStatements();
  service = await startTestService(APP_OPTIONS);
  tenant = await createSmallStore(service.database);
});
after(async () => {
  statements.stop();
  await service.stop();
});

const QUESTIONS: Questions = {
  months: { start_month: "2026-01", end_month: "2026-03" },
  filters: [{ vendor: "Nordwind" }, { q: "jacket" }, { saleEvent: "summer" }],
  selectors: [
    { sku: "JACKET-M", include_used_variants: "true" },
    { product_gid: "gid://shopify/Product/1" },
    { product_group_type: "family", product_group_key: "Outerwear" },
  ],
};

/** Calls one surface; everything that it runs is registered, and the expected statements are among it. */
async function checkSurface(ask: () => Promise<void>, expected: readonly string[]): Promise<void> {
  statements.forget();
  await ask();
  assert.deepEqual(statements.unregistered(), []);
  const names = statements.names();
  const missing = expected.filter((name) => !names.includes(name));
  assert.deepEqual(missing, [], `ran ${names.join(", ")}`);
}

test("every endpoint, with each selector, list and page", () =>
  checkSurface(async () => {
    for (const endpoint of ENDPOINTS) {
      for (const params of questionsOf(endpoint, QUESTIONS))
        await service.call(endpoint.path, { token: tenant.token, params });
      if (!("cursor" in endpoint.parameters.properties)) continue;
      const page = await service.call(endpoint.path, { token: tenant.token, params: { limit: 1 } });
      const cursor = String(page.json().meta["next_cursor"]);
      await service.call(endpoint.path, { token: tenant.token, params: { limit: 1, cursor } });
    }
  }, ["admit_callers", "load_report_breakdown", "list_alerts"]));

test("every MCP tool", () =>
  checkSurface(async () => {
    await service.database.query("update workspace set data_version = data_version + 1");
    for (const endpoint of ENDPOINTS) {
      if (endpoint.tool === null) continue;
      const call = toolCall(endpoint.tool.name, leastParameters(endpoint));
      assert.equal((await post(service.address, call, { token: tenant.token })).status, 200);
    }
  }, ["admit_callers", "list_alerts"]));

const SHOP = "own.myshopify.com";
const named = { shop_id: 1, shop_domain: SHOP };
const DELIVERIES: [topic: string, payload: object][] = [
  ["orders/updated", { id: 1001, admin_graphql_api_id: "gid://shopify/Order/1001" }],
  ["products/update", { id: 7, admin_graphql_api_id: "gid://shopify/Product/7" }],
  ["customers/redact", { ...named, customer: { id: 1 }, orders_to_redact: [1] }],
  ["app/uninstalled", { id: 1, myshopify_domain: SHOP }],
  ["shop/redact", named],
];

test("webhooks", () =>
  checkSurface(async () => {
    await connectShop(service, tenant.shopKey, SHOP);
    for (const [topic, payload] of DELIVERIES) {
      const response = await sendWebhook(service, { topic, shop: SHOP, payload });
      assert.equal(response.status, 200, topic);
      await response.text();
    }
  }, ["record_webhook_delivery"]));

test("documents, health, readiness and metrics", () =>
  checkSurface(async () => {
    for (const path of ["/docs", "/openapi.json", "/llms.txt", "/healthz", "/readyz", "/metrics"]) {
      await (await fetch(`${service.address}${path}`)).text();
    }
  }, ["applied_migrations"]));

test("SQL outside the registry is found", async () => {
  const reading = openConnections(service.databaseUrl, { applicationName: "returns-reading" });
  statements.forget();
  await reading.transaction(({ client }) => client.query("select 'beside'"));
  await reading.rows({ name: "admit_callers", text: "select 'under a taken name'" }, []);
  await reading.close();
  assert.deepEqual(statements.unregistered(), ["select 'beside'", "select 'under a taken name'"]);
});
