import assert from "node:assert/strict";
import { test } from "node:test";
import { DEMO_STORE } from "./demo-store-facts.ts";
import { writeDemoStore } from "./demo-store.ts";
import { countLines, rateOf, readImportFolder } from "../../tests/support/import-counting.ts";
import type { CountedLine } from "../../tests/support/import-counting.ts";
import { makeFolder } from "../../tests/support/folder.ts";

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

function reasonShare(lines: readonly CountedLine[], reason: string): number {
  return rateOf(lines, (returned) => returned.reason === reason).returned / rateOf(lines).returned;
}

for (const { today, seed } of [
  { today: "2026-11-21", seed: 20 },
  { today: "2026-12-03", seed: 20 },
  { today: "2027-01-18", seed: 20 },
  { today: "2027-03-02", seed: 20 },
  { today: "2025-06-30", seed: 3 },
]) {
  test(`M12, M16: on ${today} with seed ${seed} the bad batch is a spike and tops the month's ranking`, async () => {
    const folder = makeFolder();
    const { badBatch, smallCut } = await writeDemoStore({ folder, today, seed });
    const lines = countLines(await readImportFolder(folder));
    const inMonth = (month: string) => lines.filter((line) => line.orderedOn.startsWith(month));
    const mainSku = (month: string) => inMonth(month).filter((line) => line.sku === badBatch.sku);

    const before = sixMonthsBefore(badBatch.cohortMonth).map((month) => rateOf(mainSku(month), within(30)));
    for (const { sold } of before) assert.ok(sold >= 20, `${sold} units in a month before`);
    const soldBefore = before.reduce((total, { sold }) => total + sold, 0);
    const rateBefore = before.reduce((total, { returned }) => total + returned, 0) / soldBefore;
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
