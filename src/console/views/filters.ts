import { monthToText } from "../../lib/month.ts";
import { knownMonth } from "../../lib/month.ts";
import { html } from "../../lib/html.ts";
import type { Html, HtmlValue } from "../../lib/html.ts";
import { month } from "../format.ts";
import { TO_NEWEST } from "../months.ts";
import type { MonthParameters, ShownRange } from "../months.ts";
import type { PageCall, PageParameters } from "../page.ts";
import { problemSummary, wrongOf } from "./field-errors.ts";

type Query = Readonly<Record<string, string>>;

/** One part of a filter form. */
export type Filter = {
  name: string;
  /** `wrong`: the API's sentence about its value; null = nothing. */
  markup: (wrong: string | null) => Html;
};

/**
 * C6: filters are a GET form with one button; what is shown is always what the form says. `kept` travels unseen. Sentences
 * with which the API refused the query stand above the form, and beside the fields they name.
 */
export function filterForm(
  call: PageCall,
  path: string,
  kept: PageParameters,
  parts: readonly (Filter | readonly Filter[])[],
): Html {
  const fields = parts.flat();
  return html`${problemSummary(call, path, fields)}
    <form class="filters" action="${call.href(path)}" method="get">
      ${Object.entries(kept).map(
        ([name, value]) =>
          value !== undefined && html`<input type="hidden" name="${name}" value="${String(value)}" />`,
      )}${fields.map(({ name, markup }) => markup(wrongOf(call, name)))}<button>Show</button>
    </form>`;
}

/** A control with its label and, where its value was refused, the sentence that describes it. */
function labelled(name: string, label: string, control: (wrongId: string | null) => Html): Filter {
  return {
    name,
    markup: (wrong) => {
      const id = `${name}-wrong`;
      return html`<div class="field">
        <label for="${name}">${label}</label>${control(wrong === null ? null : id)}${
          wrong !== null && html`<span class="wrong" id="${id}">${wrong}</span>`
        }
      </div>`;
    },
  };
}

export function monthFields({ start_month, end_month }: MonthParameters): Filter[] {
  return [
    monthField("start_month", "First month of orders", start_month),
    monthField("end_month", "Last month of orders", end_month),
  ];
}

/** A refused month is shown as text: a month input would hide what it cannot read. */
function monthField(name: string, label: string, value: string): Filter {
  return labelled(
    name,
    label,
    (wrongId) =>
      html`<input
        type="${wrongId === null ? "month" : "text"}"
        id="${name}"
        name="${name}"
        value="${value}"
        required
        pattern="[0-9]{4}-[0-9]{2}"
        placeholder="2026-01"
        ${wrongId !== null && html` aria-invalid="true" aria-describedby="${wrongId}"`}
      />`,
  );
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

/** A value that is not among the options is kept as one of its own, so that the form says what was asked. */
export function selectField(
  name: string,
  label: string,
  current: string,
  options: readonly (readonly [value: string, text: string])[],
): Filter {
  const own = options.some(([value]) => value === current) ? [] : [[current, current] as const];
  return labelled(
    name,
    label,
    (wrongId) =>
      html`<select id="${name}" name="${name}" ${wrongId !== null && html` aria-invalid="true" aria-describedby="${wrongId}"`}>
        ${[...options, ...own].map(
          ([value, text]) =>
            html`<option value="${value}" ${value === current && html` selected`}>${text}</option>`,
        )}
      </select>`,
  );
}

export function textField(
  name: string,
  label: string,
  value: string | undefined,
  type: "text" | "search" | "decimal" | "date" = "text",
): Filter {
  return labelled(
    name,
    label,
    (wrongId) =>
      html`<input
        type="${type === "decimal" || wrongId !== null ? "text" : type}"
        id="${name}"
        name="${name}"
        value="${value ?? ""}"
        ${type === "decimal" && html` inputmode="decimal"`}
        ${wrongId !== null && html` aria-invalid="true" aria-describedby="${wrongId}"`}
      />`,
  );
}

/** Ticked, it takes the months on to the newest, unless the query asks for open months of its own range. */
export function openMonthsField(query: Query): Filter {
  const value = query["include_incomplete"] === "true" ? "true" : TO_NEWEST;
  return checkField("include_incomplete", "Include open months", query, value);
}

export function checkField(name: string, label: string, query: Query, value = "true"): Filter {
  return {
    name,
    markup: (wrong) =>
      html`<div class="check">
        <input
          type="checkbox"
          id="${name}"
          name="${name}"
          value="${value}"
          ${query[name] === value && html` checked`}
        /><label for="${name}">${label}</label>${wrong !== null && html` <span class="wrong">${wrong}</span>`}
      </div>`,
  };
}

/** What changes the view, behind a summary on phones, where the figures come first. */
export function filterBox(content: HtmlValue): Html {
  return html`<details class="filter-box">
    <summary>Months and filters</summary>
    ${content}
  </details>`;
}

/** `null`: the one month by its name. */
const PRESETS = [
  [1, null],
  [3, "3 months"],
  [6, "6 months"],
  [12, "12 months"],
  [24, "24 months"],
] as const;

/**
 * Ranges of months as links: the newest twelve complete months, alone or with the open ones, which roll, and fixed ones that
 * end with the last month shown.
 */
export function presets(
  call: PageCall,
  path: string,
  kept: PageParameters,
  shown: ShownRange,
  isPinned: boolean,
): Html {
  const last = knownMonth(shown.end_month);
  const links = PRESETS.map(([months, text]) => {
    const range = { ...shown, start_month: monthToText(Math.max(last - months + 1, 12)) };
    const isCurrent = isPinned && range.start_month === shown.start_month;
    return html`<li>
      <a href="${call.href(path, { ...kept, ...range })}" ${isCurrent && html` aria-current="true"`}
        >${text === null ? html`${month(shown.end_month)} only` : html`${text} to ${month(shown.end_month)}`}</a
      >
    </li>`;
  });
  const isOpen = shown.include_incomplete !== undefined;
  const newest = html`<li>
      <a
        href="${call.href(path, { ...kept, include_incomplete: undefined })}"
        ${!isPinned && !isOpen && html` aria-current="true"`}
        >Newest 12 complete months</a
      >
    </li>
    <li>
      <a
        href="${call.href(path, { ...kept, include_incomplete: TO_NEWEST })}"
        ${!isPinned && isOpen && html` aria-current="true"`}
        >With open months</a
      >
    </li>`;
  const pin = html`<li><a href="${call.href(path, { ...kept, ...shown })}">Pin these months</a></li>`;
  return html`<ul class="presets" aria-label="Months">
    ${newest}${links}${!isPinned && pin}
  </ul>`;
}
