import assert from "node:assert/strict";
import { test } from "node:test";
import { knownMonth, monthToDate, monthToText } from "../src/lib/month.ts";
import { loadReturnCosts } from "../src/store/queries/return-cost-leaderboard.ts";
import { loadReturnRates } from "../src/store/queries/return-rate-leaderboard.ts";
import type { Selection } from "../src/store/queries/selection.ts";
import { ALL_DAYS } from "../src/store/queries/return-curve.ts";
import { findBlocks, listYears } from "../src/store/queries/sku-rollup.ts";
import type { Workspace } from "../src/store/workspace.ts";
import { csv, startImportWorkspace, type FolderFiles } from "./support/import-workspace.ts";
import { use } from "./support/use.ts";

const FIRST = knownMonth("2023-02");
const MONTHS = 40;
const LAST = FIRST + MONTHS - 1;
/** Days to return, around the ends of all windows. */
const LAGS = [0, 3, 29, 30, 31, 44, 45, 46, 89, 90, 91, 200];
const WHOLE: Selection = { kind: "workspace", key: "", includeUsed: false, vendor: null };
const SELECTIONS: readonly Selection[] = [
  WHOLE,
  { ...WHOLE, kind: "family", key: "Tops" },
  { ...WHOLE, kind: "sku", key: "S3", includeUsed: true },
];

const shop = use(startImportWorkspace);

/** Orders of 40 months whose SKUs come and go, in two products and conditions, with returns, refunds and labels. */
function storeOf(seed: number): FolderFiles {
  const lines: string[] = [];
  const returns: string[] = [];
  const refunds: string[] = [];
  const labels: string[] = [];
  let state = seed;
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  for (let number = 0; number < 400; number += 1) {
    const month = FIRST + random(MONTHS);
    const day = `${monthToText(month)}-${String(1 + random(28)).padStart(2, "0")}`;
    const sku = Math.min(random(9), Math.floor((month - FIRST) / 4));
    const id = `o${number}`;
    lines.push(`${id},l1,${day}T10:00:00Z,v${sku % 5 === 4 ? "U" : ""}${sku},,S${sku},${1 + random(4)}`);
    if (random(2) === 0) continue;
    const at = new Date(Date.parse(`${day}T12:00:00Z`) + (LAGS[random(LAGS.length)] ?? 0) * 86_400_000);
    returns.push(`r${number},${id},l1,CLOSED,1,${at.toISOString()},x`);
    if (random(3) > 0)
      refunds.push(`f${number},${id},l1,${at.toISOString()},1,${1 + random(20)}.50,RETURN,r${number}`);
    if (random(3) > 0) labels.push(`b${number},${id},${at.toISOString()},${1 + random(5)}.00`);
  }
  const variants = Array.from({ length: 9 }, (_, sku) => {
    const isUsed = sku % 5 === 4;
    return `v${isUsed ? "U" : ""}${sku},p${sku % 2},S${sku},${isUsed ? "used,S3" : "new,"}`;
  });
  return {
    "products.csv": csv("product_id,title,vendor,family", "p0,Hat,Acme,Tops", "p1,Shoe,Best,Feet"),
    "variants.csv": csv("variant_id,product_id,sku,condition,counterpart_sku", ...variants),
    "order_lines.csv": csv("order_id,line_id,ordered_at,variant_id,product_id,sku,units", ...lines),
    "returns.csv": csv("return_id,order_id,line_id,status,units,closed_at,reason", ...returns),
    "refunds.csv": csv(
      "refund_id,order_id,line_id,refunded_at,units,subtotal,restock_type,return_id",
      ...refunds,
    ),
    "return_labels.csv": csv("label_id,order_id,charged_at,amount", ...labels),
  };
}

type Range = { startMonth: number; endMonth: number };

