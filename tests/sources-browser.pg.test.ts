import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { CONSOLE_ASSETS, layout } from "../src/console/layout.ts";
import { contentSecurityPolicy } from "../src/console/request-rules.ts";
import { progress, type Progress } from "../src/console/views/progress.ts";
import { html, renderHtml } from "../src/lib/html.ts";
import { startWorker, type Worker } from "../src/worker/worker.ts";
import { useChromium } from "./support/chromium.ts";
import { makeFolder } from "./support/folder.ts";
import { csv, type FolderFiles } from "./support/import-workspace.ts";
import { wrongLooks } from "./support/page-looks.ts";
import { scene } from "./support/scene.ts";
import { startTestService, type TestService } from "./support/service.ts";
import { PART_BYTES } from "./support/upload.ts";
import { SMALL_FOLDER } from "./support/upload-workspace.ts";
import { workerOptions } from "./support/worker.ts";

/** How data comes, in a real browser: an owner sends a folder, from choosing it to the first chart and over faults, and watches a job. */

const LINES = "order_id,line_id,ordered_at,units";
const GOOD = "o1,l1,2026-01-05T10:00:00Z,2";
const BAD = "o2,l1,2026-01-05T10:00:00Z,1.5";

const LONGEST_IMPORT_MS = 120_000;

/** With a worker, which imports what is uploaded. */
let service: TestService;
let worker: Worker;
const jobs = createServer(answerJob);

const chromium = useChromium(async () => {
  service = await startTestService();
  worker = await startWorker(
    workerOptions({ database: service.installation.database, url: service.databaseUrl }, []),
  );
  await once(jobs.listen(0, "localhost"), "listening");
  return async () => {
    jobs.close();
    await worker.stop();
    await service.stop();
  };
});

/** The page of imports of a workspace without data, opened by its owner. */
async function asOwner(context: TestContext, use: (page: Page) => Promise<void>): Promise<void> {
  if (chromium.isMissing(context)) return;
  const { member } = await scene({ on: service, readiness: "installing", dataAsOf: null });
  const owner = await member();
  // The tests refuse parts and cut connections.
  await chromium.withPage(context, { as: owner, expected: /^/u }, async (page, own, problems) => {
    const home = new URL(owner.home).origin;
    own.on("request", (request) => {
      if (!request.url().startsWith(`${home}/`)) problems.push(`asked ${request.url()}`);
    });
    await page.goto(`${owner.home}/settings/imports`);
    await use(page);
  });
}

async function withFolder(files: FolderFiles, use: (folder: string) => Promise<void>): Promise<void> {
  const folder = makeFolder();
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  await use(folder);
}

const choose = (page: Page, folder: string) => page.getByLabel("Folder with the files").setInputFiles(folder);
const press = (page: Page, name: string) => page.getByRole("button", { name }).click();
const imported = (page: Page) =>
  page.getByText("The files are imported, complete up to").waitFor({ timeout: LONGEST_IMPORT_MS });

const looksWell = async (page: Page, state: string): Promise<void> =>
  assert.deepEqual(await wrongLooks(page, state), []);

test("an owner chooses a folder, watches the upload and sees the first chart", async (context) => {
  await asOwner(context, async (page) => {
    await looksWell(page, "before a folder is chosen");
    await withFolder({ ...SMALL_FOLDER, "notes.txt": "x" }, async (folder) => {
      await choose(page, folder);
      await page.getByText(/order_lines\.csv \(0\.0 MB\).* 1 other files are left out\./u).waitFor();
      await page.getByLabel("Last day that the files cover").fill("2026-06-30");
      await press(page, "Upload and import");
      await page.waitForURL(/\/settings\/imports\/[0-9a-f-]{36}$/u);
      await imported(page);
    });
    await looksWell(page, "imported");
    await page.getByRole("link", { name: "See the figures" }).click();
    await page.locator("figure.chart svg").first().waitFor();
    await page.getByText("Orders as of 1 Jul 2026").waitFor();
  });
});

test("an upload survives network faults, and continues after a reload where it stopped", async (context) => {
  await asOwner(context, async (page) => {
    // An unknown column is uploaded, but not stored.
    const note = "x".repeat(9000);
    const rows = Array.from({ length: 1100 }, (_, index) => `o${index},l1,2026-01-05T10:00:00Z,1,${note}`);
    const body = csv(`${LINES},note`, ...rows);
    assert.equal(Math.ceil(body.length / PART_BYTES), 3);
    const sent: string[] = [];
    let faults = 2;
    let isCut = true;
    await page.route(/\/parts\/order_lines\.csv\/\d+$/u, async (route) => {
      const part = new URL(route.request().url()).pathname.split("/").at(-1) ?? "";
      if (part === "1" && isCut) return route.fulfill({ status: 503, headers: { "retry-after": "60" } });
      if (part === "0" && faults-- > 0) return route.abort("connectionreset");
      sent.push(part);
      return route.continue();
    });
    await withFolder({ "order_lines.csv": body }, async (folder) => {
      await choose(page, folder);
      await press(page, "Upload and import");
      await page.getByText(/^4\.2 of \d+\.\d MB are sent\. Interrupted; trying again\.$/u).waitFor();
      isCut = false;
      page.once("dialog", (dialog) => void dialog.accept());
      await page.reload();
      await page.getByText(/^4\.2 of \d+\.\d MB have arrived\. It can be continued until/u).waitFor();
      await looksWell(page, "interrupted");
      await choose(page, folder);
      await press(page, "Continue");
      await imported(page);
    });
    assert.deepEqual(sent, ["0", "1", "2"], "no part was sent twice");
    await page.getByText("1,100").first().waitFor();
  });
});

