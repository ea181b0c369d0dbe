import { OPERATOR } from "../src/control/actor.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeDemoStore } from "../src/demo/demo-store.ts";
import { importFolder } from "../src/sync/connectors/csv/import-folder.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { changeWorkspace, createTenant } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";

export type DemoService = { service: TestService; tenant: Tenant; stop(): Promise<void> };

/** The day that the document's examples are written for. */
export const DEMO_DAY = "2026-07-01";
const DEMO_DOMAIN = "demo-store.example";

/** The service with a workspace that holds the demo store as of that day. */
export async function startDemoService(today = DEMO_DAY): Promise<DemoService> {
  const folder = await mkdtemp(join(tmpdir(), "returns-docs-"));
  const service = await startTestService();
  const stop = async (): Promise<void> => {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await writeDemoStore({ folder, today });
    const tenant = await createTenant(service.database, { currencyCode: "GBP", dailyQuota: 25_000 });
    await changeWorkspace(service.database, tenant, {
      organization_id: "org_7d3f9a52c4e81b06",
      shop_id: "shop_2c85e0b14f6a97d3",
      shop_domain: DEMO_DOMAIN,
    });
    await service.database.query("update shop_directory set shop_domain = $2 where shop_key = $1", [
      tenant.shopKey,
      DEMO_DOMAIN,
    ]);
    const { database } = service.installation;
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
    return { service, tenant: { ...tenant, shopDomain: DEMO_DOMAIN }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
