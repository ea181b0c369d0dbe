import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { OPERATOR } from "../src/actions/actor.ts";
import { writeDemoStore } from "../src/demo/demo-store.ts";
import { importFolder } from "../src/sync/connectors/csv/import-folder.ts";
import { readGoldenStores } from "./golden/golden.ts";
import { withAnomalies } from "./oracle/pieces.ts";
import { randomStore } from "./oracle/random-store.ts";
import { requestsFor } from "./oracle/requests.ts";
import { USUAL_SETTINGS, type StoreFiles } from "./oracle/store.ts";
import { assertSameAnswers, filesOf, importExport, requestsOf, withExport } from "./support/export-move.ts";
import type { AskedExport } from "./support/export-move.ts";
import { createStore, createStoreTenant, importStore } from "./support/import-store.ts";
import { startTestService } from "./support/service.ts";
import type { Tenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";
import { makeFolder } from "./support/folder.ts";

/** An export, imported elsewhere, gives equal answers, and is exported from there with equal bytes. */

const seed = Number(process.env["RETURNS_TEST_SEED"] ?? Date.now() % 1_000_000_000);

const service = use(startTestService);

/** Moves a workspace, and asks both the same. */
async function assertMoves(tenant: Tenant, asked: readonly AskedExport[]): Promise<void> {
  const { database } = service.installation;
  await withExport(database, tenant.shopDomain, async (folder) => {
    const moved = await importExport(service, folder);
    await assertSameAnswers(service, [tenant, moved], asked);
    const again = await withExport(database, moved.shopDomain, (second) => filesOf(join(second, "store")));
    assert.deepEqual(again, await filesOf(join(folder, "store")));
  });
}

const textParams = (params: object): Record<string, string> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]));

test("every golden store", async () => {
  for (const { workspace, as_of: asOf, files, requests } of readGoldenStores()) {
    const tenant = await createStore(service, { ...workspace, asOf, files });
    const asked = requests.map(({ path, params }) => ({ path, params: textParams(params) }));
    await assertMoves(tenant, asked);
  }
});

test("random stores, with values that a source may have but a folder written by hand may not", async (context) => {
  let runs = 0;
  context.after(() => context.diagnostic(`seed ${seed}, ${runs} stores`));
  await fc.assert(
    fc.asyncProperty(randomStore, fc.nat(), async (plain, requestSeed) => {
      runs += 1;
      const store = { ...plain, files: withAnomalies(plain.files) };
      const { settings, as_of: asOf, files } = store;
      const tenant = await createStore(service, { ...settings, asOf, files });
      const asked = requestsFor(store, requestSeed).map(({ path, params }) => ({
        path,
        params: textParams(params),
      }));
      await assertMoves(tenant, asked);
    }),
    { seed, numRuns: 2, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: false },
  );
});

test("a demo store, all endpoints, lists and entities", async () => {
  const tenant = await createStoreTenant(service, USUAL_SETTINGS);
  const folder = makeFolder();
  await writeDemoStore({ folder, today: "2026-11-21", orders: 800, months: 14 });
  await importFolder({
    database: service.installation.database,
    actor: OPERATOR,
    shopKey: tenant.shopKey,
    currencyCode: USUAL_SETTINGS.currency_code,
    folder,
    asOf: new Date("2026-11-21T06:00:00Z"),
    now: new Date("2026-11-21T06:00:00Z"),
    skipInvalid: false,
  });
  const asked = await requestsOf(service, tenant);
  assert.ok(asked.length > 100);
  await assertMoves(tenant, asked);
});

const AS_OF = "2026-06-01T00:00:00Z";
const HOSTILE = '=2+2, "odd" 🧦 <b>';

const OPTIONS = {
  option1_name: " Size",
  option1_value: "M",
  // No option of this variant.
  option2_name: "Length",
  option3_name: "Colour",
  option3_value: 'Red, "odd"',
};

const PICTURED = { image_url: "https://images.example/hat-red.png" };

