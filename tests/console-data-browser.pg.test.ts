import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { TestContext } from "node:test";
import type { Page } from "playwright-core";
import { useChromium } from "./support/chromium.ts";
import { makeUserLink } from "./support/console-person.ts";
import { wrongLooks, LOOKS } from "./support/page-looks.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import type { Tenant } from "./support/tenants.ts";
import { readZip } from "./support/zip.ts";

/** The page of data as an owner uses it: in Chromium, without JavaScript, at two widths in two colour schemes. */

let service: TestService;
let tenant: Tenant;
let home: string;

const chromium = useChromium(async () => {
  service = await startTestService();
  tenant = await createSmallStore(service.database);
  await service.database.query("update order_document set document = '{\"lines\": []}' where shop_key = $1", [
    tenant.shopKey,
  ]);
  home = `http://localhost:${new URL(service.address).port}`;
  return () => service.stop();
});

/** An owner's browser without JavaScript, signed in by a pasted link, on the page of data. */
async function onDataPage(
  context: TestContext,
  look: { width: number; colorScheme: "light" | "dark"; javaScriptEnabled?: boolean },
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const { width, colorScheme, javaScriptEnabled = false } = look;
  const options = {
    viewport: { width, height: 800 },
    colorScheme,
    javaScriptEnabled,
    expected: /status of 4/u,
  };
  await chromium.withPage(context, options, async (page, own) => {
    const { secret } = await makeUserLink(service, { name: "Owner", shopDomain: tenant.shopDomain });
    const entered = await own.request.post(`${home}/enter`, {
      form: { secret },
      headers: { origin: home },
      maxRedirects: 0,
    });
    assert.equal(entered.status(), 303);
    await page.goto(`${home}/w/${tenant.shopDomain}/settings/data`);
    await use(page);
  });
}

const ERASE = { name: "Erase this workspace" };

test("an owner exports everything, erases the workspace and cancels that, without JavaScript", async (context) => {
  await onDataPage(context, { width: 1440, colorScheme: "light" }, async (page) => {
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export everything" }).click();
    const download = await downloading;
    assert.match(download.suggestedFilename(), /^returns-export_.+\.zip$/u);
    const files = readZip(await readFile(await download.path()));
    assert.ok("store/order_lines.csv" in files);

    await page.getByLabel(`Type ${tenant.shopDomain} to confirm`).fill("another.example");
    await page.getByRole("button", ERASE).click();
    await page.getByRole("alert").getByText("Type the domain of this workspace").waitFor();
    assert.equal(await page.getByLabel("Type").inputValue(), "another.example");
    await page.getByLabel("Type").fill(tenant.shopDomain);
    await page.getByRole("button", ERASE).click();
    await page.getByRole("status").getByText(`${tenant.shopDomain} is no longer served.`).waitFor();

    await page.goto(`${home}/w/${tenant.shopDomain}`);
    await page.getByRole("heading", { name: "This workspace will be erased" }).waitFor();
    await page.getByRole("link", { name: "When, and how to cancel it" }).click();
    await page.getByRole("button", { name: "Keep this workspace" }).click();
    await page.getByRole("status").getByText("everything is served as before").waitFor();
    await page.getByRole("button", ERASE).waitFor();
  });
});

for (const { width, colorScheme } of LOOKS) {
  test(`it looks right in every state, ${width} px, ${colorScheme}`, async (context) => {
    const look = { width, colorScheme, javaScriptEnabled: true };
    await onDataPage(context, look, async (page) => {
      const found: string[] = [];
      const check = async (state: string) => found.push(...(await wrongLooks(page, state)));
      await check("as it is");
      await page.getByLabel("Type").fill("another.example");
      await page.getByRole("button", ERASE).click();
      await page.getByRole("alert").waitFor();
      await check("refused");
      await page.getByLabel("Type").fill(tenant.shopDomain);
      await page.getByRole("button", ERASE).click();
      await page.getByRole("status").waitFor();
      await check("going to be erased");
      await page.goto(`${home}/w/${tenant.shopDomain}/settings/watchlist`);
      await check("another page of settings meanwhile");
      await page.goto(`${home}/w/${tenant.shopDomain}/report`);
      await check("a page of figures meanwhile");
      await page.goto(`${home}/w/${tenant.shopDomain}/settings/data`);
      await page.getByRole("button", { name: "Keep this workspace" }).click();
      await page.getByRole("status").waitFor();
      assert.deepEqual(found, []);
    });
  });
}
