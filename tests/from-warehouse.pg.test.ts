import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import { startImportWorkspace } from "./support/import-workspace.ts";
import { use } from "./support/use.ts";

/** docs/sql/from-*.sql on small tables of the published schemas; the imported rows are computed by hand. */

const shop = use(startImportWorkspace);

/**
 * Order 1 includes tax, and two lines have a discount; one of its refunds has two rows of one line, one unit taken back before
 * it was sent. Order 2 excludes tax, and has a tip. Order 3 is a test, order 4 was canceled; order 5 of Airbyte was deleted.
 */
const TABLES: Record<string, string> = {
  fivetran: `
    create table "order" as select * from (values
      (1, timestamptz '2026-01-05 10:00:00Z', timestamptz '2026-01-05 09:59:00Z', null::timestamptz, true, false, false, null::double),
      (2, null, timestamptz '2026-02-06 10:00:00Z', null, false, false, null, 4.5),
      (3, null, timestamptz '2026-02-06 10:00:00Z', null, false, true, false, 0),
      (4, null, timestamptz '2026-02-06 10:00:00Z', timestamptz '2026-02-07 10:00:00Z', false, false, false, 0)
    ) t(id, processed_at, created_at, cancelled_at, taxes_included, test, _fivetran_deleted, total_tip_received);
    create table order_line as select * from (values
      (11, 1, 7, 71, 'HAT', 'Hat', 'Acme', 3::double, 11.9::double, false, true),
      (12, 1, 8, 81, 'BAG', 'Bag', 'Acme', 1, 23.8, false, true),
      (21, 2, 7, 71, 'HAT', 'Hat', 'Acme', 2, 10, false, true),
      (22, 2, null, null, null, 'Tip', null, 1, 4.5, false, false),
      (31, 3, 7, 71, 'HAT', 'Hat', 'Acme', 2, 10, false, true),
      (41, 4, 7, 71, 'HAT', 'Hat', 'Acme', 2, 10, false, true)
    ) t(id, order_id, product_id, variant_id, sku, title, vendor, quantity, price, gift_card, requires_shipping);
    create table discount_allocation as select * from (values (11, 3.57::double, 0), (21, 1.0, 0), (21, 1.0, 1))
      t(order_line_id, amount, index);
    create table tax_line as select * from (values (11, 5.13::double, 0), (12, 3.8, 0), (21, 3.42, 0)) t(order_line_id, price, index);
    create table refund as select * from (values
      (100, 1, timestamptz '2026-01-20 10:00:00Z', null::timestamptz),
      (200, 2, timestamptz '2026-03-20 10:00:00Z', timestamptz '2026-02-20 10:00:00Z')
    ) t(id, order_id, created_at, processed_at);
    create table order_line_refund as select * from (values
      (1001, 100, 11, 1::double, 10.71::double, 1.71::double, 'return'),
      (1002, 100, 11, 1, 10.71, 1.71, 'cancel'),
      (2001, 200, 21, 1, 9, 1.71, 'no_restock')
    ) t(id, refund_id, order_line_id, quantity, subtotal, total_tax, restock_type);`,
  airbyte: `
    create table orders as select * from (values
      (1, timestamptz '2026-01-05 10:00:00Z', timestamptz '2026-01-05 09:59:00Z', null::timestamptz, true, false, null::double,
       '[{"id": 11, "product_id": 7, "variant_id": 71, "sku": "HAT", "title": "Hat", "vendor": "Acme", "quantity": 3, "price": 11.9, "gift_card": false,
          "discount_allocations": [{"amount": 3.57}], "tax_lines": [{"price": 5.13}]},
         {"id": 12, "product_id": 8, "variant_id": 81, "sku": "BAG", "title": "Bag", "vendor": "Acme", "quantity": 1, "price": 23.8, "gift_card": false,
          "discount_allocations": [], "tax_lines": [{"price": 3.8}]}]'::json),
      (2, null, timestamptz '2026-02-06 10:00:00Z', null, false, false, 4.5,
       '[{"id": 21, "product_id": 7, "variant_id": 71, "sku": "HAT", "title": "Hat", "vendor": "Acme", "quantity": 2, "price": 10, "gift_card": false,
          "discount_allocations": [{"amount": 1.0}, {"amount": 1.0}], "tax_lines": [{"price": 3.42}]},
         {"id": 22, "product_id": null, "variant_id": null, "sku": null, "title": "Tip", "vendor": null, "quantity": 1, "price": 4.5, "gift_card": false,
          "requires_shipping": false}]'),
      (3, null, timestamptz '2026-02-06 10:00:00Z', null, false, true, 0,
       '[{"id": 31, "product_id": 7, "variant_id": 71, "sku": "HAT", "title": "Hat", "vendor": "Acme", "quantity": 2, "price": 10, "gift_card": false}]'),
      (4, null, timestamptz '2026-02-06 10:00:00Z', timestamptz '2026-02-07 10:00:00Z', false, false, 0,
       '[{"id": 41, "product_id": 7, "variant_id": 71, "sku": "HAT", "title": "Hat", "vendor": "Acme", "quantity": 2, "price": 10, "gift_card": false}]'),
      (5, null, null, null, null, null, null, null)
    ) t(id, processed_at, created_at, cancelled_at, taxes_included, test, total_tip_received, line_items);
    create table order_refunds as select * from (values
      (100, 1, timestamptz '2026-01-20 10:00:00Z', null::varchar,
       '[{"id": 1001, "line_item_id": 11, "quantity": 1, "subtotal": 10.71, "total_tax": 1.71, "restock_type": "return"},
         {"id": 1002, "line_item_id": 11, "quantity": 1, "subtotal": 10.71, "total_tax": 1.71, "restock_type": "cancel"}]'::json),
      (200, 2, timestamptz '2026-03-20 10:00:00Z', '2026-02-20T11:00:00+01:00',
       '[{"id": 2001, "line_item_id": 21, "quantity": 1, "subtotal": 9, "total_tax": 1.71, "restock_type": "no_restock"}]'),
      (500, 5, timestamptz '2026-03-20 10:00:00Z', null,
       '[{"id": 5001, "line_item_id": 51, "quantity": 1, "subtotal": 9, "total_tax": 1.71, "restock_type": "no_restock"}]')
    ) t(id, order_id, created_at, processed_at, refund_line_items);`,
};

