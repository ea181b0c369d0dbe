import assert from "node:assert/strict";
import { after, afterEach, describe, mock, test } from "node:test";
import type { MemberAdmission } from "../src/access/admit-member.ts";
import { ENTITLEMENTS, takesSelector, type Endpoint } from "../src/contract/endpoint.ts";
import { ApiError, ERROR_STATUS } from "../src/contract/errors.ts";
import { entities } from "../src/contract/entities.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { returnRateLeaderboard } from "../src/contract/return-rate-leaderboard.ts";
import { DEMO_DAY, startDemoService } from "./docs-demo.ts";
import { openOperations, type TestOperations } from "./support/operations.ts";
import { createPerson, setRole, type Person } from "./support/people.ts";
import { createReportWorkspace } from "./support/report-store.ts";
import { leastParameters, questionsOf, type Questions } from "./support/requests.ts";
import { send, type TestService, type WireAnswer } from "./support/service.ts";
import { changePlan, changeWorkspace, type Tenant } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";

/** Members get the same answers as tokens: the same bytes, and the same refusal for the same cause. */

const NOTHING_REMEMBERED = { ANSWER_MEMORY_MB: "0" };
/** All endpoints but the exports of tables, which members are not shown. */
const ALL = (ENDPOINTS as readonly Endpoint[]).filter(({ fileTypes }) => fileTypes === undefined);

let service: TestService;
let tenant: Tenant;
let person: Person;
let operations: TestOperations;
const demo = use(startDemoService);

before(async () => {
  ({ service, tenant } = demo);
  await service.database.query("update shop_directory set shop_domain = $1 where shop_key = $2", [
    "demo-store.example",
    tenant.shopKey,
  ]);
  tenant = { ...tenant, shopDomain: "demo-store.example" };
  operations = await openOperations(service, NOTHING_REMEMBERED);
  person = await createPerson(service.database);
  await setRole(service.database, tenant, person, "viewer");
  // After the session was created, since its validity follows the database's clock.
  mock.timers.enable({ apis: ["Date"], now: new Date(`${DEMO_DAY}T06:00:00Z`) });
});
afterEach(async () => {
  await changePlan(service.database, tenant, { entitlements: ENTITLEMENTS });
  await changeWorkspace(service.database, tenant, {
    billing_status: "active",
    readiness: "ready",
    visible_card_size: 10,
  });
});
after(async () => {
  mock.timers.reset();
  await operations.stop();
});

async function admit({ shopDomain }: Tenant): Promise<MemberAdmission> {
  const admission = await operations.admitMember({ sessionHash: person.sessionHash, shopDomain });
  return admission === "signed_out" || admission.role === null ? assert.fail("not admitted") : admission;
}

const read = async (of: Tenant, endpoint: Endpoint, query: string): Promise<string> =>
  operations.read(await admit(of), endpoint, query);

/** Not through `service.call`, which checks the quota's headers by the mocked clock: they follow the database's. */
function call({ token }: Tenant, { path }: Endpoint, query: string): Promise<WireAnswer> {
  const headers = { authorization: `Bearer ${token}`, "accept-encoding": "identity" };
  return send(`${service.address}${path}?${query}`, { headers });
}

/** Reads as a member and with a token; returns the answer, which must be the same. */
async function readBoth(of: Tenant, endpoint: Endpoint, query: string): Promise<string> {
  const text = await read(of, endpoint, query);
  const answer = await call(of, endpoint, query);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(text, answer.text, `${endpoint.name}?${query}`);
  return text;
}

/** Reads as a member and with a token; returns the status of the refusal, which must be the same. */
async function refuseBoth(of: Tenant, endpoint: Endpoint, query: string): Promise<number> {
  const refusal = await read(of, endpoint, query).then(
    () => assert.fail(`${endpoint.name}?${query} was answered`),
    (error: unknown) => error,
  );
  assert.ok(refusal instanceof ApiError, String(refusal));
  const answer = await call(of, endpoint, query);
  assert.deepEqual(
    [ERROR_STATUS[refusal.code], refusal.message],
    [answer.status, messageOf(answer.text)],
    `${endpoint.name}?${query}`,
  );
  return answer.status;
}

const messageOf = (text: string): string =>
  (JSON.parse(text) as { error: { message: string } }).error.message;

const textOf = (params: Record<string, string>): string => new URLSearchParams(params).toString();

const QUESTIONS: Questions = {
  months: { start_month: "2024-01", end_month: "2025-06" },
  lastYear: { start_month: "2024-07" },
  filters: [{ include_incomplete: "true" }, { q: "shoe" }, { saleEvent: "summer" }, { limit: "2" }],
  selectors: [
    { sku: "SHOE-1", include_used_variants: "true" },
    { product_gid: "gid://import/Product/2" },
    { product_group_type: "family", product_group_key: "Shoes" },
  ],
};

