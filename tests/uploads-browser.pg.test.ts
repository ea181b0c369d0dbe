import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { startWorker, type Worker } from "../src/worker/worker.ts";
import { useChromium } from "./support/chromium.ts";
import { makeUserLink } from "./support/console-person.ts";
import { csv, type FolderFiles } from "./support/import-workspace.ts";
import { axeViolations, sidewaysScroll } from "./support/page-looks.ts";
import { startTestService, type TestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import { PART_BYTES, uploadClient } from "./support/upload.ts";
import { SMALL_FOLDER } from "./support/upload-workspace.ts";
import { workerOptions } from "./support/worker.ts";
import { makeFolder } from "./support/folder.ts";

/** An owner sends a folder in a real browser: from choosing it to the first chart, over faults, and without script. */

const LINES = "order_id,line_id,ordered_at,units";
const GOOD = "o1,l1,2026-01-05T10:00:00Z,2";
const BAD = "o2,l1,2026-01-05T10:00:00Z,1.5";

const LONGEST_IMPORT_MS = 120_000;

let service: TestService;
let worker: Worker;
let home: string;

const chromium = useChromium(async () => {
  service = await startTestService();
  worker = await startWorker(
    workerOptions({ database: service.installation.database, url: service.databaseUrl }, []),
  );
  home = `http://localhost:${new URL(service.address).port}`;
  return async () => {
    await worker.stop();
    await service.stop();
  };
});

/** The page of imports of a workspace without data, opened by its owner. */
async function asOwner(
  context: TestContext,
  options: { javaScriptEnabled: boolean },
  use: (page: Page) => Promise<void>,
): Promise<void> {
  // Parts are refused on purpose, and connections cut.
  await chromium.withPage(context, { ...options, expected: /^/u }, async (page, own, problems) => {
    const { shopDomain } = await createTenant(service.database, { readiness: "installing", dataAsOf: null });
    own.on("request", (request) => {
      if (!request.url().startsWith(`${home}/`)) problems.push(`asked ${request.url()}`);
    });
    const { link } = await makeUserLink(service, { name: `Owner of ${shopDomain}`, shopDomain });
    await page.goto(`${home}/enter`);
    await page.getByLabel("Paste your link").fill(link);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(/\/w\/./u);
    await page.goto(`${home}/w/${shopDomain}/settings/imports`);
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

async function looksWell(page: Page): Promise<void> {
  assert.deepEqual(await axeViolations(page), []);
  await page.setViewportSize({ width: 360, height: 800 });
  assert.equal(await sidewaysScroll(page), 0);
  await page.setViewportSize({ width: 1280, height: 800 });
}

test("an owner chooses a folder, watches it arrive and sees the first chart", async (context) => {
  await asOwner(context, { javaScriptEnabled: true }, async (page) => {
    await looksWell(page);
    await withFolder({ ...SMALL_FOLDER, "notes.txt": "x" }, async (folder) => {
      await choose(page, folder);
      await page.getByText(/order_lines\.csv \(0\.0 MB\).* 1 other files are left out\./u).waitFor();
      await page.getByLabel("Last day that the files cover").fill("2026-06-30");
      await press(page, "Upload and import");
      await page.waitForURL(/\/settings\/imports\/[0-9a-f-]{36}$/u);
      await imported(page);
    });
    await looksWell(page);
    await page.getByRole("link", { name: "See the figures" }).click();
    await page.locator("figure.chart svg").first().waitFor();
    await page.getByText("Orders as of 1 Jul 2026").waitFor();
  });
});

test("an upload goes on over faults of the network, and after a reload where it stopped", async (context) => {
  await asOwner(context, { javaScriptEnabled: true }, async (page) => {
    // An unknown column is sent, and not stored.
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
      await looksWell(page);
      await choose(page, folder);
      await press(page, "Continue");
      await imported(page);
    });
    assert.deepEqual(sent, ["0", "1", "2"], "no part was sent twice");
    await page.getByText("1,100").first().waitFor();
  });
});

test("a wrong header line and files of other names are reported before anything is sent", async (context) => {
  await asOwner(context, { javaScriptEnabled: true }, async (page) => {
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
      await looksWell(page);
      await writeFile(join(folder, "order_lines.csv"), csv("order_id,line_id,deleted", "o1,l1,true"));
      await choose(page, folder);
      await page.getByRole("button", { name: "Upload and import", disabled: false }).waitFor();
    });
    assert.deepEqual(posts, []);
  });
});

test("a Shopify export and cells between semicolons are refused with what to do", async (context) => {
  await asOwner(context, { javaScriptEnabled: true }, async (page) => {
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
    await looksWell(page);
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
  await asOwner(context, { javaScriptEnabled: true }, async (page) => {
    const files = { ...SMALL_FOLDER, "order_lines.csv": csv(LINES, GOOD, BAD) };
    await withFolder(
      { ...files, "returns.csv": csv("return_id,order_id,line_id,status,units") },
      async (folder) => {
        await choose(page, folder);
        await press(page, "Upload and import");
        await page.getByRole("button", { name: "Import without this row" }).waitFor();
        await looksWell(page);
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

test("without script the page says how the command does it, and decisions are forms", async (context) => {
  await asOwner(context, { javaScriptEnabled: false }, async (page) => {
    // Texts within noscript are found by their element alone.
    const without = page.locator("noscript:has(pre)");
    assert.match(await without.locator("p").innerText(), /Sending files by browser needs JavaScript/u);
    assert.match(
      await without.locator("pre").innerText(),
      /\.\/returns import \.\/folder --workspace shop-/u,
    );
    assert.equal(await page.getByLabel("Folder with the files").isVisible(), false);

    const [cookie] = await page.context().cookies();
    const shopDomain = new URL(page.url()).pathname.split("/")[2] ?? "";
    const sender = { address: home, cookie: `${cookie?.name}=${cookie?.value}`, shopDomain };
    const id = await uploadClient(sender).send({ "order_lines.csv": csv(LINES, GOOD, BAD) });
    await page.goto(`${page.url()}/${id}`);
    // The browser reloads the page of a job automatically.
    await page.getByRole("button", { name: "Import without this row" }).click();
    await page.getByText("Left out: 1 row").waitFor();
  });
});
