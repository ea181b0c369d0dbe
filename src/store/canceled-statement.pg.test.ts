import assert from "node:assert/strict";
import { test } from "node:test";
import { openControlDatabase } from "../../tests/support/control.ts";
import { use } from "../../tests/support/use.ts";
import { eventually } from "../../tests/support/worker.ts";

const REASON = new Error("stopped by somebody");
const SLEEP = { name: "canceled_sleep", text: "select pg_sleep($1)" };
const COUNT = { name: "canceled_count", text: "select count(*) as rows from generate_series(1, 300000)" };

const control = use(() => openControlDatabase({ maxConnections: 1 }));

async function isAsleep(): Promise<boolean> {
  const { rowCount } = await control.pool.query(
    "select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'",
  );
  return rowCount === 1;
}

test("a stopped transaction cancels its statement also where the pool has no other connection", async () => {
  const stop = new AbortController();
  const stopped = control.database.transaction(async (connection) => {
    await connection.rows(SLEEP, [600]);
  }, stop.signal);
  const outcome = assert.rejects(stopped, REASON);
  await eventually(isAsleep, "the statement");
  stop.abort(REASON);
  await outcome;
});

test("after a stop between two statements no other follows", async () => {
  const stop = new AbortController();
  const stopped = control.database.transaction(async (connection) => {
    stop.abort(REASON);
    await connection.rows(SLEEP, [600]);
  }, stop.signal);
  await assert.rejects(stopped, REASON);
});

test("a stop at the end of a statement cancels nothing of the connection's next user", async () => {
  for (let round = 0; round < 30; round += 1) {
    const stop = new AbortController();
    const stopped = control.database.transaction(async (connection) => {
      await connection.rows(SLEEP, [0]);
      stop.abort(REASON);
    }, stop.signal);
    const next = control.database.rows<{ rows: number }>(COUNT, []);
    await assert.rejects(stopped, REASON);
    assert.deepEqual(await next, [{ rows: 300_000 }]);
  }
});
