import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { CONSOLE_ASSETS, layout } from "../src/console/layout.ts";
import { contentSecurityPolicy } from "../src/console/request-rules.ts";
import { progress, type Progress } from "../src/console/views/progress.ts";
import { html, renderHtml } from "../src/lib/html.ts";
import { useChromium } from "./support/chromium.ts";
import { axeViolations } from "./support/page-looks.ts";

/** The progress of a job in a real browser, with and without script: each load of the page shows the job's next state. */

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

let server: Server;
let address: string;
/** What the next loads show; the last one stays. null = the service is away. */
let states: (Progress | null)[] = [];

const chromium = useChromium(async () => {
  server = createServer((request, response) => {
    const asset = CONSOLE_ASSETS.all.find(({ path }) => path === request.url);
    if (asset !== undefined) return response.setHeader("Content-Type", asset.type).end(asset.body);
    if (request.url === "/next") return response.setHeader("Content-Type", "text/html").end("<h1>Next</h1>");
    const state = states.length > 1 ? states.shift() : states[0];
    if (state === undefined || state === null) return response.writeHead(503).end();
    return response
      .setHeader("Content-Security-Policy", contentSecurityPolicy())
      .setHeader("Content-Type", "text/html; charset=utf-8")
      .end(pageOf(state));
  });
  await new Promise<void>((listening) => server.listen(0, "localhost", listening));
  address = `http://localhost:${(server.address() as AddressInfo).port}/job`;
  return async () => {
    server.close();
  };
});

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
    await page.goto(address);
    await use(page);
  });
}

test("with script the counts change in place, over an answer that fails, and the end leads on", async (context) => {
  states = [WAITING, null, READING, { ...READING, done: 2400 }, { ...ENDED, nextHref: "/next" }];
  await watch(context, { javaScriptEnabled: true }, async (page) => {
    await page.getByText("Waiting to start").waitFor();
    assert.deepEqual(await axeViolations(page), []);
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

test("a job that leads nowhere ends with its page as a whole", async (context) => {
  states = [READING, ENDED];
  await watch(context, { javaScriptEnabled: true }, async (page) => {
    await page.getByText("Everything has been read").waitFor();
    await page.locator("[data-progress=ended]").waitFor();
    assert.equal(await page.locator("progress").count(), 0);
  });
});

test("without script the browser loads the page again by itself, until the job has ended", async (context) => {
  states = [READING, { ...ENDED, nextHref: "/next" }];
  await watch(context, { javaScriptEnabled: false }, async (page) => {
    await page.getByText("1,200 of 5,000").waitFor();
    await page.getByText("Everything has been read").waitFor();
    assert.equal(await page.locator("noscript").count(), 0);
  });
});
