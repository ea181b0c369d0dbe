import { OPERATOR } from "../../src/actions/actor.ts";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "../../src/store/database.ts";
import { importFolder } from "../../src/sync/connectors/csv/import-folder.ts";
import type { ImportOptions, ImportResult } from "../../src/sync/connectors/csv/import-folder.ts";
import { createTestDatabase, openConnections } from "./database.ts";
import { makeFolder } from "./folder.ts";

/** Files by name: CSV text, bytes, or rows of cells under their header. */
export type FolderFiles = Readonly<Record<string, string | Buffer>>;

type PublishedState = { readiness: string; data_as_of: Date | null; data_version: number };
const STATE = "select readiness, data_as_of, data_version from workspace where shop_key = $1";

/** A database with empty workspaces to import into. */
export type ImportWorkspace = {
  database: Database;
  url: string;
  /** A new workspace; returns its shop key. */
  open(currencyCode?: string): Promise<number>;
  import(shopKey: number, files: FolderFiles, options?: Partial<ImportOptions>): Promise<ImportResult>;
  rows<Row = Record<string, unknown>>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** Every row of a workspace's data by table, in a fixed order. */
  dump(shopKey: number): Promise<Record<string, unknown[]>>;
  /** What is published of a workspace's data. */
  state(shopKey: number): Promise<PublishedState>;
  stop(): Promise<void>;
};

export const AS_OF = "2026-06-01T00:00:00Z";
/** The time at which folders are imported. */
export const NOW = "2026-07-01T00:00:00Z";

/** Tables computed from facts. */
export const ROLLUP_TABLES = ["cohort", "listing", "sku_quarter", "sku_year", "group_day", "unmatched_label"];

/** What becomes of an import, beside the documents of its orders. */
export const IMPORTED_TABLES = [
  "product",
  "variant",
  "sku",
  "entity",
  "return_label",
  "order_line",
  "return_event",
  "booking_difference",
  "amount_refund",
  "return_request",
  "label_share",
  "dirty_cohort",
  ...ROLLUP_TABLES,
  "sale_event",
];

/** SQL: every row of workspace $1's data by table, in a fixed order. */
export const DUMP = dumpOf(["order_document", ...IMPORTED_TABLES]);

/** SQL: every row of workspace $1 by table, in a fixed order. */
export function dumpOf(tables: readonly string[]): string {
  const row = "to_jsonb(t) - 'shop_key'";
  const members = tables.map(
    (table) =>
      `(select coalesce(json_agg(${row} order by (${row})::text), '[]') from ${table} t where shop_key = $1) as ${table}`,
  );
  return `select ${members.join(", ")}`;
}

export async function startImportWorkspace(): Promise<ImportWorkspace> {
  const testDatabase = await createTestDatabase();
  const { url } = testDatabase;
  const database = openConnections(url, { maxConnections: 4 });
  let shops = 0;
  let statements = 0;
  const currencies = new Map<number, string>();
  const rows: ImportWorkspace["rows"] = (text, values = []) =>
    database.rows({ name: `test_${(statements += 1)}`, text }, values);
  return {
    database,
    url,
    rows,
    open: async (currencyCode = "EUR") => {
      const shopKey = (shops += 1);
      currencies.set(shopKey, currencyCode);
      await rows(
        `insert into workspace (shop_key, organization_id, shop_id, shop_domain, currency_code, plan_key)
         values ($1::bigint, 'organization', 'shop', 'shop-' || $1::bigint || '.example', $2, 'enterprise')`,
        [shopKey, currencyCode],
      );
      return shopKey;
    },
    import: (shopKey, files, options = {}) =>
      withFolder(files, (folder) =>
        importFolder({
          actor: OPERATOR,
          database,
          shopKey,
          currencyCode: currencies.get(shopKey) ?? "EUR",
          folder,
          asOf: new Date(AS_OF),
          now: new Date(NOW),
          skipInvalid: false,
          ...options,
        }),
      ),
    dump: async (shopKey) => (await rows<Record<string, unknown[]>>(DUMP, [shopKey]))[0] ?? {},
    state: async (shopKey) => (await rows<PublishedState>(STATE, [shopKey]))[0] as PublishedState,
    stop: async () => {
      await database.close();
      await testDatabase.drop();
    },
  };
}

/** Writes the files into a folder of their own, and hands its path to `use`. */
export async function withFolder<Result>(
  files: FolderFiles,
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = makeFolder();
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return use(folder);
}

/** CSV text of a header and rows; cells that need no quotes. */
export function csv(header: string, ...rows: string[]): string {
  return `${[header, ...rows].join("\n")}\n`;
}
