import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";
import { runAction } from "../../src/actions/action.ts";
import { textInput } from "../../src/actions/field.ts";
import { linkUser } from "../../src/actions/people/actions.ts";
import { summary } from "../../src/contract/summary.ts";
import { OPERATOR } from "../../src/actions/actor.ts";
import { consoleAddress } from "../../src/actions/console-address.ts";
import { findChromium } from "../../tests/support/install-chromium.ts";
import type { BenchContext } from "./context.ts";
import { shownNumber, timed, shownTiming, shownMegabytes, shownSpread, percentile } from "./measure.ts";
import type { BenchRow } from "./measure.ts";
import { questionOf } from "./request/questions.ts";
import { SPREAD, startService, compare } from "./servers.ts";
import type { LoadedStore } from "./stores/store.ts";

/** The console's pages, how soon they are seen, and what they cost the API. */
export async function measureConsole(context: BenchContext): Promise<BenchRow[]> {
  return [
    ...(await measurePages(context)),
    ...(await measurePaint(context)),
    ...(await measureBesideApi(context)),
  ];
}

const PAGES = { overview: "", report: "/report" } as const;
/** Of one visitor, who may open 300 pages a minute. */
const ASKED = 200;
const WARM_UP = 50;

type Measured = { page: number[]; api: number[] };

/**
 * How long a server takes for a page, one after the other, and for the API's requests that the page lists, in turn: with
 * remembered answers, and by a server that remembers none.
 */
async function measurePages(context: BenchContext): Promise<BenchRow[]> {
  const store = await context.typical();
  const remembered = await measureBoth(context, store, {});
  const recomputed = await measureBoth(context, store, { ANSWER_MEMORY_MB: "0" });
  return [
    ...remembered.map(([name, measured]) => rowOf(`${name}, answers remembered`, measured, "p95 ≤ 15 ms")),
    ...recomputed.map(([name, measured]) =>
      rowOf(`${name}, answers recomputed`, measured, "p95 ≤ the API's + 10 ms"),
    ),
  ];
}

async function measureBoth(
  context: BenchContext,
  store: LoadedStore,
  options: Record<string, string>,
): Promise<[name: string, measured: Measured][]> {
  const service = await startService({ ...context.environment, ...options });
  try {
    const rows: [string, Measured][] = [];
    for (const [name, path] of Object.entries(PAGES)) {
      context.tell(`Opening the ${name}.`);
      rows.push([name, await measurePage(await signIn(context, store, service.address), path)]);
    }
    return rows;
  } finally {
    await service.stop();
  }
}

async function measurePage(visitor: Visitor, path: string): Promise<Measured> {
  const requests = requestsOf(await openPage(visitor, path));
  const measured: Measured = { page: [], api: [] };
  for (let asked = 0; asked < WARM_UP + ASKED; asked += 1) {
    const pageMs = await timed(() => openPage(visitor, path));
    const apiMs = await timed(() => askRequests(visitor, requests));
    if (asked < WARM_UP) continue;
    measured.page.push(pageMs);
    measured.api.push(apiMs);
  }
  return measured;
}

function rowOf(name: string, { page, api }: Measured, target: string): BenchRow {
  return {
    name: `${name}: p95 and p50 of ${ASKED} pages; ${SPREAD}`,
    value: shownPercentiles(page),
    floor: `${shownPercentiles(api)}: its requests to the API`,
    ratio: `p95 ${shownNumber(percentile(page, 0.95) - percentile(api, 0.95))} ms more`,
    target,
  };
}

function shownPercentiles(tookMs: readonly number[]): string {
  return `${shownNumber(percentile(tookMs, 0.95))} ms, ${shownNumber(percentile(tookMs, 0.5))} ms`;
}

const VISITS = 11;
const SLOW_DOWN = 4;
const READ_PAINT = `new Promise((found) => {
  new PerformanceObserver((list) => {
    for (const { name, startTime } of list.getEntries()) if (name === "first-contentful-paint") found(startTime);
  }).observe({ type: "paint", buffered: true });
})`;

