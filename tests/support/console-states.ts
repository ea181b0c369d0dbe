import { ENTITLEMENTS } from "../../src/contract/endpoint.ts";
import { makeUserLink, signInAs } from "./console-person.ts";
import type { TestService } from "./service.ts";
import { createSmallStore } from "./small-store.ts";
import { createTenant } from "./tenants.ts";
import type { Tenant, TenantOptions } from "./tenants.ts";

/** A state in which pages can be: where it is seen, and with which status. */
export type PageState = { name: string; path: string; status: number };

const STORE_MONTHS = "start_month=2025-06&end_month=2026-05";
const ONE_MONTH = "start_month=2026-05&end_month=2026-05";
const OPEN_MONTHS = "start_month=2025-06&end_month=2026-06&include_incomplete=true";
const LONG_WORDS = "Hand-finished double-faced Donaudampfschifffahrtsgesellschaftskapitänsmütze ".repeat(4);

/** Makes workspaces in every state that occurs, and a person who is a member of all of them. */
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
  const at = (name: keyof typeof tenants, path: string): string => `/w/${tenants[name].shopDomain}${path}`;
  const ofMember = [
    ...["installing", "backfilling", "reconnecting"].map((readiness) => ({
      name: `not ready: ${readiness}`,
      path: at(readiness as keyof typeof tenants, ""),
      status: 409,
    })),
    { name: "billing inactive", path: at("unpaid", "/report"), status: 403 },
    ...["", "/report", "/cohorts", "/products", "/sale-events"].map((path) => ({
      name: `no complete month: ${path}`,
      path: at("empty", path),
      status: 200,
    })),
    { name: "no product", path: at("empty", "/products?type=product"), status: 200 },
    { name: "no alert", path: at("empty", "/alerts"), status: 200 },
    { name: "open months in the report", path: at("store", `/report?${OPEN_MONTHS}`), status: 200 },
    { name: "open months in the cohorts", path: at("store", `/cohorts?${OPEN_MONTHS}`), status: 200 },
    { name: "few units", path: at("store", `/report?sku=HAT-1&${ONE_MONTH}`), status: 200 },
    {
      name: "the variants of a product",
      path: at("store", "/report?product_gid=gid%3A%2F%2Fshopify%2FProduct%2F1"),
      status: 200,
    },
    {
      name: "a breakdown",
      path: at("store", "/report?reportSection=breakdown&breakdownBy=sku"),
      status: 200,
    },
    { name: "a sale event", path: at("store", `/report?saleEvent=summer&${STORE_MONTHS}`), status: 200 },
    { name: "labels unusable", path: at("withoutLabels", "/report?reportSection=costs"), status: 200 },
    { name: "labels unusable in a ranking", path: at("withoutLabels", "/products"), status: 200 },
    { name: "failed sources", path: at("failed", "/products?breakdownBy=sku"), status: 200 },
    { name: "a ranking without files", path: at("withoutExport", "/products"), status: 200 },
    {
      name: "a product that is open",
      path: at("store", "/products?open=gid%3A%2F%2Fshopify%2FProduct%2F1"),
      status: 200,
    },
    {
      name: "a file that the plan lacks",
      path: at("withoutExport", `/export/report.csv?${STORE_MONTHS}`),
      status: 403,
    },
    { name: "nothing found", path: at("store", "/products?q=zebra"), status: 200 },
    { name: "long names in a ranking", path: at("longWords", "/products?breakdownBy=sku"), status: 200 },
    { name: "long names on the overview", path: at("longWords", ""), status: 200 },
    { name: "long names in the catalogue", path: at("longWords", "/products?type=all"), status: 200 },
    {
      name: "bad input with its fields",
      path: at("store", "/products?start_month=2026-13&end_month=2026-02&vendor=Nobody"),
      status: 400,
    },
    {
      name: "bad input in the report",
      path: at("store", "/report?start_month=2026-13&end_month=2026-03"),
      status: 400,
    },
    { name: "bad input in the cohorts", path: at("store", "/cohorts?sku=GONE"), status: 400 },
    { name: "not found", path: at("store", "/nowhere"), status: 404 },
    { name: "another's workspace", path: "/w/stranger.example", status: 404 },
    { name: "the chooser", path: "/w", status: 200 },
  ];
  return {
    states: ofMember,
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

/** Every name that a merchant gives, as long as it gets. */
function renameEverything(): string {
  const words = `'${LONG_WORDS}'`;
  return `with
    products as (update product set title = ${words}, vendor = ${words} where shop_key = $1),
    skus as (update sku set product_title = ${words}, vendor = ${words} where shop_key = $1),
    entities as (update entity set label = ${words} || type_rank, product_title = ${words}, vendor = ${words} where shop_key = $1 and type_rank = 2),
    events as (update sale_event set label = ${words} where shop_key = $1)
    update alert set title = ${words}, body = ${words} where shop_key = $1`;
}
