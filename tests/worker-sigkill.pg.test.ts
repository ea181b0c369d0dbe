import assert from "node:assert/strict";
import { test } from "node:test";
import { openControlDatabase } from "./support/control.ts";
import { killProblems, killWorkers } from "./support/worker-kill.ts";

/** `npm run chaos` sets RETURNS_TEST_CHAOS. */
const PLAN =
  process.env["RETURNS_TEST_CHAOS"] === "1" ? { orders: 3000, kills: 50 } : { orders: 200, kills: 4 };

test("a worker killed at random points of backfill and incremental leaves the same rows, and each effect once", async (context) => {
  const control = await openControlDatabase();
  try {
    const log = (line: string): void => context.diagnostic(line);
    const report = await killWorkers({ control, ...PLAN, log });
    assert.deepEqual(killProblems(report), []);
    assert.ok((report.undisturbed["cohort"]?.length ?? 0) > 100);
    assert.ok(report.killsInRun >= 1, `${report.killsInRun} kills found a run under way`);
  } finally {
    await control.stop();
  }
});
