import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { DatabaseRole } from "../src/store/role-rights.ts";
import type { Database } from "../src/store/database.ts";
import { asRole, openConnections } from "./support/database.ts";
import { REFUSED } from "./support/roles.ts";
import {
  forEachStatement,
  lacksPlans,
  nodesOf,
  openStatementDatabase,
  planOf,
} from "./support/statement-plan.ts";

/** Every statement of the registry, planned as each role: planning checks the same rights as running. */

const skip = await lacksPlans();
let stop: () => Promise<void>;
let database: Database;
let url: string;

before(async () => {
  ({ database, url, stop } = await openStatementDatabase());
});
after(() => stop());

/** Names of the statements that a role is refused. Only the worker may make the tables of a run. */
async function refusedTo(role: DatabaseRole): Promise<string[]> {
  const refused: string[] = [];
  const maker = role === "worker" ? openConnections(asRole(url, role)) : database;
  await forEachStatement(maker, async (connection, statement) => {
    const { client } = connection;
    await client.query(`savepoint one`);
    if (role !== "worker") await client.query(`set local role returns_${role}`);
    await planOf(connection, statement).catch((error: { code?: string }) => {
      if (error.code !== REFUSED) throw error as Error;
      refused.push(statement.name);
    });
    await client.query("rollback to savepoint one");
  });
  if (maker !== database) await maker.close();
  return refused;
}

test("a worker may run every statement except that of admission", { skip }, async () => {
  assert.deepEqual(await refusedTo("worker"), ["admit_callers"]);
});

test("a reader is refused every statement that writes, locks or counts", { skip }, async () => {
  const refused = new Set(await refusedTo("reader"));
  const allowed: string[] = [];
  await forEachStatement(database, async (connection, statement) => {
    const plan = await planOf(connection, statement);
    const writes = (plan === null ? [] : nodesOf(plan)).some((node) =>
      ["ModifyTable", "LockRows"].includes(node["Node Type"]),
    );
    if (writes && !refused.has(statement.name) && !/\bpg_temp\b|staged/u.test(statement.text))
      allowed.push(statement.name);
  });
  assert.deepEqual(allowed, []);
  for (const name of ["admit_callers", "give_back_requests", "analyze_table"])
    assert.ok(refused.has(name), name);
});

test("admission may run its own statements, and those that only read the system", { skip }, async () => {
  const refused = new Set(await refusedTo("admission"));
  const reading: string[] = [];
  await forEachStatement(database, async (connection, statement) => {
    if (refused.has(statement.name)) return;
    const plan = await planOf(connection, statement);
    const tables = (plan === null ? [] : nodesOf(plan)).filter((node) => node.Schema === "public");
    if (tables.length > 0) reading.push(statement.name);
  });
  const counts = ["give_back_requests", "list_quota_days"];
  assert.deepEqual(reading.toSorted(), ["admit_callers", "applied_migrations", ...counts]);
});
