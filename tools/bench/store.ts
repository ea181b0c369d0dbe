import { createToken } from "../../src/access/token.ts";
import { SCOPES } from "../../src/contract/endpoint.ts";
import { REFUND_ONLY, UNSPECIFIED } from "../../src/metrics/returned-units.ts";
import type { Connection, Database, Queryable } from "../../src/store/database.ts";
import { listCohortMonths } from "../../src/store/queries/dirty-month.ts";
import { createStage } from "../../src/store/queries/import-stage.ts";
import { publishImport, putLabelSource, putStoreSource } from "../../src/store/queries/publish.ts";
import { analyzeTable, FACT_TABLES } from "../../src/store/queries/statistics.ts";
import { insertToken } from "../../src/actions/tokens/queries.ts";
import { reserveDomain, insertWorkspace } from "../../src/actions/workspace/queries.ts";
import { deriveCatalogue } from "../../src/sync/catalogue.ts";
import { rebuildCohorts } from "../../src/sync/apply.ts";
import type { LoadRequest } from "./servers.ts";

/** The stores of the benchmarks. */
export type StoreKind = "typical" | "whale" | "crowd";

/** The size of one workspace's store. */
export type BenchStorePlan = {
  lines: number;
  skus: number;
  families: number;
  categories: number;
  vendors: number;
  /** The same seed gives the same rows. */
  seed: number;
};

const FIRST_MONTH = "2023-01";
const LAST_MONTH = "2025-12";
/** All months but the last are complete for the primary window of 30 days (M5). */
const AS_OF = new Date("2026-01-01T06:00:00Z");
const CURRENCY = "USD";

/** A plan with a daily quota, so that every request is counted; no run uses it up. */
const COUNTED_PLAN = "bench";
const ADD_PLAN = {
  name: "bench_add_plan",
  text: `insert into plan (plan_key, entitlements, daily_quota)
         values ($1, '{api_access,data_export,full_leaderboards}', 2000000000)`,
};

/** Adds the plan of the stores to a migrated database. */
export async function addCountedPlan(database: Database): Promise<void> {
  await database.rows(ADD_PLAN, [COUNTED_PLAN]);
}

/** How many workspaces the crowd has. */
const CROWD_WORKSPACES = 1000;

const TYPICAL = { lines: 60_000, skus: 500, families: 10, categories: 6, vendors: 12, seed: 1 };
const WHALE = { lines: 6_000_000, skus: 20_000, families: 40, categories: 20, vendors: 60, seed: 1 };

/** The crowd consists of typical stores. */
function planOf(kind: StoreKind, change: Partial<BenchStorePlan>): BenchStorePlan {
  return { ...(kind === "whale" ? WHALE : TYPICAL), ...change };
}

/** Small stores: a thousand of them are loaded in minutes. */
export const SMALL_STORE = { lines: 1000, skus: 20, families: 4, categories: 3, vendors: 4 };

type StoreOptions = {
  kind: StoreKind;
  /** That of the installation that will serve the store. */
  tokenPepper: Buffer;
  /** Changes the kind's size or seed. */
  change?: Partial<BenchStorePlan>;
  /** Only for a crowd; default 1000. */
  workspaces?: number;
  tell: (line: string) => void;
};

export type LoadedStore = {
  kind: StoreKind;
  plan: BenchStorePlan;
  /** The first of a crowd is the original, the others are copies. */
  workspaces: [LoadedWorkspace, ...LoadedWorkspace[]];
  /** The entities with the most lines, which are the most expensive to query. */
  examples: Record<"sku" | "productGid" | "family" | "vendor", string>;
};

/**
 * Loads a store into a migrated database: catalogue, facts, rollups, a token for each workspace. There are no order
 * documents, so `rebuild` would empty it. The same options give the same rows. In one transaction, except for the crowd's copies.
 */
