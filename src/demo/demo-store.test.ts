import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { writeDemoStore } from "./demo-store.ts";
import type { DemoStoreSummary } from "./demo-store.ts";
import { countLines, rateOf, readImportFolder } from "../../tests/support/import-counting.ts";
import type { CountedLine, ReadFolder } from "../../tests/support/import-counting.ts";

const TODAY = "2026-11-21";

const root = await mkdtemp(join(tmpdir(), "demo-store-"));
let summary: DemoStoreSummary;
let folder: ReadFolder;
let lines: CountedLine[];

before(async () => {
  summary = await writeDemoStore({ folder: join(root, "first"), today: TODAY });
  folder = await readImportFolder(join(root, "first"));
  lines = countLines(folder);
});

after(() => rm(root, { recursive: true }));

const hashOf = async (path: string) =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
const hashesOf = async (name: string) => {
  const files = (await readdir(join(root, name))).toSorted();
  return Promise.all(files.map(async (file) => `${file} ${await hashOf(join(root, name, file))}`));
};
const shareOf = <Row>(rows: readonly Row[], holds: (row: Row) => boolean) =>
  rows.filter(holds).length / rows.length;

test("the same seed and day give the same bytes, another seed another shop", async () => {
  await writeDemoStore({ folder: join(root, "again"), today: TODAY });
  assert.deepEqual(await hashesOf("again"), await hashesOf("first"));
  await writeDemoStore({ folder: join(root, "other"), today: TODAY, seed: 5 });
  const hashes = await hashesOf("first");
  for (const [index, hash] of (await hashesOf("other")).entries()) assert.notEqual(hash, hashes[index]);
});

test("another day moves the store's history and keeps its catalogue and size", async () => {
  const later = await writeDemoStore({ folder: join(root, "later"), today: "2027-02-03" });
  assert.equal(later.firstDay, "2025-02-01");
  assert.equal(later.lastDay, "2027-02-02");
  assert.equal(later.badBatch.cohortMonth, "2026-12");
  assert.equal(later.orders, summary.orders);
  assert.equal(
    await hashOf(join(root, "later", "variants.csv")),
    await hashOf(join(root, "first", "variants.csv")),
  );
});

test("a store of another size has that many months and orders", async () => {
  const size = { months: 6, orders: 900, breadth: 2, today: TODAY };
  const small = await writeDemoStore({ folder: join(root, "small"), ...size });
  assert.equal(small.firstDay, "2026-05-01");
  assert.equal(small.orders, 900);
  const { products, variants } = await readImportFolder(join(root, "small"));
  assert.ok(small.products > 1.9 * summary.products);
  assert.equal(new Set(products.map((row) => row.product_id)).size, small.products);
  assert.equal(new Set(variants.map((row) => row.sku)).size, small.skus);
});

test("progress runs up to all orders", async () => {
  const seen: [number, number][] = [];
  const onProgress = (done: number, total: number) => void seen.push([done, total]);
  const { orders } = await writeDemoStore({ folder: join(root, "progress"), today: TODAY, onProgress });
  assert.deepEqual(seen.at(-1), [orders, orders]);
  assert.ok(seen.length > 100);
  assert.deepEqual(
    seen.map(([done]) => done).toSorted((left, right) => left - right),
    seen.map(([done]) => done),
  );
});

test("a day that does not exist is refused before anything is written", async () => {
  await assert.rejects(writeDemoStore({ folder: join(root, "never"), today: "2026-02-30" }), /2026-02-30/);
  assert.ok(!(await readdir(root)).includes("never"));
});

test("the summary tells the size of the files, and the store is large enough", () => {
  assert.equal(summary.orders, new Set(folder.order_lines.map((row) => row.order_id)).size);
  assert.equal(summary.orderLines, folder.order_lines.length);
  assert.equal(summary.skus, new Set(folder.variants.map((row) => row.sku)).size);
  assert.equal(summary.products, folder.products.length);
  assert.deepEqual(
    [summary.returns, summary.refunds, summary.returnLabels],
    [folder.returns.length, folder.refunds.length, folder.return_labels.length],
  );
  assert.ok(summary.orders >= 30_000);
  assert.ok(summary.orderLines >= 45_000 && summary.orderLines <= 60_000);
  assert.ok(summary.skus >= 400);
});

test("demand grows and peaks before Christmas, dresses in summer", () => {
  const sold = (...months: string[]) =>
    rateOf(lines.filter((line) => months.includes(line.orderedOn.slice(0, 7)))).sold;
  assert.ok(sold("2025-12") > 1.3 * sold("2025-10"));
  assert.ok(sold("2026-06") > 1.15 * sold("2025-06"));
  const dresses = new Set(
    folder.products.filter((row) => row.family === "Dresses").map((row) => row.product_id),
  );
  const dressShare = (month: string) => {
    const inMonth = lines.filter((line) => line.orderedOn.startsWith(month));
    return shareOf(inMonth, (line) => dresses.has(line.productId));
  };
  assert.ok(dressShare("2026-07") > 1.8 * dressShare("2026-01"));
});

test("M6: return rates differ by kind of goods and are highest at extreme sizes", () => {
  const categories = new Map(folder.products.map((row) => [row.product_id, row.analytics_category]));
  const rate = (start: string, skuEnd = /./) =>
    rateOf(lines.filter((line) => categories.get(line.productId)?.startsWith(start) && skuEnd.test(line.sku)))
      .rate;
  const between = (low: number, value: number, high: number) =>
    assert.ok(value > low && value < high, String(value));
  between(0.26, rate("Apparel > Dresses"), 0.34);
  between(0.16, rate("Shoes"), 0.24);
  between(0.04, rate("Home > Textiles"), 0.09);
  assert.ok(rate("Apparel > Dresses", /-(XS|XXL)$/) > 1.2 * rate("Apparel > Dresses", /-(S|M|L|XL)$/));
});

test("M3: most units come back after 5 to 25 days, and some after 90", () => {
  const lags = lines.flatMap((line) => line.returned.map(({ lagDays }) => lagDays));
  assert.ok(shareOf(lags, (lag) => lag >= 5 && lag <= 25) > 0.85);
  const late = shareOf(lags, (lag) => lag > 90);
  assert.ok(late > 0.005 && late < 0.04, String(late));
  assert.ok(lags.every((lag) => lag >= 0));
});

test("sale events sell more than the days before, and more of it comes back", () => {
  assert.equal(folder.sale_events.length, 2);
  for (const event of folder.sale_events) {
    const skus = event.skus.split(";").filter(Boolean);
    const days = (Date.parse(event.ends_on) - Date.parse(event.starts_on)) / 86_400_000 + 1;
    const priorStart = new Date(Date.parse(event.starts_on) - days * 86_400_000).toISOString().slice(0, 10);
    const inScope = lines.filter((line) => skus.length === 0 || skus.includes(line.sku));
    const prior = rateOf(
      inScope.filter((line) => line.orderedOn >= priorStart && line.orderedOn < event.starts_on),
    );
    const during = rateOf(
      inScope.filter((line) => line.orderedOn >= event.starts_on && line.orderedOn <= event.ends_on),
    );
    assert.ok(during.sold > 1.8 * prior.sold, `${event.slug}: ${during.sold} against ${prior.sold}`);
    assert.ok(during.rate > 1.1 * prior.rate, `${event.slug}: ${during.rate} against ${prior.rate}`);
  }
});
