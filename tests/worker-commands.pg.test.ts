import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { finishRun, startRun } from "../src/store/queries/sync-run.ts";
import { listRuns } from "../src/actions/sources/queries.ts";
import { runCommand, startHere } from "./support/command.ts";
import { openControlDatabase } from "./support/control.ts";
import { pageConnector, startPageSource } from "./support/page-source.ts";
import { serviceEnvironment } from "./support/service.ts";
import { connectedShop, eventually, runNext, withWorker, workerOptions } from "./support/worker.ts";
import { use } from "./support/use.ts";
import { findConnection, setSourceStatus } from "../src/store/queries/data-source.ts";
import type { Connector } from "../src/sync/connector.ts";
import { findSourceState, requestRun } from "../src/store/queries/sync-request.ts";

const control = use(openControlDatabase);
const pages = use(startPageSource);
const environment = () => serviceEnvironment(control.url);
const run = (line: string) => runCommand(line.split(" "), environment());
const options = () => workerOptions(control, [pageConnector(pages, "shopify", "store")]);
type Shown = { status: string; kind: string; counts: object; error: string | null; requested_by: string };

test("sync requests a run and says if no worker is running; --wait prints its outcome, runs its history", async () => {
  const { domain } = await connectedShop(control, [["shopify", "store"]]);
  const asked = await run(`sync shopify --workspace ${domain}`);
  assert.equal(asked.code, 0, asked.stderr);
  assert.match(asked.stdout, /^kind +backfill$/mu);
  assert.match(asked.stderr, /^No worker is running/u);
  assert.match(asked.stderr, /^\.\/returns runs shows it\.$/mu);
  await withWorker(options(), async () => {
    const waited = await run(`sync shopify --workspace ${domain} --backfill --wait --json`);
    assert.equal(waited.code, 0, waited.stderr);
    const outcome = JSON.parse(waited.stdout) as Shown;
    assert.deepEqual(
      [outcome.status, outcome.kind, outcome.requested_by, outcome.counts],
      ["succeeded", "backfill", "operator", { records: 5 }],
    );
  });
  const shown = await run(`runs --workspace ${domain} --source shopify`);
  assert.match(shown.stdout, /^started +workspace +source +kind +by +state +took +read +remarks\n/u);
  assert.match(shown.stdout, /backfill +operator +succeeded +\d+\.\d s +5 records +-$/mu);
  const listed = JSON.parse((await run("runs --limit 1 --json")).stdout) as Shown[];
  assert.equal(listed.length, 1);
});

test("sync --wait joins a running backfill instead of requesting another run", async () => {
  const { shopKey, domain } = await connectedShop(control, [["shopify", "store"]]);
  const runs = () => listRuns(control.database, { shopKey, source: "shopify", limit: 10 });
  pages.hold(3);
  assert.equal((await run(`sync shopify --workspace ${domain}`)).code, 0);
  await withWorker(options(), async () => {
    await eventually(async () => (await runs())[0]?.status === "running", "the backfill");
    const joining = ["", " --backfill"].map((more) =>
      startHere(`sync shopify --workspace ${domain} --wait${more}`.split(" "), environment()),
    );
    const haveJoined = async (): Promise<boolean> =>
      joining.every(({ written }) => /^A backfill is running/mu.test(written.stderr));
    await eventually(haveJoined, "both join", 60);
    pages.release();
    for (const { outcome } of joining) {
      const { code, stdout, stderr } = await outcome;
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^kind +backfill\nstatus +succeeded$/mu);
    }
    assert.equal((await runs()).length, 1);
    assert.equal((await run(`sync shopify --workspace ${domain} --wait --json`)).code, 0);
    assert.deepEqual(
      (await runs()).map(({ kind }) => kind),
      ["incremental", "backfill"],
    );
  });
});