export async function loadStore(database: Database, options: StoreOptions): Promise<LoadedStore> {
  const { kind, tokenPepper, tell } = options;
  const plan = planOf(kind, options.change ?? {});
  const original = await database.transaction((connection) =>
    loadWorkspace(connection, plan, `${kind}.example`, { tokenPepper, tell }),
  );
  const copies =
    kind === "crowd"
      ? await copyWorkspace(database, original, (options.workspaces ?? CROWD_WORKSPACES) - 1, options)
      : [];
  await analyzeFacts(database, original.shopKey);
  await database.rows(WRITE_TO_DISK, []);
  return {
    kind,
    plan,
    workspaces: [original, ...copies],
    examples: {
      sku: "SK000000",
      productGid: "gid://shopify/Product/7000000000000",
      family: "Family 00",
      vendor: "Vendor 00",
    },
  };
}

export const MONTHS = { start_month: "2025-01", end_month: "2025-11" };

export function ask(token: string, path: string, parameters: Record<string, string>): LoadRequest {
  const query = new URLSearchParams(parameters).toString();
  return { path: `${path}?${query}`, token };
}

/** The summary of the best-selling SKU, once for each workspace. */
export function summariesOf({ workspaces, examples: { sku } }: LoadedStore): LoadRequest[] {
  return workspaces.map(({ token }) => ask(token, "/api/v1/summary", { ...MONTHS, sku }));
}

async function analyzeFacts(database: Queryable, shopKey: number): Promise<void> {
  for (const table of FACT_TABLES) await analyzeTable(database, shopKey, table);
}

/** Otherwise the server would write the loaded pages in the following minutes, while requests are measured. */
const WRITE_TO_DISK = { name: "bench_write_to_disk", text: "checkpoint" };

async function loadWorkspace(
  connection: Connection,
  plan: BenchStorePlan,
  domain: string,
  { tokenPepper, tell }: Pick<StoreOptions, "tokenPepper" | "tell">,
): Promise<LoadedWorkspace> {
  const workspace = await addWorkspace(connection, domain, tokenPepper);
  const { shopKey } = workspace;
  tell(`Writing ${plan.lines.toLocaleString("en")} order lines of ${domain}.`);
  await writeStoreLines(connection, shopKey, plan);
  await analyzeFacts(connection, shopKey);
  tell("Deriving the catalogue.");
  await createStage(connection);
  await deriveCatalogue(connection, shopKey, await listCatalogue(connection, shopKey));
  tell("Preparing the answers.");
  await rebuildCohorts(connection, shopKey, await listCohortMonths(connection, shopKey));
  await openWorkspace(connection, shopKey);
  return workspace;
}

/** Products and SKUs from the catalogue alone, since every line names ones that are in it. */
async function listCatalogue({ client }: Connection, shopKey: number) {
  const keysOf = async (select: string): Promise<Set<string>> => {
    const { rows } = await client.query<{ key: string }>(select, [shopKey]);
    return new Set(rows.map(({ key }) => key));
  };
  return {
    products: await keysOf("select product_gid as key from product where shop_key = $1"),
    skus: await keysOf("select sku as key from variant where shop_key = $1"),
  };
}

type LoadedWorkspace = { shopKey: number; shopDomain: string; token: string };

/** A workspace without data, with one token of all scopes. */
async function addWorkspace(
  connection: Connection,
  domain: string,
  tokenPepper: Buffer,
): Promise<LoadedWorkspace> {
  const shopKey = await reserveDomain(connection, domain, new Date());
  if (shopKey === null) throw new Error(`the database already has a workspace for ${domain}`);
  await insertWorkspace(connection, shopKey, {
    organizationId: `org_${shopKey}`,
    shopId: `shop_${shopKey}`,
    shopDomain: domain,
    currencyCode: CURRENCY,
    planKey: COUNTED_PLAN,
    isSetupOpen: false,
  });
  const { token, tokenId, secretHash } = createToken(shopKey, tokenPepper);
  await insertToken(connection, shopKey, {
    tokenId,
    name: "bench",
    secretHash,
    scopes: SCOPES,
    createdBy: "bench",
    expiresAt: null,
    replaces: null,
    requestKey: null,
  });
  return { shopKey, shopDomain: domain, token };
}

