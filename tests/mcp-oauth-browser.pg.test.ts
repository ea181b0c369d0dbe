import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { makeUserLink } from "./support/console-person.ts";
import { freePort } from "./support/free-port.ts";
import { useChromium } from "./support/chromium.ts";
import { MCP_PATH } from "./support/mcp.ts";
import {
  createApp,
  createMember,
  createProvider,
  openCallback,
  startOauthService,
} from "./support/mcp-oauth.ts";
import { axeViolations, wrongLooks } from "./support/page-looks.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { eventually } from "./support/worker.ts";
import { makeFolder } from "./support/folder.ts";

let service: Awaited<ReturnType<typeof startOauthService>>;
let tenants: readonly [Tenant, Tenant];
const chromium = useChromium(async () => {
  service = await startOauthService();
  await makeUserLink(service, { name: "Operator" });
  tenants = [await createTenant(service.database), await createTenant(service.database)];
  return () => service.stop();
});

/** A person without a session opens an app's page, signs in by a link, and is led to the question. */
async function signIn(page: Page, asked: string, name: string): Promise<void> {
  await page.goto(asked);
  assert.equal(new URL(page.url()).pathname, "/sign-in");
  for (const { shopDomain } of tenants) await makeUserLink(service, { name, shopDomain });
  const { link } = await makeUserLink(service, { name });
  await page.goto(link);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(/\/oauth\/authorize\?/u);
}

async function allow(page: Page, { shopDomain }: Tenant): Promise<void> {
  await page.getByLabel(shopDomain).check();
  await page.getByRole("button", { name: "Allow access" }).click();
}

const mcp = (): URL => new URL(`${service.issuer}${MCP_PATH}`);

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
      assert.deepEqual(await axeViolations(page), []);
      assert.deepEqual(await wrongLooks(page, "consent"), []);
      if (process.env["KEEP_PICTURES"] !== undefined)
        await page.screenshot({ path: join(process.env["KEEP_PICTURES"], "consent.png"), fullPage: true });
      await allow(page, tenants[1]);
      const answer = await callback.answer;
      assert.equal(answer.get("state"), "state of the app");
      assert.equal(answer.get("iss"), service.issuer);
      await page.waitForFunction(`document.title === "Back in the app"`);
      await first.finishAuth(answer.get("code") ?? "", answer.get("iss") ?? "");
      const client = makeClient();
      await client.connect(open());
      assert.ok((await client.listTools()).tools.length >= 7);
      const used = async () => client.callTool({ name: "list_entities", arguments: {} });
      assert.notEqual((await used()).isError, true);
      await service.database.query("update api_token set expires_at = now() where name = 'Notebook'");
      assert.notEqual((await used()).isError, true, "refreshed by itself");

      await page.goto(`${service.issuer}/w/${tenants[1].shopDomain}/settings/tokens`);
      if (process.env["KEEP_PICTURES"] !== undefined)
        await page.screenshot({ path: join(process.env["KEEP_PICTURES"], "tokens.png"), fullPage: true });
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
    const app = await createApp(service.issuer, "Web app", callback.url);
    const { origin } = new URL(callback.url);
    await page.goto(`${origin}/`);
    const opened = page.waitForEvent("popup");
    const asked = `${service.issuer}/oauth/authorize?${app.query({ redirect_uri: callback.url })}`;
    await page.evaluate(`window.appWindow = window.open(${JSON.stringify(asked)}, "consent"), 0`);
    const popup = await opened;
    await popup.waitForURL(`${service.issuer}/sign-in`);
    const { cookie } = await createMember(service, [tenants[0]]);
    const [name = "", value = ""] = cookie.split("=");
    await own.addCookies([{ name, value, url: service.issuer }]);
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
