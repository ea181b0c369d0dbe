import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommand, type CommandOutcome } from "../../tests/support/command.ts";
import { startTestService, serviceEnvironment } from "../../tests/support/service.ts";
import { createTenant } from "../../tests/support/tenants.ts";
import { before, use } from "../../tests/support/use.ts";

let environment: Record<string, string>;
const service = use(startTestService);
before(async () => {
  environment = { ...serviceEnvironment(service.databaseUrl), PORT: new URL(service.address).port };
});

const link = (words: readonly string[] = [], own: Record<string, string> = {}): Promise<CommandOutcome> =>
  runCommand(["user", "link", ...words], { ...environment, ...own });

type Event = { shop_key: number | string; action: string; detail: object; before: object | null };

async function audit(): Promise<Event[]> {
  const { rows } = await service.database.query<Event>(
    `select shop_key, action, detail, before from (
       select shop_key, happened_at, actor, action, detail, before from audit_event
        union all select 0, happened_at, actor, action, detail, before from identity_event) a
      where actor = 'operator' order by happened_at, action`,
  );
  return rows.map((row) => ({ ...row, shop_key: Number(row.shop_key) }));
}

const peopleOf = async (): Promise<{ name: string; is_operator: boolean; user_id: string }[]> =>
  (await service.database.query("select name, is_operator, user_id from console_user order by created_at"))
    .rows as never;

test("the first link makes the first operator; later ones without a name are that person's", async () => {
  const { code, stdout, stderr } = await link();
  assert.equal(code, 0, stderr);
  const { port } = new URL(service.address);
  assert.match(stdout, new RegExp(`^http://localhost:${port}/enter#[A-Za-z0-9_-]{43}\\n$`, "u"));
  assert.match(
    stderr,
    /^This link signs in operator, an operator of this installation\. It works once, until \d{4}-.+Z\.\n$/u,
  );
  await link();
  const people = await peopleOf();
  assert.deepEqual(
    people.map(({ name, is_operator: isOperator }) => [name, isOperator]),
    [["operator", true]],
  );
  const userId = people[0]?.user_id;
  assert.deepEqual(
    (await audit()).map(({ shop_key: shopKey, action, detail }) => [shopKey, action, detail]),
    [
      [0, "user.create", { user_id: userId, is_operator: true }],
      [0, "user.link", { user_id: userId, purpose: "enter" }],
      [0, "user.link", { user_id: userId, purpose: "enter" }],
    ],
  );
});

test("--name makes a person, and --workspace an owner, which is recorded once", async () => {
  const tenant = await createTenant(service.database);
  const words = ["--name", "Ada Lovelace", "--workspace", tenant.shopDomain];
  const { stdout } = await link([...words, "--json"]);
  const made = JSON.parse(stdout) as Record<string, unknown>;
  assert.deepEqual(Object.keys(made), ["user_id", "name", "is_operator", "owner_of", "link", "expires_at"]);
  assert.deepEqual(
    [made["name"], made["is_operator"], made["owner_of"]],
    ["Ada Lovelace", false, [tenant.shopDomain]],
  );
  const again = await link(["--name", String(made["user_id"]), "--workspace", tenant.shopDomain]);
  assert.match(again.stderr, /signs in Ada Lovelace, an owner of shop-\d+\.example\. It works once/u);
  const { rows } = await service.database.query("select role from workspace_member where shop_key = $1", [
    tenant.shopKey,
  ]);
  assert.deepEqual(rows, [{ role: "owner" }]);
  const ofWorkspace = (await audit()).filter((event) => event.shop_key === tenant.shopKey);
  assert.deepEqual(
    ofWorkspace.map(({ action, detail }) => [action, detail]),
    [["member.set", { user_id: made["user_id"], role: "owner" }]],
  );
});

