import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PAGES } from "../src/console/registry.ts";
import { BREAKDOWN_ORDERS, BREAKDOWNS, REPORT_SECTIONS } from "../src/contract/parameters.ts";
import { randomStore } from "./oracle/random-store.ts";
import type { OracleStore } from "./oracle/store.ts";
import { startConsoleDemo } from "./support/console-demo.ts";
import { actAs, type Member } from "./support/scene.ts";
import { send } from "./support/service.ts";
import { createStoreTenant, importStore } from "./support/import-store.ts";
import type { Tenant } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";
import { elementsIn, readMarkup, textsIn, type MarkupElement } from "./support/markup.ts";

/** A value of a JSON text that is no object and no array: its text as it was sent, and what it means. */
type Leaf = { source: string; value: string | number | boolean | null };

/** Every leaf of a JSON text by its path ("data/rows/0/sku"); empty objects and arrays have none. */
function leavesOf(text: string): Map<string, Leaf> {
  const leaves = new Map<string, Leaf>();
  const tree = JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
    context?.source === undefined ? value : new Sourced(context.source, value as Leaf["value"]),
  ) as unknown;
  collect(tree, "", leaves);
  return leaves;
}

class Sourced {
  readonly source: string;
  readonly value: Leaf["value"];
  constructor(source: string, value: Leaf["value"]) {
    this.source = source;
    this.value = value;
  }
}

function collect(node: unknown, path: string, leaves: Map<string, Leaf>): void {
  if (node instanceof Sourced) {
    leaves.set(path, { source: node.source, value: node.value });
    return;
  }
  for (const [key, child] of Object.entries(node as object)) {
    collect(child, path === "" ? key : `${path}/${key}`, leaves);
  }
}

/** The source that a figure states, its exact value, and its text. */
type ShownFigure = { from: string; value: string; shown: string };

/** A page with its figures, and the API's answers to the requests that its API box lists, by the names of the requests. */
type AnsweredPage = {
  page: MarkupElement;
  figures: readonly ShownFigure[];
  answers: ReadonlyMap<string, Map<string, Leaf>>;
};

/** Requests a path with its query from the API, with a token. */
type AskApi = (path: string) => Promise<Map<string, Leaf>>;

/** Reads a page, and sends each request that it lists. */
async function answerPage(text: string, ask: AskApi): Promise<AnsweredPage> {
  const page = readMarkup(text);
  const elements = elementsIn(page);
  const listed = elements.filter(({ attributes }) => attributes["data-request"] !== undefined);
  const answers = new Map<string, Map<string, Leaf>>();
  for (const { attributes } of listed) {
    const name = attributes["data-request"] as string;
    assert.ok(!answers.has(name), `two requests are called ${name}`);
    answers.set(name, await ask(attributes["data-path"] ?? ""));
  }
  const figures = elements
    .filter(({ name }) => name === "data")
    .map((element) => ({
      from: element.attributes["data-from"] ?? "",
      value: element.attributes["value"] ?? "",
      shown: textsIn(element).join("").replaceAll(/\s+/gu, " ").trim(),
    }));
  return { page, figures, answers };
}

/** Every figure has the API's value, byte for byte, and its text is that value, at most rounded. */
function assertFigures({ figures, answers }: AnsweredPage): void {
  for (const { from, value, shown } of figures) {
    const [name = "", ...steps] = from.split("/");
    const answer = answers.get(name) ?? assert.fail(`${from}: the page lists no request ${name}`);
    const path = steps[0] === "meta" ? steps.join("/") : ["data", ...steps].join("/");
    const leaf =
      answer.get(path) ?? absentLeaf(answer, path) ?? assert.fail(`${from}: the API has no such value`);
    const exact = typeof leaf.value === "string" ? leaf.value : leaf.source;
    assert.equal(value, exact, from);
    if (typeof leaf.value === "number") assertShown(shown, leaf.value, from);
    if (leaf.value === null) assert.match(shown, /^– \S/u, `${from}: absent, with its reason`);
  }
}

