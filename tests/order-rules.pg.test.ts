import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import pg from "pg";
import { OPERATOR } from "../src/actions/actor.ts";
import { runAction } from "../src/actions/action.ts";
import { textInput } from "../src/actions/field.ts";
import { previewRules, setRules, writtenRules } from "../src/actions/workspace/order-rules.ts";
import { putOrderRules } from "../src/actions/workspace/queries.ts";
import { setReasons } from "../src/actions/workspace/settings.ts";
import { DEFAULT_RULES, NO_RULES, ORDER_KINDS, type OrderRules } from "../src/metrics/order-rules.ts";
import { within } from "../src/lib/within.ts";
import { findReasonGroups } from "../src/store/queries/fit.ts";
import { redactOrders } from "../src/store/queries/order-document.ts";
import type { DirectoryRow } from "../src/store/queries/workspace-directory.ts";
import { applyRules } from "../src/sync/apply.ts";
import { loadRules } from "../src/sync/order-rules.ts";
import { rebuildWorkspace } from "../src/sync/rebuild.ts";
import { keepInOrder } from "../src/worker/upkeep.ts";
import { csv, startImportWorkspace } from "./support/import-workspace.ts";
import { countLockWaits } from "./support/locks.ts";
import { openTestKeys } from "./support/secret.ts";
import { withStatements } from "./support/transaction-steps.ts";
import { eventually, withWorker, workerOptions } from "./support/worker.ts";
import { use } from "./support/use.ts";

/** Which orders count: saved rules, their effect and what the facts then are. */

const shop = use(startImportWorkspace);

const MEMBERS: readonly object[] = [
  {},
  { orderName: "#1001" },
  { orderName: "EXC-1001" },
  { orderName: "L-77" },
  { tags: ["VIP", "wholesale"] },
  { tags: ["Narvar_Exchange_Order"] },
  { tags: ["Große Größe"] },
  { channel: "pos" },
  { channel: "shopify_draft_order", free: true },
  { channel: "web", free: true },
  { unpaidStatus: "PENDING" },
  { unpaidStatus: "VOIDED", tags: ["VIP"] },
];

/** Four orders of each kind, over months and windows, with and without returns; as a platform would have stored them. */
async function openStore(): Promise<number> {
  const shopKey = await shop.open();
  const orders = MEMBERS.flatMap((members, kind) =>
    [1, 2, 3, 4].map((each) => ({ members, id: `o${kind}-${each}`, each })),
  );
  const day = (each: number): string => `2025-${String(4 + each * 2).padStart(2, "0")}-10T10:00:00Z`;
  const back = (each: number, days: number): string =>
    new Date(Date.parse(day(each)) + days * 86_400_000).toISOString();
  await shop.import(shopKey, {
    "order_lines.csv": csv(
      "order_id,line_id,ordered_at,sku,title,units",
      ...orders.flatMap(({ id, each }) => [
        `${id},l1,${day(each)},S${each},T,${each + 1}`,
        `${id},l2,${day(each)},CAP,C,1`,
      ]),
    ),
    "returns.csv": csv(
      "return_id,order_id,line_id,status,units,closed_at,reason",
      ...orders
        .filter(({ each }) => each < 3)
        .map(({ id, each }) => `r,${id},l1,CLOSED,1,${back(each, 12)},Fit`),
    ),
    "refunds.csv": csv(
      "refund_id,order_id,line_id,refunded_at,units,subtotal,restock_type,return_id",
      ...orders
        .filter(({ each }) => each < 3)
        .map(({ id, each }) => `f1,${id},l1,${back(each, 13)},1,5.00,RETURN,r`),
      ...orders
        .filter(({ each }) => each > 1)
        .map(({ id, each }) => `f2,${id},l2,${back(each, 40 - each * 8)},1,3.00,,`),
    ),
    "return_labels.csv": csv(
      "label_id,order_id,charged_at,amount",
      ...orders
        .filter(({ each }) => each === 1)
        .map(({ id, each }) => `b-${id},${id},${back(each, 14)},4.00`),
    ),
  });
  for (const { id, members } of orders) {
    await shop.rows(
      "update order_document set document = document || $3::jsonb where shop_key = $1 and order_id = $2",
      [shopKey, id, JSON.stringify(members)],
    );
  }
  await shop.database.transaction((connection) => rebuildWorkspace(connection, shopKey));
  return shopKey;
}

const callerOf = async (shopKey: number) => ({
  database: shop.database,
  keys: await openTestKeys(shop.database),
  workspace: { shop_key: shopKey } as DirectoryRow,
  actor: OPERATOR,
  now: new Date(),
});

