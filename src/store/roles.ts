import type { Connection, Database, Queryable } from "./database.ts";
import { FUNCTION_PATH, findDatabaseState, listColumns, listFunctionStates } from "./queries/roles.ts";
import { listHeldRights, listRoles } from "./queries/roles.ts";
import type { DatabaseStateRow, FunctionStateRow, HeldRightRow } from "./queries/roles.ts";
import {
  FUNCTIONS,
  groupOf,
  loginOf,
  ROLES,
  SEQUENCES,
  TABLE_RIGHTS,
  TABLES_WITH_RIGHTS,
} from "./role-rights.ts";
import type { DatabaseRole } from "./role-rights.ts";

/**
 * The statements that give this server's group roles the rights of `role-rights.ts`, and revoke further ones; none if they match,
 * or if there are no such roles. Tables and columns of later migrations are omitted.
 */
export async function planRoles(database: Queryable): Promise<string[]> {
  const groups = await listRoles(database, ROLES.map(groupOf));
  const roles = ROLES.filter((role) => groups.includes(groupOf(role)));
  if (roles.length === 0) return [];
  const state = await findDatabaseState(database, groups, groupOf("worker"));
  const functions = await listFunctionStates(database, Object.keys(FUNCTIONS), groups);
  return [
    ...planDatabase(state, roles),
    ...(await planTables(database, roles)),
    ...functions.flatMap((found) => planFunction(found, roles)),
  ];
}

/** Gives the roles their rights, in the connection's transaction. Only the owner of the tables may. */
export async function applyRoles(connection: Connection): Promise<void> {
  for (const statement of await planRoles(connection)) await connection.client.query(statement);
}

/** Revokes everybody's right to the roles' functions again, on every node: on a node that joins, Citus makes them open to all. */
export async function closeFunctions(connection: Connection): Promise<void> {
  const groups = await listRoles(connection, ROLES.map(groupOf));
  if (groups.length === 0) return;
  for (const { signature } of await listFunctionStates(connection, Object.keys(FUNCTIONS), groups))
    await connection.client.query(`revoke execute on function ${signature} from public`);
}

/** Open to everybody by default: temporary tables, large objects and, in databases from before PostgreSQL 15, creating tables. */
function planDatabase(state: DatabaseStateRow, roles: readonly DatabaseRole[]): string[] {
  const { database_name: name, temporary_is_open: temporaryIsOpen } = state;
  const statements: string[] = state.outside_schema.map(
    (group) => `grant usage on schema public to ${group}`,
  );
  if (temporaryIsOpen === true) statements.push(`revoke temporary on database ${name} from public`);
  if (temporaryIsOpen !== null && roles.includes("worker") && !state.may_worker_use_temporary) {
    statements.push(`grant temporary on database ${name} to ${groupOf("worker")}`);
  }
  if (state.schema_is_open === true) statements.push("revoke create on schema public from public");
  if (state.large_objects_are_open === true) {
    statements.push(
      "revoke execute on function lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea) from public",
    );
  }
  return statements;
}

/** A role whose rights with a table differ loses all of them there, and gets the right ones. */
async function planTables(database: Queryable, roles: readonly DatabaseRole[]): Promise<string[]> {
  const names = [...TABLES_WITH_RIGHTS, ...Object.keys(SEQUENCES)];
  const columnsOf = new Map(
    (await listColumns(database, names)).map((found) => [found.table_name, found.columns]),
  );
  const held = Map.groupBy(await listHeldRights(database, roles.map(groupOf), names), placeOf);
  const wanted = Map.groupBy(listWanted(roles, columnsOf), placeOf);
  const statements: string[] = [];
  for (const place of new Set([...held.keys(), ...wanted.keys()])) {
    const [before = [], after = []] = [held.get(place), wanted.get(place)];
    if (textOf(before) === textOf(after)) continue;
    const { role_name: group, table_name: table } = (before[0] ?? after[0]) as HeldRightRow;
    const kind = table in SEQUENCES ? "sequence" : "table";
    if (before.length > 0) statements.push(`revoke all on ${kind} ${table} from ${group}`);
    for (const [privilege, rights] of Map.groupBy(after, (right) => right.privilege)) {
      const columns = rights.flatMap(({ column_name: column }) => column ?? []);
      const list = columns.length === 0 ? "" : ` (${columns.join(", ")})`;
      statements.push(`grant ${privilege}${list} on ${kind} ${table} to ${group}`);
    }
  }
  return statements;
}

/** Of the tables, sequences and columns that are there. */
function listWanted(
  roles: readonly DatabaseRole[],
  columnsOf: ReadonlyMap<string, readonly string[]>,
): HeldRightRow[] {
  const wanted: HeldRightRow[] = [];
  const add = (role: DatabaseRole, table: string, privilege: string, column: string | null): void => {
    const present = columnsOf.get(table);
    if (!roles.includes(role) || present === undefined) return;
    if (column !== null && !present.includes(column)) return;
    wanted.push({ role_name: groupOf(role), table_name: table, privilege, column_name: column });
  };
  for (const { role, table, privilege, columns } of TABLE_RIGHTS) {
    for (const column of columns ?? [null]) add(role, table, privilege, column);
  }
  for (const [name, role] of Object.entries(SEQUENCES)) add(role, name, "usage", null);
  return wanted;
}

function placeOf({ role_name: role, table_name: table }: HeldRightRow): string {
  return `${role} ${table}`;
}

function textOf(rights: readonly HeldRightRow[]): string {
  return rights
    .map(({ privilege, column_name: column }) => `${privilege} ${column ?? "*"}`)
    .toSorted()
    .join();
}

function planFunction(found: FunctionStateRow, roles: readonly DatabaseRole[]): string[] {
  const { name, signature, callers } = found;
  const role = FUNCTIONS[name] as DatabaseRole;
  const statements: string[] = [];
  if (!found.is_safe) {
    statements.push(
      `alter function ${signature} security definer`,
      `alter function ${signature} set search_path = ${FUNCTION_PATH}`,
    );
  }
  if (found.is_open) statements.push(`revoke execute on function ${signature} from public`);
  for (const group of callers) {
    if (group !== groupOf(role)) statements.push(`revoke execute on function ${signature} from ${group}`);
  }
  if (roles.includes(role) && !callers.includes(groupOf(role))) {
    statements.push(`grant execute on function ${signature} to ${groupOf(role)}`);
  }
  return statements;
}

/** Any number that nothing else locks. */
const LOGINS_LOCK = 7_382_015;

/**
 * Makes the group roles and a login in each, on a server of the service's own, unless they are there. Two processes may do
 * this at once.
 */
export async function createLogins(
  database: Database,
  passwordOf: (role: DatabaseRole) => string,
): Promise<void> {
  const wanted = ROLES.flatMap((role) => [groupOf(role), loginOf(role)]);
  if ((await listRoles(database, wanted)).length === wanted.length) return;
  await database.transaction(async (connection) => {
    const { client } = connection;
    await client.query("select pg_advisory_xact_lock($1)", [LOGINS_LOCK]);
    const found = await listRoles(connection, wanted);
    for (const role of ROLES) {
      const [group, login] = [groupOf(role), loginOf(role)];
      if (!found.includes(group)) await client.query(`create role ${group}`);
      if (found.includes(login)) continue;
      const password = client.escapeLiteral(passwordOf(role));
      await client.query(`create role ${login} login password ${password} in role ${group}`);
    }
  });
}

/** The same database, as the login of a role. */
export function loginUrl(url: string, role: DatabaseRole, password: string): string {
  return Object.assign(new URL(url), { username: loginOf(role), password }).href;
}