/** First contentful paint of the overview in Chromium with an empty cache, with its processor as it is and slowed down. */
async function measurePaint(context: BenchContext): Promise<BenchRow[]> {
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
      value: shownTiming(tookMs),
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

const ROUNDS = { rounds: 9, seconds: 3, connections: 32 };
/** Until the engine has given back what the start took. */
const IDLE_AFTER_MS = 20_000;

/** What the console costs the API that it is registered beside: its rate and its memory, with the console and without. */
async function measureBesideApi(context: BenchContext): Promise<BenchRow[]> {
  const requests = [questionOf(summary, await context.typical())];
  const registered = await startService(context.environment);
  const without = await startService({ ...context.environment, CONSOLE: "off" });
  try {
    await sleep(IDLE_AFTER_MS);
    const [ownMb, otherMb] = [registered.usage().residentMb, without.usage().residentMb];
    context.tell("Loading the API, with the console and without.");
    const own = { server: registered, requests };
    const { perSecond, floorPerSecond, ratio, cpuMicroseconds, floorCpuMicroseconds } = await compare(
      own,
      { server: without, requests },
      ROUNDS,
    );
    const cpu = (microseconds: number): string => `${Math.round(microseconds)} µs of CPU`;
    return [
      {
        name: `requests/s of summary, remembered, with the console; 32 connections, ${SPREAD}`,
        value: `${shownSpread(perSecond, 0)}, ${cpu(cpuMicroseconds.median)}`,
        floor: `${shownSpread(floorPerSecond, 0)}, ${cpu(floorCpuMicroseconds.median)}: CONSOLE=off`,
        ratio: shownSpread(ratio, 2),
        target: "≥ 0.98",
      },
      {
        name: "resident memory with the console, idle",
        value: shownMegabytes(ownMb),
        floor: `${shownMegabytes(otherMb)}: CONSOLE=off`,
      },
    ];
  } finally {
    await Promise.all([registered.stop(), without.stop()]);
  }
}

/** A person who is signed in to the console of one server, at the pages of one workspace. */
type Visitor = { address: string; pages: string; cookie: string; token: string };

/** Signs a new owner of the store in, by a link of their own: each may open 300 pages a minute. */
async function signIn(
  { installation: { database } }: BenchContext,
  { workspaces: [{ shopDomain, token }] }: LoadedStore,
  address: string,
): Promise<Visitor> {
  const { origin } = consoleAddress(null, new URL(address).port);
  const caller = { database, actor: OPERATOR, now: new Date(), consoleOrigin: () => origin };
  const { result } = await runAction(
    linkUser,
    caller,
    textInput({ workspace: shopDomain, name: `Visitor ${Date.now()}` }),
  );
  const response = await fetch(`${address}/enter`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: address, "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ secret: new URL(result.link.reveal()).hash.slice(1) }),
  });
  const [cookie = ""] = (response.headers.get("set-cookie") ?? "").split(";", 1);
  if (cookie === "") throw new Error(`signing in was answered ${response.status}`);
  return { address, pages: `${address}/w/${shopDomain}`, cookie, token };
}

/** Asks for a page as a browser does, and throws unless it is one. */
async function openPage({ pages, cookie }: Visitor, path: string): Promise<string> {
  const response = await fetch(pages + path, { redirect: "manual", headers: { cookie } });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`the page ${path} was answered ${response.status}`);
  return text;
}

/** The requests to the API that a page lists: path and query. */
function requestsOf(page: string): string[] {
  return [...page.matchAll(/data-path="([^"]*)"/gu)].map(([, path = ""]) => path.replaceAll("&amp;", "&"));
}

/** Asks the API for what a page shows: the first request settles the months of the rest, which are asked together. */
async function askRequests({ address, token }: Visitor, paths: readonly string[]): Promise<void> {
  const ask = async (path: string): Promise<void> => {
    const response = await fetch(address + path, { headers: { authorization: `Bearer ${token}` } });
    await response.text();
    if (response.status !== 200) throw new Error(`${path} was answered ${response.status}`);
  };
  const [first, ...others] = paths;
  if (first !== undefined) await ask(first);
  await Promise.all(others.map(ask));
}
