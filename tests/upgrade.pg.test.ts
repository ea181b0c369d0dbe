import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readBackup, writeManifest } from "../src/actions/installation/backup-folder.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { knownMigrations, migrate, schemaLevel, UNUSABLE } from "../src/store/migrate.ts";
import { FIRST_MIGRATION } from "../src/store/queries/installation.ts";
import { rebuildMarkedWorkspaces } from "../src/sync/rebuild.ts";
import { backUp, createEmptyDatabase, createPlainDatabase, hashesOf } from "./support/backups.ts";
import { restoreInto, rowsIn } from "./support/backups.ts";
import { openConnections } from "./support/database.ts";
import { makeFolder } from "./support/folder.ts";
import { leastParameters } from "./support/requests.ts";
import { OF_0_2_0, schemaOf } from "./support/schema.ts";
import { execute } from "./support/server.ts";
import { openTestPool, startOn } from "./support/service.ts";
import { useDatabase } from "./support/use.ts";

/** The answers of 0.2.0 for each token of its database, by endpoint. */
const ANSWERS = JSON.parse(readFileSync(join(import.meta.dirname, "upgrade/0.2.0.json"), "utf8")) as Record<
  string,
  Record<string, unknown>
>;
/** Columns added to tables of 0.2.0 since. */
const ADDED_COLUMNS = ["entity_sold_units"];
const MIGRATIONS_OF_0_2_0 = OF_0_2_0.match(/(?<=^\('\d+', ')\d{4}_\w+(?=')/gmu) ?? [];

const fresh = useDatabase(createPlainDatabase);

async function onDatabaseOf020(work: (url: string) => Promise<void>): Promise<void> {
  const database = await createEmptyDatabase();
  try {
    await execute(database.url, OF_0_2_0);
    await work(database.url);
  } finally {
    await database.drop();
  }
}

/** The answers of a service on this database for every token of the database of 0.2.0. */
async function answersOf(url: string): Promise<unknown> {
  const service = await startOn({ url, drop: async () => {} }, {});
  try {
    const answers: typeof ANSWERS = {};
    for (const token of Object.keys(ANSWERS)) {
      const own: Record<string, unknown> = (answers[token] = {});
      for (const endpoint of ENDPOINTS) {
        // In 0.2.0 rows of entities had every member.
        const params = {
          ...leastParameters(endpoint),
          ...(endpoint.name === "entities" && { fields: "all" }),
        };
        const { status, text } = await service.call(endpoint.path, { token, params, isUnlimited: true });
        assert.equal(status, 200, text);
        own[endpoint.name] = text.startsWith("{") ? (JSON.parse(text) as { data: unknown }).data : text;
      }
    }
    return answers;
  } finally {
    await service.stop();
  }
}

test("a database of 0.2.0 is adopted: schema, rights and views of a new one, its own rows, and the same answers, also from facts and rollups that are computed again", () =>
  onDatabaseOf020(async (url) => {
    const pool = openTestPool(url);
    const rows = await hashesOf(pool);
    assert.ok(
      Object.values(rows).every((hash) => !hash.startsWith("0 ")),
      "every table has rows",
    );
    await migrate({ url });
    assert.deepEqual(await schemaOf(url), await schemaOf(fresh.url));
    assert.deepEqual(await hashesOf(pool, ADDED_COLUMNS), rows);
    const applied = await pool.query("select name, works_with from schema_migration order by id");
    const names = applied.rows.map(({ name }: { name: string }) => name);
    assert.deepEqual(names, [...MIGRATIONS_OF_0_2_0, ...(await knownMigrations())]);
    // These markers keep servers of 0.2.0 ready.
    const adopted = applied.rows.slice(MIGRATIONS_OF_0_2_0.length) as { works_with: string }[];
    assert.ok(adopted.every((row) => row.works_with === MIGRATIONS_OF_0_2_0.at(-1)));
    await migrate({ url });
    assert.deepEqual(
      (await pool.query("select name, works_with from schema_migration order by id")).rows,
      applied.rows,
    );
    assert.deepEqual(await answersOf(url), ANSWERS);
    await pool.end();

    await execute(
      url,
      `update workspace w set needs_projection = true
        where exists (select from order_document d where d.shop_key = w.shop_key and d.document ? 'lines');
       insert into dirty_cohort (shop_key, cohort_month)
         select distinct shop_key, cohort_month from order_line on conflict do nothing;`,
    );
    const database = openConnections(url);
    await rebuildMarkedWorkspaces(database, () => {});
    await database.close();
    assert.deepEqual(await rowsIn(url, "select 1 from workspace where needs_projection"), []);
    assert.deepEqual(await answersOf(url), ANSWERS, "M7, M8, M14: computed again");
  }));

test("a backup of 0.2.0 is restored at the level of a new database, and answers the same; an older one, or its database, is refused with the version to go through", () =>
  onDatabaseOf020(async (url) => {
    const [restored, empty] = [await createEmptyDatabase(), await createEmptyDatabase()];
    const database = openConnections(url, { maxConnections: 2 });
    try {
      const folder = join(makeFolder(), "backup");
      await backUp(database, folder);
      await restoreInto(restored.url, folder);
      const applied = await rowsIn<{ name: string }>(restored.url, "select name from schema_migration");
      assert.deepEqual(applied, [{ name: FIRST_MIGRATION }]);
      await migrate({ url: restored.url });
      assert.deepEqual(await schemaOf(restored.url), await schemaOf(fresh.url));
      assert.deepEqual(await answersOf(restored.url), ANSWERS);

      const { manifest } = await readBackup(folder);
      await writeManifest(folder, { ...manifest, migrations: manifest.migrations.slice(0, -1) }, null);
      await assert.rejects(restoreInto(empty.url, folder), /older than version 0\.2\.0: restore it with/u);
    } finally {
      await database.close();
      await restored.drop();
      await empty.drop();
    }
    await execute(url, "delete from schema_migration where name = '0061_purchases'");
    const schema = await schemaOf(url);
    await assert.rejects(migrate({ url }), { message: UNUSABLE.older });
    assert.match(UNUSABLE.older, /run "\.\/returns migrate" of version 0\.2\.0 on it/u);
    assert.deepEqual(await schemaOf(url), schema, "nothing changes");
  }));

test("a database's level follows from the migrations that it has run", async () => {
  const levelOf = (names: readonly string[]): Promise<string> =>
    schemaLevel(names.map((name) => ({ name, works_with: null })));
  const known = await knownMigrations();
  assert.equal(await levelOf([]), "behind");
  assert.equal(await levelOf(known), "current");
  assert.equal(await levelOf([...known, "9999_later"]), "newer");
  assert.equal(await levelOf(["9998_other_first", "9999_later"]), "newer");
  assert.equal(await levelOf(MIGRATIONS_OF_0_2_0), "behind");
  // A backup by 0.2.0 of a database that 1.0.0, and then this version, has adopted.
  assert.equal(await levelOf([...MIGRATIONS_OF_0_2_0, FIRST_MIGRATION]), "behind");
  assert.equal(await levelOf([...MIGRATIONS_OF_0_2_0, ...known]), "current");
  assert.equal(await levelOf(MIGRATIONS_OF_0_2_0.slice(0, -1)), "older");
  assert.equal(await levelOf(["0001_control", "0002_catalogue"]), "older");
});
