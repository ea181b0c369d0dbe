import type pg from "pg";

/** Part of every text of another tenant: if anybody else is served it, there is a leak. */
export const CANARY = "zz9canary";

type Column = {
  table_name: string;
  column_name: string;
  data_type: string;
  udt_name: string;
  is_key: boolean;
  is_checked: boolean;
};

/**
 * Gives workspace `toWorkspace` two copies of everything that workspace `fromWorkspace` has, in every table with a shop_key:
 * one under the same keys with other numbers and texts, so that a join without the workspace changes an answer, and one with
 * the canary in every text, keys included.
 */
export async function copyAsForeign(
  database: pg.Pool,
  fromWorkspace: number,
  toWorkspace: number,
): Promise<void> {
  const columns = await tenantColumns(database);
  const keyNames = new Set(columns.filter((column) => column.is_key).map((column) => column.column_name));
  for (const [table, own] of Map.groupBy(columns, (column) => column.table_name)) {
    // The target has its own workspace; the other rows belong to one person.
    if (
      ["workspace", "shop_directory", "workspace_member", "weekly_digest", "removed_member"].includes(table)
    )
      continue;
    const rows = await database.query(`select 1 from ${table} where shop_key = $1 limit 1`, [fromWorkspace]);
    if (rows.rowCount === 0) throw new Error(`give ${table} a row in tests/support/small-store.ts`);
    await copy(database, table, own, {
      fromWorkspace,
      toWorkspace,
      keeps: (name) => isIdentifier(name, keyNames),
    });
    await copy(database, table, own, { fromWorkspace, toWorkspace, keeps: () => false });
  }
  const ofWorkspace = columns.filter((column) => column.table_name === "workspace");
  await plantInWorkspace(database, ofWorkspace, toWorkspace);
}

/** The element that is appended to arrays of a type. */
const ADDED_ELEMENT: Readonly<Record<string, string>> = {
  _text: `'${CANARY}'`,
  _int4: "1000",
  _int8: "1000",
  _float8: "1000",
  _date: "date '2025-06-09'",
};

type CopyPlan = { fromWorkspace: number; toWorkspace: number; keeps: (name: string) => boolean };

async function copy(database: pg.Pool, table: string, columns: Column[], plan: CopyPlan): Promise<void> {
  const names = columns.map((column) => column.column_name).join(", ");
  const values = columns.map((column) => copiedValue(column, plan)).join(", ");
  await database.query(
    `insert into ${table} (${names}) select ${values} from ${table} where shop_key = $2 on conflict do nothing`,
    [plan.toWorkspace, plan.fromWorkspace],
  );
}

function copiedValue(column: Column, plan: CopyPlan): string {
  const { column_name: name, data_type: type } = column;
  if (name === "shop_key") return "$1::bigint";
  if (type === "ARRAY") return `array_append(${name}, ${ADDED_ELEMENT[column.udt_name]})`;
  if (type === "text")
    return column.is_checked || plan.keeps(name) ? name : `'${CANARY}' || coalesce(${name}, '')`;
  if (type === "jsonb") return `coalesce(${name}, '{}') || '{"canary": "${CANARY}"}'`;
  if (type === "uuid") return "gen_random_uuid()";
  if (["integer", "bigint", "smallint", "double precision"].includes(type) && !column.is_key)
    return `${name} + 1000`;
  return name;
}

/** Whether rows are looked up by this column: a key of some table, or a name that says so. */
function isIdentifier(name: string, keyNames: ReadonlySet<string>): boolean {
  return keyNames.has(name) || /(?:^|_)(?:sku|gid|id|key|vendor|family|category|recipient|code)$/u.test(name);
}

async function plantInWorkspace(database: pg.Pool, columns: Column[], shopKey: number): Promise<void> {
  const settings = columns
    .filter((column) => column.data_type === "text" && !column.is_checked)
    .map((column) => `${column.column_name} = '${CANARY}' || ${column.column_name}`);
  const { rows } = await database.query<{ plan_key: string }>(
    "select plan_key from workspace where shop_key = $1",
    [shopKey],
  );
  await database.query("update plan set plan_key = $2 where plan_key = $1", [
    rows[0]?.plan_key,
    `${CANARY}${rows[0]?.plan_key}`,
  ]);
  await database.query(`update workspace set ${settings.join(", ")} where shop_key = $1`, [shopKey]);
}

async function tenantColumns(database: pg.Pool): Promise<Column[]> {
  const { rows } = await database.query<Column>(`
    select c.table_name::text, c.column_name::text, c.data_type::text, c.udt_name::text,
           exists (select from pg_index i
                    where i.indrelid = c.table_name::regclass and i.indisunique
                      and c.ordinal_position = any (i.indkey)) as is_key,
           exists (select from pg_constraint k
                    where k.conrelid = c.table_name::regclass and k.contype = 'c'
                      and c.ordinal_position = any (k.conkey)) as is_checked
      from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
       and exists (select from information_schema.columns s
                    where s.table_schema = 'public' and s.table_name = c.table_name and s.column_name = 'shop_key')
     order by c.table_name, c.ordinal_position`);
  return rows;
}
