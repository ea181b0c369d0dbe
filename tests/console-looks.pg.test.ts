import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { PAGES } from "../src/console/registry.ts";
import { useChromium } from "./support/chromium.ts";
import { OTHER_HOST } from "./docs-chromium.ts";
import { DEMO_DAY, startDemoService, type DemoService } from "./docs-demo.ts";
import { createPageStates, createSettings, type PageState } from "./support/console-states.ts";
import { execute, urlOfDatabase } from "./support/server.ts";
import { focusStops, layoutShift, paleTexts, sidewaysScroll, wrongLooks } from "./support/page-looks.ts";
import { APP_OPTIONS } from "./support/webhooks.ts";

/** What is above the content of every page of the small store, which is the second workspace of its database. */
const FRAME = [
  "link Skip to content",
  "link Returns Analytics",
  "link shop-2.example",
  "input Search products and SKUs",
  "link Guides",
  "link Onlooker",
  "button Sign out",
  "link Overview",
  "link Products",
  "link Report",
  "link Return curves",
  "link Alerts",
  "link Sale days",
  "link Settings",
  // Orders and labels are out of date, and an owner can repair both.
  "link Upload newer files",
  "link Upload newer files",
];

/** The bar of a page that compares months. */
const BAR = [
  "summary Last 12 months",
  "input Months in progress",
  "select Compare with",
  "link Product: all",
  "summary Filters",
  "button Show",
  "link ⤓ CSV",
  "summary Copy link",
];

/** The stops of the Tab key on pages of the small store, in their order. */
const FOCUS_ORDER: Readonly<Record<string, readonly string[]>> = {
  "": [
    ...FRAME,
    ...BAR,
    "link likely",
    "input Month",
    "summary The figures as a table",
    "link Download this table as CSV",
    "link Download this table as CSV",
    "summary Get this from the API",
  ],
  "/report": [
    ...FRAME,
    ...BAR,
    "link Overview",
    "link Reasons",
    "link Timing",
    "link Costs",
    "link likely",
    "link Months",
    "link Weeks",
    "link Days",
    "input Month",
    "summary The figures as a table",
    "link Download this table as CSV",
    "div The costliest and the rest; together they are the whole selection",
    "link Crème Jacket",
    "link Plain Shirt",
    "link Hat",
    "link Download this table as CSV",
    "link All figures, for programs (CSV)",
    "summary Get this from the API",
  ],
};

/** Pages as people see them: each page and each state that occurs, by width, colour scheme, medium and keyboard. */

const NARROW_PX = 360;
const WIDE_PX = 1440;
const MOST_SHIFT = 0.02;

let demo: DemoService;
let home: string;
let made: Awaited<ReturnType<typeof createPageStates>>;
let pages: PageState[];
let settings: Awaited<ReturnType<typeof createSettings>>;

const chromium = useChromium(async () => {
  demo = await startDemoService(DEMO_DAY, APP_OPTIONS);
  home = `http://localhost:${new URL(demo.service.address).port}`;
  const { tenant, service } = demo;
  await service.database.query("update data_source set last_synced_at = now() where shop_key = $1", [
    tenant.shopKey,
  ]);
  made = await createPageStates(service, tenant);
  settings = await createSettings(service);
  pages = PAGES.map(({ name, path }) => ({ name, path: `/w/${tenant.shopDomain}${path}`, status: 200 }));
  return () => demo.stop();
});

test("every page, also on a desk from its first paint and in forced colours", async (context) => {
  await examine(context, () => pages);
  await withPage(context, { width: WIDE_PX }, async (page, problems) => {
    const found = [];
    for (const { name, path } of pages) {
      await page.emulateMedia({ forcedColors: "none" });
      await page.goto(home + path);
      const shift = await layoutShift(page);
      if (shift >= MOST_SHIFT) found.push(`${name} shifts by ${shift}`);
      await page.emulateMedia({ forcedColors: "active" });
      found.push(...(await paleTexts(page)).map((text) => `${name}, in forced colours: ${text}`));
    }
    assert.deepEqual([...found, ...problems], []);
  });
});

test("every page of settings, opened wholly", async (context) => {
  await examine(context, () => settings.pages, { cookie: settings?.cookie, isOpened: true });
});