test("runs leaves out notes that a later run has checked again", async () => {
  const { shopKey, domain } = await connectedShop(control, [
    ["shopify", "store"],
    ["loop", "label_cost"],
  ]);
  const succeed = async (source: string, kind: "backfill" | "incremental", note: string): Promise<void> => {
    const runId = randomUUID();
    const requestedBy = "schedule";
    await startRun(control.database, { shopKey, runId, source, kind, requestedBy, attempt: 1 });
    await finishRun(control.database, shopKey, runId, {
      status: "succeeded",
      counts: {},
      notes: [note],
      error: null,
      isQuiet: false,
    });
  };
  await succeed("shopify", "incremental", "Old.");
  await succeed("shopify", "backfill", "Of the backfill.");
  await succeed("shopify", "incremental", "Of an order.");
  await succeed("loop", "incremental", "Unmatched spend then.");
  await succeed("loop", "incremental", "Unmatched spend now.");
  const shown = JSON.parse((await run(`runs --workspace ${domain} --json`)).stdout) as { notes: string[] }[];
  assert.deepEqual(
    shown.map(({ notes }) => notes.join()),
    ["Unmatched spend now.", "", "Of an order.", "Of the backfill.", ""],
  );
});

test("sync --wait exits with 1 and the reason when the run fails, and doctor reports it too", async () => {
  const { shopKey, domain } = await connectedShop(control, [["shopify", "store"]]);
  pages.statusOf.set(String(shopKey), 401);
  await withWorker(options(), async () => {
    const waited = await run(`sync shopify --workspace ${domain} --wait`);
    assert.equal(waited.code, 1);
    assert.match(waited.stdout, /^status +failed$/mu);
    assert.match(waited.stderr, /^The source refuses the token: connect it again\.$/mu);
    const worker = await run("doctor");
    assert.match(worker.stdout, /^ok +worker +connected$/mu);
  });
  const examined = await run("doctor");
  assert.equal(examined.code, 1, "a refused connection is a problem of the installation");
  assert.match(examined.stdout, new RegExp(`^PROBLEM +connections +shopify of ${domain} is refused`, "mu"));
  assert.match(
    examined.stdout,
    new RegExp(
      `^${domain}: shopify is disconnected \\(The source refuses the token: connect it again\\); it must be`,
      "mu",
    ),
  );
  assert.match(examined.stdout, /^\d+ workspaces, \d+ with problems; \d+ connections, 1 with problems\.$/mu);
});

test("sync --cancel-backfill cancels a backfill that keeps failing, if the source was read before", async () => {
  const { shopKey, domain } = await connectedShop(control, [["shopify", "store"]]);
  const cancel = `sync shopify --workspace ${domain} --cancel-backfill`;
  const early = await run(cancel);
  assert.deepEqual([early.code, early.stdout], [1, ""]);
  assert.match(
    early.stderr,
    /^Nothing has been read from shopify yet, so its first sync has to be a backfill\.$/mu,
  );
  // Longer than the command's polling interval, so that it sees each failed attempt.
  await withWorker({ ...options(), firstRetryMs: 2500 }, async () => {
    assert.equal((await run(`sync shopify --workspace ${domain} --wait`)).code, 0);
    pages.statusOf.set(String(shopKey), 503);
    const failed = await run(`sync shopify --workspace ${domain} --backfill --wait`);
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /^try 1 failed: .+[^.]; tried again at \d\d:\d\d:\d\d UTC$/mu);
    const canceled = await run(`${cancel} --json`);
    assert.equal(canceled.code, 0, canceled.stderr);
    assert.equal((JSON.parse(canceled.stdout) as { was_requested: boolean }).was_requested, true);
    pages.statusOf.clear();
    const next = await run(`sync shopify --workspace ${domain} --wait --json`);
    assert.equal(next.code, 0, next.stderr);
    assert.equal((JSON.parse(next.stdout) as Shown).kind, "incremental");
  });
  const again = await run(`${cancel} --json`);
  assert.equal((JSON.parse(again.stdout) as { was_requested: boolean }).was_requested, false);
  assert.equal((await run(`${cancel} --wait`)).code, 2);
});

