import { mulberry32 } from "../../src/demo/random.ts";
import { REFUND_ONLY, UNSPECIFIED } from "../../src/metrics/returned-units.ts";
import type { ReportStore } from "./report-store.ts";

const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2024, 0, 1) / DAY_MS;
const DAYS = 540;
const REASONS = [
  "too_small",
  "TOO_BIG",
  UNSPECIFIED,
  "unspecified",
  REFUND_ONLY,
  "refund_only",
  '=2+2, "odd"\r\nreason 🧦',
  "-wrong colour",
];
const STATES = ["REQUESTED", "OPEN", "CLOSED", "DECLINED", "CANCELED"];

/** A store of 1,200 lines over 18 months from 2024-01, the same for the same seed; with used variants, lines without
 * SKU or product, labels of all sorts and texts that are hard to write. */
export function makeReportStore(seed: number): ReportStore {
  const random = mulberry32(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const store: ReportStore = {
    products: [
      { product_gid: "gid://shop/Product/1", title: "Shoe", family: "Shoes", analytics_category: "Feet" },
      { product_gid: "gid://shop/Product/2", title: "Sock", family: "Socks", analytics_category: "Feet" },
      {
        product_gid: "gid://shop/Product/3",
        title: "Hat",
        family: '=Hats, "warm"',
        analytics_category: null,
      },
    ],
    skus: [
      { sku: "SHOE-1", product_gid: "gid://shop/Product/1", used: false, counterpart_sku: null },
      { sku: "SHOE-2", product_gid: "gid://shop/Product/1", used: false, counterpart_sku: null },
      { sku: "SHOE-1-USED", product_gid: "gid://shop/Product/1", used: true, counterpart_sku: "SHOE-1" },
      { sku: "SOCK", product_gid: "gid://shop/Product/2", used: false, counterpart_sku: null },
      { sku: "HAT", product_gid: "gid://shop/Product/3", used: false, counterpart_sku: null },
    ],
    lines: [],
    events: [],
    requests: [],
    shares: [],
    labels: [],
    saleEvents: [
      {
        slug: "summer",
        label: '@Summer "sale", big',
        starts_on: "2024-07-01",
        ends_on: "2024-07-14",
        skus: null,
      },
      {
        slug: "socks",
        label: "Socks\nonly",
        starts_on: "2024-11-20",
        ends_on: "2024-12-05",
        // A SKU that is named twice counts once.
        skus: ["SOCK", "GONE", "SOCK"],
      },
      {
        slug: "late",
        label: "Late",
        starts_on: "2025-04-20",
        ends_on: "2025-06-10",
        skus: ["SHOE-1", "SHOE-1-USED"],
      },
      { slug: "overlap", label: "Overlap", starts_on: "2024-07-10", ends_on: "2024-07-20", skus: null },
    ],
  };
  for (let index = 0; index < 1200; index += 1) addLine(store, index, below);
  for (let index = 0; index < 60; index += 1) addUnmatchedLabel(store, index, below);
  return store;
}

type Below = (limit: number) => number;

function addLine(store: ReportStore, index: number, below: Below): void {
  const variant = below(10) === 0 ? null : (store.skus[below(store.skus.length)] ?? null);
  const orderedDay = FIRST_DAY + below(DAYS);
  const ordered_on = dayText(orderedDay);
  const key = { order_id: `order ${Math.floor(index / 2)}`, line_id: `line ${index}` };
  const sold_units = below(5);
  store.lines.push({
    ...key,
    ordered_on,
    cohort_month: `${ordered_on.slice(0, 7)}-01`,
    sold_units,
    product_gid: variant?.product_gid ?? (below(2) === 0 ? "gid://shop/Product/2" : null),
    sku: variant?.sku ?? null,
    used: variant?.used ?? false,
    counterpart_sku: variant?.counterpart_sku ?? null,
    unit_cost_minor: below(3) === 0 ? null : 100 + below(900),
  });
  // M1: a line that sells nothing brings nothing.
  if (sold_units === 0) return;
  let unitsLeft = sold_units;
  for (let number = 0; number < below(4); number += 1) {
    const lag_days = below(130);
    const returned_units = Math.min(unitsLeft, below(3));
    unitsLeft -= returned_units;
    const refunded_units = below(3);
    store.events.push({
      ...key,
      event_number: number,
      lag_days,
      occurred_on: dayText(orderedDay + lag_days),
      reason: returned_units === 0 ? null : (REASONS[below(REASONS.length)] ?? null),
      returned_units,
      refunded_units,
      restocked_units: refunded_units === 0 ? 0 : below(refunded_units + 1),
      refund_minor: below(9000),
    });
  }
  for (let number = 0; number < below(3); number += 1) {
    const status = STATES[below(STATES.length)] ?? "OPEN";
    store.requests.push({ ...key, return_id: `return ${number}`, status, units: 1 + below(3) });
  }
  if (below(4) > 0) return;
  const lag_days = below(130);
  const label = { source: "csv-labels", label_id: `label ${index}` };
  store.shares.push({ ...key, ...label, lag_days, label_minor: 300 + below(700) });
  store.labels.push({
    ...label,
    charged_at: `${dayText(orderedDay + lag_days)}T12:00:00Z`,
    amount_minor: 1000,
    currency_code: "EUR",
    voided_at: null,
  });
}

function addUnmatchedLabel(store: ReportStore, index: number, below: Below): void {
  store.labels.push({
    source: "csv-labels",
    label_id: `unmatched ${index}`,
    charged_at: `${dayText(FIRST_DAY + below(DAYS))}T${below(2) === 0 ? "00:00:00" : "23:59:59"}Z`,
    amount_minor: below(1000),
    currency_code: below(5) === 0 ? "USD" : "EUR",
    voided_at: below(5) === 0 ? "2025-06-01T00:00:00Z" : null,
  });
}

function dayText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}
