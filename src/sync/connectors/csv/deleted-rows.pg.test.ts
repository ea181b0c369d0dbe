import assert from "node:assert/strict";
import { test } from "node:test";
import { redactOrders } from "../../../store/queries/order-document.ts";
import { csv, startImportWorkspace } from "../../../../tests/support/import-workspace.ts";
import type { FolderFiles, ImportWorkspace } from "../../../../tests/support/import-workspace.ts";
import { orderGid, orderWithReturn, putOrders, tracking } from "../../../../tests/support/label-shop.ts";
import { use } from "../../../../tests/support/use.ts";

type Rows = Readonly<Record<string, readonly string[]>>;

const HEADERS: Readonly<Record<string, string>> = {
  "order_lines.csv": "order_id,line_id,ordered_at,product_id,sku,title,units",
  "returns.csv": "return_id,order_id,line_id,status,units,closed_at,reason",
  "refunds.csv": "refund_id,order_id,line_id,refunded_at,units,subtotal,restock_type,return_id",
  "return_labels.csv": "label_id,order_id,return_id,charged_at,amount",
  "sale_events.csv": "slug,label,starts_on,ends_on,skus",
};
const KEYS: Readonly<Record<string, string>> = {
  "order_lines.csv": "order_id,line_id",
  "returns.csv": "return_id,order_id,line_id",
  "refunds.csv": "refund_id,order_id,line_id",
  "return_labels.csv": "label_id",
  "sale_events.csv": "slug",
};
const STORE: Rows = {
  "order_lines.csv": [
    "o1,l1,2026-01-05T10:00:00Z,p1,HAT,Hat,3",
    "o1,l2,2026-01-05T10:00:00Z,p2,CAP,Cap,2",
    "o2,l1,2026-02-05T10:00:00Z,p3,BAG,Bag,1",
    "o3,l1,2026-02-06T10:00:00Z,p1,HAT,Hat,4",
  ],
  "returns.csv": [
    "r1,o1,l1,CLOSED,2,2026-01-20T00:00:00Z,too small",
    "r1,o1,l2,CLOSED,1,2026-01-20T00:00:00Z,too small",
    "r2,o2,l1,CLOSED,1,2026-02-20T00:00:00Z,late",
    "r3,o3,l1,OPEN,1,,",
  ],
  "refunds.csv": [
    "f1,o1,l1,2026-01-21T00:00:00Z,1,50.00,RETURN,r1",
    "f1,o1,l2,2026-01-21T00:00:00Z,1,9.00,RETURN,r1",
    "f2,o2,l1,2026-02-21T00:00:00Z,1,15.00,,r2",
  ],
  "return_labels.csv": [
    "b1,,r1,2026-01-09T00:00:00Z,4.50",
    "b2,o2,,2026-02-09T00:00:00Z,3.00",
    "b3,,r9,2026-02-09T00:00:00Z,1.00",
  ],
  "sale_events.csv": ["w,Winter,2026-01-01,2026-01-31,HAT", "s,Spring,2026-02-01,2026-02-28,"],
};

const shop = use(startImportWorkspace);

const filesOf = (rows: Rows): FolderFiles =>
  Object.fromEntries(Object.entries(rows).map(([name, lines]) => [name, csv(HEADERS[name] ?? "", ...lines)]));

/** A folder of key columns alone in which every row is deleted. */
const deletionsOf = (keys: Rows): FolderFiles =>
  Object.fromEntries(
    Object.entries(keys).map(([name, rows]) => [
      name,
      csv(`${KEYS[name]},deleted`, ...rows.map((row) => `${row},true`)),
    ]),
  );

const without = (store: Rows, gone: (file: string, row: string) => boolean): Rows =>
  Object.fromEntries(
    Object.entries(store).map(([name, rows]) => [name, rows.filter((row) => !gone(name, row))]),
  );

/** Whether a row is deleted with these keys: by its own, or as one of a deleted line. */
function isGone(keys: Rows, file: string, row: string): boolean {
  const isDeleted = (keys[file] ?? []).some((key) => row.startsWith(`${key},`));
  return isDeleted || (keys["order_lines.csv"] ?? []).some((key) => `,${row}`.includes(`,${key},`));
}

const EVERYTHING: Rows = {
  "order_lines.csv": ["o1,l1", "o1,l2", "o2,l1", "o3,l1"],
  "return_labels.csv": ["b1", "b2", "b3"],
  "sale_events.csv": ["w", "s"],
};

