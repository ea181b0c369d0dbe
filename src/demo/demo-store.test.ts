import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { DEMO_STORE } from "./demo-store-facts.ts";
import { writeDemoStore } from "./demo-store.ts";
import type { DemoStoreSummary } from "./demo-store.ts";
import { countLines, rateOf, readImportFolder } from "../../tests/support/import-counting.ts";
import type { CountedLine, ReadFolder } from "../../tests/support/import-counting.ts";
import { makeFolder } from "../../tests/support/folder.ts";

const TODAY = "2026-11-21";

const root = makeFolder();
let summary: DemoStoreSummary;
let folder: ReadFolder;
let lines: CountedLine[];

/** By its day, each written once. */
const others = new Map<string, Promise<DemoStoreSummary>>();

function storeOn(today: string, seed = 20): Promise<DemoStoreSummary> {
  const store = others.get(today) ?? writeDemoStore({ folder: join(root, today), today, seed });
  others.set(today, store);
  return store;
}

const progress: [done: number, total: number][] = [];

before(async () => {
  const onProgress = (done: number, total: number) => void progress.push([done, total]);
  summary = await writeDemoStore({ folder: join(root, "first"), today: TODAY, onProgress });
  folder = await readImportFolder(join(root, "first"));
  lines = countLines(folder);
});

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

const pence = (amount: string) => Math.round(Number(amount) * 100);
const lineKey = (row: { order_id: string; line_id: string }) => `${row.order_id}/${row.line_id}`;
const count = <Row>(rows: readonly Row[], holds: (row: Row) => boolean) => rows.filter(holds).length;

/** Names the first row that breaks a rule, instead of one assertion per row. */
function everyRow<Row>(rows: readonly Row[], holds: (row: Row) => boolean, rule: string): void {
  const broken = rows.find((row) => !holds(row));
  assert.equal(broken, undefined, `${rule}: ${JSON.stringify(broken)}`);
}

test("the same seed and day give the same bytes, another seed another shop", async () => {
  const size = { months: 6, orders: 900, today: TODAY };
  await writeDemoStore({ folder: join(root, "once"), ...size });
  await writeDemoStore({ folder: join(root, "again"), ...size });
  const hashes = await hashesOf("once");
  assert.deepEqual(await hashesOf("again"), hashes);
  await writeDemoStore({ folder: join(root, "other"), ...size, seed: 5 });
  for (const [index, hash] of (await hashesOf("other")).entries()) assert.notEqual(hash, hashes[index]);
});

