import assert from "node:assert/strict";
import { test } from "node:test";
import { findConnection, setSourceStatus } from "../src/store/queries/data-source.ts";
import type { Connector } from "../src/sync/connector.ts";
import { requestRun } from "../src/store/queries/sync-request.ts";
import { openControlDatabase } from "./support/control.ts";
import { pageConnector, startPageSource } from "./support/page-source.ts";
import { connectedShop, eventually, withWorker, workerOptions } from "./support/worker.ts";
import { use } from "./support/use.ts";

const control = use(openControlDatabase);
const pages = use(startPageSource);

for (const status of ["failed", "disconnected"] as const) {
  test(`M10: a label source that is ${status} has failed while it is tried again, until a run has succeeded`, async () => {
    const { shopKey } = await connectedShop(control, [["loop", "label_cost"]]);
    const healthy = pageConnector(pages, "loop", "label_cost");
    const isUnderWay = Promise.withResolvers<undefined>();
    const mayEnd = Promise.withResolvers<undefined>();
    const loop: Connector = {
      ...healthy,
      sync: async (context) => {
        isUnderWay.resolve(undefined);
        await mayEnd.promise;
        return healthy.sync(context);
      },
    };
    const statusNow = async (): Promise<string | null | undefined> =>
      (await findConnection(control.database, shopKey, "loop"))?.status;
    await setSourceStatus(
      control.database,
      shopKey,
      "loop",
      status,
      "The source answered 503 several times.",
    );
    await withWorker(workerOptions(control, [loop]), async () => {
      await requestRun(control.database, {
        shopKey,
        source: "loop",
        kind: "incremental",
        requestedBy: "operator",
      });
      await isUnderWay.promise;
      assert.equal(await statusNow(), "failed");
      mayEnd.resolve(undefined);
      await eventually(async () => (await statusNow()) === "ok", "the run's outcome");
    });
  });
}