const REMOVALS: Readonly<Record<string, Rows>> = {
  "a return": { "returns.csv": ["r1,o1,l1"] },
  "a refund": { "refunds.csv": ["f1,o1,l2"] },
  "labels, matched and unmatched": { "return_labels.csv": ["b1", "b3"] },
  "a sale event": { "sale_events.csv": ["w"] },
  "a line, with its returns and refunds": { "order_lines.csv": ["o1,l1"] },
  "the last line of an order, with everything of the order": { "order_lines.csv": ["o2,l1"] },
  everything: EVERYTHING,
};

for (const [title, keys] of Object.entries(REMOVALS)) {
  test(`a later folder removes ${title}: every table is as if it had never been imported`, async () => {
    const expected = await shop.open();
    await shop.import(expected, filesOf(without(STORE, (file, row) => isGone(keys, file, row))));
    const shopKey = await shop.open();
    await shop.import(shopKey, filesOf(STORE));
    const result = await shop.import(shopKey, deletionsOf(keys));
    assert.deepEqual(result.invalid, []);
    assert.equal(result.counts.deleted_rows, Object.values(keys).flat().length);
    assert.deepEqual(unknownDeletions(result), []);
    assert.deepEqual(await shop.dump(shopKey), await shop.dump(expected));
  });
}

test("rows deleted again change nothing and are told as unknown, and no other workspace loses any", async () => {
  const quiet = await shop.open();
  await shop.import(quiet, filesOf(STORE));
  const previous = await shop.dump(quiet);
  const shopKey = await shop.open();
  await shop.import(shopKey, filesOf(STORE));
  const keys = { ...EVERYTHING, "returns.csv": ["r1,o1,l1"], "refunds.csv": ["f1,o1,l2"] };
  const first = await shop.import(shopKey, deletionsOf(keys));
  const dump = await shop.dump(shopKey);
  const again = await shop.import(shopKey, deletionsOf(keys));
  assert.deepEqual([again.counts.changed_orders, again.changed_months], [0, []]);
  assert.equal(again.data_version, first.data_version);
  assert.deepEqual(
    Object.fromEntries(unknownDeletions(again)),
    Object.fromEntries(Object.entries(keys).map(([file, rows]) => [file, rows.length])),
  );
  assert.deepEqual(await shop.dump(shopKey), dump);
  assert.deepEqual(await shop.dump(quiet), previous);
});

test("in a first import deleted rows are left out and told as unknown", async () => {
  const expected = await shop.open();
  await shop.import(expected, filesOf(STORE));
  const marked = Object.entries(filesOf(STORE)).map(([name, text]) => {
    const key = `${KEYS[name]}`.replaceAll(/\w+/gu, "unknown");
    const [header = "", ...rows] = String(text).trim().split("\n");
    const gone = `${key}${",".repeat(header.split(",").length - key.split(",").length)},true`;
    return [name, csv(`${header},deleted`, ...rows.map((row) => `${row},`), gone)] as const;
  });
  const shopKey = await shop.open();
  const result = await shop.import(shopKey, Object.fromEntries(marked));
  assert.deepEqual(
    Object.fromEntries(unknownDeletions(result)),
    Object.fromEntries(marked.map(([name]) => [name, 1])),
  );
  assert.equal(result.counts.deleted_rows, marked.length);
  assert.deepEqual(await shop.dump(shopKey), await shop.dump(expected));
});

test("of rows with one key the later one counts, deleted or not", async () => {
  const header = `${HEADERS["order_lines.csv"]},deleted`;
  const line = "o1,l1,2026-01-05T10:00:00Z,p1,HAT,Hat,3";
  const gone = "o1,l1,,,,,";
  const expected = await shop.open();
  await shop.import(expected, filesOf(STORE));
  const kept = await shop.open();
  await shop.import(kept, filesOf(STORE));
  const keeping = await shop.import(kept, {
    "order_lines.csv": csv(header, `${gone},true`, `${line},false`),
  });
  assert.equal(keeping.counts.deleted_rows, 0);
  assert.deepEqual(await shop.dump(kept), await shop.dump(expected));

  const removed = await shop.open();
  await shop.import(removed, filesOf(STORE));
  await shop.import(removed, { "order_lines.csv": csv(header, `${line},false`, `${gone},true`) });
  const lines = await shop.rows("select line_id from order_line where shop_key = $1 and order_id = 'o1'", [
    removed,
  ]);
  assert.deepEqual(lines, [{ line_id: "l2" }]);
});

