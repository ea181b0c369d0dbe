import type pg from "pg";
import { listCohortMonths } from "../../src/store/queries/dirty-month.ts";
import { rebuildCohorts } from "../../src/sync/apply.ts";
import { openConnections } from "./database.ts";
import { dumpOf, ROLLUP_TABLES } from "./import-workspace.ts";
import { createTenant, createTokenOf, insertRows, type Tenant, type TenantOptions } from "./tenants.ts";

/** The months in which the small store sells. */
export const STORE_MONTHS = Array.from({ length: 18 }, (_, index) =>
  new Date(Date.UTC(2025, index, 1)).toISOString().slice(0, 7),
);

type Product = { gid: string; title: string; vendor: string | null; family: string; category: string };
type Sku = { sku: string; product: Product; isUsed: boolean; counterpart: string | null };

const jacket = product(1, "Crème Jacket", "Nordwind", "Outerwear", "Jackets");
const shirt = product(2, "Plain Shirt", "Südstern", "Tops", "Shirts");
const hat = product(3, "Hat", null, "Tops", "Hats");

export const SKUS: readonly Sku[] = [
  { sku: "HAT-1", product: hat, isUsed: false, counterpart: null },
  { sku: "JACKET-M", product: jacket, isUsed: false, counterpart: null },
  { sku: "JACKET-M-USED", product: jacket, isUsed: true, counterpart: "JACKET-M" },
  { sku: "JACKET-S", product: jacket, isUsed: false, counterpart: null },
  { sku: "SHIRT-M", product: shirt, isUsed: false, counterpart: null },
  { sku: "SHIRT-S", product: shirt, isUsed: false, counterpart: null },
];

function product(
  number: number,
  title: string,
  vendor: string | null,
  family: string,
  category: string,
): Product {
  return { gid: `gid://shopify/Product/${number}`, title, vendor, family, category };
}

const soldUnits = (skuIndex: number, monthIndex: number): number => 20 + skuIndex * 3 + (monthIndex % 4);
const returnedUnits = (skuIndex: number, monthIndex: number): number => 1 + ((skuIndex + monthIndex) % 5);
const REFUND_MINOR = 1999;
const LABEL_MINOR = 450;
const LAG_DAYS = 12;

const PLAN_REQUEST = {
  plan_key: "scale",
  reason: "We need the CSV.",
  asked_by: "owner",
  asked_at: "2026-06-30T12:00:00Z",
};

const UNMATCHED_LABEL = {
  source: "labels",
  label_id: "unmatched",
  charged_at: "2025-06-17T00:00:00Z",
  amount_minor: LABEL_MINOR,
  currency_code: "EUR",
};

/** Requests of a deleted token, on a day long ago. */
const USAGE_DETAIL = {
  day: "2026-01-01",
  token_id: "gone",
  endpoint: "summary",
  surface: "rest",
  outcome: "ok",
  requests: 1,
  quota_requests: 0,
};

/** Alerts of one workspace, of which every fourth is for one person. */
function alertRows() {
  return Array.from({ length: 12 }, (_, index) => ({
    alert_id: `alert-${String(index).padStart(2, "0")}`,
    event_key: `event-${index}`,
    recipient: index % 4 === 3 ? "user-1" : null,
    category: index % 2 === 0 ? "return_rate_watchlist" : "backfill_completed",
    severity: "warning",
    title: `Alert ${index}`,
    body: "What happened.",
    link_url: "https://app.example/alerts",
    link_label: "Open",
    metadata: { sku: "JACKET-M" },
    // Every three share an instant.
    created_at: `2026-06-0${1 + Math.floor(index / 3)}T08:00:00.123456Z`,
  }));
}

/** An endpoint without deliveries: its cursor is after every alert. */
function endpointRows() {
  return [
    {
      endpoint_id: crypto.randomUUID(),
      kind: "webhook",
      name: "an endpoint",
      shown_address: "https://receiver.example",
      sealed_secrets: "\\x00",
      severities: ["critical"],
      wakes: 0,
      failures: 0,
      created_at: "2026-07-01T05:00:00Z",
      created_by: "operator",
      cursor_at: "2099-01-01T00:00:00Z",
      cursor_id: "",
    },
  ];
}

