import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type pg from "pg";
import type { Admit, Need } from "../src/admission/admit.ts";
import type { Database } from "../src/store/database.ts";
import { ALERTS, askTogether, openGate, openServingGate, times } from "./support/admission-gate.ts";
import { createTestDatabase, openConnections } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { countLockWaits } from "./support/locks.ts";
import { waitOutMidnight } from "./support/midnight.ts";
import { refuseRows } from "./support/refused-rows.ts";
import { openTestPool } from "./support/service.ts";
import { countedRequests, createTenant } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { eventually } from "./support/worker.ts";

const STATEMENT_TIMEOUT_MS = 2000;

let testDatabase: TestDatabase;
let database: pg.Pool;
let admission: Database;

const openAdmission = (url: string): Database =>
  openConnections(url, {
    maxConnections: 8,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    applicationName: "returns-admission",
  });

before(async () => {
  await waitOutMidnight();
  testDatabase = await createTestDatabase();
  database = openTestPool(testDatabase.url);
  admission = openAdmission(testDatabase.url);
});
after(async () => {
  await admission.close();
  await database.end();
  await testDatabase.drop();
});

describe("requests of many shops that arrive together", () => {
  test("are checked in one statement, and each shop's are counted by themselves up to its own quota", async () => {
    const quotas = Array.from({ length: 40 }, (_, index) => index % 5);
    const tenants = await Promise.all(quotas.map((dailyQuota) => createTenant(database, { dailyQuota })));
    const { admit, statements } = openGate(admission);
    const requests = times(3, tenants).flatMap((all) =>
      all.map(({ token }): [string, Need] => [token, ALERTS]),
    );
    const asked = await askTogether(admit, requests);
    assert.equal(statements(), 1);
    for (const [index, quota] of quotas.entries()) {
      const ofTenant = [0, 1, 2].map((round) => asked[round * quotas.length + index]);
      assert.deepEqual(
        ofTenant,
        [1, 2, 3].map((used) => (used <= quota ? used : "rate_limited")),
      );
      assert.equal(await countedRequests(database, tenants[index] as Tenant), Math.min(3, quota));
    }
  });

  test("of several processes: none waits for another in a circle, and each count of each shop is given out once", async () => {
    const tenants = await Promise.all(times(12, 0).map(() => createTenant(database, { dailyQuota: 50 })));
    const gates = times(4, 0).map(() => openGate(admission).admit);
    const rounds = Array.from({ length: 32 }, async (_, round) => {
      // Each in another order, and the first ones all at once: the day's first requests of every shop.
      const shops = tenants.map((__, index) => tenants[(index * 5 + round) % tenants.length] as Tenant);
      const asked = await askTogether(
        gates[round % 4] as Admit,
        times(2, shops).flatMap((all) => all.map(({ token }): [string, Need] => [token, ALERTS])),
      );
      return asked.map((used, index) => ({ used, shop: shops[index % shops.length] as Tenant }));
    });
    const asked = (await Promise.all(rounds)).flat();
    for (const tenant of tenants) {
      const passed = asked.flatMap(({ used, shop }) =>
        shop === tenant && typeof used === "number" ? [used] : [],
      );
      assert.deepEqual(
        passed.toSorted((left, right) => left - right),
        Array.from({ length: 50 }, (_, index) => index + 1),
      );
      assert.equal(await countedRequests(database, tenant), 50);
    }
  });

  test("fail with their own shop alone when its part of the statement fails", async () => {
    const tenants = await Promise.all(times(5, 0).map(() => createTenant(database)));
    const broken = tenants[2] as Tenant;
    const takeBack = await refuseRows(database, "daily_usage", "no_usage", `shop_key = ${broken.shopKey}`);
    try {
      const { admit } = openGate(admission);
      const outcomes = await Promise.allSettled(
        times(2, tenants).flatMap((all) => all.map(({ token }) => admit(`Bearer ${token}`, ALERTS))),
      );
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        times(2, ["fulfilled", "fulfilled", "rejected", "fulfilled", "fulfilled"]).flat(),
      );
      for (const tenant of tenants) {
        assert.equal(await countedRequests(database, tenant), tenant === broken ? 0 : 2);
      }
    } finally {
      await takeBack();
    }
  });
});

describe("a shop whose rows are locked", () => {
  /** Keeps rows of a shop locked while `work` runs. */
  async function whileLocked(table: string, tenant: Tenant, work: () => Promise<void>): Promise<void> {
    const holder = await database.connect();
    await holder.query("begin");
    await holder.query(`select from ${table} where shop_key = $1 for update`, [tenant.shopKey]);
    try {
      await work();
    } finally {
      await holder.query("rollback");
      holder.release();
    }
  }

  test("fails its own requests and no more: the next ones pass, shops in the same statement never wait", async () => {
    const tenants = await Promise.all(times(6, 0).map(() => createTenant(database)));
    const [stuck, ...others] = tenants as [Tenant, ...Tenant[]];
    const { admit, close } = await openServingGate(admission, testDatabase.url, openAdmission);
    await askTogether(admit, [[stuck.token, ALERTS]]);
    await whileLocked("daily_usage", stuck, async () => {
      let hasFailed = false;
      const failing = Promise.allSettled(
        times(3, 0).map(() => admit(`Bearer ${stuck.token}`, ALERTS).finally(() => (hasFailed = true))),
      );
      for (const used of [1, 2, 3]) {
        const asked = await askTogether(
          admit,
          others.map(({ token }) => [token, ALERTS]),
        );
        assert.deepEqual(asked, times(others.length, used));
      }
      assert.equal(hasFailed, false, "the other shops waited");
      const outcomes = await failing;
      assert.ok(outcomes.every((outcome) => outcome.status === "rejected"));
    });
    assert.deepEqual(await askTogether(admit, times(2, [stuck.token, ALERTS])), [2, 3]);
    await close();
  });

  for (const table of ["workspace", "api_token"]) {
    test(`in ${table} on the day's first request delays no other, and is admitted once they are free`, async () => {
      const [stuck, other] = [await createTenant(database), await createTenant(database)];
      const { admit } = openGate(admission);
      let stuckRequest: Promise<unknown[]> | undefined;
      await whileLocked(table, stuck, async () => {
        stuckRequest = askTogether(admit, [[stuck.token, ALERTS]]);
        assert.deepEqual(await askTogether(admit, [[other.token, ALERTS]]), [1]);
        assert.deepEqual(await askTogether(admit, [[other.token, ALERTS]]), [2]);
      });
      assert.deepEqual(await stuckRequest, [1]);
    });
  }

  test("that is locked for a moment by another server loses no request", async () => {
    const tenant = await createTenant(database);
    const { admit } = openGate(admission);
    await askTogether(admit, [[tenant.token, ALERTS]]);
    let asked: Promise<unknown[]> | undefined;
    await whileLocked("daily_usage", tenant, async () => {
      asked = askTogether(admit, times(3, [tenant.token, ALERTS]));
      await eventually(async () => (await countLockWaits(database)) === 1, "its statement waits");
    });
    assert.deepEqual(await asked, [2, 3, 4]);
  });
});
