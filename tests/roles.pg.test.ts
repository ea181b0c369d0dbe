import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type pg from "pg";
import { migrate } from "../src/store/migrate.ts";
import { groupOf, loginOf, ROLES, TABLES_WITH_RIGHTS } from "../src/store/role-rights.ts";
import { planRoles } from "../src/store/roles.ts";
import { isCitus } from "./support/citus.ts";
import { asRole, createTestDatabase, openConnections, type TestDatabase } from "./support/database.ts";
import { attempt, connectAs, REFUSED, surprisesOf } from "./support/roles.ts";
import { execute } from "./support/server.ts";
import { openTestPool } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";

/** What each role may do in the database itself, independent of the service (docs/operating/secure.md). */

let testDatabase: TestDatabase;
let owner: pg.Pool;
let ownerName: string;
before(async () => {
  testDatabase = await createTestDatabase();
  owner = openTestPool(testDatabase.url);
  ownerName = new URL(testDatabase.url).username;
  await createTenant(owner);
});
after(async () => {
  await owner.end();
  await testDatabase.drop();
});

async function planned(): Promise<string[]> {
  const database = openConnections(testDatabase.url);
  try {
    return await planRoles(database);
  } finally {
    await database.close();
  }
}

test("rights are defined for every table", async () => {
  const { rows } = await owner.query<{ name: string }>(
    "select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace",
  );
  assert.deepEqual(rows.map(({ name }) => name).toSorted(), TABLES_WITH_RIGHTS.toSorted());
});

test("each role has exactly its defined rights on each table", async () => {
  assert.deepEqual(await surprisesOf((role) => asRole(testDatabase.url, role), owner), []);
});

test("every security definer function has a fixed search_path, and only its role may call it", async () => {
  const { rows } = await owner.query<{ name: string; settings: string[] | null; callers: string[] }>(
    `select p.proname as name, p.proconfig as settings,
            array(select r.rolname::text from pg_roles r where r.rolname = any ($1)
                     and has_function_privilege(r.oid, p.oid, 'execute') order by 1) as callers
       from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prosecdef order by 1`,
    [ROLES.map(loginOf)],
  );
  const path = "search_path=pg_catalog, public, pg_temp";
  assert.deepEqual(
    rows.map(({ name, settings, callers }) => ({ name, callers, hasPath: settings?.includes(path) })),
    [
      { name: "admit_callers", callers: ["returns_login_admission"], hasPath: true },
      { name: "analyze_shop", callers: ["returns_login_worker"], hasPath: true },
    ],
  );
});

test("the next migration repairs changed rights", async () => {
  assert.deepEqual(await planned(), []);
  for (const change of [
    "grant insert on plan to returns_reader",
    "grant select (secret_hash) on api_token to returns_reader",
    "revoke update on workspace from returns_worker",
    "revoke select on cohort from returns_reader",
    "grant execute on function analyze_shop to public",
    "alter function admit_callers security invoker",
  ]) {
    await execute(testDatabase.url, change);
  }
  assert.ok((await planned()).length > 5);
  await migrate({ url: testDatabase.url });
  assert.deepEqual(await planned(), []);
});

