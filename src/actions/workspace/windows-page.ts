import { EARLIER, earlierText, formOf } from "../../console/action-form.ts";
import { figure, type ApiAnswer, type Format } from "../../console/figure.ts";
import { count, days, month, percent, units } from "../../console/format.ts";
import { definePage, type BodyOf, type PageCall } from "../../console/page.ts";
import { rows } from "../../console/views/blocks.ts";
import { refusal, textField } from "../../console/views/form.ts";
import { dataTable } from "../../console/views/table.ts";
import { invalidParameters } from "../../contract/errors.ts";
import type { ConsoleCaller } from "../action.ts";
import { Refusal } from "../refusal.ts";
import { html, type Html } from "../../lib/html.ts";
import { monthToText } from "../../lib/month.ts";
import { leaderboardMonths } from "../../metrics/completeness.ts";
import { rate } from "../../metrics/rate.ts";
import { loadCohort } from "../../store/queries/cohort.ts";
import { loadReturnRates } from "../../store/queries/return-rate-leaderboard.ts";
import type { Selection } from "../../store/queries/selection.ts";
import { loadWorkspace } from "../../store/queries/workspace-load.ts";
import { readInput, textInput, type InputOf } from "../field.ts";
import { mayDo, readSettings, requireRight } from "../right.ts";
import { setWindows } from "./settings.ts";

const PATH = "/settings/windows";
const TITLE = "Return window and threshold";
const FIELDS = setWindows.input;
const NAMES = ["primary_window_days", "min_sold_units"] as const;

type WindowSettings = InputOf<typeof FIELDS>;

/** The API's current figures for the newest twelve complete months; null: withheld. */
type Today = {
  ranking: ApiAnswer<BodyOf<"return-rate-leaderboard">>;
  /** null = no month is complete. */
  summary: ApiAnswer<BodyOf<"summary">> | null;
} | null;

/** The newest twelve complete months with the new settings. */
type WindowPreview = {
  windowDays: number;
  minSoldUnits: number;
  /** The newest complete month (M5), such as "2026-09". */
  endMonth: string;
  soldUnits: number;
  returnedUnits: number;
  /** M6, to 6 decimals. */
  returnRate: number;
  /** How many SKUs sold enough to be ranked (M12). */
  rankedSkus: number;
};

type Data = {
  workspace: ConsoleCaller["workspace"];
  today: Today;
  /** null: no change requested, or nothing to show. */
  preview: WindowPreview | null;
};

/** The return window and the threshold of rankings: current values, and the effect of others. */
const windows = definePage<Data>({
  name: "windows",
  path: PATH,
  right: readSettings,
  link: "Return window",
  takes: NAMES,
  about: async ({ primaryWindowDays, minSoldUnits }) =>
    `A return counts within ${primaryWindowDays} days of the order. A SKU needs at least ${units(minSoldUnits) as string} sold to be ranked.`,
  data: async (call) => {
    const caller = await call.caller();
    const wanted = wantedOf(call, caller.now);
    return {
      workspace: caller.workspace,
      today: await todayOf(call, caller),
      preview: wanted === null ? null : await previewOf(caller, wanted),
    };
  },
  view: (data, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${LEAD} ${withheldNote(data)} ${data.today !== null && compared(data.today, data.preview, call)}
      ${mayDo(call.role, setWindows) ? form(call, canSave(data)) : refusal(call, setWindows.name)}
      ${operatorsPart(data)}`,
  }),
  refused: (call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      <p class="banner refused" role="alert" tabindex="-1" autofocus>
        ${call.problems.map(({ sentence }) => `${sentence} `)}
      </p>
      ${form(call, false)}`,
  }),
});

export const WINDOW_PAGES = [windows] as const;

export const WINDOW_FORMS = [formOf(setWindows, { path: PATH, page: windows, current: currentOf })];

function currentOf({ primaryWindowDays, minSoldUnits }: PageCall) {
  return { primary_window_days: primaryWindowDays, min_sold_units: minSoldUnits };
}

const LEAD = html`<p class="lead">
  A return counts when the unit comes back within the return window, and a month is complete once each of its
  orders has had that long. A change applies at once: nothing has to be recomputed first.
</p>`;

