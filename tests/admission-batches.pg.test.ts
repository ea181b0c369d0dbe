import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createAdmit, type Admission, type Admit, type Need } from "../src/access/admit.ts";
import { createAdmissionQueue, type AdmissionQueue } from "../src/access/admission-queue.ts";
import { createToken, parseToken, type ParsedToken } from "../src/access/token.ts";
import type { Queryable } from "../src/store/database.ts";
import { openControlDatabase } from "./support/control.ts";
import { openConnections } from "./support/database.ts";
import { waitOutMidnight } from "./support/midnight.ts";
import { countedRequests, createTenant, createTokenOf, type Tenant } from "./support/tenants.ts";
import { countLockWaits } from "./support/locks.ts";
import { refuseRows } from "./support/refused-rows.ts";
import { eventually } from "./support/worker.ts";
import { createWorkspaceNodes } from "../src/access/workspace-nodes.ts";
import { ApiError } from "../src/contract/errors.ts";
import { deriveKeys } from "../src/lib/keys.ts";
import { openNodeDatabases } from "../src/store/node-databases.ts";
import { isCitus } from "./support/citus.ts";
import { TEST_SECRET } from "./support/secret.ts";
import { use } from "./support/use.ts";

const ALERTS: Need = { scope: "read:alerts", entitlements: ["api_access"], counted: true };
const pepper = deriveKeys(TEST_SECRET).tokenPepper;

const ADMISSION = { maxConnections: 8, statementTimeoutMs: 2000, applicationName: "returns-admission" };

await waitOutMidnight();
const control = use(() => openControlDatabase(ADMISSION));

/** A guard, and how many statements it has sent. */
function openGuard(): { admit: Admit; statements: () => number } {
  let statements = 0;
  const counting: Queryable = {
    rows: (statement, values) => {
      statements += 1;
      return control.database.rows(statement, values);
    },
  };
  return { admit: createAdmit({ database: counting, pepper }), statements: () => statements };
}

type ServingGuard = { admit: Admit; close(this: void): Promise<void> };

/** The same as servers open it: on Citus a check goes directly to the shop's node, which cancels it if it takes too long. */
async function openServingGuard(): Promise<ServingGuard> {
  if (!isCitus()) return { admit: openGuard().admit, close: async () => {} };
  const { database: coordinator, url } = control;
  const open = (nodeUrl: string) => openConnections(nodeUrl, ADMISSION);
  const nodes = openNodeDatabases({ coordinator, url, open, retryMs: 100 });
  const nodeOfWorkspace = createWorkspaceNodes(coordinator);
  for (const shopKey of [1, 2, 3, 4, 5, 6, 7, 8]) {
    const { node } = await nodeOfWorkspace(shopKey);
    await eventually(async () => nodes.of(node) !== coordinator, `node ${node} answers`);
  }
  const admit = createAdmit({ database: coordinator, pepper, nodeOfWorkspace, databaseOfNode: nodes.of });
  return { admit, close: () => nodes.close() };
}

/** Checks all at once; returns, in their order, the day's use after each or the code of its refusal. */
async function askTogether(admit: Admit, requests: readonly [token: string, need: Need][]) {
  const outcomes = await Promise.allSettled(requests.map(([token, need]) => admit(`Bearer ${token}`, need)));
  return outcomes.map((outcome) => {
    if (outcome.status === "fulfilled") return outcome.value.quota?.used ?? null;
    assert.ok(outcome.reason instanceof ApiError, String(outcome.reason));
    return outcome.reason.message.includes("not known") ? "unknown" : outcome.reason.code;
  });
}

function times<Value>(count: number, value: Value): Value[] {
  return Array.from({ length: count }, () => value);
}

const EXPORT: Need = { scope: "read:exports", entitlements: ["api_access", "data_export"], counted: true };
const UNCOUNTED: Need = { scope: null, entitlements: ["api_access"], counted: false };

function openQueue(queried: Queryable, longestWaitMs: number): AdmissionQueue {
  return createAdmissionQueue({
    database: queried,
    pepper,
    connections: 4,
    longestWaitMs,
    nodeOfWorkspace: null,
  });
}

/** A request in the form that the batch takes. */
function requestOf({ token }: Tenant) {
  return { ...(parseToken(token) as ParsedToken), ...ALERTS };
}

