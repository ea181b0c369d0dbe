import assert from "node:assert/strict";
import { once } from "node:events";
import type { Server } from "node:http";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Provider } from "oidc-provider";
import type { Page } from "playwright-core";
import { useChromium } from "./support/chromium.ts";
import { makeUserLink } from "./support/console-person.ts";
import { makeFolder } from "./support/folder.ts";
import { freePort } from "./support/free-port.ts";
import {
  createApp,
  createMember,
  createProvider,
  openCallback,
  startOauthService,
} from "./support/mcp-oauth.ts";
import { MCP_PATH } from "./support/mcp.ts";
import { wrongLooks } from "./support/page-looks.ts";
import { startTestService, type TestService } from "./support/service.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { eventually } from "./support/worker.ts";

/** In Chromium: single sign-on with oidc-provider, which is not ours (decision 0075); and apps of others that connect over MCP. */

const CLIENT = { client_id: "returns", client_secret: "secret of the client" };

/** What the provider's own pages make the browser say, and the refusal at the end. */
const OF_PROVIDER =
  /Clear-Site-Data|Autofocus processing|ERR_NAME_NOT_RESOLVED|autocomplete attributes|status of 40[34]/u;

let service: TestService;
let tenant: Tenant;
let home = "";
let apps: Awaited<ReturnType<typeof startOauthService>>;
let tenants: readonly [Tenant, Tenant];

const chromium = useChromium(async () => {
  const [ownPort, port] = [await freePort(), await freePort()];
  home = `http://localhost:${ownPort}`;
  const issuer = `http://localhost:${port}`;
  const provider = await startProvider(issuer, port);
  service = await startTestService({
    PORT: String(ownPort),
    PUBLIC_URL: home,
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: CLIENT.client_id,
    OIDC_CLIENT_SECRET: CLIENT.client_secret,
    OIDC_NAME: "Acme",
  });
  tenant = await createTenant(service.database);
  await makeUserLink(service, { name: "Owner", shopDomain: tenant.shopDomain });
  apps = await startOauthService();
  await makeUserLink(apps, { name: "Operator" });
  tenants = [await createTenant(apps.database), await createTenant(apps.database)];
  return async () => {
    await apps.stop();
    await service.stop();
    provider.closeAllConnections();
    provider.close();
  };
});

