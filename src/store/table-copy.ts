import type { Readable, Writable } from "node:stream";
import copyStreams from "pg-copy-streams";
import type { Connection } from "./database.ts";

/** A table as COPY names it: with the columns that are stored, none that is computed. */
export type CopiedTable = { name: string; columns: string[] };

/** A stream of COPY; `rowCount` is right once the connection has answered another statement. */
export type CopyOut = Readable & { rowCount: number };
export type CopyIn = Writable & { rowCount: number };

/** Text is written the same whatever the server's settings are, and a backup that may not see every row fails. */
const AS_ANY_SERVER_READS_IT = `set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres'; set local timezone = 'UTC';
  set local extra_float_digits = 3; set local bytea_output = 'hex'; set local client_encoding = 'UTF8';
  set local row_security = off`;

/** For the rest of the transaction, before its first COPY. */
export async function setCopyFormat({ client }: Connection): Promise<void> {
  await client.query(AS_ANY_SERVER_READS_IT);
}

/** Keeps tables from being changed in their form for the rest of the transaction; rows may change. */
export async function holdTables({ client }: Connection, tables: readonly CopiedTable[]): Promise<void> {
  if (tables.length === 0) return;
  await client.query(`lock table ${tables.map(qualifiedName).join(", ")} in access share mode`);
}

/** Removes the rows that migrations bring. */
export async function emptyTables({ client }: Connection, tables: readonly CopiedTable[]): Promise<void> {
  if (tables.length === 0) return;
  await client.query(`truncate ${tables.map(qualifiedName).join(", ")}`);
}

/** All rows of a table, in COPY's text format. */
export function copyOut({ client }: Connection, table: CopiedTable): CopyOut {
  const select = `select ${table.columns.join(", ")} from ${qualifiedName(table)}`;
  return client.query(copyStreams.to(`copy (${select}) to stdout`));
}

/** Takes rows of a table in that format; ends when the table has them. */
export function copyIn({ client }: Connection, table: CopiedTable): CopyIn {
  return client.query(
    copyStreams.from(`copy ${qualifiedName(table)} (${table.columns.join(", ")}) from stdin`),
  );
}

function qualifiedName({ name }: CopiedTable): string {
  return `public.${name}`;
}