/** An unfinished upload, with one part. */
function uploadRows() {
  const upload = { upload_id: crypto.randomUUID() };
  const bytes = "\\x6f";
  return {
    import_upload: [
      {
        ...upload,
        status: "sending",
        created_by: "owner",
        created_at: "2026-07-01T05:00:00Z",
        expires_at: "2100-01-01T00:00:00Z",
        files: [{ name: "products.csv", bytes: 1 }],
        as_of: "2026-07-01T00:00:00Z",
      },
    ],
    import_part: [
      { ...upload, file_name: "products.csv", part_number: 0, sha256: `\\x${"00".repeat(32)}`, bytes },
    ],
  };
}

/** A workspace that holds the small store. */
export async function createSmallStore(database: pg.Pool, options: TenantOptions = {}): Promise<Tenant> {
  const tenant = await createTenant(database, options);
  await seedSmallStore(database, tenant.shopKey);
  return tenant;
}

/**
 * A small store: three products, six SKUs (one used, one without a vendor), eighteen order months with returns, refunds
 * and labels, and at least one row in every table of a workspace.
 */
export async function seedSmallStore(database: pg.Pool, shopKey: number): Promise<void> {
  await insertTables(database, shopKey, { ...catalogueRows(), ...factRows() });
  await insertRollup(database, shopKey);
  await insertTables(database, shopKey, controlRows());
  await insertMember(database, shopKey);
  await insertApp(database, shopKey);
}

/** A member of the workspace. */
async function insertMember(database: pg.Pool, shopKey: number): Promise<void> {
  const person = { user_id: crypto.randomUUID(), name: `owner of ${shopKey}` };
  await insertRows(database, "console_user", [person]);
  await insertTables(database, shopKey, {
    workspace_member: [{ user_id: person.user_id, role: "owner" }],
    weekly_digest: [
      {
        user_id: person.user_id,
        address: "ada@shop.example",
        time_zone: "UTC",
        asked_at: "2026-07-01T05:00:00Z",
      },
    ],
    removed_member: [{ user_id: person.user_id, role: "viewer", removed_at: "2026-07-01T05:00:00Z" }],
  });
}

/** An app that a member allowed and that has never exchanged its code: no list shows it. */
async function insertApp(database: pg.Pool, shopKey: number): Promise<void> {
  const at = "2026-07-01T05:00:00Z";
  const { tokenId } = await createTokenOf(database, shopKey, { expiresAt: at });
  await database.query("update api_token set name = 'an app' where token_id = $1", [tokenId]);
  const hash = `\\x${"00".repeat(32)}`;
  await insertTables(database, shopKey, {
    oauth_grant: [
      {
        token_id: tokenId,
        client_hash: hash,
        redirect_uri: "https://chat.example/callback",
        code_hash: hash,
        code_challenge: "a".repeat(43),
        code_expires_at: at,
      },
    ],
  });
}

/** The rollups of every small store in a currency: computed once in a process, because they take longest. */
const rolledUp = new Map<string, Record<string, object[]>>();

async function insertRollup(database: pg.Pool, shopKey: number): Promise<void> {
  const { rows } = await database.query<{ currency: string }>(
    "select currency_code as currency from workspace where shop_key = $1",
    [shopKey],
  );
  const currency = rows[0]?.currency ?? "";
  const known = rolledUp.get(currency);
  if (known !== undefined) return insertTables(database, shopKey, known);
  await rollUp(database, shopKey);
  const found = await database.query<Record<string, object[]>>(dumpOf(ROLLUP_TABLES), [shopKey]);
  rolledUp.set(currency, found.rows[0] ?? {});
}

/** Rolls the facts up as every import does. */
async function rollUp(database: pg.Pool, shopKey: number): Promise<void> {
  const connections = openConnections(String(database.options.connectionString), { maxConnections: 1 });
  try {
    await connections.transaction(async (connection) =>
      rebuildCohorts(connection, shopKey, await listCohortMonths(connection, shopKey)),
    );
  } finally {
    await connections.close();
  }
}

