import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, readdir } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { startWorkerProcess } from "./support/command.ts";
import { csv, type FolderFiles } from "./support/import-workspace.ts";
import { countLockWaits } from "./support/locks.ts";
import { startServerProcess } from "./support/server-process.ts";
import { startTestService } from "./support/service.ts";
import { expectOk, idOf, PART_BYTES, partsOf, uploadClient } from "./support/upload.ts";
import {
  dataOf,
  endOf,
  importByCommand,
  importedBy,
  openUploadWorkspace,
  SMALL_FOLDER,
} from "./support/upload-workspace.ts";
import type { UploadWorkspace } from "./support/upload-workspace.ts";
import { eventually } from "./support/worker.ts";
import { use } from "./support/use.ts";
import { importUpload } from "../src/sync/connectors/csv/import-upload.ts";

/** SIGKILL of servers and workers at every point of an upload: it continues, and is imported once, completely or not at all. */

const service = use(startTestService);

const AS_OF = new Date("2026-07-01T00:00:00Z");

/** A folder whose lines need several parts; long titles give many bytes with few rows. */
function folderOfParts(parts: number): FolderFiles {
  const filler = "x".repeat(900);
  const rows = Math.ceil(((parts - 0.5) * PART_BYTES) / 960);
  const lines = Array.from({ length: rows }, (_, index) => `o${index},l1,2026-01-05T10:00:00Z,1,${filler}`);
  return { ...SMALL_FOLDER, "order_lines.csv": csv("order_id,line_id,ordered_at,units,title", ...lines) };
}

test("if a server is killed at each part of an upload, the next one continues it", async (context) => {
  const shop = await openUploadWorkspace(service);
  const folder = folderOfParts(2);
  const bodies = Object.entries(folder).map(([name, body]) => [name, Buffer.from(body)] as const);
  const parts = bodies.flatMap(([name, body]) =>
    partsOf(body).map((bytes, number) => ({ name, number, bytes })),
  );
  let id = "";
  let kills = 0;
  let cutOff: (typeof parts)[number] | undefined;
  for (;;) {
    const server = await startServerProcess(context, service.databaseUrl);
    const client = uploadClient({ ...shop.sender, address: server.address });
    id ||= await idOf(
      await client.start(
        bodies.map(([name, body]) => [name, body.length]),
        "2026-06-30",
      ),
    );
    if (cutOff !== undefined) await expectOk(client.part(id, cutOff.name, cutOff.number, cutOff.bytes));
    const missing = await missingParts(client, id);
    cutOff = parts.find(({ name, number }) => missing.includes(`${name}/${number}`));
    if (cutOff === undefined) {
      assert.equal((await client.request(id)).status, 303);
      server.signal("SIGKILL");
      break;
    }
    // While it is being received: afterwards the part is stored completely or not at all.
    const sending = client.part(id, cutOff.name, cutOff.number, cutOff.bytes).catch(() => null);
    await eventually(
      async () => (await waitingInserts()) > 0 || (await settled(sending)),
      "the part's arrival",
    );
    server.signal("SIGKILL");
    await Promise.all([server.ended, sending]);
    kills += 1;
  }
  assert.equal(kills, parts.length);
  assert.equal(await importedBy(service, shop, id), "imported");
  await assertAsByCommand(shop, folder);
});

async function missingParts(client: ReturnType<typeof uploadClient>, id: string): Promise<string[]> {
  const answer = await client.parts(id);
  const { files } = (await answer.json()) as { files: { name: string; parts: (string | null)[] }[] };
  return files.flatMap(({ name, parts }) =>
    parts.flatMap((digest, number) => (digest === null ? [`${name}/${number}`] : [])),
  );
}

async function waitingInserts(): Promise<number> {
  const { rows } = await service.database.query<{ count: number }>(
    `select count(*)::integer as count from pg_stat_activity
      where datname = current_database() and query like 'insert into import_part%' and state <> 'idle'`,
  );
  return rows[0]?.count ?? 0;
}

async function settled(promise: Promise<unknown>): Promise<boolean> {
  const pending = {};
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}

async function assertAsByCommand(shop: UploadWorkspace, folder: FolderFiles): Promise<void> {
  const byCommand = await openUploadWorkspace(service);
  await importByCommand(service, byCommand, folder, AS_OF);
  assert.deepEqual(await dataOf(service, shop.tenant), await dataOf(service, byCommand.tenant));
  const { rows } = await service.database.query<{ count: number }>(
    "select count(*)::integer as count from audit_event where shop_key = $1 and action = 'import'",
    [shop.tenant.shopKey],
  );
  assert.deepEqual(rows, [{ count: 1 }], "it was imported once");
}

const startedWorker = (context: TestContext) => startWorkerProcess(context, service.databaseUrl);

async function statusOf(id: string): Promise<{ status: string; attempt: number }> {
  const { rows } = await service.database.query<{ status: string; attempt: number }>(
    "select status, attempt from import_upload where upload_id = $1",
    [id],
  );
  return rows[0] as { status: string; attempt: number };
}

/** Stops an import at its end: its last statement waits for a row that is locked here. */
async function holdBeforeEnd({ tenant }: UploadWorkspace, id: string): Promise<() => Promise<void>> {
  const client = await service.database.connect();
  await client.query("begin");
  await client.query("select 1 from import_upload where shop_key = $1 and upload_id = $2 for update", [
    tenant.shopKey,
    id,
  ]);
  return async () => {
    await client.query("rollback");
    client.release();
  };
}