test("M1, M2: rows of an order whose customer asked to be forgotten are removed like any other", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, filesOf(STORE));
  await shop.database.transaction((connection) => redactOrders(connection, shopKey, ["o1"], []));
  await shop.import(shopKey, deletionsOf({ "order_lines.csv": ["o1,l1"], "refunds.csv": ["f1,o1,l2"] }));
  const left = await shop.rows(
    `select l.line_id, l.sold_units, sum(e.refund_minor)::integer as refund_minor
       from order_line l
       join return_event e on e.shop_key = l.shop_key and e.order_id = l.order_id and e.line_id = l.line_id
      where l.shop_key = $1 and l.order_id = 'o1' group by l.line_id, l.sold_units`,
    [shopKey],
  );
  assert.deepEqual(left, [{ line_id: "l2", sold_units: 2, refund_minor: 0 }]);
});

test("a line that comes back has only the returns that come with it", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, filesOf(STORE));
  await shop.import(shopKey, deletionsOf({ "order_lines.csv": ["o2,l1"] }));
  const isOfLine = (row: string): boolean => /(?:^|,)o2,l1,/u.test(row);
  await shop.import(shopKey, {
    "order_lines.csv": csv(
      HEADERS["order_lines.csv"] ?? "",
      ...(STORE["order_lines.csv"] ?? []).filter(isOfLine),
    ),
  });
  const expected = await shop.open();
  await shop.import(expected, filesOf(without(STORE, (file, row) => file.startsWith("re") && isOfLine(row))));
  assert.deepEqual(await shop.dump(shopKey), await shop.dump(expected));
});

test("an order that a store brought goes with its name and parcels when a folder deletes its last line, and can come back", async () => {
  const shopKey = await shop.open();
  const order = orderWithReturn(1, { ...tracking(1, "T1"), orderName: "#1001" });
  await putOrders(shop, shopKey, [order]);
  await shop.import(shopKey, deletionsOf({ "order_lines.csv": [`${orderGid(1)},l1`] }));
  for (const table of ["order_document", "order_reference", "return_tracking"])
    assert.deepEqual(await shop.rows(`select from ${table} where shop_key = $1`, [shopKey]), [], table);
  assert.equal(await putOrders(shop, shopKey, [order]), 1);
});

test("a return or refund of a line that the same folder deletes cannot be used", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, filesOf(STORE));
  const result = await shop.import(shopKey, {
    ...deletionsOf({ "order_lines.csv": ["o1,l1", "o9,l1"] }),
    "refunds.csv": csv(
      HEADERS["refunds.csv"] ?? "",
      "f8,o9,l1,2026-01-21T00:00:00Z,1,5.00,,",
      "f9,o1,l1,2026-01-21T00:00:00Z,1,5.00,,",
    ),
  });
  assert.equal(result.invalid_count, 2);
  assert.deepEqual(
    result.invalid.map(({ file, line, column, reason }) => [file, line, column, reason]),
    [
      ["refunds.csv", 2, "line_id", 'names the line "l1" of order "o9", which is unknown or deleted'],
      ["refunds.csv", 3, "line_id", 'names the line "l1" of order "o1", which is unknown or deleted'],
    ],
  );
});

test("a deleted row needs its key and nothing else; other rows need what they always do", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, filesOf(STORE));
  const result = await shop.import(shopKey, {
    "returns.csv": csv(
      "return_id,order_id,line_id,deleted,status",
      "r1,o1,l1,TRUE,LOST",
      "r2,,l1,true,",
      "r3,o3,l1,,",
    ),
    "return_labels.csv": csv("label_id,deleted", "b1,perhaps"),
  });
  assert.deepEqual(
    result.invalid.map(({ file, line, column }) => [file, line, column]),
    [
      ["returns.csv", 3, "order_id"],
      ["returns.csv", 4, "status"],
      ["return_labels.csv", 2, "deleted"],
    ],
  );
});

function unknownDeletions({
  warnings,
}: Awaited<ReturnType<ImportWorkspace["import"]>>): [string | null, number | null][] {
  return warnings
    .filter(({ kind }) => kind === "unknown_deleted_row")
    .map(({ file, count }) => [file, count]);
}