test("every state, on a phone", async (context) => {
  await examine(context, () => made.states, { isPhone: true });
  await examine(context, () => settings.states, { cookie: settings?.cookie, isPhone: true });
});

test("pages before the sign-in", async (context) => {
  await examine(context, () => SIGNED_OUT, { cookie: "" });
  await examine(context, () => [{ name: "no workspace", path: "/w", status: 200 }], {
    cookie: made?.emptyCookie,
  });
  await withPage(context, { cookie: "" }, async (page, problems) => {
    await page.goto(`${home}/enter#${"A".repeat(43)}`);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "This link does not work" }).waitFor();
    const refused = await wrongsOf(page, problems, { name: "a refused link", path: "/enter", status: 403 });
    const elsewhere = `${home.replace("localhost", OTHER_HOST)}/`;
    await page.goto(elsewhere);
    const other = await wrongsOf(page, problems, { name: "another host", path: elsewhere, status: 403 });
    assert.deepEqual([...refused, ...other], []);
  });
});

const SIGNED_OUT: readonly PageState[] = [
  { name: "signed out", path: "/", status: 200 },
  { name: "sign in", path: "/sign-in", status: 200 },
  { name: "a link's page", path: "/enter", status: 200 },
];

test("on paper: disclosures are open, controls for the screen are left out, and the page's address is printed", async (context) => {
  await demo?.service.database.query(
    `update alert set metadata = metadata || '{"episode_id": "one of several alerts"}'
      where shop_key = $1 and metadata ? 'episode_id'`,
    [demo.tenant.shopKey],
  );
  await withPage(context, { width: PAPER_PX }, async (page) => {
    const found = [];
    await page.emulateMedia({ media: "print" });
    for (const { name, path } of pages) {
      await page.goto(home + path);
      const { printed, hidden, smallest, origin } = await page.evaluate<OnPaper>(ON_PAPER);
      found.push(...printed.map((markup) => `${name} prints ${markup}`));
      if (hidden > 0) found.push(`${name} does not print ${hidden} tables or alerts`);
      if (smallest < SMALLEST_PX) found.push(`${name} prints text of ${smallest} px`);
      if (!origin.startsWith(`"${home}${path} · orders as of `)) found.push(`${name}: ${origin}`);
      for (const width of [LANDSCAPE_PX, PAPER_PX]) {
        await page.setViewportSize({ width, height: 800 });
        const overflow = await sidewaysScroll(page);
        if (overflow > 0) found.push(`${name} is ${overflow} px wider than paper of ${width} px`);
        await page.evaluate(
          `document.querySelectorAll("section").forEach((each) => getComputedStyle(each).page === "auto" || each.remove())`,
        );
      }
    }
    assert.deepEqual(found, []);
  });
});

/** A4 less its margins; sections with wide tables are printed across. */
const PAPER_PX = 680;
const LANDSCAPE_PX = 1009;
/** Above 7 points. */
const SMALLEST_PX = 9.5;

type OnPaper = { printed: string[]; hidden: number; smallest: number; origin: string };

/** Printed controls that only work on a screen, how many tables and alerts are not printed, the height of the smallest text, and the page's address. */
const ON_PAPER = `(() => {
  const isPrinted = (each) => {
    const { width, height } = each.getBoundingClientRect();
    return each.checkVisibility({ visibilityProperty: true }) && width > 0 && height > 0;
  };
  const ofScreen = "nav, header, form, summary, button, input, .api-box, .presets, .tabs, .skip, .chart-readout";
  const cells = document.querySelectorAll("main :is(td, th):not(:has(small))");
  return {
    printed: [...document.querySelectorAll(ofScreen)].filter(isPrinted).map(({ innerHTML }) => innerHTML),
    hidden: [...document.querySelectorAll("main :is(table, .alert)")].filter((each) => !isPrinted(each)).length,
    smallest: Math.min(...[...cells].map((each) => parseFloat(getComputedStyle(each).fontSize))),
    origin: getComputedStyle(document.documentElement).getPropertyValue("--printed"),
  };
})()`;

