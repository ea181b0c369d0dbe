import { readFigures } from "../../actions/right.ts";
import { html, type Html } from "../../lib/html.ts";
import { intervalFigure, rateFigure } from "../charts/rates.ts";
import { sparkline, whisker } from "../charts/plot.ts";
import { figure, type ApiAnswer } from "../figure.ts";
import { count, money, percent, points, tenthsOfPoint } from "../format.ts";
import { monthsOf, monthsOfRefused, monthRange, type ShownMonths } from "../months.ts";
import { definePage, type BodyOf, type PageCall, type PageParameters, type View } from "../page.ts";
import { parameterNames } from "../page-names.ts";
import { CHOICE_NAMES, pick, ROLLING_NAMES } from "../selection.ts";
import { monthCoverage, noCompleteMonth } from "../views/coverage.ts";
import { barCsv, tableHref } from "../views/csv-link.ts";
import { checkField, filterBar, textField, windowField } from "../views/filters.ts";
import { pageLinks, tabs, dataTable, numbers, type Column } from "../views/blocks.ts";
import { picture } from "../views/picture.ts";

const PATH = "/products";
/** Where the field at the top of every page leads. */
export const SEARCH_PATH = PATH;
const TITLE = "Products";
const TABLE = "products";
const MOST_FOUND = 10;
const PER_PAGE = 50;

type Report = ApiAnswer<BodyOf<"report">>;
type Entities = ApiAnswer<BodyOf<"entities">>;
/** The most returned entities, search results with their rates, or the catalogue. */
type Listed =
  | { kind: "ranking"; months: ShownMonths; ranking: Report; opened: Report | null }
  | { kind: "found"; months: ShownMonths; entities: Entities; rates: (ApiAnswer<BodyOf<"summary">> | null)[] }
  | { kind: "catalogue"; entities: Entities }
  | { kind: "none" };

const MONTHS = ["start_month", "end_month", "window", "include_incomplete"];
const OWN_NAMES = ["breakdownBy", "breakdownOrder", "open"];
const TAKES = [
  ...parameterNames("entities").filter((name) => name !== "fields"),
  ...MONTHS,
  "include_used_variants",
  ...ROLLING_NAMES,
  ...OWN_NAMES,
];

/** Returns by product, SKU, vendor or category, and the product search. */
export const products = definePage<Listed>({
  name: "products",
  path: PATH,
  right: readFigures,
  link: TITLE,
  takes: TAKES,
  data: (call) => {
    const { q = "", type, cursor } = call.query;
    if (q !== "") return readFound(call);
    return type !== undefined || cursor !== undefined ? readCatalogue(call) : readRanking(call);
  },
  view: (listed, call) => ({
    title: titleOf(call),
    body: html`${bar(call, "months" in listed ? listed.months : monthsOfRefused(call))}
      <h1>${titleOf(call)}</h1>
      ${content(listed, call)}`,
  }),
  refused: (call): View => ({
    title: TITLE,
    body: html`${bar(call, monthsOfRefused(call))}
      <h1>${TITLE}</h1>`,
  }),
});

async function readRanking(call: PageCall): Promise<Listed> {
  const months = await monthsOf(call);
  if (months.range === null) return { kind: "none" };
  const state = pick(call.query, [...MONTHS, "vendor"]);
  const order = call.query["breakdownOrder"] ?? DEFAULT_ORDER;
  const read = (name: string, more: PageParameters) =>
    call.read(name, "report", {
      ...state,
      ...months.range,
      reportSection: "breakdown",
      breakdownOrder: order,
      ...more,
    });
  const open = call.query["open"] ?? "";
  const [ranking, opened] = await Promise.all([
    read("ranking", { breakdownBy: kindOf(call) }),
    open === ""
      ? null
      : read("opened", { product_gid: open, include_used_variants: true, breakdownBy: "sku" }),
  ]);
  return { kind: "ranking", months, ranking, opened };
}

async function readFound(call: PageCall): Promise<Listed> {
  const { q, vendor, type = "all" } = call.query;
  const [months, entities] = await Promise.all([
    monthsOf(call),
    call.read("entities", "entities", {
      q,
      vendor,
      type,
      limit: call.query["limit"] ?? MOST_FOUND,
      fields: "all",
    }),
  ]);
  const { range } = months;
  const state = { ...pick(call.query, ["window", "include_used_variants"]), ...range };
  const rates = await Promise.all(
    entities.body.data.map(async ({ selector }, index) =>
      range === null || index >= MOST_FOUND
        ? null
        : call.read(`found_${index + 1}`, "summary", { ...state, ...selector }),
    ),
  );
  return { kind: "found", months, entities, rates };
}

