import { VIEW_SCHEMA, SHOP_SETTING, type Connection, type Queryable } from "./database.ts";
import { listWorkspaceViews, type WorkspaceViewRow } from "./queries/roles.ts";
import { TABLE_RIGHTS, TABLES_WITH_RIGHTS } from "./role-rights.ts";

/**
 * The statements that give every table with a shop_key a view of the same name, with the rows of the transaction's workspace;
 * none if all exist (docs/decisions/0047-row-level-security.md). Without a workspace a view fails. Those of one view belong in
 * one transaction: without its view a name would refer to the table.
 */
export async function planWorkspaceViews(database: Queryable): Promise<string[][]> {
  const views = (await listWorkspaceViews(database))
    .map(planView)
    .filter((statements) => statements.length > 0);
  return views.length === 0 ? [] : [OPEN_SCHEMA, ...views];
}

/** Makes these views, in the connection's transaction. */
export async function applyWorkspaceViews(connection: Connection): Promise<void> {
  for (const statement of (await planWorkspaceViews(connection)).flat())
    await connection.client.query(statement);
}

/**
 * Gives everybody the right to the views again, on every node: Citus makes views on its nodes without it, when tables are distributed
 * and when a node joins.
 */
export async function grantWorkspaceViews(connection: Connection): Promise<void> {
  const views = (await listWorkspaceViews(connection)).map(({ name }) => `${VIEW_SCHEMA}.${name}`);
  await connection.client.query(`grant select on ${views.join(", ")} to public`);
}

/** A table of the service whose view is missing or shows other columns; null = there is none. */
export async function findMissingWorkspaceView(database: Queryable): Promise<string | null> {
  const missing = (await listWorkspaceViews(database)).find(
    (row) => TABLES_WITH_RIGHTS.includes(row.name) && planView(row).length > 0,
  );
  return missing?.name ?? null;
}

export async function hasWorkspaceViews(database: Queryable): Promise<boolean> {
  return (await listWorkspaceViews(database)).some(({ view_columns: shown }) => shown !== null);
}

export async function dropWorkspaceViews(connection: Connection): Promise<void> {
  await connection.client.query(`drop schema ${VIEW_SCHEMA} cascade`);
}

/** Open to everybody: who reads a view needs the rights of its table. */
const OPEN_SCHEMA = [
  `create schema if not exists ${VIEW_SCHEMA}`,
  `grant usage on schema ${VIEW_SCHEMA} to public`,
];

/** The rows of the transaction's workspace in a table; without a workspace it fails. */
export function selectOwnRows(columns: readonly string[], table: string): string {
  return `select ${columns.join(", ")} from ${table} where shop_key = current_setting('${SHOP_SETTING}')::bigint`;
}

/** For tables with secrets, the columns that the reader may read: a view needs the right to all of its columns. */
export const READABLE: ReadonlyMap<string, readonly string[]> = new Map(
  TABLE_RIGHTS.flatMap(({ role, table, columns }) =>
    role === "reader" && columns !== null ? [[table, columns] as const] : [],
  ),
);

function planView({ name, table_columns: all, view_columns: shown }: WorkspaceViewRow): string[] {
  const view = `${VIEW_SCHEMA}.${name}`;
  const columns = all?.filter((column) => READABLE.get(name)?.includes(column) ?? true) ?? null;
  if (columns !== null && columns.join() === shown?.join()) return [];
  const drop = shown === null ? [] : [`drop view ${view}`];
  if (columns === null) return drop;
  // No barrier: then no index of a text search could be used (decision 0047).
  const create = `create or replace view ${view} with (security_invoker = true) as ${selectOwnRows(columns, `public.${name}`)}`;
  // With new columns at the end, the view is replaced in place, with its rights, without waiting for its readers.
  if (shown?.every((column, place) => column === columns[place]) === true) return [create];
  return [...drop, create, `grant select on ${view} to public`];
}
