import { OPERATOR } from "../src/actions/actor.ts";
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { importFolder } from "../src/sync/connectors/csv/import-folder.ts";
import { createStoreTenant } from "./support/import-store.ts";
import { startTestService, type QueryParameters, type TestService } from "./support/service.ts";
import type { Tenant } from "./support/tenants.ts";

const folder =
  process.env["RETURNS_ONLINE_RETAIL"] ?? join(import.meta.dirname, "../../shared/data/online-retail");
const expectedFile = join(folder, "expected.json");
const skip = existsSync(expectedFile) ? false : "the real year is not beside the clone";
if (skip !== false) console.log(`online-retail.pg.test.ts: ${skip}`);

const MONTHS = { start_month: "2010-12", end_month: "2011-12", include_incomplete: true };
const WINDOWS = ["30d", "90d", "lifetime"] as const;

type MonthFigures = { month: string; sold_units: number; returned_units: number; refund_cents: number };
type SkuFigures = {
  sku: string;
  sold_units: number;
  returned_units: number;
  refund_cents: number;
  rate?: number;
};
type Expected = {
  as_of: string;
  currency: string;
  workspace: Record<(typeof WINDOWS)[number], MonthFigures[]>;
  skus: Record<string, Record<(typeof WINDOWS)[number], MonthFigures[]>>;
  /** By `first month..last month|window`. */
  return_cost: Record<string, SkuFigures[]>;
  /** By `month=…|min 50` and `year=…|min 50`. */
  return_rate: Record<string, SkuFigures[]>;
};

let expected: Expected;
let service: TestService;
let tenant: Tenant;

before(async () => {
  if (skip !== false) return;
  expected = JSON.parse(readFileSync(expectedFile, "utf8")) as Expected;
  service = await startTestService();
  tenant = await createStoreTenant(service, { currency_code: expected.currency, min_sold_units: 50 });
});

after(async () => {
  if (skip === false) await service.stop();
});

test("a year of a real shop is imported without a bad row", { skip }, async (context: TestContext) => {
  const started = performance.now();
  const result = await importFolder({
    actor: OPERATOR,
    database: service.installation.database,
    shopKey: tenant.shopKey,
    currencyCode: expected.currency,
    folder,
    asOf: new Date(expected.as_of),
    now: new Date(expected.as_of),
    skipInvalid: false,
  });
  const seconds = (performance.now() - started) / 1000;
  const peakMegabytes = process.resourceUsage().maxRSS / 1024;
  context.diagnostic(
    `imported in ${seconds.toFixed(1)} s, peak memory of the process ${peakMegabytes.toFixed(0)} MB`,
  );
  assert.deepEqual(result.invalid, []);
});

test(
  "M1 to M7: units of the real year agree in every month and window, for the shop and six SKUs",
  { skip },
  async () => {
    await forEachSeries(async (selection, window, months) => {
      const { rows } = await ask<{ rows: Record<string, unknown>[] }>("timeseries", {
        ...selection,
        ...MONTHS,
        window,
      });
      const units = rows.map(({ cohort_month, sold_units, returned_units }) => ({
        cohort_month,
        sold_units,
        returned_units,
      }));
      const wanted = months.map(({ month, sold_units, returned_units }) => ({
        cohort_month: `${month}-01`,
        sold_units,
        returned_units,
      }));
      assert.deepEqual(units, wanted, `${JSON.stringify(selection)} ${window}`);
      const { sold_units, returned_units } = await ask<Record<string, number>>("summary", {
        ...selection,
        ...MONTHS,
        window,
      });
      assert.equal(sold_units, sumOf(months, "sold_units"));
      assert.equal(returned_units, sumOf(months, "returned_units"));
    });
  },
);

test(
  "M9: refunded money of the real year agrees to the penny, for the shop and six SKUs",
  { skip },
  async () => {
    await forEachSeries(async (selection, window, months) => {
      type Report = {
        summary: { refunded_amount: number };
        trend: { cohort_month: string; refunded_amount: number }[];
      };
      const { summary, trend } = await ask<Report>("report", { ...selection, ...MONTHS, window });
      assert.deepEqual(
        trend.map((row) => [row.cohort_month, row.refunded_amount]),
        months.map((row) => [`${row.month}-01`, row.refund_cents / 100]),
        `${JSON.stringify(selection)} ${window}`,
      );
      assert.equal(summary.refunded_amount, sumOf(months, "refund_cents") / 100);
    });
  },
);

test("M13: the SKUs with the highest returns cost of the real year agree", { skip }, async () => {
  for (const [key, wanted] of Object.entries(expected.return_cost)) {
    const [, start_month = "", end_month = "", window = ""] = /^(.{7})\.\.(.{7})\|(.+)$/u.exec(key) ?? [];
    const params = { start_month, end_month, window, include_incomplete: true, limit: wanted.length };
    const { rows } = await ask<{ rows: Record<string, unknown>[] }>("leaderboards/return-cost", params);
    assert.deepEqual(
      rows.map((row) => [row["sku"], row["sold_units"], row["returned_units"], row["total_refunded_amount"]]),
      wanted.map((row) => [row.sku, row.sold_units, row.returned_units, row.refund_cents / 100]),
      key,
    );
  }
});

test("M12: the SKUs with the highest return rate of the real year agree", { skip }, async () => {
  for (const [key, wanted] of Object.entries(expected.return_rate)) {
    const period = key.startsWith("month=") ? "month" : "year";
    const params = { period, limit: wanted.length };
    const { rows } = await ask<{ rows: Record<string, unknown>[] }>("leaderboards/return-rate", params);
    assert.deepEqual(
      rows.map((row) => [row["sku"], row["sold_units"], row["returned_units"], row["return_rate"]]),
      wanted.map((row) => [row.sku, row.sold_units, row.returned_units, Number((row.rate ?? 0).toFixed(6))]),
      key,
    );
  }
});

async function forEachSeries(
  check: (selection: { sku?: string }, window: string, months: MonthFigures[]) => Promise<void>,
): Promise<void> {
  const series = [
    { selection: {}, byWindow: expected.workspace },
    ...Object.entries(expected.skus).map(([sku, byWindow]) => ({ selection: { sku }, byWindow })),
  ];
  for (const { selection, byWindow } of series) {
    for (const window of WINDOWS) await check(selection, window, byWindow[window]);
  }
}

function sumOf(months: readonly MonthFigures[], name: Exclude<keyof MonthFigures, "month">): number {
  return months.reduce((sum, month) => sum + month[name], 0);
}

async function ask<Data>(endpoint: string, params: QueryParameters): Promise<Data> {
  const answer = await service.call(`/api/v1/${endpoint}`, {
    token: tenant.token,
    params,
    isUnlimited: true,
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.json().data as unknown as Data;
}