test("if a worker is killed before, during or right before the end of an import, the next one does it", async (context) => {
  const shop = await openUploadWorkspace(service);
  const folder = folderOfParts(2);
  const id = await shop.client.send(folder, "2026-06-30");
  const empty = await dataOf(service, (await openUploadWorkspace(service)).tenant);

  const first = await startedWorker(context);
  await eventually(async () => (await statusOf(id)).status === "importing", "the first worker's import", 30);
  first.child.kill("SIGKILL");
  await first.outcome;
  assert.equal((await statusOf(id)).status, "importing");
  assert.deepEqual(await dataOf(service, shop.tenant), empty);

  // Everything is stored and only the end is not recorded.
  const letGo = await takenAndHeld(shop, id);
  const second = await startedWorker(context);
  await eventually(() => waitsToFinish(), "the second worker's end", 60);
  second.child.kill("SIGKILL");
  await second.outcome;
  await letGo();
  assert.deepEqual(await dataOf(service, shop.tenant), empty, "the end is in the transaction of the import");

  const third = await startedWorker(context);
  await eventually(async () => endOf(service, shop.tenant, id), "the third worker's end", 60);
  third.child.kill("SIGTERM");
  await third.outcome;
  assert.deepEqual(await statusOf(id), { status: "imported", attempt: 3 });
  await assertAsByCommand(shop, folder);
  assert.deepEqual(await filesOf(id), [], "no file of it is left");
});

async function filesOf(id: string): Promise<string[]> {
  return (await readdir(tmpdir())).filter((name) => name.includes(id));
}

/** Locks the row after the next worker has taken the import. */
async function takenAndHeld(shop: UploadWorkspace, id: string): Promise<() => Promise<void>> {
  let letGo: (() => Promise<void>) | null = null;
  const holding = eventually(async () => (await statusOf(id)).attempt === 2, "the second worker", 60).then(
    async () => (letGo = await holdBeforeEnd(shop, id)),
  );
  return async () => {
    await holding;
    await letGo?.();
  };
}

/** Nothing else waits in this database. */
const waitsToFinish = async (): Promise<boolean> => (await countLockWaits(service.database)) > 0;

/** Creates a folder as a killed worker of this machine leaves it. */
async function makeLeftover(id: string): Promise<void> {
  await mkdir(join(tmpdir(), `returns-upload-${id}.${NO_PROCESS}-0a1b2c@${hostname()}`));
}

const NO_PROCESS = 2_147_483_646;

test("at its start a worker removes leftovers of a killed one, even if another machine has taken over the import", async (context) => {
  const id = randomUUID();
  await makeLeftover(id);
  const worker = await startedWorker(context);
  worker.child.kill("SIGTERM");
  await worker.outcome;
  assert.deepEqual(await filesOf(id), []);
});

test("an import that kills every worker is refused after three, with a sentence", async () => {
  const shop = await openUploadWorkspace(service);
  const id = await shop.client.send(SMALL_FOLDER);
  await service.database.query("update import_upload set attempt = 3 where upload_id = $1", [id]);
  await makeLeftover(id);
  assert.equal(await importedBy(service, shop, id), "refused");
  assert.deepEqual(await filesOf(id), [], "what the last of them wrote is gone");
  const page = await (await shop.client.page(id)).text();
  assert.match(page, /The import was started 3 times, and interrupted each time\./u);
  assert.equal((await shop.client.request(id)).status, 303);
  assert.equal(await importedBy(service, shop, id), "imported");
});

test("an import of a workspace that is to be erased waits until the erasure is canceled", async () => {
  const shop = await openUploadWorkspace(service);
  const { shopKey } = shop.tenant;
  const id = await shop.client.send(SMALL_FOLDER);
  const LOCKED = "hashtextextended('shop data', $1)";
  const other = await service.database.connect();
  await other.query(`select pg_advisory_lock(${LOCKED})`, [shopKey]);
  const waiting = Promise.withResolvers<void>();
  const environment = { database: service.installation.database, now: () => new Date(), log: SILENT };
  const importing = importUpload(environment, shopKey, new AbortController().signal, (_id, { stage }) => {
    if (stage === "wait") waiting.resolve();
  });
  await waiting.promise;
  const erase =
    "update workspace set erase_after = case when $2 then now() + interval '1 day' end where shop_key = $1";
  await service.database.query(erase, [shopKey, true]);
  await other.query(`select pg_advisory_unlock(${LOCKED})`, [shopKey]);
  other.release();
  assert.equal(await importing, false);
  assert.deepEqual(await statusOf(id), { status: "waiting", attempt: 0 });
  await service.database.query(erase, [shopKey, false]);
  assert.equal(await importedBy(service, shop, id), "imported");
});

const SILENT = { info: () => {}, warn: () => {}, error: () => {} };

test("a worker that stops hands its import on", async (context) => {
  const shop = await openUploadWorkspace(service);
  const folder = folderOfParts(2);
  const id = await shop.client.send(folder, "2026-06-30");
  const worker = await startedWorker(context);
  await eventually(async () => (await statusOf(id)).status === "importing", "the import", 30);
  worker.child.kill("SIGTERM");
  await worker.outcome;
  assert.deepEqual(await statusOf(id), { status: "waiting", attempt: 0 });
  assert.equal(await importedBy(service, shop, id), "imported");
  await assertAsByCommand(shop, folder);
});
