import { readFigures } from "../../actions/right.ts";
import type { IsWatched } from "../../actions/watchlist/actions.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { count } from "../format.ts";
import { definePage } from "../page.ts";
import { parameterNames } from "../page-names.ts";
import type { BodyOf, PageCall, View } from "../page.ts";
import { pick } from "../selection.ts";
import { filterForm, textField } from "../views/filters.ts";
import { pageLinks } from "../views/page-links.ts";
import { dataTable } from "../views/table.ts";
import { tabs } from "../views/tabs.ts";
import { watchableOf, watchColumn } from "../views/watch-mark.ts";

const PATH = "/products";
/** Where the field at the top of every page leads. */
export const SEARCH_PATH = PATH;
const TITLE = "Products";
const LIMIT = 50;
/** What a selection of months and window was before a product is chosen, and stays after it. */
const CARRIED = ["start_month", "end_month", "window", "include_incomplete", "include_used_variants"];

type Entities = ApiAnswer<BodyOf<"entities">>;
type Listed = { answer: Entities; isWatched: IsWatched };

/** The catalogue: what a report can be about. */
export const products = definePage<Listed>({
  name: "products",
  path: PATH,
  right: readFigures,
  link: TITLE,
  takes: parameterNames("entities"),
  data: async (call) => {
    const [answer, isWatched] = await Promise.all([
      call.read("entities", "entities", { limit: LIMIT, ...call.query, type: typeOf(call) }),
      call.watched(),
    ]);
    return { answer, isWatched };
  },
  view: (listed, call) => ({
    title: title(call),
    body: html`<h1>${TITLE}</h1>
      <p class="lead">Every product, SKU and group of the store. Each leads to its report.</p>
      ${form(call)} ${list(listed, call)}`,
  }),
  refused: (call): View => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${form(call)}`,
  }),
});

function title({ query }: PageCall): string {
  const searched = query["q"] ?? "";
  return searched === "" ? TITLE : `${TITLE}: ${searched}`;
}

/** People look for products first, and search in everything. */
function typeOf({ query }: PageCall): string {
  return query["type"] ?? ((query["q"] ?? "") === "" ? "product" : "all");
}

const TYPES = [
  ["product", "Products"],
  ["sku", "SKUs"],
  ["product_group", "Families and categories"],
  ["all", "Everything"],
] as const;

function form(call: PageCall): Html {
  const { query } = call;
  const { cursor: _cursor, ...rest } = query;
  const search = filterForm(call, PATH, pick(query, ["type", ...CARRIED]), [
    textField("q", "Search name, SKU or vendor", query["q"], "search"),
    textField("vendor", "Only this vendor", query["vendor"]),
  ]);
  const kinds = TYPES.map(([type, text]) => ({
    text,
    href: call.href(PATH, { ...rest, type }),
    isCurrent: type === typeOf(call),
  }));
  return html`${search} ${tabs("Kinds", kinds)}`;
}

type Entity = Entities["body"]["data"][number];

/** What a row says beside its name. A column that would say nothing is left out. */
const DETAILS: readonly (readonly [text: string, of: (entity: Entity) => string | null])[] = [
  ["Kind", kindText],
  ["Belongs to", ({ type, subtitle }) => (type === "sku" ? subtitle : null)],
  ["Vendor", ({ vendor }) => vendor],
];

function list({ answer, isWatched }: Listed, call: PageCall): Html {
  const { data, meta } = answer.body;
  if (data.length === 0) return nothing(call);
  const carried = pick(call.query, CARRIED);
  const isMixed = new Set(data.map(kindText)).size > 1;
  const details = DETAILS.filter(
    ([, of]) => (of !== kindText || isMixed) && data.some((entity) => of(entity) !== null),
  );
  const watching = watchColumn(
    call,
    isWatched,
    data.map(({ selector }) => watchableOf(selector)),
  );
  const rows = data.map((entity, index) => [
    html`<a href="${call.href("/report", { ...carried, ...entity.selector })}">${entity.label}</a>`,
    ...details.map(([, of]) => html`${of(entity)}`),
    ...watching.cellsOf(index),
  ]);
  const columns = [{ text: "Name" }, ...details.map(([text]) => ({ text })), ...watching.columns];
  const isSearch = meta.query !== "";
  return html`${dataTable(isSearch ? `What is called “${meta.query}”` : "The catalogue", columns, rows)}
    <p class="shown">
      ${
        isSearch
          ? html`The ${figure(answer, "meta/returned", count)} best matches, groups and products first.
            ${meta.returned === meta.limit && "More may match: a longer search finds them."}`
          : html`${figure(answer, "meta/returned", count)} on this page`
      }
    </p>
    ${pageLinks(call, PATH, meta.next_cursor)}`;
}

function kindText({ type, product_group_type }: Entity): string {
  if (type === "sku") return "SKU";
  if (type === "product") return "Product";
  return product_group_type === "family" ? "Family" : "Category";
}

function nothing(call: PageCall): Html {
  const { q = "", vendor = "" } = call.query;
  const carried = pick(call.query, CARRIED);
  if (q === "" && vendor === "") {
    return html`<p class="banner">Nothing of this kind yet. It comes with the first import or sync.</p>`;
  }
  const everything = call.href(PATH, { ...carried, q, vendor, type: "all" });
  return html`<p class="banner">
    Nothing matches${q !== "" && html` “${q}”`}${vendor !== "" && html`, vendor “${vendor}”`}. A search takes
    parts of words; a vendor counts as it is written in the store.
    ${typeOf(call) !== "all" && html`<a href="${everything}">Search everything</a> · `}<a
      href="${call.href(PATH, carried)}"
      >Show all products</a
    >
  </p>`;
}
