import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestContext } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { notify } from "../src/actions/notices/notices.ts";
import { useChromium } from "./docs-chromium.ts";
import { actAs } from "./support/acting-member.ts";
import { makeUserLink } from "./support/console-person.ts";
import { STORE_TEXTS } from "./support/input-corpus.ts";
import { wrongLooks, LOOKS } from "./support/page-looks.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";

/** The pages of members, of one's own notices and of the audit as people see them. */

let service: TestService;
let home: string;
let tenant: Tenant;

const chromium = useChromium(async () => {
  service = await startTestService();
  home = `http://localhost:${new URL(service.address).port}`;
  tenant = await createTenant(service.database);
  await actAs(service, tenant, "viewer", "Vera");
  await actAs(service, tenant, "owner", "Owner");
  const owner = await idOf("Owner");
  await service.installation.database.transaction((connection) =>
    notify(connection, tenant.shopKey, [owner], {
      event: "test",
      category: "token_expiry",
      severity: "warning",
      title: "A token expires in 14 days",
      body: "Replace it before.",
      link: { path: "/settings/tokens", text: "See the tokens" },
    }),
  );
  return async () => {
    await service.stop();
  };
});

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
  if (chromium.isMissing(context)) return;
  const own = await chromium.browser.newContext(options);
  const problems: string[] = [];
  try {
    const page = await own.newPage();
    page.on("console", (message) => problems.push(message.text()));
    page.on("pageerror", (error) => problems.push(error.message));
    const { link } = await makeUserLink(service, { name: "Owner", shopDomain: tenant.shopDomain });
    await enter(page, link);
    const place = `${home}/w/${tenant.shopDomain}`;
    await page.waitForURL(place);
    problems.length = 0;
    await use(page, place);
    assert.deepEqual(problems, []);
  } finally {
    await own.close();
  }
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
    await page.getByRole("button", { name: "Remove member" }).click();
    await page.getByText(`Clara was removed from ${tenant.shopDomain}.`).waitFor();
    await invited.reload();
    await invited.waitForURL(`${home}/sign-in`);
    await other.close();
  });
});

test("all of it works without JavaScript, filters and files of the audit included", async (context) => {
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

test("a person's name stays text on every page, whatever it looks like", async (context) => {
  if (chromium.isMissing(context)) return;
  const parser = await chromium.browser.newPage();
  const own = await createTenant(service.database);
  const owner = await actAs(service, own, "owner", "The owner");
  await actAs(service, own, "viewer", "Harmless words");
  const id = await idOf("Harmless words");
  const paths = ["/settings/members", `/settings/members/${id}`, "/settings/audit"];
  const read = async (name: string): Promise<Reading[]> => {
    await service.database.query("update console_user set name = $2 where user_id = $1", [id, name]);
    const readings: Reading[] = [];
    for (const path of paths) {
      const { status, text } = await owner.get(path);
      assert.equal(status, 200);
      readings.push(await parser.evaluate<Reading>(`(${READ})(${JSON.stringify(text)})`));
    }
    return readings;
  };
  const ought = await read("Harmless words");
  for (const hostile of STORE_TEXTS) {
    for (const [index, reading] of (await read(hostile)).entries()) {
      assert.deepEqual(
        reading.skeleton.toSorted(),
        ought[index]?.skeleton.toSorted(),
        `${paths[index]}: ${hostile}`,
      );
      const meant = ought[index]?.texts.map((text) => text.replaceAll("Harmless words", () => hostile));
      assert.deepEqual(reading.texts.toSorted(), meant?.toSorted(), `${paths[index]}: ${hostile}`);
    }
  }
});
