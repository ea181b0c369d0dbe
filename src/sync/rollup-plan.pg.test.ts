import assert from "node:assert/strict";
import { test } from "node:test";
import type { Connection, Database, Statement } from "../store/database.ts";
import { isCitus } from "../../tests/support/citus.ts";
import { csv, startImportWorkspace, type FolderFiles } from "../../tests/support/import-workspace.ts";
import { MANY_ROWS, rebuildCohorts } from "./apply.ts";
import { before, use } from "../../tests/support/use.ts";

const MONTH = "2026-01-01";
const LISTINGS = 2000;

const shop = use(startImportWorkspace);

/** Of a month that is rolled up while no statistics describe its tables: the plan of each statement, by its name. */
let rollup: Map<string, string>;
before(async () => {
  const shopKey = await shop.open();
  await shop.rows(
    `insert into order_line (shop_key, order_id, line_id, ordered_on, cohort_month, sold_units, sku, used)
     select $1, n::text, n::text, $2, $2, 1, 'S' || n, false from generate_series(1, $3::integer) n`,
    [shopKey, MONTH, LISTINGS],
  );
  const { database, plans } = explaining(shop.database);
  // The second time the month holds rows.
  await database.transaction((connection) => rebuildCohorts(connection, shopKey, [MONTH]));
  await database.transaction((connection) => rebuildCohorts(connection, shopKey, [MONTH]));
  rollup = plans;
});

/** The same database, and the plan of each statement that its transactions ran, by its name. */
function explaining(database: Database): { database: Database; plans: Map<string, string> } {
  const plans = new Map<string, string>();
  const explainingConnection = (connection: Connection): Connection => ({
    client: connection.client,
    rows: async <Row>(statement: Statement, values: readonly unknown[]) => {
      const explain = { name: `explain_${statement.name}`, text: `explain ${statement.text}` };
      const lines = await connection.rows<{ "QUERY PLAN": string }>(explain, values);
      plans.set(statement.name, lines.map((line) => line["QUERY PLAN"]).join("\n"));
      return connection.rows<Row>(statement, values);
    },
  });
  const transaction: Database["transaction"] = (work, signal) =>
    database.transaction((connection) => work(explainingConnection(connection)), signal);
  return { database: { ...database, transaction }, plans };
}

/** The joins of a plan, one line each. */
function joinsOf(plan: string | undefined): string[] {
  return (plan ?? "").split("\n").filter((line) => /Nested Loop|Merge .*Join|Hash .*Join/u.test(line));
}

test("unsold listings are found by hashing: each table is read once, however many rows it has", async () => {
  const joins = joinsOf(rollup.get("remove_unsold_listings"));
  assert.equal(joins.length, 1);
  assert.match(joins[0] ?? "", /Hash (?:Right )?Anti Join/u);
});

const ROLLUPS = [
  "insert_cohorts",
  "put_cohorts",
  "insert_group_days",
  "put_group_days",
  "insert_sku_quarter",
];

test("a month is rolled up by hashing, whatever number of rows is expected", async () => {
  for (const name of ROLLUPS) {
    const plan = rollup.get(name) ?? "";
    const joins = joinsOf(plan);
    assert.ok(joins.length > 1, name);
    // A loop over the workspace's own row.
    assert.equal(joins.filter((join) => !/Hash .*Join/u.test(join)).length, 1, plan);
  }
});

/** Variants of one SKU each, and an order line that names each of them. */
function storeOf(variants: number): FolderFiles {
  const numbers = Array.from({ length: variants }, (_, number) => number);
  return {
    "products.csv": csv("product_id,title", "p1,Hat"),
    "variants.csv": csv("variant_id,product_id,sku", ...numbers.map((number) => `v${number},p1,S${number}`)),
    "order_lines.csv": csv(
      "order_id,line_id,ordered_at,product_id,variant_id,sku,units",
      ...numbers.map((number) => `o${number},l1,${MONTH}T10:00:00Z,p1,v${number},S${number},1`),
    ),
  };
}

/** What joins the variants of a workspace with what names them. */
const NAMING = ["resolve_lines_again", "resolve_names", "list_line_products", "insert_skus"];

test("a first large catalogue is joined by hashing, where statistics know only another shop", async () => {
  await shop.import(await shop.open(), storeOf(100));
  await shop.rows("analyze");
  const { database, plans } = explaining(shop.database);
  await shop.import(await shop.open(), storeOf(MANY_ROWS), { database });
  for (const name of NAMING) {
    const plan = plans.get(name) ?? "";
    assert.match(plan, /Hash .*Join/u, name);
    assert.doesNotMatch(plan, /Nested Loop.*\n(?: *Disabled: true\n)? *Join Filter/u, `${name}\n${plan}`);
  }
});

const OF_NODES = isCitus() && "the statistics of a Citus are on its nodes";

test(
  "a large catalogue without orders is analyzed: the next import knows its size",
  { skip: OF_NODES },
  async () => {
    const { "order_lines.csv": _, ...catalogue } = storeOf(MANY_ROWS);
    const shopKey = await shop.open();
    await shop.import(shopKey, catalogue);
    const [known] = await shop.rows<{ share: number }>(
      `select freq as share from pg_stats s,
            unnest(s.most_common_vals::text::bigint[], s.most_common_freqs) c (shop_key, freq)
      where s.tablename = 'variant' and s.attname = 'shop_key' and c.shop_key = $1`,
      [shopKey],
    );
    assert.ok((known?.share ?? 0) > 0.1, String(known?.share));
  },
);
