import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommand, type CommandOutcome } from "../../tests/support/command.ts";
import { startTestService, serviceEnvironment } from "../../tests/support/service.ts";
import { createTenant, type Tenant } from "../../tests/support/tenants.ts";
import { before, use } from "../../tests/support/use.ts";

let environment: Record<string, string>;
let tenant: Tenant;
const service = use(startTestService);
before(async () => {
  environment = { ...serviceEnvironment(service.databaseUrl), PORT: new URL(service.address).port };
  tenant = await createTenant(service.database);
});

const run = (...words: string[]): Promise<CommandOutcome> => runCommand(words, environment);

async function runJson<Document>(...words: string[]): Promise<Document> {
  const { code, stdout, stderr } = await run(...words, "--json");
  assert.equal(code, 0, stderr);
  assert.equal(stderr, "");
  return JSON.parse(stdout) as Document;
}

const inWorkspace = (...words: string[]): string[] => [...words, "--workspace", tenant.shopDomain];

type Listed = { name: string; role: string; is_pending: boolean };

const members = async (): Promise<unknown[]> =>
  (await runJson<Listed[]>(...inWorkspace("member", "list"))).map(({ name, role, is_pending: isPending }) => [
    name,
    role,
    isPending,
  ]);

const idOf = async (name: string): Promise<string> =>
  (await runJson<{ name: string; user_id: string }[]>("user", "list")).find((each) => each.name === name)
    ?.user_id ?? "";

test("people are made, added, invited, given roles and removed by commands alone", async () => {
  const created = await runJson<{ name: string; is_operator: boolean; user_id: string }>(
    "user",
    "create",
    "Operator",
  );
  assert.deepEqual([created.name, created.is_operator], ["Operator", true]);
  assert.equal((await run("user", "create", "operator")).code, 1);
  assert.equal(
    (await run(...inWorkspace("member", "add", created.user_id, "--role", "owner"))).stdout,
    `Operator is now an owner of ${tenant.shopDomain}.\n`,
  );
  const invited = await run(...inWorkspace("member", "add", "Ada", "--role", "viewer"));
  assert.match(invited.stdout, /^http:\/\/localhost:\d+\/enter\?link=[\w-]{43}#[\w-]{43}\n$/u);
  assert.match(invited.stderr, /^This link signs in Ada, once, until .*Z\.\n$/u);
  const ada = await idOf("Ada");
  const role = await runJson<{ role: string; changed: boolean }>(
    ...inWorkspace("member", "role", ada, "admin"),
  );
  assert.deepEqual([role.role, role.changed], ["admin", true]);
  assert.deepEqual(await members(), [
    ["Ada", "admin", true],
    ["Operator", "owner", true],
  ]);
  const refused = await run(...inWorkspace("member", "remove", ada));
  assert.deepEqual([refused.code, refused.stderr.includes("--yes")], [2, true]);
  await runJson(...inWorkspace("member", "remove", ada, "--yes"));
  const last = await run(...inWorkspace("member", "remove", created.user_id, "--yes"));
  assert.equal(last.code, 1);
  assert.match(last.stderr, /^"Operator" is the last owner of /u);
  assert.deepEqual(await members(), [["Operator", "owner", true]]);
});

test("without a terminal names are refused: a member may have chosen one", async () => {
  const id = await idOf("Operator");
  for (const words of [
    ["user", "link", "--name", "OPERATOR"],
    ["user", "disable", " Operator"],
    ["user", "grant-operator", "Operator"],
    inWorkspace("user", "link", "--name", "Operator"),
    inWorkspace("member", "add", "Operator", "--role", "viewer"),
    inWorkspace("member", "role", "Operator", "viewer"),
    inWorkspace("member", "remove", "Operator", "--yes"),
  ]) {
    const { code, stdout, stderr } = await run(...words);
    assert.deepEqual([code, stdout], [2, ""], stderr);
    assert.match(
      stderr,
      new RegExp(
        `^"Operator" is ${id}; an operator of this installation; member of ${tenant.shopDomain} \\(owner\\)\\.`,
        "u",
      ),
    );
    assert.match(stderr, /There is no terminal to ask on: name the person by their id\./u);
  }
  const second = await run(...inWorkspace("member", "add", "Operator", "--new", "--role", "viewer"));
  assert.match(second.stderr, /^Somebody in shop-\d+\.example is called "Operator" already\./u);
  assert.equal((await run("user", "create", "Operator", "--new")).code, 0);
  const several = await run("user", "disable", "Operator");
  assert.equal(several.code, 1);
  assert.match(
    several.stderr,
    /^Several people are named "Operator": use an id\.\n(?: {2}"Operator" is .*\n){2}$/u,
  );
});

type Shown = { workspace: string | null; who: string; action: string; what: string; changes: unknown[] };

test("audit shows in words who did what, previous values, and removed people", async () => {
  const shown = await runJson<Shown[]>(...inWorkspace("audit"));
  assert.deepEqual(
    shown.map(({ workspace, who, action, changes }) => [workspace, who, action, changes.length]),
    [
      [tenant.shopDomain, "Operator", "member.remove", 2],
      [tenant.shopDomain, "Operator", "member.set", 2],
      [tenant.shopDomain, "Operator", "member.invite", 3],
      [tenant.shopDomain, "Operator", "member.set", 2],
    ],
  );
  assert.deepEqual(shown[0]?.changes, [
    { name: "member", before: null, after: "removed member" },
    { name: "role", before: "admin", after: null },
  ]);
  assert.deepEqual(shown[1]?.changes, [
    { name: "member", before: null, after: "removed member" },
    { name: "role", before: "viewer", after: "admin" },
  ]);
  const { stdout } = await run(...inWorkspace("audit", "--limit", "1"));
  assert.match(stdout, /Removed a member\s+member: removed member; role: admin → none/u);
});

test("without a workspace audit is of the whole installation; --since and --limit bound it", async () => {
  const all = await runJson<Shown[]>("audit");
  assert.deepEqual(new Set(all.map(({ workspace }) => workspace)), new Set([tenant.shopDomain, null]));
  assert.equal((await runJson<Shown[]>("audit", "--limit", "2")).length, 2);
  assert.deepEqual(await runJson("audit", "--since", "2999-01-01"), []);
  assert.equal((await run("audit", "--since", "yesterday")).code, 2);
  assert.equal((await run("audit", "--limit", "0")).code, 2);
});
