import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { CONSOLE_ASSETS, layout } from "../src/console/layout.ts";
import { SETTINGS } from "../src/console/registry.ts";
import { contentSecurityPolicy } from "../src/console/request-rules.ts";
import { progress, type Progress } from "../src/console/views/progress.ts";
import { html, renderHtml } from "../src/lib/html.ts";
import { startShopifySimulator, type ShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { useChromium, type PageOptions } from "./support/chromium.ts";
import { makeUserLink, signInAs } from "./support/console-person.ts";
import { sendNotice } from "./support/console-states.ts";
import { axeViolations, wrongLooks } from "./support/page-looks.ts";
import { actAs, scene, type Member } from "./support/scene.ts";
import { startTestService, type TestService } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { APP, APP_OPTIONS } from "./support/webhooks.ts";
import { readZip } from "./support/zip.ts";

/** What owners do on the pages of settings and of sources, in a real browser: with JavaScript and without, and without a mouse; and how the progress of a job is shown. */

const ERASE = { name: "Erase this workspace" };
const home = `http://localhost:${new URL(service.address).port}`;
let tenant: Tenant;
/** Of a small store. */
let keyed: Member;
/** A service of an app at Shopify, and a shop there. */
let connecting: TestService;
let shop: ShopifySimulator;
const jobs = createServer(answerJob);

const chromium = useChromium(async () => {
  keyed = await (await scene({ store: "small" })).member();
  tenant = await createTenant(service.database);
  const { userId } = await actAs(service, tenant, "owner", "Olive");
  await sendNotice(service, tenant, [userId]);
  connecting = await startTestService({ ...APP_OPTIONS, PUBLIC_URL: "http://localhost" });
  shop = await startShopifySimulator({ ...APP, orders: 10, products: 3 });
  await new Promise<void>((listening) => jobs.listen(0, "localhost", listening));
  return async () => {
    jobs.close();
    await shop.stop();
    await connecting.stop();
  };
});

/** A separate browser, signed in; any console message fails the test. */
async function signedIn(
  context: TestContext,
  options: BrowserContextOptions,
  use: (page: Page, place: string) => Promise<void>,
): Promise<void> {
  await chromium.withPage(context, options, async (page, _own, problems) => {
    const { link } = await makeUserLink(service, { name: "Olive", shopDomain: tenant.shopDomain });
    await enter(page, link);
    const place = `${home}/w/${tenant.shopDomain}`;
    await page.waitForURL(place);
    problems.length = 0;
    await use(page, place);
  });
}

async function enter(page: Page, link: string): Promise<void> {
  await page.goto(`${home}/enter`);
  await page.getByLabel("Paste your link").fill(link);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("an invitation is copied, used in another browser, and its member raised and removed by clicks", async (context) => {
  const permissions = ["clipboard-read", "clipboard-write"];
  await signedIn(context, { permissions }, async (page, place) => {
    await page.goto(`${place}/settings/members`);
    await page.getByLabel("Name", { exact: true }).fill("Clara");
    await page.getByLabel("Role").selectOption("admin");
    await page.getByRole("button", { name: "Invite member" }).click();
    await page.getByRole("heading", { name: "Invitation for Clara" }).waitFor();
    assert.deepEqual(await wrongLooks(page, "an invitation", [360, 1440]), []);
    const link = (await page.locator("code[data-form=link]").textContent()) ?? "";
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), link);
    assert.match(
      (await page.getByRole("link", { name: "Email this link" }).getAttribute("href")) ?? "",
      /^mailto:\?subject=/u,
    );
    const other = await chromium.browser.newContext();
    const invited = await other.newPage();
    await enter(invited, link);
    await invited.waitForURL(place);
    await page.getByRole("link", { name: "Back to members" }).click();
    await page.getByRole("link", { name: "Clara" }).click();
    await page.getByLabel("Role").selectOption("owner");
    await page.getByRole("button", { name: "Change role" }).click();
    await page.getByText(`Clara is now an owner of ${tenant.shopDomain}.`).waitFor();
    assert.equal(await page.getByRole("button", { name: "Remove member" }).count(), 0, "it asks first");
    await page.locator("summary", { hasText: "Remove member" }).click();
    await page.getByText("They will no longer see this workspace. Remove them?").waitFor();
    await page.getByRole("button", { name: "Remove member" }).click();
    await page.getByText(`Clara was removed from ${tenant.shopDomain}.`).waitFor();
    await invited.reload();
    await invited.waitForURL(`${home}/sign-in`);
    await other.close();
  });
});

