import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { after, before, type TestContext } from "node:test";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { startChromium } from "../docs-chromium.ts";

/** The one browser of a process, started when first needed. */
let started: ReturnType<typeof startChromium> | undefined;
/** The port of this machine that the browser finds https://*.example at. */
let httpsPort = 0;

after(async () => {
  const found = await started;
  if (found !== undefined && !("reason" in found)) await found.close();
});

/** The browser learns one port when it starts, but each https service has its own. */
async function start(): Promise<Browser | { reason: string }> {
  const relay = createServer((socket) => {
    const passed = connect(httpsPort, "127.0.0.1");
    socket.on("error", () => passed.destroy()).pipe(passed);
    passed.on("error", () => socket.destroy()).pipe(socket);
  });
  await once(relay.listen(0, "127.0.0.1").unref(), "listening");
  return startChromium((relay.address() as AddressInfo).port);
}

/** The browser of the process, for pages at https://*.example, which `port` of this machine serves; or why there is none. */
export async function chromiumFor(port: number): Promise<Browser | { reason: string }> {
  httpsPort = port;
  return (started ??= start());
}

export type PageOptions = BrowserContextOptions & {
  /** Who is signed in, such as a member of a scene. */
  as?: { cookie: string; home: string } | undefined;
  /** What the browser's console may say. */
  expected?: RegExp;
};

/** `problems`: console messages and script errors; any that remain fail the test. */
type Use = (page: Page, own: BrowserContext, problems: string[]) => Promise<void>;

export type TestBrowser = {
  readonly browser: Browser;
  /** Whether there is no Chromium; the test is skipped then. */
  isMissing(context: TestContext): boolean;
  /** A page in a separate browser, with its own cookies and cache. */
  withPage(context: TestContext, options: PageOptions, use: Use): Promise<void>;
};

/** A Chromium for the tests of a file. `begin` starts the service of its pages, unless there is no browser, and may return a function that stops it. */
export function useChromium(begin: () => Promise<(() => unknown) | void> = async () => {}): TestBrowser {
  let found: Browser | { reason: string } = { reason: "The browser has not been started." };
  let end: (() => unknown) | void;
  before(async () => {
    found = await (started ??= start());
    if (!("reason" in found)) end = await begin();
  });
  after(() => end?.());
  const isMissing = (context: TestContext): boolean => {
    if ("reason" in found) context.skip(found.reason);
    return "reason" in found;
  };
  return {
    get browser() {
      if ("reason" in found) throw new Error(found.reason);
      return found;
    },
    isMissing,
    withPage: async (context, options, use) => {
      if (!isMissing(context)) await openPage(found as Browser, options, use);
    },
  };
}

async function openPage(browser: Browser, options: PageOptions, use: Use): Promise<void> {
  // Chromium reports the data that it has cleared.
  const { as, expected = /^Clear-Site-Data/u, ...ofContext } = options;
  const own = await browser.newContext(ofContext);
  try {
    const [name = "", value = ""] = as?.cookie.split("=") ?? [];
    if (as !== undefined) await own.addCookies([{ name, value, url: new URL(as.home).origin }]);
    const page = await own.newPage();
    const problems: string[] = [];
    page.on("console", (message) => {
      if (!expected.test(message.text())) problems.push(message.text());
    });
    page.on("pageerror", (error) => problems.push(error.message));
    await use(page, own, problems);
    assert.deepEqual(problems, []);
  } finally {
    await own.close();
  }
}