/** Makes a workspace ready, with synced sources. Its labels are already loaded. */
async function openWorkspace(connection: Connection, shopKey: number): Promise<void> {
  await putStoreSource(connection, shopKey, "csv", AS_OF);
  await putLabelSource(connection, shopKey, "csv_labels", AS_OF, CURRENCY);
  await publishImport(connection, shopKey, AS_OF, true, true);
}

/** The catalogue and the rollups, from which all requests are answered: copies have no facts. */
const COPIED =
  "product variant sku entity cohort listing sku_quarter sku_year group_day unmatched_label".split(" ");
const WORKSPACES_PER_TRANSACTION = 20;

/** Copies a loaded workspace into `count` new ones, each with its own token. */
async function copyWorkspace(
  database: Database,
  original: LoadedWorkspace,
  count: number,
  { tokenPepper, tell }: Pick<StoreOptions, "tokenPepper" | "tell">,
): Promise<LoadedWorkspace[]> {
  const copies: LoadedWorkspace[] = [];
  while (copies.length < count) {
    const first = copies.length;
    const size = Math.min(WORKSPACES_PER_TRANSACTION, count - first);
    const made = await database.transaction(async (connection) => {
      await connection.client.query("set local synchronous_commit = off");
      const workspaces: LoadedWorkspace[] = [];
      for (let number = first; number < first + size; number += 1) {
        const domain = `copy-${number + 1}.${original.shopDomain}`;
        workspaces.push(await addWorkspace(connection, domain, tokenPepper));
      }
      const shopKeys = workspaces.map(({ shopKey }) => shopKey);
      for (const table of COPIED) {
        await connection.client.query(await copyStatement(database, table), [shopKeys, original.shopKey]);
      }
      for (const shopKey of shopKeys) await openWorkspace(connection, shopKey);
      return workspaces;
    });
    copies.push(...made);
    tell(`Copied ${copies.length} of ${count} workspaces.`);
  }
  return copies;
}

/** Copies are written one after another, so that all indexes grow at their end. */
async function copyStatement(database: Database, table: string): Promise<string> {
  const rows = await database.rows<{ column_name: string }>(LIST_COLUMNS, [table]);
  const columns = rows.map((row) => row.column_name).join(", ");
  const values = rows.map((row) => `o.${row.column_name}`).join(", ");
  return `insert into ${table} (shop_key, ${columns})
          select n.shop_key, ${values}
            from unnest($1::bigint[]) n (shop_key)
           cross join lateral (select * from ${table} t where t.shop_key = $2) o`;
}

const LIST_COLUMNS = {
  name: "bench_list_columns",
  text: `select column_name from information_schema.columns
          where table_schema = 'public' and table_name = $1 and column_name <> 'shop_key' order by ordinal_position`,
};

const SKUS_PER_PRODUCT = 4;

/**
 * Writes the catalogue and the facts of one workspace as the projection would, without order documents: a few SKUs sell
 * most, sales grow, each SKU has its own return rate (6–31 %), most returns come in the first weeks. All numbers are
 * hashes of row numbers and the plan's seed.
 */
async function writeStoreLines(connection: Connection, shopKey: number, plan: BenchStorePlan): Promise<void> {
  const { client } = connection;
  await client.query("set local synchronous_commit = off; set local work_mem = '128MB'");
  await client.query(makeSkus(plan));
  await client.query(makeLines(plan));
  await client.query(makeReturns(plan));
  await client.query("analyze bench_sku, bench_line, bench_return");
  for (const statement of [...catalogueRows(shopKey), ...factRows(shopKey)]) await client.query(statement);
  await client.query("drop table bench_sku, bench_line, bench_return");
}

