import assert from "node:assert/strict";
import { before, test } from "node:test";
import pino from "pino";
import { evaluateAlerts } from "../src/alerts/evaluate-alerts.ts";
import { startService } from "../src/app.ts";
import { readConfig } from "../src/config.ts";
import { createStore, type StoreTenant } from "./support/import-store.ts";
import { createCaller, serviceEnvironment, type ServiceCaller } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import { insertRows } from "./support/tenants.ts";

type Alert = {
  category: string;
  link_url: string | null;
  link_label: string | null;
  metadata: Record<string, unknown>;
};

const PUBLIC_URL = "https://returns.example";
const MONTHS = ["2025-11", "2025-12", "2026-01", "2026-02", "2026-03", "2026-04", "2026-05"];
const SKU = "Lamp & shade #1";

let tenant: StoreTenant;
before(async () => {
  tenant = await createStore(service, {
    asOf: "2026-07-01T00:00:00Z",
    files: {
      order_lines: MONTHS.map((month) => ({
        order_id: month,
        line_id: "1",
        ordered_at: `${month}-03T10:00:00Z`,
        sku: SKU,
        units: 100,
      })),
      refunds: MONTHS.map((month) => ({
        refund_id: month,
        order_id: month,
        line_id: "1",
        refunded_at: `${month}-20T10:00:00Z`,
        units: month === "2026-05" ? 40 : 5,
        subtotal: "1.00",
      })),
    },
  });
  const now = new Date("2026-07-01T06:00:00Z");
  await evaluateAlerts({ database: service.installation.database, shopKey: tenant.shopKey, now });
  await insertRows(service.database, "alert", [
    {
      shop_key: tenant.shopKey,
      alert_id: "kept",
      event_key: "kept",
      category: "return_rate_watchlist",
      severity: "info",
      title: "An alert with a link of its own",
      link_url: "https://elsewhere.example/",
      link_label: "Elsewhere",
      created_at: now,
    },
  ]);
});

/** The alerts as a server with these options returns them. */
async function alertsOf(options: Record<string, string>): Promise<Alert[]> {
  const config = readConfig({ ...serviceEnvironment(service.databaseUrl), ...options });
  const server = await startService(config, service.installation, pino({ level: "silent" }));
  try {
    return await alertsFrom(createCaller(server.address));
  } finally {
    await server.stop();
  }
}

async function alertsFrom(call: ServiceCaller): Promise<Alert[]> {
  const answer = await call("/api/v1/alerts", { token: tenant.token, isUnlimited: true });
  return answer.json().data as unknown as Alert[];
}

test("with PUBLIC_URL a spike links to the report that shows its figures", async () => {
  const alerts = await alertsOf({ PUBLIC_URL });
  const spike = alerts.find(({ metadata }) => metadata?.["kind"] === "month");
  assert.ok(spike?.link_url);
  const link = new URL(spike.link_url);
  const domain = await service.database.query("select shop_domain from workspace where shop_key = $1", [
    tenant.shopKey,
  ]);
  assert.equal(`${link.origin}${link.pathname}`, `${PUBLIC_URL}/w/${domain.rows[0].shop_domain}/report`);
  assert.equal(spike.link_label, "Open the report");
  const report = await tenant.ask("/api/v1/report", link.search.slice(1));
  const { summary } = report.json().data as unknown as { summary: Record<string, unknown> };
  for (const name of ["sold_units", "returned_units", "return_rate"]) {
    assert.equal(summary[name], spike.metadata[name], name);
  }
});

test("an alert that was stored with a link keeps it", async () => {
  const kept = (await alertsOf({ PUBLIC_URL })).find(({ link_label }) => link_label === "Elsewhere");
  assert.equal(kept?.link_url, "https://elsewhere.example/");
});

test("without PUBLIC_URL, or without the console, alerts have no link", async () => {
  for (const alerts of [await alertsFrom(service.call), await alertsOf({ PUBLIC_URL, CONSOLE: "off" })]) {
    const linked = alerts.filter(({ link_url, link_label }) => link_url !== null || link_label !== null);
    assert.deepEqual(
      linked.map(({ link_label }) => link_label),
      ["Elsewhere"],
    );
    assert.ok(alerts.length > 1);
  }
});
