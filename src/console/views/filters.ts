import { SELECTOR_NAMES } from "../../contract/parameters.ts";
import { monthFromText } from "../../lib/month.ts";
import { html, type Html } from "../../lib/html.ts";
import { month } from "../format.ts";
import { PERIODS, TO_NEWEST, type ShownMonths, type ShownRange } from "../months.ts";
import type { PageCall, PageParameters } from "../page.ts";
import { CHOICE_NAMES, pick } from "../selection.ts";
import { hiddenFields, problemSummary, wrongOf, type FormPlace } from "./form.ts";
import { selectField as drawSelect, textField as drawText } from "./form.ts";

type Query = Readonly<Record<string, string>>;

/** One part of a filter form; its markup shows the API's sentence about its value. */
export type Filter = { name: string; markup: (call: FormPlace) => Html };

/**
 * C6: filters are a GET form with one button; the page always matches its form. `kept` becomes hidden fields. The API's errors
 * about the query are above the form, and next to the fields they name.
 */
export function filterForm(
  call: FormPlace,
  path: string,
  kept: PageParameters,
  parts: readonly (Filter | readonly Filter[])[],
): Html {
  const fields = parts.flat();
  return html`${problemSummary(call, path, fields)}
    <form class="filters" action="${call.href(path)}" method="get">
      ${hiddenFields(kept)}${fields.map(({ markup }) => markup(call))}<button>Show</button>
    </form>`;
}

function monthFields({ start_month, end_month }: Query): Filter[] {
  return [
    textField("start_month", "First month of orders", start_month, "month"),
    textField("end_month", "Last month of orders", end_month, "month"),
  ];
}

const WINDOWS = [
  ["30d", "30 days"],
  ["90d", "90 days"],
  ["lifetime", "ever"],
] as const;

/** `primaryDays`: the workspace's primary window. */
export function windowField(query: Query, primaryDays: number | null): Filter {
  const primary = ["primary", primaryDays === null ? "usual window" : `${primaryDays} days (usual)`] as const;
  return selectField("window", "Returned within", query["window"] ?? "primary", [primary, ...WINDOWS]);
}

/** A value that is not among the options becomes an additional one, so that the form shows the request. */
export function selectField(
  name: string,
  label: string,
  value: string,
  options: readonly (readonly [value: string, text: string])[],
): Filter {
  const own = options.some(([each]) => each === value) ? [] : [[value, value] as const];
  const field = { name, label, value, options: [...options, ...own] };
  return { name, markup: (call) => drawSelect(call, null, field) };
}

export function textField(
  name: string,
  label: string,
  value = "",
  type: "text" | "search" | "decimal" | "date" | "month" = "text",
): Filter {
  const field = { name, label, value, type, isRequired: false };
  return { name, markup: (call) => drawText(call, null, field) };
}

/** Checked, it extends the months to the newest, unless the query requests open months of its own range. */
function openMonthsField(query: Query): Filter {
  const value = query["include_incomplete"] === "true" ? "true" : TO_NEWEST;
  return checkField("include_incomplete", "Months in progress", query, value);
}

export function checkField(name: string, label: string, query: Query, value = "true"): Filter {
  return {
    name,
    markup: (call) => {
      const wrong = wrongOf(call, name);
      return html`<div class="check">
        <input
          type="checkbox"
          id="${name}"
          name="${name}"
          value="${value}"
          ${query[name] === value && html` checked`}
        /><label for="${name}">${label}</label> ${wrong !== null && html`<span class="wrong">${wrong}</span>`}
      </div>`;
    },
  };
}

/** The parts of a page's bar; an omitted part does not apply to the page. */
type BarParts = {
  /** The names that the page takes; others are not passed on. */
  takes: readonly string[];
  /** null: those of a refused query, or none is complete. */
  months?: ShownMonths | null;
  hasComparison?: boolean;
  /** The name of the selection; null: all. */
  selected?: string | null;
  filters?: readonly Filter[];
  /** Where the page's figures are as a file. */
  csv?: Html | null;
};

/**
 * C6: the page's only bar, which shows and changes its content: a GET form with one button, and links for rolling ranges. Other
 * parameters of the page's query become hidden fields. On phones it is behind a summary.
 */
