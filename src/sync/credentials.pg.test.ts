import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openControlDatabase } from "../../tests/support/control.ts";
import { createTenant } from "../../tests/support/tenants.ts";
import { putConnection } from "../store/queries/data-source.ts";
import { SourceRefused, type Credentials } from "./connector.ts";
import { openCredentials, sealSecrets } from "./credentials.ts";
import { before, use } from "../../tests/support/use.ts";

const sealingKey = Buffer.alloc(32, 7);
const source = "shopify";

const control = use(openControlDatabase);
let shopKey: number;
before(async () => {
  ({ shopKey } = await createTenant(control.pool));
  await putConnection(control.database, {
    shopKey,
    source,
    kind: "store",
    settings: {},
    sealedCredentials: sealSecrets({ sealingKey, shopKey, source }, { accessToken: "first-secret" }),
  });
});

const open = (key = sealingKey): Credentials =>
  openCredentials({ database: control.database, sealingKey: key, shopKey, source });

test("secrets are sealed at rest and read back", async () => {
  const [row] = await control.database.rows<{ sealed_credentials: Buffer }>(
    {
      name: "test_sealed",
      text: "select sealed_credentials from data_source where shop_key = $1 and source = 'shopify'",
    },
    [shopKey],
  );
  assert.ok(!row?.sealed_credentials.includes("first-secret"));
  assert.deepEqual(await open().read(), { accessToken: "first-secret" });
});

test("changes happen one at a time, and each sees what the one before left", async () => {
  let running = 0;
  const append = async (letter: string): Promise<void> => {
    await open().change(async (secrets) => {
      running += 1;
      assert.equal(running, 1);
      await sleep(20);
      running -= 1;
      return { accessToken: `${secrets["accessToken"]}${letter}` };
    });
  };
  await open().change(async () => ({ accessToken: "" }));
  await Promise.all(["a", "b", "c"].map(append));
  const { accessToken = "" } = await open().read();
  assert.deepEqual(new Set(accessToken), new Set("abc"));
  assert.equal(accessToken.length, 3);
});

test("a change that fails leaves the secrets as they were", async () => {
  const stored = await open().read();
  await assert.rejects(
    open().change(async () => {
      throw new Error("refused");
    }),
    /refused/u,
  );
  assert.deepEqual(await open().read(), stored);
});

test("another root secret opens nothing, and the error contains no part of the secrets", async () => {
  await assert.rejects(open(Buffer.alloc(32, 8)).read(), (error: Error) => {
    assert.ok(error instanceof SourceRefused);
    assert.match(error.message, /encrypted with keys that this installation no longer has/u);
    assert.equal(error.cause, undefined);
    return true;
  });
});

test("a source without credentials is refused, for reading and for changing", async () => {
  const none = openCredentials({ database: control.database, sealingKey, shopKey, source: "loop" });
  await assert.rejects(none.read(), SourceRefused);
  await assert.rejects(
    none.change(async (secrets) => secrets),
    SourceRefused,
  );
});
