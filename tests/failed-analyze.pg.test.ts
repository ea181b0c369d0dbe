import assert from "node:assert/strict";
import { test } from "node:test";
import { MANY_ROWS } from "../src/sync/apply.ts";
import { csv, startImportWorkspace } from "./support/import-workspace.ts";

/** Only inserts and `analyze` call it, which also analyzes an index on its expression. */
const REFUSE_ANALYZE = `create function refuse_analyze(key bigint) returns bigint language plpgsql immutable as
  $$ begin if current_query() ilike '%analyze%' then raise 'no statistics here'; end if; return key; end $$`;

test("an import that has committed succeeds even if analyze fails", async () => {
  const shop = await startImportWorkspace();
  try {
    const shopKey = await shop.open();
    await shop.rows(REFUSE_ANALYZE);
    await shop.rows("create index refusing on order_line (refuse_analyze(shop_key))");
    const lines = Array.from(
      { length: MANY_ROWS + 1 },
      (_, number) => `o${number},l1,2026-01-05T10:00:00Z,1`,
    );
    const result = await shop.import(shopKey, {
      "order_lines.csv": csv("order_id,line_id,ordered_at,units", ...lines),
    });
    assert.equal(result.imported, true);
    assert.equal(result.counts.changed_orders, MANY_ROWS + 1);
    await assert.rejects(shop.rows("analyze order_line"), /no statistics here/u);
  } finally {
    await shop.stop();
  }
});
