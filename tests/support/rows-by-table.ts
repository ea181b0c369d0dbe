import type pg from "pg";

/** How many rows each table of workspaces has of one of them. */
export async function countRowsByTable(database: pg.Pool, shopKey: number): Promise<Record<string, number>> {
  const { rows: tables } = await database.query<{ name: string }>(
    `select t.table_name as name
       from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
      where c.column_name = 'shop_key' and t.table_type = 'BASE TABLE' and c.table_schema = 'public'
      order by 1`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const { rows } = await database.query<{ count: number }>(
      `select count(*)::integer as count from ${name} where shop_key = $1`,
      [shopKey],
    );
    counts[name] = rows[0]?.count ?? 0;
  }
  return counts;
}
