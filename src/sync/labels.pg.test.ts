import assert from "node:assert/strict";
import { test } from "node:test";
import { redactOrders } from "../store/queries/order-document.ts";
import { csv, startImportWorkspace, type FolderFiles } from "../../tests/support/import-workspace.ts";
import { inside } from "../../tests/support/inside.ts";
import {
  orderGid,
  orderWithReturn,
  putOrders,
  putSourceLabels,
  readShares as readSharesOf,
  returnGid,
  tracking,
} from "../../tests/support/label-shop.ts";
import { use } from "../../tests/support/use.ts";

const LABELS = "label_id,order_id,return_id,charged_at,amount,currency,voided_at";
const CHARGED = "2026-01-25T00:00:00Z";
const STORE: FolderFiles = {
  "order_lines.csv": csv(
    "order_id,line_id,ordered_at,sku,units,test",
    "o1,l1,2026-01-05T10:00:00Z,A,5,",
    "o1,l2,2026-01-05T10:00:00Z,B,5,",
    "o1,l3,2026-01-05T10:00:00Z,C,5,",
    "o2,l1,2026-02-05T10:00:00Z,A,5,",
    "o3,l1,2026-01-05T10:00:00Z,A,5,true",
  ),
  "returns.csv": csv(
    "return_id,order_id,line_id,status,units,processed_units,closed_at",
    "r1,o1,l1,OPEN,1,,",
    "r1,o1,l2,OPEN,9,1,",
    "r1,o1,l3,OPEN,1,,",
    "r2,o2,l1,CLOSED,2,,2026-02-20T00:00:00Z",
    "r3,o3,l1,CLOSED,2,,2026-02-20T00:00:00Z",
  ),
};

const shop = use(startImportWorkspace);

test("M10: a label of a return is split over its lines by processed, else requested units, ties by line id", async () => {
  const { shares } = await sharesOf(`b1,,r1,${CHARGED},1.00,,`);
  assert.deepEqual(shares, ["o1 l1 b1 34 lag 20", "o1 l2 b1 33 lag 20", "o1 l3 b1 33 lag 20"]);
});

test("M10: a label of an order only goes to its returned lines; charged before the order, its lag is 0", async () => {
  const { shares } = await sharesOf(`b1,o2,,${CHARGED},3.00,EUR,`);
  assert.deepEqual(shares, ["o2 l1 b1 300 lag 0"]);
});

test("M10: a return reference takes precedence over an order reference; with an unknown return the order counts", async () => {
  const { shares } = await sharesOf(`b1,o1,r2,${CHARGED},3.00,,`, `b2,o2,r9,${CHARGED},2.00,,`);
  assert.deepEqual(shares, ["o2 l1 b1 300 lag 0", "o2 l1 b2 200 lag 0"]);
});

test("M10: of returns with one id in several orders, the order that a label names decides", async () => {
  const shopKey = await shop.open();
  const closed = "CLOSED,1,,2026-02-20T00:00:00Z";
  await shop.import(shopKey, {
    ...STORE,
    "returns.csv": csv(
      "return_id,order_id,line_id,status,units,processed_units,closed_at",
      `1,o1,l1,${closed}`,
      `1,o2,l1,${closed}`,
    ),
    "return_labels.csv": csv(
      LABELS,
      `b1,o2,1,${CHARGED},3.00,,`,
      `b2,,1,${CHARGED},4.00,,`,
      `b3,o9,1,${CHARGED},6.00,,`,
    ),
  });
  assert.deepEqual(await readShares(shopKey), [
    "o1 l1 b2 200 lag 20",
    "o1 l1 b3 300 lag 20",
    "o2 l1 b1 300 lag 0",
    "o2 l1 b2 200 lag 0",
    "o2 l1 b3 300 lag 0",
  ]);
});

test("M10: labels of unknown references, of orders without returned lines and of lines that sell nothing are unmatched", async () => {
  const { shares, warnings } = await sharesOf(
    `b1,,,${CHARGED},1.00,,`,
    `b2,o9,r9,${CHARGED},1.00,,`,
    `b3,o1,,${CHARGED},1.00,,`,
    `b4,o3,r3,${CHARGED},1.00,,`,
  );
  assert.deepEqual(shares, []);
  assert.deepEqual(warnings, [["unmatched_label", 4]]);
});

