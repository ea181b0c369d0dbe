import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestContext } from "node:test";
import type { Page } from "playwright-core";
import { SETTINGS } from "../src/console/registry.ts";
import { useChromium } from "./support/chromium.ts";
import { actAs } from "./support/acting-member.ts";
import type { ActingMember } from "./support/acting-member.ts";
import { wrongLooks, LOOKS } from "./support/page-looks.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { createTenant } from "./support/tenants.ts";
import type { Tenant, TenantOptions } from "./support/tenants.ts";

/** The pages of settings as people see them, and what they are without JavaScript. */

let service: TestService;
let tenant: Tenant;
let owner: ActingMember;

const chromium = useChromium(async () => {
  service = await startTestService();
  tenant = await smallStore();
  owner = await actAs(service, tenant);
  return () => service.stop();
});

const smallStore = (options: TenantOptions = {}) => createSmallStore(service.database, options);

const VIEWS = [
  ...SETTINGS.map(({ path }) => path).filter((path) => !path.includes(":")),
  "/settings/windows?primary_window_days=60&min_sold_units=5",
  "/settings/windows?primary_window_days=500&min_sold_units=x",
  "/settings/watchlist?q=jacket",
  "/settings/watchlist?type=sku&key=SHIRT-M",
  "/settings/sale-events?slug=summer",
  "/settings/sale-events?product_gid=gid%3A%2F%2Fshopify%2FProduct%2F2",
];

async function withPage(
  context: TestContext,
  { cookie }: ActingMember,
  options: { width?: number; colorScheme?: "light" | "dark"; javaScriptEnabled?: boolean },
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const { width = 1440, ...rest } = options;
  const look = { viewport: { width, height: 800 }, expected: /status of 4/u, ...rest };
  await chromium.withPage(context, { ...look, cookie, home: service.address }, use);
}

for (const { width, colorScheme } of LOOKS) {
  test(`every page of settings, ${width} px, ${colorScheme}`, async (context) => {
    await withPage(context, owner, { width, colorScheme }, async (page) => {
      const found: string[] = [];
      for (const path of VIEWS) {
        await page.goto(`${service.address}/w/${tenant.shopDomain}${path}`);
        found.push(...(await wrongLooks(page, path)));
      }
      assert.deepEqual(found, []);
    });
  });
}

test("the pages of settings of a viewer, and in every state of the data", async (context) => {
  if (chromium.isMissing(context)) return;
  for (const options of [
    {},
    { readiness: "installing" },
    { billingStatus: "inactive" },
    { dataAsOf: null },
  ]) {
    const own = await createTenant(service.database, options);
    for (const role of ["viewer", "owner"] as const) {
      const member = await actAs(service, own, role);
      await withPage(context, member, { width: 360 }, async (page) => {
        for (const path of ["", "/windows", "/plan", "/watchlist", "/sale-events"]) {
          await page.goto(`${service.address}/w/${own.shopDomain}/settings${path}`);
          if (role === "viewer") assert.equal(await page.locator("main form").count(), 0, path);
          else assert.deepEqual(await wrongLooks(page, `${JSON.stringify(options)} ${path}`), []);
        }
      });
    }
  }
});

test("without JavaScript an owner previews and saves a window, watches a SKU by search, and adds a sale event", async (context) => {
  if (chromium.isMissing(context)) return;
  const own = await smallStore();
  const member = await actAs(service, own);
  await withPage(context, member, { javaScriptEnabled: false }, async (page) => {
    const main = page.locator("main");
    await page.goto(`${service.address}/w/${own.shopDomain}`);
    await page.getByRole("link", { name: "Settings", exact: true }).click();
    await main.getByRole("link", { name: "Return window" }).click();
    await page.getByLabel("Return window in days").fill("60");
    await page.keyboard.press("Enter");
    await page.getByRole("columnheader", { name: "If saved" }).waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    assert.match(await page.getByRole("status").first().innerText(), /The return window is now 60 days/u);

    await page.getByRole("link", { name: "Watchlist", exact: true }).click();
    await page.getByLabel("Search name, SKU or vendor").fill("shirt");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Watch SHIRT-M" }).click();
    assert.match(await page.getByRole("status").first().innerText(), /Added SHIRT-M to the watchlist/u);

    await page.getByRole("link", { name: "Sale days" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Spring");
    await page.getByLabel("First day").fill("2026-04-01");
    await page.getByLabel("Last day").fill("2026-03-01");
    await page.getByLabel("SKUs in the sale").fill("SHIRT-M\nJACKET-M");
    await page.getByRole("button", { name: "Add sale event" }).click();
    assert.match(
      await page.getByRole("alert").innerText(),
      /The last day must not be before the first day\./u,
    );
    assert.equal(await page.getByLabel("SKUs in the sale").inputValue(), "SHIRT-M\nJACKET-M");
    await page.getByLabel("Last day").fill("2026-04-10");
    await page.getByRole("button", { name: "Add sale event" }).click();
    assert.match(await page.getByRole("status").first().innerText(), /Added the sale event Spring/u);
    await page.getByRole("link", { name: "Change Spring" }).click();
    await page.getByRole("button", { name: "Remove sale event" }).click();
    assert.match(await page.getByRole("status").first().innerText(), /Removed the sale event Spring/u);
  });
});
