import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { OPERATOR } from "../src/actions/actor.ts";
import { PAGES } from "../src/console/registry.ts";
import { writeDemoStore } from "../src/demo/demo-store.ts";
import { importFolder } from "../src/sync/connectors/csv/import-folder.ts";
import type { StoreFiles } from "./oracle/store.ts";
import { useChromium } from "./support/chromium.ts";
import { signInAs } from "./support/console-person.ts";
import { createStoreTenant, importStore } from "./support/import-store.ts";
import { OVERFLOW } from "./support/page-looks.ts";
import { scene, type Member } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import type { Tenant } from "./support/tenants.ts";
import { makeFolder } from "./support/folder.ts";

/** Stores at the edges: every page that is read answers, fits its window, breaks no number and says what is so; and what fits where. */

const home = `http://localhost:${new URL(service.address).port}`;
let reader: Member;

const chromium = useChromium(async () => {
  const shop = await scene({ store: "small" });
  await service.database.query("update data_source set last_synced_at = now() where shop_key = $1", [
    shop.shopKey,
  ]);
  reader = await shop.member();
});

type OddStore = {
  name: string;
  make: () => Promise<Tenant>;
  /** What its pages say, by the path below the workspace. */
  says: Readonly<Record<string, RegExp>>;
};

const ORDER: StoreFiles = {
  products: [{ product_id: "1", title: "Lamp" }],
  variants: [{ variant_id: "1", product_id: "1", sku: "LAMP-1" }],
  order_lines: [
    { order_id: "1", line_id: "1", ordered_at: "2026-01-05T10:00:00Z", variant_id: "1", units: 1 },
  ],
};

async function imported(files: StoreFiles): Promise<Tenant> {
  const tenant = await createStoreTenant(service);
  await importStore(service, tenant, { currencyCode: "EUR", asOf: "2026-07-01T00:00:00Z", files });
  return tenant;
}