/** The settings that the query asks to be shown; null = none. Throws `ApiError` for values that cannot be saved. */
function wantedOf(
  { query, role, primaryWindowDays, minSoldUnits }: PageCall,
  now: Date,
): WindowSettings | null {
  if (!NAMES.some((name) => query[name] !== undefined) || !mayDo(role, setWindows)) return null;
  const { primary_window_days = String(primaryWindowDays), min_sold_units = String(minSoldUnits) } = query;
  try {
    return readInput(FIELDS, textInput({ primary_window_days, min_sold_units }), now);
  } catch (error) {
    if (error instanceof Refusal) throw invalidParameters(error.problems);
    throw error;
  }
}

const WHOLE_STORE: Selection = { kind: "workspace", key: "", includeUsed: false, vendor: null };
const NO_FILTERS = { minSoldUnits: null, minReturnRate: null, vendor: null };

/**
 * The API's answers after saving `wanted`: `return_rate` of the summary of the newest twelve complete months, and months and
 * number of ranked SKUs of the return-rate leaderboard of a year. From one snapshot, with the statements of these two endpoints.
 * Null: figures are withheld as in the API, or no source was ever synced, so that no month is complete.
 */
async function previewOf(
  { database, actor, admitted }: ConsoleCaller,
  { primary_window_days: windowDays, min_sold_units: minSoldUnits }: WindowSettings,
): Promise<WindowPreview | null> {
  requireRight(actor, setWindows);
  return database.snapshot(admitted.shopKey, async (connection) => {
    const loaded = await loadWorkspace(connection, admitted);
    if (loaded === null || !loaded.isBillingActive || loaded.readiness !== "ready") return null;
    const { workspace } = loaded;
    const months = leaderboardMonths("year", windowDays, workspace.asOfDay);
    if (months === null) return null;
    const selection = WHOLE_STORE;
    const cohort = await loadCohort(connection, workspace, { selection, windowDays, ...months });
    const ranked = await loadReturnRates(connection, workspace, {
      selection,
      months,
      usualMonths: [],
      labelCostsIncluded: false,
      windowDays,
      minSoldUnits,
      filters: NO_FILTERS,
      cardSize: null,
      limit: 1,
    });
    const sum = (of: (row: (typeof cohort.months)[number]) => number): number =>
      cohort.months.reduce((total, row) => total + of(row), 0);
    const soldUnits = sum((row) => row.sold_units);
    const returnedUnits = sum((row) => row.returned_units);
    return {
      windowDays,
      minSoldUnits,
      endMonth: monthToText(months.endMonth),
      soldUnits,
      returnedUnits,
      returnRate: rate(returnedUnits, soldUnits),
      rankedSkus: ranked.eligible_count,
    };
  });
}

function isServed({ billing, readiness }: ConsoleCaller["workspace"]): boolean {
  return billing === "active" && readiness === "ready";
}

async function todayOf(call: PageCall, { workspace }: ConsoleCaller): Promise<Today> {
  if (!isServed(workspace)) return null;
  const ranking = await call.read("ranking", "return-rate-leaderboard", { period: "year", limit: 1 });
  const { start_month, end_month } = ranking.body.meta;
  const hasMonths = start_month !== undefined && end_month !== undefined;
  return {
    ranking,
    summary: hasMonths ? await call.read("summary", "summary", { start_month, end_month }) : null,
  };
}

function withheldNote({ workspace }: Data): Html | null {
  if (isServed(workspace)) return null;
  const why = workspace.billing === "active" ? "the workspace is not ready" : "billing is not active";
  return html`<p class="banner">
    Figures are withheld while ${why}, so the effect of another window cannot be previewed. You can still save
    it.
  </p>`;
}

/** After the effect has been shown, or if there is none to show. */
function canSave({ today, preview }: Data): boolean {
  return preview !== null || today === null || today.summary === null;
}

