import { OPERATOR } from "./actor.ts";
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openControlDatabase } from "../../tests/support/control.ts";
import type { ControlDatabase } from "../../tests/support/control.ts";
import { withStoreFolder } from "../../tests/support/store-folder.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { importIntoWorkspace } from "./import.ts";
import { rebuildData } from "./rebuild.ts";
import { addSaleEvent, removeSaleEvent, showSaleEvents } from "./sale-event.ts";
import { showWatched, unwatch, watch } from "./watchlist.ts";
import { createWorkspace, requireWorkspace } from "./workspace.ts";

let control: ControlDatabase;
let workspace: WorkspaceRow;
let empty: WorkspaceRow;
before(async () => {
  control = await openControlDatabase();
  for (const domain of ["lamps.example", "empty.example"]) {
    await createWorkspace(control.database, OPERATOR, { domain, currency: "EUR" });
  }
  empty = await requireWorkspace(control.database, "empty.example");
  workspace = await requireWorkspace(control.database, "lamps.example");
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
after(() => control.stop());

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
    assert.deepEqual(await watch(control.database, OPERATOR, workspace, type, key), {
      type,
      key,
      changed: true,
    });
    assert.equal((await watch(control.database, OPERATOR, workspace, type, key)).changed, false);
  }
  const watched = (await showWatched(control.database, workspace)).map(({ type, key }) => `${type} ${key}`);
  assert.deepEqual(new Set(watched), new Set(entities.map(([type, key]) => `${type} ${key}`)));
  for (const [type, key] of entities) {
    assert.equal((await unwatch(control.database, OPERATOR, workspace, type, key)).changed, true);
    assert.equal((await unwatch(control.database, OPERATOR, workspace, type, key)).changed, false);
  }
  const recorded = (await control.audit()).filter((event) => event.action.startsWith("watch."));
  assert.equal(recorded.length, 8);
});

test("what the workspace's own catalogue does not have cannot be watched", async () => {
  await assert.rejects(watch(control.database, OPERATOR, empty, "sku", "LAMP-01"), {
    kind: "impossible",
    message: 'The catalogue of empty.example has no sku "LAMP-01".',
  });
  await assert.rejects(watch(control.database, OPERATOR, workspace, "family", "Home"), {
    kind: "impossible",
  });
  await assert.rejects(watch(control.database, OPERATOR, workspace, "vendor", "x"), { kind: "invalid" });
  assert.deepEqual(await showWatched(control.database, empty), []);
});

const spring = {
  slug: "spring",
  label: "Spring sale",
  startsOn: "2026-05-01",
  endsOn: "2026-05-07",
  skus: ["LAMP-01", "LAMP-01"],
};

test("M15: a sale event is added, replaced and removed, and each raises the data version", async () => {
  const version = await dataVersion();
  const added = await addSaleEvent(control.database, OPERATOR, workspace, spring);
  assert.deepEqual(added, {
    isNew: true,
    event: {
      slug: "spring",
      label: "Spring sale",
      starts_on: "2026-05-01",
      ends_on: "2026-05-07",
      skus: ["LAMP-01"],
    },
  });
  const replaced = await addSaleEvent(control.database, OPERATOR, workspace, {
    ...spring,
    label: "Spring",
    skus: [],
  });
  assert.equal(replaced.isNew, false);
  const [shown] = await showSaleEvents(control.database, workspace);
  assert.deepEqual([shown?.label, shown?.skus], ["Spring", null]);
  assert.equal(await dataVersion(), version + 2);

  assert.deepEqual(await removeSaleEvent(control.database, OPERATOR, workspace, "spring"), {
    slug: "spring",
    removed: true,
  });
  assert.equal((await removeSaleEvent(control.database, OPERATOR, workspace, "spring")).removed, false);
  assert.equal(await dataVersion(), version + 3);
});

test("a sale event's fields are checked, in sentences", async () => {
  const refused: [Partial<typeof spring>, RegExp][] = [
    [{ slug: "spring sale" }, /^The slug must be/u],
    [{ label: "" }, /^The label must be text/u],
    [{ startsOn: "2026-5-1" }, /^The first day must be a day written YYYY-MM-DD/u],
    [{ endsOn: "2026-04-30" }, /^The last day must not be before the first day\.$/u],
    [{ skus: ["LAMP-01", "LAMP-99"] }, /^The catalogue of lamps\.example has no sku "LAMP-99"\.$/u],
  ];
  for (const [change, message] of refused) {
    await assert.rejects(addSaleEvent(control.database, OPERATOR, workspace, { ...spring, ...change }), {
      message,
    });
  }
  assert.deepEqual(await showSaleEvents(control.database, workspace), []);
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
  const rebuilt = await rebuildData(control.database, OPERATOR, workspace);
  assert.deepEqual(await facts(), made);
  assert.equal(rebuilt.data_version, await dataVersion());
  const event = (await control.audit()).at(-1);
  assert.deepEqual([event?.action, event?.detail], ["rebuild", { data_version: rebuilt.data_version }]);
});