describe("requests of one shop that arrive together", () => {
  test("are checked in one statement, and each sees a count of its own, in order of arrival", async () => {
    const tenant = await createTenant(control.pool, { dailyQuota: 100 });
    const { admit, statements } = openGuard();
    const asked = await askTogether(admit, times(50, [tenant.token, ALERTS]));
    assert.deepEqual(
      asked,
      Array.from({ length: 50 }, (_, index) => index + 1),
    );
    assert.equal(statements(), 1);
    assert.equal(await countedRequests(control.pool, tenant), 50);
  });

  test("that exceed the quota are admitted in order of arrival until it is used up", async () => {
    const tenant = await createTenant(control.pool, { dailyQuota: 10 });
    const { admit, statements } = openGuard();
    await askTogether(admit, times(3, [tenant.token, ALERTS]));
    const asked = await askTogether(admit, times(20, [tenant.token, ALERTS]));
    assert.deepEqual(asked, [4, 5, 6, 7, 8, 9, 10, ...times(13, "rate_limited")]);
    assert.equal(statements(), 2);
    assert.equal(await countedRequests(control.pool, tenant), 10);
    assert.deepEqual(await askTogether(admit, times(2, [tenant.token, ALERTS])), times(2, "rate_limited"));
    assert.equal(await countedRequests(control.pool, tenant), 10);
  });

  test("that are more than a whole day's quota use all of it on the first request of the day", async () => {
    const tenant = await createTenant(control.pool, { dailyQuota: 2 });
    const asked = await askTogether(openGuard().admit, times(4, [tenant.token, ALERTS]));
    assert.deepEqual(asked, [1, 2, "rate_limited", "rate_limited"]);
    assert.equal(await countedRequests(control.pool, tenant), 2);
  });

  test("are each checked by their own token and needs; refused ones use none of the quota", async () => {
    const tenant = await createTenant(control.pool, { dailyQuota: 3 });
    const shopKey = tenant.shopKey;
    const narrow = await createTokenOf(control.pool, shopKey, { scopes: ["read:exports"] });
    const revoked = await createTokenOf(control.pool, shopKey, { revokedAt: "2026-01-01T00:00:00Z" });
    const stranger = createToken(shopKey, pepper);
    const { admit, statements } = openGuard();
    const asked = await askTogether(admit, [
      [revoked.token, ALERTS],
      [tenant.token, ALERTS],
      [narrow.token, ALERTS],
      [stranger.token, ALERTS],
      [narrow.token, EXPORT],
      [tenant.token, UNCOUNTED],
      [tenant.token, EXPORT],
      [tenant.token, ALERTS],
      [narrow.token, EXPORT],
    ]);
    assert.deepEqual(asked, [
      "unauthorized",
      1,
      "forbidden",
      "unknown",
      2,
      2,
      3,
      "rate_limited",
      "rate_limited",
    ]);
    assert.equal(statements(), 1);
    assert.equal(await countedRequests(control.pool, tenant), 3);
  });

  test("with one token id and two secrets are two callers: the wrong one is refused, the right one admitted", async () => {
    const tenant = await createTenant(control.pool);
    const queue = openQueue(control.database, 3000);
    const right = requestOf(tenant);
    const wrong = { ...right, secret: "0".repeat(43) };
    const judged = await Promise.all([queue(wrong), queue(right), queue(wrong)]);
    assert.deepEqual(
      judged.map((result) => result.verdict),
      ["unknown_token", "admitted", "unknown_token"],
    );
  });

  test("in several processes with one quota: each count is given out once", async () => {
    const tenant = await createTenant(control.pool, { dailyQuota: 100 });
    const guards = Array.from({ length: 4 }, () => openGuard().admit);
    const asked = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        askTogether(guards[index % 4] as Admit, times(7, [tenant.token, ALERTS])),
      ),
    );
    const passed = asked.flat().filter((used) => typeof used === "number");
    assert.deepEqual(
      passed.toSorted((left, right) => left - right),
      Array.from({ length: 100 }, (_, index) => index + 1),
    );
    assert.equal(await countedRequests(control.pool, tenant), 100);
  });
});

test("requests admitted together share one workspace, and another shop's is never among them", async () => {
  const tenants = await Promise.all(times(8, 0).map(() => createTenant(control.pool)));
  const { admit } = openGuard();
  const admissions: Admission[] = await Promise.all(
    Array.from({ length: 200 }, (_, index) => admit(`Bearer ${tenants[index % 8]?.token}`, ALERTS)),
  );
  for (const [index, { workspace, tokenId }] of admissions.entries()) {
    assert.equal(workspace.shopKey, tenants[index % 8]?.shopKey);
    assert.equal(workspace.shopDomain, tenants[index % 8]?.shopDomain);
    assert.equal(tokenId, tenants[index % 8]?.tokenId);
  }
});