/** Its own sign-in page takes any name, and its account has the verified address of it. */
async function startProvider(issuer: string, port: number): Promise<Server> {
  const server = new Provider(issuer, {
    clients: [
      {
        ...CLIENT,
        redirect_uris: [`${home}/sign-in/provider/callback`],
        post_logout_redirect_uris: [`${home}/sign-in`],
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    cookies: { keys: ["a key for the cookies of a test"] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@acme.example`, email_verified: true }),
    }),
  }).listen(port, "localhost");
  await once(server, "listening");
  return server;
}

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env["KEEP_PICTURES"];
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  assert.deepEqual(await wrongLooks(page, name), [], name);
}

/** The provider's own pages: its sign-in, and its consent the first time. */
async function signInThere(page: Page, name: string, hasConsent: boolean): Promise<void> {
  await page.getByPlaceholder("Enter any login").fill(name);
  await page.getByPlaceholder("and password").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  if (hasConsent) await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForURL(`${home}/**`);
}

test("a member is invited by their address, signs in at the provider, confirms, unlinks, links and signs out of both", async (context) => {
  await chromium.withPage(context, { expected: OF_PROVIDER }, async (page) => {
    const { link } = await makeUserLink(service, { name: "Owner" });
    await page.goto(link);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.goto(`${home}/w/${tenant.shopDomain}/settings/members`);
    await page.getByRole("textbox", { name: "Name" }).fill("Grace");
    await page.getByLabel("E-mail address for single sign-on").fill("Grace@acme.example");
    await picture(page, "invite");
    await page.getByRole("button", { name: "Invite member" }).click();
    const invitation = await page.locator("code").first().innerText();
    await page.getByRole("button", { name: "Sign out" }).click();

    await page.goto(invitation);
    await picture(page, "invitation");
    await page.goto(`${home}/sign-in`);
    await picture(page, "sign-in");
    await page.getByRole("button", { name: "Sign in with Acme" }).click();
    await signInThere(page, "grace", true);
    assert.equal(new URL(page.url()).pathname, `/w/${tenant.shopDomain}`);

    await page.goto(`${home}/me`);
    await page.getByRole("link", { name: "Confirm your identity" }).click();
    await picture(page, "confirm");
    await page.getByRole("button", { name: "Confirm with Acme" }).click();
    await signInThere(page, "grace", false);
    await page.getByText("You have confirmed your identity").waitFor();
    await picture(page, "account");
    await page.getByRole("button", { name: "Unlink account" }).click();
    await page.getByText("Your account was unlinked").waitFor();
    await page.getByRole("button", { name: "Link account" }).click();
    await page.getByText("Your account was linked").waitFor();

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Yes, sign me out" }).click();
    await page.waitForURL(`${home}/sign-in**`);
    await page.getByRole("button", { name: "Sign in with Acme" }).click();
    await page.getByPlaceholder("Enter any login").waitFor();
    await page.goto(`${home}/sign-in`);
    await page.getByRole("button", { name: "Sign in with Acme" }).click();
    await signInThere(page, "stranger", true);
    await page.getByText("no open invitation is for its address").waitFor();
    await picture(page, "refused");
  });
});

/** A person without a session opens an app's page, signs in by a link, and is led to the question. */
async function signIn(page: Page, asked: string, name: string): Promise<void> {
  await page.goto(asked);
  assert.equal(new URL(page.url()).pathname, "/sign-in");
  for (const { shopDomain } of tenants) await makeUserLink(apps, { name, shopDomain });
  const { link } = await makeUserLink(apps, { name });
  await page.goto(link);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(/\/oauth\/authorize\?/u);
}

async function allow(page: Page, { shopDomain }: Tenant): Promise<void> {
  await page.getByLabel(shopDomain).check();
  await page.getByRole("button", { name: "Allow access" }).click();
}

const mcp = (): URL => new URL(`${apps.issuer}${MCP_PATH}`);

for (const [sdk, makeClient, makeTransport] of [
  [
    "2.x",
    () => new Client({ name: "app", version: "1" }),
    (options: never) => new StreamableHTTPClientTransport(mcp(), options),
  ],
  [
    "1.x",
    () => new FirstClient({ name: "app", version: "1" }),
    (options: never) => new FirstTransport(mcp(), options),
  ],
] as const) {
  test(`the official SDK ${sdk} connects: sign-in, consent, use, refresh, and its end in the console`, async (context: TestContext) => {
    await chromium.withPage(context, {}, async (page) => {
      const callback = await openCallback(context);
      const provider = createProvider(callback.url);
      const open = () => makeTransport({ authProvider: provider } as never);
      const first = open();
      await assert.rejects(makeClient().connect(first), /Unauthorized/u);
      await signIn(page, String(provider.kept.asked), `Owner by SDK ${sdk}`);
      await picture(page, "consent");
      await allow(page, tenants[1]);
      const answer = await callback.answer;
      assert.equal(answer.get("state"), "state of the app");
      assert.equal(answer.get("iss"), apps.issuer);
      await page.waitForFunction(`document.title === "Back in the app"`);
      await first.finishAuth(answer.get("code") ?? "", answer.get("iss") ?? "");
      const client = makeClient();
      await client.connect(open());
      assert.ok((await client.listTools()).tools.length >= 7);
      const used = async () => client.callTool({ name: "list_entities", arguments: {} });
      assert.notEqual((await used()).isError, true);
      await apps.database.query("update api_token set expires_at = now() where name = 'Notebook'");
      assert.notEqual((await used()).isError, true, "refreshed by itself");

      await page.goto(`${apps.issuer}/w/${tenants[1].shopDomain}/settings/tokens`);
      await picture(page, "tokens");
      await page.getByRole("link", { name: "Notebook" }).first().click();
      await page.getByLabel("Type its name to confirm").fill("Notebook");
      await page.getByRole("button", { name: "Revoke token" }).click();
      await page.getByText("was revoked at").waitFor();
      await assert.rejects(used());
    });
  });
}

test("a web app's window stays its own through sign-in, confirmation and consent", async (context) => {
  await chromium.withPage(context, { expected: /^Scripts may close|404/u }, async (page, own) => {
    const callback = await openCallback(context);
    const app = await createApp(apps.issuer, "Web app", callback.url);
    const { origin } = new URL(callback.url);
    await page.goto(`${origin}/`);
    const opened = page.waitForEvent("popup");
    const asked = `${apps.issuer}/oauth/authorize?${app.query({ redirect_uri: callback.url })}`;
    await page.evaluate(`window.appWindow = window.open(${JSON.stringify(asked)}, "consent"), 0`);
    const popup = await opened;
    await popup.waitForURL(`${apps.issuer}/sign-in`);
    const { cookie } = await createMember(apps, [tenants[0]]);
    const [name = "", value = ""] = cookie.split("=");
    await own.addCookies([{ name, value, url: apps.issuer }]);
    for (const address of [`/confirm?next=${encodeURIComponent("/me")}`, asked]) {
      await popup.evaluate(`location.href = ${JSON.stringify(address)}`);
      await popup.waitForURL((url) => url.href.endsWith(address));
    }
    await allow(popup, tenants[0]);
    await popup.waitForFunction(`document.title === "Back in the app"`);
    assert.deepEqual(
      [await popup.evaluate("window.opener !== null"), await page.evaluate("window.appWindow.closed")],
      [true, false],
    );
  });
});

test("mcp-remote connects by its own sign-in", async (context) => {
  // Its own last page closes its window and has no icon; its server may have ended by then.
  await chromium.withPage(context, { expected: /^Scripts may close|404|REFUSED/u }, async (page) => {
    const folder = makeFolder();
    const port = await freePort();
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [
        join(import.meta.dirname, "../node_modules/mcp-remote/dist/proxy.js"),
        mcp().href,
        String(port),
        "--allow-http",
      ],
      env: { PATH: "/nowhere", HOME: folder, MCP_REMOTE_CONFIG_DIR: folder },
      stderr: "pipe",
    });
    let said = "";
    transport.stderr?.on("data", (text) => (said += String(text)));
    const client = new Client({ name: "app", version: "1" });
    try {
      const connected = client.connect(transport);
      connected.catch(() => {});
      const asked = await eventually(
        async () => /http\S+\/oauth\/authorize\?\S+/u.exec(said)?.[0] ?? null,
        "mcp-remote asks",
        20,
      );
      await signIn(page, asked, "Owner by mcp-remote");
      await allow(page, tenants[0]);
      await connected;
      assert.ok((await client.listTools()).tools.length >= 7, said);
    } finally {
      await client.close();
    }
  });
});
