import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestContext } from "node:test";
import type { Page } from "playwright-core";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import type { ShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { useChromium } from "./support/chromium.ts";
import type { PageOptions } from "./support/chromium.ts";
import { makeUserLink, signInAs } from "./support/console-person.ts";
import { layoutShift, wrongLooks, LOOKS } from "./support/page-looks.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { seedSmallStore } from "./support/small-store.ts";
import { changeWorkspace, createTenant, insertRows } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { APP, APP_OPTIONS, connectShop } from "./support/webhooks.ts";

/** The pages of sources, the ways on and the list of the setup in a real browser. */

const LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmütze".repeat(3);
const HOSTILE = `<img src=x onerror="document.title='taken'">`;
/** 320 px is a page of 1280 px at 400 %. */
const WIDTHS = [320, 360, 1440];
const MOST_SHIFT = 0.02;

let service: TestService;
let shop: ShopifySimulator;
let home: string;

const chromium = useChromium(async () => {
  service = await startTestService({ ...APP_OPTIONS, PUBLIC_URL: "http://localhost" });
  shop = await startShopifySimulator({ ...APP, orders: 10, products: 3 });
  home = `http://localhost:${new URL(service.address).port}`;
  return async () => {
    await shop.stop();
    await service.stop();
  };
});

/** A workspace whose sources are in many states, with texts as long and as hostile as a source may send. */
async function troubledTenant(): Promise<Tenant> {
  const { database } = service;
  const tenant = await createTenant(database);
  const { shopKey } = tenant;
  await seedSmallStore(database, shopKey);
  await changeWorkspace(database, tenant, { is_setup_open: "true" });
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
  return tenant;
}

const withPage = (
  context: TestContext,
  options: PageOptions,
  use: (page: Page) => Promise<void>,
): Promise<void> => chromium.withPage(context, { home, expected: /status of (?:409|400)/u, ...options }, use);

async function wrongsOf(page: Page, path: string): Promise<string[]> {
  const found: string[] = [];
  const shift = await layoutShift(page);
  if (shift >= MOST_SHIFT) found.push(`shifts by ${shift}`);
  if ((await page.title()) === "taken") found.push("a text was run");
  for (const summary of await page.locator("main details > summary").all()) {
    // The summary of the filters is hidden on a wide screen, where they are always open.
    if (await summary.isVisible()) await summary.click();
  }
  return [...found.map((each) => `${path}: ${each}`), ...(await wrongLooks(page, path, WIDTHS))];
}

for (const { width, colorScheme } of LOOKS) {
  test(`every page in every state is fit to be read, ${width} px, ${colorScheme}`, async (context) => {
    if (chromium.isMissing(context)) return;
    const tenant = await troubledTenant();
    const { shopDomain } = tenant;
    const installing = await createTenant(service.database, { readiness: "installing" });
    await makeUserLink(service, { shopDomain });
    const cookie = await signInAs(service, { shopDomain: installing.shopDomain });
    const at = `/w/${shopDomain}/settings/sources`;
    const found: string[] = [];
    await withPage(context, { cookie, viewport: { width, height: 800 }, colorScheme }, async (page) => {
      for (const path of [
        at,
        `${at}/shopify`,
        `${at}/shopify/progress`,
        `${at}/shopify/connect`,
        `${at}/loop`,
        `${at}/loop/connect`,
        `${at}/shipstation`,
        `/w/${shopDomain}`,
        `/w/${installing.shopDomain}`,
        "/welcome",
      ]) {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(home + path);
        found.push(...(await wrongsOf(page, path)));
      }
      await page.goto(`${home}${at}/loop/connect`);
      await page.getByLabel("API key").fill("two words");
      await page.getByRole("button", { name: "Connect Loop" }).click();
      await page.getByRole("alert").getByText("The API key must be one word").waitFor();
      assert.equal(await page.evaluate("document.activeElement.role"), "alert");
      found.push(...(await wrongsOf(page, "a refused key")));
      await page.goto(`${home}${at}/shopify/connect`);
      await page.getByLabel("Another address").first().fill(shop.url);
      await page.getByRole("button", { name: "Create link" }).click();
      await page.getByRole("heading", { name: "Approve at Shopify" }).waitFor();
      found.push(...(await wrongsOf(page, "a link")));
      assert.deepEqual(found, []);
    });
  });
}

test("without JavaScript a source is connected, asked for runs and disconnected", async (context) => {
  if (chromium.isMissing(context)) return;
  const { shopDomain, shopKey } = await createTenant(service.database, { readiness: "installing" });
  const cookie = await signInAs(service, { shopDomain });
  await withPage(context, { cookie, javaScriptEnabled: false }, async (page) => {
    const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
    await page.goto(`${home}/w/${shopDomain}`);
    await page.getByRole("link", { name: "Connect Shopify" }).click();
    const form = page.locator("form", { hasText: "Token" });
    await form.getByLabel("The shop’s name at Shopify").fill(shop.options.domain);
    await form.getByLabel("Another address").fill(shop.url);
    await form.getByLabel("Token").fill("shpat_wrong");
    await press("Connect Shopify");
    await page.getByText("Shopify rejected this access token").waitFor();
    assert.equal(await form.getByLabel("Another address").inputValue(), shop.url);
    assert.equal(await form.getByLabel("Token").inputValue(), "");
    await form.getByLabel("Token").fill(shop.token);
    await press("Connect Shopify");
    await page.getByText("Waiting to read everything").waitFor();
    await page.getByText("Webhooks are not registered").or(page.getByText("is synced from now on")).waitFor();

    await service.database.query(
      "update data_source set last_synced_at = now(), status = 'ok' where shop_key = $1 and source = 'shopify'",
      [shopKey],
    );
    await page.getByRole("link", { name: "Shopify", exact: true }).click();
    await press("Cancel backfill");
    await page.getByText("The backfill is canceled").waitFor();
    await press("Sync now");
    await page.getByText("Sync requested").waitFor();
    await page.getByRole("link", { name: "Shopify", exact: true }).click();
    await page.getByLabel("Type shopify to confirm").fill("shopify");
    await press("Disconnect Shopify");
    await page.getByText("shopify is disconnected").waitFor();
    await page.getByRole("link", { name: "Connect Shopify again" }).waitFor();
  });
});

test("a link of the console leads through the approval back to the progress of the shop", async (context) => {
  if (chromium.isMissing(context)) return;
  const { shopDomain } = await createTenant(service.database);
  const cookie = await signInAs(service, { shopDomain });
  await withPage(context, { cookie, javaScriptEnabled: false }, async (page) => {
    await page.goto(`${home}/w/${shopDomain}/settings/sources/shopify/connect`);
    const form = page.locator("form", { hasText: "Create link" });
    await form.getByLabel("The shop’s name at Shopify").fill(shop.options.domain);
    await form.getByLabel("Another address").fill(shop.url);
    await form.getByRole("button", { name: "Create link" }).click();
    const link = await page.getByRole("link", { name: "Approve at Shopify" }).getAttribute("href");
    assert.match(link ?? "", /^http:\/\/localhost\/connect\/shopify\?link=/u);
    assert.ok(!service.logs.join("").includes(new URL(link ?? "").searchParams.get("link") ?? ""));
  });
});