function makeSkus({ skus, families, categories, vendors, seed }: BenchStorePlan): string {
  return `create temp table bench_sku as
    select n, product, 'SK' || lpad(n::text, 6, '0') as sku, 'gid://shopify/Product/' || 7000000000000 + product as product_gid,
           (4000000000000 + n)::text as variant_id, 'Product ' || product as product_title,
           (array['S', 'M', 'L', 'XL'])[1 + n % ${SKUS_PER_PRODUCT}] as variant_title,
           'Vendor ' || lpad((product % ${vendors})::text, 2, '0') as vendor,
           'Family ' || lpad((product % ${families})::text, 2, '0') as family,
           'Category ' || lpad((product % ${categories})::text, 2, '0') as category,
           n % 20 = 19 as used, case when n % 20 = 19 then 'SK' || lpad((n - 1)::text, 6, '0') end as counterpart_sku,
           price_minor, case when (h >> 20 & 1023) < 920 then price_minor * 2 / 5 end as unit_cost_minor,
           0.06 + 0.25 * (h >> 32 & 1023) / 1024.0::float8 as return_rate
      from (select n, n / ${SKUS_PER_PRODUCT} as product, h, 900 + (h & 16383)::integer as price_minor
              from generate_series(0, ${skus - 1}) n, hashint8extended(n, ${seed}) h) s`;
}

/** One to three lines an order, ordered by time. */
function makeLines({ lines, skus, seed }: BenchStorePlan): string {
  const days = `(date '${LAST_MONTH}-01' + interval '1 month')::date - date '${FIRST_MONTH}-01'`;
  return `create temp table bench_line as
    select i, 5000000000000 + o as order_number,
           date '${FIRST_MONTH}-01' + floor((${days}) * power(o / ${Math.ceil(lines / 2) + 3}::float8, 0.8))::integer as ordered_on,
           floor(${skus} * power((h & 16777215) / 16777216.0::float8, 2.2))::integer as sku_number,
           case when (h >> 24 & 1023) < 5 then 0 when (h >> 24 & 1023) < 870 then 1
                when (h >> 24 & 1023) < 980 then 2 else 3 end as sold_units,
           (h >> 34 & 65535) / 65536.0::float8 as chance, hashint8extended(i, ${seed + 1}) as h
      from (select i, i / 6 * 3 + (array[0, 1, 1, 2, 2, 2])[1 + i % 6] as o, hashint8extended(i, ${seed}) as h
              from generate_series(0::bigint, ${lines - 1}) i) l`;
}

/**
 * One row per line with a return or a return request. `kind`: refund_only; at_once (closed and refunded on the same
 * day); later (refunded days after); unrefunded (closed, an exchange); asked (an open request).
 */
function makeReturns({ seed }: BenchStorePlan): string {
  return `create temp table bench_return as
    select r.*, case when kind in ('at_once', 'refund_only') then returned_on
                     when kind = 'later' then returned_on + 1 + (h2 & 7)::integer end as refunded_on,
           least(sold_units, 1 + ((h2 >> 3 & 15) < 4)::integer) as units,
           (array['SIZE_TOO_SMALL', 'SIZE_TOO_SMALL', 'SIZE_TOO_LARGE', 'UNWANTED', 'UNWANTED', 'DEFECTIVE',
                  'NOT_AS_DESCRIBED', '${UNSPECIFIED}'])[1 + (h2 >> 7 & 7)] as reason,
           (h2 >> 10 & 15) < 12 as is_restocked,
           case when kind not in ('refund_only', 'asked') and (h2 >> 14 & 15) < 11 then 450 + (h2 >> 18 & 511)::integer end as label_minor
      from (select l.*, s.price_minor, hashint8extended(i, ${seed + 2}) as h2,
                   ordered_on + 2 + floor(-18 * ln(1 - 0.998 * (l.h & 65535) / 65536.0::float8))::integer as returned_on,
                   case when chance >= return_rate then 'asked' when (l.h >> 16 & 1023) < 205 then 'refund_only'
                        when (l.h >> 16 & 1023) < 563 then 'at_once' when (l.h >> 16 & 1023) < 870 then 'later'
                        else 'unrefunded' end as kind
              from bench_line l join bench_sku s on s.n = l.sku_number
             where sold_units > 0 and chance < return_rate + 0.02) r
     where returned_on <= date '${AS_OF.toISOString().slice(0, 10)}'`;
}

