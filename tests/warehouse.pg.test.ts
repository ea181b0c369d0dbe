import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { DuckDBConnection } from "@duckdb/node-api";
import fc from "fast-check";
import { startDemoService } from "./docs-demo.ts";
import { randomStore } from "./oracle/random-store.ts";
import { createStore } from "./support/import-store.ts";
import type { ServiceCaller } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import { compareStore, SQL, type Row } from "./support/warehouse.ts";

/** Compares docs/sql with the API: both compute the same figures of a store. For golden stores see golden.pg.test.ts. */

const seed = Number(process.env["RETURNS_TEST_SEED"] ?? Date.now() % 1_000_000_000);
const RANDOM_STORES = 4;

/** The guide's recipe for cohorts: the result from the facts equals the table of cohorts. */
async function checkRecipe(duckdb: DuckDBConnection): Promise<void> {
  const guide = readFileSync(join(SQL, "..", "guides", "warehouse.md"), "utf8");
  const [, recipe = ""] = /```sql\n(.*?)```/su.exec(guide) ?? [];
  const rows = (text: string): Promise<Row[]> =>
    duckdb.runAndReadAll(text).then((reader) => reader.getRowObjectsJson());
  const made = await rows(
    `select sku, cohort_month, sold_units, coalesce(returned_units, 0) as returned_units from (${recipe.replace(/;\s*$/u, "")})`,
  );
  const rolledUp = await rows(
    `select entity_key as sku, cohort_month, sold_units::hugeint as sold_units, returned_units::hugeint as returned_units
       from 'cohorts.parquet' where entity_type = 'sku' and "window" = '30d' order by sku, cohort_month`,
  );
  assert.ok(made.length > 100);
  assert.deepEqual(made, rolledUp);
}

test("docs/sql computes the API's figures for the demo store", async () => {
  const demo = await startDemoService();
  try {
    const { call, address } = demo.service;
    const counted: ServiceCaller = (path, options) => call(path, { ...options, isUnlimited: false });
    await compareStore({ call: counted, token: demo.tenant.token, address }, "demo", 0, {
      selections: 2,
      alsoCheck: checkRecipe,
    });
  } finally {
    await demo.stop();
  }
});

test(`docs/sql computes the API's figures for ${RANDOM_STORES} random stores`, async (context) => {
  context.diagnostic(`seed ${seed}`);
  const stores = fc.sample(randomStore, { numRuns: RANDOM_STORES, seed });
  for (const [turn, { settings, as_of: asOf, files }] of stores.entries()) {
    const tenant = await createStore(service, { ...settings, visible_card_size: 500, asOf, files });
    await compareStore({ ...service, token: tenant.token }, `store ${turn} of seed ${seed}`, turn);
  }
});
