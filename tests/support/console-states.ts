import { SETTINGS } from "../../src/console/registry.ts";
import { ENTITLEMENTS } from "../../src/contract/endpoint.ts";
import { ROLES } from "../../src/contract/role.ts";
import { notifyMembers } from "../../src/store/queries/notice.ts";
import { actAs } from "./scene.ts";
import { makeUserLink, signInAs } from "./console-person.ts";
import type { TestService } from "./service.ts";
import { createSmallStore } from "./small-store.ts";
import { changeWorkspace, createTenant, createTokenOf, insertRows } from "./tenants.ts";
import type { Tenant, TenantOptions } from "./tenants.ts";
import { connectShop } from "./webhooks.ts";

/** A state of a page: its path, and its status. */
export type PageState = { name: string; path: string; status: number };

const STORE_MONTHS = "start_month=2025-06&end_month=2026-05";
const ONE_MONTH = "start_month=2026-05&end_month=2026-05";
const OPEN_MONTHS = "start_month=2025-06&end_month=2026-06&include_incomplete=true";
const FIRST_PRODUCT = "gid%3A%2F%2Fshopify%2FProduct%2F1";
const LONG_WORDS = "Hand-finished double-faced Donaudampfschifffahrtsgesellschaftskapitänsmütze ".repeat(4);

/** Creates workspaces in every state, and a person who is a member of all of them. */
export async function createPageStates(
  service: TestService,
  demo: Pick<Tenant, "shopDomain">,
): Promise<{ states: PageState[]; cookie: string; emptyCookie: string; smallStore: string }> {
  const tenants = {
    store: await createStore(service),
    installing: await createTenant(service.database, { readiness: "installing" }),
    backfilling: await createTenant(service.database, { readiness: "backfilling" }),
    reconnecting: await createTenant(service.database, { readiness: "reconnecting" }),
    unpaid: await createTenant(service.database, { billingStatus: "inactive" }),
    empty: await createTenant(service.database, { dataAsOf: null }),
    withoutLabels: await createStore(
      service,
      "delete from data_source where kind = 'label_cost' and shop_key = $1",
    ),
    failed: await createStore(
      service,
      "update data_source set status = case when kind = 'store' then 'failed' else 'disconnected' end where shop_key = $1",
    ),
    withoutExport: await createStore(service, null, {
      entitlements: ENTITLEMENTS.filter((name) => !["full_leaderboards", "data_export"].includes(name)),
    }),
    longWords: await createStore(service, renameEverything()),
  };
  for (const { shopDomain } of [demo, ...Object.values(tenants)]) {
    await makeUserLink(service, { name: "Onlooker", shopDomain });
  }
  const at = (of: keyof typeof tenants, path: string): string => `/w/${tenants[of].shopDomain}${path}`;
  const states: [name: string, of: keyof typeof tenants, path: string, status?: number][] = [
    ["not ready: installing", "installing", "", 409],
    ["not ready: backfilling", "backfilling", "", 409],
    ["not ready: reconnecting", "reconnecting", "", 409],
    ["billing inactive", "unpaid", "/report", 403],
    ["no complete month: ", "empty", ""],
    ["no complete month: /report", "empty", "/report"],
    ["no complete month: /cohorts", "empty", "/cohorts"],
    ["no complete month: /products", "empty", "/products"],
    ["no complete month: /sale-events", "empty", "/sale-events"],
    ["no product", "empty", "/products?type=product"],
    ["no alert", "empty", "/alerts"],
    ["open months in the report", "store", `/report?${OPEN_MONTHS}`],
    ["open months in the cohorts", "store", `/cohorts?${OPEN_MONTHS}`],
    ["few units", "store", `/report?sku=HAT-1&${ONE_MONTH}`],
    ["the variants of a product", "store", `/report?product_gid=${FIRST_PRODUCT}`],
    ["a breakdown", "store", "/report?reportSection=breakdown&breakdownBy=sku"],
    ["a sale event", "store", `/report?saleEvent=summer&${STORE_MONTHS}`],
    ["labels unusable", "withoutLabels", "/report?reportSection=costs"],
    ["labels unusable in a ranking", "withoutLabels", "/products"],
    ["failed sources", "failed", "/products?breakdownBy=sku"],
    ["a ranking without files", "withoutExport", "/products"],
    ["a product that is open", "store", `/products?open=${FIRST_PRODUCT}`],
    ["a file that the plan lacks", "withoutExport", `/export/report.csv?${STORE_MONTHS}`, 403],
    ["nothing found", "store", "/products?q=zebra"],
    ["long names in a ranking", "longWords", "/products?breakdownBy=sku"],
    ["long names on the overview", "longWords", ""],
    ["long names in the catalogue", "longWords", "/products?type=all"],
    [
      "bad input with its fields",
      "store",
      "/products?start_month=2026-13&end_month=2026-02&vendor=Nobody",
      400,
    ],
    ["bad input in the report", "store", "/report?start_month=2026-13&end_month=2026-03", 400],
    ["bad input in the cohorts", "store", "/cohorts?sku=GONE", 400],
    ["not found", "store", "/nowhere", 404],
  ];
  return {
    states: [
      ...states.map(([name, of, path, status = 200]) => ({ name, path: at(of, path), status })),
      { name: "another's workspace", path: "/w/stranger.example", status: 404 },
      { name: "the chooser", path: "/w", status: 200 },
    ],
    cookie: await signInAs(service, { name: "Onlooker" }),
    emptyCookie: await signInAs(service, { name: "Newcomer" }),
    smallStore: at("store", ""),
  };
}