/** Enter presses the first button, which only previews. The second appears when there is a change to save. */
function form(call: PageCall, hasSave: boolean): Html {
  const { query, href, primaryWindowDays, minSoldUnits, refusedForm } = call;
  const canBeSaved = hasSave || refusedForm !== null;
  const field = (name: (typeof NAMES)[number], current: number): Html => {
    const { label, hint = "" } = FIELDS[name];
    const value = query[name] ?? String(current);
    return textField(call, setWindows.name, { name, label, hint, type: "number", value });
  };
  return html`<h2>Try other values</h2>
    ${refusal(call, setWindows.name)}
    <form method="post" action="${href(PATH)}">
      ${field("primary_window_days", primaryWindowDays)} ${field("min_sold_units", minSoldUnits)}
      <div class="actions">
        <button class="${canBeSaved ? "quiet" : ""}" formmethod="get">Preview changes</button>
        ${canBeSaved && html`<button name="${EARLIER}" value="${earlierText(currentOf(call))}">${setWindows.title}</button>`}
      </div>
    </form>`;
}

/** Settings that only an operator can change. */
function operatorsPart({ workspace }: Data): Html {
  const { billing, readiness, visible_card_size: cardSize } = workspace;
  return html`<h2>Set by the operator of this service</h2>
    ${rows([
      {
        name: "Rows of a ranking",
        value: `${cardSize}`,
        note: "How many rows a plan without full leaderboards shows.",
      },
      { name: "Billing", value: billing, note: "While it is inactive, no figures are shown." },
      {
        name: "State of the data",
        value: READINESS_TEXTS[readiness] ?? readiness,
        note: "It depends on the imports and the store’s connection.",
      },
    ])}`;
}

const READINESS_TEXTS: Readonly<Record<string, string>> = {
  ready: "ready",
  installing: "no data yet",
  backfilling: "the order history is being fetched",
  reconnecting: "the store refuses access",
};

type Row = { name: string; now: Html; saved: (preview: WindowPreview) => Html };

/** The figures with the current settings, next to those with the previewed ones. */
function compared(
  { ranking, summary }: Exclude<Today, null>,
  preview: WindowPreview | null,
  { primaryWindowDays }: PageCall,
): Html {
  if (summary === null) {
    return html`<p class="banner">No month is complete yet, so there are no figures to preview.</p>`;
  }
  const shownRate = figure(summary, "return_rate", percent);
  const of = html`${figure(summary, "returned_units", count)} of ${figure(summary, "sold_units", units)}`;
  const list: Row[] = [
    {
      name: "Return window",
      now: html`${days(primaryWindowDays)}`,
      saved: (wanted) => previewed("primary_window_days", wanted.windowDays, days),
    },
    {
      name: "Newest complete month",
      now: figure(ranking, "meta/complete_through", month),
      saved: (wanted) => previewed("complete_through", wanted.endMonth, month),
    },
    {
      name: "Return rate of the 12 months up to it",
      now: html`<strong>${shownRate}</strong> <small>${of}</small>`,
      saved: (wanted) =>
        html`<strong>${previewed("return_rate", wanted.returnRate, (value) =>
          percent(value, {
            return_rate: value,
            returned_units: wanted.returnedUnits,
            sold_units: wanted.soldUnits,
          }),
        )}</strong>
          <small
            >${previewed("returned_units", wanted.returnedUnits, count)} of
            ${previewed("sold_units", wanted.soldUnits, units)}</small
          >`,
    },
    {
      name: "SKUs that are ranked",
      now: html`${figure(ranking, "total_eligible_count", count)}
        <small>with ${figure(ranking, "min_sold_units", units)} sold or more</small>`,
      saved: (wanted) =>
        html`${previewed("total_eligible_count", wanted.rankedSkus, count)}
          <small>with ${previewed("min_sold_units", wanted.minSoldUnits, units)} sold or more</small>`,
    },
  ];
  const columns = [{ text: "Result" }, { text: "Now" }, ...(preview === null ? [] : [{ text: "If saved" }])];
  return dataTable(
    preview === null ? "Results of these settings" : "Results of these settings, and of the new ones",
    columns,
    list.map(({ name, now, saved }) => [html`${name}`, now, ...(preview === null ? [] : [saved(preview)])]),
  );
}

/** A figure that the API gives only once the settings are saved. */
function previewed<Value extends number | string>(name: string, value: Value, format: Format<Value>): Html {
  return html`<data value="${String(value)}" data-preview="${name}">${format(value)}</data>`;
}
