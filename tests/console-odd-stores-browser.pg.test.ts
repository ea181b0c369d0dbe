import assert from "node:assert/strict";
import { test } from "node:test";
import { OPERATOR } from "../src/actions/actor.ts";
import { PAGES } from "../src/console/registry.ts";
import { writeDemoStore } from "../src/demo/demo-store.ts";
import { importFolder } from "../src/sync/connectors/csv/import-folder.ts";
import type { StoreFiles } from "./oracle/store.ts";
import { useChromium } from "./support/chromium.ts";
import { signInAs } from "./support/console-person.ts";
import { createStoreTenant, importStore } from "./support/import-store.ts";
import { sidewaysScroll } from "./support/page-looks.ts";
import { startTestService, type TestService } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import type { Tenant } from "./support/tenants.ts";
import { makeFolder } from "./support/folder.ts";

/** Stores at the edges: every page that is read answers, fits its window, breaks no number and says what is so. */

let service: TestService;
let home: string;

const chromium = useChromium(async () => {
  service = await startTestService();
  home = `http://localhost:${new URL(service.address).port}`;
  return () => service.stop();
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
  await writeDemoStore({ folder, today: "2026-07-01", months: 60, orders: 1500 });
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
            const [overflow, broken] = [await sidewaysScroll(page), await page.evaluate<string[]>(BROKEN)];
            if (overflow > 0) found.push(`${path} scrolls ${overflow} px at ${width} px`);
            found.push(...broken.map((each) => `${path} at ${width} px: ${each}`));
          }
          const words = says[path];
          const text = await page.locator("main").innerText();
          if (words !== undefined && !words.test(text)) found.push(`${path} does not say ${words}: ${text}`);
        }
        assert.deepEqual(found, []);
      },
    );
  });
}
