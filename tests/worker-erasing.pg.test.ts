import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { runAction } from "../src/actions/action.ts";
import { textInput } from "../src/actions/field.ts";
import { eraseWorkspace, keepWorkspace } from "../src/actions/workspace/actions.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { requestRun } from "../src/store/queries/sync-request.ts";
import type { Connector } from "../src/sync/connector.ts";
import { openControlDatabase } from "./support/control.ts";
import { operatorOf } from "./support/workspace.ts";
import {
  connectedShop,
  eventually,
  keepAllInOrder,
  runScheduled,
  withWorker,
  workerOptions,
} from "./support/worker.ts";
import { use } from "./support/use.ts";

/** A worker and a workspace that is scheduled for erasure. */

const control = use(openControlDatabase);

const rows = async <Row extends object>(text: string, values: unknown[]): Promise<Row[]> =>
  (await control.pool.query<Row>(text, values)).rows;

const runsOf = (shopKey: number) =>
  rows<{ status: string; error: string | null }>(
    "select status, error from sync_run where shop_key = $1 order by started_at",
    [shopKey],
  );
const requestsOf = (shopKey: number) =>
  rows<{ kind: string; failures: number }>("select kind, failures from sync_request where shop_key = $1", [
    shopKey,
  ]);

test("a running sync stops and none begins; after a cancellation the run continues", async () => {
  const { shopKey, domain } = await connectedShop(control, [["loop", "label_cost"]]);
  const { database } = control;
  let isBlocking = true;
  let begun = 0;
  const connector: Connector = {
    source: "loop",
    kind: "label_cost",
    sync: async ({ signal }) => {
      begun += 1;
      if (isBlocking) await once(signal, "abort");
      signal.throwIfAborted();
      return { counts: { labels: 1 }, notes: [] };
    },
  };
  await requestRun(database, { shopKey, source: "loop", kind: "backfill", requestedBy: "operator" });
  await withWorker(workerOptions(control, [connector]), async () => {
    await eventually(async () => begun === 1, "a run has begun");
    const workspace = await requireWorkspace(database, domain);
    await runAction(eraseWorkspace, operatorOf(database, workspace), textInput({ domain }));
    await eventually(async () => (await runsOf(shopKey))[0]?.status === "interrupted", "it has stopped", 30);
    isBlocking = false;
    await runScheduled(control, workerOptions(control, []), "labels");
    assert.deepEqual(await keepAllInOrder(workerOptions(control, [])), []);
    assert.deepEqual(await requestsOf(shopKey), [{ kind: "backfill", failures: 0 }]);
    assert.equal(begun, 1);

    await runAction(keepWorkspace, operatorOf(database, workspace), textInput({}));
    await eventually(async () => (await requestsOf(shopKey)).length === 0, "the run was made", 30);
  });
  assert.deepEqual(
    (await runsOf(shopKey)).map(({ status }) => status),
    ["interrupted", "succeeded"],
  );
});

test("scheduled upkeep erases workspaces that are due", async () => {
  const { shopKey, domain } = await connectedShop(control, [["loop", "label_cost"]]);
  const { database } = control;
  const workspace = await requireWorkspace(database, domain);
  const longAgo = operatorOf(database, workspace, new Date("2026-01-01"));
  await runAction(eraseWorkspace, longAgo, textInput({ domain }));
  assert.deepEqual(await keepAllInOrder(workerOptions(control, [])), []);
  assert.deepEqual(await rows("select 1 from workspace where shop_key = $1", [shopKey]), []);
  assert.deepEqual(await rows("select 1 from shop_directory where shop_domain = $1", [domain]), []);
});