/** The path leads into something that the API has as null. */
function absentLeaf(answer: ReadonlyMap<string, Leaf>, path: string): Leaf | undefined {
  const steps = path.split("/");
  const above = steps.map((_, index) => answer.get(steps.slice(0, index).join("/")));
  return above.find((leaf) => leaf?.value === null);
}

const NUMBER =
  /^(?<sign>[−+±-]?)(?:[A-Z]{2,3} ?|[€£$¥])?(?<digits>[\d,]+(?:\.(?<decimals>\d+))?) ?(?<unit>%|points|days?|months?|units?)?$/u;
/** These are percentages in the API as well. */
const WHOLE_PERCENT = /\/cogs_coverage$/u;
const RATE = /(?:rate|low|high|share|share_\w+|sold_amount_coverage|level|_change|rate_change\/\w+|\/p)$/u;

/** A figure shows its number, rounded to the decimals shown; words stand for zeros and tiny chances, and bounds for almost none and almost all. */
function assertShown(shown: string, value: number, from: string): void {
  const groups = NUMBER.exec(shown)?.groups;
  if (groups === undefined) {
    const isTiny = shown === "less than 0.01 %" && value < 0.0001;
    const isBounded =
      (shown === "< 0.1 %" && value > 0 && value < 0.0005001) ||
      (shown === "> 99.9 %" && value < 1 && value > 0.9994999);
    const isNothing = value === 0 && /^(?:– nothing was sold|no day is complete yet)$/u.test(shown);
    assert.ok(isTiny || isBounded || isNothing, `${from}: ${value} is shown as ${shown}`);
    return;
  }
  const { sign = "", digits = "", decimals = "" } = groups;
  const isHundredfold = RATE.test(from) && !WHOLE_PERCENT.test(from);
  const expected = isHundredfold ? value * 100 : value;
  const number = Number(digits.replaceAll(",", "")) * (/[−-]/u.test(sign) ? -1 : 1);
  // A rate is rounded from its units; its six decimals may differ from that slightly.
  const half = 0.5 * 10 ** -decimals.length + (isHundredfold ? 0.5001e-4 : 1e-9);
  assert.ok(Math.abs(number - expected) <= half, `${from}: ${value} is shown as ${shown}`);
}

/** Figures that are not from the API: rules of the service, and choices of a form. */
const KNOWN_WORDS: readonly RegExp[] = [
  // The level of every interval is a rule (M12).
  /95 % interval/gu,
  // The threshold of early warnings is a rule (M17).
  /warning [^.]{0,30}0\.1 %/gu,
];

/** Nothing outside of figures, drawings, choices, written requests and the API's own texts looks like a rate or an amount. */
function assertNothingElse({ page, answers }: AnsweredPage): void {
  const isNoFigure = ({ name, attributes }: MarkupElement): boolean =>
    ["data", "svg", "option", "title"].includes(name) || attributes["class"] === "api-box";
  const leaves = [...answers.values()].flatMap((answer) => [...answer.values()]);
  const ofApi = new Set(leaves.map(({ value }) => value));
  const own = textsIn(page, isNoFigure).filter((text) => !ofApi.has(text.trim()));
  const words = KNOWN_WORDS.reduce((text, known) => text.replaceAll(known, ""), own.join(" "));
  const at = words.search(/\d\s*%|[€£$¥]\s*\d|\d\s*points|\d[.,]\d/u);
  assert.equal(at, -1, `“${words.slice(Math.max(0, at - 40), at + 25)}” is written past figure()`);
}

/** The requests of a report's tabs, by their names. */
const REPORTS = new Set(["report", "curves", "breakdown", "outcomes", "bridge", "fit"]);

/**
 * The API's leaves below `data` of the pages' reports that none of the pages shows: none of their figures has their path. What
 * `isExcepted` names is left out.
 */
