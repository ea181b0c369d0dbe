import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import pg from "pg";
import { readBackup } from "../src/actions/installation/backup-folder.ts";
import { restoreRows } from "../src/actions/installation/actions.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { MIGRATION_LOCK, knownMigrations, makeSchema, migrate } from "../src/store/migrate.ts";
import { rebuildMarkedWorkspaces } from "../src/sync/rebuild.ts";
import {
  backUp,
  createEmptyDatabase,
  createPlainDatabase,
  hashesOf,
  restoreInto,
  rowsIn,
  withTemporaryFolder,
} from "./support/backups.ts";
import { KEEP_TEST_KEYS, openConnections, type TestDatabase } from "./support/database.ts";
import { leastParameters } from "./support/requests.ts";
import { execute } from "./support/server.ts";
import { startOn, type TestService } from "./support/service.ts";
import { seedSmallStore } from "./support/small-store.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";

/** Backups of earlier schema levels, and of tables that later ones bring. */

let service: TestService;
let tenant: Tenant;
before(async () => {
  const database = await createPlainDatabase();
  await execute(database.url, KEEP_TEST_KEYS);
  service = await startOn(database, {});
  tenant = await createTenant(service.database, { dailyQuota: null });
  await seedSmallStore(service.database, tenant.shopKey);
});
after(() => service.stop());

/** Copies the rows of the service's database into one of an earlier level: the columns that both have. */
async function fillEarlier(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("set session_replication_role = replica");
    const { rows: tables } = await client.query<{ name: string; columns: string[] }>(
      `select table_name as name, array_agg(column_name::text) as columns from information_schema.columns
        where table_schema = 'public' and table_name <> 'schema_migration' group by 1`,
    );
    for (const { name, columns } of tables) {
      const { rows } = await service.database.query<{ row: Record<string, unknown> }>(
        `select to_jsonb(t) as row from ${name} t`,
      );
      const known = columns.filter((column) => rows.some(({ row }) => column in row)).join(", ");
      await client.query(`delete from ${name}`);
      if (rows.length === 0) continue;
      await client.query(
        `insert into ${name} (${known}) overriding system value
         select ${known} from jsonb_populate_recordset(null::${name}, $1)`,
        [JSON.stringify(rows.map(({ row }) => row))],
      );
    }
  } finally {
    await client.end();
  }
}

async function answersOf({ call }: TestService): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const endpoint of ENDPOINTS) {
    const params = leastParameters(endpoint);
    const { status, text } = await call(endpoint.path, { token: tenant.token, params, isUnlimited: true });
    assert.equal(status, 200, text);
    const body = text.startsWith("{") ? (JSON.parse(text) as { data: unknown }).data : text;
    answers.push([endpoint.name, body]);
  }
  return answers;
}

/** Backs up a database and restores it into an empty one, which `use` gets. */
async function throughBackup(url: string, use: (restored: TestDatabase) => Promise<void>): Promise<void> {
  const database = openConnections(url, { maxConnections: 2 });
  const restored = await createEmptyDatabase();
  try {
    await withTemporaryFolder(async (parent) => {
      const folder = join(parent, "backup");
      await backUp(database, folder);
      await restoreInto(restored.url, folder);
    });
    await use(restored);
  } finally {
    await database.close();
    await restored.drop();
  }
}

test("a backup of an earlier level is restored at that level, migrated, and answers the same", async () => {
  const earlier = await createEmptyDatabase();
  const database = openConnections(earlier.url);
  const level = (await knownMigrations()).slice(0, 10);
  try {
    await database.transaction((connection) => makeSchema(connection, level));
    await fillEarlier(earlier.url);
    await throughBackup(earlier.url, async (restored) => {
      const applied = "select name from schema_migration order by id";
      assert.deepEqual(
        (await rowsIn<{ name: string }>(restored.url, applied)).map(({ name }) => name),
        level,
      );
      await migrate({ url: restored.url });
      const connections = openConnections(restored.url);
      // The facts of this store are made up: its documents hold no orders to project, which would bring these refunds.
      const { rows: refunds } = await service.database.query("select * from amount_refund");
      await execute(
        restored.url,
        `update workspace set needs_projection = false;
         insert into amount_refund
           select * from jsonb_populate_recordset(null::amount_refund, '${JSON.stringify(refunds)}')`,
      );
      await rebuildMarkedWorkspaces(connections, () => {});
      await connections.close();
      const copy = await startOn({ url: restored.url, drop: async () => {} }, {});
      try {
        assert.deepEqual(await answersOf(copy), await answersOf(service));
      } finally {
        await copy.stop();
      }
    });
  } finally {
    await database.close();
    await earlier.drop();
  }
});

