import { mulberry32 } from "../../src/demo/random.ts";
import { dayOf, noonOf } from "./calendar.ts";
import type { OracleRequest } from "./requests.ts";
import { USUAL_SETTINGS } from "./store.ts";
import type { OrderLineRow, OracleParameters, RefundRow, OracleStore } from "./store.ts";

const ORDERS = 2000;
const DAYS = 500;
const FIRST_DAY = dayOf("2025-01-01");

/**
 * Orders mostly returned as a whole: 200 or more of Tops and of the store, fewer of Shoes, whose units come back one by one and
 * whose other lines are only refunded. One product has no category, one SKU belongs to two products; Cape's products sell briefly,
 * its lines without a product always. One line in five is added three days later: a separate order (M6).
 */
export function clusterStore(seed: number): OracleStore {
  const random = mulberry32(seed);
  const upTo = (most: number): number => 1 + Math.floor(random() * most);
  const order_lines: OrderLineRow[] = [];
  const refunds: RefundRow[] = [];
  for (let place = 0; place < ORDERS; place += 1) {
    const order_id = `o${place}`;
    const day = FIRST_DAY + Math.floor(random() * DAYS);
    const isWhole = random() < 0.3;
    const lines = upTo(3);
    for (let line = 1; line <= lines; line += 1) {
      const places = day < FIRST_DAY + 100 ? PLACES.length : PLACES.length - 2;
      const { product_id, ...named } = PLACES[Math.floor(random() * places)] as (typeof PLACES)[number];
      const units = upTo(4);
      const line_id = `${order_id}-${line}`;
      const ordered = day + (random() < 0.2 ? 3 : 0);
      order_lines.push({
        order_id,
        line_id,
        ordered_at: noonOf(ordered),
        ...named,
        ...(product_id !== "" && { product_id }),
        units,
      });
      const isBack = isWhole || random() < 0.05;
      if (!isBack && product_id !== "s1") continue;
      const back = !isBack ? 0 : random() < 0.8 ? units : upTo(units);
      const parts = product_id === "s1" ? Math.max(1, back) : 1;
      for (let part = 0; part < parts; part += 1) {
        const refund_id = `${line_id}-${part}`;
        const refunded_at = noonOf(ordered + upTo(40));
        refunds.push({ refund_id, order_id, line_id, refunded_at, units: back / parts, subtotal: "1.00" });
      }
    }
  }
  return {
    settings: USUAL_SETTINGS,
    as_of: noonOf(FIRST_DAY + DAYS + 20),
    files: {
      products: [
        { product_id: "t1", title: "T1", vendor: "Acme", family: "Warm", analytics_category: "Tops" },
        { product_id: "t2", title: "T2", vendor: "Acme", family: "Cold", analytics_category: "Tops" },
        { product_id: "s1", title: "S1", vendor: "Best", family: "Warm", analytics_category: "Shoes" },
        { product_id: "n1", title: "N1", vendor: "Best" },
        { product_id: "c1", title: "C1", vendor: "Cape", family: "Pale", analytics_category: "Tops" },
        { product_id: "c2", title: "C2", vendor: "Cape", family: "Pale", analytics_category: "Tops" },
      ],
      order_lines,
      refunds,
      sale_events: [
        { slug: "tops", label: "Tops", starts_on: "2025-09-01", ends_on: "2025-09-20", skus: "A;B" },
        { slug: "mixed", label: "Mixed", starts_on: "2025-09-01", ends_on: "2025-09-20", skus: "A;S" },
        { slug: "all", label: "All", starts_on: "2025-09-01", ends_on: "2025-09-20" },
      ],
    },
  };
}

/** Products and SKUs, more often of Tops than of others. */
const PLACES = [
  { product_id: "t1", sku: "A" },
  { product_id: "t1", sku: "A" },
  { product_id: "t2", sku: "B" },
  { product_id: "t2", sku: "B" },
  { product_id: "t2", sku: "SHARED" },
  { product_id: "s1", sku: "S" },
  { product_id: "n1", sku: "N" },
  { product_id: "n1", sku: "SHARED" },
  { product_id: "", sku: "LOOSE", vendor: "Cape" },
  { product_id: "c1", sku: "C" },
  { product_id: "c2", sku: "C" },
] as const;

const SELECTIONS: OracleParameters[] = [
  {},
  ...["A", "S", "N", "SHARED"].map((sku) => ({ sku })),
  ...["t1", "s1", "n1"].map((id) => ({ product_gid: `gid://import/Product/${id}` })),
  ...["Warm", "Cold"].map((key) => ({ product_group_type: "family", product_group_key: key })),
  ...["Tops", "Shoes"].map((key) => ({ product_group_type: "analytics_category", product_group_key: key })),
  ...["Acme", "Best", "Cape"].map((vendor) => ({ vendor })),
  { vendor: "Acme", product_group_type: "family", product_group_key: "Warm" },
  { vendor: "Acme", product_group_type: "analytics_category", product_group_key: "Tops" },
  { vendor: "Cape", product_group_type: "family", product_group_key: "Pale" },
];

const RANGE = { start_month: "2025-01", end_month: "2026-05" };

const REPORTS: OracleParameters[] = [
  ...SELECTIONS.map((selection) => ({ ...selection, ...RANGE, window: "90d" })),
  { ...RANGE, sku: "A", reportSection: "curves" },
  ...["vendor", "product", "sku", "family", "analytics_category"].map((breakdownBy) => ({
    ...RANGE,
    start_month: "2026-01",
    reportSection: "breakdown",
    breakdownBy,
  })),
  ...["tops", "mixed", "all"].map((saleEvent) => ({ ...RANGE, saleEvent, saleEventScope: "event_scope" })),
  { ...RANGE, sku: "S", saleEvent: "all" },
  { ...RANGE, sku: "A", saleEvent: "all", saleEventBaseline: "selected_non_sale" },
  ...[{ sku: "A" }, { vendor: "Best" }].map((selection) => ({ ...selection, ...RANGE, interval: "week" })),
];

export const requestsOfClusters: OracleRequest[] = [
  ...REPORTS.map((params) => ({ path: "/api/v1/report", params })),
  { path: "/api/v1/leaderboards/return-rate", params: {} },
  {
    path: "/api/v1/leaderboards/return-cost",
    params: { ...RANGE, start_month: "2026-01", product_gid: "gid://import/Product/t2" },
  },
];
