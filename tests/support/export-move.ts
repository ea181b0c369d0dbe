import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { readConfig } from "../../src/config.ts";
import { OPERATOR } from "../../src/actions/actor.ts";
import { exportIntoFolder } from "../../src/actions/workspace/export.ts";
import { requireWorkspace } from "../../src/actions/workspace/workspace.ts";
import { takesSelector, type Endpoint } from "../../src/contract/endpoint.ts";
import { ENDPOINTS } from "../../src/contract/registry.ts";
import type { Database } from "../../src/store/database.ts";
import type { DirectoryRow } from "../../src/store/queries/workspace-directory.ts";
import { importFolder } from "../../src/sync/connectors/csv/import-folder.ts";
import { parametersOf, questionsOf } from "./requests.ts";
import type { TestService } from "./service.ts";
import { changeWorkspace, createTenant, type Tenant } from "./tenants.ts";
import { makeFolder } from "./folder.ts";

/** Test stores have fixed dates, independent of the day of the run. */
const AFTER_EVERY_ORDER = new Date("2100-01-01T00:00:00Z");

/** Exports a workspace into a folder that is removed after `use`. */
export async function withExport<Result>(
  database: Database,
  shopDomain: string,
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  const parent = makeFolder();
  const folder = join(parent, "export");
  await exportIntoFolder({
    database,
    reading: database,
    actor: OPERATOR,
    workspace: await requireWorkspace(database, shopDomain),
    now: new Date(),
    retention: readConfig({}),
    signal: new AbortController().signal,
    folder,
    onFile: () => {},
  });
  return use(folder);
}

/** The files of a folder by name. */
export async function filesOf(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return Object.fromEntries(names.map((name, index) => [name, texts[index] ?? ""]));
}

/** Imports the store of an export into a new workspace with the settings of the exported one. */
export async function importExport(service: TestService, folder: string): Promise<Tenant> {
  const settings = JSON.parse(await readFile(join(folder, "settings.json"), "utf8")) as DirectoryRow;
  const tenant = await createTenant(service.database, {
    currencyCode: settings.currency_code,
    dailyQuota: null,
    dataAsOf: null,
    readiness: "installing",
  });
  const { primary_window_days, min_sold_units, visible_card_size, plan: plan_key } = settings;
  const same = { primary_window_days, min_sold_units, visible_card_size, plan_key };
  await changeWorkspace(service.database, tenant, same);
  const result = await importFolder({
    actor: OPERATOR,
    database: service.installation.database,
    shopKey: tenant.shopKey,
    currencyCode: settings.currency_code,
    folder: join(folder, "store"),
    asOf: new Date(String(settings.data_as_of)),
    now: AFTER_EVERY_ORDER,
    skipInvalid: false,
  });
  assert.deepEqual(result.invalid, []);
  assert.ok(result.imported);
  return tenant;
}

const REQUESTS_AT_ONCE = 2;

export type AskedExport = { path: string; params: Record<string, string> };

/** Every endpoint except alerts and the list of tables, which counts alerts and syncs, with each value of each list, and with the entities that have the most lines. */
export async function requestsOf(
  service: TestService,
  tenant: Pick<Tenant, "token">,
): Promise<AskedExport[]> {
  const selectors: Record<string, string>[] = [{}];
  for (const type of ["sku", "product", "product_group"]) {
    const answer = await service.call("/api/v1/entities", {
      token: tenant.token,
      params: { type, limit: 2 },
      isUnlimited: true,
    });
    for (const row of answer.json().data as unknown as Record<string, string>[]) {
      if (type === "sku") selectors.push({ sku: String(row["sku"]) });
      if (type === "product") {
        selectors.push({ product_gid: String(row["product_gid"]), include_used_variants: "true" });
      }
      if (type === "product_group") {
        selectors.push({
          product_group_type: String(row["product_group_type"]),
          product_group_key: String(row["product_group_key"]),
        });
      }
    }
  }
  assert.ok(selectors.length > 1, "a store without entities shows nothing");
  return ENDPOINTS.filter(({ name }) => name !== "alerts" && name !== "export-tables").flatMap((endpoint) =>
    (takesSelector(endpoint) ? selectors : [{}]).flatMap((selector) => variantsOf(endpoint, selector)),
  );
}

function variantsOf(endpoint: Endpoint, selector: Record<string, string>): AskedExport[] {
  const limit = parametersOf(endpoint).find(([name]) => name === "limit")?.[1].maximum;
  const widest = limit === undefined ? selector : { limit: String(limit), ...selector };
  return questionsOf(endpoint, {
    months: { start_month: "2023-01", end_month: "2026-12", include_incomplete: "true" },
    lastYear: { start_month: "2026-01" },
    filters: [],
    selectors: [],
  }).map((params) => ({ path: endpoint.path, params: { ...widest, ...params } }));
}

/** Sends both the same requests; the answers are equal except for what names the workspace and its sources. */
export async function assertSameAnswers(
  service: TestService,
  [one, other]: readonly [Pick<Tenant, "token">, Pick<Tenant, "token">],
  asked: readonly AskedExport[],
): Promise<void> {
  const textsOf = async ({ path, params }: AskedExport): Promise<string[]> => {
    const answers = [one, other].map(({ token }) => service.call(path, { token, params, isUnlimited: true }));
    return (await Promise.all(answers)).map(({ text }) => comparable(text));
  };
  for (let start = 0; start < asked.length; start += REQUESTS_AT_ONCE) {
    const batch = asked.slice(start, start + REQUESTS_AT_ONCE);
    for (const [index, texts] of (await Promise.all(batch.map(textsOf))).entries()) {
      assert.equal(texts[1], texts[0], JSON.stringify(batch[index]));
    }
  }
}

const OF_ITS_WORKSPACE = ["organization_id", "shop_id", "shop_domain", "freshness"];

/** The text without the members of meta that identify workspace and sources; a cursor is encrypted for its workspace. */
function comparable(text: string): string {
  if (!text.startsWith("{")) return text;
  const body = JSON.parse(text) as { meta?: Record<string, unknown> };
  for (const name of OF_ITS_WORKSPACE) if (body.meta !== undefined) delete body.meta[name];
  if (typeof body.meta?.["next_cursor"] === "string") body.meta["next_cursor"] = "there is more";
  return JSON.stringify(body);
}
