import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { listMigrations, readMigration, splitStatements } from "./migrate.ts";

const FOLDER = new URL("./migrations/", import.meta.url);

test("statements end at semicolons that are not quoted, and lose their comments", () => {
  const text = `-- a comment; with 'quotes
    create table a (b text default ';''"'); /* one; two */ insert into "a;b" values ($$ ; ' $$);
    create function f() returns text language plpgsql as $body$ begin return $$;$$; end $body$;
    select 1 - 2 / 3, $1; -- the end`;
  assert.deepEqual(splitStatements(text), [
    `create table a (b text default ';''"')`,
    `insert into "a;b" values ($$ ; ' $$)`,
    "create function f() returns text language plpgsql as $body$ begin return $$;$$; end $body$",
    "select 1 - 2 / 3, $1",
  ]);
});

test("an unterminated quote is refused", () => {
  assert.throws(() => splitStatements("select 'a; select 2"), /unterminated quote/u);
  assert.throws(() => splitStatements('select "a; select 2'), /unterminated quote/u);
});

test("no migration has syntax that splitStatements does not support", async () => {
  const unknown = /\bE'|\/\*[^/]*\/\*|\bbegin\s+atomic\b/iu;
  for (const name of await listMigrations(FOLDER)) {
    assert.doesNotMatch(readFileSync(new URL(`${name}.sql`, FOLDER), "utf8"), unknown, name);
  }
});

test("every migration begins its statements with a command that it runs", async () => {
  const command = /^(?:alter|create|delete|do|drop|insert|revoke|select|update)\b/iu;
  for (const name of await listMigrations(FOLDER)) {
    const { statements } = await readMigration(FOLDER, name);
    assert.ok(statements.length > 0, name);
    for (const statement of statements) assert.match(statement, command, name);
  }
});

test("no migration adds a column with a constraint, which Citus refuses: each has a statement of its own", async () => {
  const refused = /^alter table\b[^]*\badd column\b[^]*\b(?:check|references|unique|primary key)\b/iu;
  assert.match("alter table a add column b text check (b <> '')", refused);
  for (const name of await listMigrations(FOLDER)) {
    const { statements } = await readMigration(FOLDER, name);
    for (const statement of statements) assert.doesNotMatch(statement, refused, name);
  }
});

test("a migration is compatible with versions that have an earlier one", async () => {
  const names = await listMigrations(FOLDER);
  for (const name of names) {
    const { worksWith } = await readMigration(FOLDER, name);
    if (worksWith !== null) assert.ok(names.indexOf(worksWith) < names.indexOf(name), name);
    if (worksWith !== null) assert.ok(names.includes(worksWith), name);
  }
});