async function readCatalogue(call: PageCall): Promise<Listed> {
  const { type, vendor, cursor, limit = PER_PAGE } = call.query;
  return {
    kind: "catalogue",
    entities: await call.read("entities", "entities", { type, vendor, cursor, limit, fields: "all" }),
  };
}

function titleOf({ query }: PageCall): string {
  const searched = query["q"] ?? "";
  return searched === "" ? TITLE : `${TITLE}: ${searched}`;
}

function bar(call: PageCall, months: ShownMonths): Html {
  const { query } = call;
  return filterBar(call, PATH, {
    takes: TAKES,
    months,
    csv: barCsv(call, PATH, TABLE),
    filters: [
      windowField(query, call.primaryWindowDays),
      textField("vendor", "Vendor", query["vendor"]),
      checkField("include_used_variants", "Include used variants", query),
    ],
  });
}

function content(listed: Listed, call: PageCall): Html {
  switch (listed.kind) {
    case "none":
      return html`${noCompleteMonth(call)}
        <p><a href="${call.href(PATH, { type: "product" })}">All products, A to Z</a></p>`;
    case "found":
      return foundPart(listed, call);
    case "catalogue":
      return cataloguePart(listed.entities, call);
    case "ranking":
      return rankingPart(listed, call);
  }
}

const KINDS = [
  ["product", "Products"],
  ["sku", "SKUs"],
  ["vendor", "Vendors"],
  ["analytics_category", "Categories"],
] as const;
type Kind = (typeof KINDS)[number][0];
const DEFAULT_ORDER = "excess_return_cost";

/** An unknown kind means products, as in the API. */
function kindOf({ query }: PageCall): Kind {
  return KINDS.find(([kind]) => kind === query["breakdownBy"])?.[0] ?? "product";
}

function rankingPart({ ranking, opened }: Listed & { kind: "ranking" }, call: PageCall): Html {
  const kind = kindOf(call);
  const links = KINDS.map(([value, text]) => ({
    text,
    href: call.href(PATH, {
      ...call.query,
      open: undefined,
      breakdownBy: value === "product" ? undefined : value,
    }),
    isCurrent: value === kind,
  }));
  return html`${tabs("Kinds", links)}
    <p class="lead">
      Orders of ${monthRange(ranking)}. “Beyond usual”: what the returns above the usual rate, that of the 12
      months before, have cost.
    </p>
    ${monthCoverage(ranking, "summary", (open) => call.href(PATH, { ...call.query, include_incomplete: open }))}
    ${
      !ranking.body.data.label_costs_included &&
      html`<p class="banner">
        Refunds only: return labels are not included, because no label source is connected and up to date.
      </p>`
    }
    ${rankingTable({ ranking, opened, kind }, call)}
    <p>
      <a href="${call.href(PATH, { ...pick(call.query, CHOICE_NAMES), type: "product" })}">All products, A to Z</a>
    </p>`;
}

type Row = Exclude<BodyOf<"report">["data"]["breakdown"], undefined>["rows"][number];
type Ranked = { ranking: Report; opened: Report | null; kind: Kind };

function rankingTable({ ranking, opened, kind }: Ranked, call: PageCall): Html {
  const rows = ranking.body.data.breakdown?.rows ?? [];
  const highest = Math.max(...rows.map((row) => row.return_rate_interval?.high ?? 0), 0.01);
  const open = call.query["open"] ?? "";
  const cells = rows.flatMap((row, index) => {
    // The rest, where everything is listed.
    if (row.selector === null && row.sold_units === 0) return [];
    const own = rowCells(ranking, index, { call, highest, head: headOf(row, kind, call) });
    if (opened === null || row.key !== open) return [own];
    const parts = opened.body.data.breakdown?.rows ?? [];
    const inner = parts
      .map((part, place) => rowCells(opened, place, { call, highest, head: headOf(part, "part", call) }))
      .filter((_, place) => (parts[place]?.sold_units ?? 0) > 0);
    return [own, ...inner];
  });
  const total = [
    html`All`,
    html`<strong>${rateFigure(ranking, "summary")}</strong>`,
    html``,
    html``,
    figure(ranking, "summary/returned_units", count),
    figure(ranking, "summary/sold_units", count),
    html``,
    figure(ranking, "summary/returns_cost", money(call.currencyCode)),
    html``,
    html``,
  ];
  const name = KINDS.find(([each]) => each === kind)?.[1] ?? TITLE;
  const hasRest = rows.some((row) => row.selector === null && row.sold_units > 0);
  const caption = hasRest
    ? "The first 20 and the rest; together they are everything sold"
    : "Everything sold";
  return dataTable(caption, columns(name, call), cells, { ...file(call), total });
}

