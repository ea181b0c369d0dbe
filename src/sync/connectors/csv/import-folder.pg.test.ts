import assert from "node:assert/strict";
import { test } from "node:test";
import { figuresInside } from "../../../../tests/support/inside.ts";
import { csv, startImportWorkspace, type FolderFiles } from "../../../../tests/support/import-workspace.ts";
import { countLockWaits } from "../../../../tests/support/locks.ts";
import { openTestPool } from "../../../../tests/support/service.ts";
import { eventually } from "../../../../tests/support/worker.ts";
import type { ImportWarning } from "./problems.ts";
import { use } from "../../../../tests/support/use.ts";

const STORE: FolderFiles = {
  "products.csv": csv(
    "product_id,title,vendor,family,analytics_category",
    "p1,Crème Jacket,Nordwind,Outerwear,Jackets",
    "gid://shopify/Product/2,Shirt,,Tops,",
  ),
  "variants.csv": csv(
    "variant_id,product_id,sku,condition,counterpart_sku,unit_cost",
    "v1,p1,JACKET,new,,20.00",
    "v2,p1,JACKET-USED,used,JACKET,5.00",
    "v3,gid://shopify/Product/2,SHIRT,,,",
  ),
  "order_lines.csv": csv(
    "order_id,line_id,ordered_at,product_id,variant_id,sku,title,units,unit_price,test,canceled_at,removed_units",
    "o1,l1,2026-01-05T10:00:00Z,,v1,,,3,50.00,,,",
    "o1,l2,2026-01-05T10:00:00Z,,,SHIRT,,2,10.00,,,1",
    "o2,l1,2026-01-31T23:30:00-01:00,p1,v2,,,1,15.00,,,",
    "o3,l1,2026-02-03T10:00:00Z,p9,,CAP,Cap,4,5.00,,,",
    "o4,l1,2026-02-04T10:00:00Z,,v1,,,9,50.00,true,,",
    "o5,l1,2026-02-05T10:00:00Z,,v1,,,9,50.00,,2026-02-06T00:00:00Z,",
  ),
  "returns.csv": csv(
    "return_id,order_id,line_id,status,units,processed_units,requested_at,closed_at,reason",
    "r1,o1,l1,CLOSED,2,1,2026-01-08T00:00:00Z,2026-01-20T00:00:00Z,too small",
    "r2,o3,l1,OPEN,1,,,,",
  ),
  "refunds.csv": csv(
    "refund_id,order_id,line_id,refunded_at,units,subtotal,restock_type,return_id",
    "f1,o1,l1,2026-01-21T00:00:00Z,1,50.00,RETURN,r1",
    "f2,o2,l1,2026-03-15T00:00:00Z,1,15.00,,",
  ),
  "return_labels.csv": csv(
    "label_id,order_id,return_id,charged_at,amount",
    "b1,,r1,2026-01-09T00:00:00Z,4.50",
    "b2,o9,,2026-01-09T00:00:00Z,3.00",
  ),
  "sale_events.csv": csv(
    "slug,label,starts_on,ends_on,skus",
    "winter,Winter sale,2026-01-01,2026-01-31,JACKET; CAP;",
  ),
};

const shop = use(startImportWorkspace);

test("a first import counts its rows, makes the workspace ready and says where its data is from", async () => {
  const shopKey = await shop.open();
  const result = await shop.import(shopKey, STORE);
  assert.equal(result.imported, true);
  assert.deepEqual(result.counts, {
    products: 2,
    variants: 3,
    order_lines: 6,
    orders: 5,
    returns: 2,
    refunds: 2,
    return_labels: 2,
    sale_events: 1,
    deleted_rows: 0,
    changed_orders: 5,
    unchanged_orders: 0,
  });
  assert.deepEqual(result.changed_months, ["2026-01", "2026-02"]);
  assert.deepEqual(
    result.warnings.map(({ kind, count }) => `${kind} ${count}`),
    ["unmatched_label 1", "old_orders null"],
  );
  assert.deepEqual(await shop.state(shopKey), {
    readiness: "ready",
    data_version: 1,
    data_as_of: new Date("2026-06-01T00:00:00Z"),
  });
  const sources = await shop.rows(
    `select source, kind, status, currency_code, last_synced_at, last_error from data_source
      where shop_key = $1 order by source`,
    [shopKey],
  );
  const run = { status: "ok", last_synced_at: new Date("2026-06-01T00:00:00Z"), last_error: null };
  assert.deepEqual(sources, [
    { source: "csv", kind: "store", currency_code: null, ...run },
    { source: "csv_labels", kind: "label_cost", currency_code: "EUR", ...run },
  ]);
});

