import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { ConsoleMessage, Page } from "playwright-core";
import { clientPackage } from "../src/client/package.ts";
import { DEMO_DAY, startDemoService, type DemoService } from "./docs-demo.ts";
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
import { layoutShift, paleTexts, sidewaysScroll, wrongLooks } from "./support/page-looks.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { eventually } from "./support/worker.ts";

/** What developers do in a browser: read the documents, run the client package in a page, and allow MCP apps to connect. */

type Look = { name: string; width: number; height: number; colorScheme: "light" | "dark" };

const WIDE: Look = { name: "wide and dark", width: 1440, height: 900, colorScheme: "dark" };
const NARROW: Look = { name: "narrow and light", width: 360, height: 740, colorScheme: "light" };

let demo: DemoService;
let paths: string[];
/** Of a small store, for the client's package. */
let token: string;
const folder = makeFolder();
let apps: Awaited<ReturnType<typeof startOauthService>>;
let tenants: readonly [Tenant, Tenant];

const chromium = useChromium(async () => {
  demo = await startDemoService();
  const sideLinks =
    /<div class="list">(.*?)<\/div>/su.exec(await (await fetch(addressOf("/docs"))).text())?.[1] ?? "";
  const guides = [...sideLinks.matchAll(/href="(\/docs\/[a-z-]+)"/gu)].map(([, path = ""]) => path);
  paths = ["/docs", ...guides, "/docs/reference"];
  ({ token } = await createSmallStore(service.database));
  const file = join(folder, "client.tgz");
  writeFileSync(file, clientPackage(null));
  await promisify(execFile)("tar", ["-xzf", file, "-C", folder, "--strip-components=1"]);
  apps = await startOauthService();
  await makeUserLink(apps, { name: "Operator" });
  tenants = [await createTenant(apps.database), await createTenant(apps.database)];
  return async () => {
    await apps.stop();
    await demo.stop();
  };
});

for (const look of [WIDE, NARROW]) {
  test(`every page, ${look.name}, logs nothing, requests no other host, fits its width and has no layout shift`, async (context) => {
    await withPage(context, look, async (page) => {
      assert.ok(paths.length >= 9, paths.join(" "));
      for (const path of paths) {
        await page.goto(addressOf(path), { waitUntil: "load" });
        const [overflow, shift] = [await sidewaysScroll(page), await layoutShift(page)];
        assert.equal(overflow, 0, `${path} scrolls sideways by ${overflow} px`);
        assert.ok(shift < 0.01, `${path} shifts by ${shift}`);
        assert.deepEqual(await paleTexts(page), [], path);
      }
    });
  });
}

test("the content, the menus and what scrolls can be reached by keyboard", async (context) => {
  await withPage(context, WIDE, async (page) => {
    await page.goto(addressOf("/docs/numbers"));
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate("document.activeElement.textContent"), "Skip to content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate("document.activeElement.id"), "content");
    assert.equal(await page.locator("pre:not([tabindex='0']), .table:not([tabindex='0'])").count(), 0);
  });
});

test("trying a request on the reference gets the service's answer", async (context) => {
  await withPage(context, NARROW, async (page, problems) => {
    await page.goto(addressOf("/docs/reference"));
    const operation = page.locator("#getSummary");
    await operation.getByRole("button", { name: "Send request" }).click();
    assert.equal(await operation.locator(".outcome").textContent(), "Enter a token first");
    const word = operation.getByText("A request needs a token");
    const [button, told] = [operation.getByRole("button", { name: "Send request" }), word].map((part) =>
      part.boundingBox(),
    );
    assert.ok(((await told)?.y ?? 0) > ((await button)?.y ?? Infinity), "the word is under the button");
    await word.getByRole("link").click();
    await page.getByLabel("Token for trying requests").waitFor({ state: "visible" });

    await page.getByLabel("Token for trying requests").fill(demo.tenant.token);
    for (const operationId of ["getSummary", "listEntities", "getReport", "exportReport"]) {
      assert.match(await sendFrom(page, operationId), /^200 OK · \d+ ms · [\d,]+ requests left today$/u);
    }
    for (const { width, height } of [NARROW, WIDE]) {
      await page.setViewportSize({ width, height });
      await inViewAfterSending(page, "getSummary");
    }
    const answer = await operation.locator(".answer code").textContent();
    const { data } = JSON.parse(answer ?? "") as { data: { sold_units: number } };
    assert.equal(data.sold_units, 355);
    assert.match((await operation.locator(".request code").textContent()) ?? "", /'sku=LMP53-BRASS'/u);
    assert.deepEqual(problems, []);

    await operation.getByLabel("sku", { exact: true }).fill("NO-SUCH-SKU");
    assert.match(await sendFrom(page, "getSummary"), /^400 Bad Request/u);
    assert.equal(
      await page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length"),
      0,
    );
    problems.length = 0;
  });
});