function file(call: PageCall) {
  return { id: TABLE, exportHref: tableHref(call, PATH) };
}

/** A sortable heading links to the same page in that order; every order is descending. */
function columns(name: string, call: PageCall): (Column | string)[] {
  const given = call.query["breakdownOrder"] ?? DEFAULT_ORDER;
  const sorted = (text: string, order: string): Column => ({
    text,
    isNumber: true,
    isSorted: order === given,
    href: call.href(PATH, { ...call.query, breakdownOrder: order === DEFAULT_ORDER ? undefined : order }),
  });
  return [
    name,
    sorted("Return rate", "return_rate"),
    { text: "likely range", isDrawing: true },
    sorted("Change", "return_rate_change"),
    sorted("Returned", "returned_units"),
    sorted("Sold", "sold_units"),
    sorted("Beyond usual", DEFAULT_ORDER),
    sorted("Returns cost", "returns_cost"),
    "Main reason",
    { text: "By month", isDrawing: true },
  ];
}

type RowPlace = { call: PageCall; highest: number; head: Html };

function rowCells(answer: Report, index: number, { call, highest, head }: RowPlace): Html[] {
  const row = answer.body.data.breakdown?.rows[index] as Row;
  const path = `breakdown/rows/${index}`;
  const amount = money(call.currencyCode);
  const isRest = row.key === "other" && row.selector === null;
  const few = row.sold_units > 0 && row.sold_units < call.minSoldUnits;
  return [
    head,
    html`<strong>${rateFigure(answer, path)}</strong> <small>${intervalFigure(answer, `${path}/return_rate_interval`)}</small>`,
    whisker(row, highest),
    isRest ? html`` : changeCell(answer, path, row.return_rate_change),
    figure(answer, `${path}/returned_units`, count),
    html`${figure(answer, `${path}/sold_units`, count)}${few && html` <small>few units</small>`}`,
    isRest ? html`` : figure(answer, `${path}/excess_return_cost`, amount, "no months before"),
    figure(answer, `${path}/returns_cost`, amount),
    row.top_reason === null
      ? html``
      : html`${figure(answer, `${path}/top_reason/label`, String)} <small>${figure(answer, `${path}/top_reason/share`, percent)}</small>`,
    html`${sparkline(row.monthly_return_rates)}`,
  ];
}

function changeCell(answer: Report, path: string, change: number | null): Html {
  const value = figure(answer, `${path}/return_rate_change`, points, "nothing before");
  if (change === null) return value;
  const tenths = tenthsOfPoint(change);
  const [sign, word] = tenths > 0 ? ["▲", "more"] : tenths < 0 ? ["▼", "less"] : ["=", "the same"];
  return html`<span class="delta"><span aria-hidden="true">${sign}</span> ${value} <small>${word}</small></span>`;
}

/** A row's name, with its picture, its report, and for a product the link to its SKUs. */
function headOf(row: Row, kind: Kind | "part", call: PageCall): Html {
  const { key, label, selector, product_title: title, product_image_url: image } = row;
  if (selector === null) return html`<span class="name">${label}</span>`;
  const kept = pick(call.query, CHOICE_NAMES);
  const href = call.href("/report", { ...kept, ...selector });
  const isOpen = call.query["open"] === key;
  const name = title ?? label;
  const detail = name === label ? null : label;
  const more = call.href(PATH, { ...call.query, open: isOpen ? undefined : key });
  return html`<span class="ranked ${kind === "part" ? "part" : ""}"
    >${kind !== "vendor" && kind !== "analytics_category" && picture(image, "", call.imageSources)}<span
      ><a class="name" href="${href}">${kind === "part" ? label : name}</a
      >${detail !== null && kind !== "part" && html` <span class="detail">${detail}</span>`}${
        kind === "product" &&
        html` <a class="detail" href="${more}" aria-label="${isOpen ? "Hide" : "Show"} the SKUs of ${name}">${isOpen ? "▾ SKUs" : "▸ SKUs"}</a>`
      }</span
    ></span
  >`;
}

