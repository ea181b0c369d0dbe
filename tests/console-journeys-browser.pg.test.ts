import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { parse } from "csv-parse/sync";
import type { Locator, Page } from "playwright-core";
import { useChromium } from "./support/chromium.ts";
import { startConsoleDemo, type ConsoleDemo } from "./support/console-demo.ts";
import { makeUserLink, unusedLinks } from "./support/console-person.ts";
import { service } from "./support/shared-service.ts";

/** What people do in the console, in a real browser, on the demo store. */

let started: ConsoleDemo;
let home: string;
/** Path of the workspace. */
let place: string;

const chromium = useChromium(async () => {
  started = await startConsoleDemo();
  home = `http://localhost:${new URL(started.service.address).port}`;
  place = `/w/${started.demo.domain}`;
  // The first person is the operator, who is led to make a workspace.
  await makeUserLink(service, { name: "Operator" });
  return () => started.stop();
});

/** A separate browser, signed in with a pasted link; forbidden behaviour is collected and fails the test. */
async function signedIn(
  context: TestContext,
  options: { javaScriptEnabled: boolean },
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const permissions = ["clipboard-read", "clipboard-write"];
  await chromium.withPage(context, { ...options, permissions }, async (page, own, problems) => {
    own.on("request", (request) => {
      if (!request.url().startsWith(`${home}/`)) problems.push(`asked ${request.url()}`);
    });
    own.on("response", (response) => {
      if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
    });
    const { link } = await makeUserLink(started.service, {
      name: "Merchandiser",
      shopDomain: started.demo.domain,
    });
    await page.goto(`${home}/enter`);
    await page.getByLabel("Paste your link").fill(link);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(home + place);
    await use(page);
  });
}

/** The exact value of a figure, as the API has it. */
const exact = (page: Page, from: string): Promise<string | null> =>
  page.locator(`data[data-from="${from}"]`).first().getAttribute("value");

const heading = async (page: Page): Promise<string> =>
  (await page.getByRole("heading", { level: 1 }).innerText()).trim();

const parameters = (page: Page): Record<string, string> =>
  Object.fromEntries(new URL(page.url()).searchParams);

const show = (page: Page) => page.getByRole("button", { name: "Show" }).click();

/** A part of the bar by the button that opens it. */
const menu = (page: Page, name: string) => page.locator(".menu > summary", { hasText: name });

/** By the navigation, to another page. */
const go = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();

test("without JavaScript: months, filters, cohorts, a leaderboard and a file", async (context) => {
  await signedIn(context, { javaScriptEnabled: false }, async (page) => {
    await go(page, "Report");
    assert.equal(await heading(page), "The whole store");
    const rolling = await exact(page, "report/summary/return_rate");

    const [first, last] = ["2026-07", "2026-09"];
    await menu(page, "Last 12 months").click();
    await page.getByRole("link", { name: "Last 3 months" }).click();
    assert.deepEqual(parameters(page), { period: "quarter" });
    assert.equal(await exact(page, "report/meta/start_month"), first);
    await menu(page, "Last 3 months").click();
    await page.getByLabel("First month of orders").fill(first);
    await page.getByLabel("Last month of orders").fill(last);
    await menu(page, "Filters").click();
    await page.getByLabel("Returned within").selectOption("90d");
    await page.getByLabel("Months in progress").check();
    await show(page);
    const { start_month, end_month, window, include_incomplete } = parameters(page);
    assert.deepEqual([start_month, end_month, window, include_incomplete], [first, last, "90d", "newest"]);
    assert.equal(await page.getByLabel("First month of orders").inputValue(), first);
    assert.equal(await page.getByLabel("Returned within").inputValue(), "90d");
    assert.equal(await exact(page, "report/window_days"), "90");
    assert.ok(
      await page.getByText("Months in progress are included: their rates can still rise.").isVisible(),
    );
    const whole = await exact(page, "report/summary/return_rate");
    assert.notEqual(whole, rolling);

    await go(page, "Return curves");
    const heat = page.locator("table.heat");
    const rows = await heat.locator("tbody tr").count();
    assert.equal(rows, 13, "12 months and all of them together");
    await page.getByLabel("Months in progress").check();
    await show(page);
    assert.equal(parameters(page)["include_incomplete"], "newest");

    await go(page, "Products");
    await page.getByRole("link", { name: "Returns cost" }).click();
    const costliest = page.locator("main tbody tr").first().locator("th a.name");
    const name = await costliest.innerText();
    await costliest.click();
    assert.equal(await heading(page), name);
  });
});