test("a token is made, copied, given to a client, seen in the list and revoked by clicks; a reload makes no second", async (context) => {
  const permissions = ["clipboard-read", "clipboard-write"];
  await signedIn(context, { permissions }, async (page, place) => {
    await page.goto(`${place}/settings/tokens`);
    await page.getByRole("link", { name: "Create token" }).click();
    await page.getByLabel("Name").fill("clicked");
    await page.getByLabel("Alerts", { exact: true }).check();
    await page.getByLabel("30 days").check();
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByRole("heading", { name: "Your new token" }).waitFor();
    assert.deepEqual(await wrongLooks(page, "a new token", [360, 1440]), []);
    const token = (await page.locator("code[data-form=token]").textContent()) ?? "";
    await page.getByRole("button", { name: "Copy" }).first().click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), token);
    await page.reload();
    await page.getByText("This form has already created this token, and no second one").waitFor();
    assert.equal(await page.getByText(token).count(), 0);
    await page.getByLabel("Type its name").fill("clicked");
    await page.getByRole("button", { name: "Revoke token" }).click();
    await page.getByText("The token clicked was revoked at").waitFor();
    assert.equal((await service.call("/api/v1/alerts", { token })).status, 401);
  });
});

test("a form's input is restored after the session has ended and the same person has signed in", async (context) => {
  if (chromium.isMissing(context)) return;
  const cookie = await signInAs(service, { name: "Olive" });
  await chromium.withPage(context, { as: { cookie, home } }, async (page, own) => {
    const address = `${home}/w/${tenant.shopDomain}/settings/data`;
    const name = page.getByLabel("Name", { exact: true });
    const sendSignedOut = async (typed: string) => {
      await page.goto(address);
      await name.fill(typed);
      await own.clearCookies({ name: "returns" });
      await page.getByRole("button", { name: "Save name" }).click();
      await page.waitForURL(`${home}/sign-in`);
    };
    const signIn = async (person: string) => {
      const { secret } = await makeUserLink(service, { name: person, shopDomain: tenant.shopDomain });
      await page.goto(`${home}/enter`);
      await page.getByLabel("Paste your link").fill(secret);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.waitForURL(address);
    };
    await sendSignedOut("Kept name");
    await signIn("Olive");
    await page.getByText("What you had typed is here again.").waitFor();
    await page.getByText("You were signed out when you sent the form").waitFor();
    assert.equal(await name.inputValue(), "Kept name");
    await page.getByRole("button", { name: "Save name" }).click();
    await page.getByText("The workspace is now called Kept name.").waitFor();
    assert.equal(await page.getByText("What you had typed is here again.").count(), 0);
    await sendSignedOut("Mine alone");
    await signIn("Oscar");
    assert.equal(await name.inputValue(), "Kept name", "another person sees what is saved");
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  });
});