/** The small store in a given currency, with the given title for all products. */
async function titled(title: string, currencyCode: string): Promise<Tenant> {
  const tenant = await createSmallStore(service.database, { currencyCode });
  await service.database.query(
    `with products as (update product set title = $2 where shop_key = $1),
      entities as (update entity set product_title = $2 where shop_key = $1 and product_title is not null)
      update sku set product_title = $2 where shop_key = $1`,
    [tenant.shopKey, title],
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

/** Its source has failed, and its quota of one request a day is used up: pages are read all the same. */
async function failedAndExhausted(): Promise<Tenant> {
  const tenant = await createSmallStore(service.database, { dailyQuota: 1 });
  await service.database.query(
    "update data_source set status = 'failed' where shop_key = $1 and kind = 'store'",
    [tenant.shopKey],
  );
  const ask = () =>
    fetch(`${service.address}/api/v1/alerts`, { headers: { authorization: `Bearer ${tenant.token}` } });
  assert.deepEqual([(await ask()).status, (await ask()).status], [200, 429]);
  return tenant;
}

const HEBREW = "מנורת שולחן זוהרת";
const UNBROKEN = "x".repeat(300);

const ODD_STORES: readonly OddStore[] = [
  { name: "one order", make: () => imported(ORDER), says: { "": /0\.0 %/u, "/products": /few units/u } },
  {
    name: "no order",
    make: () => imported({ ...ORDER, order_lines: [] }),
    says: { "": /nothing was sold|No month is complete yet/iu },
  },
  { name: "60 months", make: fiveYears, says: { "/cohorts?period=all": /Jul 2021/u } },
  {
    name: "yen, and titles from right to left",
    make: () => titled(HEBREW, "JPY"),
    says: { "": /¥[\d,]+(?![\d,]*\.)/u, "/products": new RegExp(`${HEBREW}[^]*¥[\\d,]+\\s`, "u") },
  },
  {
    name: "dinars, and an unbroken title of 300 characters",
    make: () => titled(UNBROKEN, "KWD"),
    says: { "/products": new RegExp(`${UNBROKEN}[^]*KWD\\s[\\d,]+\\.\\d{3}`, "u") },
  },
  {
    name: "a failed source and an exhausted quota",
    make: failedAndExhausted,
    says: { "": /The last attempt failed; it will be retried/u, "/settings/usage": /1 of 1/u },
  },
];

const PATHS = [
  ...PAGES.map(({ path }) => path),
  ...["reasons", "timing", "costs"].map((section) => `/report?reportSection=${section}`),
  "/products?type=all",
  "/cohorts?period=all",
  "/settings/usage",
];

/** Numbers that take more than a line, and words of a program. */
const BROKEN = `[
  ...[...document.querySelectorAll("main data:not(.absent)")]
    .filter((each) => /^\\S*\\d[\\d.,]*(?: (?:%|points))?$/u.test(each.textContent.trim()) && each.getClientRects().length > 1)
    .map((each) => each.dataset.from + " is broken: " + each.textContent),
  ...(document.querySelector("main").innerText.match(/\\b(?:NaN|undefined|null|Infinity)\\b|\\[object/gu) ?? []),
]`;

for (const { name, make, says } of ODD_STORES) {
  test(`every page of a store with ${name} is read at 390 and 1440 px`, async (context) => {
    if (chromium.isMissing(context)) return;
    const { shopDomain } = await make();
    const cookie = await signInAs(service, { name, shopDomain });
    await chromium.withPage(
      context,
      { as: { cookie, home }, viewport: { width: 390, height: 844 } },
      async (page) => {
        const found: string[] = [];
        for (const path of PATHS) {
          await page.setViewportSize({ width: 390, height: 844 });
          const answer = await page.goto(`${home}/w/${shopDomain}${path}`);
          if (answer?.status() !== 200) found.push(`${path}: ${answer?.status()}`);
          for (const width of [390, 1440]) {
            await page.setViewportSize({ width, height: 900 });
            const [overflow, broken] = await page.evaluate<[number, string[]]>(`[${OVERFLOW}, ${BROKEN}]`);
            if (overflow > 0) found.push(`${path} scrolls ${overflow} px at ${width} px`);
            found.push(...broken.map((each) => `${path} at ${width} px: ${each}`));
          }
          const words = says[path];
          if (words === undefined) continue;
          const text = await page.locator("main").innerText();
          if (!words.test(text)) found.push(`${path} does not say ${words}: ${text}`);
        }
        assert.deepEqual(found, []);
      },
    );
  });
}

const withPage = (
  context: TestContext,
  viewport: { width: number; height: number },
  use: (page: Page) => Promise<void>,
): Promise<void> => chromium.withPage(context, { viewport, as: reader }, use);

/** The text in place of each key figure, and how many lines it takes. */
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

test("a key figure is never broken inside its number", async (context) => {
  await withPage(context, { width: 390, height: 900 }, async (page) => {
    for (const width of [390, 1024, 1290, 1366, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(reader.home);
      for (const text of ["£1,488,795.04", "KWD 2,123.340", "IDR 12,123,340,000"])
        assert.deepEqual(await keyFigureLines(page, text), [1, 1, 1], `${text} at ${width} px`);
    }
  });
});

/** What a phone shows without scrolling. */
const PHONE = { width: 390, height: 844 };

test("on a phone the filters of report, curves and products open", async (context) => {
  await withPage(context, PHONE, async (page) => {
    for (const path of ["/report", "/cohorts", "/products"]) {
      await page.goto(reader.home + path);
      assert.equal(await page.getByLabel("First month of orders").isVisible(), false, path);
      await page.locator(".filter-box > summary").click();
      await page.locator(".menu > summary").first().click();
      assert.equal(await page.getByLabel("First month of orders").isVisible(), true, path);
    }
    await page.goto(`${reader.home}/cohorts?window=90d`);
    const edge = await page.locator(".heat tbody tr:first-child td.edge").boundingBox();
    assert.ok(edge !== null && edge.x + edge.width <= PHONE.width, "the column of 90 days");
    await page.setViewportSize({ width: 1366, height: 900 });
    assert.equal(await page.getByRole("button", { name: "Show" }).isVisible(), true);
  });
});

test("an unbroken title of 300 characters leaves the numbers in sight", async (context) => {
  await withPage(context, { width: 1366, height: 900 }, async (page) => {
    for (const path of ["/products", "/products?breakdownBy=sku", "/report?reportSection=breakdown"]) {
      await page.goto(reader.home + path);
      const [before = 0, after = 0] = await page.evaluate<number[]>(`(() => {
        const width = () => document.querySelector(".scroll").scrollWidth;
        const before = width();
        document.querySelector(".scroll tbody th :is(.name, a)").textContent = "x".repeat(300);
        return [before, width()];
      })()`);
      assert.ok(after <= before, `${path}: ${after - before} px wider`);
    }
  });
});