/** Ranges of all lengths that begin anywhere, and beyond both ends of the data. */
const RANGES: readonly Range[] = Array.from({ length: 32 }, (_, number) => {
  const startMonth = FIRST - 3 + ((number * 7) % (MONTHS + 2));
  return { startMonth, endMonth: startMonth + 6 + ((number * 5) % 34) };
});

async function rankings(shopKey: number, windowDays: number, range: Range): Promise<unknown[]> {
  const workspace = { shopKey } as Workspace;
  const common = { usualMonths: [], labelCostsIncluded: true, limit: 50 };
  const answers: unknown[] = [];
  for (const selection of SELECTIONS) {
    for (const vendor of [null, "Acme"]) {
      const costs = { ...common, ...range, selection, windowDays, minCostMinor: null, vendor };
      answers.push(await loadReturnCosts(shop.database, workspace, costs));
      const filters = { minSoldUnits: null, minReturnRate: null, vendor };
      const ranked = { minSoldUnits: 0, filters, cardSize: null };
      const rates = { ...common, ...ranked, selection, months: range, windowDays };
      answers.push(await loadReturnRates(shop.database, workspace, rates));
    }
  }
  return answers;
}

test("M7, M12, M13: rankings from yearly sums equal those from quarters and months, for any range and window", async () => {
  const shopKey = await shop.open();
  await shop.rows("update workspace set primary_window_days = 45 where shop_key = $1", [shopKey]);
  await shop.import(shopKey, storeOf(7));
  const cases = RANGES.flatMap((range, number) => {
    const windowDays = [30, 45, 90, ALL_DAYS][number % 4] ?? 30;
    return [{ range, windowDays }];
  });
  const ofYears: unknown[][] = [];
  let read = 0;
  for (const { range, windowDays } of cases) {
    read += (await findBlocks(shop.database, shopKey, windowDays, range, [])).ranked.years.length;
    ofYears.push(await rankings(shopKey, windowDays, range));
  }
  assert.ok(read > cases.length / 2);
  await shop.rows("delete from sku_year where shop_key = $1", [shopKey]);
  for (const [number, { range, windowDays }] of cases.entries()) {
    assert.deepEqual(
      await rankings(shopKey, windowDays, range),
      ofYears[number],
      JSON.stringify(cases[number]),
    );
  }
});

test("a yearly sum is not read after an earlier version rolled up or removed one of its months, until a run updates it", async () => {
  const shopKey = await shop.open();
  const store = storeOf(8);
  await shop.import(shopKey, store);
  const years = async (days = 30): Promise<string[]> =>
    (await listYears(shop.database, shopKey, days)).map(monthToText);
  // The newest order is of 28 May at the latest: in 30 days, April is not complete by then.
  const all = ["2023-03", "2024-03", "2025-03", "2026-03", "2027-03"];
  assert.deepEqual(await years(), all);
  assert.deepEqual(await years(90), all);
  assert.deepEqual(await years(60), []);
  const month = monthToDate(LAST - 8);
  const rowOfMonth = "shop_key = $1 and entity_kind = 'workspace' and cohort_month = $2";
  await shop.rows(`update cohort set year_months = null where ${rowOfMonth}`, [shopKey, month]);
  assert.deepEqual(await years(), ["2023-03", "2024-03", "2025-03", "2027-03"]);
  await shop.import(shopKey, {
    ...store,
    "order_lines.csv": `${String(store["order_lines.csv"])}new,l1,2026-05-28T10:00:00Z,v0,,S0,1\n`,
  });
  assert.deepEqual(await years(), all);
  await shop.rows(`delete from cohort where ${rowOfMonth}`, [shopKey, month]);
  assert.deepEqual(await years(), ["2023-03", "2024-03", "2025-03", "2027-03"]);
  await shop.rows("update workspace set primary_window_days = 60 where shop_key = $1", [shopKey]);
  assert.deepEqual(await years(60), []);
});

