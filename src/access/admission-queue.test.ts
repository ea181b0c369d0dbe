import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { Queryable, Statement } from "../store/database.ts";
import { createAdmissionQueue, type AdmissionQueue, type AdmissionQueueOptions } from "./admission-queue.ts";

const ADMITTED = { verdict: "admitted", missing: null, used_requests: null, daily_quota: null };
/** Among the values of admit_callers. */
const [SHOP_KEYS, REQUESTS] = [1, 7];

function openQueue(database: Queryable, options: Partial<AdmissionQueueOptions> = {}): AdmissionQueue {
  const pepper = Buffer.alloc(32);
  return createAdmissionQueue({
    database,
    pepper,
    connections: 4,
    longestWaitMs: 60_000,
    nodeOfWorkspace: null,
    ...options,
  });
}

const NEED = { tokenId: "t", secret: "s", scope: null, entitlements: [], counted: false };

function requestOf(shopKey: number) {
  return { shopKey, ...NEED };
}

/** A database that admits all, each statement on demand; `batches` says what came: "workspace×requests". */
function startable(): { database: Queryable; batches: string[]; end: (batch: string) => Promise<void> } {
  const batches: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    batches,
    database: {
      rows: async <Row>(_statement: Statement, values: readonly unknown[]) => {
        const shopKeys = values[SHOP_KEYS] as number[];
        const requests = values[REQUESTS] as number[];
        const batch = shopKeys.map((shopKey, index) => `${shopKey}×${requests[index]}`).join(" ");
        batches.push(batch);
        await new Promise<void>((end) => ends.set(batch, end));
        return shopKeys.map(() => ADMITTED as Row);
      },
    },
    end: async (batch) => {
      ends.get(batch)?.();
      await turn();
    },
  };
}

/** Until what was asked is on its way. */
async function turn(): Promise<void> {
  for (let turns = 0; turns < 4; turns += 1) await new Promise((done) => setImmediate(done));
}

test("shops share a statement; later ones get a second, and further requests wait for the first to end", async () => {
  const { database, batches, end } = startable();
  const queue = openQueue(database);
  const ask = (shops: number[]) => Promise.all(shops.map((shop) => queue(requestOf(shop))));
  const first = ask([2, 1, 2]);
  await turn();
  const second = ask([3]);
  await turn();
  const third = ask([4, 5]);
  await turn();
  assert.deepEqual(batches, ["1×1 2×2", "3×1"]);
  await end("3×1");
  assert.deepEqual(batches, ["1×1 2×2", "3×1", "4×1 5×1"]);
  await end("1×1 2×2");
  await end("4×1 5×1");
  await Promise.all([first, second, third]);
});

test("a shop is in one statement at a time, and others do not wait behind it", async () => {
  const { database, batches, end } = startable();
  const queue = openQueue(database);
  const first = queue(requestOf(1));
  await turn();
  const later = [1, 1, 2].map((shop) => queue(requestOf(shop)));
  await turn();
  assert.deepEqual(batches, ["1×1", "2×1"]);
  await end("1×1");
  assert.deepEqual(batches, ["1×1", "2×1", "1×2"]);
  await end("2×1");
  await end("1×2");
  await Promise.all([first, ...later]);
});

test("a statement has shops of one node, and a busy node delays no other", async () => {
  const { database, batches, end } = startable();
  const nodeOfWorkspace = async (shop: number) => ({ node: shop < 3 ? 1 : 2, shard: shop });
  const queue = openQueue(database, { nodeOfWorkspace });
  const asked = [1, 3, 2, 4].map((shop) => queue(requestOf(shop)));
  await turn();
  assert.deepEqual(batches, ["1×1 2×1", "3×1 4×1"]);
  for (const batch of batches) await end(batch);
  await Promise.all(asked);
});

test("a request that has waited too long is refused once it could be sent, and what came after it is checked", async () => {
  let nowMs = 0;
  const clock = mock.method(performance, "now", () => nowMs);
  try {
    const { database, end } = startable();
    const queue = openQueue(database, { longestWaitMs: 100 });
    const first = queue(requestOf(1));
    await turn();
    const late = assert.rejects(queue(requestOf(1)), /did not end in time/u);
    nowMs = 60;
    const fresh = queue(requestOf(1));
    nowMs = 100;
    await end("1×1");
    await late;
    await end("1×1");
    assert.deepEqual([(await first).verdict, (await fresh).verdict], ["admitted", "admitted"]);
  } finally {
    clock.mock.restore();
  }
});
