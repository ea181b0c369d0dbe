import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { TestContext } from "node:test";
import type { Page } from "playwright-core";
import { costsChart } from "../src/console/charts/costs.ts";
import { curvesChart } from "../src/console/charts/curves.ts";
import { heatTable } from "../src/console/charts/heat.ts";
import { reasonsChart } from "../src/console/charts/reasons.ts";
import { saleEventChart } from "../src/console/charts/sale-event.ts";
import { timingChart } from "../src/console/charts/timing.ts";
import { trendChart } from "../src/console/charts/trend.ts";
import { html, renderHtml } from "../src/lib/html.ts";
import { useChromium } from "./support/chromium.ts";
import { chartAnswer, risingStory } from "./support/chart-answer.ts";

const CHARTS = [trendChart, costsChart, curvesChart, heatTable, reasonsChart, timingChart, saleEventChart];
const ASSETS = new URL("../src/console/assets/", import.meta.url);
const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const HEADERS = {
  "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'",
  "x-content-type-options": "nosniff",
};
const TYPES: Record<string, string> = { css: "text/css", js: "text/javascript" };

let server: Server;

const chromium = useChromium(async () => {
  server = createServer((request, response) => {
    const path = request.url ?? "/";
    const isPage = path === "/";
    response.writeHead(200, {
      ...HEADERS,
      "content-type": isPage ? "text/html" : (TYPES[path.split(".")[1] ?? ""] ?? "text/plain"),
    });
    response.end(isPage ? document() : readFileSync(new URL(path.slice(1), ASSETS)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return () => server.close();
});

function document(): string {
  const answer = chartAnswer({ ...risingStory, label: "A reason that takes many words: ".repeat(8) });
  return `<!doctype html>${renderHtml(
    html`<html lang="en">
      <head>
        <title>Charts</title>
        <meta name="viewport" content="width=device-width" />

        <link rel="stylesheet" href="/tokens.css" />
        <link rel="stylesheet" href="/charts.css" />
      </head>
      <body>
        <main>
          <h1>Charts</h1>
          ${CHARTS.map((chart) => chart({ answer, exportHref: "/export" }))}
        </main>
        <script type="module" src="/readout.js"></script>
      </body>
    </html>`,
  )}`;
}

for (const width of [320, 1440]) {
  for (const colorScheme of ["light", "dark"] as const) {
    test(`${width} px, ${colorScheme}: fits, has no violation of axe-core, and no text smaller than 11 px`, async (context) => {
      await withCharts(context, { width, colorScheme }, async (page) => {
        assert.ok((await page.evaluate<number>("document.documentElement.scrollWidth")) <= width);
        const sizes = await page.evaluate<number[]>(
          `[...document.querySelectorAll("svg text")].map((text) => text.getBoundingClientRect().height).filter((height) => height > 0)`,
        );
        assert.ok(sizes.length > 30, String(sizes.length));
        assert.ok(Math.min(...sizes) >= 11, String(Math.min(...sizes)));
        await page.evaluate(AXE);
        const found = await page.evaluate<string[]>(
          `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes[0].html))`,
        );
        assert.deepEqual(found, []);
      });
    });
  }
}

test("the readout follows keys and the pointer, and tells the row of the table", async (context) => {
  await withCharts(context, { width: 1440, colorScheme: "light" }, async (page) => {
    const figure = page.locator("#report-trend");
    const input = figure.getByRole("slider", { name: "Month" });
    assert.match((await figure.locator("output").textContent()) ?? "", /Aug 2026.*7\.1 %/u);
    await input.focus();
    await page.keyboard.press("ArrowLeft");
    assert.match(
      (await input.getAttribute("aria-valuetext")) ?? "",
      /^Month: Jul 2026, Return rate: 6\.6 %/u,
    );
    const box = await figure.locator(".chart-plot > svg").boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + 2, box.y + 20);
    assert.match((await figure.locator("output").textContent()) ?? "", /Sep 2025.*4\.1 %/u);
    assert.equal(await figure.locator(".guide").getAttribute("x1"), "3.571%");
  });
});

test("in print the tables are open and the readout is gone", async (context) => {
  await withCharts(context, { width: 1000, colorScheme: "light" }, async (page) => {
    const table = page.locator("#report-trend details table");
    assert.equal(await table.isVisible(), false);
    await page.emulateMedia({ media: "print" });
    assert.equal(await table.isVisible(), true);
    assert.equal(await page.locator(".chart-readout").first().isVisible(), false);
  });
});

type Look = { width: number; colorScheme: "light" | "dark" };

async function withCharts(
  context: TestContext,
  { width, colorScheme }: Look,
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const options = { viewport: { width, height: 900 }, colorScheme };
  await chromium.withPage(context, options, async (page) => {
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { waitUntil: "load" });
    await use(page);
  });
}