test("the search finds sections by their words, and Enter opens the first one", async (context) => {
  await withPage(context, NARROW, async (page) => {
    await page.goto(addressOf("/docs/reference"));
    await page.keyboard.press("/");
    await page.keyboard.type("incomplete month");
    const found = page.locator("#found li");
    await found.first().waitFor();
    assert.match((await found.first().textContent()) ?? "", /^What the numbers mean: Complete months/u);
    for (const { width, height } of [WIDE, NARROW]) {
      await page.setViewportSize({ width, height });
      const box = await page.locator("#found").boundingBox();
      assert.ok(box !== null && box.x >= 0 && box.x + box.width <= width, JSON.stringify(box));
    }
    await page.keyboard.press("Enter");
    await page.waitForURL("**/docs/numbers#complete-months");
    await page.getByLabel("Search the guides").fill("xylophone quartz");
    await page.getByText("Nothing found.").waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("#found").isVisible(), false);
  });
});

test("on a narrow page the copy button lies beside the code, and copies it", async (context) => {
  await withPage(context, NARROW, async (page) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(addressOf("/docs/mcp"));
    const block = page.locator(".code").first();
    const [code, button] = await Promise.all([
      block.locator("pre").boundingBox(),
      block.getByRole("button", { name: "Copy" }).boundingBox(),
    ]);
    assert.ok(code !== null && button !== null && button.x >= code.x + code.width, "beside, not over");
    await block.getByRole("button", { name: "Copy" }).click();
    assert.equal(
      await page.evaluate("navigator.clipboard.readText()"),
      await block.locator("code").textContent(),
    );
  });
});

test("the reference's forms request the newest complete months on any day", async (context) => {
  await withPage(context, WIDE, async (page) => {
    const shown = async (operationId: string, names: string[]): Promise<string[]> => {
      const form = page.locator(`#${operationId}`);
      return Promise.all(names.map((name) => form.locator(`[name=${name}]`).inputValue()));
    };
    for (const [day, months, since] of [
      [DEMO_DAY, ["2026-01", "2026-05"], "2026-06-01T00:00:00Z"],
      ["2027-01-30", ["2026-07", "2026-11"], "2026-12-01T00:00:00Z"],
      ["2027-01-31", ["2026-08", "2026-12"], "2027-01-01T00:00:00Z"],
    ] as const) {
      await page.clock.setFixedTime(`${day}T06:00:00Z`);
      await page.goto(addressOf("/docs/reference"));
      assert.deepEqual(await shown("getSummary", ["start_month", "end_month"]), months, day);
      assert.deepEqual(await shown("listAlerts", ["since"]), [since], day);
    }
  });
});

function addressOf(path: string): string {
  return demo.service.address + path;
}

/** A fresh page; `problems` has failures and requests to another host, too. */
async function withPage(
  context: TestContext,
  { width, height, colorScheme }: Look,
  use: (page: Page, problems: string[]) => Promise<void>,
): Promise<void> {
  await chromium.withPage(
    context,
    { viewport: { width, height }, colorScheme },
    async (page, _own, problems) => {
      await page.clock.setFixedTime(`${DEMO_DAY}T06:00:00Z`);
      page.on("requestfailed", (request) => {
        // Going to the next page cancels what the browser still loads for itself, such as the icon.
        const reason = request.failure()?.errorText;
        if (reason !== "net::ERR_ABORTED") problems.push(`failed: ${request.url()} ${reason}`);
      });
      page.on("request", (request) => {
        if (!request.url().startsWith(demo.service.address)) problems.push(`foreign: ${request.url()}`);
      });
      await use(page, problems);
    },
  );
}

/** Sends the operation's form; its answer must be on the screen then. */
async function inViewAfterSending(page: Page, operationId: string): Promise<void> {
  await sendFrom(page, operationId);
  const box = await page.locator(`#${operationId} .outcome`).boundingBox();
  const height = page.viewportSize()?.height ?? 0;
  assert.ok(box !== null && box.y >= 0 && box.y + box.height <= height, JSON.stringify(box));
}

/** Presses the operation's button; the line above the answer, once it is there. */
async function sendFrom(page: Page, operationId: string): Promise<string> {
  const operation = page.locator(`#${operationId}`);
  const answered = page.waitForResponse((response) => response.url().includes("/api/v1/"));
  await operation.getByRole("button", { name: "Send request" }).click();
  await (await answered).finished();
  await operation.locator("button[type=submit]:enabled").waitFor();
  return (await operation.locator(".outcome").textContent()) ?? "";
}

const MONTHS = { start_month: "2025-03", end_month: "2026-02" };
/** Where the pages of these tests find the package's files. */
const PACKAGE_PATH = "/client-package/";