/** Attacks of a reader who can send any statement, by name. */
const ATTACKS: Readonly<Record<string, string>> = {
  "writing, after the setting is off":
    "set local default_transaction_read_only = off; set local transaction_read_only = off; insert into plan values ('free', '{}', null)",
  "the role of the worker": `set local role ${groupOf("worker")}`,
  "the login of the worker": `set local role ${loginOf("worker")}`,
  "no role": "reset role; delete from alert",
  "the role none": "set role none; delete from alert",
  "a right of its own making":
    "grant insert on plan to returns_reader; insert into plan values ('free', '{}', null)",
  "a membership of its own making": `grant ${groupOf("worker")} to ${loginOf("reader")}`,
  "an attribute of its own making": `alter role ${loginOf("reader")} superuser`,
  "COPY into a table": "copy plan from stdin",
  "COPY into a file": "copy plan to 'plan.txt'",
  "COPY from a file": "copy plan from '/etc/passwd'",
  "COPY to a program": "copy plan to program 'cat'",
  "a statement within a statement": "with gone as (delete from alert returning *) select count(*) from gone",
  "a merge":
    "merge into plan using (select 1) one on false when not matched then insert values ('free', '{}', null)",
  "a lock of rows": "select from workspace for update",
  "a lock of a table": "lock table workspace in exclusive mode",
  "a code block": "do $$ begin delete from alert; end $$",
  "a table": "create table mine (id integer)",
  "a temporary table": "create temporary table mine (id integer)",
  "a temporary function": "create function pg_temp.mine() returns integer language sql return 1",
  "a table from a query": "select * into mine from plan",
  "a schema": "create schema mine",
  "an extension": "create extension file_fdw",
  "a view": "create view mine as select * from api_token",
  "a trigger":
    "create trigger mine before insert on plan execute function pg_catalog.tsvector_update_trigger()",
  "a policy": "create policy mine on workspace",
  "a comment": "comment on table plan is 'mine'",
  "a sequence": "select nextval('shop_directory_shop_key_seq')",
  "a sequence's value": "select setval('shop_directory_shop_key_seq', 1)",
  "the function that counts":
    "select * from admit_callers(1, '{1}', '{t}', '{x}', '{x}', '{x}', '{t}', '{1}', true, null)",
  "the function that analyzes": "select analyze_shop(1, 'alert')",
  "a large object": "select lo_create(0)",
  "a large object of before": "select lo_creat(-1)",
  "a large object with content": "select lo_from_bytea(0, 'content')",
  "a large object of a file": "select lo_import('/etc/passwd')",
  "a file": "select pg_read_file('PG_VERSION')",
  "a binary file": "select pg_read_binary_file('PG_VERSION')",
  "a folder": "select pg_ls_dir('.')",
  "the settings of others": `alter role ${loginOf("worker")} set statement_timeout = 1`,
  "the passwords of roles": "select rolpassword from pg_authid",
  "samples of columns": "select * from pg_statistic",
  "secrets of tokens": "select secret_hash from api_token",
  "credentials of sources": "select sealed_credentials from data_source",
  "whole rows of sources": "select to_jsonb(s) from data_source s",
  "a join that gives whole rows": "select s from workspace w join data_source s using (shop_key)",
  "secrets of webhooks": "select sealed_secrets from alert_endpoint",
  sessions: "select session_hash from console_session",
  "keys of people": "select * from console_passkey",
  "records of sources": "select record from sync_record",
  "who is an operator": "select is_operator from console_user",
};

/** Attacks that Citus refuses for every role before it checks rights. */
const NOT_ON_CITUS: ReadonlySet<string> = new Set(["a merge", "a lock of rows"]);

function isRefusal(name: string, code: string | null): boolean {
  return code === REFUSED || (isCitus() && NOT_ON_CITUS.has(name) && code === "0A000");
}

test("a reader can neither write nor read secrets, whatever it sends", async () => {
  const reader = await connectAs(asRole(testDatabase.url, "reader"));
  try {
    const outcomes: Record<string, string | null> = {};
    for (const [name, statement] of Object.entries(ATTACKS))
      outcomes[name] = await attempt(reader, statement);
    assert.deepEqual(
      Object.entries(outcomes).filter(([name, code]) => !isRefusal(name, code)),
      [],
    );
    await assert.rejects(reader.query("alter system set log_statement = 'none'"), { code: REFUSED });
    assert.equal(await attempt(reader, `set session authorization ${ownerName}`), REFUSED);
    assert.equal(await attempt(reader, `set role ${ownerName}`), REFUSED);
    const { rows } = await owner.query<{ pid: number }>("select pg_backend_pid() as pid");
    assert.equal(await attempt(reader, `select pg_terminate_backend(${rows[0]?.pid})`), REFUSED);
  } finally {
    await reader.end();
  }
});

test("a reader can read the same on a connection that is not set to read only", async () => {
  const reader = openConnections(asRole(testDatabase.url, "reader"), { readOnly: false });
  try {
    const write = { name: "write", text: "update workspace set plan_key = 'enterprise'" };
    await assert.rejects(reader.rows(write, []), { code: REFUSED });
    const read = { name: "read", text: "select plan_key from workspace" };
    assert.equal((await reader.rows(read, [])).length, 1);
  } finally {
    await reader.close();
  }
});
