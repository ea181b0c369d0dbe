import assert from "node:assert/strict";
import { createRandom } from "../../src/demo/random.ts";
import type { ReportData } from "../../src/contract/report.ts";
import type { OracleReturnStatus, StoreFiles } from "../oracle/store.ts";
import { createStore, type StoreTenant } from "./import-store.ts";
import type { TestService } from "./service.ts";

export type ReportBody = { data: Required<ReportData>; meta: Record<string, unknown> };

/** A workspace with the store; reports are from 2024-03 to 2025-06 unless the parameters say otherwise. */
export type ReportWorkspace = {
  tenant: StoreTenant;
  ask: (parameters: Record<string, string | boolean>) => Promise<ReportBody>;
};

export const AS_OF = "2025-06-15T10:00:00Z";
export const MONTHS = { start_month: "2024-03", end_month: "2025-06" };
const FIRST_DAY = Date.UTC(2024, 0, 1);
const DAYS = 540;
const DAY_MS = 86_400_000;

const STATES: readonly OracleReturnStatus[] = [
  "REQUESTED",
  "OPEN",
  "CLOSED",
  "CLOSED",
  "DECLINED",
  "CANCELED",
];
const REASONS = [
  "too_small",
  "TOO_BIG",
  "",
  "unspecified",
  "refund_only",
  '=2+2, "odd" reason 🧦',
  "-wrong colour",
];
const VARIANTS = [
  { variant_id: "v1", product_id: "1", sku: "SHOE-1" },
  { variant_id: "v2", product_id: "1", sku: "SHOE-2", unit_cost: "4.00" },
  { variant_id: "v3", product_id: "1", sku: "SHOE-1-USED", condition: "used", counterpart_sku: "SHOE-1" },
  { variant_id: "v4", product_id: "2", sku: "SOCK", unit_cost: "1.50" },
  { variant_id: "v5", product_id: "3", sku: "HAT" },
] as const;

export async function createReportWorkspace(service: TestService): Promise<ReportWorkspace> {
  const tenant = await createStore(service, { primary_window_days: 45, asOf: AS_OF, files: reportFiles() });
  return {
    tenant,
    ask: async (parameters) => {
      const answer = await tenant.ask("/api/v1/report", { ...MONTHS, ...parameters });
      assert.equal(answer.status, 200, answer.text);
      return answer.json() as unknown as ReportBody;
    },
  };
}

/** 500 lines over 18 months, always the same: used variants, lines without SKU, all kinds of labels, texts with special characters. */
function reportFiles(): StoreFiles {
  const random = createRandom(7, "report");
  const lines = Array.from({ length: 500 }, (_, index) => {
    const { variant_id, product_id, sku } = random.pick(VARIANTS);
    const named = random.chance(0.1) ? { product_id } : { variant_id, product_id, sku };
    const key = { order_id: `o${index >> 1}`, line_id: `l${index}` };
    return { ...key, ...named, units: random.integer(1, 5), ordered_at: timeOf(random.integer(0, DAYS - 1)) };
  });
  const after = ({ ordered_at }: { ordered_at: string }): string =>
    timeOf((Date.parse(ordered_at) - FIRST_DAY) / DAY_MS + random.integer(0, 130));
  const keyOf = ({ order_id, line_id }: (typeof lines)[number]) => ({ order_id, line_id });
  const some = lines.filter(() => random.chance(0.6));
  const returns = some.map((line, index) => ({
    ...keyOf(line),
    return_id: `r${index}`,
    units: random.integer(1, line.units),
    closed_at: after(line),
    status: random.pick(STATES),
    reason: random.pick(REASONS),
  }));
  return {
    products: [
      { product_id: "1", title: "Shoe", vendor: "Acme", family: "Shoes", analytics_category: "Feet" },
      { product_id: "2", title: "Sock", vendor: "Best", family: "Socks", analytics_category: "Feet" },
      { product_id: "3", title: "Hat", family: '=Hats, "warm"' },
    ],
    variants: [...VARIANTS],
    order_lines: lines,
    returns: returns.map(({ closed_at, ...row }) => (row.status === "CLOSED" ? { ...row, closed_at } : row)),
    refunds: some.map((line, index) => ({
      ...keyOf(line),
      refund_id: `f${index}`,
      refunded_at: after(line),
      units: random.integer(0, line.units),
      subtotal: `${random.integer(0, 90)}.${random.integer(10, 99)}`,
      restock_type: random.pick(["RETURN", "NO_RESTOCK"] as const),
      return_id: random.chance(0.5) ? `r${index}` : "",
    })),
    return_labels: some.map((line, index) => ({
      label_id: `b${index}`,
      order_id: random.chance(0.2) ? "nobody's" : line.order_id,
      charged_at: after(line),
      amount: `${random.integer(3, 9)}.50`,
      ...(random.chance(0.1) ? { voided_at: AS_OF } : {}),
    })),
    sale_events: [
      { slug: "summer", label: '@Summer "sale", big', starts_on: "2024-07-01", ends_on: "2024-07-14" },
      // A SKU listed twice counts once.
      {
        slug: "socks",
        label: "Socks\nonly",
        starts_on: "2024-11-20",
        ends_on: "2024-12-05",
        skus: "SOCK;GONE;SOCK",
      },
      {
        slug: "late",
        label: "Late",
        starts_on: "2025-04-20",
        ends_on: "2025-06-10",
        skus: "SHOE-1;SHOE-1-USED",
      },
      { slug: "overlap", label: "Overlap", starts_on: "2024-07-10", ends_on: "2024-07-20" },
    ],
  };
}

function timeOf(day: number): string {
  return new Date(FIRST_DAY + day * DAY_MS).toISOString();
}
