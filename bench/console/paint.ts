import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";
import { findChromium } from "../../tests/support/install-chromium.ts";
import type { BenchContext } from "../context.ts";
import { shownTiming, timingOf } from "../measure.ts";
import { startService } from "../request/server-process.ts";
import type { BenchRow } from "../table.ts";
import { signIn } from "./visitor.ts";
import type { Visitor } from "./visitor.ts";

const VISITS = 11;
const SLOW_DOWN = 4;
const READ_PAINT = `new Promise((found) => {
  new PerformanceObserver((list) => {
    for (const { name, startTime } of list.getEntries()) if (name === "first-contentful-paint") found(startTime);
  }).observe({ type: "paint", buffered: true });
})`;

/** First contentful paint of the overview in Chromium with an empty cache, with its processor as it is and slowed down. */
export async function measurePaint(context: BenchContext): Promise<BenchRow[]> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("there is no Chromium on this machine");
  const store = await context.typical();
  const service = await startService(context.environment);
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    context.tell("Painting the overview.");
    const visitor = await signIn(context, store, service.address);
    const fast: number[] = [];
    const slow: number[] = [];
    // The first of each warms up.
    for (let visit = 0; visit <= VISITS; visit += 1) {
      const asItIs = await paintMs(browser, visitor, 1);
      const slowedDown = await paintMs(browser, visitor, SLOW_DOWN);
      if (visit === 0) continue;
      fast.push(asItIs);
      slow.push(slowedDown);
    }
    const row = (name: string, tookMs: number[], target: string): BenchRow => ({
      name: `first contentful paint of the overview, empty cache${name}; ${VISITS} visits`,
      value: shownTiming(timingOf(tookMs)),
      floor: "",
      ratio: "",
      target,
    });
    return [row("", fast, "≤ 300 ms"), row(`, ${SLOW_DOWN}× slower processor`, slow, "≤ 900 ms")];
  } finally {
    await browser.close();
    await service.stop();
  }
}

async function paintMs(browser: Browser, { pages, cookie }: Visitor, slowDown: number): Promise<number> {
  const own = await browser.newContext();
  try {
    const [name = "", value = ""] = cookie.split("=");
    await own.addCookies([{ name, value, url: pages }]);
    const page = await own.newPage();
    const session = await own.newCDPSession(page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: slowDown });
    await page.goto(pages);
    return await page.evaluate<number>(READ_PAINT);
  } finally {
    await own.close();
  }
}