function missingLeaves(
  pages: readonly AnsweredPage[],
  isExcepted: (path: string, leaf: Leaf) => boolean,
): string[] {
  const all = pages.flatMap(({ figures }) => figures);
  const shown = new Set(all.map(({ from }) => from.slice(from.indexOf("/") + 1)));
  const reports = pages.flatMap(({ answers }) => [...answers].filter(([name]) => REPORTS.has(name)));
  const leaves = reports.flatMap(([, answer]) => [...answer]);
  return leaves.flatMap(([whole, leaf]) => {
    const path = whole.slice("data/".length);
    return !whole.startsWith("data/") || isShown(shown, path) || isExcepted(path, leaf) ? [] : [path];
  });
}

/** Whether a figure shows it; a null object is shown by a figure with the path of its missing member `low`. */
function isShown(shown: ReadonlySet<string>, path: string): boolean {
  return shown.has(path) || shown.has(`${path}/low`);
}

// A failure prints its seed, which makes the same stores again.
const seed = Number(process.env["RETURNS_TEST_SEED"] ?? Date.now() % 1_000_000_000);
const STORES = 6;
const SHARE = 12;

type Shop = Pick<Tenant, "shopDomain" | "token"> & {
  reader: Member;
  asked: Map<string, Map<string, Leaf>>;
};

const started = use(startConsoleDemo);
let demo: Shop;

before(async () => {
  demo = await open({ shopDomain: started.demo.domain, token: started.demo.token.token });
});

async function open({ shopDomain, token }: Pick<Tenant, "shopDomain" | "token">): Promise<Shop> {
  const { rows } = await started.service.database.query<{ shop_key: string }>(
    "select shop_key from workspace where shop_domain = $1",
    [shopDomain],
  );
  const reader = await actAs(started.service, { shopDomain, shopKey: Number(rows[0]?.shop_key) });
  return { shopDomain, token, reader, asked: new Map() };
}

/** The API's answer; each path is requested once. */
async function askApi(shop: Shop, path: string): Promise<Map<string, Leaf>> {
  const known = shop.asked.get(path);
  if (known !== undefined) return known;
  const headers = { authorization: `Bearer ${shop.token}`, "accept-encoding": "identity" };
  const { status, text } = await send(started.service.address + path, { headers });
  assert.equal(status, 200, `${path}: ${text}`);
  const leaves = leavesOf(text);
  shop.asked.set(path, leaves);
  return leaves;
}

const AS_OF = /\/(?:meta\/(?:data_as_of|freshness\/.*)|complete_through)$/u;

/** A page with every figure checked; null = the API refuses its query, so it has no figure but that of its as-of line. */
async function check(shop: Shop, path: string): Promise<AnsweredPage | null> {
  const { status, text } = await shop.reader.get(path);
  const page = await answerPage(text, (asked) => askApi(shop, asked));
  try {
    if (status === 200) {
      assertFigures(page);
      assertNothingElse(page);
      return page;
    }
    assert.equal(status, 400);
    const figures = page.figures.filter(({ from }) => !AS_OF.test(from));
    assert.deepEqual(figures, []);
    return null;
  } catch (error) {
    throw new Error(`${shop.shopDomain}${path} (seed ${seed})`, { cause: error });
  }
}

type Query = Readonly<Record<string, string>>;

/** Of a page with what it takes of a query; it refuses other names, or passes over them. */
function addressOf(path: string, query: Query): string {
  const { takes } = PAGES.find((each) => each.path === path) ?? assert.fail(path);
  const parameters = Object.entries(query).filter(([name]) => takes.includes(name));
  return `${path}?${new URLSearchParams(parameters).toString()}`;
}

/** What a shop's pages are requested for: a selection of each kind, and its sale events. */
type Material = { months: Query; selections: readonly Query[]; saleEvents: readonly string[] };

