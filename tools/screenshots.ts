/**
 * Takes the pictures for README.md from a demo store with a fixed day and seed, so that a second run gives the same
 * pictures: npm run screenshots
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { joinEmbedded } from "../src/embedded/embedded.ts";
import { startChromium } from "../tests/docs-chromium.ts";
import { runCommand, startCommand } from "../tests/support/command.ts";
import { makeFolder } from "../tests/support/folder.ts";
import { execute } from "../tests/support/server.ts";
import { installChromium } from "../tests/support/install-chromium.ts";

/** The top of a page of the workspace; `path` has its query. */
type Picture = { file: string; path: string; heightPixels: number };

const DAY = "2026-07-01";
const SEED = "1";
const WIDTH_PIXELS = 1280;
/** Of WebP, up to 100. As PNG, which Chromium compresses poorly, the pictures would exceed the limit. */
const QUALITY = 90;
const MOST_BYTES = 150_000;
const FOLDER = join(import.meta.dirname, "../docs/images");

process.exitCode = await main();

async function main(): Promise<number> {
  const missing = installChromium();
  const browser = missing === null ? await startChromium() : { reason: missing };
  if ("reason" in browser) {
    console.error(browser.reason);
    return 1;
  }
  const dataFolder = makeFolder();
  const environment = {
    RETURNS_DATA_DIR: dataFolder,
    PORT: "0",
    // Otherwise pages would say that the sources of a store of that day are out of date.
    NODE_OPTIONS: `--import=${join(import.meta.dirname, "screenshots", "fixed-clock.js")}`,
    SCREENSHOTS_CLOCK: `${DAY}T06:00:00Z`,
  };
  try {
    const demo = await runCommand(["demo", "--today", DAY, "--seed", SEED, "--json"], environment);
    if (demo.code !== 0) throw new Error(demo.stderr);
    const { store } = JSON.parse(demo.stdout) as { store: { badBatch: { sku: string } } };
    const serving = startCommand(["serve"], environment);
    try {
      const printed = await serving.printed(/\/enter#\S+\n/u);
      return await takeAll(browser, { link: linkIn(printed), dataFolder, sku: store.badBatch.sku });
    } finally {
      serving.child.kill("SIGTERM");
      await serving.outcome;
    }
  } finally {
    await browser.close();
  }
}

function picturesOf(sku: string): Picture[] {
  const query = new URLSearchParams({ sku }).toString();
  return [
    { file: "overview.webp", path: "", heightPixels: 1040 },
    { file: "report.webp", path: `/report?${query}`, heightPixels: 1040 },
    { file: "cohorts.webp", path: "/cohorts", heightPixels: 1040 },
  ];
}

type Shown = { link: string; dataFolder: string; sku: string };

async function takeAll(browser: Browser, { link, dataFolder, sku }: Shown): Promise<number> {
  const context = await browser.newContext({ colorScheme: "light", reducedMotion: "reduce" });
  const [address = "", secret = ""] = link.split("#");
  const { origin } = new URL(address);
  await context.request.post(address, { form: { secret }, headers: { origin }, maxRedirects: 0 });
  await keepSignedIn(dataFolder);
  const page = await context.newPage();
  await page.goto(origin);
  const home = page.url();
  mkdirSync(FOLDER, { recursive: true });
  let tooLarge = 0;
  for (const picture of picturesOf(sku)) {
    const bytes = await take(page, home, picture);
    console.log(`${picture.file}  ${Math.ceil(bytes / 1000)} kB`);
    if (bytes > MOST_BYTES) tooLarge += 1;
  }
  if (tooLarge > 0) console.error(`A picture may have at most ${MOST_BYTES / 1000} kB.`);
  return tooLarge === 0 ? 0 : 1;
}

/** By the database's clock a session of that day has ended, so its end is moved. */
async function keepSignedIn(dataFolder: string): Promise<void> {
  const embedded = await joinEmbedded({ dataFolder, log: () => {} });
  try {
    await execute(embedded.url, "update console_session set idle_until = 'infinity', ends_at = 'infinity'");
  } finally {
    await embedded.release();
  }
}

async function take(page: Page, home: string, { file, path, heightPixels }: Picture): Promise<number> {
  await page.setViewportSize({ width: WIDTH_PIXELS, height: heightPixels });
  await page.goto(`${home}${path}`, { waitUntil: "networkidle" });
  const devTools = await page.context().newCDPSession(page);
  const { data } = await devTools.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
  await devTools.detach();
  const picture = Buffer.from(data, "base64");
  writeFileSync(join(FOLDER, file), picture);
  return picture.byteLength;
}

function linkIn(printed: string): string {
  const link = /http\S+\/enter#\S+/u.exec(printed)?.[0];
  if (link === undefined) throw new Error("The service printed no link to the console.");
  return link;
}