/** A workspace that holds its own store. */
async function createOwnWorkspace(): Promise<Tenant> {
  const { tenant: own } = await createReportWorkspace(service);
  await setRole(service.database, own, person, "viewer");
  return own;
}

describe("the same bytes", () => {
  test("for the example of every endpoint", async () => {
    for (const endpoint of ALL) await readBoth(tenant, endpoint, endpoint.example);
  });

  test("for another store, with each selector and each value of each list", async () => {
    const own = await createOwnWorkspace();
    for (const endpoint of ALL) {
      for (const params of questionsOf(endpoint, QUESTIONS)) await readBoth(own, endpoint, textOf(params));
    }
  });

  test("for pages that a cursor continues, whoever began", async () => {
    const first = await read(tenant, entities, "limit=2");
    const { meta } = JSON.parse(first) as { meta: { next_cursor: string } };
    await readBoth(tenant, entities, textOf({ limit: "2", cursor: meta.next_cursor }));
  });

  test("a plan without full_leaderboards shortens the leaderboard for both; only a token needs api_access", async () => {
    const query = "limit=50";
    const whole = await readBoth(tenant, returnRateLeaderboard, query);
    await changePlan(service.database, tenant, { entitlements: ["api_access"] });
    await changeWorkspace(service.database, tenant, { visible_card_size: 3 });
    const short = await readBoth(tenant, returnRateLeaderboard, query);
    assert.ok(short.length < whole.length / 2);
    await changePlan(service.database, tenant, { entitlements: [] });
    assert.equal(await read(tenant, returnRateLeaderboard, query), short);
  });
});

describe("the same refusal", () => {
  const questions = ALL.map((endpoint) => [endpoint, textOf(leastParameters(endpoint))] as const);

  test("billing, before everything else", async () => {
    const { database } = service;
    await changeWorkspace(database, tenant, { billing_status: "inactive", readiness: "installing" });
    for (const [endpoint] of questions) assert.equal(await refuseBoth(tenant, endpoint, "limit=no"), 403);
    await changeWorkspace(database, tenant, { billing_status: "active", readiness: "ready" });
    for (const [endpoint, query] of questions) await readBoth(tenant, endpoint, query);
  });

  test("a plan without data_export refuses only the file, before readiness", async () => {
    const { database } = service;
    await changePlan(database, tenant, { entitlements: ["api_access", "full_leaderboards"] });
    for (const [endpoint, query] of questions) {
      if (!endpoint.entitlements.includes("data_export")) await readBoth(tenant, endpoint, query);
      else assert.equal(await refuseBoth(tenant, endpoint, query), 403);
    }
    await changeWorkspace(database, tenant, { readiness: "installing" });
    for (const [endpoint, query] of questions) {
      const status = endpoint.entitlements.includes("data_export") ? 403 : 409;
      assert.equal(await refuseBoth(tenant, endpoint, query), status);
    }
  });

  test("readiness in each state, before the input", async () => {
    for (const readiness of ["installing", "backfilling", "reconnecting"]) {
      await changeWorkspace(service.database, tenant, { readiness });
      for (const [endpoint] of questions) assert.equal(await refuseBoth(tenant, endpoint, "limit=no"), 409);
    }
  });

  test("input: unknown names, values that are not allowed, unknown selectors", async () => {
    for (const [endpoint, query] of questions) {
      assert.equal(await refuseBoth(tenant, endpoint, `${query}&nonsense=1`), 400);
      if (takesSelector(endpoint)) assert.equal(await refuseBoth(tenant, endpoint, `${query}&sku=GONE`), 400);
      if (query !== "") assert.equal(await refuseBoth(tenant, endpoint, "start_month=2026-13"), 400);
    }
  });
});

test("a workspace that is deleted between its admission and its answer is not found", async () => {
  const gone = await createOwnWorkspace();
  const admission = await admit(gone);
  await service.database.query("delete from workspace where shop_key = $1", [gone.shopKey]);
  for (const endpoint of ALL) {
    await assert.rejects(operations.read(admission, endpoint, textOf(leastParameters(endpoint))), {
      name: "ApiError",
      code: "not_found",
    });
  }
});

test("a workspace that stops being ready between its admission and its answer is refused", async () => {
  const admission = await admit(tenant);
  await changeWorkspace(service.database, tenant, { readiness: "reconnecting" });
  for (const endpoint of ALL) {
    const answer = operations.read(admission, endpoint, textOf(leastParameters(endpoint)));
    await assert.rejects(answer, { code: "not_ready" });
  }
});
