import type { Queryable } from "./database.ts";
import { findExcessRight, findLogin, findMissingRight, mayCall } from "./queries/roles.ts";
import type { LoginRow, RightValues } from "./queries/roles.ts";
import { FUNCTIONS, groupOf, ROLES, TABLE_RIGHTS, TABLES_WITH_RIGHTS } from "./role-rights.ts";
import type { DatabaseRole } from "./role-rights.ts";

export type RoleDatabases = Readonly<Partial<Record<DatabaseRole, Queryable>>>;

export type LoginCheck = {
  /** The option that names a role's login. */
  nameOf: (role: DatabaseRole) => string;
  hasCitus: boolean;
  /** A newer version has migrated the database, and may have given a role more. */
  isAhead: boolean;
};

/**
 * What is wrong with the logins that connections were opened with, one for each role: null = each has the rights of its role
 * and no more, and all are of one database.
 */
export async function findLoginProblem(
  databases: RoleDatabases,
  { nameOf, hasCitus, isAhead }: LoginCheck,
): Promise<string | null> {
  const logins: [DatabaseRole, LoginRow][] = [];
  for (const role of ROLES) {
    const database = databases[role];
    if (database === undefined) continue;
    const login = await findLogin(database);
    const problem =
      findFault(role, login) ??
      (isAhead ? null : await findExcess(database, role)) ??
      (await findLack(database, role));
    if (problem !== null) return `${nameOf(role)} names the login ${login.name}, which ${problem}.`;
    logins.push([role, login]);
  }
  const [first, ...others] = logins;
  const other = others.find(([, login]) => !isSameDatabase(login, first?.[1], hasCitus));
  if (first === undefined || other === undefined) return null;
  return `${nameOf(first[0])} and ${nameOf(other[0])} name different databases: give all of them the same one.`;
}

const only = (role: DatabaseRole): string => `grant it ${groupOf(role)} and nothing more`;

function findFault(role: DatabaseRole, login: LoginRow): string | null {
  if (login.is_replica) return "connects to a replica: name the primary, whose data is current";
  if (login.is_privileged)
    return `is a superuser, or has another attribute of an administrator: ${only(role)}`;
  return login.may_create ? `may create tables: ${only(role)}` : null;
}

async function findExcess(database: Queryable, role: DatabaseRole): Promise<string | null> {
  const excess = await findExcessRight(database, ...valuesOf(role), TABLES_WITH_RIGHTS);
  if (excess !== null) return `has the right to ${excess.privilege} on ${excess.table_name}: ${only(role)}`;
  for (const [name, caller] of Object.entries(FUNCTIONS)) {
    if (caller !== role && (await mayCall(database, name))) return `may call ${name}: ${only(role)}`;
  }
  return null;
}

async function findLack(database: Queryable, role: DatabaseRole): Promise<string | null> {
  const remedy = `grant it ${groupOf(role)}, and run "./returns migrate" as the owner`;
  const missing = await findMissingRight(database, ...valuesOf(role));
  if (missing !== null) return `lacks the right to ${missing.privilege} on ${missing.table_name}: ${remedy}`;
  for (const [name, caller] of Object.entries(FUNCTIONS)) {
    if (caller === role && !(await mayCall(database, name))) return `may not call ${name}: ${remedy}`;
  }
  return null;
}

function valuesOf(role: DatabaseRole): RightValues {
  const rights = TABLE_RIGHTS.filter((right) => right.role === role).flatMap(
    ({ table, privilege, columns }) => (columns ?? [null]).map((column) => ({ table, privilege, column })),
  );
  return [
    rights.map(({ table }) => table),
    rights.map(({ privilege }) => privilege),
    rights.map(({ column }) => column),
  ];
}

/** Servers of a Citus may enter by another node than workers do, where the database has the same name. */
function isSameDatabase(one: LoginRow, other: LoginRow | undefined, hasCitus: boolean): boolean {
  if (hasCitus) return one.database_name === other?.database_name;
  return one.database_key === other?.database_key && one.server_started_at === other.server_started_at;
}