test("with JavaScript: a readout moves by keyboard and pointer, and Copy copies the request", async (context) => {
  await signedIn(context, { javaScriptEnabled: true }, async (page) => {
    await go(page, "Report");
    const trend = page.locator("#trend-trend");
    const slider = trend.getByRole("slider", { name: "Month" });
    await slider.focus();
    const seen = new Set<string>();
    for (const key of ["Home", "ArrowRight", "End"]) {
      await page.keyboard.press(key);
      const row = Number(await slider.inputValue());
      const cells = await trend.locator("tbody tr[data-x]").nth(row).locator("data").allTextContents();
      const told = await slider.getAttribute("aria-valuetext");
      assert.ok(cells.length > 0);
      for (const cell of cells) assert.ok(told?.includes(oneLine(cell)), `${told} has ${cell}`);
      seen.add(told ?? "");
    }
    assert.equal(seen.size, 3);
    const drawing = (await trend.locator(".chart-plot > svg").boundingBox()) ?? assert.fail();
    await page.mouse.move(drawing.x + 2, drawing.y + 20);
    const first = await trend.locator("tbody tr[data-x]").first().locator("data").allTextContents();
    const read = oneLine((await trend.locator("output").textContent()) ?? "");
    for (const cell of first) assert.ok(read.includes(oneLine(cell)), `${read} has ${cell}`);
    assert.match((await trend.locator(".guide").getAttribute("x1")) ?? "", /^\d\.\d+%$/u);

    const box = page.locator(".api-box");
    await box.locator("summary").click();
    for (const form of ["curl", "mcp", "query", "client"]) {
      const code = box.locator(`[data-request="report"] [data-form="${form}"]`);
      const written = await code.textContent();
      const button = code.locator("xpath=../..").getByRole("button");
      await button.click();
      await button.filter({ hasText: "Copied" }).waitFor();
      assert.equal(await page.evaluate("navigator.clipboard.readText()"), written, form);
    }
  });
});

/** How many clicks from the overview a question may take. */
const MOST_CLICKS = 2;

type Question = {
  asked: string;
  /** What is pressed, in this order. */
  clicks: readonly ((page: Page) => Locator)[];
  /** Chosen before the last click, in a field that is already in sight. */
  choose?: (page: Page) => Promise<unknown>;
  /** What the page then says. */
  answer: (page: Page) => Promise<void>;
};

const inNavigation = (name: string) => (page: Page) =>
  page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true });
const link = (name: string | RegExp) => (page: Page) => page.getByRole("link", { name }).first();

/** What the first problem card says. */
const says = (pattern: RegExp) => async (page: Page) => {
  const card = page.locator(".card").first();
  assert.match(oneLine(await card.innerText()), pattern);
};