async function insertTables(
  database: pg.Pool,
  shopKey: number,
  rowsByTable: Record<string, readonly object[]>,
): Promise<void> {
  for (const [table, rows] of Object.entries(rowsByTable)) {
    if (rows.length === 0) continue;
    await insertRows(
      database,
      table,
      rows.map((row) => ({ shop_key: shopKey, ...row })),
    );
  }
}

function catalogueRows() {
  return {
    product: [jacket, shirt, hat].map((row) => ({
      product_gid: row.gid,
      title: row.title,
      handle: row.title.toLowerCase(),
      vendor: row.vendor,
      family: row.family,
      analytics_category: row.category,
      image_url: `https://images.example/${row.title}.png`,
      image_alt: row.title,
      from_lines: false,
    })),
    variant: SKUS.map((row) => ({
      variant_id: `variant ${row.sku}`,
      product_gid: row.product.gid,
      sku: row.sku,
      title: row.sku,
      used: row.isUsed,
      counterpart_sku: row.counterpart,
      unit_cost_minor: 700,
    })),
    sku: SKUS.map((row) => ({
      sku: row.sku,
      product_gid: row.product.gid,
      product_title: row.product.title,
      vendor: row.product.vendor,
      used: row.isUsed,
      unit_cost_minor: 700,
      from_lines: false,
    })),
    entity: entityRows(),
  };
}

function entityRows() {
  const group = (type: string, key: string) =>
    entity(3, key, key, type, { subtitle: type, search_text: key.toLowerCase() });
  return [
    ...SKUS.map(({ sku, product: { gid, title, vendor } }) =>
      entity(1, sku, sku, "", {
        subtitle: title,
        product_gid: gid,
        sku,
        product_title: title,
        vendor,
        search_text: `${sku}\n${title}\n${vendor}`.toLowerCase(),
      }),
    ),
    ...[jacket, shirt, hat].map(({ gid, title, vendor }) =>
      entity(2, title, gid, "", {
        subtitle: vendor,
        product_gid: gid,
        product_title: title,
        vendor,
        search_text: `${title}\n${vendor}`.toLowerCase(),
      }),
    ),
    ...["Outerwear", "Tops"].map((key) => group("family", key)),
    ...["Hats", "Jackets", "Shirts"].map((key) => group("analytics_category", key)),
  ];
}

function entity(
  rank: number,
  label: string,
  key: string,
  groupType: string,
  rest: Record<string, string | null>,
) {
  return {
    type_rank: rank,
    label,
    entity_key: key,
    product_group_type: groupType,
    subtitle: null,
    product_gid: null,
    sku: null,
    product_title: null,
    vendor: null,
    search_text: "",
    ...rest,
  };
}

/** One order line per SKU and month; all its returns are on one day, inside every window. */
function factRows() {
  const lines = SKUS.flatMap((sku, skuIndex) =>
    STORE_MONTHS.map((month, monthIndex) => ({
      sku,
      month,
      key: { order_id: `order ${month} ${sku.sku}`, line_id: "line 1" },
      sold: soldUnits(skuIndex, monthIndex),
      returned: returnedUnits(skuIndex, monthIndex),
    })),
  );
  return {
    order_document: lines.map(({ key }) => ({ order_id: key.order_id, document: { id: key.order_id } })),
    order_line: lines.map(({ sku, month, key, sold }) => ({
      ...key,
      ordered_on: `${month}-05`,
      cohort_month: `${month}-01`,
      sold_units: sold,
      line_product_gid: sku.product.gid,
      line_variant_id: `variant ${sku.sku}`,
      line_sku: sku.sku,
      product_gid: sku.product.gid,
      sku: sku.sku,
      used: sku.isUsed,
      counterpart_sku: sku.isUsed ? sku.counterpart : null,
      unit_cost_minor: 700,
    })),
    return_event: lines.map(({ month, key, returned }) => ({
      ...key,
      cohort_month: `${month}-01`,
      event_number: 1,
      lag_days: LAG_DAYS,
      occurred_on: `${month}-17`,
      reason: "SIZE_TOO_SMALL",
      returned_units: returned,
      refunded_units: returned,
      restocked_units: returned,
      refund_minor: returned * REFUND_MINOR,
    })),
    booking_difference: lines.map(({ month, key }) => ({
      ...key,
      booked_on: `${month}-17`,
      step: "order_edits",
      units: 1,
    })),
    amount_refund: lines.map(({ month, key }) => ({
      order_id: key.order_id,
      refund_id: `refund of ${key.order_id}`,
      refunded_on: `${month}-17`,
      amount_minor: 1234,
    })),
    return_request: lines.map(({ month, key, returned }) => ({
      ...key,
      cohort_month: `${month}-01`,
      return_id: `return of ${key.order_id}`,
      status: "CLOSED",
      units: returned,
    })),
    order_reference: lines.map(({ key }) => ({
      order_id: key.order_id,
      order_name: `name of ${key.order_id}`,
    })),
    return_tracking: lines.map(({ key }) => ({
      order_id: key.order_id,
      return_id: `return of ${key.order_id}`,
      tracking_number: `tracking of ${key.order_id}`,
    })),
    return_label: [
      ...lines.map(({ month, key }) => ({
        source: "labels",
        label_id: `label of ${key.order_id}`,
        order_id: key.order_id,
        return_id: `return of ${key.order_id}`,
        source_order_id: key.order_id,
        source_return_id: `return of ${key.order_id}`,
        source_order_name: `name of ${key.order_id}`,
        tracking_number: `tracking of ${key.order_id}`,
        charged_at: `${month}-17T00:00:00Z`,
        amount_minor: LABEL_MINOR,
        currency_code: "EUR",
      })),
      UNMATCHED_LABEL,
    ],
    label_share: lines.map(({ month, key }) => ({
      ...key,
      cohort_month: `${month}-01`,
      source: "labels",
      label_id: `label of ${key.order_id}`,
      lag_days: LAG_DAYS,
      label_minor: LABEL_MINOR,
    })),
  };
}

