import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test, type TestContext } from "node:test";
import { parse } from "csv-parse/sync";
import type { Locator, Page } from "playwright-core";
import { OPERATOR } from "../src/actions/actor.ts";
import { PAGES } from "../src/console/registry.ts";
import { writeDemoStore } from "../src/demo/demo-store.ts";
import { importFolder } from "../src/sync/connectors/csv/import-folder.ts";
import { useChromium, type PageOptions } from "./support/chromium.ts";
import { startConsoleDemo, type ConsoleDemo } from "./support/console-demo.ts";
import { makeUserLink, signInAs } from "./support/console-person.ts";
import { makeFolder } from "./support/folder.ts";
import { createStoreTenant } from "./support/import-store.ts";
import { OVERFLOW } from "./support/page-looks.ts";
import { actAs, scene, type Member } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import type { Tenant } from "./support/tenants.ts";

/**
 * What people do in the console, in a real browser, on the demo store; and stores with extreme data: every page answers, fits its
 * window, breaks no number and says what is true.
 */

let started: ConsoleDemo;
let home: string;
/** Path of the workspace. */
let place: string;
let merchandiser: { name: string; cookie: string; home: string };
/** Of a small store. */
let visitor: Member;

const chromium = useChromium(async () => {
  started = await startConsoleDemo();
  const { domain: shopDomain } = started.demo;
  home = `http://localhost:${new URL(started.service.address).port}`;
  place = `/w/${shopDomain}`;
  const name = "Merchandiser";
  merchandiser = { name, cookie: await signInAs(started.service, { name, shopDomain }), home };
  await started.service.database.query("update data_source set last_synced_at = now()");
  const shop = await scene({ store: "small" });
  await service.database.query("update data_source set last_synced_at = now() where shop_key = $1", [
    shop.shopKey,
  ]);
  visitor = await shop.member();
  return () => started.stop();
});

/** A separate browser of the merchandiser; forbidden behaviour fails the test. */
async function signedIn(
  context: TestContext,
  options: PageOptions,
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const permissions = ["clipboard-read", "clipboard-write"];
  await chromium.withPage(
    context,
    { permissions, as: merchandiser, ...options },
    async (page, own, problems) => {
      own.on("request", (request) => {
        if (!request.url().startsWith(`${home}/`)) problems.push(`asked ${request.url()}`);
      });
      own.on("response", (response) => {
        if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
      });
      await use(page);
    },
  );
}

/** A figure's exact value, as in the API. */
const exact = (page: Page, from: string): Promise<string | null> =>
  page.locator(`data[data-from="${from}"]`).first().getAttribute("value");

const heading = async (page: Page): Promise<string> =>
  (await page.getByRole("heading", { level: 1 }).innerText()).trim();

const parameters = (page: Page): Record<string, string> =>
  Object.fromEntries(new URL(page.url()).searchParams);

const show = (page: Page) => page.getByRole("button", { name: "Show" }).click();

/** A menu of the bar, by the button that opens it. */
const menu = (page: Page, name: string) => page.locator(".menu > summary", { hasText: name });

/** Goes to another page by the navigation. */
const go = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();