test("runs says if a run is marked running without a worker, and if a source has no runs", async () => {
  const { shopKey, domain } = await connectedShop(control, [["shopify", "store"]]);
  assert.match((await run(`runs --workspace ${domain} --source etsy`)).stdout, /^No run of etsy\.\n$/u);
  await startRun(control.database, {
    shopKey,
    runId: randomUUID(),
    source: "shopify",
    kind: "backfill",
    requestedBy: "operator",
    attempt: 1,
  });
  const shown = await run(`runs --workspace ${domain}`);
  assert.match(shown.stdout, /running/u);
  assert.match(shown.stderr, /^No worker is running: .+continue when/u);
  await withWorker(options(), async () => {
    assert.equal(
      (await run(`runs --workspace ${domain}`)).stderr,
      "Runs that changed nothing have one row, that of the newest; --unchanged counts them by day.\n" +
        "Runs are kept for 90 days, for 7 days if a webhook requested them.\n",
    );
  });
});

test("an unknown source or workspace or an invalid limit gives one sentence", async () => {
  const { domain } = await connectedShop(control, [["shopify", "store"]]);
  const cases: [string, number, RegExp][] = [
    [
      `sync loop --workspace ${domain}`,
      1,
      /^The workspace .+ is not connected to "loop"; it is connected to shopify\.\n$/u,
    ],
    ["sync shopify --workspace none.example", 1, /^There is no workspace for .+\.\n$/u],
    [
      "connect etsy --workspace x",
      2,
      /^"etsy" is not a source: use shopify, woocommerce, shipstation, loop\. For any other source, import a folder\.\n$/u,
    ],
    ["runs --limit 0", 2, /^--limit must be a whole number from 1 to 1000\.\n$/u],
  ];
  for (const [line, code, message] of cases) {
    const outcome = await run(line);
    assert.deepEqual([outcome.code, outcome.stdout], [code, ""], line);
    assert.match(outcome.stderr, message);
  }
});

for (const status of ["failed", "disconnected"] as const) {
  test(`M10: a label source that is ${status} counts as failed during retries, until a run has succeeded`, async () => {
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

/** A connection whose backfill waits for a retry after this many failures while an incremental run is requested. */
async function withFailingBackfill(failures: number, isRead: boolean): Promise<number> {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  if (isRead)
    await control.pool.query("update data_source set last_synced_at = now() where shop_key = $1", [shopKey]);
  const common = { shopKey, source: "shopify", requestedBy: "schedule" } as const;
  await requestRun(control.database, { ...common, kind: "backfill" });
  await control.pool.query(
    "update sync_request set failures = $2, run_after = now() + interval '1 hour' where shop_key = $1",
    [shopKey, failures],
  );
  await requestRun(control.database, { ...common, kind: "incremental" });
  return shopKey;
}

/** The next run, and whether a worker would check the connection at all. */
async function nextRunOf(shopKey: number): Promise<string | null> {
  const state = await findSourceState(control.database, shopKey, "shopify");
  const due = state !== null && state.request_at !== null && state.request_at <= new Date();
  const result = await runNext(options(), { shopKey, source: "shopify" });
  assert.equal(result !== null, due);
  if (result === null) return null;
  const { rows } = await control.pool.query<{ kind: string }>("select kind from sync_run where run_id = $1", [
    result.runId,
  ]);
  return rows[0]?.kind ?? null;
}

test("a backfill that has failed three times lets other runs go first while it waits, and is still retried", async () => {
  const shopKey = await withFailingBackfill(3, true);
  assert.equal(await nextRunOf(shopKey), "incremental");
  assert.equal(await nextRunOf(shopKey), null, "the backfill still waits");
  await control.pool.query("update sync_request set run_after = now() where shop_key = $1", [shopKey]);
  const common = { shopKey, source: "shopify", requestedBy: "schedule" } as const;
  await requestRun(control.database, { ...common, kind: "incremental" });
  assert.equal(await nextRunOf(shopKey), "backfill", "due, it goes first again");
});

test("other runs wait for a backfill that has failed less often, and always for a first one", async () => {
  assert.equal(await nextRunOf(await withFailingBackfill(2, true)), null);
  assert.equal(await nextRunOf(await withFailingBackfill(100, false)), null);
});