test("without JavaScript an owner previews and saves a window, watches a SKU by search, and adds a sale event", async (context) => {
  if (chromium.isMissing(context)) return;
  const own = await createSmallStore(service.database);
  const { cookie } = await actAs(service, own);
  const options = { as: { cookie, home }, javaScriptEnabled: false, expected: /status of 4/u };
  await chromium.withPage(context, options, async (page) => {
    const main = page.locator("main");
    await page.goto(`${home}/w/${own.shopDomain}`);
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

    await page.getByRole("link", { name: "Sale days" }).last().click();
    await page.getByLabel("Name", { exact: true }).fill("Spring");
    await page.getByLabel("First day").fill("2026-04-01");
    await page.getByLabel("Last day").fill("2026-03-01");
    await page.getByLabel("SKUs in the sale").fill("SHIRT-M\nJACKET-M");
    await page.getByRole("button", { name: "Add sale days" }).click();
    assert.match(
      await page.getByRole("alert").innerText(),
      /The last day must not be before the first day\./u,
    );
    assert.equal(await page.getByLabel("SKUs in the sale").inputValue(), "SHIRT-M\nJACKET-M");
    await page.getByLabel("Last day").fill("2026-04-10");
    await page.getByRole("button", { name: "Add sale days" }).click();
    assert.match(await page.getByRole("status").first().innerText(), /Added the sale days Spring/u);
    await page.getByRole("link", { name: "Change Spring" }).click();
    await page.getByRole("button", { name: "Remove sale days" }).click();
    assert.match(await page.getByRole("status").first().innerText(), /Removed the sale days Spring/u);
  });
});

for (const javaScriptEnabled of [false, true]) {
  test(`an owner exports everything, erases the workspace and cancels that, ${javaScriptEnabled ? "with" : "without"} JavaScript`, async (context) => {
    if (chromium.isMissing(context)) return;
    const own = await createSmallStore(service.database);
    await service.database.query(
      "update order_document set document = '{\"lines\": []}' where shop_key = $1",
      [own.shopKey],
    );
    const { cookie } = await actAs(service, own);
    const place = `${home}/w/${own.shopDomain}`;
    const options = { as: { cookie, home }, javaScriptEnabled, expected: /status of 4/u };
    await chromium.withPage(context, options, async (page) => {
      const found: string[] = [];
      const look = async (state: string): Promise<void> => {
        if (javaScriptEnabled) found.push(...(await wrongLooks(page, state, [360, 1440])));
      };
      await page.goto(`${place}/settings/data`);
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name: "Export everything" }).click();
      const download = await downloading;
      assert.match(download.suggestedFilename(), /^returns-export_.+\.zip$/u);
      const files = readZip(await readFile(await download.path()));
      assert.ok("store/order_lines.csv" in files);

      await page.getByLabel(`Type ${own.shopDomain} to confirm`).fill("another.example");
      await page.getByRole("button", ERASE).click();
      await page.getByRole("alert").getByText("Type the domain of this workspace").waitFor();
      assert.equal(await page.getByLabel("Type").inputValue(), "another.example");
      await look("refused");
      await page.getByLabel("Type").fill(own.shopDomain);
      await page.getByRole("button", ERASE).click();
      await page.getByRole("status").getByText(`${own.shopDomain} is no longer served.`).waitFor();
      await look("going to be erased");
      await page.goto(`${place}/settings/watchlist`);
      await look("another page of settings meanwhile");

      await page.goto(place);
      await page.getByRole("heading", { name: "This workspace will be erased" }).waitFor();
      await look("a page of figures meanwhile");
      await page.getByRole("link", { name: "When, and how to cancel it" }).click();
      await page.getByRole("button", { name: "Keep this workspace" }).click();
      await page.getByRole("status").getByText("is served as before").waitFor();
      await page.getByRole("button", ERASE).waitFor();
      assert.deepEqual(found, []);
    });
  });
}

/** What Tab reaches within the page's content, in the order of the markup; of radios of one name the chosen one or the first. */
const REACHABLE = `(() => {
  const all = [...document.querySelectorAll("#content :is(a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0'])")];
  const seen = all.filter((each) => each.checkVisibility({ visibilityProperty: true }) && !each.disabled);
  const radios = new Map();
  for (const each of seen) if (each.type === "radio") {
    const key = each.form?.action + each.name;
    if (!radios.has(key) || each.checked) radios.set(key, each);
  }
  const reached = seen.filter((each) => each.type !== "radio" || radios.get(each.form?.action + each.name) === each);
  reached.forEach((each, index) => each.setAttribute("data-place", String(index)));
  return reached.length;
})()`;
const PLACE = `document.activeElement?.getAttribute("data-place") ?? null`;
const FOCUSED = `document.activeElement?.matches(".banner[role=alert], .banner[role=status]") === true`;

