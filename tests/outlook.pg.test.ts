import assert from "node:assert/strict";
import { test } from "node:test";
import { dayCurves, loadStoreLines, type StoreLine } from "../tools/backtest/store-lines.ts";
import { dayFromText, dayToText } from "../src/lib/month.ts";
import { loadDayCurves, type DayCurveRow } from "../src/store/queries/outlook.ts";
import type { Selection } from "../src/store/queries/selection.ts";
import type { Workspace } from "../src/store/workspace.ts";
import { createStore } from "./support/import-store.ts";
import { service } from "./support/shared-service.ts";

const FROM_DAY = dayFromText("2025-06-01") as number;
const AS_OF = "2026-06-15";
const AS_OF_DAY = dayFromText(AS_OF) as number;

const tenant = await createStore(service, { asOf: `${AS_OF}T00:00:00Z`, files: storeFiles() });
const lines = await loadStoreLines(service.installation.database, tenant.shopKey);

/** Six SKUs, the last one used; four lines a day, every fifth comes back in one or two parts within 41 days. */
function storeFiles() {
  const order_lines = [];
  const refunds = [];
  for (let number = 0; number < (AS_OF_DAY - FROM_DAY) * 4; number += 1) {
    const day = FROM_DAY + Math.floor(number / 4);
    const id = `order ${number}`;
    const line = { order_id: id, line_id: "1" };
    order_lines.push({
      ...line,
      ordered_at: `${dayToText(day)}T10:00:00Z`,
      variant_id: `v${(number * 7) % 6}`,
      units: 2 + (number % 3),
    });
    if (number % 5 !== 0) continue;
    for (const [part, lag] of [3 + ((number * 11) % 30), 20 + ((number * 3) % 22)].entries()) {
      if (day + lag > AS_OF_DAY || (part === 1 && number % 2 === 0)) continue;
      const refunded_at = `${dayToText(day + lag)}T10:00:00Z`;
      refunds.push({ ...line, refund_id: `${id} ${part}`, refunded_at, units: 1, subtotal: "9.00" });
    }
  }
  return {
    products: [0, 1, 2].map((number) => ({
      product_id: String(number),
      title: `Chair ${number}`,
      vendor: number === 2 ? "Ash" : "Birch",
      family: number === 0 ? "Stools" : "Chairs",
      analytics_category: "Seats",
    })),
    variants: Array.from({ length: 6 }, (_, number) => ({
      variant_id: `v${number}`,
      product_id: String(number >> 1),
      sku: `CHAIR-${number}`,
      ...(number === 5 ? { condition: "used" as const, counterpart_sku: "CHAIR-4" } : {}),
    })),
    order_lines,
    refunds,
  };
}

const gid = (number: number): string => `gid://import/Product/${number}`;
const SELECTIONS: readonly [Partial<Selection>, (line: StoreLine) => boolean][] = [
  [{}, () => true],
  [{ vendor: "Ash" }, (line) => line.product_gid === gid(2)],
  [{ kind: "sku", key: "CHAIR-4" }, (line) => line.sku === "CHAIR-4"],
  [
    { kind: "sku", key: "CHAIR-4", includeUsed: true },
    (line) => line.sku === "CHAIR-4" || line.sku === "CHAIR-5",
  ],
  [{ kind: "product", key: gid(2) }, (line) => line.product_gid === gid(2) && !line.used],
  [{ kind: "product", key: gid(2), includeUsed: true }, (line) => line.product_gid === gid(2)],
  [{ kind: "family", key: "Chairs" }, (line) => line.family === "Chairs"],
  [{ kind: "family", key: "Chairs", vendor: "Birch" }, (line) => line.product_gid === gid(1)],
  [{ kind: "analytics_category", key: "Seats" }, () => true],
];

