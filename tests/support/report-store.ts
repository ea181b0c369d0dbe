import type { Database } from "../../src/store/database.ts";
import { listCohortMonths } from "../../src/store/queries/dirty-month.ts";
import type { Workspace } from "../../src/store/workspace.ts";
import { rebuildCohorts } from "../../src/sync/apply.ts";

export type StoreLine = {
  order_id: string;
  line_id: string;
  ordered_on: string;
  cohort_month: string;
  sold_units: number;
  product_gid: string | null;
  sku: string | null;
  used: boolean;
  counterpart_sku: string | null;
  unit_cost_minor: number | null;
};
type LineKey = Pick<StoreLine, "order_id" | "line_id">;
export type StoreEvent = LineKey & {
  event_number: number;
  lag_days: number;
  occurred_on: string;
  reason: string | null;
  returned_units: number;
  refunded_units: number;
  restocked_units: number;
  refund_minor: number;
};
export type StoreRequest = LineKey & { return_id: string; status: string; units: number };
export type StoreShare = LineKey & {
  source: string;
  label_id: string;
  lag_days: number;
  label_minor: number;
};
export type StoreLabel = {
  source: string;
  label_id: string;
  charged_at: string;
  amount_minor: number;
  currency_code: string;
  voided_at: string | null;
};

/** A store at the grain of the fact tables, as rows to insert and as values to count by hand. */
export type ReportStore = {
  products: {
    product_gid: string;
    title: string;
    family: string | null;
    analytics_category: string | null;
  }[];
  skus: { sku: string; product_gid: string; used: boolean; counterpart_sku: string | null }[];
  lines: StoreLine[];
  events: StoreEvent[];
  requests: StoreRequest[];
  shares: StoreShare[];
  labels: StoreLabel[];
  saleEvents: { slug: string; label: string; starts_on: string; ends_on: string; skus: string[] | null }[];
};

export const primaryWindowDays = 45;

/** An admitted workspace with the given key; label costs are usable unless stated otherwise. */
export function reportWorkspace(shopKey: number, asOf: string, change: Partial<Workspace> = {}): Workspace {
  const lastSyncedAt = new Date(asOf);
  return {
    shopKey,
    organizationId: "org",
    shopId: "shop",
    shopDomain: `shop-${shopKey}.example`,
    currencyCode: "EUR",
    entitlements: ["api_access", "data_export"],
    primaryWindowDays,
    minSoldUnits: 20,
    visibleCardSize: 10,
    dataVersion: 1,
    dataAsOf: lastSyncedAt,
    asOfDay: Math.floor(lastSyncedAt.getTime() / 86_400_000),
    sources: [
      { source: "csv", kind: "store", status: "ok", currencyCode: null, lastSyncedAt },
      { source: "csv-labels", kind: "label_cost", status: "ok", currencyCode: "EUR", lastSyncedAt },
    ],
    ...change,
  } as Workspace;
}

/** Writes a store's rows and prepares answers from them. */
export async function insertReportStore(
  database: Database,
  shopKey: number,
  store: ReportStore,
): Promise<void> {
  const run = (text: string, values: unknown[]) => database.rows({ name: "", text }, values);
  await run(
    `insert into workspace (shop_key, organization_id, shop_id, shop_domain, currency_code, plan_key, readiness,
       primary_window_days) values ($1, 'org', 'shop', $2, 'EUR', 'enterprise', 'ready', $3)`,
    [shopKey, `shop-${shopKey}.example`, primaryWindowDays],
  );
  const groups = store.products.flatMap((product) => [
    { type: "family", key: product.family },
    { type: "analytics_category", key: product.analytics_category },
  ]);
  const entities = [
    ...new Set(groups.filter((group) => group.key !== null).map((group) => JSON.stringify(group))),
  ]
    .map((text) => JSON.parse(text) as { type: string; key: string })
    .map(({ type, key }) => ({
      type_rank: 3,
      label: key,
      entity_key: key,
      product_group_type: type,
      search_text: key,
    }));
  const tables = {
    product: store.products.map((row) => ({ ...row, from_lines: false })),
    sku: store.skus.map(({ sku, product_gid, used }) => ({ sku, product_gid, used, from_lines: false })),
    entity: entities,
    order_line: store.lines,
    return_event: inMonth(store, store.events).map((row) => ({ ...row, ...ALL_REFUNDED })),
    return_request: inMonth(store, store.requests),
    label_share: inMonth(store, store.shares),
    return_label: store.labels,
    sale_event: store.saleEvents,
  };
  for (const [table, rows] of Object.entries(tables)) {
    await run(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [
      JSON.stringify(rows.map((row) => ({ ...row, shop_key: shopKey }))),
    ]);
  }
  await database.transaction(async (connection) =>
    rebuildCohorts(connection, shopKey, await listCohortMonths(connection, shopKey)),
  );
}

/** Outcomes of events (M23), which such a store has none of but refunds. */
const ALL_REFUNDED = { exchanged_units: 0, other_units: 0, exchange_refund_minor: 0, kept_minor: 0 };

/** Facts with the cohort month of their line. */
function inMonth<Fact extends LineKey>({ lines }: ReportStore, facts: readonly Fact[]) {
  const months = new Map(lines.map((line) => [`${line.order_id} ${line.line_id}`, line.cohort_month]));
  return facts.map((fact) => ({ ...fact, cohort_month: months.get(`${fact.order_id} ${fact.line_id}`) }));
}