test("Tab reaches every field and button of every page of settings in order, and goes on", async (context) => {
  await chromium.withPage(context, { as: keyed }, async (page) => {
    for (const { path, name } of SETTINGS) {
      if (path.includes(":")) continue;
      await page.goto(keyed.home + path);
      const count = Number(await page.evaluate(REACHABLE));
      await page.locator("#content").focus();
      const places: number[] = [];
      // A day is three fields and a button.
      for (let presses = 0; presses <= 4 * count + 1; presses += 1) {
        await page.keyboard.press("Tab");
        const place = await page.evaluate(PLACE);
        if (place === null) break;
        if (places.at(-1) !== Number(place)) places.push(Number(place));
      }
      assert.deepEqual(
        places,
        Array.from({ length: count }, (_, index) => index),
        name,
      );
    }
  });
});

test("Enter in a field sends its form, and the focus lands on the message", async (context) => {
  await chromium.withPage(context, { as: keyed, expected: /status of 4\d\d/u }, async (page) => {
    const sent: string[] = [];
    for (const { path, name } of SETTINGS) {
      if (path.includes(":")) continue;
      await page.goto(keyed.home + path);
      const forms = page.locator("#content form[method=post]:has(input:is([type=text], [type=number]))");
      const count = await forms.count();
      for (let index = 0; index < count; index += 1) {
        await page.goto(keyed.home + path);
        const form = forms.nth(index);
        const fields = form.locator("input:is([type=text], [type=number])");
        if (!(await fields.first().isVisible())) continue;
        const button = form.locator("button:not([formmethod=get])");
        // Enter presses the first button, which only looks where a change can be tried.
        if ((await form.locator("button").first().getAttribute("formmethod")) === "get") continue;
        if ((await button.count()) === 0) continue;
        for (const field of await fields.all()) {
          await field.fill((await field.getAttribute("type")) === "number" ? "-1" : " ");
        }
        for (const day of await form.locator("input[type=date]").all()) await day.fill("2026-01-01");
        await Promise.all([
          page.waitForEvent("load", { timeout: 8000 }),
          fields.first().press("Enter"),
        ]).catch(async (error: unknown) =>
          assert.fail(`${name}, form ${index + 1}: ${await form.innerHTML()} ${String(error)}`),
        );
        // A browser moves the focus with the first picture of a page, which may come after its load.
        await page
          .waitForFunction(FOCUSED, undefined, { timeout: 8000 })
          .catch(() => assert.fail(`${name}, form ${index + 1}: ${page.url()}`));
        sent.push(name);
      }
    }
    assert.ok(sent.length >= 6, sent.join(", "));
  });
});

/** 320 px is a page of 1280 px at 400 %. */
const WIDTHS = [320, 360, 1440];

const withPage = (
  context: TestContext,
  options: PageOptions,
  use: (page: Page) => Promise<void>,
): Promise<void> => chromium.withPage(context, { expected: /status of (?:409|400)/u, ...options }, use);

