import assert from "node:assert/strict";
import { test } from "node:test";
import { openControlDatabase } from "../../tests/support/control.ts";
import { openTestKeys } from "../../tests/support/secret.ts";
import { withStoreFolder } from "../../tests/support/store-folder.ts";
import { makeWorkspace } from "../../tests/support/workspace.ts";
import { OPERATOR } from "./actor.ts";
import { importIntoWorkspace } from "./uploads/actions.ts";
import type { Keys } from "../lib/keys.ts";
import type { DirectoryRow } from "../store/queries/workspace-directory.ts";
import { readList, runAction } from "./action.ts";
import { textInput } from "./field.ts";
import { addSaleEvent, removeSaleEvent, saleEventList } from "./sale-events/actions.ts";
import { rebuild } from "./sources/actions.ts";
import { addWatched, removeWatched, watchedList } from "./watchlist/actions.ts";
import { requireWorkspace } from "./workspace/workspace.ts";
import { before, use } from "../../tests/support/use.ts";

const control = use(openControlDatabase);
let keys: Keys;
let workspace: DirectoryRow;
let empty: DirectoryRow;
before(async () => {
  keys = await openTestKeys(control.database);
  empty = await makeWorkspace(control.database, "empty.example");
  workspace = await makeWorkspace(control.database, "lamps.example");
  await withStoreFolder(
    {
      products: [{ product_id: "7", title: "Lamp", family: "Lighting", analytics_category: "Home" }],
      variants: [{ variant_id: "70", product_id: "7", sku: "LAMP-01" }],
      order_lines: [
        { order_id: "1", line_id: "1", ordered_at: "2026-05-03T10:00:00Z", variant_id: "70", units: 2 },
      ],
    },
    (folder) =>
      importIntoWorkspace(control.database, OPERATOR, workspace, {
        folder,
        asOf: new Date("2026-07-01T00:00:00Z"),
        now: new Date("2026-07-01T00:00:00Z"),
        skipInvalid: false,
        onProgress: () => {},
      }),
  );
});

const caller = (by = workspace) => ({
  database: control.database,
  keys,
  workspace: by,
  actor: OPERATOR,
  now: new Date(),
});

const watch = async (type: string, key: string, by = workspace) =>
  (await runAction(addWatched, caller(by), textInput({ type, key }))).result;
const unwatch = async (type: string, key: string) =>
  (await runAction(removeWatched, caller(), textInput({ type, key }))).result;

const dataVersion = async (): Promise<number> =>
  (await requireWorkspace(control.database, "lamps.example")).data_version;

test("the first import makes a workspace ready, as of the stated moment", async () => {
  const imported = await requireWorkspace(control.database, "lamps.example");
  assert.equal(imported.readiness, "ready");
  assert.equal(imported.data_as_of?.toISOString(), "2026-07-01T00:00:00.000Z");
});

test("M16: a SKU, a product, a family and a category of the catalogue can be watched", async () => {
  const entities = [
    ["sku", "LAMP-01"],
    ["product_gid", "gid://import/Product/7"],
    ["family", "Lighting"],
    ["analytics_category", "Home"],
  ] as const;
  for (const [type, key] of entities) {
    assert.deepEqual(await watch(type, key), { type, key, changed: true });
    assert.equal((await watch(type, key)).changed, false);
  }
  const watched = (await readList(watchedList, caller())).map(({ type, key }) => `${type} ${key}`);
  assert.deepEqual(new Set(watched), new Set(entities.map(([type, key]) => `${type} ${key}`)));
  for (const [type, key] of entities) {
    assert.equal((await unwatch(type, key)).changed, true);
    assert.equal((await unwatch(type, key)).changed, false);
  }
  const recorded = (await control.audit()).filter((event) => event.action.startsWith("watch."));
  assert.equal(recorded.length, 8);
});

test("only entities of the workspace's own catalogue can be watched", async () => {
  await assert.rejects(watch("sku", "LAMP-01", empty), {
    kind: "impossible",
    message: 'The catalogue of empty.example has no sku "LAMP-01".',
  });
  await assert.rejects(watch("family", "Home"), { kind: "impossible" });
  await assert.rejects(watch("vendor", "x"), { kind: "invalid" });
  assert.deepEqual(await readList(watchedList, caller(empty)), []);
});

const spring = {
  slug: "spring",
  label: "Spring sale",
  starts_on: "2026-05-01",
  ends_on: "2026-05-07",
  skus: ["LAMP-01", "LAMP-01"],
};
const add = (event: typeof spring) => runAction(addSaleEvent, caller(), textInput(event));
const remove = (slug: string) => runAction(removeSaleEvent, caller(), textInput({ slug }));

test("M15: a sale event is added, replaced and removed, and each raises the data version", async () => {
  const version = await dataVersion();
  const added = await add(spring);
  assert.equal(added.done, "Added the sale days Spring sale.");
  assert.deepEqual(added.result, { ...spring, skus: ["LAMP-01"] });
  const replaced = await add({ ...spring, label: "Spring", skus: [] });
  assert.equal(replaced.done, "Changed the sale days Spring.");
  const [shown] = await readList(saleEventList, caller());
  assert.deepEqual([shown?.label, shown?.skus], ["Spring", null]);
  assert.equal(await dataVersion(), version + 2);

  assert.deepEqual((await remove("spring")).result, { slug: "spring", removed: true });
  assert.equal((await remove("spring")).result.removed, false);
  assert.equal(await dataVersion(), version + 3);
});

test("a rebuild leaves the facts as they were and is recorded with its data version", async () => {
  const facts = () =>
    control.database.rows(
      {
        name: "test_cohorts",
        text: "select * from cohort where shop_key = $1 order by entity_kind, entity_key, cohort_month, listing_id",
      },
      [workspace.shop_key],
    );
  const made = await facts();
  assert.ok(made.length > 0);
  const { result: rebuilt } = await runAction(rebuild, caller(), textInput({}));
  assert.deepEqual(await facts(), made);
  assert.equal(rebuilt.data_version, await dataVersion());
  const event = (await control.audit()).at(-1);
  assert.deepEqual([event?.action, event?.detail], ["rebuild", { data_version: rebuilt.data_version }]);
});