test("M10: a voided label costs nothing, also when it is voided later", async () => {
  const { shopKey, shares } = await sharesOf(
    `b1,,r2,${CHARGED},1.00,,${CHARGED}`,
    `b2,,r2,${CHARGED},2.00,,`,
  );
  assert.deepEqual(shares, ["o2 l1 b2 200 lag 0"]);
  const voided = csv(LABELS, `b2,,r2,${CHARGED},2.00,,2026-02-01T00:00:00Z`);
  const result = await shop.import(shopKey, { ...STORE, "return_labels.csv": voided });
  assert.deepEqual(result.changed_months, ["2026-02"]);
  assert.deepEqual(await readShares(shopKey), []);
  const [cost] = await shop.rows(
    `select sum(${inside("label_minor", "lifetime")}) as minor from cohort where shop_key = $1`,
    [shopKey],
  );
  assert.deepEqual(cost, { minor: 0 });
});

for (const [change, row] of [
  ["corrected", `b1,,r2,${CHARGED},1.00,EUR,`],
  ["voided", `b1,,r2,${CHARGED},1.00,usd,${CHARGED}`],
] as const) {
  test(`M10: one label in a foreign currency makes its currency the source's until it is ${change}; it is not shared, and a voided one does not count`, async () => {
    const { shopKey, shares, warnings } = await sharesOf(
      `b1,,r2,${CHARGED},1.00,usd,`,
      `b2,,r2,${CHARGED},2.00,EUR,`,
      `b3,,r2,${CHARGED},3.00,gbp,${CHARGED}`,
    );
    assert.deepEqual(shares, ["o2 l1 b2 200 lag 0"]);
    assert.deepEqual(warnings, [["foreign_currency_label", 1]]);
    const source = "select currency_code from data_source where shop_key = $1 and source = 'csv_labels'";
    assert.deepEqual(await shop.rows(source, [shopKey]), [{ currency_code: "USD" }]);
    await shop.import(shopKey, { ...STORE, "return_labels.csv": csv(LABELS, row) });
    assert.deepEqual(await shop.rows(source, [shopKey]), [{ currency_code: "EUR" }]);
  });
}

test("M10: without a label file there is no label source; a file without rows makes one", async () => {
  const shopKey = await shop.open();
  const sources = "select source from data_source where shop_key = $1 order by source";
  await shop.import(shopKey, STORE);
  assert.deepEqual(await shop.rows(sources, [shopKey]), [{ source: "csv" }]);
  await shop.import(shopKey, { ...STORE, "return_labels.csv": csv(LABELS) });
  assert.deepEqual(await shop.rows(sources, [shopKey]), [{ source: "csv" }, { source: "csv_labels" }]);
});

test("M10: a label finds its lines when the return it names comes or changes later", async () => {
  const { shopKey, shares } = await sharesOf(`b1,,r7,${CHARGED},1.00,,`);
  assert.deepEqual(shares, []);
  const lines = { "order_lines.csv": csv("order_id,line_id,ordered_at,units") };
  const header = "return_id,order_id,line_id,status,units";
  await shop.import(shopKey, { ...lines, "returns.csv": csv(header, "r7,o1,l1,REQUESTED,1") });
  assert.deepEqual(await readShares(shopKey), ["o1 l1 b1 100 lag 20"]);
  await shop.import(shopKey, { ...lines, "returns.csv": csv(header, "r7,o1,l2,REQUESTED,3") });
  assert.deepEqual(await readShares(shopKey), ["o1 l1 b1 25 lag 20", "o1 l2 b1 75 lag 20"]);
});

test("M10: a tracking number takes precedence over the order's id, and that over its name; with none known the label is unmatched", async () => {
  const shopKey = await shop.open();
  await putOrders(shop, shopKey, [
    orderWithReturn(1, { ...tracking(1, "T1"), orderName: "#1001" }),
    orderWithReturn(2, { ...tracking(2, "T2"), orderName: "#1002" }),
    orderWithReturn(3, { orderName: "#1003" }),
  ]);
  await putSourceLabels(shop, shopKey, [
    { labelId: "b1", trackingNumber: "T1", orderId: orderGid(2), orderName: "#1003" },
    { labelId: "b2", trackingNumber: "T9", orderId: orderGid(2), orderName: "#1003" },
    { labelId: "b3", trackingNumber: "T9", orderName: "#1003" },
    { labelId: "b4", returnId: returnGid(3), trackingNumber: "T1", orderId: orderGid(2) },
    { labelId: "b5", trackingNumber: "T9", orderName: "#9999" },
    { labelId: "b6" },
  ]);
  assert.deepEqual(await readSharesOf(shop, shopKey), [
    "1 b1 500 lag 5",
    "2 b2 500 lag 5",
    "3 b3 500 lag 5",
    "3 b4 500 lag 5",
  ]);
});