/** Every page of a shop in each of its views, once. */
function viewsOf({ months, selections, saleEvents }: Material): string[] {
  const states = [{}, months, { ...months, include_incomplete: "true" }];
  const windows = ["30d", "90d", "lifetime"].map((window) => ({ ...months, window }));
  const ofSelections = selections.map((one, index) =>
    index % 2 === 0 ? one : { ...months, ...one, include_incomplete: "true" },
  );
  const all = [...states, ...windows, ...ofSelections];
  const pages = PAGES.flatMap(({ path }) => all.map((query) => addressOf(path, query)));
  const views = [
    ...pages,
    ...reportViews(months, REPORT_SECTIONS),
    ...selections.flatMap((one) => reportViews({ ...months, ...one }, TABS)),
    ...saleEvents.flatMap((saleEvent) => saleEventViews({ ...months, saleEvent })),
    ...["product", "sku", "vendor", "analytics_category"].flatMap((breakdownBy) =>
      BREAKDOWN_ORDERS.map((breakdownOrder) =>
        addressOf("/products", { ...months, breakdownBy, breakdownOrder }),
      ),
    ),
    ...["month", "this_year", "all"].map((period) => addressOf("", { period })),
    addressOf("", { ...months, compare: "year" }),
    ...["sku", "product", "product_group", "all"].map((type) => addressOf("/products", { type })),
    addressOf("/products", { q: "s" }),
    addressOf("/alerts", { category: "report_ready" }),
  ];
  return [...new Set(views)];
}

/** The parts of the report's page: every section of the API is on one of them. */
const TABS = ["overview", "reasons", "timing", "costs"];

function reportViews(query: Query, reportSections: readonly string[]): string[] {
  const sections = reportSections.map((reportSection) => ({ ...query, reportSection }));
  const breakdowns = BREAKDOWNS.map((breakdownBy) => ({ ...query, reportSection: "breakdown", breakdownBy }));
  return [...sections, ...breakdowns].map((one) => addressOf("/report", one));
}

function saleEventViews(query: Query): string[] {
  const baselines = ["matched_prior", "selected_non_sale", "prior_year"];
  const scopes = ["current_selection", "event_scope"];
  return baselines.flatMap((saleEventBaseline) =>
    scopes.flatMap((saleEventScope) =>
      ["/report", "/sale-events"].map((path) =>
        addressOf(path, { ...query, saleEventBaseline, saleEventScope }),
      ),
    ),
  );
}

function demoMaterial(): Material {
  const { badBatch } = started.demo.store;
  return {
    months: { start_month: "2026-01", end_month: "2026-11" },
    selections: [
      { sku: badBatch.sku },
      { product_gid: `gid://import/Product/${badBatch.productId}`, include_used_variants: "true" },
      { product_group_type: "family", product_group_key: "Lighting" },
      { vendor: "Brindle Works" },
    ],
    saleEvents: ["black-friday-2025"],
  };
}

test("the demo store: every figure of every page is the API's, byte for byte", async () => {
  const views = viewsOf(demoMaterial());
  let figures = 0;
  for (const path of views) {
    const page = await check(demo, path);
    assert.ok(page !== null, `${path} is served`);
    figures += page.figures.length;
  }
  assert.ok(figures > 10_000, `${figures} figures`);
});

test(`${STORES} random stores: every figure of their pages is the API's, byte for byte`, async (context) => {
  context.diagnostic(`seed ${seed}`);
  const stores = fc.sample(randomStore, { seed, numRuns: STORES });
  let served = 0;
  for (const [index, store] of stores.entries()) {
    const tenant = await createStoreTenant(started.service, store.settings);
    await importStore(started.service, tenant, { ...store, currencyCode: "EUR", asOf: store.as_of });
    const shop = await open(tenant);
    // Each store is tested with another share of the views: half of them in all, as the demo store is tested with every one.
    const views = viewsOf(materialOf(store)).filter((_, number) => number % SHARE === index % SHARE);
    for (const path of views) {
      served += (await check(shop, path)) === null ? 0 : 1;
    }
  }
  assert.ok(served > STORES * 10, `${served} pages`);
});