test("M4, M12: all SKUs of a yearly sum hold the same windows, also if runs that changed some of them had another primary window", async () => {
  const shopKey = await shop.open();
  const setWindow = (days: number) =>
    shop.rows("update workspace set primary_window_days = $2 where shop_key = $1", [shopKey, days]);
  const store = storeOf(9);
  const newestLine = "newest,l1,2026-05-28T10:00:00Z,v0,,S0,1\n";
  await setWindow(45);
  await shop.import(shopKey, {
    ...store,
    "order_lines.csv": `${String(store["order_lines.csv"])}${newestLine}`,
  });
  await setWindow(30);
  const header = "order_id,line_id,ordered_at,variant_id,product_id,sku,units";
  const lines = [5, 6, 7, 8].map((sku) => `late,l${sku},2026-02-05T10:00:00Z,v${sku},,S${sku},1`);
  await shop.import(shopKey, { "order_lines.csv": csv(header, ...lines) });
  await setWindow(45);
  const year = { startMonth: knownMonth("2025-04"), endMonth: knownMonth("2026-03") };
  const ranked = await rankings(shopKey, 45, year);
  await shop.rows("delete from sku_year where shop_key = $1", [shopKey]);
  assert.deepEqual(ranked, await rankings(shopKey, 45, year));
});

/** SKUs whose lines name a variant, only its product, or neither: up to three listings in a month. */
const LISTED = {
  "products.csv": csv("product_id,title,vendor,family", "p0,Hat,Acme,Tops", "p1,Shoe,Best,Tops"),
  "variants.csv": csv("variant_id,product_id,sku", "v0,p0,S0", "v1,p1,S1", "v2,p1,S2"),
  "order_lines.csv": csv(
    "order_id,line_id,ordered_at,variant_id,product_id,sku,units",
    "o1,l1,2025-03-05T10:00:00Z,v0,,S0,2",
    "o2,l1,2025-03-06T10:00:00Z,,p1,S0,2",
    "o3,l1,2025-03-07T10:00:00Z,v1,,S1,3",
    "o4,l1,2025-03-08T10:00:00Z,v2,,S2,1",
    "o5,l1,2025-03-09T10:00:00Z,,p0,S2,1",
    "o6,l1,2025-03-10T10:00:00Z,v1,,S2,1",
    "o7,l1,2025-03-11T10:00:00Z,,,,9",
  ),
};

/** What a month's board of so many units at least ranks, in the workspace and in one product. */
const BOARDS: [minSoldUnits: number, whole: string[], ofProduct: string[]][] = [
  [2, ["S0 4", "S1 3", "S2 3"], ["S1 3", "S0 2", "S2 2"]],
  [3, ["S0 4", "S1 3", "S2 3"], ["S1 3"]],
  [4, ["S0 4"], []],
  [5, [], []],
];

test("M12: a month ranks a SKU by all its listings, also if an earlier version rolled it up", async () => {
  const shopKey = await shop.open();
  assert.deepEqual((await shop.import(shopKey, LISTED)).invalid, []);
  const month = knownMonth("2025-03");
  const board = async (selection: Selection, minSoldUnits: number): Promise<string[]> => {
    const { rows } = await loadReturnRates(shop.database, { shopKey } as Workspace, {
      selection,
      months: { startMonth: month, endMonth: month },
      usualMonths: [],
      labelCostsIncluded: true,
      windowDays: 30,
      minSoldUnits,
      filters: { minSoldUnits: null, minReturnRate: null, vendor: null },
      cardSize: null,
      limit: 50,
    });
    return rows.map((row) => `${row.sku} ${row.sold_units}`);
  };
  const product: Selection = { ...WHOLE, kind: "product", key: "gid://import/Product/p1" };
  const boards = () =>
    Promise.all(
      BOARDS.map(async ([least]) => [least, await board(WHOLE, least), await board(product, least)]),
    );
  assert.deepEqual(await boards(), BOARDS);
  await shop.rows("update cohort set entity_sold_units = default where shop_key = $1", [shopKey]);
  assert.deepEqual(await boards(), BOARDS);
});
