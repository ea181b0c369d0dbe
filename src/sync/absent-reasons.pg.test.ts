import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { csv, startImportShop } from "../../tests/support/import-shop.ts";
import type { ImportShop } from "../../tests/support/import-shop.ts";
import { rebuildWorkspace } from "./rebuild.ts";

const MIGRATION = new URL("../store/migrations/before-release/0013_absent_reasons.sql", import.meta.url);

const RETURNS_HEADER = "return_id,order_id,line_id,status,units,closed_at,reason";
const STORE = {
  "order_lines.csv": csv(
    "order_id,line_id,ordered_at,sku,units",
    "o1,l1,2026-01-05T10:00:00Z,HAT,9",
    "o2,l1,2026-02-05T10:00:00Z,CAP,9",
  ),
  "returns.csv": csv(
    RETURNS_HEADER,
    "r1,o1,l1,CLOSED,1,2026-01-20T00:00:00Z,too_small",
    "r2,o1,l1,CLOSED,2,2026-01-20T00:00:00Z,",
  ),
  "refunds.csv": csv(
    "refund_id,order_id,line_id,refunded_at,units,subtotal",
    "f1,o1,l1,2026-01-21T00:00:00Z,1,5.00",
    "f2,o2,l1,2026-02-20T00:00:00Z,1,5.00",
  ),
};

/** The rows as they were before the migration. */
const OLD_ROWS = "update return_event set reason = ltrim(reason) where shop_key = $1";

const REASONS_OF_EVENTS = `
  select reason, sum(returned_units)::integer as units from return_event
   where shop_key = $1 group by reason order by reason collate "C"`;

const REASONS_OF_WORKSPACE = `
  select u.reason, sum(u.units)::integer as units
    from cohort c cross join lateral unnest(c.return_reasons, c.return_units) u (reason, units)
   where c.shop_key = $1 and c.entity_kind = 'workspace'
   group by u.reason order by u.reason collate "C"`;

let shop: ImportShop;

before(async () => {
  shop = await startImportShop();
});
after(() => shop.stop());

test("M8: the migration turns old rows into those an import gives", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, STORE);
  const imported = await shop.dump(shopKey);
  await makeOld(shopKey);
  await migrate();
  assert.deepEqual(await shop.dump(shopKey), imported);
});

test("M8: a stated refund_only of old data is recognized by the next rebuild", async () => {
  const shopKey = await shop.open();
  const stated = csv(RETURNS_HEADER, "r1,o1,l1,CLOSED,1,2026-01-20T00:00:00Z,refund_only");
  await shop.import(shopKey, { ...STORE, "returns.csv": stated });
  await makeOld(shopKey);
  await migrate();
  assert.deepEqual(await shop.rows(REASONS_OF_EVENTS, [shopKey]), [{ reason: " refund_only", units: 3 }]);
  await shop.database.transaction((connection) => rebuildWorkspace(connection, shopKey));
  assert.deepEqual(await shop.rows(REASONS_OF_WORKSPACE, [shopKey]), [
    { reason: " refund_only", units: 2 },
    { reason: "refund_only", units: 1 },
  ]);
});

async function makeOld(shopKey: number): Promise<void> {
  await shop.rows(OLD_ROWS, [shopKey]);
}

/** Every statement of the migration; it changes nothing in rows that it has changed before. */
async function migrate(): Promise<void> {
  const text = readFileSync(MIGRATION, "utf8").replaceAll(/^--.*$/gmu, "");
  for (const statement of text.split(";").filter((part) => part.trim() !== "")) await shop.rows(statement);
}