test("another day moves the store's history and keeps its catalogue and size", async () => {
  const today = "2027-03-02";
  const later = await storeOn(today);
  assert.equal(later.firstDay, "2025-03-01");
  assert.equal(later.lastDay, "2027-03-01");
  assert.equal(later.badBatch.cohortMonth, "2026-12");
  assert.equal(later.orders, summary.orders);
  const variants = (name: string) => hashOf(join(root, name, "variants.csv"));
  assert.equal(await variants(today), await variants("first"));
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

test("progress runs up to all orders", () => {
  const { orders } = summary;
  assert.deepEqual(progress.at(-1), [orders, orders]);
  assert.ok(progress.length > 100);
  const done = progress.map(([made]) => made);
  assert.deepEqual(
    done.toSorted((left, right) => left - right),
    done,
  );
});

test("a day that does not exist is refused before anything is written", async () => {
  await assert.rejects(writeDemoStore({ folder: join(root, "never"), today: "2026-02-30" }), /2026-02-30/);
  assert.ok(!(await readdir(root)).includes("never"));
});

test("the summary has the size of the files, and the store is large enough", () => {
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

test("a linked refund names a closed return of the same line and pays for what was accepted", () => {
  const returns = new Map(folder.returns.map((row) => [`${row.return_id} ${lineKey(row)}`, row]));
  const linked = folder.refunds.filter((row) => row.return_id !== "");
  const returnOf = (row: (typeof linked)[number]) => returns.get(`${row.return_id} ${lineKey(row)}`);
  everyRow(linked, (row) => returnOf(row)?.status === "CLOSED", "its return is closed");
  everyRow(
    linked,
    (row) => [row.units, ""].includes(returnOf(row)?.processed_units ?? "none"),
    "as many units as were processed",
  );
});

test("M2: return requests come in every state, closed ones with a time and sometimes fewer units", () => {
  const statuses = Map.groupBy(folder.returns, (row) => row.status);
  assert.deepEqual([...statuses.keys()].toSorted(), ["CANCELED", "CLOSED", "DECLINED", "OPEN", "REQUESTED"]);
  assert.ok((statuses.get("CLOSED")?.length ?? 0) > 0.85 * folder.returns.length);
  everyRow(
    folder.returns,
    (row) => (row.status === "CLOSED") === (row.closed_at !== ""),
    "only closed has closed_at",
  );
  const isPartial = (row: ReadFolder["returns"][number]) =>
    row.processed_units !== "" && Number(row.processed_units) < Number(row.units);
  assert.ok(count(folder.returns, isPartial) > 20);
  everyRow(folder.returns, (row) => Number(row.processed_units || row.units) > 0, "something was processed");
  assert.ok(count(folder.returns, (row) => row.reason === "") > 100);
  assert.ok(new Set(folder.returns.map((row) => row.reason)).size >= 7);
});

test("refunds come with and without returns and units, before and after fulfilment", () => {
  const { refunds } = folder;
  const types = new Set(refunds.map((row) => row.restock_type));
  assert.deepEqual([...types].toSorted(), ["", "CANCEL", "LEGACY_RESTOCK", "NO_RESTOCK", "RETURN"]);
  const goodwill = refunds.filter((row) => row.return_id === "" && row.restock_type !== "CANCEL");
  assert.ok(count(goodwill, (row) => row.units === "0" && pence(row.subtotal) > 0) > 50);
  assert.ok(count(goodwill, (row) => Number(row.units) > 0) > 50);
  const refundedReturns = new Set(refunds.map((row) => row.return_id));
  const settled = folder.returns.filter((row) => row.status === "CLOSED" && row.closed_at < "2026-11-01");
  assert.ok(
    count(settled, (row) => !refundedReturns.has(row.return_id)) > 200,
    "exchanges are never refunded",
  );
  const byKey = new Map(folder.order_lines.map((row) => [lineKey(row), row]));
  const isReduced = (row: ReadFolder["refunds"][number]) =>
    pence(row.subtotal) < pence(byKey.get(lineKey(row))?.unit_price ?? "") * Number(row.units);
  assert.ok(count(refunds, isReduced) > 100, "some refunds lack a restocking fee");
});

test("M1: some lines have no sales, or lack a SKU or a product", () => {
  const rows = folder.order_lines;
  assert.ok(count(rows, (row) => row.test === "true") > 20);
  assert.ok(count(rows, (row) => row.gift_card === "true") > 100);
  assert.ok(count(rows, (row) => row.canceled_at !== "") > 200);
  assert.ok(count(rows, (row) => Number(row.removed_units) > 0) > 100);
  assert.ok(count(rows, (row) => row.product_id !== "" && row.sku === "" && row.gift_card === "false") > 50);
  assert.ok(count(rows, (row) => row.product_id === "" && row.sku !== "") > 50);
  assert.ok(count(rows, (row) => row.product_id === "" && row.sku === "") > 50);
});

test("M10: labels cover most closed returns, and some are void or belong to nothing", () => {
  const labels = folder.return_labels;
  const returns = new Map(folder.returns.map((row) => [row.return_id, row]));
  const orders = new Set(folder.returns.map((row) => row.order_id));
  const closed = new Set(folder.returns.filter((row) => row.status === "CLOSED").map((row) => row.return_id));
  const closedOrders = new Set([...closed].map((id) => returns.get(id)?.order_id));
  const forClosed = labels.filter((row) =>
    row.return_id === "" ? closedOrders.has(row.order_id) : closed.has(row.return_id),
  );
  const coverage = forClosed.length / closed.size;
  assert.ok(coverage > 0.65 && coverage < 0.75, String(coverage));
  everyRow(labels, (row) => row.return_id === "" || returns.has(row.return_id), "a return is known");
  everyRow(
    labels,
    (row) => row.return_id === "" || ["", returns.get(row.return_id)?.order_id].includes(row.order_id),
    "its order is the return's",
  );
  assert.ok(count(labels, (row) => row.order_id === "" && row.return_id !== "") > 100);
  assert.ok(count(labels, (row) => orders.has(row.order_id) && row.return_id === "") > 100);
  assert.ok(count(labels, (row) => row.return_id === "" && !orders.has(row.order_id)) > 10);
  assert.ok(count(labels, (row) => row.voided_at !== "") > 50);
  everyRow(labels, (row) => row.voided_at === "" || row.voided_at > row.charged_at, "void after the charge");
  everyRow(
    labels,
    (row) => row.currency === DEMO_STORE.currency && pence(row.amount) > 0,
    "costs money of the shop",
  );
});

test("M14: used variants name a new SKU of their product, cost less, and are sold", () => {
  const bySku = new Map(folder.variants.map((row) => [row.sku, row]));
  const used = folder.variants.filter((row) => row.condition === "used");
  assert.ok(used.length >= 10, `${used.length} used variants`);
  everyRow(used, (row) => row.title.endsWith(" – Used"), "its title says so");
  everyRow(
    used,
    (row) => {
      const counterpart = bySku.get(row.counterpart_sku);
      return counterpart?.condition === "new" && counterpart.product_id === row.product_id;
    },
    "its counterpart is new",
  );
  const priceOf = new Map(folder.order_lines.map((row) => [row.sku, pence(row.unit_price)]));
  const soldUsed = used.filter((row) => priceOf.has(row.sku) && priceOf.has(row.counterpart_sku));
  assert.ok(soldUsed.length >= 10, `${soldUsed.length} used variants were sold`);
  everyRow(
    soldUsed,
    (row) => (priceOf.get(row.sku) ?? 0) < (priceOf.get(row.counterpart_sku) ?? 0),
    "it costs less",
  );
  assert.ok(count(folder.variants, (row) => row.unit_cost === "") > 0, "some costs are unknown");
});

const within = (days: number) => (returned: { lagDays: number }) => returned.lagDays <= days;
const sixMonthsBefore = (month: string) =>
  [6, 5, 4, 3, 2, 1].map((back) => {
    const start = new Date(`${month}-01T00:00:00Z`);
    start.setUTCMonth(start.getUTCMonth() - back);
    return start.toISOString().slice(0, 7);
  });

/** Lower end of the 95 % Wilson interval. */
function wilsonLow(returned: number, sold: number): number {
  const z = 1.96;
  const rate = returned / sold;
  const spread = z * Math.sqrt((rate * (1 - rate)) / sold + (z * z) / (4 * sold * sold));
  return (rate + (z * z) / (2 * sold) - spread) / (1 + (z * z) / sold);
}

function reasonShare(sold: readonly CountedLine[], reason: string): number {
  return rateOf(sold, (returned) => returned.reason === reason).returned / rateOf(sold).returned;
}

for (const { today, seed } of [
  { today: TODAY, seed: 20 },
  { today: "2027-03-02", seed: 20 },
  { today: "2025-06-30", seed: 3 },
]) {
  test(`M12, M16: on ${today} with seed ${seed} the bad batch is a spike and tops the month's ranking`, async () => {
    const isFirst = today === TODAY;
    const { badBatch, smallCut } = isFirst ? summary : await storeOn(today, seed);
    const sales = isFirst ? lines : countLines(await readImportFolder(join(root, today)));
    const inMonth = (month: string) => sales.filter((line) => line.orderedOn.startsWith(month));
    const mainSku = (month: string) => inMonth(month).filter((line) => line.sku === badBatch.sku);

    const earlier = sixMonthsBefore(badBatch.cohortMonth).map((month) => rateOf(mainSku(month), within(30)));
    for (const { sold } of earlier) assert.ok(sold >= 20, `${sold} units in a month before`);
    const soldBefore = earlier.reduce((total, { sold }) => total + sold, 0);
    const rateBefore = earlier.reduce((total, { returned }) => total + returned, 0) / soldBefore;
    const batchMonth = rateOf(mainSku(badBatch.cohortMonth), within(30));
    assert.ok(rateBefore > 0.08 && rateBefore < 0.17, `${rateBefore} before`);
    assert.ok(batchMonth.sold >= 60, `${batchMonth.sold} units in the month`);
    assert.ok(
      wilsonLow(batchMonth.returned, batchMonth.sold) > 2 * rateBefore,
      `${batchMonth.rate} in the month`,
    );

    const bySku = Map.groupBy(inMonth(badBatch.cohortMonth), (line) => line.sku);
    const ranking = [...bySku]
      .map(([sku, ofSku]) => ({ sku, ...rateOf(ofSku, within(30)) }))
      .filter(({ sku, sold }) => sku !== "" && sold >= DEMO_STORE.minSoldUnits)
      .toSorted((left, right) => right.rate - left.rate);
    assert.ok(ranking.length >= 5, `${ranking.length} SKUs are eligible`);
    assert.equal(ranking[0]?.sku, badBatch.sku);

    const fromBatch = mainSku(badBatch.cohortMonth);
    assert.equal(rateOf(fromBatch).returned, batchMonth.returned, "all of it lies inside 30 days");
    assert.ok(
      rateOf(fromBatch, within(10)).returned > 0.7 * batchMonth.returned,
      "most of it within 10 days",
    );
    const product = (month: string) => inMonth(month).filter((line) => line.productId === badBatch.productId);
    const nextMonth = new Date(Date.parse(`${badBatch.cohortMonth}-15`) + 31 * 86_400_000)
      .toISOString()
      .slice(0, 7);
    assert.ok(reasonShare(product(badBatch.cohortMonth), "defective") > 0.6);
    assert.ok(reasonShare(product(nextMonth), "defective") > 0.6);

    const cut = (month: string) => inMonth(month).filter((line) => line.productId === smallCut.productId);
    const cutBefore = rateOf(sixMonthsBefore(badBatch.cohortMonth).flatMap(cut), within(30));
    assert.ok(rateOf(cut(badBatch.cohortMonth), within(30)).rate > 1.8 * cutBefore.rate, "it runs small");
    assert.ok(reasonShare(cut(badBatch.cohortMonth), "too_small") > 0.5);
  });
}