const save = async (shopKey: number, rules: OrderRules): Promise<void> => {
  await runAction(setRules, await callerOf(shopKey), textInput(writtenRules(rules)));
};

const preview = async (shopKey: number, wanted: OrderRules) =>
  (await previewRules(
    { database: shop.database, actor: OPERATOR, workspace: { shop_key: shopKey } },
    wanted,
  )) ?? assert.fail("no preview");

const randomRules: fc.Arbitrary<OrderRules> = fc.record({
  exchangeNames: fc.subarray(["EXC-", "l-"]),
  exchangeTags: fc.subarray(["narvar_exchange_order"]),
  leftOutKinds: fc.subarray([...ORDER_KINDS]),
  leftOutChannels: fc.subarray(["POS", "web"]),
  leftOutTags: fc.subarray(["vip", "WHOLESALE", "große größe", "Große Größe"]),
  refundsWithoutRestockReturn: fc.boolean(),
});

test("saved rules recompute only what they affect, and give the results of a rebuild and of the preview", async () => {
  const shopKey = await openStore();
  for (const wanted of [NO_RULES, DEFAULT_RULES, ...fc.sample(randomRules, { numRuns: 6, seed: 59 })]) {
    const shown = await preview(shopKey, wanted);
    assert.equal(shown.isWhole, true);
    await save(shopKey, wanted);
    const waiting = await preview(shopKey, wanted);
    assert.deepEqual(waiting.now, shown.now, "figures follow only once a worker has applied the rules");
    assert.equal(await applyRules(shop.database, shopKey), true);
    assert.equal(await applyRules(shop.database, shopKey), false);
    const since = await preview(shopKey, wanted);
    assert.deepEqual([since.now, since.saved], [shown.saved, shown.saved], JSON.stringify(wanted));
    const applied = await shop.dump(shopKey);
    await shop.database.transaction((connection) => rebuildWorkspace(connection, shopKey));
    assert.deepEqual(await shop.dump(shopKey), applied, JSON.stringify(wanted));
  }
});

test("a preview counts the lines of an order by their own days", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, {
    "order_lines.csv": csv(
      "order_id,line_id,ordered_at,sku,units",
      "o1,l1,2024-01-10T10:00:00Z,CAP,2",
      "o1,l2,2026-01-10T10:00:00Z,CAP,3",
      "o2,l1,2026-02-10T10:00:00Z,CAP,4",
    ),
  });
  await shop.rows(
    `update order_document set document = document || '{"tags": ["vip"]}' where shop_key = $1 and order_id = 'o1'`,
    [shopKey],
  );
  const { now, saved } = await preview(shopKey, { ...DEFAULT_RULES, leftOutTags: ["vip"] });
  assert.deepEqual([now.soldUnits, saved.soldUnits, saved.leftOutOrders.tag], [7, 4, 1]);
});

test("rules are saved while a worker applies earlier ones, and applied next", async () => {
  const shopKey = await openStore();
  const first = { ...DEFAULT_RULES, leftOutTags: ["vip"] };
  await save(shopKey, first);
  const database = withStatements(shop.database, async (name) => {
    if (name === "find_currency") await within(5000, save(shopKey, { ...first, leftOutChannels: ["pos"] }));
  });
  await applyRules(database, shopKey);
  await applyRules(shop.database, shopKey);
  const applied = await shop.dump(shopKey);
  await shop.database.transaction((connection) => rebuildWorkspace(connection, shopKey));
  assert.deepEqual(await shop.dump(shopKey), applied);
});

test("rules, and groups of reasons, that two people save at the same time are both kept", async () => {
  const shopKey = await shop.open();
  const caller = await callerOf(shopKey);
  const saveBeside = async (change: string, act: () => Promise<unknown>): Promise<void> => {
    const { acting } = await shop.database.transaction(async (connection) => {
      await connection.client.query(`update workspace set ${change} where shop_key = ${shopKey}`);
      const saving = act();
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await eventually(async () => (await shop.rows(waiting)).length === 1, "the other waits");
      return { acting: saving };
    });
    await acting;
  };
  await saveBeside(`order_rules = '{"leftOutTags": ["vip"]}'`, () =>
    runAction(setRules, caller, textInput({ left_out_channels: "pos" })),
  );
  const { wanted } = await loadRules(shop.database, shopKey);
  assert.deepEqual([wanted.leftOutTags, wanted.leftOutChannels], [["vip"], ["pos"]]);
  await saveBeside(`reason_groups = '{"too late": "late"}'`, () =>
    runAction(setReasons, caller, textInput({ reasons: "broken=damaged" })),
  );
  const groups = { "too late": "late", broken: "damaged" };
  assert.deepEqual(await findReasonGroups(shop.database, shopKey), groups);
});

