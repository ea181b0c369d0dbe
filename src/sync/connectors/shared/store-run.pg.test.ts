import assert from "node:assert/strict";
import { test } from "node:test";
import { startImportWorkspace } from "../../../../tests/support/import-workspace.ts";
import { addPending, listPending, openOrderRecords } from "../../../store/queries/sync-record.ts";
import { drainPending, type StoreRun } from "./store-run.ts";
import { use } from "../../../../tests/support/use.ts";

const shop = use(startImportWorkspace);

test("M5: an order requested again while others are fetched is fetched in this run; if its own fetch had begun, the request remains", async () => {
  const shopKey = await shop.open();
  const ids = ["o0", "o1", "o2", "o3", "o4", "o5"];
  const ask = (asked: readonly string[]): Promise<void> =>
    addPending(shop.database, shopKey, "shopify", "order", asked);
  await ask(ids);
  const { signal } = new AbortController();
  const place = { database: shop.database, shopKey, source: "shopify" };
  const run = { ...place, signal, progress: () => {} } as unknown as StoreRun<null>;
  const fetched: string[] = [];
  await drainPending(
    run,
    { kind: "order" },
    () => 2,
    async (portion) => {
      if (fetched.length === 0) await ask(["o0", "o5", "o6"]);
      fetched.push(...portion);
      return [];
    },
  );
  assert.deepEqual(fetched, ids);
  const left = await listPending(shop.database, shopKey, "shopify", "order", {
    after: "",
    last: "o9",
    limit: 10,
  });
  assert.deepEqual(
    left.map((row) => row.record_id),
    ["o0", "o6"],
  );
});

test("long records, as a hostile store sends them, are fetched a few at a time", async () => {
  const shopKey = await shop.open();
  await shop.rows(
    `insert into sync_record (shop_key, source, part, record_id, record)
     select $1, 'woocommerce', 'whole_order', 'o' || n, repeat('x', 3000000) from generate_series(1, 24) n`,
    [shopKey],
  );
  assert.deepEqual(await countsOfFetches(shopKey), [5, 5, 5, 5, 4]);
});

/** The numbers of records of orders that are fetched together. */
function countsOfFetches(shopKey: number): Promise<number[]> {
  return shop.database.transaction(async (connection) => {
    const next = await openOrderRecords(connection, shopKey, "woocommerce");
    const counts: number[] = [];
    for (let rows = await next(); rows.length > 0; rows = await next()) counts.push(rows.length);
    return counts;
  });
}

test("short records of orders whose stored documents are long are fetched a few at a time", async () => {
  const shopKey = await shop.open();
  const place = [shopKey];
  await shop.rows(
    `insert into sync_record (shop_key, source, part, record_id, record)
     select $1, 'woocommerce', 'whole_order', 'o' || n, '{}' from generate_series(1, 8) n`,
    place,
  );
  await shop.rows(
    `insert into order_document (shop_key, order_id, document)
     select $1, 'o' || n, jsonb_build_object('lines', jsonb_build_array(jsonb_build_object('title', repeat('x', 5000000))))
       from generate_series(1, 8) n`,
    place,
  );
  assert.deepEqual(await countsOfFetches(shopKey), [3, 3, 2]);
});
