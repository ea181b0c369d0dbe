import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestContext } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { notifyPeople } from "../src/store/queries/notice.ts";
import { useChromium } from "./support/chromium.ts";
import { actAs } from "./support/acting-member.ts";
import { openPage } from "./support/console-page.ts";
import type { Reader } from "./support/console-page.ts";
import { makeUserLink, signInAs } from "./support/console-person.ts";
import { STORE_TEXTS } from "./support/input-corpus.ts";
import { wrongLooks, LOOKS } from "./support/page-looks.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { createTenant, createTokenOf, insertRows } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";

/** The pages of members, of one's own notices, of the audit, of tokens and of usage as people see them. */

let service: TestService;
let home: string;
let tenant: Tenant;

const chromium = useChromium(async () => {
  service = await startTestService();
  home = `http://localhost:${new URL(service.address).port}`;
  tenant = await createTenant(service.database, { dailyQuota: 1000 });
  await seedUsage(tenant);
  await actAs(service, tenant, "viewer", "Vera");
  await actAs(service, tenant, "owner", "Owner");
  const owner = await idOf("Owner");
  await service.installation.database.transaction((connection) =>
    notifyPeople(connection, tenant.shopKey, [owner], {
      event: "test",
      category: "token_expiry",
      severity: "warning",
      title: "A token expires in 14 days",
      body: "Replace it before.",
      linkPath: "/settings/tokens",
      linkLabel: "See the tokens",
    }),
  );
  return () => service.stop();
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

async function idOf(name: string): Promise<string> {
  const { rows } = await service.database.query<{ user_id: string }>(
    "select user_id from console_user where name = $1",
    [name],
  );
  return rows[0]?.user_id ?? "";
}

/** A browser of one's own, signed in; what its console says fails the test. */
async function signedIn(
  context: TestContext,
  options: BrowserContextOptions,
  use: (page: Page, place: string) => Promise<void>,
): Promise<void> {
  await chromium.withPage(context, options, async (page, _own, problems) => {
    const { link } = await makeUserLink(service, { name: "Owner", shopDomain: tenant.shopDomain });
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

for (const { width, colorScheme } of LOOKS) {
  test(`the pages of people and the audit, ${width} px, ${colorScheme}`, async (context) => {
    await signedIn(context, { viewport: { width, height: 800 }, colorScheme }, async (page, place) => {
      const found: string[] = [];
      const look = async (name: string) => found.push(...(await wrongLooks(page, name)));
      const name = `Looked at ${width} ${colorScheme} ${"long".repeat(15)}`;
      await page.goto(`${place}/settings/members`);
      await page.getByLabel("Name", { exact: true }).fill(name);
      await page.getByRole("button", { name: "Invite member" }).click();
      await page.getByRole("heading", { name: "Invitation for Looked at" }).waitFor();
      await look("an invitation");
      const paths = [
        "members",
        `members/${await idOf(name)}`,
        `members/${await idOf("Vera")}`,
        "notices",
        "audit",
      ];
      for (const path of paths) {
        await page.goto(`${place}/settings/${path}`);
        await look(path);
      }
      assert.deepEqual(found, []);
    });
  });
}

test("an invitation is copied, used in another browser, and its member raised and removed by clicks", async (context) => {
  const permissions = ["clipboard-read", "clipboard-write"];
  await signedIn(context, { permissions }, async (page, place) => {
    await page.goto(`${place}/settings/members`);
    await page.getByLabel("Name", { exact: true }).fill("Clara");
    await page.getByLabel("Role").selectOption("admin");
    await page.getByRole("button", { name: "Invite member" }).click();
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

test("members and the audit work without JavaScript, filters and files of the audit included", async (context) => {
  await signedIn(context, { javaScriptEnabled: false, acceptDownloads: true }, async (page, place) => {
    await page.goto(`${place}/settings/members`);
    await page.getByLabel("Name", { exact: true }).fill("Plain");
    await page.getByRole("button", { name: "Invite member" }).click();
    assert.match((await page.locator("code[data-form=link]").textContent()) ?? "", /\/enter#/u);
    await page.getByRole("link", { name: "Back to members" }).click();
    await page.getByRole("link", { name: "Plain" }).click();
    await page.getByRole("button", { name: "Cancel invitation" }).click();
    await page.getByText("The invitation for Plain was canceled. Its link no longer works.").waitFor();
    await page.goto(`${place}/alerts`);
    await page.getByRole("link", { name: "Yours" }).click();
    await page.getByRole("heading", { name: "A token expires in 14 days" }).waitFor();
    await page.goto(`${place}/settings/audit`);
    await page.getByLabel("What", { exact: true }).selectOption("member.remove");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.getByRole("cell", { name: "removed member" }).first().waitFor();
    assert.match(page.url(), /action=member\.remove/u);
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download everything shown by this filter as CSV" }).click();
    assert.equal((await download).suggestedFilename(), `audit_${tenant.shopDomain}.csv`);
  });
});

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
    await page.getByText("The token clicked was revoked at").waitFor();
    assert.equal((await service.call("/api/v1/alerts", { token })).status, 401);
  });
});

test("tokens and usage work without JavaScript, rotation included", async (context) => {
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

/** Opens pages again with each hostile text in place of harmless words: the text changes, and no element. */
async function expectPlainText(
  paths: readonly string[],
  page: {
    rename: (name: string) => Promise<unknown>;
    reader: Reader;
    /** Lists are in the order of names. */
    isOrdered?: boolean;
  },
): Promise<void> {
  const parser = await chromium.browser.newPage();
  const arranged = (found: readonly string[] = []) => (page.isOrdered === true ? found.toSorted() : found);
  const read = async (name: string): Promise<Reading[]> => {
    await page.rename(name);
    const readings: Reading[] = [];
    for (const path of paths) {
      const { status, text } = await openPage(service, path, page.reader);
      assert.equal(status, 200);
      readings.push(await parser.evaluate<Reading>(`(${READ})(${JSON.stringify(text)})`));
    }
    return readings;
  };
  const ought = await read("Harmless words");
  for (const hostile of STORE_TEXTS) {
    for (const [index, reading] of (await read(hostile)).entries()) {
      const where = `${paths[index]} with ${hostile}`;
      assert.deepEqual(arranged(reading.skeleton), arranged(ought[index]?.skeleton), where);
      const meant = ought[index]?.texts.map((text) => text.replaceAll("Harmless words", () => hostile));
      assert.deepEqual(arranged(reading.texts), arranged(meant), where);
    }
  }
}

test("a person's name stays text on every page, whatever it looks like", async (context) => {
  if (chromium.isMissing(context)) return;
  const own = await createTenant(service.database);
  const { cookie } = await actAs(service, own, "owner", "The owner");
  await actAs(service, own, "viewer", "Harmless words");
  const id = await idOf("Harmless words");
  await expectPlainText(["/settings/members", `/settings/members/${id}`, "/settings/audit"], {
    rename: (name) =>
      service.database.query("update console_user set name = $2 where user_id = $1", [id, name]),
    reader: { tenant: own, cookie },
    isOrdered: true,
  });
});

test("a token's name stays text on every page, whatever it looks like", async (context) => {
  if (chromium.isMissing(context)) return;
  const own = await createTenant(service.database);
  const cookie = await signInAs(service, { name: "Reader", shopDomain: own.shopDomain });
  const request = { endpoint: "alerts", surface: "rest", outcome: "ok", requests: 1, quota_requests: 1 };
  const { shopKey: shop_key, tokenId: token_id } = own;
  const day = dayBefore(0);
  await insertRows(service.database, "usage_detail", [{ ...request, shop_key, token_id, day }]);
  await expectPlainText(["/settings/tokens", `/settings/tokens/${token_id}`, "/settings/usage"], {
    rename: (name) =>
      service.database.query("update api_token set name = $2 where token_id = $1", [token_id, name]),
    reader: { tenant: own, cookie },
  });
});

test("what was typed is there again after the session ended and the same person signed in", async (context) => {
  if (chromium.isMissing(context)) return;
  const cookie = await signInAs(service, { name: "Owner" });
  await chromium.withPage(context, { cookie, home }, async (page, own) => {
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
    await signIn("Owner");
    await page.getByText("What you had typed is here again.").waitFor();
    await page.getByText("You were signed out when you sent the form").waitFor();
    assert.equal(await name.inputValue(), "Kept name");
    await page.getByRole("button", { name: "Save name" }).click();
    await page.getByText("The workspace is now called Kept name.").waitFor();
    assert.equal(await page.getByText("What you had typed is here again.").count(), 0);
    await sendSignedOut("Mine alone");
    await signIn("Somebody else");
    assert.equal(await name.inputValue(), "Kept name", "another person sees what is saved");
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  });
});
