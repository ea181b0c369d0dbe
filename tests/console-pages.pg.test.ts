import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "csv-parse/sync";
import { PAGES as REGISTERED } from "../src/console/registry.ts";
import { dataFigures, unescaped } from "./support/page-figures.ts";
import { createStore } from "./support/import-store.ts";
import { actAs, scene } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";
import { insertRows } from "./support/tenants.ts";

const tenant = await scene({ store: "small" });
const mercer = await tenant.member("owner", "Mercer");

const open = (path: string) => mercer.get(path);

const REPORT = "/api/v1/report";

test("a ranking lists every row of the answer in its order, each with its report of the same months", async () => {
  for (const [breakdownBy, breakdownOrder] of [
    ["product", "excess_return_cost"],
    ["sku", "returns_cost"],
    ["vendor", "return_rate"],
    ["analytics_category", "sold_units"],
  ] as const) {
    const view = `start_month=2026-01&end_month=2026-03&breakdownBy=${breakdownBy}&breakdownOrder=${breakdownOrder}`;
    const { text } = await open(`/products?${view}`);
    const params = `${view}&reportSection=breakdown`;
    const { data } = (await service.call(REPORT, { token: tenant.token, params })).json();
    const { rows } = data["breakdown"] as { rows: { selector: Record<string, string | boolean> | null }[] };
    const asked = rows.flatMap(({ selector }) => (selector === null ? [] : [selector]));
    const linked = [...text.matchAll(/<a class="name" href="[^"]*\/report\?([^"]*)"/gu)].map(
      ([, query = ""]) => Object.fromEntries(new URLSearchParams(unescaped(query))),
    );
    const months = { start_month: "2026-01", end_month: "2026-03" };
    const expected = asked.map((selector) =>
      Object.fromEntries(new URLSearchParams({ ...months, ...(selector as Record<string, string>) })),
    );
    assert.deepEqual(linked, expected, view);
    assert.match(text, new RegExp(`aria-sort="descending">\\s*<a href="[^"]*breakdownBy`, "u"), view);
  }
});

test("addresses of earlier versions' rankings redirect to the current page with the same months and order", async () => {
  for (const [path, query] of [
    [
      "/leaderboards/return-rate?period=month&limit=5",
      "?period=month&breakdownBy=sku&breakdownOrder=return_rate",
    ],
    [
      "/leaderboards/return-cost?start_month=2026-01&end_month=2026-03&window=90d&vendor=Nordwind",
      "?start_month=2026-01&end_month=2026-03&window=90d&vendor=Nordwind&breakdownBy=sku&breakdownOrder=returns_cost",
    ],
  ] as const) {
    const { status, headers } = await open(path);
    assert.equal(status, 302, path);
    assert.equal(headers.get("location"), `/w/${tenant.shopDomain}/products${query}`);
  }
});

test("every table of a page can be downloaded as a file, with a line per row and the values as shown", async () => {
  let files = 0;
  for (const path of [
    "",
    "/products",
    "/report",
    "/report?reportSection=reasons",
    "/report?reportSection=costs",
    "/cohorts",
    "/alerts",
    "/sale-events",
  ]) {
    const { text } = await open(path);
    for (const [, href = ""] of text.matchAll(/href="([^"]*csv=[^"]*)"/gu)) {
      const file = await open(unescaped(href).replace(`/w/${tenant.shopDomain}`, ""));
      assert.equal(file.status, 200, href);
      const [head = [], ...rows] = parse(file.text, { relax_column_count: true });
      assert.ok(head.length > 1 && rows.length > 0, href);
      assert.doesNotMatch(file.text, /[<>]|&\w+;/u, href);
      files += 1;
    }
  }
  assert.ok(files > 12, `${files} files`);
  const trend = await open("/report?start_month=2026-01&end_month=2026-03&csv=trend-trend");
  assert.match(trend.text, /^Month,Return rate,95 % interval,Units sold,Units returned,Month is,Marked\r\n/u);
  assert.match(trend.text, /\r\nMar 2026,[\d.]+ %,[\d.]+–[\d.]+ %,[\d,"]+,\d+,complete,\r\n$/u);
  const costs = await open("/report?reportSection=costs&csv=cost-facts");
  assert.match(costs.text, /^Figure,Value\r\nRefunds,"?€[\d,.]+ without tax"?\r\n/u);
  const heat = await open("/cohorts?csv=report-heat");
  assert.match(heat.text, /\r\nComplete months,[\d.]+ %,/u);
  assert.doesNotMatch(heat.text, /came back/u);
  assert.equal((await open("/report?csv=nothing")).status, 404);
});

test("a form shows the query, and keeps parameters for which it has no field", async () => {
  const { text } = await open(
    "/report?start_month=2026-01&end_month=2026-03&window=90d&vendor=Nordwind&include_incomplete=true&product_group_type=family&product_group_key=Outerwear&reportSection=costs",
  );
  for (const [name, value] of [
    ["start_month", "2026-01"],
    ["end_month", "2026-03"],
    ["vendor", "Nordwind"],
    ["product_group_type", "family"],
    ["product_group_key", "Outerwear"],
    ["reportSection", "costs"],
  ] as const) {
    assert.match(text, new RegExp(`name="${name}"[^>]*\\svalue="${value}"`, "u"), name);
  }
  assert.match(text, /<option value="90d"\s+selected/u);
  assert.match(text, /name="include_incomplete"\s+value="true"\s+checked/u);
});

test("with months in progress the range ends with the newest month, by the form and by a banner's link", async () => {
  for (const page of ["", "/report", "/cohorts", "/products"]) {
    const { text } = await open(page);
    const form = "?start_month=2025-06&end_month=2026-05&window=primary&include_incomplete=newest";
    assert.match(text, /name="include_incomplete"\s+value="newest"\s/u);
    for (const query of [form, "?include_incomplete=newest", "?period=quarter&include_incomplete=newest"]) {
      const shown = await open(`${page}${query}`);
      assert.match(shown.text, /Months in progress are included/u, query);
      assert.match(shown.text, /name="include_incomplete"\s+value="newest"\s+checked/u, query);
      const last = dataFigures(shown.text).find(({ from }) =>
        /^(?:report|ranking)\/meta\/end_month$/u.test(from),
      );
      assert.equal(last?.value, "2026-07", query);
    }
  }
  // Months named in the address are unchanged, as in the API.
  const past = await open("/report?start_month=2025-06&end_month=2025-08&include_incomplete=true");
  const more =
    /start_month=2025-06&end_month=2025-08&include_incomplete=newest">Continue to the newest month</u;
  assert.match(unescaped(past.text), more);
});

test("rolling ranges end with the newest complete month; empty fields of the form do not change them", async () => {
  for (const [period, first] of [
    ["month", "2026-05"],
    ["quarter", "2026-03"],
    ["this_year", "2026-01"],
    ["year", "2025-06"],
    ["never", "2025-06"],
    ["all", "2025-01"],
  ] as const) {
    for (const page of ["", "/report", "/cohorts"]) {
      const { text } = await open(`${page}?period=${period}&start_month=&end_month=`);
      const shown = new Map(dataFigures(text).map(({ from, value }) => [from, value]));
      assert.equal(
        shown.get("report/meta/start_month") ?? shown.get("report/meta/end_month"),
        first,
        `${page} ${period}`,
      );
      assert.equal(shown.get("report/meta/end_month"), "2026-05", `${page} ${period}`);
    }
  }
});

test("figures are compared with the previous months, the same months of the previous year, or not at all", async () => {
  const compared = async (query: string) => {
    const { text } = await open(`?start_month=2026-03&end_month=2026-05${query}`);
    const from = (path: string) => dataFigures(text).find((each) => each.from === path)?.value;
    return [
      from("comparison/start_month") ?? from("report/comparison/start_month"),
      from("before/meta/start_month"),
    ];
  };
  assert.deepEqual(await compared(""), ["2025-12", undefined]);
  assert.deepEqual(await compared("&compare=year"), [undefined, "2025-03"]);
  assert.deepEqual(await compared("&compare=none"), [undefined, undefined]);
});

test("the direction of a rate's change is that of the change that is shown", async () => {
  // 2 of 3 and 833,958 of 1,250,000: the rates differ by 0.0005, and their six decimals by 0.000499.
  const orders = [
    { order_id: "o1", line_id: "l1", ordered_at: "2026-01-05T10:00:00Z", sku: "HAT", units: 3 },
    { order_id: "o2", line_id: "l1", ordered_at: "2026-02-05T10:00:00Z", sku: "HAT", units: 1_250_000 },
  ];
  const refunds = [2, 833_958].map((units, index) => {
    const { order_id, line_id, ordered_at } = orders[index] as (typeof orders)[number];
    return { refund_id: "f", order_id, line_id, refunded_at: ordered_at, units, subtotal: "0.00" };
  });
  const files = { order_lines: orders, refunds };
  const store = await createStore(service, { asOf: "2026-06-01T00:00:00Z", files });
  const { text } = await (await actAs(service, store)).get("?start_month=2026-02&end_month=2026-02");
  assert.match(text, /class="delta up"\s*><span aria-hidden="true">▲<\/span> <data [^>]*>\+0\.1 points</u);
});

test("a refused query shows the API's sentence in the form's words beside its field, and keeps all values", async () => {
  const query = "start_month=2026-13&end_month=2026-03&vendor=Nobody&window=90d";
  const { status, text } = await open(`/cohorts?${query}`);
  assert.equal(status, 400);
  const refused = await service.call(REPORT, { token: tenant.token, params: query });
  const sentence = refused
    .message()
    .split(/(?<=\.) (?=[a-z_]+ )/u)
    .find((each) => each.startsWith("start_month"))
    ?.replace("start_month", "First month of orders");
  assert.match(text, new RegExp(`id="start_month-hint"\\s+class="wrong"\\s?>${sentence}<`, "u"));
  assert.match(text, /aria-describedby="start_month-hint"/u);
  assert.match(text, new RegExp(`<a href="#start_month">${sentence}</a>`, "u"));
  for (const value of ["2026-13", "2026-03", "Nobody"])
    assert.match(text, new RegExp(`value="${value}"`, "u"));
  assert.match(text, /<option value="90d"\s+selected/u);
});

test("a form's errors contain no API names, and its months are kept", async () => {
  for (const [query, sentence] of [
    [
      "start_month=2026-03&end_month=2026-01",
      "First month of orders must not be later than last month of orders.",
    ],
    ["sku=NONE", "SKU matches nothing in this workspace; see the page Products."],
    ["vendor=None", "Vendor matches nothing in this workspace; see the page Products."],
  ] as const) {
    for (const page of ["/report", "/cohorts"]) {
      const { status, text } = await open(`${page}?${query}`);
      assert.equal(status, 400, `${page}?${query}`);
      assert.ok(text.includes(`>${sentence}<`), `${page}?${query}`);
      const shown = query.includes("start_month") ? "Mar 2026 to Jan 2026" : "Last 12 months";
      assert.ok(text.includes(`<summary>${shown}</summary>`), `${page}?${query}`);
    }
  }
});

test("a product is divided by SKU unless something else is asked for", async () => {
  const product = `/report?product_gid=${encodeURIComponent("gid://shopify/Product/1")}`;
  assert.match((await open(product)).text, /<option value="sku"\s+selected/u);
  assert.match((await open(product)).text, /<h2>By SKU<\/h2>/u);
  assert.match((await open(`${product}&breakdownBy=vendor`)).text, /<h2>By vendor<\/h2>/u);
  assert.match((await open("/report")).text, /<h2>By product<\/h2>/u);
});

test("the rates of what a search finds count used variants if these are included, as their reports do", async () => {
  for (const include_used_variants of ["true", undefined]) {
    const months = {
      start_month: "2026-01",
      end_month: "2026-03",
      ...(include_used_variants && { include_used_variants }),
    };
    const { text } = await open(`/products?${new URLSearchParams({ q: "JACKET-M", ...months }).toString()}`);
    const params = { sku: "JACKET-M", ...months };
    const { data } = (await service.call("/api/v1/summary", { token: tenant.token, params })).json();
    const shown = dataFigures(text).find(({ from }) => from === "found_1/sold_units")?.value;
    assert.equal(shown, String(data["sold_units"]));
  }
});

test("a family's report shows no problem of the category of the same name", async () => {
  const shop = await scene({ store: "small" });
  const metadata = {
    kind: "early_warning",
    state: "open",
    episode_id: "analytics_category:Tops:2026-06-20",
    started_on: "2026-06-20",
    product_group_type: "analytics_category",
    product_group_key: "Tops",
    ordered_from: "2026-06-01",
    as_of: "2026-06-20",
    sold_lines: 20,
    returned_lines: 9,
    expected_lines: 1,
  };
  await insertRows(service.database, "alert", [
    {
      shop_key: shop.shopKey,
      alert_id: "alert-of-a-category",
      event_key: "early_warning:analytics_category:Tops:2026-06-20",
      category: "return_rate_watchlist",
      severity: "warning",
      title: "The category Tops comes back more than before",
      metadata,
      created_at: "2026-06-20T08:00:00Z",
    },
  ]);
  const reader = await shop.member();
  const { status, text } = await reader.get("/report?product_group_type=family&product_group_key=Tops");
  assert.equal(status, 200);
  assert.doesNotMatch(text, /order lines came back/u);
});

test("only advertisers' parameters are ignored", async () => {
  for (const { path } of REGISTERED) {
    const { status } = await open(`${path}?utm_source=a&utm_source=b&utm_campaign=c&gclid=d&fbclid=e`);
    assert.equal(status, 200, path);
  }
  for (const name of ["utm", "utmsource", "gclids", "UTM_SOURCE"])
    assert.equal((await open(`/report?${name}=a`)).status, 400, name);
});

test("an unknown parameter is refused in the API's words on every page, and no figure is shown", async () => {
  for (const { path, link, takes } of REGISTERED) {
    for (const query of ["windw=90d", "windw=", "windw=90d&windw=30d"]) {
      const { status, text } = await open(`${path}?${query}`);
      assert.equal(status, 400, `${path}?${query}`);
      assert.match(text, new RegExp(`windw is not a parameter of ${link}[.;]`, "u"));
      if (takes.includes("window")) assert.match(text, /did you mean window\?/u);
      assert.doesNotMatch(text, /data-from="(?!meta)[^"]*\/(?!meta)/u, path);
      assert.match(text, new RegExp(`href="/w/${tenant.shopDomain}${path}"`, "u"));
    }
  }
  assert.match((await open("?windw=90d")).text, /Overview takes start_month, end_month, window, /u);
  assert.match((await open("/cohorts?saleEvent=hats")).text, /Return curves; Report takes it/iu);
});

test("shared parameters that a page does not use are ignored, as in the API", async () => {
  const shared = "vendor=Nordwind&window=90d&include_used_variants=true";
  for (const { path } of REGISTERED) assert.equal((await open(`${path}?${shared}`)).status, 200, path);
  assert.equal((await open("/report?cursor=x")).status, 200);
});

test("every parameter of a page reaches the API, except its own", async () => {
  const own = new Set([
    "page",
    "period",
    "compare",
    "open",
    "include_used_variants",
    "q",
    "type",
    "limit",
    "cursor",
  ]);
  const reader = await (await scene({ store: "small" })).member();
  for (const { path, takes } of REGISTERED) {
    for (const name of takes.filter((each) => !own.has(each))) {
      // A repeated parameter is refused by whatever reads it.
      const { status, text } = await reader.get(`${path}?${name}=1&${name}=2`);
      assert.equal(status, 400, `${path} ${name}`);
      assert.match(text, new RegExp(`${name} must be given once only`, "u"), `${path} ${name}`);
    }
  }
});

test("lists are paged by cursor, forward and back to the start", async () => {
  const seen: string[] = [];
  let path: string | undefined = "/alerts?limit=4";
  while (path !== undefined) {
    const { text } = await open(path);
    seen.push(...[...text.matchAll(/<h3>\s*(Alert [^<]*?)\s*<\/h3>/gu)].map(([, title = ""]) => title));
    const next: string | undefined = /href="([^"]*)" rel="next"/u.exec(text)?.[1];
    path = next === undefined ? undefined : unescaped(next).replace(`/w/${tenant.shopDomain}`, "");
    if (next === undefined) assert.match(text, /href="[^"]*\/alerts\?limit=4"[^>]*>First page/u);
  }
  const { data } = (await service.call("/api/v1/alerts", { token: tenant.token })).json();
  assert.deepEqual(
    seen,
    data.map(({ title }) => title),
  );
});
