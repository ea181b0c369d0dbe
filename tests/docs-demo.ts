import { OPERATOR } from "../src/actions/actor.ts";
import { writeDemoStore, type DemoStoreSummary } from "../src/demo/demo-store.ts";
import { importFolder } from "../src/sync/connectors/csv/import-folder.ts";
import { openConnections } from "./support/database.ts";
import { openTestPool, startSeededService, type TestService } from "./support/service.ts";
import { changeWorkspace, createTenant, type Tenant } from "./support/tenants.ts";
import { makeFolder } from "./support/folder.ts";

/** `store`: what it was made of. */
type Demo = { tenant: Tenant; store: DemoStoreSummary };
export type DemoService = Demo & { service: TestService; stop(): Promise<void> };

/** The day of the examples in the OpenAPI document. */
export const DEMO_DAY = "2026-07-01";
const DEMO_DOMAIN = "demo-store.example";

/** The service with a workspace that holds the demo store as of that day. */
export async function startDemoService(
  today = DEMO_DAY,
  options: Record<string, string> = {},
): Promise<DemoService> {
  const name = `docs_${today.replaceAll("-", "_")}`;
  const seed = { name, write: (url: string) => writeDemo(url, today) };
  const { service, known } = await startSeededService(seed, options);
  return { service, ...known, stop: () => service.stop() };
}

async function writeDemo(url: string, today: string): Promise<Demo> {
  const folder = makeFolder();
  const pool = openTestPool(url);
  const database = openConnections(url, { maxConnections: 2 });
  try {
    const store = await writeDemoStore({ folder, today });
    const tenant = await createTenant(pool, { currencyCode: "GBP", dailyQuota: 25_000 });
    await changeWorkspace(pool, tenant, {
      organization_id: "org_7d3f9a52c4e81b06",
      shop_id: "shop_2c85e0b14f6a97d3",
      shop_domain: DEMO_DOMAIN,
    });
    await pool.query("update shop_directory set shop_domain = $2 where shop_key = $1", [
      tenant.shopKey,
      DEMO_DOMAIN,
    ]);
    const asOf = new Date(`${today}T00:00:00Z`);
    await importFolder({
      actor: OPERATOR,
      database,
      shopKey: tenant.shopKey,
      currencyCode: "GBP",
      folder,
      asOf,
      now: asOf,
      skipInvalid: false,
    });
    return { tenant: { ...tenant, shopDomain: DEMO_DOMAIN }, store };
  } finally {
    await Promise.all([pool.end(), database.close()]);
  }
}