export function filterBar(call: PageCall, path: string, parts: BarParts): Html {
  const { takes, months, hasComparison = false, selected, filters = [], csv = null } = parts;
  const query = pick(call.query, takes) as Query;
  const named = months !== undefined ? [...monthFields(query), openMonthsField(query)] : [];
  const compare = hasComparison
    ? [selectField("compare", "Compare with", query["compare"] ?? "", COMPARISONS)]
    : [];
  const fields = [...named, ...compare, ...filters];
  const own = new Set([...fields.map(({ name }) => name), "cursor", "page"]);
  const kept = Object.fromEntries(Object.entries(query).filter(([name]) => !own.has(name)));
  const [first, last, open] = named.map(({ markup }) => markup(call));
  const isWrong = named.some(({ name }) => wrongOf(call, name) !== null);
  const set = filters.filter(({ name }) => (query[name] ?? "") !== "" && !DEFAULTS.has(query[name] ?? ""));
  const title = months === undefined ? "Filters" : monthsText(months ?? null);
  return html`${problemSummary(call, path, fields)}
    <details class="filter-box" ${problemsIn(call) && html` open=""`}>
      <summary>${title}</summary>
      <form class="filters bar-form" action="${call.href(path)}" method="get">
        ${hiddenFields(kept)}
        ${
          months !== undefined &&
          html`${menu(title, html`${presets(call, path, { months, query })}<p class="or">or the months</p>${first}${last}`, isWrong)}
          ${open}`
        }
        ${compare.map(({ markup }) => markup(call))}
        ${selected !== undefined && selectionPart(call, path, { selected, query })}
        ${
          filters.length > 0 &&
          menu(
            set.length === 0 ? "Filters" : `Filters (${set.length})`,
            html`${filters.map(({ markup }) => markup(call))}`,
            filters.some(({ name }) => wrongOf(call, name) !== null),
          )
        }
        ${fields.length > 0 && html`<button>Show</button>`}
        <span class="bar-end">${csv}${months?.range && copyMenu(call, path, { range: months.range, query })}</span>
      </form>
    </details>`;
}

/** Values of fields that change nothing. */
const DEFAULTS = new Set(["primary", "all"]);

const COMPARISONS = [
  ["", "vs previous period"],
  ["year", "vs a year before"],
  ["none", "not compared"],
] as const;

function problemsIn({ problems }: PageCall): boolean {
  return problems.length > 0;
}

/** One part of the bar behind a button; one of them is open at a time. */
function menu(text: string, content: Html, isOpen = false): Html {
  return html`<details class="menu" name="filter-bar" ${isOpen && html` open=""`}>
    <summary>${text}</summary>
    <div>${content}</div>
  </details>`;
}

/** The months in words: "Last 12 months", "Sep 2026", "Jan 2026 to Mar 2026". */
function monthsText(months: ShownMonths | null): string {
  if (months === null) return "Months";
  if (months.period !== null) return PERIODS[months.period];
  const { start_month: first = "", end_month: last = "" } = months.range ?? {};
  if ([first, last].some((each) => monthFromText(each) === null)) return "Months";
  const [start, end] = [first, last].map((each) => month(each) as string);
  return first === last ? `${end}` : `${start} to ${end}`;
}

/** Ranges that roll on with the data, each a link. */
function presets(
  call: PageCall,
  path: string,
  { months, query }: { months: ShownMonths | null; query: Query },
): Html {
  const { start_month: _first, end_month: _last, period: _period, cursor: _cursor, ...rest } = query;
  return html`<ul class="presets" aria-label="Months">
    ${Object.entries(PERIODS).map(
      ([period, text]) =>
        html`<li>
          <a
            href="${call.href(path, { ...rest, period: period === "year" ? undefined : period })}"
            ${months?.period === period && html` aria-current="true"`}
            >${text}</a
          >
        </li>`,
    )}
  </ul>`;
}

/** The selection, and links to others. */
function selectionPart(
  call: PageCall,
  path: string,
  { selected, query }: { selected: string | null; query: Query },
): Html {
  const rest = Object.fromEntries(
    Object.entries(query).filter(([name]) => !SELECTOR_NAMES.includes(name) && name !== "cursor"),
  );
  const choose = call.href("/products", pick(query, CHOICE_NAMES));
  if (selected === null) return html`<a class="chip" href="${choose}">Product: all</a>`;
  return html`<span class="chip"
    ><a href="${choose}">Product: <span>${selected}</span></a>
    <a href="${call.href(path, rest)}" aria-label="Show all products">×</a></span
  >`;
}

/** Links to copy: one that rolls, and one to these very months. */
function copyMenu(call: PageCall, path: string, { range, query }: { range: ShownRange; query: Query }): Html {
  const { start_month: _first, end_month: _last, cursor: _cursor, ...rest } = query;
  const links = [
    ["Always the newest months", call.href(path, rest)],
    ["These months", call.href(path, { ...rest, period: undefined, ...range })],
  ] as const;
  return menu(
    "Copy link",
    html`<ul>
      ${links.map(([text, href]) => html`<li><a class="copy-link" href="${href}">${text}</a></li>`)}
    </ul>`,
  );
}
