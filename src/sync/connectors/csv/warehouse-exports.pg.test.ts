import assert from "node:assert/strict";
import { test } from "node:test";
import { csv, NOW, startImportWorkspace } from "../../../../tests/support/import-workspace.ts";
import type { FolderFiles } from "../../../../tests/support/import-workspace.ts";
import { use } from "../../../../tests/support/use.ts";

const HEADER = "order_id,line_id,ordered_at,units";
const lineAt = (time: string): FolderFiles => ({ "order_lines.csv": csv(HEADER, `o1,l1,${time},1`) });

const shop = use(startImportWorkspace);

test("M9: amounts with more decimals than the currency are rounded, halves away from zero, and counted", async () => {
  const lines = csv(
    "order_id,line_id,ordered_at,units,unit_price,unit_discount",
    "o1,l1,2026-01-05T10:00:00Z,3,3.333333,",
    "o1,l2,2026-01-05T10:00:00Z,3,10.005,0.0050",
    "o1,gid://shopify/LineItem/3,2026-01-05T10:00:00Z,3,3.333333,",
    "o1,l4,2026-01-05T10:00:00Z,3,4.50000,",
  );
  const refunds = csv(
    "refund_id,order_id,line_id,refunded_at,units,subtotal",
    "f1,o1,l1,2026-01-06 00:00:00 UTC,1,12.340000000000001",
    "f2,o1,l2,2026-01-06 00:00:00 UTC,1,0.125",
    "f3,o1,l2,2026-01-06 00:00:00 UTC,1,0.124999",
  );
  const shopKey = await shop.open();
  const result = await shop.import(
    shopKey,
    { "order_lines.csv": lines, "refunds.csv": refunds },
    { asOf: new Date("2026-01-07T00:00:00Z") },
  );
  assert.deepEqual(
    result.warnings.map(({ kind, file, count }) => [kind, file, count]),
    [
      // The price of l1 and of Shopify's line, both amounts of l2.
      ["rounded_amount", "order_lines.csv", 4],
      ["rounded_amount", "refunds.csv", 3],
    ],
  );
  const sold = await shop.rows(
    "select line_id, sum(sold_minor)::int as minor from order_line where shop_key = $1 group by 1 order by 1",
    [shopKey],
  );
  assert.deepEqual(sold, [
    { line_id: "gid://shopify/LineItem/3", minor: null },
    { line_id: "l1", minor: 1000 },
    { line_id: "l2", minor: 3000 },
    { line_id: "l4", minor: 1350 },
  ]);
  const refunded = await shop.rows(
    "select line_id, sum(refund_minor)::int as minor from return_event where shop_key = $1 group by 1 order by 1",
    [shopKey],
  );
  assert.deepEqual(refunded, [
    { line_id: "l1", minor: 1234 },
    { line_id: "l2", minor: 13 + 12 },
  ]);
});

test("M9: a currency without decimals, and a label in its own currency, are rounded to theirs", async () => {
  const shopKey = await shop.open("JPY");
  const result = await shop.import(
    shopKey,
    {
      "order_lines.csv": csv(
        "order_id,line_id,ordered_at,units,sold_amount",
        "o1,l1,2026-01-05T10:00:00Z,1,1250.50",
      ),
      "return_labels.csv": csv(
        "label_id,order_id,charged_at,amount,currency",
        "b1,o1,2026-01-06T00:00:00Z,-0.5,JPY",
        "b2,o1,2026-01-06T00:00:00Z,1.2345,KWD",
        "b3,o1,2026-01-06T00:00:00Z,1200.00,JPY",
      ),
    },
    { asOf: new Date("2026-01-07T00:00:00Z") },
  );
  assert.deepEqual(
    result.warnings.filter(({ kind }) => kind === "rounded_amount").map(({ file, count }) => [file, count]),
    [
      ["order_lines.csv", 1],
      ["return_labels.csv", 2],
    ],
  );
  const labels = await shop.rows(
    "select label_id, amount_minor::int as minor from return_label where shop_key = $1 order by 1",
    [shopKey],
  );
  assert.deepEqual(labels, [
    { label_id: "b1", minor: -1 },
    { label_id: "b2", minor: 1235 },
    { label_id: "b3", minor: 1200 },
  ]);
  const [line] = await shop.rows("select sold_minor::int as minor from order_line where shop_key = $1", [
    shopKey,
  ]);
  assert.deepEqual(line, { minor: 1251 });
});

test("an order of more than a day from now is refused with what is allowed", async () => {
  const shopKey = await shop.open();
  const inADay = new Date(Date.parse(NOW) + 86_400_000);
  const tooLate = lineAt(new Date(inADay.getTime() + 1).toISOString());
  const problem = {
    file: "order_lines.csv",
    line: 2,
    column: "ordered_at",
    reason:
      "is in the future: 2026-07-02T00:00:00.001Z; an order may be dated up to a day from now, which is " +
      "2026-07-02T00:00:00.000Z",
    allowed: "a time of at most 2026-07-02T00:00:00.000Z",
  };
  const { imported, invalid } = await shop.import(shopKey, tooLate);
  assert.deepEqual([imported, invalid], [false, [problem]]);
  assert.equal((await shop.import(shopKey, lineAt(inADay.toISOString()))).imported, true);
});