function materialOf({ files }: OracleStore): Material {
  const { products = [], variants = [], sale_events: events = [] } = files;
  const families = products.flatMap(({ family }) => family ?? []);
  const vendors = products.flatMap(({ vendor }) => vendor ?? []);
  const group = families.slice(0, 1).map((key) => ({ product_group_type: "family", product_group_key: key }));
  return {
    months: { start_month: "2024-10", end_month: "2026-02" },
    selections: [
      ...variants.flatMap(({ sku }) => (sku === undefined ? [] : [{ sku }])).slice(0, 2),
      ...products.slice(0, 2).map((row) => ({ product_gid: `gid://import/Product/${row.product_id}` })),
      ...group,
      ...vendors.slice(0, 1).map((vendor) => ({ vendor })),
      { sku: "NEVER" },
    ],
    saleEvents: events.map(({ slug }) => slug),
  };
}

/** What a report's page does not repeat as a figure, and why. */
const NOT_SHOWN: readonly (readonly [path: RegExp, why: string])[] = [
  [
    /^(?:currency_code|window_days|label_costs_included)$/u,
    "in the form of every amount, in the form, in words",
  ],
  [/^summary\/months_included$/u, "its zero is a banner; the months themselves are in the trend"],
  [/^summary\/complete_through$/u, "the as-of line has it, from the first answer that has it"],
  [/^summary\/refunded_units$/u, "the part Refunds has it as refunds/refunded_units"],
  [/^return_reasons\/\d+\/(?:reason|kind)$/u, "the label says both"],
  [/^timing_buckets\/\d+\/bucket$/u, "the days from and to say it"],
  [/^timing_buckets\/[3-5]\/\w+$/u, "days beyond the window of 30 days are left out"],
  [/^sale_events?(?:_unknown|\/slug|\/scope|\/\d+\/\w+)$/u, "on the page of sale events, or in the address"],
  [
    /^breakdown\/(?:breakdown_by|rows\/\d+\/(?:key|label|selector\/\w+|selector|top_reason\/reason|product_\w+))$/u,
    "names, in words and in links",
  ],
  [/^liability\/(?:level|unit_refund_amount|low_evidence)$/u, "in the guide, and in words"],
  [/^breakdown\/rows\/\d+\/sold_amount_coverage$/u, "below 95 % the share refunded says so"],
  [/^breakdown\/rows\/\d+\/monthly_return_rates/u, "a drawing on the page of products; its report has them"],
  [/^fit\/sizes\/\d+\/(?:size|low_evidence)$/u, "the label, and in words"],
  [/^fit\/sizes\/\d+\/(?:late|wrong_item)_units$/u, "reasons that nobody gave are no columns"],
  [/^outcomes\/rows\/\d+\/outcome$|^bridge\/steps\/\d+\/step$/u, "names, in words"],
  [/^trend\/\d+\/outlook\/\w+$/u, "the chart's own request, trend, has more months, and these"],
  [/^return_curves\/\d+\/observed_days$/u, "open ages say so"],
  [
    /^return_curves\/\d+\/ages\/\d+\/(?:age_days|is_complete)$|^pooled_return_curve\/\d+\/age_days$/u,
    "heads of the table, and the words still open",
  ],
];

/** Curves that are not drawn: months older than the newest six have their rates on the page of cohorts alone. */
const OLDER_CURVES = /^return_curves\/\d+\/(?:cohort_month|sold_units|ages\/\d+\/\w+)/u;
const HEAT_ONLY = /^return_curves\/\d+\/ages\/\d+\/(?:returned_units|return_rate_interval)/u;

function isNotShown(path: string, { value }: Leaf): boolean {
  // Nulls: no open month, sale event, earlier month or fit, and no end of the last class of days.
  const isNothing =
    value === null && /(?:outlook|^sale_event|^comparison|to_day|^fit|^fit\/sentence)$/u.test(path);
  // The row for the rest, if every SKU of the product is listed.
  const isNoRest = !value && path.startsWith("breakdown/rows/12/");
  const isNoMonth =
    (value === null || value === 0) && /^pooled_return_curve\/\d+\/(?!return_rate$)/u.test(path);
  return isNothing || isNoRest || isNoMonth || NOT_SHOWN.some(([pattern]) => pattern.test(path));
}

