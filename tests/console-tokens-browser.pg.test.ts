import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestContext } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { useChromium } from "./docs-chromium.ts";
import { makeUserLink, signInAs } from "./support/console-person.ts";
import { openPage } from "./support/console-page.ts";
import { STORE_TEXTS } from "./support/input-corpus.ts";
import { wrongLooks, LOOKS } from "./support/page-looks.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { createTenant, createTokenOf, insertRows } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";

/** The pages of tokens and of usage as people see them. */

let service: TestService;
let home: string;
let tenant: Tenant;

const chromium = useChromium(async () => {
  service = await startTestService();
  home = `http://localhost:${new URL(service.address).port}`;
  tenant = await createTenant(service.database, { dailyQuota: 1000 });
  await seedUsage(tenant);
  return async () => {
    await service.stop();
  };
});

const dayBefore = (days: number): string =>
  new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

/** Thirty days with a token that ends soon, one that has ended, and every kind of request. */
async function seedUsage({ shopKey, tokenId }: Tenant): Promise<void> {
  const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
  await createTokenOf(service.database, shopKey, { expiresAt: inDays(9) });
  await createTokenOf(service.database, shopKey, { revokedAt: inDays(-1) });
  const days = Array.from({ length: 30 }, (_, index) => index);
  await insertRows(
    service.database,
    "daily_usage",
    days.map((index) => ({ shop_key: shopKey, day: dayBefore(index), requests: 100 + 20 * index })),
  );
  const row = { shop_key: shopKey, token_id: tokenId };
  await insertRows(
    service.database,
    "usage_detail",
    days.flatMap((index) => [
      {
        ...row,
        day: dayBefore(index),
        endpoint: "return-rate-leaderboard",
        surface: "rest",
        outcome: "ok",
        requests: 90 + 20 * index,
        quota_requests: 90 + 20 * index,
      },
      {
        ...row,
        day: dayBefore(index),
        endpoint: "alerts",
        surface: "mcp",
        outcome: "rate_limited",
        requests: 7,
        quota_requests: 0,
      },
    ]),
  );
}

/** A browser of one's own, signed in; what its console says fails the test. */
async function signedIn(
  context: TestContext,
  options: BrowserContextOptions,
  use: (page: Page, place: string) => Promise<void>,
): Promise<void> {
  if (chromium.isMissing(context)) return;
  const own = await chromium.browser.newContext(options);
  const problems: string[] = [];
  try {
    const page = await own.newPage();
    page.on("console", (message) => problems.push(message.text()));
    page.on("pageerror", (error) => problems.push(error.message));
    const { link } = await makeUserLink(service, { name: "Owner", shopDomain: tenant.shopDomain });
    await page.goto(`${home}/enter`);
    await page.getByLabel("Paste your link").fill(link);
    await page.getByRole("button", { name: "Sign in" }).click();
    const place = `${home}/w/${tenant.shopDomain}`;
    await page.waitForURL(place);
    problems.length = 0;
    await use(page, place);
    assert.deepEqual(problems, []);
  } finally {
    await own.close();
  }
}

for (const { width, colorScheme } of LOOKS) {
  test(`the pages of tokens and usage, ${width} px, ${colorScheme}`, async (context) => {
    const viewport = { width, height: 800 };
    await signedIn(context, { viewport, colorScheme }, async (page, place) => {
      const found: string[] = [];
      const look = async (name: string) => found.push(...(await wrongLooks(page, name)));
      const { tokenId } = tenant;
      const paths = ["tokens", "tokens/new", `tokens/${tokenId}`, "usage"];
      for (const path of paths) {
        await page.goto(`${place}/settings/${path}`);
        for (const summary of await page.locator("main summary").all()) await summary.click();
        await look(path);
      }
      await page.goto(`${place}/settings/tokens/new`);
      await page.getByLabel("Name").fill(`looked at ${width} ${colorScheme}`);
      await page.getByLabel("Alerts", { exact: true }).check();
      await page.getByRole("button", { name: "Create token" }).click();
      await page.getByRole("heading", { name: "Your new token" }).waitFor();
      await look("a new token");
      assert.deepEqual(found, []);
    });
  });
}