/** A later migration may name its tables in any order, compute columns, and count rows. */
const LATER = `
  create table z_folder (folder_id bigint generated always as identity primary key, title text not null);
  create table a_note (
    shop_key bigint not null references workspace on delete cascade,
    note_id bigint generated by default as identity,
    folder_id bigint not null references z_folder,
    replies_to bigint,
    note text not null,
    characters integer generated always as (length(note)) stored,
    primary key (shop_key, note_id),
    foreign key (shop_key, replies_to) references a_note (shop_key, note_id)
  );
  create table seen (note_id bigint primary key, by_day date not null) partition by range (note_id);
  create table seen_first partition of seen for values from (0) to (100);`;

test("a table that a later migration brings is in the backup, and its rows are restored", async () => {
  const source = await createEmptyDatabase();
  const target = await createEmptyDatabase();
  const from = openConnections(source.url, { maxConnections: 2 });
  const to = openConnections(target.url);
  try {
    await migrate({ url: source.url });
    await fillEarlier(source.url);
    await execute(source.url, LATER);
    await execute(
      source.url,
      `insert into z_folder (title) values (E'tab\\t, newline\\n, backslash \\\\, \\\\. and 🧦'), ('');
       insert into a_note (shop_key, folder_id, replies_to, note)
         values (${tenant.shopKey}, 2, null, 'first'), (${tenant.shopKey}, 1, 1, 'second');
       insert into seen values (1, '2026-02-28')`,
    );
    const expected = await hashesIn(source.url);
    await withTemporaryFolder(async (parent) => {
      const folder = join(parent, "backup");
      await backUp(from, folder);
      const backup = await readBackup(folder);
      const rows = Object.fromEntries(backup.manifest.tables.map((table) => [table.name, table.rows]));
      assert.deepEqual(
        [rows["a_note"], rows["z_folder"], rows["seen"], rows["seen_first"]],
        [2, 2, 1, undefined],
      );
      await migrate({ url: target.url });
      await execute(target.url, LATER);
      await to.transaction((connection) => restoreRows(connection, backup, () => {}));
    });
    assert.deepEqual(await hashesIn(target.url), expected);
    const added = "insert into z_folder (title) values ('next') returning folder_id::integer as id";
    assert.deepEqual(await rowsIn(target.url, added), [{ id: 3 }]);
  } finally {
    await from.close();
    await to.close();
    await source.drop();
    await target.drop();
  }
});

async function hashesIn(url: string): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await hashesOf(client);
  } finally {
    await client.end();
  }
}

test("a table of somebody else is backed up, and told when it has no place", () =>
  withTemporaryFolder(async (parent) => {
    const database = openConnections(service.databaseUrl, { maxConnections: 2 });
    const restored = await createEmptyDatabase();
    try {
      await execute(
        service.databaseUrl,
        `create table "Mine / yours" ("the day" date); insert into "Mine / yours" values ('2026-01-01')`,
      );
      const folder = join(parent, "backup");
      await backUp(database, folder);
      const { left_out: leftOut } = await restoreInto(restored.url, folder);
      assert.deepEqual(leftOut, ['"Mine / yours"']);
    } finally {
      await execute(service.databaseUrl, 'drop table "Mine / yours"');
      await database.close();
      await restored.drop();
    }
  }));

test("a backup waits for no migration: it is refused while one runs", async () => {
  const database = openConnections(service.databaseUrl, { maxConnections: 2 });
  const migrating = new pg.Client({ connectionString: service.databaseUrl });
  await migrating.connect();
  try {
    await withTemporaryFolder(async (parent) => {
      await migrating.query(`select pg_advisory_lock(${MIGRATION_LOCK})`);
      const refused = { name: "Refusal", message: "A migration is under way: try again when it has ended." };
      await assert.rejects(backUp(database, join(parent, "backup")), refused);
      await migrating.query(`select pg_advisory_unlock(${MIGRATION_LOCK})`);
      await backUp(database, join(parent, "backup"));
    });
  } finally {
    await migrating.end();
    await database.close();
  }
});

test("a distributed database is refused with the cluster's own tools", async () => {
  const citus = await createEmptyDatabase();
  const database = openConnections(citus.url, { maxConnections: 2 });
  try {
    await migrate({ url: citus.url });
    await execute(
      citus.url,
      `create function create_distributed_table(t regclass, c text, colocate_with text) returns void language sql as '';
       create table pg_dist_partition (logicalrelid regclass);
       insert into pg_dist_partition values ('workspace')`,
    );
    await withTemporaryFolder((parent) =>
      assert.rejects(backUp(database, join(parent, "backup")), {
        name: "Refusal",
        message:
          /^This database is distributed over the nodes of a Citus cluster, .* pg_basebackup .* citus_create_restore_point\.$/u,
      }),
    );
  } finally {
    await database.close();
    await citus.drop();
  }
});