test("in a page of the service's origin the package reads figures, pages and a file", async (context) => {
  if (chromium.isMissing(context)) return;
  const page = await openPage(context, service.address);
  const result: unknown = await page.evaluate(
    `import("${PACKAGE_PATH}lib/index.js").then(async ({ createClient, ReturnsApiError }) => {
      const client = createClient({ baseUrl: location.origin, token: ${JSON.stringify(token)} });
      const months = ${JSON.stringify(MONTHS)};
      const { data, quota } = await client.summary(months);
      const labels = [];
      for await (const entity of client.iterateEntities({ limit: 3 })) labels.push(entity.label);
      const { filename, ...file } = await client.exportReport(months);
      const csv = await client.exportReport(months).then((whole) => whole.text());
      const refusal = await client.summary({ ...months, sku: "NONE" }).catch((error) => error);
      const code = refusal instanceof ReturnsApiError ? refusal.code : null;
      await file.stream.cancel();
      return { data, isQuotaKnown: quota.remaining > 0, labels, filename, csv, code };
    })`,
  );
  const ask = (path: string, params: Record<string, string | number>) =>
    service.call(path, { token, params });
  const summary = await ask("/api/v1/summary", MONTHS);
  const entities = await ask("/api/v1/entities", { limit: 100 });
  const file = await ask("/api/v1/export/report.csv", MONTHS);
  assert.ok(entities.json().data.length > 3);
  assert.deepEqual(result, {
    data: summary.json().data,
    isQuotaKnown: true,
    labels: entities.json().data.map(({ label }) => label),
    filename: "returns-report_workspace_2025-03_2026-02.csv",
    csv: file.text,
    code: "invalid_request",
  });
});

test("in a page of another origin a call fails as one without an answer", async (context) => {
  if (chromium.isMissing(context)) return;
  const page = await openPage(context, service.address.replace("127.0.0.1", "localhost"));
  const isBlocked = (message: ConsoleMessage): boolean => /blocked by CORS policy/u.test(message.text());
  const told = page.waitForEvent("console", isBlocked);
  const asked: Promise<unknown> = page.evaluate(
    `import("${PACKAGE_PATH}lib/index.js").then(async ({ createClient, ReturnsNetworkError }) => {
      const settings = { token: ${JSON.stringify(token)}, maxRetries: 0 };
      const client = createClient({ baseUrl: "${service.address}", ...settings });
      const error = await client.alerts().catch((reason) => reason);
      return [location.origin === "${service.address}", error instanceof ReturnsNetworkError, error.reason];
    })`,
  );
  const [result] = await Promise.all([asked, told]);
  assert.deepEqual(result, [false, true, "connection"]);
});

/** An empty page of the origin, which finds the package's files there; everything else is the service's. */
async function openPage(context: TestContext, origin: string): Promise<Page> {
  const page = await chromium.browser.newPage();
  context.after(() => page.close());
  await page.route(`${origin}/page`, (route) =>
    route.fulfill({ contentType: "text/html", body: "<!doctype html><title>Page</title>" }),
  );
  await page.route(`${origin}${PACKAGE_PATH}**`, (route) => {
    const file = new URL(route.request().url()).pathname.slice(PACKAGE_PATH.length);
    return route.fulfill({ contentType: "text/javascript", body: readFileSync(join(folder, file)) });
  });
  await page.goto(`${origin}/page`);
  return page;
}

/** A person without a session opens an app's page, signs in by a link, and is redirected to the consent page. */
async function signIn(page: Page, asked: string, name: string): Promise<void> {
  await page.goto(asked);
  assert.equal(new URL(page.url()).pathname, "/sign-in");
  for (const { shopDomain } of tenants) await makeUserLink(apps, { name, shopDomain });
  const { link } = await makeUserLink(apps, { name });
  await page.goto(link);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(/\/w\?page=/u);
}

async function allow(page: Page, { shopDomain }: Tenant): Promise<void> {
  await page.getByRole("link", { name: shopDomain }).click();
  await page.waitForURL(/\/settings\/tokens\/connect\?/u);
  assert.deepEqual(await wrongLooks(page, "consent"), []);
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
      assert.deepEqual(await wrongLooks(page, "choice of a workspace"), []);
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
      assert.deepEqual(await wrongLooks(page, "tokens"), []);
      await page.getByRole("link", { name: "Notebook" }).first().click();
      await page.getByLabel("Type its name to confirm").fill("Notebook");
      await page.getByRole("button", { name: "Revoke token" }).click();
      await page.getByText("was revoked at").waitFor();
      await assert.rejects(used());
    });
  });
}

test("a web app keeps access to its window through sign-in, confirmation and consent", async (context) => {
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
    const { cookie } = await createMember(apps, tenants);
    const [name = "", value = ""] = cookie.split("=");
    await own.addCookies([{ name, value, url: apps.issuer }]);
    for (const [address, shown] of [
      ["/confirm?next=%2Fme", /\/confirm\?next=%2Fme$/u],
      [asked, /\/w\?page=/u],
    ] as const) {
      await popup.evaluate(`location.href = ${JSON.stringify(address)}`);
      await popup.waitForURL(shown);
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
    const remote = makeFolder();
    const port = await freePort();
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [
        join(import.meta.dirname, "../node_modules/mcp-remote/dist/proxy.js"),
        mcp().href,
        String(port),
        "--allow-http",
      ],
      env: { PATH: "/nowhere", HOME: remote, MCP_REMOTE_CONFIG_DIR: remote },
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
