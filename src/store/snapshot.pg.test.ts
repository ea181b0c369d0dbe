import assert from "node:assert/strict";
import { test } from "node:test";
import { openControlDatabase } from "../../tests/support/control.ts";
import { use } from "../../tests/support/use.ts";
import type { Queryable } from "./database.ts";

/** Reads over one connection. */
const control = use(() => openControlDatabase({ maxConnections: 1, readOnly: true }));
const SHOP = 7;
const PLANS = { name: "test_count_plans", text: "select count(*) as plans from plan" };

async function countPlans(connection: Queryable): Promise<number> {
  const [row] = await connection.rows<{ plans: number }>(PLANS, []);
  return row?.plans ?? 0;
}

test("every statement of a snapshot sees what the first one saw, and the next snapshot what was committed since", async () => {
  const seen = await control.database.snapshot(SHOP, async (connection) => {
    const first = await countPlans(connection);
    await control.pool.query("insert into plan (plan_key, entitlements) values ('later', '{}')");
    return [first, await countPlans(connection)] as const;
  });
  assert.equal(seen[1], seen[0]);
  assert.equal(await control.database.snapshot(SHOP, countPlans), seen[0] + 1);
});

test("a snapshot writes nothing, and releases its connection when a statement fails", async () => {
  const statement = { name: "test_add_plan", text: "insert into plan (plan_key) values ('never')" };
  await assert.rejects(
    control.database.snapshot(SHOP, (connection) => connection.rows(statement, [])),
    /read-only transaction/u,
  );
  await assert.rejects(
    control.database.snapshot(SHOP, () => Promise.reject(new Error("the work failed"))),
    /the work failed/u,
  );
  assert.ok((await control.database.snapshot(SHOP, countPlans)) > 0);
});

test("a connection that dies within a snapshot fails only that snapshot", async () => {
  const end = { name: "test_end", text: "select pg_terminate_backend(pg_backend_pid())" };
  await assert.rejects(
    control.database.snapshot(SHOP, async (connection) => {
      await countPlans(connection);
      await connection.rows(end, []);
    }),
  );
  assert.ok((await control.database.snapshot(SHOP, countPlans)) > 0);
});
