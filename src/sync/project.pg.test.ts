import assert from "node:assert/strict";
import { test } from "node:test";
import { csv, startImportWorkspace, type FolderFiles } from "../../tests/support/import-workspace.ts";
import { withStatements } from "../../tests/support/transaction-steps.ts";
import { use } from "../../tests/support/use.ts";

const LINES = "order_id,line_id,ordered_at,sku,units";
const FIRST = { "order_lines.csv": csv(LINES, "o1,l1,2026-01-05T10:00:00Z,HAT,3") };
const SECOND = {
  "order_lines.csv": csv(LINES, "o1,l1,2026-02-05T10:00:00Z,HAT,4", "o2,l1,2026-02-06T10:00:00Z,HAT,1"),
};

const shop = use(startImportWorkspace);

/** Imports a folder; returns the names of the statements that it ran. */
async function statementsOf(shopKey: number, files: FolderFiles): Promise<Set<string>> {
  const names = new Set<string>();
  const database = withStatements(shop.database, (name) => names.add(name));
  await shop.import(shopKey, files, { database });
  return names;
}

test("existing facts are looked up only for orders that were stored", async () => {
  const shopKey = await shop.open();
  const first = await statementsOf(shopKey, FIRST);
  assert.ok(first.has("resolve_names") && !first.has("remove_facts"));

  const second = await statementsOf(shopKey, SECOND);
  assert.ok(second.has("resolve_names") && second.has("remove_facts"));
  const lines = await shop.rows(
    "select order_id, cohort_month, sold_units from order_line where shop_key = $1 order by order_id",
    [shopKey],
  );
  assert.deepEqual(lines, [
    { order_id: "o1", cohort_month: "2026-02-01", sold_units: 4 },
    { order_id: "o2", cohort_month: "2026-02-01", sold_units: 1 },
  ]);
});