test("M18: the days of every kind of selection equal a loop over its lines", async () => {
  const workspace = { shopKey: tenant.shopKey } as Workspace;
  const range = {
    fromDay: FROM_DAY + 40,
    toDay: AS_OF_DAY,
    baseFromDay: FROM_DAY + 70,
    baseToDay: FROM_DAY + 200,
  };
  const curve = ({ part: _part, ...row }: DayCurveRow) => row;
  const byDay = (left: { day: number }, right: { day: number }) => left.day - right.day;
  const looped = (isTaken: (line: StoreLine) => boolean, fromDay: number, toDay: number) =>
    dayCurves(lines.filter(isTaken))
      .filter(({ day }) => day >= fromDay && day <= toDay)
      .map((day) => ({
        day: day.day,
        sold_units: day.soldUnits,
        sold_lines: day.soldLines,
        lag_days: day.lagDays.length === 0 ? null : day.lagDays,
        returned_units: day.lagDays.length === 0 ? null : day.returnedUnits,
        returned_lines: day.lagDays.length === 0 ? null : day.returnedLines,
      }));
  for (const [change, isTaken] of SELECTIONS) {
    const selection: Selection = { kind: "workspace", key: "", includeUsed: false, vendor: null, ...change };
    const rows = await loadDayCurves(service.installation.database, workspace, { selection, range });
    const name = JSON.stringify(change);
    const of = (part: string) =>
      rows
        .filter((row) => row.part === part)
        .map(curve)
        .toSorted(byDay);
    assert.deepEqual(of("own"), looped(isTaken, range.fromDay, range.toDay), name);
    assert.deepEqual(
      of("store"),
      looped(() => true, range.baseFromDay, range.baseToDay),
      name,
    );
    const hasCategory = ["sku", "product", "analytics_category"].includes(selection.kind);
    assert.equal(of("category").length, hasCategory ? of("store").length : 0, name);
  }
});

type Outlook = { return_rate: number; low: number; high: number; level: number; share_observed: number };
type Body = {
  summary: { return_rate: number; outlook: Outlook | null };
  trend: {
    cohort_month: string;
    is_complete: boolean | null;
    return_rate: number;
    outlook: Outlook | null;
  }[];
};
async function report(params: Record<string, string | boolean>): Promise<Body> {
  const range = { start_month: "2026-03", end_month: "2026-06", reportSection: "trend" };
  const answer = await tenant.ask("/api/v1/report", { ...range, ...params });
  return answer.json().data as unknown as Body;
}

test("M18: open months have an outlook, complete ones and lifetime have none, and no figure changes", async () => {
  const open = await report({ include_incomplete: true });
  assert.deepEqual(
    open.trend.map(({ is_complete, outlook }) => [is_complete, outlook !== null]),
    [
      [true, false],
      [true, false],
      [false, true],
      [false, true],
    ],
  );
  const young = open.trend[3] as Body["trend"][number];
  const outlook = young.outlook as Outlook;
  assert.equal(outlook.level, 0.8);
  assert.ok(outlook.low >= young.return_rate - 1e-6 && outlook.low < outlook.return_rate);
  assert.ok(
    outlook.high > outlook.return_rate && outlook.share_observed > 0.05 && outlook.share_observed < 0.7,
  );
  // The complete months predict June: about one unit in twelve.
  const complete = open.trend[0]?.return_rate ?? NaN;
  assert.ok(Math.abs(outlook.return_rate - complete) < 0.25 * complete, `${outlook.return_rate} ${complete}`);
  assert.ok((open.summary.outlook?.return_rate ?? NaN) > open.summary.return_rate);

  for (const params of [{}, { include_incomplete: true, window: "lifetime" }]) {
    const closed = await report(params);
    assert.equal(closed.summary.outlook, null);
    assert.ok(closed.trend.every((month) => month.outlook === null));
  }
  const { trend } = await report({ include_incomplete: true, start_month: "2026-03" });
  assert.equal(trend[0]?.return_rate, (await report({})).trend[0]?.return_rate);
});

test("M18: every kind of selection has an outlook; a store with a short history has none", async () => {
  for (const params of [
    { sku: "CHAIR-4", include_used_variants: true },
    { product_gid: gid(2) },
    { product_group_type: "family", product_group_key: "Chairs", vendor: "Birch" },
    { vendor: "Ash" },
  ]) {
    const { summary } = await report({ include_incomplete: true, ...params });
    assert.ok(summary.outlook !== null, JSON.stringify(params));
  }
  const line = { order_id: "1", line_id: "1", ordered_at: "2026-06-01T10:00:00Z", sku: "A", units: 3 };
  const young = await createStore(service, { asOf: `${AS_OF}T00:00:00Z`, files: { order_lines: [line] } });
  const june = { start_month: "2026-06", end_month: "2026-06", include_incomplete: true };
  const answer = await young.ask("/api/v1/report", june);
  assert.equal((answer.json().data as unknown as Body).summary.outlook, null);
});