for (const [name, tables] of Object.entries(TABLES)) {
  test(`the tables of ${name} are imported with the right figures`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "returns-warehouse-"));
    const instance = await DuckDBInstance.create(":memory:");
    const duckdb = await instance.connect();
    try {
      await duckdb.run(tables);
      await duckdb.run(await readFile(join(import.meta.dirname, `../docs/sql/from-${name}.sql`), "utf8"));
      for (const file of ["order_lines", "refunds"]) {
        const path = join(folder, `${file}.parquet`);
        await duckdb.run(`copy (select * from import_${file}) to '${path}' (format parquet)`);
      }
      const shopKey = await shop.open();
      const { imported, invalid, warnings } = await shop.import(shopKey, {}, { folder });
      assert.deepEqual([imported, invalid], [true, []]);
      assert.deepEqual(
        warnings.map(({ kind }) => kind),
        ["old_orders"],
      );
      const lines = await shop.rows(
        `select line_id, sum(sold_units)::int as units, sum(sold_minor)::int as minor from order_line
          where shop_key = $1 and sold_units > 0 group by 1 order by 1`,
        [shopKey],
      );
      // 3 × 11.90 − 3.57 − 5.13 = 27.00, of which a third was canceled; 23.80 − 3.80; 2 × 10 − 2.
      assert.deepEqual(lines, [
        { line_id: "11", units: 2, minor: 1800 },
        { line_id: "12", units: 1, minor: 2000 },
        { line_id: "21", units: 2, minor: 1800 },
      ]);
      const events = await shop.rows(
        `select line_id, sum(returned_units)::int as returned, sum(refund_minor)::int as minor, min(lag_days)::int as lag
           from return_event where shop_key = $1 group by 1 order by 1`,
        [shopKey],
      );
      // 10.71 − 1.71 tax; 9.00 without tax, processed before it was created.
      assert.deepEqual(events, [
        { line_id: "11", returned: 1, minor: 900, lag: 15 },
        { line_id: "21", returned: 1, minor: 900, lag: 14 },
      ]);
    } finally {
      duckdb.closeSync();
      instance.closeSync();
      await rm(folder, { recursive: true, force: true });
    }
  });
}