/** What a merchandiser asks; `sku` and `title` are of the bad batch. */
function questionsAbout({ sku, title }: { sku: string; title: string }): Question[] {
  const firstRow = (page: Page) => page.locator(".scroll tbody tr").first();
  return [
    {
      asked: "What is wrong?",
      clicks: [],
      answer: says(
        new RegExp(`^${title} ${sku} \\d\\d\\.\\d % of Sep 2026 came back, usually \\d+\\.\\d %`, "u"),
      ),
    },
    { asked: "Since when?", clicks: [], answer: says(/Since \d+ Sep 2026/u) },
    { asked: "What does it cost?", clicks: [], answer: says(/£[\d,.]{4,} beyond usual so far/u) },
    {
      asked: "Is it getting better?",
      clicks: [],
      answer: says(/Nov 2026 about \d+\.\d %: (?:better, not yet as usual|not better yet|back to usual)/u),
    },
    {
      asked: "Why?",
      clicks: [link(`See why ${title} comes back`)],
      answer: async (page) => {
        const found = await page.locator("#report-reasons .chart-title").innerText();
        assert.match(found, /“Defective” is the reason given most: \d\d\.\d % of the returned units/u);
      },
    },
    {
      asked: "Which product?",
      clicks: [inNavigation("Products")],
      answer: async (page) => {
        assert.match(
          oneLine(await firstRow(page).innerText()),
          new RegExp(`^${title} .*£[\\d,.]+ .*Defective`, "u"),
        );
      },
    },
    {
      asked: "Which size?",
      clicks: [inNavigation("Products"), link(`Show the SKUs of ${title}`)],
      answer: async (page) => {
        const parts = page.locator("tr:has(.part)");
        const found = (await parts.allInnerTexts()).map(oneLine);
        assert.ok(
          found.length > 1 && found.some((text) => new RegExp(`^${sku} \\d`, "u").test(text)),
          found.join("; "),
        );
      },
    },
    {
      asked: "Which vendor?",
      clicks: [inNavigation("Products"), link("Vendors")],
      answer: async (page) => {
        assert.match(oneLine(await firstRow(page).innerText()), /^\S.* \d+\.\d % .*£[\d,.]+/u);
        assert.equal(await page.locator("[aria-sort]").innerText(), "Beyond usual");
      },
    },
    {
      // One click, for which the download waits.
      asked: "May I have it as a file?",
      clicks: [],
      answer: async (page) => {
        const rate = await page.locator("#trend-trend tbody tr").first().locator("data").nth(1).textContent();
        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page.locator(".bar-end").getByRole("link", { name: "CSV" }).click(),
        ]);
        const [first] = parse<Record<string, string>>(await readFile(await download.path(), "utf8"), {
          columns: true,
          bom: true,
        });
        assert.deepEqual([first?.["Month"], first?.["Return rate"]], ["Oct 2025", rate]);
      },
    },
    {
      asked: "How was it a year before?",
      clicks: [(page) => page.getByRole("button", { name: "Show" })],
      choose: (page) => page.getByLabel("Compare with").selectOption("year"),
      answer: async (page) => {
        assert.match(
          oneLine(await page.locator(".compared").first().innerText()),
          /^Compared with Oct 2024 to Sep 2025: [\d,]+ of [\d,]+ units came back\. Of these months, Nov 2024 is the first with sales,/u,
        );
      },
    },
    {
      asked: "How do I tell a colleague?",
      clicks: [(page) => menu(page, "Copy link"), link("These months")],
      answer: async (page) => {
        await page.getByRole("link", { name: "Copied" }).waitFor();
        const rate = await exact(page, "report/summary/return_rate");
        await page.goto(await page.evaluate<string>("navigator.clipboard.readText()"));
        assert.deepEqual(parameters(page), { start_month: "2025-10", end_month: "2026-09" });
        assert.equal(await exact(page, "report/summary/return_rate"), rate);
      },
    },
    {
      asked: "Is the month final?",
      clicks: [],
      answer: async (page) => {
        assert.match(
          oneLine(await page.locator(".as-of").innerText()),
          /months to Sep 2026 are complete: each order has had 30 days to come back$/u,
        );
        const rows = (await page.locator("#trend-trend tbody tr").allTextContents()).map(oneLine);
        assert.deepEqual(
          rows.slice(-3).map((text) => text.match(/complete|still open/gu)?.at(-1)),
          ["complete", "still open", "still open"],
        );
      },
    },
  ];
}

test("the twelve questions of a merchandiser are answered in two clicks from the overview", async (context) => {
  await signedIn(context, { javaScriptEnabled: true }, async (page) => {
    const questions = questionsAbout(started.demo.store.badBatch);
    assert.equal(questions.length, 12);
    for (const { asked, clicks, choose, answer } of questions) {
      await context.test(asked, async () => {
        assert.ok(clicks.length <= MOST_CLICKS);
        await page.goto(home + place);
        await choose?.(page);
        for (const click of clicks) await click(page).click();
        await answer(page);
      });
    }
  });
});

/** What stands in the first screen of a page, of that width and height. */
const FIRST_SCREENS: readonly (readonly [width: number, height: number, path: string, ...seen: string[]])[] =
  [
    [
      1440,
      900,
      "",
      ".card >> text=See why",
      ".figures > :nth-child(4) strong data",
      "#trend-trend .chart-title",
    ],
    [390, 844, "", ".card >> text=See why", ".figures strong data"],
    [390, 844, "/report", ".figures > :nth-child(4) strong data"],
    [390, 844, "/report?reportSection=costs", "#report-costs .chart-title data"],
    [390, 844, "/cohorts", ".heat tbody tr:nth-child(2) td.edge data"],
    [390, 844, "/products", ".scroll tbody td.number data"],
    [390, 844, "/alerts", ".alert strong data"],
  ];