test("M1, M2, M4, M9, M10, M13: the facts add up to the cohort rows of every window", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, STORE);
  const rows = await shop.rows([30, "lifetime" as const].map(figuresInside).join(" union all "), [shopKey]);
  const figures = Object.fromEntries(rows.map((row) => [row["row"] as string, row["figures"]]));
  const jacket = [3, 1, 1, 1, 2000, 3, 1, 5000, 450];
  const none = (sold: number, costed = 0) => [sold, 0, 0, 0, 0, costed, 0, 0, 0];
  const usedLater = [1, 1, 1, 0, 0, 1, 1, 1500, 0];
  assert.deepEqual(figures["sku:JACKET 30d 2026-01"], jacket);
  assert.deepEqual(figures["product:gid://import/Product/p1 30d 2026-01"], jacket);
  assert.deepEqual(figures["sku:SHIRT lifetime 2026-01"], none(1));
  assert.deepEqual(figures["product:gid://shopify/Product/2 lifetime 2026-01"], none(1));
  // 23:30 at −01:00 is the next day, the first of February.
  assert.deepEqual(figures["sku:JACKET-USED 30d 2026-02"], none(1, 1));
  assert.deepEqual(figures["product_used:gid://import/Product/p1 lifetime 2026-02"], usedLater);
  assert.equal(figures["product:gid://import/Product/p1 lifetime 2026-02"], undefined);
  assert.deepEqual(figures["family:Outerwear lifetime 2026-02"], usedLater);
  assert.deepEqual(figures["analytics_category:Jackets lifetime 2026-01"], jacket);
  assert.deepEqual(figures["sku:CAP lifetime 2026-02"], none(4));
  assert.deepEqual(figures["workspace: 30d 2026-01"], [4, 1, 1, 1, 2000, 3, 1, 5000, 450]);
  assert.deepEqual(figures["workspace: lifetime 2026-02"], [5, 1, 1, 0, 0, 1, 1, 1500, 0]);
});

test("sale events keep their SKUs, each once, separated by semicolons; none are the whole workspace", async () => {
  const shopKey = await shop.open();
  const events = csv(
    "slug,label,starts_on,ends_on,skus",
    'q,Quotes,2026-01-01,2026-01-02,"A ""b"";C\\,d; A ""b"""',
    "all,All,2026-01-01,2026-01-01,",
  );
  await shop.import(shopKey, { ...STORE, "sale_events.csv": events });
  const rows = await shop.rows(
    "select slug, skus, starts_on from sale_event where shop_key = $1 order by slug",
    [shopKey],
  );
  assert.deepEqual(rows, [
    { slug: "all", skus: null, starts_on: "2026-01-01" },
    { slug: "q", skus: ['A "b"', "C\\,d"], starts_on: "2026-01-01" },
  ]);
});

test("the same folder twice changes no row; the version moves with the as-of, which may go back", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, STORE);
  const first = await shop.dump(shopKey);
  assert.equal((await shop.import(shopKey, STORE)).data_version, 1);
  const back = new Date("2026-05-01T00:00:00Z");
  const again = await shop.import(shopKey, STORE, { asOf: back });
  assert.deepEqual([again.counts.changed_orders, again.counts.unchanged_orders], [0, 5]);
  assert.deepEqual(again.changed_months, []);
  assert.equal(again.data_version, 2);
  assert.deepEqual(await shop.dump(shopKey), first);
  const [row] = await shop.rows(
    `select w.data_as_of, s.last_synced_at, (select count(*) from alert a where a.shop_key = $1) as alerts,
            (select count(*) from audit_event a where a.shop_key = $1) as audits
       from workspace w join data_source s using (shop_key) where w.shop_key = $1 and s.source = 'csv'`,
    [shopKey],
  );
  assert.deepEqual(row, { data_as_of: back, last_synced_at: back, alerts: 1, audits: 3 });
  // Months as an earlier version of the service rolls them up during an upgrade: cached answers are of these.
  await shop.rows(
    "update cohort set orders = null where shop_key = $1 and entity_kind = 'workspace' returning 1 as changed",
    [shopKey],
  );
  assert.equal((await shop.import(shopKey, STORE, { asOf: back })).data_version, 3);
  assert.deepEqual(await shop.dump(shopKey), first);
});

