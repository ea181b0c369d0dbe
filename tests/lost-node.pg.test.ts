import assert from "node:assert/strict";
import { before, test } from "node:test";
import { createShopNodes } from "../src/admission/shop-nodes.ts";
import { startUsageWriter } from "../src/admission/usage-writer.ts";
import { runAction } from "../src/actions/action.ts";
import { textInput } from "../src/actions/field.ts";
import { createUser, renameUser } from "../src/actions/people/actions.ts";
import { OPERATOR } from "../src/control/actor.ts";
import { showNewestActions } from "../src/control/audit-trail.ts";
import type { Database } from "../src/store/database.ts";
import { isCitus } from "./support/citus.ts";
import { openControlDatabase } from "./support/control.ts";
import { loseShop } from "./support/lost-shops.ts";
import { createTenant } from "./support/tenants.ts";
import { eventually } from "./support/worker.ts";
import { use } from "./support/use.ts";

/** What servers and operators write of all shops, while the rows of one cannot be reached. */

const control = use(openControlDatabase);
let database: Database;
before(async () => {
  ({ database } = control);
});

/** Enough shops to have some on each node of a cluster. */
async function createShops(): Promise<number[]> {
  const shopKeys: number[] = [];
  for (let made = 0; made < 8; made += 1) shopKeys.push((await createTenant(control.pool)).shopKey);
  return shopKeys;
}

test("the usage of others is written while a shop is out of reach, and its own afterwards, all of it", async () => {
  const shopKeys = await createShops();
  const { lost, others, find } = await loseShop(control.pool, shopKeys);
  const warnings: object[] = [];
  const usage = startUsageWriter({
    database,
    nodeOfShop: isCitus() ? createShopNodes(database) : (shopKey) => Promise.resolve(shopKey),
    log: { warn: (detail) => void warnings.push(detail) },
    intervalMs: 50,
  });
  const day = "2026-11-22";
  const ask = (some: readonly number[]): void => {
    for (const shopKey of some) {
      const caller = { shopKey, tokenId: `token-${shopKey}`, day };
      usage.count(caller, { endpoint: "summary", surface: "rest" }, "ok", true);
    }
  };
  const writtenOf = async (some: readonly number[]): Promise<number> => {
    const text =
      "select coalesce(sum(requests), 0)::integer as requests from usage_detail where shop_key = any($1)";
    return (await control.pool.query<{ requests: number }>(text, [some])).rows[0]?.requests ?? 0;
  };
  try {
    ask(shopKeys);
    await eventually(async () => warnings.length > 1, "two times it could not be written");
    await eventually(async () => (await writtenOf(others)) === others.length, "the usage of others");
    ask(lost);
  } finally {
    await find();
  }
  await usage.stop();
  assert.equal(await writtenOf(lost), 2 * lost.length);
  assert.equal(await writtenOf(others), others.length);
  assert.deepEqual(
    warnings.map((detail) => ({ ...detail, err: null })),
    warnings.map(() => ({ err: null, shops: lost.length, dropped_requests: 0 })),
  );
});

/** A key that some node would have, too. */
const NO_SHOP = 0;

test("actions on the installation need no node, whichever is lost", async () => {
  const { lost, others, find } = await loseShop(control.pool, [NO_SHOP, ...(await createShops())]);
  assert.ok(lost.includes(NO_SHOP) && others.length > 0);
  try {
    const caller = { database, actor: OPERATOR, now: new Date() };
    const { result } = await runAction(createUser, caller, textInput({ name: "Meanwhile" }));
    await runAction(renameUser, caller, textInput({ person: result.user_id, new_name: "Afterwards" }));
  } finally {
    await find();
  }
  const events = await showNewestActions(database, OPERATOR, null, { since: null, limit: 2 });
  assert.deepEqual(
    events.map(({ action, workspace }) => [action, workspace]),
    [
      ["user.rename", null],
      ["user.create", null],
    ],
  );
});
