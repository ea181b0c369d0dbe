import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findConnection } from "../src/store/queries/data-source.ts";
import { listRuns } from "../src/store/queries/sync-run.ts";
import { SourceFailed } from "../src/sync/connector.ts";
import type { Connector } from "../src/sync/connector.ts";
import { requestRun } from "../src/sync/run-request.ts";
import { openControlDatabase } from "./support/control.ts";
import type { ControlDatabase } from "./support/control.ts";
import { pageConnector, startPageSource } from "./support/page-source.ts";
import type { PageSource } from "./support/page-source.ts";
import { connectedShop, eventually, withWorker, workerOptions } from "./support/worker.ts";

let control: ControlDatabase;
let pages: PageSource;
before(async () => {
  control = await openControlDatabase();
  pages = await startPageSource();
});
after(async () => {
  await pages.stop();
  await control.stop();
});

test("M10: a label source that failed stays so while it is tried again, until a run has succeeded", async () => {
  const { shopKey } = await connectedShop(control, [["loop", "label_cost"]]);
  const healthy = pageConnector(pages, "loop", "label_cost");
  let sync: Connector["sync"] = (context) => healthy.sync(context);
  const loop: Connector = { ...healthy, sync: (context) => sync(context) };
  const status = async (): Promise<string | null | undefined> =>
    (await findConnection(control.database, shopKey, "loop"))?.status;
  const newestRun = async (): Promise<string | undefined> =>
    (await listRuns(control.database, { shopKey, source: "loop", limit: 1 }))[0]?.status;
  const ask = () =>
    requestRun(control.database, { shopKey, source: "loop", kind: "incremental", requestedBy: "operator" });
  await withWorker(workerOptions(control, [loop]), async () => {
    await ask();
    await eventually(async () => (await status()) === "ok", "the first run");

    let failures = 0;
    const second = Promise.withResolvers<undefined>();
    const release = Promise.withResolvers<undefined>();
    sync = async (context) => {
      if (failures++ === 0) throw new SourceFailed("The source answered 503 several times.");
      second.resolve(undefined);
      await release.promise;
      return healthy.sync(context);
    };
    await ask();
    await second.promise;
    assert.deepEqual([await newestRun(), await status()], ["running", "failed"]);
    release.resolve(undefined);
    await eventually(async () => (await newestRun()) === "succeeded", "the second try");
    await eventually(async () => (await status()) === "ok", "its outcome");
  });
});
