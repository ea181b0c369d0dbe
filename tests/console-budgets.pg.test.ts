import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { CONSOLE_ASSETS } from "../src/console/layout.ts";
import { PAGES } from "../src/console/registry.ts";
import { REPORT_SECTIONS } from "../src/contract/parameters.ts";
import { startDemoService, type DemoService } from "./docs-demo.ts";
import { recordStatements, type AskedStatements } from "./support/asked-statements.ts";
import { useChromium } from "./support/chromium.ts";
import { ALL_PATHS } from "./support/console-pages.ts";
import { makeUserLink } from "./support/console-person.ts";
import { actAs, type Member } from "./support/scene.ts";

/** How large pages may be and how many statements and requests they may need, over the demo store. Time is not measured here. */

const KILOBYTE = 1000;
const MOST_BYTES = { overview: 14, page: 40, style: 8, scripts: 9, scriptsRaw: 25, firstVisit: 60 };
const MOST_REQUESTS_OF_FIRST_VISIT = 8;
/** The console's own statements; the API's operations run none, since their answers are cached. */
const OWN_STATEMENTS = ["find_member", "load_workspace"];

const chromium = useChromium();
let statements: AskedStatements;
let demo: DemoService;
let member: Member;
before(async () => {
  statements = recordStatements();
  demo = await startDemoService();
  member = await actAs(demo.service, demo.tenant);
});
after(async () => {
  statements.stop();
  await demo.stop();
});

const EVERYTHING = "start_month=2023-07&end_month=2026-06&include_incomplete=true";
/** Each page as it opens, and with all months and as many rows as it allows; each section of the report. */
const VIEWS = [
  ...PAGES.map(({ path }) => path),
  ...PAGES.filter(({ path }) => path !== "").map(
    ({ path, takes }) => `${path}?${EVERYTHING}${takes.includes("limit") ? "&limit=100" : ""}`,
  ),
  ...REPORT_SECTIONS.map((section) => `/report?${EVERYTHING}&reportSection=${section}`),
  `/report?${EVERYTHING}&reportSection=breakdown&breakdownBy=sku`,
];

function assertAtMost(bytes: number, kilobytes: number, what: string): void {
  assert.ok(bytes <= kilobytes * KILOBYTE, `${what}: ${bytes} bytes, at most ${kilobytes} kB`);
}

test("compressed, the overview is at most 14 kB, and every page at most 40 kB", async () => {
  for (const view of VIEWS) {
    const { status, text } = await member.get(view);
    assert.equal(status, 200, view);
    const budget = view === "" ? MOST_BYTES.overview : MOST_BYTES.page;
    assertAtMost(gzipSync(text).length, budget, view || "the overview");
  }
});

test("the report of each kind of selection is at most 40 kB compressed", async () => {
  const products = await member.get(`/products?type=all&limit=100`);
  const links = [...products.text.matchAll(/href="[^"]*(\/report\?[^"]*)"/gu)].map(([, path = ""]) =>
    path.replaceAll("&amp;", "&"),
  );
  assert.ok(links.length > 0, "the page of products leads to reports");
  for (const link of links.slice(0, 10)) {
    const { status, text } = await member.get(`${link}&${EVERYTHING}`);
    assert.equal(status, 200, link);
    assertAtMost(gzipSync(text).length, MOST_BYTES.page, link);
  }
});

test("compressed, the style sheet is at most 8 kB and all scripts together 9 kB, 25 kB as they are", () => {
  const { all, style } = CONSOLE_ASSETS;
  assertAtMost(gzipSync(style.body).length, MOST_BYTES.style, "style sheet");
  const scripts = all.filter(({ path }) => path.endsWith(".js"));
  const sum = (sizes: number[]): number => sizes.reduce((total, size) => total + size, 0);
  assertAtMost(sum(scripts.map(({ body }) => gzipSync(body).length)), MOST_BYTES.scripts, "scripts");
  assertAtMost(sum(scripts.map(({ body }) => body.length)), MOST_BYTES.scriptsRaw, "scripts as they are");
});

test("a page or file of remembered answers runs two statements, however many requests it shows", async () => {
  for (const path of ALL_PATHS) {
    await member.get(path);
    statements.forget();
    const { status } = await member.get(path);
    assert.equal(status, 200, path);
    const expected = OWN_STATEMENTS.toSorted();
    assert.equal(statements.count(), expected.length, path);
    assert.deepEqual(statements.names().toSorted(), expected, path);
  }
});

test("a first visit, from the link to the overview, is at most 60 kB in 8 requests", async (context) => {
  if (chromium.isMissing(context)) return;
  const wire = await openWire(Number(new URL(demo.service.address).port));
  const firstLine = demo.service.logs.length;
  try {
    await visit(chromium.browser, wire.port);
    const requests = requestsOf(demo.service.logs.slice(firstLine));
    assert.ok(requests.length <= MOST_REQUESTS_OF_FIRST_VISIT, requests.join(", "));
    assertAtMost(wire.received(), MOST_BYTES.firstVisit, requests.join(", "));
  } finally {
    wire.close();
  }
});

/** Opens a new link, presses its button, and scrolls through the overview, so that lazily loaded parts are loaded. */
async function visit(browser: Browser, port: number): Promise<void> {
  const { secret } = await makeUserLink(demo.service, {
    name: "Visitor",
    shopDomain: demo.tenant.shopDomain,
  });
  const page = await browser.newPage();
  await page.goto(`http://localhost:${port}/enter#${secret}`);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(/\/w\/./u);
  await page.evaluate("scrollTo(0, document.body.scrollHeight)");
  await page.waitForLoadState("networkidle");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.close();
}

/** Passes connections on to a port, and counts the bytes that come back, headers included. */
async function openWire(target: number) {
  const sockets: Socket[] = [];
  let received = 0;
  const server = createServer((browserSide) => {
    const serverSide = connect(target, "127.0.0.1");
    sockets.push(browserSide, serverSide);
    serverSide.on("data", (bytes) => (received += bytes.length));
    for (const socket of [browserSide, serverSide]) socket.on("error", () => socket.destroy());
    browserSide.pipe(serverSide).pipe(browserSide);
  });
  server.listen(0, "localhost");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    received: () => received,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Every request that the service logged. */
function requestsOf(lines: readonly string[]): string[] {
  const parsed = lines.map((line) => JSON.parse(line) as { method?: string; route?: string; msg?: string });
  return parsed.flatMap(({ method, route, msg }) =>
    msg === "request" && method !== undefined ? [`${method} ${route}`] : [],
  );
}
