import assert from "node:assert/strict";
import { test } from "node:test";
import { csv, startImportWorkspace } from "../../tests/support/import-workspace.ts";
import { putSourceLabels } from "../../tests/support/label-shop.ts";
import { use } from "../../tests/support/use.ts";

const shop = use(startImportWorkspace);

/**
 * The first line sells 5: r1 closes 2 units on day 5; refunds linked to it follow on days 10 and 20, one of 2 units
 * linked to nothing on day 12. Labels of two sources with one id are charged on day 8, a credit on day 15. The second line
 * sells 1 and has a refund alone, on day 5, of money alone.
 */
const STORE = {
  "order_lines.csv": csv(
    "order_id,line_id,ordered_at,sku,units",
    "o1,l1,2026-01-01T12:00:00Z,HAT,5",
    "o2,l1,2026-01-31T23:59:59Z,HAT,1",
  ),
  "returns.csv": csv(
    "return_id,order_id,line_id,status,units,closed_at",
    "r1,o1,l1,CLOSED,2,2026-01-06T00:00:00Z",
  ),
  "refunds.csv": csv(
    "refund_id,order_id,line_id,refunded_at,units,subtotal,restock_type,return_id",
    "f1,o1,l1,2026-01-11T00:00:00Z,1,1.00,RETURN,r1",
    "f2,o1,l1,2026-01-13T00:00:00Z,2,2.00,,",
    "f3,o1,l1,2026-01-21T00:00:00Z,1,4.00,RETURN,r1",
    "f4,o2,l1,2026-02-05T00:00:00Z,0,8.00,,",
  ),
  "return_labels.csv": csv(
    "label_id,order_id,charged_at,amount",
    "b1,o1,2026-01-09T00:00:00Z,1.00",
    "b2,o1,2026-01-16T00:00:00Z,-0.50",
  ),
};

test("M2, M10: measures that do not add up over a line's events have their value after each event", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, STORE);
  const charged = { orderId: "o1", chargedAt: "2026-01-09T23:00:00.000Z", amountMinor: 200 };
  await putSourceLabels(shop, shopKey, [{ labelId: "b1", ...charged }]);
  const rows = await shop.rows(
    `select lag_days, returned_units, refunded_units, refund_minor, label_minor, returned_not_refunded_units,
            labeled_returned_units
       from cohort where shop_key = $1 and entity_kind in ('sku', 'workspace')`,
    [shopKey],
  );
  const curve = {
    lag_days: [5, 8, 10, 12, 15, 20],
    returned_units: [2, 2, 2, 4, 4, 4],
    refunded_units: [0, 0, 1, 3, 3, 4],
    refund_minor: [800, 800, 900, 1100, 1100, 1500],
    label_minor: [0, 300, 300, 300, 250, 250],
    returned_not_refunded_units: [2, 2, 1, 1, 1, 0],
    labeled_returned_units: [0, 2, 2, 4, 4, 4],
  };
  assert.deepEqual(rows, [curve, curve]);
});