type Entity = Entities["body"]["data"][number];

function entityCell(
  { label, type, subtitle, product_image_url: image, selector }: Entity,
  call: PageCall,
): Html {
  const kept = pick(call.query, CHOICE_NAMES);
  return html`<span class="ranked"
    >${type !== "product_group" && picture(image ?? null, "", call.imageSources)}<span
      ><a class="name" href="${call.href("/report", { ...kept, ...selector })}"
        >${type === "sku" ? (subtitle ?? label) : label}</a
      >${type === "sku" && subtitle !== null && html` <span class="detail">${label}</span>`}</span
    ></span
  >`;
}

function foundPart({ entities, rates }: Listed & { kind: "found" }, call: PageCall): Html {
  const { data, meta } = entities.body;
  if (data.length === 0) return nothing(call);
  const rows = data.map((entity, index) => {
    const rate = rates[index] ?? null;
    return [
      entityCell(entity, call),
      html`${kindText(entity)}`,
      rate === null
        ? html``
        : html`<strong>${figure(rate, "return_rate", rate.body.data.sold_units === 0 ? NO_RATE : percent)}</strong>`,
      rate === null ? html`` : figure(rate, "returned_units", count),
      rate === null ? html`` : figure(rate, "sold_units", count),
    ];
  });
  const heads = ["Name", "Kind", ...numbers("Return rate", "Returned", "Sold")];
  return html`${dataTable(`Matches for “${meta.query}”`, heads, rows, file(call))}
    <p class="shown">
      The ${figure(entities, "meta/returned", count)} best matches, groups and products first.
      ${
        meta.returned === meta.limit &&
        html`More may match: a longer search finds them, or
          <a href="${call.href(PATH, { ...call.query, limit: 100 })}">the first 100</a>.`
      }
    </p>`;
}

const NO_RATE = (): Html => html`– <small>nothing was sold</small>`;

const TYPES = [
  ["product", "Products"],
  ["sku", "SKUs"],
  ["product_group", "Families and categories"],
  ["all", "Everything"],
] as const;

function cataloguePart(entities: Entities, call: PageCall): Html {
  const { data, meta } = entities.body;
  const { cursor: _cursor, ...rest } = call.query;
  const kinds = TYPES.map(([type, text]) => ({
    text,
    href: call.href(PATH, { ...rest, type }),
    isCurrent: type === meta.type,
  }));
  if (data.length === 0) return html`${tabs("Kinds", kinds)} ${nothing(call)}`;
  const rows = data.map((entity) => [
    entityCell(entity, call),
    html`${kindText(entity)}`,
    html`${entity.vendor}`,
  ]);
  return html`<p><a href="${call.href(PATH, pick(call.query, CHOICE_NAMES))}">Back to what comes back most</a></p>
    ${tabs("Kinds", kinds)} ${dataTable("The catalogue", ["Name", "Kind", "Vendor"], rows, file(call))}
    <p class="shown">${figure(entities, "meta/returned", count)} on this page</p>
    ${pageLinks(call, PATH, meta.next_cursor)}`;
}

function kindText({ type, product_group_type }: Entity): string {
  if (type === "sku") return "SKU";
  if (type === "product") return "Product";
  return product_group_type === "family" ? "Family" : "Category";
}

function nothing(call: PageCall): Html {
  const { q = "", vendor = "", type = "all" } = call.query;
  const carried = pick(call.query, CHOICE_NAMES);
  if (q === "" && vendor === "") {
    return html`<p class="banner">Nothing of this kind yet. Entries appear with the first import or sync.</p>`;
  }
  const everything = call.href(PATH, { ...carried, q, vendor, type: "all" });
  return html`<p class="banner">
    Nothing matches${q !== "" && html` “${q}”`}${vendor !== "" && html`, vendor “${vendor}”`}. A search can
    match parts of words; a vendor must be written as in the store.
    ${type !== "all" && html`<a href="${everything}">Search everything</a> · `}<a
      href="${call.href(PATH, carried)}"
      >Show all products</a
    >
  </p>`;
}
