import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { csv, startImportShop } from "../../../../tests/support/import-shop.ts";
import type { ImportShop } from "../../../../tests/support/import-shop.ts";

let shop: ImportShop;
before(async () => {
  shop = await startImportShop();
});
after(() => shop.stop());

test("M15: SKUs of a sale event that the store does not know are reported", async () => {
  const shopKey = await shop.open();
  const files = {
    "order_lines.csv": csv("order_id,line_id,ordered_at,units,sku", "o1,l1,2026-01-05T10:00:00Z,1,A"),
    "sale_events.csv": csv("slug,label,starts_on,ends_on,skus", "s,Sale,2026-01-01,2026-01-09,A;B;C"),
  };
  const { warnings } = await shop.import(shopKey, files, { asOf: new Date("2026-01-10T00:00:00Z") });
  assert.deepEqual(
    warnings.map(({ kind, file, count }) => ({ kind, file, count })),
    [{ kind: "unknown_sale_sku", file: "sale_events.csv", count: 2 }],
  );
});
