import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { useChromium } from "./support/chromium.ts";
import { scene, type Member } from "./support/scene.ts";

/** What fits where on the pages of the small store, at the widths of phones and laptops. */

let reader: Member;

const chromium = useChromium(async () => {
  const shop = await scene({ store: "small" });
  await shop.service.database.query("update data_source set last_synced_at = now() where shop_key = $1", [
    shop.shopKey,
  ]);
  reader = await shop.member();
});

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
  for (const width of [390, 1024, 1290, 1366, 1440]) {
    await withPage(context, { width, height: 900 }, async (page) => {
      await page.goto(reader.home);
      for (const text of ["£1,488,795.04", "KWD 2,123.340", "IDR 12,123,340,000"])
        assert.deepEqual(await keyFigureLines(page, text), [1, 1, 1], `${text} at ${width} px`);
    });
  }
});

/** What a phone shows without scrolling. */
const PHONE = { width: 390, height: 844 };

test("on a phone the first screen of report, curves and products has a figure, and the filters open", async (context) => {
  await withPage(context, PHONE, async (page) => {
    for (const [path, first] of [
      ["/report", ".figures strong data"],
      ["/cohorts", ".heat tbody tr:first-child td.edge data"],
      ["/products", ".scroll tbody tr:first-child td.number data"],
    ] as const) {
      await page.goto(reader.home + path);
      const box = (await page.locator(first).first().boundingBox()) ?? assert.fail(path);
      assert.ok(box.y + box.height <= PHONE.height, `${path}: ends at ${box.y + box.height} px`);
      assert.ok(box.x >= 0 && box.x + box.width <= PHONE.width, `${path}: from ${box.x} px on`);
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
