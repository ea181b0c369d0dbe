import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { takesSelector, type Endpoint, type ParameterSchema } from "../src/contract/endpoint.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { waitOutMidnight } from "./support/midnight.ts";
import { brokenValues, leastParameters, parametersOf } from "./support/requests.ts";
import type { CalledAnswer, CallOptions } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { changeWorkspace, countedRequests, createTenant } from "./support/tenants.ts";

await waitOutMidnight();
const tenant = await createSmallStore(service.database);

const ask = (path: string, params: CallOptions["params"] = {}): Promise<CalledAnswer> =>
  service.call(path, { token: tenant.token, params });

/** Sends these parameters and expects a 400 with a message that names `parameter`. */
async function expectRefused(path: string, params: string, parameter: string): Promise<void> {
  const answer = await ask(path, params);
  const asked = `${path}?${params.slice(0, 200)}`;
  assert.equal(answer.status, 400, `${asked} answered ${answer.status}`);
  assert.match(answer.message(), new RegExp(`\\b${parameter}\\b`, "u"), asked);
  assert.doesNotMatch(answer.message(), /is not a parameter/u, asked);
}

const met = new Set<string>();
/** Every value that a parameter must refuse where it is met first, and one of them where another endpoint takes the same. */
function valuesToRefuse(parameter: string, schema: ParameterSchema): string[] {
  const values = brokenValues(schema);
  const key = parameter + JSON.stringify(schema);
  if (met.has(key)) return values.slice(0, 1);
  met.add(key);
  return values;
}