test("without JavaScript: a pasted link, months, filters, cohorts, a leaderboard and a file", async (context) => {
  await signedIn(context, { javaScriptEnabled: false, as: undefined }, async (page) => {
    const { link } = await makeUserLink(started.service, {
      name: merchandiser.name,
      shopDomain: started.demo.domain,
    });
    await page.goto(`${home}/enter`);
    await page.getByLabel("Paste your link").fill(link);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(home + place);
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
  await signedIn(context, {}, async (page) => {
    await page.goto(`${home}${place}/report`);
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

/** The most clicks that an answer may take from the overview. */
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

/** A merchandiser's questions; `sku` and `title` are those of the bad batch. */
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
        assert.match(found, /“Defective” is the most frequent reason: \d\d\.\d % of the returned units/u);
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
  await signedIn(context, {}, async (page) => {
    const questions = questionsAbout(started.demo.store.badBatch);
    assert.equal(questions.length, 12);
    for (const { asked, clicks, choose, answer } of questions) {
      await context.test(asked, async () => {
        assert.ok(clicks.length <= MOST_CLICKS);
        if (page.url() !== home + place) await page.goto(home + place);
        await choose?.(page);
        for (const click of clicks) await click(page).click();
        await answer(page);
      });
    }
  });
});

/** What the first screen of a page shows, at this width and height. */
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
  await signedIn(context, {}, async (page) => {
    for (const [width, height, path, ...seen] of FIRST_SCREENS) {
      await page.setViewportSize({ width, height });
      await page.goto(home + place + path);
      for (const selector of seen) {
        const box =
          (await page.locator(selector).first().boundingBox()) ?? assert.fail(`${path} ${selector}`);
        const what = `${path} at ${width} × ${height}: ${selector} ends at ${box.x + box.width}, ${box.y + box.height}`;
        assert.ok(box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height, what);
      }
      if (width < 1440) continue;
      const plot = await page.locator("#trend-trend .chart-plot > svg").boundingBox();
      assert.ok(plot !== null && plot.y + 100 <= height, `the chart begins at ${plot?.y}`);
    }
    await page.goto(`${home}${place}/report?sku=${encodeURIComponent(started.demo.store.badBatch.sku)}`);
    for (const width of [1366, 1440, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      const bar = (await page.locator(".bar-form").boundingBox()) ?? assert.fail();
      assert.ok(bar.height < 60, `the bar is one line at ${width} pixels: ${bar.height}`);
    }
    await page.setViewportSize({ width: 1024, height: 768 });
    await page.goto(`${home}${place}/products`);
    const hidden =
      "document.querySelector('#products').scrollWidth - document.querySelector('#products').clientWidth";
    assert.equal(await page.evaluate(hidden), 0);
  });
});

test("the card of a cell appears for pointer and keyboard, and Escape hides it until either moves on", async (context) => {
  await signedIn(context, {}, async (page) => {
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

type OddStore = {
  name: string;
  make: () => Promise<Tenant>;
  /** What its pages say, by the path below the workspace. */
  says: Readonly<Record<string, RegExp>>;
};

/** The small store in dinars: one title from right to left, and the others unbroken. */
async function oddTitles(): Promise<Tenant> {
  const tenant = await createSmallStore(service.database, { currencyCode: "KWD" });
  const title = "case product_gid when 'gid://shopify/Product/1' then $2 else $3 end";
  await service.database.query(
    `with products as (update product set title = ${title} where shop_key = $1),
      entities as (update entity set product_title = ${title} where shop_key = $1 and product_title is not null)
      update sku set product_title = ${title} where shop_key = $1`,
    [tenant.shopKey, HEBREW, UNBROKEN],
  );
  return tenant;
}

async function fiveYears(): Promise<Tenant> {
  const tenant = await createStoreTenant(service);
  const folder = makeFolder();
  const now = new Date("2026-07-01T00:00:00Z");
  await writeDemoStore({ folder, today: "2026-07-01", months: 60, orders: 600 });
  await importFolder({
    actor: OPERATOR,
    database: service.installation.database,
    shopKey: tenant.shopKey,
    currencyCode: "GBP",
    folder,
    asOf: now,
    now,
    skipInvalid: false,
  });
  return tenant;
}

const HEBREW = "מנורת שולחן זוהרת";
const UNBROKEN = "x".repeat(300);

const ODD_STORES: readonly OddStore[] = [
  { name: "60 months", make: fiveYears, says: { "/cohorts?period=all": /Jul 2021/u } },
  {
    name: "dinars, a title from right to left, and unbroken ones of 300 characters",
    make: oddTitles,
    says: {
      "/products": new RegExp(`^(?=[^]*${HEBREW})[^]*${UNBROKEN}[^]*KWD\\s[\\d,]+\\.\\d{3}`, "u"),
    },
  },
];

const PATHS = [
  ...PAGES.map(({ path }) => path),
  ...["reasons", "timing", "costs"].map((section) => `/report?reportSection=${section}`),
  "/products?type=all",
  "/cohorts?period=all",
  "/settings/usage",
];

/** Finds numbers that are broken over lines, and words such as "undefined". */
const BROKEN = `[
  ...[...document.querySelectorAll("main data:not(.absent)")]
    .filter((each) => /^\\S*\\d[\\d.,]*(?: (?:%|points))?$/u.test(each.textContent.trim()) && each.getClientRects().length > 1)
    .map((each) => each.dataset.from + " is broken: " + each.textContent),
  ...(document.querySelector("main").innerText.match(/\\b(?:NaN|undefined|null|Infinity)\\b|\\[object/gu) ?? []),
]`;

/** What a phone shows without scrolling. */
const PHONE = { width: 390, height: 844 };
const WIDE = { width: 1440, height: 900 };

test("every page of stores with extreme data is readable at 390 and 1440 px", async (context) => {
  if (chromium.isMissing(context)) return;
  const shops: (Member & Omit<OddStore, "make">)[] = [];
  for (const { make, ...shop } of ODD_STORES)
    shops.push({ ...shop, ...(await actAs(service, await make(), "owner", "Reader of all")) });
  await chromium.withPage(context, { as: shops.at(-1) }, async (page) => {
    for (const { name, home: address, says: words } of shops) {
      await context.test(name, async () => {
        const found: string[] = [];
        for (const path of PATHS) found.push(...(await readPage(page, address, path, words[path])));
        assert.deepEqual(found, []);
      });
    }
  });
});

/** What is wrong with a page at both widths. */
async function readPage(page: Page, address: string, path: string, words?: RegExp): Promise<string[]> {
  const found: string[] = [];
  await page.setViewportSize(PHONE);
  const answer = await page.goto(address + path);
  if (answer?.status() !== 200) found.push(`${path}: ${answer?.status()}`);
  for (const size of [PHONE, WIDE]) {
    if (size === WIDE) await page.setViewportSize(size);
    const [overflow, broken] = await page.evaluate<[number, string[]]>(`[${OVERFLOW}, ${BROKEN}]`);
    if (overflow > 0) found.push(`${path} scrolls ${overflow} px at ${size.width} px`);
    found.push(...broken.map((each) => `${path} at ${size.width} px: ${each}`));
  }
  const text = words === undefined ? "" : await page.locator("main").innerText();
  if (words?.test(text) === false) found.push(`${path} does not say ${words}: ${text}`);
  return found;
}

/** Puts the text in place of each key figure; returns how many lines each takes. */
async function keyFigureLines(page: Page, text: string): Promise<number[]> {
  return page.evaluate(`[...document.querySelectorAll(".figures > div + div strong data")].map((data) => {
    const long = document.createElement("span");
    long.className = "long";
    long.textContent = ${JSON.stringify(text)};
    data.replaceChildren(${text.length > 13 ? "long" : "long.textContent"});
    const { left, right } = data.closest(".figures > div").getBoundingClientRect();
    const boxes = [...data.getClientRects()];
    return boxes.every((box) => box.left >= left - 1 && box.right <= right + 33) ? boxes.length : 0;
  })`);
}

test("a key figure is never broken inside its number, and an unbroken title of 300 characters leaves the numbers in sight", async (context) => {
  await chromium.withPage(context, { as: visitor, viewport: PHONE }, async (page) => {
    await page.goto(visitor.home);
    for (const width of [390, 1024, 1290, 1440, 1366]) {
      await page.setViewportSize({ width, height: 900 });
      for (const text of ["£1,488,795.04", "KWD 2,123.340", "IDR 12,123,340,000"])
        assert.deepEqual(await keyFigureLines(page, text), [1, 1, 1], `${text} at ${width} px`);
    }
    for (const path of ["/products", "/products?breakdownBy=sku", "/report?reportSection=breakdown"]) {
      await page.goto(visitor.home + path);
      const [before = 0, after = 0] = await page.evaluate<number[]>(`(() => {
        const width = () => document.querySelector(".scroll").scrollWidth;
        const before = width();
        document.querySelector(".scroll tbody th :is(.name, a)").textContent = "${UNBROKEN}";
        return [before, width()];
      })()`);
      assert.ok(after <= before, `${path}: ${after - before} px wider`);
    }
  });
});

test("on a phone the filters of report, curves and products open", async (context) => {
  await chromium.withPage(context, { as: visitor, viewport: PHONE }, async (page) => {
    for (const path of ["/report", "/cohorts", "/products"]) {
      await page.goto(visitor.home + path);
      assert.equal(await page.getByLabel("First month of orders").isVisible(), false, path);
      await page.locator(".filter-box > summary").click();
      await page.locator(".menu > summary").first().click();
      assert.equal(await page.getByLabel("First month of orders").isVisible(), true, path);
    }
    await page.goto(`${visitor.home}/cohorts?window=90d`);
    const edge = await page.locator(".heat tbody tr:first-child td.edge").boundingBox();
    assert.ok(edge !== null && edge.x + edge.width <= PHONE.width, "the column of 90 days");
    await page.setViewportSize({ width: 1366, height: 900 });
    assert.equal(await page.getByRole("button", { name: "Show" }).isVisible(), true);
  });
});