const EVERYTHING: StoreFiles = {
  products: [
    { product_id: "p1", title: HOSTILE, vendor: "Acme, Ltd", family: "Tops" },
    { product_id: "gid://shop/Product/2", title: "Shoe", analytics_category: "Feet" },
  ],
  variants: [
    { variant_id: "v1", product_id: "p1", sku: "HAT;1", unit_cost: "4.05", ...PICTURED, ...OPTIONS },
    { variant_id: "v2", product_id: "p1", sku: "HAT-U", condition: "used", counterpart_sku: "HAT;1" },
    { variant_id: "v3", product_id: "gid://shop/Product/2", sku: " SHOE " },
  ],
  order_lines: [
    { order_id: "o1", line_id: "l1", ordered_at: "2026-01-05T10:00:00Z", variant_id: "v1", units: 5 },
    { order_id: "o1", line_id: "l2", ordered_at: "2026-01-05T10:00:00Z", variant_id: "v2", units: 2 },
    { order_id: "o2", line_id: "l1", ordered_at: "2026-02-05T23:59:59.999+14:00", sku: "LOOSE", units: 3 },
    { order_id: "o3", line_id: "l1", ordered_at: "2026-02-06T00:00:00Z", variant_id: "v3", units: 4 },
    { order_id: "o4", line_id: "l1", ordered_at: "2026-02-07T00:00:00Z", variant_id: "v1", units: 1 },
  ],
  returns: [
    {
      return_id: "r1",
      order_id: "o1",
      line_id: "l1",
      status: "CLOSED",
      units: 3,
      processed_units: 2,
      closed_at: "2026-01-20T00:00:00Z",
      reason: HOSTILE,
    },
    { return_id: "r2", order_id: "o2", line_id: "l1", status: "OPEN", units: 1 },
    { return_id: "r3", order_id: "o3", line_id: "l1", status: "DECLINED", units: 1 },
  ],
  refunds: [
    {
      refund_id: "f1",
      order_id: "o1",
      line_id: "l1",
      refunded_at: "2026-01-21T00:00:00Z",
      units: 1,
      subtotal: "5.00",
      restock_type: "RETURN",
      return_id: "r1",
    },
    {
      refund_id: "f2",
      order_id: "o1",
      line_id: "l1",
      refunded_at: "2026-01-22T00:00:00Z",
      units: 0,
      subtotal: "0.5",
    },
    {
      refund_id: "f3",
      order_id: "o3",
      line_id: "l1",
      refunded_at: "2026-02-22T00:00:00Z",
      units: 4,
      subtotal: "12",
      restock_type: "CANCEL",
    },
  ],
  return_labels: [
    { label_id: "b1", return_id: "r1", charged_at: "2026-01-15T00:00:00Z", amount: "4.99" },
    { label_id: "b2", order_id: "nowhere", charged_at: "2026-01-16T00:00:00Z", amount: "3.99" },
    {
      label_id: "b3",
      order_id: "o1",
      charged_at: "2026-01-17T00:00:00Z",
      amount: "-1",
      voided_at: "2026-01-18T00:00:00Z",
    },
    {
      label_id: "b4",
      charged_at: "2026-01-19T00:00:00Z",
      amount: "120",
      currency: "JPY",
      voided_at: "2026-01-20T00:00:00Z",
    },
  ],
  sale_events: [{ slug: "winter", label: HOSTILE, starts_on: "2026-01-01", ends_on: "2026-01-31" }],
};

test("deleted rows, used variants, labels of all sorts, partial refunds, SKUs with separators", async () => {
  const tenant = await createStore(service, { ...USUAL_SETTINGS, asOf: AS_OF, files: EVERYTHING });
  const { shopKey } = tenant;
  const later: StoreFiles = {
    order_lines: [
      { order_id: "o4", line_id: "l1", deleted: true },
      // Fewer units than were refunded before.
      { order_id: "o3", line_id: "l1", ordered_at: "2026-02-06T00:00:00Z", variant_id: "v3", units: 2 },
    ] as never,
  };
  await importStore(service, tenant, { asOf: AS_OF, files: later });
  await service.database.query(
    `insert into sale_event (shop_key, slug, label, starts_on, ends_on, skus)
     values ($1, 'listed', 'Listed', '2026-02-01', '2026-02-10', '{"HAT;1"," SHOE ","LOOSE"}')`,
    [shopKey],
  );
  const { rows: options } = await service.database.query(
    "select options from variant where shop_key = $1 and options <> '[]'",
    [shopKey],
  );
  assert.deepEqual(options, [
    {
      options: [
        { name: "Size", value: "M" },
        { name: "Colour", value: 'Red, "odd"' },
      ],
    },
  ]);
  const asked = await requestsOf(service, tenant);
  const ofEvents = ["winter", "listed"].map((saleEvent) => ({
    path: "/api/v1/report",
    params: { start_month: "2026-01", end_month: "2026-05", include_incomplete: "true", saleEvent },
  }));
  await assertMoves(tenant, [...asked, ...ofEvents]);
  await withExport(service.installation.database, tenant.shopDomain, async (folder) => {
    const files = await filesOf(join(folder, "store"));
    assert.match(
      files["variants.csv"] ?? "",
      /^v1,.*,https:\/\/images\.example\/hat-red\.png,Size,M,Colour,"Red, ""odd""",,\r$/mu,
    );
    assert.match(files["refunds.csv"] ?? "", /^f3,o3,.*,true\r$/mu);
    assert.match(files["sale_events.csv"] ?? "", /"\[""HAT;1"","" SHOE "",""LOOSE""\]"/u);
    assert.doesNotMatch(files["order_lines.csv"] ?? "", /^o4,/mu);
  });
});
