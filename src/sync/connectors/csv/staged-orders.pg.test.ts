import assert from "node:assert/strict";
import { test } from "node:test";
import { csv, startImportWorkspace, type FolderFiles } from "../../../../tests/support/import-workspace.ts";
import { createStage, openStagedOrders } from "../../../store/queries/import-stage.ts";
import { openStoredOrders } from "../../../store/queries/order-document.ts";
import { rebuildWorkspace } from "../../rebuild.ts";
import { readStored } from "../../stored-document.ts";
import { readStagedOrders } from "./staged-orders.ts";
import { use } from "../../../../tests/support/use.ts";

const LINES = [
  "order_id,line_id,ordered_at,sku,title,units,unit_price",
  "o1,l1,2026-01-05T10:00:00Z,JACKET,Jacket,3,50.00",
  "o1,l2,2026-01-05T10:00:00Z,SHIRT,,2,10.00",
  "o2,l1,2026-01-31T23:30:00-01:00,CAP,Cap,1,15.00",
  "o3,l1,2026-02-03T10:00:00Z,JACKET,,4,5.00",
];
const STORE: FolderFiles = {
  "order_lines.csv": csv(...(LINES as [string, ...string[]])),
  "returns.csv": csv(
    "return_id,order_id,line_id,status,units,closed_at,reason",
    "r1,o1,l1,CLOSED,2,2026-01-20T00:00:00Z,too small",
    "r2,o3,l1,OPEN,1,,",
  ),
  "refunds.csv": csv(
    "refund_id,order_id,line_id,refunded_at,units,subtotal,restock_type,return_id",
    "f1,o1,l1,2026-01-21T00:00:00Z,1,50.00,RETURN,r1",
    "f2,o2,l1,2026-03-15T00:00:00Z,1,15.00,,",
  ),
};

const shop = use(startImportWorkspace);

test("a first folder gives the same rows whether the lines of an order are consecutive or not", async () => {
  const [header = "", ...lines] = LINES;
  const together = await shop.open();
  await shop.import(together, STORE);
  const apart = await shop.open();
  const [first = "", second = "", ...others] = lines;
  const scattered = { ...STORE, "order_lines.csv": csv(header, first, ...others, second) };
  await shop.import(apart, scattered);
  assert.deepEqual(await shop.dump(apart), await shop.dump(together));
});

test("a refund may have as many units as were placed and added, not more", async () => {
  const exchanged = csv(
    "order_id,line_id,ordered_at,units,changes",
    "o1,l1,2026-01-05T10:00:00Z,0,2026-02-01T10:00:00Z +2 exchange; 2026-02-02T10:00:00Z -1 edit",
  );
  const refunds = (units: number) =>
    csv(
      "refund_id,order_id,line_id,refunded_at,units,subtotal",
      `f1,o1,l1,2026-03-01T10:00:00Z,${units},5.00`,
    );
  for (const [units, allowed] of [
    [2, []],
    [3, ["at most 2"]],
  ] as const) {
    const files = { "order_lines.csv": exchanged, "refunds.csv": refunds(units) };
    const { invalid } = await shop.import(await shop.open(), files);
    assert.deepEqual(
      invalid.map((problem) => problem.allowed),
      allowed,
    );
  }
});

test("orders report their rows while they are merged", async () => {
  const shopKey = await shop.open();
  const seen: string[] = [];
  await shop.import(shopKey, STORE, {
    onProgress: ({ stage, doneBytes, totalBytes }) => {
      if (stage === "orders") seen.push(`${doneBytes} of ${totalBytes}`);
    },
  });
  // Four lines, two returns, two refunds.
  assert.deepEqual(seen, ["8 of 8"]);
});

test("a document stored with all its members is equal to the same rows of a folder", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, STORE);
  const thin = await shop.dump(shopKey);
  const rows = await shop.rows<{ order_id: string; document: unknown }>(
    "select order_id, document from order_document where shop_key = $1",
    [shopKey],
  );
  for (const { order_id: orderId, document } of rows) {
    await shop.rows("update order_document set document = $3 where shop_key = $1 and order_id = $2", [
      shopKey,
      orderId,
      JSON.stringify(readStored(orderId, document)),
    ]);
  }
  const { counts, data_version: dataVersion } = await shop.import(shopKey, STORE);
  assert.deepEqual([counts.changed_orders, counts.unchanged_orders, dataVersion], [0, 3, 1]);
  await shop.database.transaction((connection) => rebuildWorkspace(connection, shopKey));
  const { order_document: _thin, ...derived } = thin;
  const { order_document: _full, ...derivedAgain } = await shop.dump(shopKey);
  assert.deepEqual(derivedAgain, derived);
});

test("a first folder larger than one portion gives the same rows as one that comes in two halves", async () => {
  // At once they are a large run, of which statements are planned differently (MANY_ROWS); the halves are not.
  const orders = Array.from({ length: 1100 }, (_, index) => `o${String(index).padStart(5, "0")}`);
  const linesOf = (ids: readonly string[]): string =>
    csv(
      "order_id,line_id,ordered_at,sku,units",
      ...ids.flatMap((id, index) =>
        ["a", "b"].map((line) => `${id},${line},2026-01-05T10:00:00Z,SKU-${index % 7},2`),
      ),
    );
  const refundsOf = (ids: readonly string[]): string =>
    csv(
      "refund_id,order_id,line_id,refunded_at,units,subtotal",
      ...ids.map((id) => `f-${id},${id},b,2026-01-20T10:00:00Z,1,5.00`),
    );
  const folderOf = (ids: readonly string[]): FolderFiles => ({
    "order_lines.csv": linesOf(ids),
    "refunds.csv": refundsOf(ids),
  });
  const atOnce = await shop.open();
  const { counts } = await shop.import(atOnce, folderOf(orders));
  assert.deepEqual([counts.order_lines, counts.orders, counts.refunds], [2200, 1100, 1100]);
  const inHalves = await shop.open();
  await shop.import(inHalves, folderOf(orders.slice(0, 602)));
  await shop.import(inHalves, folderOf(orders.slice(602)));
  assert.deepEqual(await shop.dump(inHalves), await shop.dump(atOnce));
});

