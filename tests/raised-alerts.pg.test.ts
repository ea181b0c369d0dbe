import assert from "node:assert/strict";
import { test } from "node:test";
import { runAction } from "../src/actions/action.ts";
import { textInput } from "../src/actions/field.ts";
import { rebuild } from "../src/actions/sources/actions.ts";
import { importIntoWorkspace } from "../src/actions/uploads/actions.ts";
import { addWatched } from "../src/actions/watchlist/actions.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { OPERATOR } from "../src/actions/actor.ts";
import { evaluateAlerts, replayEarlyWarnings } from "../src/alerts/evaluate-alerts.ts";
import type { Keys } from "../src/lib/keys.ts";
import { dayFromText } from "../src/lib/month.ts";
import type { Database } from "../src/store/database.ts";
import type { DirectoryRow } from "../src/store/queries/workspace-directory.ts";
import { DEMO_DAY, startDemoService } from "./docs-demo.ts";
import { openControlDatabase } from "./support/control.ts";
import { openTestKeys } from "./support/secret.ts";
import { withStoreFolder } from "./support/store-folder.ts";
import { makeWorkspace } from "./support/workspace.ts";
import { before, use } from "./support/use.ts";

let keys: Keys;
const control = use(openControlDatabase);
const shown = use(startDemoService);
before(async () => {
  keys = await openTestKeys(control.database);
});

type StoredAlert = { event_key: string; severity: string; title: string };

/** Every alert of a workspace except those of completed imports. */
const alertsOf = (workspace: DirectoryRow, database: Database = control.database): Promise<StoredAlert[]> =>
  database.rows(
    {
      name: "test_alerts",
      text: `select event_key, severity, title from alert
              where shop_key = $1 and category <> 'backfill_completed' order by event_key`,
    },
    [workspace.shop_key],
  );
const keysOf = async (workspace: DirectoryRow): Promise<string[]> =>
  (await alertsOf(workspace)).map((alert) => alert.event_key);

const MONTHS = ["2025-11", "2025-12", "2026-01", "2026-02", "2026-03", "2026-04", "2026-05"];

test("M16: an import, a new entry of the watchlist and a rebuild raise due alerts once", async () => {
  const { database } = control;
  const workspace = await makeWorkspace(database, "lamps.example");
  await withStoreFolder(storeWithSpike(), (folder) =>
    importIntoWorkspace(database, OPERATOR, workspace, {
      folder,
      asOf: new Date("2026-07-01T00:00:00Z"),
      now: new Date("2026-07-01T00:00:00Z"),
      skipInvalid: false,
      onProgress: () => {},
    }),
  );
  const imported = ["report_ready:2026-05", "spike:sku:LAMP-01:2026-05"];
  assert.deepEqual(await keysOf(workspace), imported);

  const caller = { database, keys, workspace, actor: OPERATOR, now: new Date() };
  await runAction(addWatched, caller, textInput({ type: "sku", key: "LAMP-01" }));
  await runAction(addWatched, caller, textInput({ type: "family", key: "Lighting" }));
  const watched = ["report_ready:2026-05", "spike:family:Lighting:2026-05", "spike:sku:LAMP-01:2026-05"];
  assert.deepEqual(await keysOf(workspace), watched);

  await database.rows(
    { name: "test_forget", text: "delete from alert where shop_key = $1 and event_key like 'spike:%'" },
    [workspace.shop_key],
  );
  await runAction(rebuild, caller, textInput({}));
  assert.deepEqual(await keysOf(workspace), watched);
  await runAction(rebuild, caller, textInput({}));
  assert.deepEqual(await keysOf(workspace), watched);
});

test("M16: the demo store's bad batch and a size of its small cut raise one alert each, and nothing else one as severe", async () => {
  const { tenant, store } = shown;
  const { database } = shown.service.installation;
  const asOfDay = dayFromText(DEMO_DAY) ?? assert.fail();
  for (let weeks = 12; weeks > 0; weeks -= 1)
    await replayEarlyWarnings(database, { shopKey: tenant.shopKey, asOfDay: asOfDay - 7 * weeks });
  await evaluateAlerts({ database, shopKey: tenant.shopKey, now: new Date() });
  const workspace = await requireWorkspace(database, tenant.shopDomain);
  const { sku, cohortMonth } = store.badBatch;
  const { title } = store.smallCut;
  const alerts = await alertsOf(workspace, database);
  const spikes = alerts.filter((alert) => alert.event_key.startsWith("spike:"));
  const [gravest, ofCut, ...others] = spikes.filter((alert) => alert.severity === "critical");
  assert.deepEqual([gravest?.event_key, others], [`spike:sku:${sku}:${cohortMonth}`, []]);
  const cutSkus = await database.rows<{ sku: string }>(
    {
      name: "test_cut",
      text: `select v.sku from variant v join product p using (shop_key, product_gid)
              where v.shop_key = $1 and p.title = $2`,
    },
    [workspace.shop_key, title],
  );
  assert.ok(cutSkus.some((cut) => ofCut?.event_key === `spike:sku:${cut.sku}:${cohortMonth}`));
  assert.match(gravest?.title ?? "", new RegExp(`^Return rate of ${sku} jumped to \\d+(\\.\\d)? % in `, "u"));
});

/** One SKU of which 5 in 100 came back in each month, and 50 in the last one. */
function storeWithSpike() {
  return {
    products: [{ product_id: "7", title: "Lamp", family: "Lighting" }],
    variants: [{ variant_id: "70", product_id: "7", sku: "LAMP-01" }],
    order_lines: MONTHS.map((month) => ({
      order_id: month,
      line_id: "1",
      ordered_at: `${month}-03T10:00:00Z`,
      variant_id: "70",
      units: 100,
    })),
    refunds: MONTHS.map((month) => ({
      refund_id: month,
      order_id: month,
      line_id: "1",
      refunded_at: `${month}-20T10:00:00Z`,
      units: month === MONTHS.at(-1) ? 50 : 5,
      subtotal: "1.00",
    })),
  };
}