test("an import that changed something raises one backfill_completed alert", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, STORE);
  const changed = csv("order_id,line_id,ordered_at,units", "o6,l1,2026-04-01T00:00:00Z,1");
  await shop.import(shopKey, { "order_lines.csv": changed });
  await shop.import(shopKey, {
    "sale_events.csv": csv("slug,label,starts_on,ends_on", "may,May sale,2026-05-01,2026-05-02"),
  });
  const alerts = await shop.rows(
    `select event_key, category, severity, recipient, body, metadata from alert where shop_key = $1 order by alert_id`,
    [shopKey],
  );
  const common = { category: "backfill_completed", severity: "info", recipient: null };
  const alert = (version: number, orders: number, body: string) => {
    return { event_key: `backfill:csv:${version}`, ...common, body, metadata: { source: "csv", orders } };
  };
  assert.deepEqual(alerts, [
    alert(1, 5, "5 orders were new or changed."),
    alert(2, 1, "1 order was new or changed."),
    alert(3, 0, "No order changed; other data did, such as products, labels or sale events."),
  ]);
});

test("a later folder updates rows by their keys and touches only the months they were and are in", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, STORE);
  const moved = csv(
    "order_id,line_id,ordered_at,sku,title,product_id,units",
    "o3,l1,2026-04-03T10:00:00Z,CAP,Cap,p9,2",
  );
  const result = await shop.import(shopKey, { "order_lines.csv": moved });
  assert.deepEqual(result.changed_months, ["2026-02", "2026-04"]);
  const rows = await shop.rows(
    `select to_char(cohort_month, 'YYYY-MM') as month, sold_units from cohort
      where shop_key = $1 and entity_kind = 'sku' and entity_key = 'CAP'`,
    [shopKey],
  );
  assert.deepEqual(rows, [{ month: "2026-04", sold_units: 2 }]);
  const requests = await shop.rows(
    "select return_id from return_request where shop_key = $1 and order_id = 'o3'",
    [shopKey],
  );
  assert.deepEqual(requests, [{ return_id: "r2" }]);
});

test("of rows with one key the later one counts, with a warning", async () => {
  const shopKey = await shop.open();
  const files = {
    "order_lines.csv": csv(
      "order_id,line_id,ordered_at,units",
      "o1,l1,2026-01-05T10:00:00Z,7",
      "o2,l1,2026-01-05T10:00:00Z,1",
      "o1,l1,2026-01-05T10:00:00Z,3",
    ),
  };
  const result = await shop.import(shopKey, files, { asOf: new Date("2026-01-06T00:00:00Z") });
  assert.deepEqual(
    result.warnings.map(({ kind, file, count }) => [kind, file, count]),
    [["repeated_row", "order_lines.csv", 1]],
  );
  const [row] = await shop.rows("select sum(sold_units) as sold from order_line where shop_key = $1", [
    shopKey,
  ]);
  assert.deepEqual(row, { sold: 4 });
});

test("any file is imported by itself; one by one, labels before returns and the catalogue after the lines, they give the rows of one folder", async () => {
  const atOnce = await shop.open();
  await shop.import(atOnce, STORE);
  const oneByOne = await shop.open();
  const { "order_lines.csv": lines, "return_labels.csv": labels, "returns.csv": returns, ...others } = STORE;
  const files = {
    "order_lines.csv": lines,
    "return_labels.csv": labels,
    ...others,
    "returns.csv": returns,
  } as FolderFiles;
  for (const [name, text] of Object.entries(files)) {
    assert.equal((await shop.import(oneByOne, { [name]: text })).imported, true, name);
  }
  assert.deepEqual(await shop.dump(oneByOne), await shop.dump(atOnce));
});

test("two imports of one shop at the same time come one after the other", async () => {
  const together = await shop.open();
  await Promise.all([shop.import(together, STORE), shop.import(together, STORE)]);
  const alone = await shop.open();
  await shop.import(alone, STORE);
  assert.deepEqual(await shop.dump(together), await shop.dump(alone));
});

test("an import that is interrupted at any stage leaves the previous data", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, { "order_lines.csv": STORE["order_lines.csv"] ?? "" });
  const previous = await shop.dump(shopKey);
  for (const stage of ["products.csv", "order_lines.csv", "sale_events.csv", "orders", "labels", "cohorts"]) {
    const onProgress = (progress: { stage: string }): void => {
      if (progress.stage === stage) throw new Error(`stopped at ${stage}`);
    };
    await assert.rejects(shop.import(shopKey, STORE, { onProgress }), { message: `stopped at ${stage}` });
    assert.deepEqual(await shop.dump(shopKey), previous);
  }
  assert.equal((await shop.state(shopKey)).data_version, 1);
});

