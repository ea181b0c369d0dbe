import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { IMPORT_COLUMNS, readImportFolder, sum } from "../../tests/support/import-counting.ts";
import type { ReadFolder } from "../../tests/support/import-counting.ts";
import { DEMO_STORE } from "./demo-store-facts.ts";
import { writeDemoStore } from "./demo-store.ts";
import type { ImportFile } from "./demo-store.ts";

const TODAY = "2026-11-21";
const REQUIRED: Record<ImportFile, readonly string[]> = {
  products: ["product_id", "title"],
  variants: ["variant_id", "product_id"],
  order_lines: ["order_id", "line_id", "ordered_at", "units"],
  returns: ["return_id", "order_id", "line_id", "status", "units"],
  refunds: ["refund_id", "order_id", "line_id", "units", "subtotal"],
  return_labels: ["label_id", "charged_at", "amount"],
  sale_events: ["slug", "label", "starts_on", "ends_on"],
};

const root = await mkdtemp(join(tmpdir(), "demo-format-"));
let folder: ReadFolder;

before(async () => {
  await writeDemoStore({ folder: root, today: TODAY });
  folder = await readImportFolder(root);
});

after(() => rm(root, { recursive: true }));

const rowsOf = (file: ImportFile): Record<string, string>[] => folder[file];
const pence = (amount: string) => Math.round(Number(amount) * 100);
const lineKey = (row: { order_id: string; line_id: string }) => `${row.order_id}/${row.line_id}`;
const count = <Row>(rows: readonly Row[], holds: (row: Row) => boolean) => rows.filter(holds).length;

/** Names the first row that breaks a rule, instead of one assertion per row. */
function everyRow<Row>(rows: readonly Row[], holds: (row: Row) => boolean, rule: string): void {
  const broken = rows.find((row) => !holds(row));
  assert.equal(broken, undefined, `${rule}: ${JSON.stringify(broken)}`);
}

test("every file has its columns, its required values and no row twice", () => {
  for (const file of Object.keys(IMPORT_COLUMNS) as ImportFile[]) {
    const rows = rowsOf(file);
    assert.deepEqual(Object.keys(rows[0] ?? {}), [...IMPORT_COLUMNS[file]]);
    everyRow(
      rows,
      (row) => REQUIRED[file].every((column) => row[column] !== ""),
      `${file} has required values`,
    );
    const idColumns = REQUIRED[file].filter((column) => /^slug$|_id$/.test(column));
    const keyColumns = file === "variants" ? ["variant_id"] : idColumns;
    const keys = new Set(rows.map((row) => keyColumns.map((column) => row[column]).join("\n")));
    assert.equal(keys.size, rows.length, `${file} has no row twice`);
  }
});

test("times are UTC and before today, money has two decimals, units are whole", () => {
  for (const file of Object.keys(IMPORT_COLUMNS) as ImportFile[]) {
    for (const column of IMPORT_COLUMNS[file]) {
      const pattern = {
        time: /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)?$/,
        money: /^(\d+\.\d\d)?$/,
        units: /^\d*$/,
        day: /^\d{4}-\d\d-\d\d$/,
      };
      const kind = kindOf(column);
      if (kind === null) continue;
      everyRow(rowsOf(file), (row) => pattern[kind].test(row[column] ?? ""), `${file}.${column} is ${kind}`);
      if (kind === "time" || kind === "day") {
        everyRow(rowsOf(file), (row) => (row[column] ?? "") < TODAY, `${file}.${column} lies before today`);
      }
    }
  }
});

test("orders are listed by time, and their lines know only products and variants of the shop", () => {
  const products = new Set(folder.products.map((row) => row.product_id));
  const variants = new Map(folder.variants.map((row) => [row.variant_id, row]));
  everyRow(folder.variants, (row) => products.has(row.product_id), "a variant has a product");
  everyRow(
    folder.order_lines,
    (row) => row.product_id === "" || products.has(row.product_id),
    "a product is known",
  );
  const agrees = (row: ReadFolder["order_lines"][number]) =>
    variants.get(row.variant_id)?.sku === row.sku &&
    variants.get(row.variant_id)?.product_id === row.product_id;
  everyRow(
    folder.order_lines,
    (row) => row.variant_id === "" || agrees(row),
    "a line agrees with its variant",
  );
  const times = folder.order_lines.map((row) => row.ordered_at);
  assert.deepEqual(times, times.toSorted());
});

test("returns and refunds belong to lines, and together never exceed what was sold", () => {
  const returnedUnits = Map.groupBy(folder.returns, lineKey);
  const refunds = Map.groupBy(folder.refunds, lineKey);
  const lines = new Map(folder.order_lines.map((row) => [lineKey(row), row]));
  const laterThanOrder = (row: { order_id: string; line_id: string }, time: string) =>
    time === "" || time > (lines.get(lineKey(row))?.ordered_at ?? "9");
  everyRow(folder.returns, (row) => laterThanOrder(row, row.requested_at), "a return follows its order");
  everyRow(
    folder.returns,
    (row) => row.closed_at === "" || row.closed_at > row.requested_at,
    "closed after requested",
  );
  everyRow(folder.refunds, (row) => laterThanOrder(row, row.refunded_at), "a refund follows its order");
  everyRow(
    folder.order_lines,
    (line) => {
      const all = refunds.get(lineKey(line)) ?? [];
      const units = sum(all.map((row) => Number(row.units)));
      const requested = sum((returnedUnits.get(lineKey(line)) ?? []).map((row) => Number(row.units)));
      const canceled = sum(
        all.filter((row) => row.restock_type === "CANCEL").map((row) => Number(row.units)),
      );
      const left = Number(line.units) - Number(line.removed_units);
      return units <= left && requested + canceled <= left;
    },
    "units fit into the line",
  );
  everyRow(
    folder.order_lines,
    (line) =>
      sum((refunds.get(lineKey(line)) ?? []).map((row) => pence(row.subtotal))) <=
      pence(line.unit_price) * Number(line.units),
    "money fits into the line",
  );
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
  const lines = new Map(folder.order_lines.map((row) => [lineKey(row), row]));
  const isReduced = (row: ReadFolder["refunds"][number]) =>
    pence(row.subtotal) < pence(lines.get(lineKey(row))?.unit_price ?? "") * Number(row.units);
  assert.ok(count(refunds, isReduced) > 100, "some refunds lack a restocking fee");
});

test("M1: some lines sell nothing, or lack a SKU or a product", () => {
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

test("sale events name days in order and SKUs of the shop", () => {
  const skus = new Set(folder.variants.map((row) => row.sku));
  everyRow(folder.sale_events, (row) => row.starts_on <= row.ends_on, "it ends after it starts");
  everyRow(
    folder.sale_events,
    (row) => row.skus.split(";").every((sku) => sku === "" || skus.has(sku)),
    "its SKUs are known",
  );
  assert.equal(
    count(folder.sale_events, (row) => row.skus === ""),
    1,
  );
});

function kindOf(column: string): "time" | "money" | "units" | "day" | null {
  if (column.endsWith("_at")) return "time";
  if (column.endsWith("_on")) return "day";
  if (column.endsWith("units")) return "units";
  return ["unit_price", "unit_cost", "subtotal", "amount"].includes(column) ? "money" : null;
}
