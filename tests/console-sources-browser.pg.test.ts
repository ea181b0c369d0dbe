import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { startShopifySimulator, type ShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { useChromium, type PageOptions } from "./support/chromium.ts";
import { scene } from "./support/scene.ts";
import { wrongLooks } from "./support/page-looks.ts";
import { startTestService, type TestService } from "./support/service.ts";
import { APP, APP_OPTIONS } from "./support/webhooks.ts";

/** The pages of sources, and what they show of a form that was sent, in a real browser. */

/** 320 px is a page of 1280 px at 400 %. */
const WIDTHS = [320, 360, 1440];

let service: TestService;
let shop: ShopifySimulator;

const chromium = useChromium(async () => {
  service = await startTestService({ ...APP_OPTIONS, PUBLIC_URL: "http://localhost" });
  shop = await startShopifySimulator({ ...APP, orders: 10, products: 3 });
  return async () => {
    await shop.stop();
    await service.stop();
  };
});

const withPage = (
  context: TestContext,
  options: PageOptions,
  use: (page: Page) => Promise<void>,
): Promise<void> => chromium.withPage(context, { expected: /status of (?:409|400)/u, ...options }, use);

test("without JavaScript a source is connected, asked for runs and disconnected", async (context) => {
  if (chromium.isMissing(context)) return;
  const { shopKey, member } = await scene({ on: service, readiness: "installing" });
  const owner = await member();
  await withPage(context, { as: owner, javaScriptEnabled: false }, async (page) => {
    const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
    await page.goto(owner.home);
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

test("a refused key has the focus on what is wrong with it, and looks well", async (context) => {
  if (chromium.isMissing(context)) return;
  const owner = await (await scene({ on: service })).member();
  await withPage(context, { as: owner }, async (page) => {
    await page.goto(`${owner.home}/settings/sources/loop/connect`);
    await page.getByLabel("API key").fill("two words");
    await page.getByRole("button", { name: "Connect Loop" }).click();
    await page.getByRole("alert").getByText("The API key must be one word").waitFor();
    await page.waitForFunction("document.activeElement.role === 'alert'", undefined, { timeout: 8000 });
    assert.deepEqual(await wrongLooks(page, "a refused key", WIDTHS), []);
  });
});

test("a link of the console leads through the approval back to the progress of the shop", async (context) => {
  if (chromium.isMissing(context)) return;
  const owner = await (await scene({ on: service })).member();
  await withPage(context, { as: owner }, async (page) => {
    await page.goto(`${owner.home}/settings/sources/shopify/connect`);
    const form = page.locator("form", { hasText: "Create link" });
    await form.getByLabel("The shop’s name at Shopify").fill(shop.options.domain);
    await form.getByLabel("Another address").fill(shop.url);
    await form.getByRole("button", { name: "Create link" }).click();
    const link = await page.getByRole("link", { name: "Approve at Shopify" }).getAttribute("href");
    assert.match(link ?? "", /^http:\/\/localhost\/connect\/shopify\?link=/u);
    assert.deepEqual(await wrongLooks(page, "a link", WIDTHS), []);
    assert.ok(!service.logs.join("").includes(new URL(link ?? "").searchParams.get("link") ?? ""));
  });
});
