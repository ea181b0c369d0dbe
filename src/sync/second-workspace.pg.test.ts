import assert from "node:assert/strict";
import { test } from "node:test";
import { csv, startImportWorkspace, type FolderFiles } from "../../tests/support/import-workspace.ts";
import { putSourceLabels } from "../../tests/support/label-shop.ts";
import { countRowsRead, listKeptTables, withSteps } from "../../tests/support/transaction-steps.ts";
import type { Connection, Database } from "../store/database.ts";
import { MANY_ROWS } from "./apply.ts";
import { before, use } from "../../tests/support/use.ts";

const ORDERS = MANY_ROWS + 200;
/** A run reads each of its rows some 60 times; a loop of all rows over all rows reads each once per order. */
const READS_PER_ORDER = 150;

const shop = use(startImportWorkspace);

before(async () => {
  // From here on the planner has statistics: they know one large workspace.
  await shop.import(await shop.open(), largeStore());
});

test("a second large shop reads each row a few times, not once for each of its other rows", async () => {
  const shopKey = await shop.open();
  const reads = countingReads(shop.database);
  const result = await shop.import(shopKey, largeStore(), { database: reads.database });
  assert.equal(result.counts.changed_orders, ORDERS);
  assert.equal(await countShares(shopKey), ORDERS);
  assert.ok(reads.perOrder() < READS_PER_ORDER, `${reads.perOrder()} reads per order`);
});

test("nor do the first labels of a shop whose orders are known", async () => {
  const shopKey = await shop.open();
  const { "return_labels.csv": _, ...files } = largeStore();
  await shop.import(shopKey, files);
  const reads = countingReads(shop.database);
  const labels = numbers().map((number) => ({ labelId: `b${number}`, returnId: `r${number}` }));
  await putSourceLabels({ database: reads.database }, shopKey, labels);
  assert.equal(await countShares(shopKey), ORDERS);
  assert.ok(reads.perOrder() < READS_PER_ORDER, `${reads.perOrder()} reads per order`);
});

test("large imports of two shops do not wait for each other", async () => {
  const [first, second] = [await shop.open(), await shop.open()];
  // Where the first kept the second waiting, both would wait for ever.
  const impatient = withSteps(shop.database, {
    first: async ({ client }) => void (await client.query("set local lock_timeout = '10s'")),
  });
  const beforeCommit = async (connection: Connection): Promise<void> => {
    assert.deepEqual(await listKeptTables(connection), []);
    await shop.import(second, largeStore(), { database: impatient });
    assert.equal(await countShares(second), ORDERS);
  };
  await shop.import(first, largeStore(), { database: withSteps(shop.database, { last: beforeCommit }) });
  assert.equal(await countShares(first), ORDERS);
});

function numbers(): number[] {
  return Array.from({ length: ORDERS }, (_, index) => index);
}

/** One line, return and label per order; every other label is tied to the order alone. */
function largeStore(): FolderFiles {
  const days = numbers().map((number) => new Date(Date.UTC(2025, 0, 1 + (number % 180))).toISOString());
  return {
    "order_lines.csv": csv(
      "order_id,line_id,ordered_at,sku,units",
      ...days.map((day, number) => `o${number},l1,${day},S${number % 50},2`),
    ),
    "returns.csv": csv(
      "return_id,order_id,line_id,status,units,closed_at",
      ...days.map((day, number) => `r${number},o${number},l1,CLOSED,1,${day}`),
    ),
    "return_labels.csv": csv(
      "label_id,order_id,return_id,charged_at,amount",
      ...days.map(
        (day, number) => `b${number},o${number},${number % 2 === 0 ? `r${number}` : ""},${day},1.00`,
      ),
    ),
  };
}

function countingReads(database: Database): { database: Database; perOrder: () => number } {
  let reads = 0;
  const add = (sign: 1 | -1) => async (connection: Connection) => {
    reads += sign * (await countRowsRead(connection));
  };
  // The counters of a session may hold what it read before.
  const counted = withSteps(database, { first: add(-1), last: add(1) });
  return { database: counted, perOrder: () => Math.round(reads / ORDERS) };
}

async function countShares(shopKey: number): Promise<number> {
  const [row] = await shop.rows<{ shares: number }>(
    "select count(*) as shares from label_share where shop_key = $1",
    [shopKey],
  );
  return row?.shares ?? 0;
}