test("a server that ends the import's connection leaves the previous data, and the next import works", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, { "order_lines.csv": STORE["order_lines.csv"] ?? "" });
  const previous = await shop.dump(shopKey);
  const pool = openTestPool(shop.url);
  const holder = await pool.connect();
  await holder.query("begin; lock table listing in access exclusive mode");
  const refused = assert.rejects(shop.import(shopKey, STORE));
  await eventually(async () => (await countLockWaits(pool)) > 0, "the import waits, and cannot end");
  await pool.query(
    "select pg_terminate_backend(a.pid) from pg_locks l join pg_stat_activity a using (pid) where l.locktype = 'advisory' and a.datname = current_database()",
  );
  await refused;
  holder.release(true);
  await pool.end();
  assert.deepEqual(await shop.dump(shopKey), previous);
  assert.equal((await shop.import(shopKey, STORE)).imported, true);
});

test("imports of one shop do not touch the rows of another", async () => {
  const quiet = await shop.open();
  await shop.import(quiet, STORE);
  const previous = await shop.dump(quiet);
  const busy = await shop.open("JPY");
  await shop.import(busy, {
    "order_lines.csv": csv("order_id,line_id,ordered_at,sku,units", "o1,l1,2026-01-05T10:00:00Z,JACKET,99"),
  });
  assert.deepEqual(await shop.dump(quiet), previous);
});

const HEADER = "order_id,line_id,ordered_at,units";

const OLD = {
  "order_lines.csv": csv(HEADER, "o1,l1,2025-12-20T10:00:00Z,1", "o2,l1,2026-01-05T23:59:59Z,2"),
};

const SEVEN_DAYS_LATER = new Date("2026-01-12T23:59:59Z");
const EIGHT_DAYS_LATER = new Date("2026-01-13T00:00:00Z");

const oldOrders = (warnings: readonly ImportWarning[]): ImportWarning[] =>
  warnings.filter(({ kind }) => kind === "old_orders");

test("M5: orders that end 8 days before the as-of are reported with day, as-of, consequence and option; 7 days are not", async () => {
  const shopKey = await shop.open();
  const recent = await shop.import(shopKey, OLD, { asOf: SEVEN_DAYS_LATER });
  assert.deepEqual(oldOrders(recent.warnings), []);
  const { imported, warnings } = await shop.import(shopKey, OLD, { asOf: EIGHT_DAYS_LATER });
  assert.equal(imported, true);
  assert.deepEqual(oldOrders(warnings), [
    {
      kind: "old_orders",
      file: null,
      message:
        "the newest order is from 2026-01-05, 8 days before the as-of 2026-01-13: months without " +
        "orders look complete and leaderboards rank empty months; if the files end there, import them again with " +
        "--as-of 2026-01-06",
      count: null,
    },
  ]);
});

test("the advice is followed without another warning", async () => {
  const shopKey = await shop.open();
  const { warnings } = await shop.import(shopKey, OLD);
  const [, day = ""] = /--as-of (\S+)$/u.exec(oldOrders(warnings)[0]?.message ?? "") ?? [];
  const again = await shop.import(shopKey, OLD, { asOf: new Date(`${day}T00:00:00Z`) });
  assert.deepEqual(oldOrders(again.warnings), []);
});

test("a correction of an old order raises no warning if the workspace has newer ones", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, { "order_lines.csv": csv(HEADER, "o9,l1,2026-01-10T10:00:00Z,1") });
  const corrected = await shop.import(shopKey, OLD, { asOf: EIGHT_DAYS_LATER });
  assert.deepEqual(oldOrders(corrected.warnings), []);
});

const LINES = {
  "order_lines.csv": csv("order_id,line_id,ordered_at,sku,units", "o1,l1,2026-01-05T10:00:00Z,HAT,3"),
};

const RETURNS = {
  "returns.csv": csv(
    "return_id,order_id,line_id,status,units,closed_at",
    "r1,o1,l1,CLOSED,1,2026-01-09T00:00:00Z",
  ),
};

const LABELS = {
  "return_labels.csv": csv("label_id,return_id,charged_at,amount", "b1,r1,2026-01-08T00:00:00Z,4.00"),
};

