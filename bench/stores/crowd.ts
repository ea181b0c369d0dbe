import type { Database } from "../../src/store/database.ts";
import { addWorkspace, openWorkspace } from "./workspaces.ts";
import type { LoadedWorkspace, WorkspaceOptions } from "./workspaces.ts";

const CATALOGUE_AND_ANSWERS = [
  "product",
  "variant",
  "sku",
  "entity",
  "cohort",
  "listing",
  "sku_quarter",
  "group_day",
  "unmatched_label",
];
const FACTS = ["order_line", "return_event", "return_request", "return_label", "label_share"];
const WORKSPACES_PER_TRANSACTION = 20;

export type CopyOptions = Omit<WorkspaceOptions, "domain"> & {
  count: number;
  /** false: only the catalogue and the prepared answers are copied, from which all requests are answered. */
  withFacts: boolean;
  tell: (line: string) => void;
};

/** Copies a loaded workspace into `count` new ones, each with a token of its own. */
export async function copyWorkspace(
  database: Database,
  original: LoadedWorkspace,
  options: CopyOptions,
): Promise<LoadedWorkspace[]> {
  const tables = [...CATALOGUE_AND_ANSWERS, ...(options.withFacts ? FACTS : [])];
  const copies: LoadedWorkspace[] = [];
  while (copies.length < options.count) {
    const first = copies.length;
    const size = Math.min(WORKSPACES_PER_TRANSACTION, options.count - first);
    const made = await database.transaction(async (connection) => {
      await connection.client.query("set local synchronous_commit = off");
      const workspaces: LoadedWorkspace[] = [];
      for (let number = first; number < first + size; number += 1) {
        const domain = `copy-${number + 1}.${original.shopDomain}`;
        workspaces.push(await addWorkspace(connection, { ...options, domain }));
      }
      const shopKeys = workspaces.map(({ shopKey }) => shopKey);
      for (const table of tables) {
        await connection.client.query(await copyStatement(database, table), [shopKeys, original.shopKey]);
      }
      for (const shopKey of shopKeys) await openWorkspace(connection, shopKey);
      return workspaces;
    });
    copies.push(...made);
    options.tell(`Copied ${copies.length} of ${options.count} workspaces.`);
  }
  return copies;
}

/** The copies follow one another, so that all indexes grow at their end. */
async function copyStatement(database: Database, table: string): Promise<string> {
  const rows = await database.rows<{ column_name: string }>(LIST_COLUMNS, [table]);
  const columns = rows.map((row) => row.column_name).join(", ");
  const values = rows.map((row) => `o.${row.column_name}`).join(", ");
  return `insert into ${table} (shop_key, ${columns})
          select n.shop_key, ${values}
            from unnest($1::bigint[]) n (shop_key)
           cross join lateral (select * from ${table} t where t.shop_key = $2) o`;
}

const LIST_COLUMNS = {
  name: "bench_list_columns",
  text: `select column_name from information_schema.columns
          where table_schema = 'public' and table_name = $1 and column_name <> 'shop_key' order by ordinal_position`,
};
