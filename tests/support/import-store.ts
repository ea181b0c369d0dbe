import assert from "node:assert/strict";
import { OPERATOR } from "../../src/actions/actor.ts";
import { importFolder } from "../../src/sync/connectors/csv/import-folder.ts";
import { USUAL_SETTINGS, type StoreFiles, type StoreSettings } from "../oracle/store.ts";
import type { CalledAnswer, CallOptions, TestService } from "./service.ts";
import { withStoreFolder } from "./store-folder.ts";
import { changePlan, changeWorkspace, createTenant, type Tenant } from "./tenants.ts";

export type StoreTenant = Tenant & {
  /** Asks the service with the workspace's token. */
  ask: (path: string, params?: CallOptions["params"]) => Promise<CalledAnswer>;
};

/** A workspace without data and without a daily limit, with the usual or given settings. */
export async function createStoreTenant(
  service: TestService,
  own: Partial<StoreSettings> = {},
): Promise<StoreTenant> {
  const { database } = service;
  const settings = { ...USUAL_SETTINGS, min_sold_units: 20, ...own };
  const tenant = await createTenant(database, {
    currencyCode: settings.currency_code,
    dailyQuota: null,
    dataAsOf: null,
    readiness: "installing",
  });
  await changeWorkspace(database, tenant, {
    primary_window_days: settings.primary_window_days,
    min_sold_units: settings.min_sold_units,
    visible_card_size: settings.visible_card_size,
  });
  await setFullLeaderboards(service, tenant, settings.full_leaderboards);
  const { token } = tenant;
  return { ...tenant, ask: (path, params = {}) => service.call(path, { token, params, isUnlimited: true }) };
}

/** A workspace that holds a store as of a time: the two steps of this file. */
export async function createStore(
  service: TestService,
  { asOf, files, ...own }: Partial<StoreSettings> & { asOf: string; files: StoreFiles },
): Promise<StoreTenant> {
  const tenant = await createStoreTenant(service, own);
  await importStore(service, tenant, { currencyCode: own.currency_code ?? "EUR", asOf, files });
  return tenant;
}

/** Whether the tenant's plan may see whole rankings. */
export async function setFullLeaderboards(
  service: TestService,
  tenant: Tenant,
  full: boolean,
): Promise<void> {
  const entitlements = ["api_access", "data_export", ...(full ? ["full_leaderboards"] : [])];
  await changePlan(service.database, tenant, { entitlements });
}

/** Test stores have fixed dates, independent of the day of the run. */
const AFTER_EVERY_ORDER = new Date("2100-01-01T00:00:00Z");

/** Imports the rows as a folder, into a workspace in euros unless told otherwise; every row must be usable. */
export async function importStore(
  service: TestService,
  tenant: Tenant,
  { currencyCode = "EUR", asOf, files }: { currencyCode?: string; asOf: string; files: StoreFiles },
): Promise<void> {
  const { invalid } = await withStoreFolder(files, (folder) =>
    importFolder({
      actor: OPERATOR,
      database: service.installation.database,
      shopKey: tenant.shopKey,
      currencyCode,
      folder,
      asOf: new Date(asOf),
      now: AFTER_EVERY_ORDER,
      skipInvalid: false,
    }),
  );
  assert.deepEqual(invalid, []);
}
