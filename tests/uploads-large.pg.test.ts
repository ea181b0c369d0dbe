import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startWorkerProcess } from "./support/command.ts";
import { signInAs } from "./support/console-person.ts";
import { openControlDatabase, type ControlDatabase } from "./support/control.ts";
import { residentMb, startServerProcess } from "./support/server-process.ts";
import type { TestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import { endOf } from "./support/upload-workspace.ts";
import { idOf, PART_BYTES, uploadClient } from "./support/upload.ts";
import { use } from "./support/use.ts";
import { eventually } from "./support/worker.ts";

/** `npm run chaos` sends the largest upload that is allowed. */
const BYTES = process.env["RETURNS_TEST_CHAOS"] === "1" ? 2 * 1024 ** 3 : 64 * 1024 ** 2;
const MOST_GROWTH_MB = 200;
/** Node.js collects less garbage on machines with more memory; with this limit, memory that cannot be freed ends the process. */
const LITTLE_MEMORY = {
  NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --max-old-space-size=128`,
};
const LONGEST_IMPORT_SECONDS = 1800;
const HEADER = "order_id,line_id,ordered_at,units,note\n";
/** A column that the import ignores: many bytes in few rows. */
const NOTE = "n".repeat(900);
const ORDERS = 5000;
/** During the first parts a process still grows because it loads code. */
const FIRST_PARTS = 4;
const CHECK_MS = 100;

const control = use(openControlDatabase);

test("a large upload is imported, and neither server nor worker grows with it", async (context) => {
  const { pool, url, database }: ControlDatabase = control;
  const server = await startServerProcess(context, url, LITTLE_MEMORY);
  const { address } = server;
  const tenant = await createTenant(pool, { readiness: "installing", dataAsOf: null });
  const { shopDomain } = tenant;
  const place = { installation: { database }, address } as TestService;
  const cookie = await signInAs(place, { name: `Owner of ${shopDomain}`, shopDomain });
  const client = uploadClient({ address, cookie, shopDomain });
  const ofServer = watchMemory(server.pid);
  const id = await idOf(await client.start([["order_lines.csv", BYTES]]));
  let number = 0;
  for await (const part of partsOf(BYTES)) {
    for (;;) {
      const answer = await client.part(id, "order_lines.csv", number, part);
      if (answer.status === 200) break;
      assert.equal(answer.status, 429, await answer.text());
      await sleep(Number(answer.headers.get("retry-after")) * 1000);
    }
    number += 1;
    if (number === FIRST_PARTS) ofServer.begin();
  }
  const worker = await startWorkerProcess(context, url, LITTLE_MEMORY);
  const ofWorker = watchMemory(worker.child.pid ?? 0);
  ofWorker.begin();
  await client.request(id);
  const look = () => endOf({ database: pool }, tenant, id);
  const status = await eventually(look, "the import of the large upload", LONGEST_IMPORT_SECONDS);
  worker.child.kill("SIGTERM");
  server.signal("SIGTERM");
  await Promise.all([worker.outcome, server.ended]);
  assert.equal(status, "imported");
  for (const [name, memory] of Object.entries({ server: ofServer.end(), worker: ofWorker.end() })) {
    context.diagnostic(`${name}: ${memory.startMb} to ${memory.mostMb} MB`);
    assert.ok(memory.mostMb - memory.startMb <= MOST_GROWTH_MB, name);
  }
});

/** The parts of a file of exactly so many bytes, made while they are sent. */
async function* partsOf(bytes: number): AsyncGenerator<Buffer> {
  let rest = Buffer.from(HEADER);
  let rows = 0;
  for (let left = bytes; left > 0;) {
    const wanted = Math.min(left, PART_BYTES);
    const made = [rest];
    for (let length = rest.length; length < wanted;) {
      const row = Buffer.from(`o${rows % ORDERS},l1,2026-01-05T10:00:00Z,1,${NOTE}\n`);
      rows += 1;
      made.push(row);
      length += row.length;
    }
    const whole = Buffer.concat(made);
    rest = whole.subarray(wanted);
    left -= wanted;
    yield whole.subarray(0, wanted);
    await sleep(0);
  }
}

/** Resident memory of a process: at `begin`, and the most until `end`. */
function watchMemory(pid: number) {
  const memory = { startMb: 0, mostMb: 0 };
  const timer = setInterval(() => (memory.mostMb = Math.max(memory.mostMb, residentMb(pid))), CHECK_MS);
  return {
    begin: () => (memory.startMb = residentMb(pid)),
    end: () => {
      clearInterval(timer);
      return memory;
    },
  };
}