test("of many rows that cannot be used the first of their files are listed, whatever order they are found in", async () => {
  const shopKey = await shop.open();
  // The orders are checked by their ids, which run against the lines of the file.
  const unknown = Array.from(
    { length: 40 },
    (_, index) => `f${index},x${90 - index},l1,2026-01-21T00:00:00Z,1,1`,
  );
  const header = "refund_id,order_id,line_id,refunded_at,units,subtotal";
  const files = { ...STORE, "refunds.csv": csv(header, ...unknown) };
  const { invalid, invalid_count } = await shop.import(shopKey, files, { maxReported: 3 });
  assert.equal(invalid_count, 40);
  assert.deepEqual(
    invalid.map(({ line }) => line),
    [2, 3, 4],
  );
});

test("orders that all change, over several portions, end up as if the later folder had come alone", async () => {
  const linesOf = (units: number): FolderFiles => {
    const rows = Array.from({ length: 4000 }, (_, index) => {
      const line = index % 8;
      return `o${Math.floor(index / 8)},l${line},2026-01-05T10:00:00Z,SKU-${line},${units}`;
    });
    return { "order_lines.csv": csv("order_id,line_id,ordered_at,sku,units", ...rows) };
  };
  const changed = await shop.open();
  await shop.import(changed, linesOf(1));
  const { counts } = await shop.import(changed, linesOf(2));
  assert.deepEqual([counts.changed_orders, counts.unchanged_orders], [500, 0]);
  const alone = await shop.open();
  await shop.import(alone, linesOf(2));
  const tables = ["order_document", "order_line", "cohort", "sku"] as const;
  const [left, right] = [await shop.dump(changed), await shop.dump(alone)];
  for (const table of tables) assert.deepEqual(left[table], right[table], table);
});

test("orders with many rows are fetched a few at a time", async () => {
  const fetched = await shop.database.transaction(async (connection) => {
    await createStage(connection);
    await connection.client.query(
      `insert into staged_order_row (line_number, order_id, rows)
       select n, 'o' || n, repeat('x', case when n <= 20 then 3900000 else 10 end) from generate_series(1, 30) n`,
    );
    const next = await openStagedOrders(connection);
    const counts: number[] = [];
    for (let rows = await next(); rows.length > 0; rows = await next()) counts.push(rows.length);
    return counts;
  });
  assert.deepEqual(fetched, [4, 4, 4, 4, 4, 4, 4, 2]);
});

/** Adds `count` orders with documents of some megabytes that the database compresses to kilobytes, and small ones. */
async function storeLongDocuments(shopKey: number, count: number): Promise<void> {
  await shop.rows(
    `insert into order_document (shop_key, order_id, document)
     select $1, 'o' || lpad(n::text, 2, '0'), jsonb_build_object('lines', jsonb_build_array(jsonb_build_object(
              'lineId', 'l1', 'orderedAt', '2026-01-05T10:00:00Z', 'title', repeat('x', case when n <= $2::integer then 5000000 else 10 end))))
       from generate_series(1, $2::integer + 3) n`,
    [shopKey, count],
  );
}

test("stored orders with long documents are fetched a few at a time", async () => {
  const shopKey = await shop.open();
  await storeLongDocuments(shopKey, 4);
  const fetched = await shop.database.transaction(async (connection) => {
    const next = await openStoredOrders(connection, shopKey);
    const counts: number[] = [];
    for (let rows = await next(); rows.length > 0; rows = await next()) counts.push(rows.length);
    return counts;
  });
  assert.deepEqual(fetched, [3, 3, 1]);
});

test("an import reads the stored documents of its orders a few at a time, and each order once", async () => {
  const shopKey = await shop.open();
  await storeLongDocuments(shopKey, 6);
  const portions = await shop.database.transaction(async (connection) => {
    await createStage(connection);
    await connection.client.query(
      `insert into staged_order_row (line_number, order_id, rows)
       select n, 'o' || lpad(n::text, 2, '0'), '[' || n || ',"lines",false,{"lineId":"l1","orderedAt":"2026-01-05T10:00:00Z"}]'
         from generate_series(1, 12) n`,
    );
    const staged = await readStagedOrders({
      connection,
      shopKey,
      onProblem: () => {},
      onRows: () => {},
      isWanted: () => true,
      onEnd: () => {},
    });
    const found: [orderId: string, isStored: boolean][][] = [];
    for (let orders = await staged.next(); orders.length > 0; orders = await staged.next())
      found.push(orders.map((read) => read()).map((order) => [order?.orderId ?? "", order?.stored !== null]));
    return found;
  });
  const names = portions.map((portion) => portion.map(([orderId]) => orderId).join(" "));
  assert.deepEqual(names, ["o01 o02 o03 o04 o10 o11 o12", "o05 o06 o07 o08 o09"]);
  assert.deepEqual(
    portions.flat().map(([orderId, isStored]) => isStored === orderId < "o10"),
    Array.from({ length: 12 }, () => true),
  );
});