test("M10: a tracking number of two returns, or a name of two orders, is not a reference", async () => {
  const shopKey = await shop.open();
  await putOrders(shop, shopKey, [
    orderWithReturn(1, { ...tracking(1, "T1"), orderName: "#1001" }),
    orderWithReturn(2, { ...tracking(2, "T1"), orderName: "#1001" }),
    orderWithReturn(3),
  ]);
  await putSourceLabels(shop, shopKey, [
    { labelId: "b1", trackingNumber: "T1", orderName: "#1001" },
    { labelId: "b2", trackingNumber: "T1", orderId: orderGid(3) },
  ]);
  assert.deepEqual(await readSharesOf(shop, shopKey), ["3 b2 500 lag 5"]);
});

test("M10: a label finds its return when the tracking number or the name becomes known after it came, and leaves it again", async () => {
  const shopKey = await shop.open();
  const months = async () =>
    shop.rows(
      `select sum(${inside("label_minor", "lifetime")}) as minor from cohort where shop_key = $1 and entity_kind = 'workspace'`,
      [shopKey],
    );
  await putOrders(shop, shopKey, [orderWithReturn(1), orderWithReturn(2)]);
  const without = await months();
  await putSourceLabels(shop, shopKey, [
    { labelId: "b1", trackingNumber: "T1" },
    { labelId: "b2", orderName: "#1002" },
  ]);
  assert.deepEqual(await readSharesOf(shop, shopKey), []);
  assert.deepEqual(await months(), without);
  await putOrders(shop, shopKey, [
    orderWithReturn(1, tracking(1, "T1")),
    orderWithReturn(2, { orderName: "#1002" }),
  ]);
  assert.deepEqual(await readSharesOf(shop, shopKey), ["1 b1 500 lag 5", "2 b2 500 lag 5"]);
  assert.notDeepEqual(await months(), without);
  await putOrders(shop, shopKey, [orderWithReturn(1), orderWithReturn(2)]);
  assert.deepEqual(await readSharesOf(shop, shopKey), []);
  assert.deepEqual(await months(), without);
});

test("M10: a label of an order whose customer asked to be forgotten moves when its source names another", async () => {
  const shopKey = await shop.open();
  const labels = (row: string): FolderFiles => ({ "return_labels.csv": csv(LABELS, row) });
  await shop.import(shopKey, { ...STORE, ...labels(`b1,,r1,${CHARGED},3.00,,`) });
  await shop.database.transaction((connection) => redactOrders(connection, shopKey, ["o1"], []));
  await shop.import(shopKey, labels(`b1,o2,r2,${CHARGED},3.00,,`));
  assert.deepEqual(await readShares(shopKey), ["o2 l1 b1 300 lag 0"]);
});

test("M10: a tracking number that moves to another order's return takes its label along", async () => {
  const shopKey = await shop.open();
  await putOrders(shop, shopKey, [orderWithReturn(1, tracking(1, "T1")), orderWithReturn(2)]);
  await putSourceLabels(shop, shopKey, [{ labelId: "b1", trackingNumber: "T1" }]);
  assert.deepEqual(await readSharesOf(shop, shopKey), ["1 b1 500 lag 5"]);
  await putOrders(shop, shopKey, [orderWithReturn(1), orderWithReturn(2, tracking(2, "T1"))]);
  assert.deepEqual(await readSharesOf(shop, shopKey), ["2 b1 500 lag 5"]);
});

async function sharesOf(...labels: string[]) {
  const shopKey = await shop.open();
  const result = await shop.import(shopKey, { ...STORE, "return_labels.csv": csv(LABELS, ...labels) });
  assert.deepEqual(result.invalid, []);
  const ofLabels = result.warnings.filter(({ kind }) => kind.endsWith("_label"));
  const warnings = ofLabels.map(({ kind, count }) => [kind, count]);
  return { shopKey, shares: await readShares(shopKey), warnings };
}

async function readShares(shopKey: number): Promise<unknown[]> {
  const rows = await shop.rows<{ share: string }>(
    `select concat_ws(' ', order_id, line_id, label_id, label_minor, 'lag', lag_days) as share
       from label_share where shop_key = $1 order by share`,
    [shopKey],
  );
  return rows.map(({ share }) => share);
}