/** A product of the demo store whose variants have sizes. */
async function sizedProduct(): Promise<string> {
  const { rows } = await started.service.database.query<{ product_gid: string }>(
    `select v.product_gid from variant v join workspace w on w.shop_key = v.shop_key
      where w.shop_domain = $1 and v.options @> '[{"name":"Size"}]' order by 1 limit 1`,
    [demo.shopDomain],
  );
  return rows[0]?.product_gid ?? assert.fail("no product has sizes");
}

test("every figure of the report is shown on one of its tabs", async () => {
  const { months, selections } = demoMaterial();
  const states = [
    {},
    { ...months, include_incomplete: "true", saleEvent: "black-friday-2025" },
    { ...months, ...selections[0] },
    { ...months, product_gid: await sizedProduct() },
  ];
  for (const query of states) {
    const tabs: AnsweredPage[] = [];
    for (const reportSection of TABS) {
      const path = addressOf("/report", { ...query, reportSection });
      const page = (await check(demo, path)) ?? assert.fail(path);
      assert.ok(
        page.figures.some(({ from }) => from.endsWith("/complete_through")),
        path,
      );
      tabs.push(page);
    }
    const missing = missingLeaves(
      tabs,
      (leaf, value) =>
        isNotShown(leaf, value) ||
        OLDER_CURVES.test(leaf) ||
        // Months that can still rise are not compared with earlier ones.
        ("include_incomplete" in query && leaf.startsWith("comparison/")),
    );
    assert.deepEqual(missing, []);
    const ofTrend = tabs.flatMap(({ answers }) => [...(answers.get("trend") ?? [])]);
    const outlooks = ofTrend.filter(
      ([path, { value }]) =>
        value !== null && /trend\/\d+\/outlook\/(?!level|returned_units)\w+$/u.test(path),
    );
    const shown = new Set(tabs.flatMap(({ figures }) => figures.map(({ from }) => from)));
    assert.ok(outlooks.length > 0);
    for (const [path] of outlooks) assert.ok(shown.has(path.replace("data", "trend")), path);
    const cohorts = (await check(demo, addressOf("/cohorts", query))) ?? assert.fail("/cohorts");
    const isCurve = (path: string): boolean => /^(?:return_curves|pooled_return_curve)\//u.test(path);
    assert.deepEqual(
      missingLeaves(
        [cohorts],
        (leaf, value) => !isCurve(leaf) || isNotShown(leaf, value) || HEAT_ONLY.test(leaf),
      ),
      [],
    );
  }
});

test("a figure that is rounded, differs, belongs to no request, or is written without figure() fails", async () => {
  const { text } = await demo.reader.get("/report");
  const checkText = async (changed: string): Promise<void> => {
    assert.notEqual(changed, text);
    const page = await answerPage(changed, (asked) => askApi(demo, asked));
    assertFigures(page);
    assertNothingElse(page);
  };
  const rate = /value="(0\.\d{4,})"(\s+data-from="report\/summary\/return_rate")/u;
  const rounded = text.replace(
    rate,
    (_, value: string, rest: string) => `value="${Number(value).toFixed(3)}"${rest}`,
  );
  await assert.rejects(checkText(rounded), /report\/summary\/return_rate/u);
  const sameFraction = text.replace(rate, (_, value: string, rest: string) => `value="${value}0"${rest}`);
  await assert.rejects(checkText(sameFraction), /report\/summary\/return_rate/u);
  const shown = text.replace(/(data-from="report\/summary\/return_rate">)[\d.]+/u, "$10.1");
  await assert.rejects(checkText(shown), /is shown as 0\.1 %/u);
  const unlisted = text.replace(
    'data-from="report/summary/returned_units"',
    'data-from="reports/summary/returned_units"',
  );
  await assert.rejects(checkText(unlisted), /lists no request reports/u);
  const missing = text.replace("report/summary/returned_units", "report/summary/returned");
  await assert.rejects(checkText(missing), /the API has no such value/u);
  for (const past of ["4.3 %", "€1,234.50", "2.1 points", "0.043"]) {
    await assert.rejects(
      checkText(text.replace("</main>", `<p>${past}</p></main>`)),
      /written past figure\(\)/u,
    );
  }
});