test("a failure is one sentence, and creates nobody", async () => {
  const people = (await peopleOf()).length;
  const cases = [
    [["--name", " "], {}, 2, /^The name must be text of 1 to 100 characters/u],
    [
      ["--name", "x", "--workspace", "none.example"],
      {},
      1,
      /^There is no workspace for the domain none\.example/u,
    ],
    [["--name", "x"], { CONSOLE: "off" }, 1, /^The console is off/u],
  ] as const;
  for (const [words, own, expected, message] of cases) {
    const { code, stdout, stderr } = await link(words, own);
    assert.deepEqual([code, stdout], [expected, ""], stderr);
    assert.match(stderr, message);
  }
  assert.equal((await peopleOf()).length, people);
});

test("PUBLIC_URL of https or of this machine is the address of the link, another one over http is not", async () => {
  const published = await link([], { PUBLIC_URL: "https://returns.example" });
  assert.match(published.stdout, /^https:\/\/returns\.example\/enter#/u);
  const own = await link([], { PUBLIC_URL: "http://127.0.0.1:9000" });
  assert.match(own.stdout, /^http:\/\/127\.0\.0\.1:9000\/enter#/u);
  const plain = await link([], { PUBLIC_URL: "http://returns.example" });
  assert.match(plain.stdout, /^http:\/\/localhost:\d+\/enter#/u);
});

const user = (...words: string[]): Promise<CommandOutcome> => runCommand(["user", ...words], environment);

test("--recover makes a link that ends the person's passkeys and sign-ins when it is used", async () => {
  await link(["--name", "Grace", "--recover"]);
  const { rows } = await service.database.query(
    "select purpose from console_link join console_user using (user_id) where name = 'Grace'",
  );
  assert.deepEqual(rows, [{ purpose: "recover" }]);
});

const idOf = async (name: string): Promise<string> =>
  (await peopleOf()).find((each) => each.name === name)?.user_id ?? "";

test("a person is disabled, enabled, renamed and made operator, each recorded with how it was", async () => {
  await link(["--name", "Mary"]);
  const id = await idOf("Mary");
  const events = async () =>
    (await audit())
      .filter(({ action }) => /^user\.(?:disable|enable|rename|grant_operator)$/u.test(action))
      .map((event) => [event.action, event.before]);
  const disabled = JSON.parse((await user("disable", id, "--json")).stdout) as Record<string, unknown>;
  assert.deepEqual([disabled["is_disabled"], disabled["changed"]], [true, true]);
  assert.match((await link(["--name", id])).stderr, /"Mary" is disabled/u);
  assert.match((await user("disable", id.toUpperCase())).stdout, /^Mary is already disabled\.\n$/u);
  assert.equal((await user("enable", id)).code, 0);
  assert.equal((await user("rename", id, "Mary  Ward")).code, 0);
  assert.equal((await user("grant-operator", id)).code, 0);
  assert.deepEqual(await events(), [
    ["user.disable", { is_disabled: false }],
    ["user.enable", { is_disabled: true }],
    ["user.rename", null],
    ["user.grant_operator", { is_operator: false }],
  ]);
  const { stdout } = await user("list", "--json");
  const people = JSON.parse(stdout) as { name: string; is_operator: boolean; passkeys: number }[];
  const mary = people.find(({ name }) => name === "Mary Ward");
  assert.deepEqual([mary?.is_operator, mary?.passkeys], [true, 0]);
  assert.match((await user("list")).stdout, /Ada Lovelace .*shop-\d+\.example/u);
});

test("the last operator cannot be removed, names stay unique in a workspace, and an unknown person is not found", async () => {
  const tenant = await createTenant(service.database);
  const [operator, mary] = [await idOf("operator"), await idOf("Mary Ward")];
  assert.equal((await user("disable", mary)).code, 0);
  for (const name of ["Grace", "Joan"])
    await link(["--new", "--name", name, "--workspace", tenant.shopDomain]);
  for (const [words, message] of [
    [["disable", operator], /"operator" is the last operator: make somebody else one first\./u],
    [["rename", await idOf("Joan"), "grace"], /Somebody in shop-\d+\.example is called "grace" already\./u],
    [["enable", "Nobody"], /Nobody here is named "Nobody"\./u],
    [["enable", "00000000-0000-4000-8000-000000000000"], /No person has the id /u],
  ] as const) {
    const { code, stderr } = await user(...words);
    assert.equal(code, 1);
    assert.match(stderr, message);
  }
});
