import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runCommand } from "../../tests/support/command.ts";
import type { Outcome } from "../../tests/support/command.ts";
import { startTestService, serviceEnvironment } from "../../tests/support/service.ts";
import type { TestService } from "../../tests/support/service.ts";
import { createTenant } from "../../tests/support/tenants.ts";

let service: TestService;
let environment: Record<string, string>;
before(async () => {
  service = await startTestService();
  environment = { ...serviceEnvironment(service.databaseUrl), PORT: new URL(service.address).port };
});
after(() => service.stop());

const link = (words: readonly string[] = [], own: Record<string, string> = {}): Promise<Outcome> =>
  runCommand(["user", "link", ...words], { ...environment, ...own });

async function audit(): Promise<{ shop_key: number; action: string; detail: object }[]> {
  const { rows } = await service.database.query<{ shop_key: string; action: string; detail: object }>(
    "select shop_key, action, detail from audit_event where actor = 'operator' order by happened_at, action",
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
      [0, "user.link", { user_id: userId }],
      [0, "user.link", { user_id: userId }],
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
  const again = await link(words);
  assert.match(again.stderr, /signs in Ada Lovelace, an owner of shop-\d+\.example\. It works once/u);
  const { rows } = await service.database.query("select role from workspace_member where shop_key = $1", [
    tenant.shopKey,
  ]);
  assert.deepEqual(rows, [{ role: "owner" }]);
  const ofShop = (await audit()).filter((event) => event.shop_key === tenant.shopKey);
  assert.deepEqual(
    ofShop.map(({ action, detail }) => [action, detail]),
    [["member.set", { user_id: made["user_id"], role: "owner" }]],
  );
});

test("what cannot be done is one sentence, and makes nobody", async () => {
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
    [
      ["--name", "x"],
      { PUBLIC_URL: "https://returns.example" },
      1,
      /^The console is at https:\/\/returns\.example\. Nobody can sign in to the console at an https address yet/u,
    ],
  ] as const;
  for (const [words, own, expected, message] of cases) {
    const { code, stdout, stderr } = await link(words, own);
    assert.deepEqual([code, stdout], [expected, ""], stderr);
    assert.match(stderr, message);
  }
  assert.equal((await peopleOf()).length, people);
});

test("PUBLIC_URL of this machine is the address of the link, another one over http is not", async () => {
  const own = await link([], { PUBLIC_URL: "http://127.0.0.1:9000" });
  assert.match(own.stdout, /^http:\/\/127\.0\.0\.1:9000\/enter#/u);
  const plain = await link([], { PUBLIC_URL: "http://returns.example" });
  assert.match(plain.stdout, /^http:\/\/localhost:\d+\/enter#/u);
});