test("a token is made, copied, given to a client, seen in the list and revoked by clicks; a reload makes no second", async (context) => {
  const permissions = ["clipboard-read", "clipboard-write"];
  await signedIn(context, { permissions }, async (page, place) => {
    await page.goto(`${place}/settings/tokens`);
    await page.getByRole("link", { name: "Create token" }).click();
    await page.getByLabel("Name").fill("clicked");
    await page.getByLabel("Alerts", { exact: true }).check();
    await page.getByLabel("30 days").check();
    await page.getByRole("button", { name: "Create token" }).click();
    const token = (await page.locator("code[data-form=token]").textContent()) ?? "";
    await page.getByRole("button", { name: "Copy" }).first().click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), token);
    await page.reload();
    await page.getByText("This form has already created this token, and no second one").waitFor();
    assert.equal(await page.getByText(token).count(), 0);
    await page.getByLabel("Type its name").fill("clicked");
    await page.getByRole("button", { name: "Revoke token" }).click();
    await page.getByText("The token clicked is revoked since").waitFor();
    assert.equal((await service.call("/api/v1/alerts", { token })).status, 401);
  });
});

test("all of it works without JavaScript, rotation included", async (context) => {
  await signedIn(context, { javaScriptEnabled: false }, async (page, place) => {
    await page.goto(`${place}/settings/tokens/new`);
    await page.getByLabel("Name").fill("plain");
    await page.getByLabel("Alerts", { exact: true }).check();
    await page.getByRole("button", { name: "Create token" }).click();
    assert.match((await page.locator("code[data-form=token]").textContent()) ?? "", /^rta_live_/u);
    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.getByRole("link", { name: "plain" }).click();
    await page.getByLabel("It works for 1 more hour").check();
    await page.getByRole("button", { name: "Replace token" }).click();
    const token = (await page.locator("code[data-form=token]").textContent()) ?? "";
    assert.equal((await service.call("/api/v1/alerts", { token })).status, 200);
    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.getByRole("cell", { name: "being replaced not used since" }).waitFor();
    await page.goto(`${place}/settings/usage`);
    assert.equal(await page.locator("main svg[role=img]").count(), 1);
    await page.getByText("The figures as a table").click();
    assert.equal(await page.locator(".chart table tbody tr").count(), 30);
  });
});

type Reading = { skeleton: string[]; texts: string[] };

/** Every element of a page with the names of its attributes, and every text of it. */
const READ = `(markup) => {
  const skeleton = [], texts = [];
  const walk = (node) => {
    if (node.nodeType !== Node.ELEMENT_NODE) return void texts.push(node.data);
    skeleton.push(node.localName + " " + [...node.attributes].map(({ name }) => name).join(" "));
    for (const child of node.childNodes) walk(child);
  };
  walk(new DOMParser().parseFromString(markup, "text/html").documentElement);
  return { skeleton, texts };
}`;

test("a token's name stays text on every page, whatever it looks like", async (context) => {
  if (chromium.isMissing(context)) return;
  const parser = await chromium.browser.newPage();
  const own = await createTenant(service.database);
  const reader = {
    tenant: own,
    cookie: await signInAs(service, { name: "Reader", shopDomain: own.shopDomain }),
  };
  const day = dayBefore(0);
  const request = { endpoint: "alerts", surface: "rest", outcome: "ok", requests: 1, quota_requests: 1 };
  const { shopKey: shop_key, tokenId: token_id } = own;
  await insertRows(service.database, "usage_detail", [{ ...request, shop_key, token_id, day }]);
  const paths = ["/settings/tokens", `/settings/tokens/${token_id}`, "/settings/usage"];
  const read = async (name: string): Promise<Reading[]> => {
    await service.database.query("update api_token set name = $2 where token_id = $1", [token_id, name]);
    const readings: Reading[] = [];
    for (const path of paths) {
      const { status, text } = await openPage(service, path, reader);
      assert.equal(status, 200);
      readings.push(await parser.evaluate<Reading>(`(${READ})(${JSON.stringify(text)})`));
    }
    return readings;
  };
  const ought = await read("Harmless words");
  for (const hostile of STORE_TEXTS) {
    for (const [index, reading] of (await read(hostile)).entries()) {
      assert.deepEqual(reading.skeleton, ought[index]?.skeleton, `${paths[index]} with ${hostile}`);
      const meant = ought[index]?.texts.map((text) => text.replaceAll("Harmless words", () => hostile));
      assert.deepEqual(reading.texts, meant, `${paths[index]} with ${hostile}`);
    }
  }
});
