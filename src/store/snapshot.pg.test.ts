import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../tests/support/database.ts";
import { execute } from "../../tests/support/server.ts";
import { openDatabase, type DatabasePool, type Queryable } from "./database.ts";

let testDatabase: TestDatabase;
let reading: DatabasePool;
before(async () => {
  testDatabase = await createTestDatabase();
  reading = openDatabase({
    url: testDatabase.url,
    maxConnections: 1,
    readOnly: true,
    statementTimeoutMs: 10_000,
    applicationName: "test",
    onConnectionError: () => {},
  });
});
after(async () => {
  await reading.close();
  await testDatabase.drop();
});

const SHOP = 7;
const PLANS = { name: "test_count_plans", text: "select count(*) as plans from plan" };

async function countPlans(connection: Queryable): Promise<number> {
  const [row] = await connection.rows<{ plans: number }>(PLANS, []);
  return row?.plans ?? 0;
}

test("every statement of a snapshot sees what the first one saw, and the next snapshot what was committed since", async () => {
  const seen = await reading.snapshot(SHOP, async (connection) => {
    const first = await countPlans(connection);
    await execute(testDatabase.url, "insert into plan (plan_key, entitlements) values ('later', '{}')");
    return [first, await countPlans(connection)] as const;
  });
  assert.equal(seen[1], seen[0]);
  assert.equal(await reading.snapshot(SHOP, countPlans), seen[0] + 1);
});

test("a snapshot writes nothing, and gives its connection back when a statement fails", async () => {
  const statement = { name: "test_add_plan", text: "insert into plan (plan_key) values ('never')" };
  await assert.rejects(
    reading.snapshot(SHOP, (connection) => connection.rows(statement, [])),
    /read-only transaction/u,
  );
  await assert.rejects(
    reading.snapshot(SHOP, () => Promise.reject(new Error("the work failed"))),
    /the work failed/u,
  );
  assert.ok((await reading.snapshot(SHOP, countPlans)) > 0);
});

test("a connection that dies within a snapshot fails it alone", async () => {
  const end = { name: "test_end", text: "select pg_terminate_backend(pg_backend_pid())" };
  await assert.rejects(
    reading.snapshot(SHOP, async (connection) => {
      await countPlans(connection);
      await connection.rows(end, []);
    }),
  );
  assert.ok((await reading.snapshot(SHOP, countPlans)) > 0);
});