test("a wrong header line and files of other names are reported before anything is sent", async (context) => {
  await asOwner(context, async (page) => {
    const posts: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") posts.push(request.url());
    });
    const files = { "order_lines.csv": csv("order_id,units", "o1,1"), "orders.xlsx": "x" };
    await withFolder(files, async (folder) => {
      await choose(page, folder);
      await page
        .getByText("order_lines.csv: the first line lacks the columns line_id, ordered_at.")
        .waitFor();
      assert.ok(await page.getByRole("button", { name: "Upload and import" }).isDisabled());
      await looksWell(page, "a wrong header line");
      await writeFile(join(folder, "order_lines.csv"), csv("order_id,line_id,deleted", "o1,l1,true"));
      await choose(page, folder);
      await page.getByRole("button", { name: "Upload and import", disabled: false }).waitFor();
    });
    assert.deepEqual(posts, []);
  });
});

test("a Shopify export and files with semicolons are refused, and the page says what to do", async (context) => {
  await asOwner(context, async (page) => {
    const shopify = csv("Name,Email,Financial Status,Lineitem quantity", "#1001,a@example.com,paid,1");
    const other = csv("Name,Email", "Ann,a@example.com");
    for (const name of ["orders_export_1.csv", "order_lines.csv"]) {
      await withFolder({ [name]: shopify, "customers.csv": other }, async (folder) => {
        await choose(page, folder);
        const banner = page.getByText(`${name} is an order export of Shopify’s admin`);
        await banner.getByRole("link", { name: "Connect the shop" }).waitFor();
        assert.equal(await page.locator("[data-problems] p").count(), 1);
        assert.ok(await page.getByRole("button", { name: "Upload and import" }).isDisabled());
      });
    }
    await looksWell(page, "an order export");
    for (const first of ["", "sep=;\r\n"]) {
      const body = first + csv(LINES, GOOD).replaceAll(",", ";");
      await withFolder({ "order_lines.csv": body }, async (folder) => {
        await choose(page, folder);
        await page
          .getByText(
            "order_lines.csv: the cells are separated by semicolons. Export the file with commas between them.",
          )
          .waitFor();
        assert.ok(await page.getByRole("button", { name: "Upload and import" }).isDisabled());
      });
    }
    await withFolder({ "orders_export_1.csv": shopify }, async (folder) => {
      await choose(page, folder);
      await page.getByRole("link", { name: "Connect the shop" }).click();
      await page.waitForURL(/\/settings\/sources\/shopify\/connect$/u);
    });
  });
});

test("refused rows are shown in a table; the corrected file is sent again", async (context) => {
  await asOwner(context, async (page) => {
    const files = { ...SMALL_FOLDER, "order_lines.csv": csv(LINES, GOOD, BAD) };
    await withFolder(
      { ...files, "returns.csv": csv("return_id,order_id,line_id,status,units") },
      async (folder) => {
        await choose(page, folder);
        await press(page, "Upload and import");
        await page.getByRole("button", { name: "Import without this row" }).waitFor();
        await looksWell(page, "refused rows");
        const row = page.getByRole("row", { name: /order_lines\.csv/u });
        assert.match(
          await row.innerText(),
          /3\s+units\s+is not a whole number: "1\.5"\s+a whole number from 0 to/u,
        );
        const download = page.waitForEvent("download");
        await press(page, "Download all of them as CSV");
        assert.equal((await download).suggestedFilename(), "refused-rows.csv");
        const corrected = join(folder, "order_lines.csv");
        await writeFile(corrected, csv(LINES, GOOD, GOOD.replace("o1", "o2")));
        await page.getByLabel("Or single files of it").setInputFiles([corrected]);
        await press(page, "Send again");
        await imported(page);
      },
    );
    assert.equal(await page.locator("dt:text-is('Order lines') + dd").innerText(), "2");
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

/** What the next loads of a job's page show; the last one is repeated. null = the service is unreachable. */
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

test("with JavaScript the counts change in place, also after a failed request, and the end of the job opens the next page", async (context) => {
  states = [WAITING, null, READING, { ...READING, done: 2400 }, { ...ENDED, nextHref: "/next" }];
  await watch(context, { javaScriptEnabled: true }, async (page) => {
    await page.getByText("Waiting to start").waitFor();
    assert.deepEqual(await wrongLooks(page, "a job"), []);
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

test("a job without a next page ends with a reload of its page", async (context) => {
  states = [READING, ENDED];
  await watch(context, { javaScriptEnabled: true }, async (page) => {
    await page.getByText("Everything has been read").waitFor();
    await page.locator("[data-progress=ended]").waitFor();
    assert.equal(await page.locator("progress").count(), 0);
  });
});

test("without JavaScript the browser reloads the page by itself until the job has ended", async (context) => {
  states = [READING, { ...ENDED, nextHref: "/next" }];
  await watch(context, { javaScriptEnabled: false }, async (page) => {
    await page.getByText("1,200 of 5,000").waitFor();
    await page.getByText("Everything has been read").waitFor();
    assert.equal(await page.locator("noscript").count(), 0);
  });
});