async function createStore(
  { database }: TestService,
  change: string | null = null,
  options: TenantOptions = {},
): Promise<Tenant> {
  const tenant = await createSmallStore(database, options);
  if (change !== null) await database.query(change, [tenant.shopKey]);
  return tenant;
}

/** Gives everything that a merchant names a name of the greatest length. */
function renameEverything(): string {
  const words = `'${LONG_WORDS}'`;
  return `with
    products as (update product set title = ${words}, vendor = ${words} where shop_key = $1),
    skus as (update sku set product_title = ${words}, vendor = ${words} where shop_key = $1),
    entities as (update entity set label = ${words} || type_rank, product_title = ${words}, vendor = ${words} where shop_key = $1 and type_rank = 2),
    events as (update sale_event set label = ${words} where shop_key = $1)
    update alert set title = ${words}, body = ${words} where shop_key = $1`;
}

/** Pages of settings that show more than their path says. */
const SETTINGS_VIEWS = [
  "windows?primary_window_days=60&min_sold_units=5",
  "windows?primary_window_days=500&min_sold_units=x",
  "watchlist?q=jacket",
  "watchlist?type=sku&key=SHIRT-M",
  "sale-events?slug=summer",
  "sale-events?product_gid=gid%3A%2F%2Fshopify%2FProduct%2F2",
  "sources/shopify",
  "sources/shopify/progress",
  "sources/shopify/connect",
  "sources/loop",
  "sources/loop/connect",
  "sources/shipstation",
];

/** Pages of settings that depend on the state of the data. */
const STATE_PAGES = ["", "/windows", "/plan", "/watchlist", "/sale-events"];

/** Every page of settings of a workspace with all kinds of data, with the longest and most hostile texts that a source may send; and its owner, who also has workspaces in other states. */
export async function createSettings(
  service: TestService,
): Promise<{ pages: PageState[]; states: PageState[]; cookie: string }> {
  const { database } = service;
  const tenant = await createSmallStore(database);
  await changeWorkspace(database, tenant, { is_setup_open: "true" });
  await addTroubledSources(service, tenant);
  await database.query(
    "update cohort set return_reasons = array_fill($2::text, array[cardinality(return_reasons)]) where shop_key = $1",
    [tenant.shopKey, "A reason that takes many words: ".repeat(8)],
  );
  await addUsage(service, tenant);
  const ownerName = `Owner of ${"long".repeat(15)}`;
  const { cookie } = await actAs(service, tenant, "owner", ownerName);
  await actAs(service, tenant, "viewer", "Vera");
  await makeUserLink(service, { name: `Invited ${"long".repeat(15)}`, shopDomain: tenant.shopDomain });
  const { rows } = await database.query<{ user_id: string }>(
    "select user_id from workspace_member where shop_key = $1",
    [tenant.shopKey],
  );
  const people = rows.map(({ user_id: userId }) => userId);
  await sendNotice(service, tenant);
  const own = `/w/${tenant.shopDomain}`;
  const paths = [
    ...SETTINGS.map(({ path }) => path).filter((path) => !path.includes(":")),
    ...[...SETTINGS_VIEWS, ...people.map((userId) => `members/${userId}`), `tokens/${tenant.tokenId}`].map(
      (view) => `/settings/${view}`,
    ),
  ];
  const reasons = `${own}/report?${STORE_MONTHS}&reportSection=reasons`;
  const pages = [...paths.map((path) => own + path), own, reasons, "/w"];
  const states: string[] = [];
  for (const options of [{ readiness: "installing" }, { billingStatus: "inactive" }, { dataAsOf: null }]) {
    const { shopDomain } = await createTenant(database, options);
    await makeUserLink(service, { name: ownerName, shopDomain });
    states.push(...STATE_PAGES.map((page) => `/w/${shopDomain}/settings${page}`));
  }
  const at = (path: string): PageState => ({
    name: path,
    path,
    status: path.includes("_days=500") ? 400 : 200,
  });
  return { pages: pages.map(at), states: states.map(at), cookie };
}

const LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmütze".repeat(3);
const HOSTILE = `<img src=x onerror="document.title='taken'">`;

async function addTroubledSources(service: TestService, { shopKey }: Tenant): Promise<void> {
  const { database } = service;
  await connectShop(service, shopKey, `s-${shopKey}.myshopify.com`);
  await database.query(
    `update data_source set status = 'failed', last_error = $2 where shop_key = $1 and source = 'shopify'`,
    [shopKey, `${HOSTILE} ${LONG}`],
  );
  await database.query(
    `insert into data_source (shop_key, source, kind, is_connection, status, last_error, sealed_credentials, settings)
     values ($1, 'loop', 'label_cost', true, 'disconnected', $2, 'x', '{}')`,
    [shopKey, HOSTILE],
  );
  await insertRows(
    database,
    "sync_run",
    ["succeeded", "failed", "interrupted", "running"].map((status, index) => ({
      shop_key: shopKey,
      run_id: `00000000-0000-7000-8000-00000000000${index}`,
      source: "shopify",
      kind: "backfill",
      requested_by: "connect",
      status,
      attempt: index + 1,
      started_at: new Date(Date.UTC(2026, 6, 1, 0, index)),
      finished_at: status === "running" ? null : new Date(Date.UTC(2026, 6, 1, 1, index)),
      stage: "orders",
      done: 1200,
      total: 5000,
      counts: { orders: 1200, changed_orders: 3 },
      notes: [`${LONG} ${HOSTILE}`],
      error: status === "failed" ? `${HOSTILE} ${LONG}` : null,
    })),
  );
}

/** Thirty days with a token that ends soon, one that has ended, and every kind of request. */
async function addUsage({ database }: TestService, { shopKey, tokenId }: Tenant): Promise<void> {
  const onDay = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
  await createTokenOf(database, shopKey, { expiresAt: onDay(9) });
  await createTokenOf(database, shopKey, { revokedAt: onDay(-1) });
  const row = { shop_key: shopKey, token_id: tokenId };
  for (let ago = 0; ago < 30; ago += 1) {
    const day = onDay(-ago).slice(0, 10);
    const ok = { endpoint: "return-rate-leaderboard", surface: "rest", outcome: "ok" };
    const limited = { endpoint: "alerts", surface: "mcp", outcome: "rate_limited" };
    const requests = 90 + 20 * ago;
    await insertRows(database, "daily_usage", [{ shop_key: shopKey, day, requests: requests + 10 }]);
    await insertRows(database, "usage_detail", [
      { ...row, day, ...ok, requests, quota_requests: requests },
      { ...row, day, ...limited, requests: 7, quota_requests: 0 },
    ]);
  }
}

/** A notice in the console of every member of a workspace. */
export async function sendNotice(
  { installation }: Pick<TestService, "installation">,
  { shopKey }: Pick<Tenant, "shopKey">,
): Promise<void> {
  await installation.database.transaction((connection) =>
    notifyMembers(connection, shopKey, ROLES, {
      event: "test",
      category: "token_expiry",
      severity: "warning",
      title: "A token expires in 14 days",
      body: "Replace it before.",
      linkPath: "/settings/tokens",
      linkLabel: "See the tokens",
    }),
  );
}