const PRODUCTS = { "products.csv": csv("product_id,title", "p1,Hat") };
const VARIANTS = { "variants.csv": csv("variant_id,product_id,sku,unit_cost", "v1,p1,HAT,2.50") };

test("a folder without order lines corrects what it names; the as-of stays, which only order lines move", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, { ...LINES, ...RETURNS, ...LABELS });
  const old = await shop.state(shopKey);
  const corrected = {
    "return_labels.csv": csv("label_id,return_id,charged_at,amount", "b1,r1,2026-01-08T00:00:00Z,6.50"),
  };
  const result = await shop.import(shopKey, corrected, { asOf: new Date("2026-06-20T00:00:00Z") });
  assert.equal(result.counts.return_labels, 1);
  assert.deepEqual(result.warnings, []);
  const shares = await shop.rows("select label_minor from label_share where shop_key = $1", [shopKey]);
  assert.deepEqual(shares, [{ label_minor: 650 }]);
  assert.deepEqual(await shop.state(shopKey), { ...old, data_version: 2 });
  const [source] = await shop.rows(
    "select last_synced_at from data_source where shop_key = $1 and source = 'csv_labels'",
    [shopKey],
  );
  assert.deepEqual(source, { last_synced_at: new Date("2026-06-20T00:00:00Z") });
});

test("a catalogue alone does not make a workspace ready: it has no orders to answer from", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, { ...PRODUCTS, ...VARIANTS });
  assert.deepEqual(await shop.state(shopKey), { readiness: "installing", data_as_of: null, data_version: 1 });
  assert.equal((await shop.import(shopKey, LINES)).imported, true);
  assert.equal((await shop.state(shopKey)).readiness, "ready");
});

test("files with headers only import nothing, move no as-of and make no workspace ready", async () => {
  const headers = Object.fromEntries(
    Object.entries(STORE).map(([name, text]) => [name, `${String(text).split("\n")[0]}\n`]),
  );
  const empty = await shop.open();
  assert.equal((await shop.import(empty, headers)).imported, false);
  assert.deepEqual(await shop.state(empty), { readiness: "installing", data_as_of: null, data_version: 0 });
  const filled = await shop.open();
  await shop.import(filled, LINES);
  const old = [await shop.state(filled), await shop.dump(filled)];
  const result = await shop.import(filled, headers, { asOf: new Date("2026-06-20T00:00:00Z") });
  assert.deepEqual([result.imported, result.invalid_count, result.data_version], [false, 0, 1]);
  assert.deepEqual([await shop.state(filled), await shop.dump(filled)], old);
});

test("a folder without a usable row imports nothing, even when unusable rows may be left out", async () => {
  const shopKey = await shop.open();
  const bad = { "order_lines.csv": csv("order_id,line_id,ordered_at,units", "o1,l1,never,1") };
  const result = await shop.import(shopKey, bad, { skipInvalid: true });
  assert.deepEqual([result.imported, result.invalid_count], [false, 1]);
  assert.equal((await shop.state(shopKey)).readiness, "installing");
});

test("a workspace has at most 1,000 sale events and 16 MiB of SKUs in them: every report lists them", async () => {
  const shopKey = await shop.open();
  const events = (first: number, count: number, skus = "") => ({
    "sale_events.csv": csv(
      "slug,label,starts_on,ends_on,skus",
      ...Array.from({ length: count }, (_, at) => `s${first + at},Sale,2026-01-01,2026-01-02,${skus}`),
    ),
  });
  const refuses = (first: number, count: number, skus: string, message: RegExp) =>
    assert.rejects(shop.import(shopKey, events(first, count, skus)), { name: "ImportError", message });
  const tooMany =
    /^sale_events\.csv: a workspace may have at most 1,000 sale events: remove some, with the column deleted$/u;
  await refuses(0, 1001, "", tooMany);
  await shop.import(shopKey, events(0, 990));
  await refuses(990, 11, "", tooMany);
  const tooLong = /^sale_events\.csv: a workspace may have at most 16 MiB of skus in its sale events: /u;
  const long = "a".repeat(900_000);
  const first = "shop_key = $1 and substr(slug, 2)::integer < 17";
  await shop.rows(`update sale_event set skus = array[$2::text] where ${first}`, [shopKey, long]);
  await shop.import(shopKey, events(990, 1, long));
  await refuses(991, 1, long, tooLong);
  await shop.import(shopKey, events(0, 1000));
  assert.equal((await shop.dump(shopKey))["sale_event"]?.length, 1000);
});