function catalogueRows(shopKey: number): string[] {
  return [
    `insert into product (shop_key, product_gid, title, handle, vendor, family, analytics_category, image_url)
     select ${shopKey}, product_gid, min(product_title), 'product-' || product, min(vendor), min(family), min(category),
            'https://images.example/' || product || '.png'
       from bench_sku group by product, product_gid`,
    `insert into variant (shop_key, variant_id, product_gid, sku, title, used, counterpart_sku, unit_cost_minor)
     select ${shopKey}, variant_id, product_gid, sku, variant_title, used, counterpart_sku, unit_cost_minor from bench_sku`,
  ];
}

const REFUNDED = "refunded_on is not null and refunded_on <= date '" + AS_OF.toISOString().slice(0, 10) + "'";
const COHORT_MONTH = "date_trunc('month', ordered_on::timestamp)::date";
const LINE_KEY = "order_number::text, (13000000000000 + i)::text";

function factRows(shopKey: number): string[] {
  return [
    `insert into order_line (shop_key, order_id, line_id, ordered_on, cohort_month, sold_units, line_product_gid,
                             line_variant_id, line_sku, line_title, line_vendor, product_gid, sku, used, counterpart_sku,
                             unit_cost_minor)
     select ${shopKey}, ${LINE_KEY}, ordered_on, date_trunc('month', ordered_on::timestamp)::date, sold_units, product_gid,
            variant_id, sku, product_title, vendor, product_gid, sku, used,
            case when used then counterpart_sku end, unit_cost_minor
       from bench_line l join bench_sku s on s.n = l.sku_number order by i`,
    `insert into return_event (shop_key, order_id, line_id, event_number, cohort_month, lag_days, occurred_on, reason,
                               returned_units, refunded_units, restocked_units, refund_minor)
     select ${shopKey}, ${LINE_KEY}, 0, ${COHORT_MONTH}, returned_on - ordered_on, returned_on,
            case kind when 'refund_only' then '${REFUND_ONLY}' else reason end, units,
            case when is_refunded then units else 0 end, case when is_refunded and is_restocked then units else 0 end,
            case when is_refunded then units * price_minor else 0 end
       from (select *, kind in ('at_once', 'refund_only') as is_refunded from bench_return where kind <> 'asked') r order by i`,
    `insert into return_event (shop_key, order_id, line_id, event_number, cohort_month, lag_days, occurred_on, reason,
                               returned_units, refunded_units, restocked_units, refund_minor)
     select ${shopKey}, ${LINE_KEY}, 1, ${COHORT_MONTH}, refunded_on - ordered_on, refunded_on, null, 0, units,
            case when is_restocked then units else 0 end, units * price_minor
       from bench_return where kind = 'later' and ${REFUNDED} order by i`,
    `insert into return_request (shop_key, order_id, line_id, return_id, cohort_month, status, units)
     select ${shopKey}, ${LINE_KEY}, (9000000000000 + i)::text, ${COHORT_MONTH},
            case kind when 'asked' then (array['REQUESTED', 'OPEN', 'DECLINED', 'CANCELED'])[1 + (h2 >> 30 & 3)] else 'CLOSED' end,
            units
       from bench_return where kind <> 'refund_only' order by i`,
    `insert into return_label (shop_key, source, label_id, return_id, charged_at, amount_minor, currency_code)
     select ${shopKey}, 'csv_labels', 'L' || i, (9000000000000 + i)::text, returned_on, label_minor, '${CURRENCY}'
       from bench_return where label_minor is not null
      union all
     select ${shopKey}, 'csv_labels', 'U' || i, null, returned_on, label_minor, '${CURRENCY}'
       from bench_return where label_minor is not null and i % 100 = 0`,
    `insert into label_share (shop_key, order_id, line_id, source, label_id, cohort_month, lag_days, label_minor)
     select ${shopKey}, ${LINE_KEY}, 'csv_labels', 'L' || i, ${COHORT_MONTH}, returned_on - ordered_on, label_minor
       from bench_return where label_minor is not null order by i`,
  ];
}