for (const [path, expected] of Object.entries(FOCUS_ORDER)) {
  test(`the Tab key goes through ${path || "the overview"} in the order of the page, and the focus is visible`, async (context) => {
    await withPage(context, { width: WIDE_PX }, async (page) => {
      await page.goto(home + made.smallStore + path);
      const stops = await focusStops(page);
      assert.deepEqual(
        stops.map(({ name }) => name),
        expected,
      );
      assert.deepEqual(
        stops.filter(({ isMarked }) => !isMarked),
        [],
      );
    });
  });
}

test("while the database is away", async (context) => {
  if (chromium.isMissing(context)) return;
  const name = new URL(demo.service.databaseUrl).pathname.slice(1);
  const server = urlOfDatabase(demo.service.databaseUrl, "postgres");
  await execute(server, `alter database ${name} with allow_connections false`);
  try {
    await execute(
      server,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
    );
    await examine(context, () => pages.slice(0, 1).map((page) => ({ ...page, status: 503 })));
  } finally {
    await execute(server, `alter database ${name} with allow_connections true`);
  }
});

/** `isOpened`: by clicks on everything that opens. */
type Examined = { isOpened?: boolean; isPhone?: boolean };

async function examine(
  context: TestContext,
  states: () => readonly PageState[],
  { cookie = made?.cookie, ...how }: Examined & { cookie?: string | undefined } = {},
): Promise<void> {
  await withPage(context, { cookie }, async (page, problems) => {
    const found = [];
    for (const state of states()) {
      const response = await page.goto(home + state.path);
      assert.equal(response?.status(), state.status, state.name);
      found.push(...(await wrongsOf(page, problems, state, how)));
    }
    assert.deepEqual(found, []);
  });
}

/** Which rules the page that is open breaks; `problems` are those that the browser reported. */
async function wrongsOf(
  page: Page,
  problems: string[],
  state: PageState,
  { isOpened = false, isPhone = false }: Examined = {},
): Promise<string[]> {
  const found: string[] = [];
  const shift = await layoutShift(page);
  if (shift >= MOST_SHIFT) found.push(`shifts by ${shift}`);
  if ((await page.title()) === "taken") found.push("a text was run");
  if (isOpened) found.push(...(await page.evaluate<string[]>(CLICK_ALL)));
  found.push(...problems.splice(0).filter((problem) => !isExpected(problem, state)));
  const wrongs = await wrongLooks(page, state.name, isPhone);
  problems.length = 0;
  return [...found.map((each) => `${state.name}: ${each}`), ...wrongs];
}

/** Clicks what opens; returns what cannot be clicked, because something covers it. The summary of the filters is hidden on a wide screen. */
const CLICK_ALL = `[...document.querySelectorAll("main details > summary")]
  .filter((each) => each.checkVisibility({ visibilityProperty: true }))
  .filter((each) => {
    each.scrollIntoView({ block: "center", behavior: "instant" });
    const { left, top, width, height } = each.getBoundingClientRect();
    const isMet = each.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    each.click();
    return !isMet;
  })
  .map((each) => "covered: " + each.textContent)`;

/** Chromium also reports the page's own status, and a header that only has an effect on https and localhost. */
function isExpected(problem: string, { status, path }: PageState): boolean {
  return (
    problem.startsWith(`Failed to load resource: the server responded with a status of ${status} `) ||
    (path.startsWith("http://") &&
      problem.startsWith("The Cross-Origin-Opener-Policy header has been ignored"))
  );
}

async function withPage(
  context: TestContext,
  { width = NARROW_PX, cookie = made?.cookie },
  use: (page: Page, problems: string[]) => Promise<void>,
): Promise<void> {
  const as = cookie === "" || cookie === undefined ? undefined : { cookie, home };
  await chromium.withPage(context, { viewport: { width, height: 800 }, as }, async (page, own, problems) => {
    await watchPolicy(page, own, problems);
    await use(page, problems);
  });
}

/** Counts requests to other hosts and violations of the page's policy as problems, too. */
async function watchPolicy(page: Page, own: BrowserContext, problems: string[]): Promise<void> {
  await own.exposeBinding("tellViolation", (_source, violation: string) => problems.push(violation));
  await own.addInitScript(
    `addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
      tellViolation("forbidden by " + violatedDirective + ": " + blockedURI))`,
  );
  page.on("request", (request) => {
    const { hostname } = new URL(request.url());
    if (hostname !== "localhost" && hostname !== OTHER_HOST) problems.push(`foreign: ${request.url()}`);
  });
}