test("the figures of the default rules, computed by hand: only exchange orders of Loop and Narvar are left out", async () => {
  const shopKey = await openStore();
  const { startMonth, endMonth, now, saved } = await preview(shopKey, NO_RULES);
  assert.deepEqual([startMonth, endMonth], ["2025-05", "2026-04"]);
  // By kind of order: four orders of 2 + 3 + 4 + 5 units and four of a cap; 2 units come back by a return, and of the caps those
  // of the orders 2 to 4 after 24, 16 and 8 days.
  const ofAKind = { soldUnits: 18, returnedUnits: 5 };
  assert.deepEqual([now.soldUnits, now.returnedUnits], [10 * ofAKind.soldUnits, 10 * ofAKind.returnedUnits]);
  assert.deepEqual(
    [saved.soldUnits, saved.returnedUnits],
    [12 * ofAKind.soldUnits, 12 * ofAKind.returnedUnits],
  );
  assert.deepEqual([now.leftOutOrders.exchange, saved.leftOutOrders.exchange], [8, 0]);
  const lines = await shop.rows<{ left_out: string; lines: number; sold: number }>(
    `select left_out, count(*)::integer as lines, sum(sold_units)::integer as sold from order_line
      where shop_key = $1 and left_out is not null group by 1`,
    [shopKey],
  );
  assert.deepEqual(lines, [{ left_out: "exchange", lines: 16, sold: 0 }]);
});

test("a worker applies saved rules; figures older than rules get the default rules, which upkeep requests", async () => {
  const shopKey = await openStore();
  await save(shopKey, { ...DEFAULT_RULES, leftOutTags: ["vip"] });
  const isApplied = async () => (await loadRules(shop.database, shopKey)).isApplied;
  assert.equal(await isApplied(), false);
  await withWorker(workerOptions(shop, []), async () => {
    await eventually(isApplied, "the rules are applied");
  });
  assert.equal((await preview(shopKey, DEFAULT_RULES)).now.leftOutOrders.tag, 8);
  assert.deepEqual(await shop.rows("select source from run_queue where shop_key = $1", [shopKey]), []);

  await save(shopKey, NO_RULES);
  await applyRules(shop.database, shopKey);
  await shop.rows("update workspace set order_rules = '{}', order_rules_applied = null where shop_key = $1", [
    shopKey,
  ]);
  const options = workerOptions(shop, []);
  assert.equal((await preview(shopKey, DEFAULT_RULES)).now.leftOutOrders.exchange, 0);
  await keepInOrder(options, shopKey);
  await withWorker(options, async () => {
    await eventually(isApplied, "the rules are applied");
  });
  assert.equal((await preview(shopKey, DEFAULT_RULES)).now.leftOutOrders.exchange, 8);
});

test("rules that are saved while earlier ones are being applied are applied too", async (context) => {
  const shopKey = await openStore();
  const pool = new pg.Pool({ connectionString: shop.url, max: 1 });
  context.after(() => pool.end());
  await save(shopKey, { ...DEFAULT_RULES, leftOutChannels: ["pos"] });
  const later = { ...DEFAULT_RULES, leftOutTags: ["vip"] };
  const { applying } = await shop.database.transaction(async (connection) => {
    await putOrderRules(connection, shopKey, later);
    const run = { applying: applyRules(shop.database, shopKey) };
    await eventually(async () => (await countLockWaits(pool)) > 0, "the rules are being applied");
    return run;
  });
  await applying;
  while (await applyRules(shop.database, shopKey));
  const { now, saved } = await preview(shopKey, later);
  assert.deepEqual(now, saved);
  assert.deepEqual([now.leftOutOrders.tag, now.leftOutOrders.channel], [8, 0]);
});

test("redacting a customer changes no figure: the beginning of an exchange order's name is kept", async () => {
  const shopKey = await openStore();
  const earlier = await preview(shopKey, DEFAULT_RULES);
  await shop.database.transaction(async (connection) => {
    await redactOrders(connection, shopKey, ["o2-1", "o1-1", "o3-1"], DEFAULT_RULES.exchangeNames);
    await rebuildWorkspace(connection, shopKey);
  });
  assert.deepEqual((await preview(shopKey, DEFAULT_RULES)).now, earlier.now);
  const names = await shop.rows(
    `select order_id, document ->> 'orderName' as name from order_document
      where shop_key = $1 and order_id in ('o1-1', 'o2-1', 'o3-1') order by 1`,
    [shopKey],
  );
  assert.deepEqual(names, [
    { order_id: "o1-1", name: null },
    { order_id: "o2-1", name: "EXC-" },
    { order_id: "o3-1", name: null },
  ]);
});
