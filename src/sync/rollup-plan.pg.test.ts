import assert from "node:assert/strict";
import { test } from "node:test";
import type { Connection, Statement } from "../store/database.ts";
import { startImportShop } from "../../tests/support/import-shop.ts";
import { rebuildCohorts } from "./apply.ts";
import { use } from "../../tests/support/use.ts";

const MONTH = "2026-01-01";
const LISTINGS = 2000;

const shop = use(startImportShop);

/** Rolls up a month whose tables no statistics describe yet; the plan of each statement that ran, by its name. */
async function plansOfRollup(): Promise<Map<string, string>> {
  const shopKey = await shop.open();
  await shop.rows(
    `insert into order_line (shop_key, order_id, line_id, ordered_on, cohort_month, sold_units, sku, used)
     select $1, n::text, n::text, $2, $2, 1, 'S' || n, false from generate_series(1, $3::integer) n`,
    [shopKey, MONTH, LISTINGS],
  );
  const plans = new Map<string, string>();
  await shop.database.transaction(async (connection) => {
    const explaining: Connection = {
      client: connection.client,
      rows: async <Row>(statement: Statement, values: readonly unknown[]) => {
        const explain = { name: `explain_${statement.name}`, text: `explain ${statement.text}` };
        const lines = await connection.rows<{ "QUERY PLAN": string }>(explain, values);
        plans.set(statement.name, lines.map((line) => line["QUERY PLAN"]).join("\n"));
        return connection.rows<Row>(statement, values);
      },
    };
    await rebuildCohorts(explaining, shopKey, [MONTH]);
  });
  return plans;
}

/** The joins of a plan, one line each. */
function joinsOf(plan: string | undefined): string[] {
  return (plan ?? "").split("\n").filter((line) => /Nested Loop|Merge .*Join|Hash .*Join/u.test(line));
}

test("unsold listings are found by hashing: each table is read once, however many rows it has", async () => {
  const joins = joinsOf((await plansOfRollup()).get("remove_unsold_listings"));
  assert.equal(joins.length, 1);
  assert.match(joins[0] ?? "", /Hash (?:Right )?Anti Join/u);
});

/** A loop over the shop's own row, and over the values or arrays of each row. */
const LOOPS = { insert_cohorts: 1, insert_group_days: 2, insert_sku_quarter: 2 };

test("a month is rolled up by hashing, whatever number of rows is expected", async () => {
  const plans = await plansOfRollup();
  for (const [name, loops] of Object.entries(LOOPS)) {
    const plan = plans.get(name) ?? "";
    const joins = joinsOf(plan);
    assert.ok(joins.length > loops, name);
    assert.equal(joins.filter((join) => !/Hash .*Join/u.test(join)).length, loops, plan);
  }
});
