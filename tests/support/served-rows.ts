import type pg from "pg";

/** Every row of a shop that is served or that served rows are computed from, by table, without the shop's key. */
export type ServedRows = Record<string, string[]>;

const FACTS = "order_document order_line return_event booking_difference amount_refund return_request";
const OTHERS = "cohort order_reference return_tracking product variant sku entity";
const TABLES = `${FACTS} ${OTHERS}`.split(" ");

export async function servedRows(pool: pg.Pool, shopKey: number): Promise<ServedRows> {
  const entries: [string, string[]][] = [];
  for (const table of TABLES) {
    const { rows } = await pool.query<{ row: string }>(
      `select (to_jsonb(t) - 'shop_key')::text as row from ${table} t where shop_key = $1 order by 1`,
      [shopKey],
    );
    entries.push([table, rows.map(({ row }) => row)]);
  }
  return Object.fromEntries(entries);
}

/** What differs from the rows of an undisturbed shop, one sentence for each table. */
export function rowProblems(undisturbed: ServedRows, disturbed: ServedRows): string[] {
  return Object.entries(undisturbed).flatMap(([table, rows]) => {
    const others = disturbed[table] ?? [];
    const known = new Set(others);
    const different = rows.filter((row) => !known.has(row)).length;
    if (different === 0 && others.length === rows.length) return [];
    return [`${table}: ${different} of ${rows.length} rows differ, ${others.length} are there`];
  });
}