for (const endpoint of ENDPOINTS) {
  const { name, path } = endpoint;
  const least = leastParameters(endpoint);
  const query = (params: Record<string, string>): string =>
    Object.entries({ ...least, ...params })
      .map(([key, value]) => `${key}=${value}`)
      .join("&");

  describe(name, () => {
    test("400: every parameter refuses what its schema excludes, and the message names it", async () => {
      for (const [parameter, schema] of parametersOf(endpoint)) {
        if (schema["x-normalized"] === true) continue;
        for (const value of valuesToRefuse(parameter, schema)) {
          await expectRefused(path, query({ [parameter]: value }), parameter);
        }
      }
    });

    test("400: every known parameter given twice is refused", async () => {
      for (const [parameter] of parametersOf(endpoint)) {
        const twice = `${query({})}&${parameter}=2026-01&${parameter}=2026-01`.replace(/^&/u, "");
        await expectRefused(path, twice, parameter);
      }
    });

    test("400: a value that is not percent-encoded UTF-8 is refused by name, even if the parameter is normalized", async () => {
      for (const [place, [parameter]] of parametersOf(endpoint).entries()) {
        const value = place % 2 === 0 ? "%ED%A0%80" : "%zz";
        await expectRefused(path, query({ [parameter]: value }), parameter);
      }
    });

    test("an unknown value of a report's state falls back to the default, with the same bytes, and meta names it", async () => {
      for (const [parameter, schema] of parametersOf(endpoint)) {
        if (schema["x-normalized"] !== true) continue;
        // A slug that no event can have is treated as one that no event has.
        const known = parameter === "saleEvent" ? query({ saleEvent: "no-such-event" }) : least;
        const plain = await ask(path, known);
        for (const value of valuesToRefuse(parameter, schema)) {
          const answer = await ask(path, query({ [parameter]: value }));
          assert.equal(answer.status, 200);
          const named = `,"normalized":["${parameter}"]`;
          if (endpoint.response !== null) assert.ok(answer.text.includes(named), parameter);
          assert.equal(answer.text.replace(named, ""), plain.text, parameter);
        }
      }
    });

    test("an empty value counts as not given", async () => {
      const plain = await ask(path, least);
      for (const [parameter] of parametersOf(endpoint)) {
        const isRequired = requiredOf(endpoint).includes(parameter);
        if (isRequired) {
          await expectRefused(path, query({ [parameter]: "" }), parameter);
          continue;
        }
        const answer = await ask(path, query({ [parameter]: "" }));
        if (parameter in least) assert.equal(answer.status, 200);
        else assert.equal(answer.text, plain.text, parameter);
      }
    });

    test("403: each entitlement of the endpoint is needed", async () => {
      for (const missing of endpoint.entitlements) {
        const entitlements = ["api_access", "data_export"].filter((entitlement) => entitlement !== missing);
        const { token } = await createTenant(service.database, { entitlements });
        const answer = await service.call(path, { token, params: least });
        assert.equal(answer.status, 403);
        assert.match(answer.message(), new RegExp(missing, "u"));
      }
    });

    test("403 with inactive billing, 409 in each state before ready", async () => {
      const state = await createTenant(service.database);
      await changeWorkspace(service.database, state, { billing_status: "inactive" });
      assert.equal((await service.call(path, { token: state.token, params: least })).status, 403);
      await changeWorkspace(service.database, state, { billing_status: "active" });
      for (const readiness of ["installing", "reconnecting", "backfilling"]) {
        await changeWorkspace(service.database, state, { readiness });
        const answer = await service.call(path, { token: state.token, params: least });
        assert.equal(answer.status, 409);
        assert.match(answer.message(), new RegExp(readiness, "u"));
      }
      assert.equal(await countedRequests(service.database, state), 0);
      await changeWorkspace(service.database, state, { readiness: "ready" });
      assert.equal((await service.call(path, { token: state.token, params: least })).status, 200);
      assert.equal(await countedRequests(service.database, state), 1);
    });

    test("HEAD answers as GET without a body, and counts", async () => {
      const counted = await createTenant(service.database);
      const head = await service.call(path, { token: counted.token, params: least, method: "HEAD" });
      const get = await service.call(path, { token: counted.token, params: least });
      assert.equal(head.status, 200);
      assert.equal(head.headers.get("content-type"), get.headers.get("content-type"));
      assert.equal(await countedRequests(service.database, counted), 2);
    });

    test("405: other methods are refused before the token, uncounted, with Allow", async () => {
      const counted = await createTenant(service.database);
      for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
        for (const token of [{ token: counted.token }, {}]) {
          const answer = await service.call(path, { ...token, method });
          assert.equal(answer.status, 405);
          assert.equal(answer.headers.get("allow"), "GET, HEAD");
        }
      }
      assert.equal(await countedRequests(service.database, counted), 0);
    });

    test("an unlimited plan is never counted and shows no rate-limit headers", async () => {
      const free = await createTenant(service.database, { dailyQuota: null });
      const askFree = (params: Record<string, string>) =>
        service.call(path, { token: free.token, params, isUnlimited: true });
      assert.equal((await askFree(least)).status, 200);
      if ("limit" in endpoint.parameters.properties)
        assert.equal((await askFree({ ...least, limit: "0" })).status, 400);
      await changeWorkspace(service.database, free, { readiness: "installing" });
      assert.equal((await askFree(least)).status, 409);
      assert.equal(await countedRequests(service.database, free), 0);
    });
  });

  if (takesSelector(endpoint)) {
    describe(`${name}: selectors`, () => {
      const contradictory = [
        "sku=HAT-1&product_gid=x",
        "sku=HAT-1&product_group_type=family&product_group_key=Tops",
        "store_product_gid=x&product_group_type=family&product_group_key=Tops",
        "product_group_type=family",
        "product_group_key=Tops",
        "product_gid=x&store_product_gid=y",
        "store_product_gid=x&shopify_product_gid=y",
      ];
      test("400: contradictory and unpaired selectors are refused", async () => {
        for (const selector of contradictory) {
          const answer = await ask(path, `${query({})}&${selector}`.replace(/^&/u, ""));
          assert.equal(answer.status, 400, selector);
          assert.match(answer.message(), /selector|product_g/u);
        }
      });

      test("400: an entity that the workspace never had", async () => {
        await expectRefused(path, query({ sku: "NEVER" }), "sku");
        await expectRefused(path, query({ product_gid: "NEVER" }), "product_gid");
        const group = { product_group_type: "family", product_group_key: "NEVER" };
        await expectRefused(path, query(group), "product_group_key");
        // A family of that name is no category of that name.
        const category = { product_group_type: "analytics_category", product_group_key: "Outerwear" };
        await expectRefused(path, query(category), "product_group_key");
      });

      test("product_gid and its aliases select alike", async () => {
        const texts = [];
        for (const alias of ["product_gid", "store_product_gid", "shopify_product_gid"]) {
          const answer = await ask(path, query({ [alias]: encodeURIComponent("gid://shopify/Product/1") }));
          assert.equal(answer.status, 200);
          texts.push(answer.text);
        }
        assert.equal(new Set(texts).size, 1);
      });
    });
  }

  if ("start_month" in least) {
    test(`${name}: 400 for months that are missing, reversed or more than 120`, async () => {
      if (requiredOf(endpoint).includes("start_month")) {
        await expectRefused(path, "end_month=2026-01", "start_month");
        await expectRefused(path, "start_month=2026-01", "end_month");
      }
      await expectRefused(path, "start_month=2026-02&end_month=2026-01", "start_month");
      await expectRefused(path, "start_month=2016-01&end_month=2026-01", "start_month");
      await expectRefused(path, "start_month=0001-01&end_month=9999-12", "start_month");
      const ten = { start_month: "2016-02", end_month: "2026-01" };
      assert.equal((await ask(path, ten)).status, 200);
    });
  }
}

function requiredOf({ parameters }: Endpoint): readonly string[] {
  return parameters.required ?? [];
}