test("the first screen answers: problem and figures before any scrolling", async (context) => {
  await started.service.database.query("update data_source set last_synced_at = now()");
  await signedIn(context, { javaScriptEnabled: true }, async (page) => {
    for (const [width, height, path, ...seen] of FIRST_SCREENS) {
      await page.setViewportSize({ width, height });
      await page.goto(home + place + path);
      for (const selector of seen) {
        const box =
          (await page.locator(selector).first().boundingBox()) ?? assert.fail(`${path} ${selector}`);
        const what = `${path} at ${width} × ${height}: ${selector} ends at ${box.x + box.width}, ${box.y + box.height}`;
        assert.ok(box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height, what);
      }
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    const sku = encodeURIComponent(started.demo.store.badBatch.sku);
    for (const width of [1366, 1440, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(`${home}${place}/report?sku=${sku}`);
      const bar = (await page.locator(".bar-form").boundingBox()) ?? assert.fail();
      assert.ok(bar.height < 60, `the bar is one line at ${width} pixels: ${bar.height}`);
    }
    await page.setViewportSize({ width: 1024, height: 768 });
    await page.goto(`${home}${place}/products`);
    const hidden =
      "document.querySelector('#products').scrollWidth - document.querySelector('#products').clientWidth";
    assert.equal(await page.evaluate(hidden), 0);
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(home + place);
    const plot = await page.locator("#trend-trend .chart-plot > svg").boundingBox();
    assert.ok(plot !== null && plot.y + 100 <= 900, `the chart begins at ${plot?.y}`);
  });
});

test("the card of a cell shows by pointer and by keyboard, and Escape hides it until either goes on", async (context) => {
  await signedIn(context, { javaScriptEnabled: true }, async (page) => {
    await page.goto(`${home}${place}/cohorts`);
    const cell = (column: number) => page.locator(".heat tbody tr:nth-child(3) td").nth(column);
    const shown = (column: number) =>
      page.evaluate(
        `getComputedStyle(document.querySelectorAll(".heat tbody tr:nth-child(3) td")[${column}].querySelector(".peek")).opacity === "1"`,
      );
    await cell(0).hover();
    assert.equal(await shown(0), true);
    await page.keyboard.press("Escape");
    assert.equal(await shown(0), false);
    await cell(1).hover();
    assert.equal(await shown(1), true);
    await cell(1).locator("input").focus();
    await page.keyboard.press("Escape");
    assert.equal(await shown(1), false);
    await page.keyboard.press("ArrowRight");
    assert.equal(await shown(2), true);
  });
});

const oneLine = (text: string): string => text.replaceAll(/\s+/gu, " ").trim();

/** The address that a printed link names: localhost. */
const entrance = `http://localhost:${new URL(service.address).port}`;

test("opening a link uses nothing; its one button signs in, and the secret leaves the address", async (context) => {
  await chromium.withPage(context, {}, async (page, own) => {
    const { link: printed } = await makeUserLink(service, { name: "Pressed" });
    await page.goto(printed);
    assert.equal(await unusedLinks(service, "Pressed"), 1);
    assert.equal(page.url(), `${entrance}/enter`);
    assert.equal(await page.getByLabel("Paste your link").isVisible(), false);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${entrance}/w`);
    assert.equal(await unusedLinks(service, "Pressed"), 0);
    const [cookie, ...others] = (await own.cookies()).toSorted((one, other) =>
      one.name < other.name ? -1 : 1,
    );
    assert.deepEqual(
      others.map(({ name, httpOnly }) => [name, httpOnly]),
      [["returns-done", true]],
    );
    assert.deepEqual(
      [cookie?.name, cookie?.httpOnly, cookie?.sameSite, cookie?.path, cookie?.secure],
      ["returns", true, "Lax", "/", false],
    );
    assert.equal(await page.evaluate("document.cookie"), "");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${entrance}/sign-in`);
    assert.deepEqual(await own.cookies(), []);
    await page.goto(`${entrance}/w`);
    assert.equal(page.url(), `${entrance}/sign-in`);
  });
});

test("a form of another site signs nobody in and nobody out", async (context) => {
  if (chromium.isMissing(context)) return;
  const { secret } = await makeUserLink(service, { name: "Crossed" });
  const { link: printed } = await makeUserLink(service, { name: "Crossed" });
  // Another origin by its name and port, which is another site, and one by its port alone, which is the same site.
  const evil = createServer((request, response) => {
    const action = `${entrance}${request.url}`;
    response.setHeader("Content-Type", "text/html");
    response.end(
      `<form method="post" action="${action}"><input name="secret" value="${secret}"><button>Win</button></form>`,
    );
  });
  evil.listen(0, "127.0.0.1");
  await once(evil, "listening");
  const evilHome = `http://127.0.0.1:${(evil.address() as AddressInfo).port}`;
  try {
    await chromium.withPage(context, { expected: /^Clear-Site-Data|status of 403/u }, async (page, own) => {
      await page.goto(printed);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.waitForURL(`${entrance}/w`);
      const cookies = await own.cookies(entrance);
      const left = await unusedLinks(service, "Crossed");
      for (const path of ["/enter", "/sign-out"]) {
        for (const origin of [evilHome, evilHome.replace("127.0.0.1", "localhost")]) {
          await page.goto(origin + path);
          const [response] = await Promise.all([
            page.waitForResponse(entrance + path),
            page.getByRole("button", { name: "Win" }).click(),
          ]);
          assert.equal(response.status(), 403, `${origin}${path}`);
        }
      }
      assert.deepEqual(await own.cookies(entrance), cookies);
      assert.equal(await unusedLinks(service, "Crossed"), left);
      await page.goto(`${entrance}/w`);
      assert.equal(page.url(), `${entrance}/w`);
    });
  } finally {
    evil.close();
    evil.closeAllConnections();
  }
});