test("without JavaScript a source is connected, asked for runs and disconnected", async (context) => {
  if (chromium.isMissing(context)) return;
  const { shopKey, member } = await scene({ on: connecting, readiness: "installing" });
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

    await connecting.database.query(
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
  const owner = await (await scene({ on: connecting })).member();
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
  const owner = await (await scene({ on: connecting })).member();
  await withPage(context, { as: owner }, async (page) => {
    await page.goto(`${owner.home}/settings/sources/shopify/connect`);
    const form = page.locator("form", { hasText: "Create link" });
    await form.getByLabel("The shop’s name at Shopify").fill(shop.options.domain);
    await form.getByLabel("Another address").fill(shop.url);
    await form.getByRole("button", { name: "Create link" }).click();
    const link = await page.getByRole("link", { name: "Approve at Shopify" }).getAttribute("href");
    assert.match(link ?? "", /^http:\/\/localhost\/connect\/shopify\?link=/u);
    assert.deepEqual(await wrongLooks(page, "a link", WIDTHS), []);
    assert.ok(!connecting.logs.join("").includes(new URL(link ?? "").searchParams.get("link") ?? ""));
  });
});

const NOW = new Date("2026-07-01T12:00:00Z");
const WAITING: Progress = {
  stage: "Waiting for a worker",
  done: null,
  total: null,
  startedAt: null,
  endedAt: null,
  nextHref: null,
};
const READING = {
  ...WAITING,
  stage: "Reading <b>orders",
  done: 1200,
  total: 5000,
  startedAt: new Date(NOW.getTime() - 65_000),
};
const ENDED = { ...READING, stage: "Everything has been read", done: 5000, endedAt: NOW };

/** What the next loads of a job's page show; the last one stays. null = the service is away. */
let states: (Progress | null)[] = [];

function answerJob(request: IncomingMessage, response: ServerResponse): unknown {
  const asset = CONSOLE_ASSETS.all.find(({ path }) => path === request.url);
  if (asset !== undefined) return response.setHeader("Content-Type", asset.type).end(asset.body);
  if (request.url === "/next") return response.setHeader("Content-Type", "text/html").end("<h1>Next</h1>");
  const state = states.length > 1 ? states.shift() : states[0];
  if (state === undefined || state === null) return response.writeHead(503).end();
  return response
    .setHeader("Content-Security-Policy", contentSecurityPolicy())
    .setHeader("Content-Type", "text/html; charset=utf-8")
    .end(pageOf(state));
}

function pageOf(state: Progress): string {
  return renderHtml(
    layout({
      title: "A job",
      scripts: [CONSOLE_ASSETS.pageScript],
      userName: null,
      workspace: null,
      isRunning: state.endedAt === null,
      above: null,
      body: html`<h1>A job</h1>
        <a href="/elsewhere">A link</a>
        ${progress(state, NOW)}`,
      below: null,
    }),
  );
}

async function watch(
  context: TestContext,
  options: { javaScriptEnabled: boolean },
  use: (page: Page) => Promise<void>,
): Promise<void> {
  await chromium.withPage(context, { ...options, expected: /status of 503/u }, async (page) => {
    await page.goto(`http://localhost:${(jobs.address() as AddressInfo).port}/job`);
    await use(page);
  });
}

test("with script the counts change in place, over an answer that fails, and the end leads on", async (context) => {
  states = [WAITING, null, READING, { ...READING, done: 2400 }, { ...ENDED, nextHref: "/next" }];
  await watch(context, { javaScriptEnabled: true }, async (page) => {
    await page.getByText("Waiting to start").waitFor();
    assert.deepEqual(await axeViolations(page), []);
    await page.getByRole("link", { name: "A link" }).focus();
    await page.getByText("1,200 of 5,000").waitFor();
    assert.equal(await page.locator("[data-live=stage]").innerText(), "Reading <b>orders");
    assert.match(await page.locator("[data-live=elapsed]").innerText(), /^1 min 5 s$/u);
    assert.equal(await page.evaluate("document.activeElement.textContent"), "A link");
    await page.getByText("2,400 of 5,000").waitFor();
    assert.equal(await page.locator("progress").getAttribute("value"), "2400");
    await page.getByRole("heading", { name: "Next" }).waitFor();
  });
});

test("a job that leads nowhere ends with its page as a whole", async (context) => {
  states = [READING, ENDED];
  await watch(context, { javaScriptEnabled: true }, async (page) => {
    await page.getByText("Everything has been read").waitFor();
    await page.locator("[data-progress=ended]").waitFor();
    assert.equal(await page.locator("progress").count(), 0);
  });
});

test("without script the browser loads the page again by itself, until the job has ended", async (context) => {
  states = [READING, { ...ENDED, nextHref: "/next" }];
  await watch(context, { javaScriptEnabled: false }, async (page) => {
    await page.getByText("1,200 of 5,000").waitFor();
    await page.getByText("Everything has been read").waitFor();
    assert.equal(await page.locator("noscript").count(), 0);
  });
});
