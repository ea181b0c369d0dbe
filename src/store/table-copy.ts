import type { Readable, Writable } from "node:stream";
import copyStreams from "pg-copy-streams";
import type { Connection } from "./database.ts";

/** A table as COPY names it: with the columns that are stored, none that is computed. */
export type CopiedTable = { name: string; columns: string[] };

/** A stream of COPY; `rowCount` is right once the connection has answered another statement. */
export type CopyOut = Readable & { rowCount: number };
type CopyIn = Writable & { rowCount: number };

/** Text is written the same whatever the server's settings are, and a backup that may not see every row fails. */
const AS_ANY_SERVER_READS_IT = `set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres'; set local timezone = 'UTC';
  set local extra_float_digits = 3; set local bytea_output = 'hex'; set local client_encoding = 'UTF8';
  set local row_security = off`;

/** For the rest of the transaction, before its first COPY. */
export async function setCopyFormat({ client }: Connection): Promise<void> {
  await client.query(AS_ANY_SERVER_READS_IT);
}

/** Locks tables against schema changes for the rest of the transaction; rows may change. */
export async function holdTables({ client }: Connection, tables: readonly CopiedTable[]): Promise<void> {
  if (tables.length === 0) return;
  await client.query(`lock table ${tables.map(qualifiedName).join(", ")} in access share mode`);
}

/** Removes the rows that migrations bring. */
export async function emptyTables({ client }: Connection, tables: readonly CopiedTable[]): Promise<void> {
  if (tables.length === 0) return;
  await client.query(`truncate ${tables.map(qualifiedName).join(", ")}`);
}

/** All rows of a table, or those of one workspace, in COPY's text format. */
export function copyOut({ client }: Connection, table: CopiedTable, shopKey: number | null = null): CopyOut {
  const select = `select ${table.columns.join(", ")} from ${qualifiedName(table)} ${ofWorkspace(shopKey)}`;
  return client.query(copyStreams.to(`copy (${select}) to stdout`));
}

/** Takes rows of a table in that format; ends when the table has them. */
export function copyIn({ client }: Connection, table: CopiedTable): CopyIn {
  return client.query(
    copyStreams.from(`copy ${qualifiedName(table)} (${table.columns.join(", ")}) from stdin`),
  );
}

/** The number of a workspace's rows in a table, and the sum of a 64-bit hash of each. Needs `setCopyFormat`. */
export async function digestRows(
  { client }: Connection,
  table: CopiedTable,
  shopKey: number,
): Promise<{ rows: number; checksum: string }> {
  const { rows } = await client.query<{ rows: number; checksum: string }>(
    `select count(*) as rows, coalesce(sum(hashtextextended(row(${table.columns.join(", ")})::text, 0)), 0)::text as checksum
       from ${qualifiedName(table)} ${ofWorkspace(shopKey)}`,
  );
  return rows[0] as { rows: number; checksum: string };
}

export async function deleteRows({ client }: Connection, table: CopiedTable, shopKey: number): Promise<void> {
  await client.query(`delete from ${qualifiedName(table)} ${ofWorkspace(shopKey)}`);
}

/** Every table after those that it refers to. */
export function inOrderOfReferences<Table extends Pick<CopiedTable, "name">>(
  tables: readonly Table[],
  keys: readonly { table_name: string; referenced_table: string }[],
): Table[] {
  const ordered = new Set<Table>();
  const add = (table: Table, path: readonly Table[]): void => {
    if (ordered.has(table)) return;
    if (path.includes(table))
      throw new Error(`${[...path, table].map(({ name }) => name).join(" → ")}: a cycle of foreign keys`);
    for (const { table_name: from, referenced_table: to } of keys) {
      const referenced =
        from === table.name && to !== from ? tables.find(({ name }) => name === to) : undefined;
      if (referenced !== undefined) add(referenced, [...path, table]);
    }
    ordered.add(table);
  };
  for (const table of tables) add(table, []);
  return [...ordered];
}

/** The key as text: a COPY takes no parameters. */
function ofWorkspace(shopKey: number | null): string {
  return shopKey === null ? "" : `where shop_key = ${BigInt(shopKey)}`;
}

function qualifiedName({ name }: CopiedTable): string {
  return `public.${name}`;
}
