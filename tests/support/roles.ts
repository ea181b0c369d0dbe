import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { ROLES, TABLE_RIGHTS, TABLES_WITH_RIGHTS } from "../../src/store/role-rights.ts";
import type { Privilege, DatabaseRole } from "../../src/store/role-rights.ts";

const ROLES_FILE = join(import.meta.dirname, "../../deploy/roles.sql");

/** Runs deploy/roles.sql as psql would, with its variables. */
export async function runRolesFile(url: string, variables: Readonly<Record<string, string>>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const text = readFileSync(ROLES_FILE, "utf8")
      .replaceAll(/^(?:--.*|\\set .*)$/gmu, "")
      .replace(/\\if :\{\?shared\}\s\\else([^]*?)\\endif/u, variables["shared"] === undefined ? "$1" : "")
      .replaceAll(/:'(\w+)'/gu, (_, name: string) => client.escapeLiteral(variables[name] ?? ""));
    for (const part of text.split(/;\s*$|(?<=\\gexec)\s*$/mu)) {
      const statement = part.trim();
      if (!statement.endsWith("\\gexec")) {
        if (statement !== "") await client.query(statement);
        continue;
      }
      const { rows } = await client.query<Record<string, string>>(statement.replace("\\gexec", ""));
      for (const row of rows) await client.query(Object.values(row)[0] ?? "");
    }
  } finally {
    await client.end();
  }
}

/** Runs a statement and undoes what it did; returns the SQLSTATE of its refusal, or null. */
export async function attempt(client: pg.Client, statement: string): Promise<string | null> {
  try {
    await client.query(`begin; ${statement}; rollback`);
    return null;
  } catch (error) {
    await client.query("rollback");
    return (error as { code?: string }).code ?? (error as Error).message;
  }
}

export const REFUSED = "42501";

type Try = Privilege | "truncate" | "alter" | "drop" | "index";

/** The statement of each try, which changes nothing but needs the right. */
function statementOf(kind: Try, table: string, columns: readonly string[]): string {
  const [column = ""] = columns;
  // Citus refuses to change the key of a workspace before it checks rights.
  const changed = columns.length > 1 ? columns.filter((name) => name !== "shop_key") : columns;
  return {
    select: `select ${columns.join(", ")} from ${table} limit 0`,
    insert: `insert into ${table} default values`,
    update: `update ${table} set ${changed.map((name) => `${name} = null`).join(", ")} where false`,
    delete: `delete from ${table} where false`,
    truncate: `truncate ${table}`,
    alter: `alter table ${table} add column attempt integer`,
    drop: `drop table ${table}`,
    index: `create index on ${table} (${column})`,
  }[kind];
}

const TRIES: readonly Try[] = ["select", "insert", "update", "delete", "truncate", "alter", "drop", "index"];

/**
 * Tries every statement on every table as a role; returns the differences from its rights. A table of which it may
 * use some columns is tried with these, and with all.
 */
export async function triedRights(role: DatabaseRole, client: pg.Client, owner: pg.Pool): Promise<string[]> {
  const surprises: string[] = [];
  for (const table of TABLES_WITH_RIGHTS) {
    const { rows } = await owner.query<{ name: string }>(
      `select attname as name from pg_attribute
        where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' and attidentity = ''`,
      [table],
    );
    const all = rows.map(({ name }) => name);
    for (const kind of TRIES) {
      const right = TABLE_RIGHTS.find(
        (wanted) => wanted.role === role && wanted.table === table && wanted.privilege === kind,
      );
      const some = right?.columns ?? null;
      const isRefused = async (columns: readonly string[]): Promise<boolean> =>
        (await attempt(client, statementOf(kind, table, columns))) === REFUSED;
      if ((await isRefused(all)) !== (right === undefined || some !== null))
        surprises.push(`${role}: ${kind} ${table}`);
      if (some !== null && (await isRefused(some)))
        surprises.push(`${role}: ${kind} ${table} (${some.join()})`);
      const [outside] = some === null || kind !== "select" ? [] : all.filter((name) => !some.includes(name));
      if (outside !== undefined && !(await isRefused([outside])))
        surprises.push(`${role}: ${kind} ${table} (${outside})`);
    }
  }
  return surprises;
}

export async function connectAs(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

/** The differences of every role; `urlOf`: the database's address with its login. */
export async function surprisesOf(urlOf: (role: DatabaseRole) => string, owner: pg.Pool): Promise<string[]> {
  const ofRoles = ROLES.map(async (role) => {
    const client = await connectAs(urlOf(role));
    try {
      return await triedRights(role, client, owner);
    } finally {
      await client.end();
    }
  });
  return (await Promise.all(ofRoles)).flat();
}
