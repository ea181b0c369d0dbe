import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test, type TestContext } from "node:test";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { SETTINGS } from "../src/console/registry.ts";
import { useChromium } from "./support/chromium.ts";
import { makeUserLink } from "./support/console-person.ts";
import { sendNotice } from "./support/console-states.ts";
import { wrongLooks } from "./support/page-looks.ts";
import { actAs, scene, type Member } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { readZip } from "./support/zip.ts";

/** What owners do on the pages of settings, in a real browser, also without a mouse. */

const ERASE = { name: "Erase this workspace" };
const home = `http://localhost:${new URL(service.address).port}`;
let tenant: Tenant;
let olive: Member;
/** Of a small store. */
let keyed: Member;

const chromium = useChromium(async () => {
  keyed = await (await scene({ store: "small" })).member();
  tenant = await createTenant(service.database);
  olive = await actAs(service, tenant, "owner", "Olive");
  await sendNotice(service, tenant);
});

/** A separate browser, signed in; any console message fails the test. */
const signedIn = (
  context: TestContext,
  options: BrowserContextOptions,
  use: (page: Page, place: string) => Promise<void>,
): Promise<void> => chromium.withPage(context, { ...options, as: olive }, (page) => use(page, olive.home));

async function enter(page: Page, link: string): Promise<void> {
  await page.goto(`${home}/enter`);
  await page.getByLabel("Paste your link").fill(link);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("an invitation is copied and used in another browser, and its member's role is raised and the member removed, by clicks", async (context) => {
  const permissions = ["clipboard-read", "clipboard-write"];
  await signedIn(context, { permissions }, async (page, place) => {
    await page.goto(`${place}/settings/members`);
    await page.getByLabel("Name", { exact: true }).fill("Clara");
    await page.getByLabel("Role").selectOption("admin");
    await page.getByRole("button", { name: "Invite member" }).click();
    await page.getByRole("heading", { name: "Invitation for Clara" }).waitFor();
    assert.deepEqual(await wrongLooks(page, "an invitation"), []);
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
    assert.deepEqual(await wrongLooks(page, "a new token"), []);
    const token = (await page.locator("code[data-form=token]").textContent()) ?? "";
    await page.getByRole("button", { name: "Copy" }).first().click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), token);
    await page.reload();
    await page.getByText("This form has already created this token; no second one was created").waitFor();
    assert.equal(await page.getByText(token).count(), 0);
    await page.getByLabel("Type its name").fill("clicked");
    await page.getByRole("button", { name: "Revoke token" }).click();
    await page.getByText("The token clicked was revoked at").waitFor();
    assert.equal((await service.call("/api/v1/alerts", { token })).status, 401);
  });
});

test("a form's input is restored after the session has ended and the same person has signed in", async (context) => {
  await chromium.withPage(context, { as: olive }, async (page, own) => {
    const address = `${olive.home}/settings/data`;
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
      await enter(page, secret);
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

test("an owner exports everything, erases the workspace and cancels that", async (context) => {
  if (chromium.isMissing(context)) return;
  const own = await createSmallStore(service.database);
  await service.database.query("update order_document set document = '{\"lines\": []}' where shop_key = $1", [
    own.shopKey,
  ]);
  const owner = await actAs(service, own);
  await chromium.withPage(context, { as: owner, expected: /status of 4/u }, async (page) => {
    const found: string[] = [];
    const look = async (state: string): Promise<void> => {
      found.push(...(await wrongLooks(page, state)));
    };
    await page.goto(`${owner.home}/settings/data`);
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
    await page.goto(`${owner.home}/settings/watchlist`);
    await look("another page of settings meanwhile");

    await page.goto(owner.home);
    await page.getByRole("heading", { name: "This workspace will be erased" }).waitFor();
    await look("a page of figures meanwhile");
    await page.getByRole("link", { name: "When, and how to cancel it" }).click();
    await page.getByRole("button", { name: "Keep this workspace" }).click();
    await page.getByRole("status").getByText("is served as before").waitFor();
    await page.getByRole("button", ERASE).waitFor();
    assert.deepEqual(found, []);
  });
});

/**
 * Numbers, in the order of the markup, everything in the page's content that Tab should reach (of a group of radios the checked or the
 * first one); returns how many. From then on the page lists what gets the focus, beginning before the first.
 */
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
  document.querySelector("#content").focus();
  window.places = [];
  document.addEventListener("focusin", ({ target: { dataset: { place = null } } }) => {
    if (places.at(-1) !== place) places.push(place);
  });
  return reached.length;
})()`;
const FOCUSED = `document.activeElement?.matches(".banner[role=alert], .banner[role=status]") === true`;

test("Tab reaches every field and button of every page of settings in order, and goes on; Enter in a field sends its form, and the focus lands on the message", async (context) => {
  await chromium.withPage(context, { as: keyed, expected: /status of 4\d\d/u }, async (page) => {
    const sent: string[] = [];
    for (const { path, name } of SETTINGS) {
      if (path.includes(":")) continue;
      await page.goto(keyed.home + path);
      await tabThrough(page, name);
      const forms = page.locator("#content form[method=post]:has(input:is([type=text], [type=number]))");
      const count = await forms.count();
      for (let index = 0; index < count; index += 1) {
        // An answer may show fewer forms.
        if (sent.at(-1) === name) await page.goto(keyed.home + path);
        if (await sendByEnter(page, forms.nth(index), `${name}, form ${index + 1}`)) sent.push(name);
      }
    }
    assert.ok(sent.length >= 6, sent.join(", "));
  });
});

/** How often Tab is pressed before the list of focused elements is read. */
const TABS = 10;

async function tabThrough(page: Page, name: string): Promise<void> {
  const count = Number(await page.evaluate(REACHABLE));
  let places: (string | null)[] = [];
  // A day is three fields and a button.
  for (let presses = 1; presses <= 4 * count + TABS && !places.includes(null); presses += 1) {
    await page.keyboard.press("Tab");
    if (presses % TABS === 0) places = await page.evaluate<(string | null)[]>("places");
  }
  const inOrder = Array.from({ length: count }, (_, index) => String(index));
  assert.deepEqual(places.slice(0, count + 1), [...inOrder, null], name);
}

/** Returns whether Enter sends the form, which is then filled with values that are refused. */
async function sendByEnter(page: Page, form: Locator, name: string): Promise<boolean> {
  const fields = form.locator("input:is([type=text], [type=number])");
  if (!(await fields.first().isVisible())) return false;
  const button = form.locator("button:not([formmethod=get])");
  // Enter presses the first button, which for a form with a preview only shows it.
  if ((await form.locator("button").first().getAttribute("formmethod")) === "get") return false;
  if ((await button.count()) === 0) return false;
  for (const field of await fields.all()) {
    await field.fill((await field.getAttribute("type")) === "number" ? "-1" : " ");
  }
  for (const day of await form.locator("input[type=date]").all()) await day.fill("2026-01-01");
  await Promise.all([page.waitForEvent("load", { timeout: 8000 }), fields.first().press("Enter")]).catch(
    async (error: unknown) => assert.fail(`${name}: ${await form.innerHTML()} ${String(error)}`),
  );
  // A browser moves the focus when it first paints a page, which may be after its load event.
  await page
    .waitForFunction(FOCUSED, undefined, { timeout: 8000 })
    .catch(() => assert.fail(`${name}: ${page.url()}`));
  return true;
}