function controlRows() {
  return {
    data_source: [
      {
        source: "labels",
        kind: "label_cost",
        status: "ok",
        currency_code: "EUR",
        last_synced_at: "2026-07-01T05:00:00Z",
      },
    ],
    sync_run: [
      {
        run_id: crypto.randomUUID(),
        source: "labels",
        kind: "incremental",
        requested_by: "schedule",
        started_at: "2026-07-01T05:00:00Z",
        error: "The source of this workspace did not answer.",
      },
    ],
    quiet_runs: [
      {
        source: "labels",
        kind: "incremental",
        day: "2026-07-01",
        runs: 3,
        first_at: "2026-07-01T02:00:00Z",
        last_at: "2026-07-01T04:00:00Z",
      },
    ],
    sync_request: [{ source: "labels", kind: "incremental", requested_by: "schedule" }],
    shop_account: [{ source: "labels", account: "an account" }],
    run_queue: [
      { source: "labels", kind: "label_cost", due_at: "2099-01-01T00:00:00Z", scheduled: [], asked: 1 },
    ],
    sync_record: [{ source: "labels", part: "labels", record_id: "record", record: "{}" }],
    pending_record: [{ source: "labels", kind: "order", record_id: "pending order" }],
    webhook_delivery: [{ source: "labels", webhook_id: "delivery", topic: "refunds/create" }],
    redacted_order: [{ order_id: "redacted order" }],
    daily_usage: [{ day: "2026-01-01", requests: 0 }],
    usage_detail: [USAGE_DETAIL],
    plan_request: [PLAN_REQUEST],
    dirty_cohort: [{ cohort_month: "2020-01-01" }],
    watchlist_entry: [{ entity_kind: "sku", entity_key: "JACKET-M" }],
    warning_episode: [
      {
        entity_kind: "sku",
        entity_key: "JACKET-M",
        started_on: "2020-01-01",
        latest_on: "2020-01-01",
        is_announced: true,
        has_warned: true,
        episode_id: "sku:JACKET-M:2020-01-01",
      },
    ],
    ...uploadRows(),
    audit_event: [{ audit_id: crypto.randomUUID(), actor: "owner", action: "import", detail: {} }],
    sale_event: [
      { slug: "summer", label: "Summer sale", starts_on: "2025-06-01", ends_on: "2025-06-10", skus: null },
      { slug: "hats", label: "Hat week", starts_on: "2025-09-01", ends_on: "2025-09-07", skus: ["HAT-1"] },
    ],
    alert: alertRows(),
    alert_endpoint: endpointRows(),
  };
}
