import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PoolClient } from "pg";
import { alerts } from "../src/contract/alerts.ts";
import { post, toolCall } from "./support/mcp.ts";
import { waitOutMidnight } from "./support/midnight.ts";
import { openOperations } from "./support/operations.ts";
import { createPerson, setRole } from "./support/people.ts";
import { startTestService, type CalledAnswer, type TestService } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { countedRequests, type Tenant } from "./support/tenants.ts";

const CONNECTIONS = 8;
const REQUESTS_PER_SHOP = 2;
const BUSY = "Too many requests of this workspace are running at once: send fewer in parallel.";
const REMEMBERED = { start_month: "2025-01", end_month: "2026-05" };

let service: TestService;

before(async () => {
  await waitOutMidnight();
  service = await startTestService({
    DATABASE_CONNECTIONS: String(CONNECTIONS),
    REQUESTS_PER_SHOP: String(REQUESTS_PER_SHOP),
  });
});
after(() => service.stop());

async function createShop(): Promise<Tenant> {
  const tenant = await createSmallStore(service.database, { dailyQuota: 1000 });
  return tenant;
}

/** Makes every statement that reads alerts wait while `work` runs. */
async function whileAlertsHang(work: (holder: PoolClient) => Promise<void>): Promise<void> {
  const holder = await service.database.connect();
  try {
    await holder.query("begin");
    await holder.query("lock table alert in access exclusive mode");
    await work(holder);
  } finally {
    await holder.query("rollback");
    holder.release();
  }
}

/** A request that is not answered while alerts hang; no two limits share a cached answer. */
function askAlerts({ token }: Tenant, limit: number): Promise<CalledAnswer> {
  return service.call("/api/v1/alerts", { token, params: { limit } });
}

function askSummary({ token }: Tenant): Promise<CalledAnswer> {
  return service.call("/api/v1/summary", { token, params: REMEMBERED });
}

test("too many requests of a shop at once: 429 rate_limited after the wait, Retry-After 1, and not counted", async () => {
  const shop = await createShop();
  assert.equal((await askSummary(shop)).status, 200);
  await whileAlertsHang(async (holder) => {
    const hanging = Array.from({ length: REQUESTS_PER_SHOP }, (_, index) => askAlerts(shop, index + 1));
    const late = [askAlerts(shop, 50), askAlerts(shop, 51), askAlerts(shop, 51)];
    const tool = post(service.address, toolCall("list_alerts", { limit: 52 }), { token: shop.token });
    for (const answer of await Promise.all(late)) {
      assert.deepEqual([answer.status, answer.message()], [429, BUSY]);
      assert.equal(answer.headers.get("retry-after"), "1");
    }
    const { result } = (await tool).message;
    assert.deepEqual(
      [result?.isError, JSON.parse(result?.content?.[0]?.text ?? "")],
      [true, { error: { code: "rate_limited", message: BUSY } }],
    );
    assert.equal(await countedRequests(service.database, shop), 1 + REQUESTS_PER_SHOP);
    const remembered = await askSummary(shop);
    assert.equal(remembered.status, 200, "what is remembered needs no turn");
    assert.equal(remembered.headers.get("x-ratelimit-remaining"), String(1000 - 2 - REQUESTS_PER_SHOP));
    await holder.query("rollback");
    for (const answer of await Promise.all(hanging)) assert.equal(answer.status, 200);
  });
  assert.equal((await askAlerts(shop, 50)).status, 200, "its turns are free again");
});

test("pages share the limit of the shop's requests: 429 with the same sentence, and the quota is unchanged", async () => {
  const shop = await createShop();
  const person = await createPerson(service.database);
  await setRole(service.database, shop, person, "viewer");
  const operations = await openOperations(service, { REQUESTS_PER_SHOP: String(REQUESTS_PER_SHOP) });
  const { sessionHash } = person;
  const admission = await operations.admitMember({ sessionHash, shopDomain: shop.shopDomain });
  assert.ok(admission !== "signed_out" && admission.role !== null);
  assert.equal((await askSummary(shop)).status, 200);
  await whileAlertsHang(async (holder) => {
    const read = (limit: number) => operations.read(admission, alerts, `limit=${limit}`);
    const hanging = Array.from({ length: REQUESTS_PER_SHOP }, (_, index) => read(index + 1));
    await assert.rejects(read(50), {
      code: "rate_limited",
      message: BUSY,
      retryAfterSeconds: 1,
      quota: null,
    });
    await holder.query("rollback");
    await Promise.all(hanging);
  });
  assert.equal(await countedRequests(service.database, shop), 1);
  await operations.stop();
});

test("five shops with many hanging requests leave connections for a sixth", async () => {
  const busy = await Promise.all(Array.from({ length: 5 }, createShop));
  const other = await createShop();
  await whileAlertsHang(async (holder) => {
    const hanging = busy.flatMap((shop) =>
      Array.from({ length: 6 }, (_, index) => askAlerts(shop, index + 1)),
    );
    let hasEnded = false;
    const ended = Promise.all(hanging).finally(() => (hasEnded = true));
    assert.equal((await askSummary(other)).status, 200);
    assert.equal(hasEnded, false, "it waited for the others");
    await holder.query("rollback");
    for (const { status } of await ended) assert.ok(status === 200 || status === 429, String(status));
  });
});