describe("requests of many shops that arrive together", () => {
  test("are checked in one statement, and each shop's are counted by themselves up to its own quota", async () => {
    const quotas = Array.from({ length: 40 }, (_, index) => index % 5);
    const tenants = await Promise.all(quotas.map((dailyQuota) => createTenant(control.pool, { dailyQuota })));
    const { admit, statements } = openGuard();
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
      assert.equal(await countedRequests(control.pool, tenants[index] as Tenant), Math.min(3, quota));
    }
  });

  test("in several processes never deadlock, and each count of each shop is given out once", async () => {
    const tenants = await Promise.all(times(12, 0).map(() => createTenant(control.pool, { dailyQuota: 50 })));
    const guards = times(4, 0).map(() => openGuard().admit);
    const rounds = Array.from({ length: 32 }, async (_, round) => {
      // Each in another order, and the first ones all at once: the day's first requests of every shop.
      const shops = tenants.map((__, index) => tenants[(index * 5 + round) % tenants.length] as Tenant);
      const asked = await askTogether(
        guards[round % 4] as Admit,
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
      assert.equal(await countedRequests(control.pool, tenant), 50);
    }
  });

  test("fail only for the shop whose part of the statement fails", async () => {
    const tenants = await Promise.all(times(5, 0).map(() => createTenant(control.pool)));
    const broken = tenants[2] as Tenant;
    const takeBack = await refuseRows(
      control.pool,
      "daily_usage",
      "no_usage",
      `shop_key = ${broken.shopKey}`,
    );
    try {
      const { admit } = openGuard();
      const outcomes = await Promise.allSettled(
        times(2, tenants).flatMap((all) => all.map(({ token }) => admit(`Bearer ${token}`, ALERTS))),
      );
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        times(2, ["fulfilled", "fulfilled", "rejected", "fulfilled", "fulfilled"]).flat(),
      );
      for (const tenant of tenants) {
        assert.equal(await countedRequests(control.pool, tenant), tenant === broken ? 0 : 2);
      }
    } finally {
      await takeBack();
    }
  });
});

describe("a shop whose rows are locked", () => {
  /** Keeps rows of a shop locked while `work` runs. */
  async function whileLocked(table: string, tenant: Tenant, work: () => Promise<void>): Promise<void> {
    const holder = await control.pool.connect();
    await holder.query("begin");
    await holder.query(`select from ${table} where shop_key = $1 for update`, [tenant.shopKey]);
    try {
      await work();
    } finally {
      await holder.query("rollback");
      holder.release();
    }
  }

  test("fails only its own requests: later ones are admitted, and shops in the same statement never wait", async () => {
    const tenants = await Promise.all(times(6, 0).map(() => createTenant(control.pool)));
    const [stuck, ...others] = tenants as [Tenant, ...Tenant[]];
    const { admit, close } = await openServingGuard();
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
    test(`in ${table} on the day's first request delays no other shop, and is admitted once they are free`, async () => {
      const [stuck, other] = [await createTenant(control.pool), await createTenant(control.pool)];
      const { admit } = openGuard();
      let stuckRequest: Promise<unknown[]> | undefined;
      await whileLocked(table, stuck, async () => {
        stuckRequest = askTogether(admit, [[stuck.token, ALERTS]]);
        assert.deepEqual(await askTogether(admit, [[other.token, ALERTS]]), [1]);
        assert.deepEqual(await askTogether(admit, [[other.token, ALERTS]]), [2]);
      });
      assert.deepEqual(await stuckRequest, [1]);
    });
  }

  test("that another server locks for a moment loses no request", async () => {
    const tenant = await createTenant(control.pool);
    const { admit } = openGuard();
    await askTogether(admit, [[tenant.token, ALERTS]]);
    let asked: Promise<unknown[]> | undefined;
    await whileLocked("daily_usage", tenant, async () => {
      asked = askTogether(admit, times(3, [tenant.token, ALERTS]));
      await eventually(async () => (await countLockWaits(control.pool)) === 1, "its statement waits");
    });
    assert.deepEqual(await asked, [2, 3, 4]);
  });
});
