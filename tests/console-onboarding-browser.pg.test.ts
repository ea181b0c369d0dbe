import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { startShopifySimulator, type ShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { useChromium } from "./support/chromium.ts";
import { startCommand } from "./support/command.ts";
import { makeFolder } from "./support/folder.ts";
import { freePort } from "./support/free-port.ts";

/** Somebody who starts the service for the first time, and from then on uses only their browser. */
type Newcomer = {
  page: Page;
  /** Presses a button or follows a link, and counts it. */
  click: (target: Locator) => Promise<void>;
  /** Everything the service printed on its standard error. */
  logged: () => string;
};

type Onboarding = { clicks: number; seconds: number };

/**
 * Runs `npm start -- --no-demo` on an empty data folder and opens the printed link; `use` does the rest up to the first chart. Returns
 * how many clicks and seconds it took from the printed link on.
 */
async function onboard(
  context: TestContext,
  browser: Browser,
  { name, environment }: { name: string; environment: Record<string, string> },
  use: (newcomer: Newcomer) => Promise<void>,
): Promise<Onboarding> {
  const dataFolder = makeFolder();
  const serving = startCommand(["serve", "--no-demo"], {
    RETURNS_DATA_DIR: dataFolder,
    PORT: "0",
    ...environment,
  });
  let logs = "";
  serving.child.stderr?.on("data", (text: string) => (logs += text));
  const own = await browser.newContext();
  try {
    const text = await serving.printed(/\/enter#[\w-]+\n/u);
    const link = /http:\/\/localhost:\d+\/enter#[\w-]+/u.exec(text)?.[0] ?? "";
    const page = await own.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => problems.push(message.text()));
    let clicks = 0;
    const click = async (target: Locator): Promise<void> => {
      clicks += 1;
      await target.click();
    };
    const startedAtMs = performance.now();
    await page.goto(link);
    await use({ page, click, logged: () => logs });
    const seconds = Math.round((performance.now() - startedAtMs) / 100) / 10;
    assert.deepEqual(problems, []);
    context.diagnostic(`${name}: ${clicks} clicks and ${seconds} s to the first chart`);
    return { clicks, seconds };
  } finally {
    await own.close();
    serving.child.kill("SIGTERM");
    await serving.outcome;
  }
}

/** From an empty data folder to the first chart of one's own data, by clicks alone. */

let simulator: ShopifySimulator;

const chromium = useChromium(async () => {
  simulator = await startShopifySimulator({ orders: 600, products: 20 });
  return async () => {
    await simulator.stop();
  };
});

/** On a busy machine. */
const LONGEST_BACKFILL_MS = 120_000;

/** Goes from the link's page to a new workspace; `way` is the button that chooses where its data comes from. */
async function makeWorkspace({ page, click }: Newcomer, way: string): Promise<void> {
  await click(page.getByRole("button", { name: "Sign in" }));
  await page.getByRole("heading", { name: "New workspace" }).waitFor();
  await page.getByLabel("The shop’s domain").fill("lamps.example");
  await page.getByLabel("Its currency").selectOption("EUR");
  await click(page.getByRole("button", { name: way }));
}

/** Follows the run's progress without a click. */
async function watchUntilChart(newcomer: Newcomer): Promise<void> {
  await newcomer.page.getByRole("heading", { name: "Reading Shopify" }).waitFor();
  await seeChart(newcomer);
}

/** Waits for the first chart of the overview, with a rate of the shop. */
async function seeChart({ page }: Newcomer): Promise<void> {
  await page.getByRole("heading", { name: "Overview" }).waitFor({ timeout: LONGEST_BACKFILL_MS });
  await page.locator("figure.chart").first().waitFor();
  const rate = await page.locator(`data[data-from="report/summary/return_rate"]`).getAttribute("value");
  assert.ok(Number(rate) > 0, `the return rate is ${rate}`);
}

test("with the token of a Shopify shop", async (context) => {
  if (chromium.isMissing(context)) return;
  const { clicks } = await onboard(
    context,
    chromium.browser,
    { name: "Shopify by token", environment: {} },
    async (newcomer) => {
      const { page, click, logged } = newcomer;
      await makeWorkspace(newcomer, "Connect Shopify");
      await page.getByLabel("The shop’s name at Shopify").fill(simulator.options.domain);
      await page.getByLabel("Another address").fill(simulator.url);
      await page.getByLabel("Token").fill(simulator.token);
      await click(page.getByRole("button", { name: "Connect Shopify" }));
      await page.getByText(`Shopify is connected to ${simulator.options.domain}`).waitFor();
      await watchUntilChart(newcomer);
      await page.getByRole("heading", { name: "4 of 5 setup steps are left" }).waitFor();
      assert.ok(!logged().includes(simulator.token));
    },
  );
  assert.equal(clicks, 3);
});

test("by the approval of a Shopify shop", async (context) => {
  if (chromium.isMissing(context)) return;
  const port = await freePort();
  const { clientId, clientSecret, domain } = simulator.options;
  const environment = {
    PORT: String(port),
    PUBLIC_URL: `http://localhost:${port}`,
    SHOPIFY_CLIENT_ID: clientId,
    SHOPIFY_CLIENT_SECRET: clientSecret,
  };
  const { clicks } = await onboard(
    context,
    chromium.browser,
    { name: "Shopify by approval", environment },
    async (newcomer) => {
      const { page, click } = newcomer;
      await makeWorkspace(newcomer, "Connect Shopify");
      await page.getByLabel("The shop’s name at Shopify").first().fill(domain);
      await page.getByLabel("Another address").first().fill(simulator.url);
      await click(page.getByRole("button", { name: "Create link" }));
      await click(page.getByRole("link", { name: "Approve at Shopify" }));
      await click(page.getByRole("link", { name: "View progress" }));
      await watchUntilChart(newcomer);
    },
  );
  assert.equal(clicks, 5);
});

test("with a folder of CSV files", async (context) => {
  if (chromium.isMissing(context)) return;
  const folder = makeFolder();
  await simulator.control("export", { folder });
  const { clicks } = await onboard(
    context,
    chromium.browser,
    { name: "CSV files", environment: {} },
    async (newcomer) => {
      const { page, click } = newcomer;
      await makeWorkspace(newcomer, "Upload files");
      await page.getByLabel("Folder with the files").setInputFiles(folder);
      await page.getByLabel("Last day that the files cover").fill(yesterday());
      await click(page.getByRole("button", { name: "Upload and import" }));
      await page.getByText("The files are imported, complete up to").waitFor();
      await click(page.getByRole("link", { name: "See the figures" }));
      await seeChart(newcomer);
    },
  );
  // Choosing the folder is one click more, in the dialog of the browser.
  assert.equal(clicks, 4);
});

function yesterday(): string {
  return new Date(Date.now() - 86_400_000).toISOString().slice(0, "YYYY-MM-DD".length);
}
