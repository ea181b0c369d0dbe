import { createWorkspaceQueue, WorkspaceBusy } from "../../access/workspace-queue.ts";
import {
  buttonFor,
  drawField,
  EARLIER,
  earlierText,
  formOf,
  type Current,
} from "../../console/action-form.ts";
import { figure, type ApiAnswer, type Format } from "../../console/figure.ts";
import { count, days, month, percent, units } from "../../console/format.ts";
import { definePage, type BodyOf, type PageCall, type View } from "../../console/page.ts";
import { rows, dataTable, tableOf } from "../../console/views/blocks.ts";
import { refusal, textField, boxes } from "../../console/views/form.ts";
import { invalidParameters, ApiError } from "../../contract/errors.ts";
import { REASON_GROUP_WORDS } from "../../contract/report-sections.ts";
import { html, type Html, type HtmlValue } from "../../lib/html.ts";
import { monthToText, dayOfInstant, monthOfDay } from "../../lib/month.ts";
import { leaderboardMonths } from "../../metrics/completeness.ts";
import { folded, type LeftOut } from "../../metrics/order-rules.ts";
import { rate } from "../../metrics/rate.ts";
import { groupsByReason, proposedGroup, REASON_GROUPS } from "../../metrics/reason-groups.ts";
import type { ReasonGroup } from "../../metrics/reason-groups.ts";
import { loadCohort } from "../../store/queries/cohort.ts";
import { findReasonGroups } from "../../store/queries/fit.ts";
import { loadReturnRates } from "../../store/queries/return-rate-leaderboard.ts";
import type { Selection } from "../../store/queries/selection.ts";
import { loadWorkspace } from "../../store/queries/workspace-load.ts";
import type { ConsoleCaller } from "../action.ts";
import { readInput, textInput, type Field, type Fields, type InputOf } from "../field.ts";
import { Refusal } from "../refusal.ts";
import { mayDo, readSettings, requireRight } from "../right.ts";
import { changedRules, previewRules, RULE_NAMES, setRules, showRules, writtenRules } from "./order-rules.ts";
import type { RulesFigures, RulesPreview } from "./order-rules.ts";
import { listStatedReasons } from "./queries.ts";
import { LONGEST_REASON, setReasons, setWindows } from "./settings.ts";

const WINDOWS_TITLE = "Return window and threshold";
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

type WindowsData = {
  workspace: ConsoleCaller["workspace"];
  today: Today;
  /** null: no change requested, or nothing to show. */
  preview: WindowPreview | null;
};

/** The return window and the threshold of rankings: current values, and the effect of others. */
export const windows = definePage<WindowsData>({
  name: "windows",
  path: "/settings/windows",
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
    title: WINDOWS_TITLE,
    body: html`<h1>${WINDOWS_TITLE}</h1>
      ${WINDOWS_LEAD} ${withheldNote(data)} ${data.today !== null && compared(data.today, data.preview, call)}
      ${mayDo(call.role, setWindows) ? windowsForm(call, canSave(data)) : refusal(call, setWindows.name)}
      ${operatorsPart(data)}`,
  }),
  refused: (call) => refusedView(WINDOWS_TITLE, call, windowsForm(call, false)),
  forms: [formOf(setWindows, { current: currentOf })],
});

function currentOf({ primaryWindowDays, minSoldUnits }: PageCall) {
  return { primary_window_days: primaryWindowDays, min_sold_units: minSoldUnits };
}

const WINDOWS_LEAD = html`<p class="lead">
  A return counts when the unit comes back within the return window, and a month is complete once each of its
  orders has had that long. A change applies at once: nothing has to be recomputed first.
</p>`;

/** The settings that the query asks to be shown; null = none. */
function wantedOf(
  { query, role, primaryWindowDays, minSoldUnits }: PageCall,
  now: Date,
): WindowSettings | null {
  if (!NAMES.some((name) => query[name] !== undefined) || !mayDo(role, setWindows)) return null;
  const { primary_window_days = String(primaryWindowDays), min_sold_units = String(minSoldUnits) } = query;
  return readWanted(FIELDS, { primary_window_days, min_sold_units }, now);
}

/** What a query asks to be shown, as its action reads it. Throws `ApiError` for values that cannot be saved. */
function readWanted<Inputs extends Fields>(
  fields: Inputs,
  given: Record<string, string>,
  now: Date,
): InputOf<Inputs> {
  try {
    return readInput(fields, textInput(given), now);
  } catch (error) {
    throw error instanceof Refusal ? invalidParameters(error.problems) : error;
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

function withheldNote({ workspace }: WindowsData): Html | null {
  if (isServed(workspace)) return null;
  const why = workspace.billing === "active" ? "the workspace is not ready" : "billing is not active";
  return html`<p class="banner">
    Figures are withheld while ${why}, so the effect of another window cannot be previewed. You can still save
    it.
  </p>`;
}

/** After the effect has been shown, or if there is none to show. */
function canSave({ today, preview }: WindowsData): boolean {
  return preview !== null || today === null || today.summary === null;
}

function windowsForm(call: PageCall, hasSave: boolean): Html {
  const { query, primaryWindowDays, minSoldUnits } = call;
  const field = (name: (typeof NAMES)[number], current: number): Html => {
    const { label, hint = "" } = FIELDS[name];
    const value = query[name] ?? String(current);
    return textField(call, setWindows.name, { name, label, hint, type: "number", value });
  };
  return html`<h2>Try other values</h2>
    ${previewForm(call, setWindows, {
      fields: html`${field("primary_window_days", primaryWindowDays)} ${field("min_sold_units", minSoldUnits)}`,
      current: currentOf(call),
      hasSave,
    })}`;
}

function refusedView(title: string, call: PageCall, form: HtmlValue): View {
  return {
    title,
    body: html`<h1>${title}</h1>
      <p class="banner refused" role="alert" tabindex="-1" autofocus>
        ${call.problems.map(({ sentence }) => `${sentence} `)}
      </p>
      ${form}`,
  };
}

/** Enter presses the first button, which only previews. The second appears when there is a change to save. */
function previewForm(
  call: PageCall,
  { name, title }: { name: string; title: string },
  { fields, current, hasSave }: { fields: HtmlValue; current: Current; hasSave: boolean },
): Html {
  const canBeSaved = hasSave || call.refusedForm !== null;
  return html`${refusal(call, name)}
    <form method="post" action="${call.href(call.page.path)}">
      ${fields}
      <div class="actions">
        <button class="${canBeSaved ? "quiet" : ""}" formmethod="get">Preview changes</button>
        ${canBeSaved && html`<button name="${EARLIER}" value="${earlierText(current)}">${title}</button>`}
      </div>
    </form>`;
}

/** Settings that only an operator can change. */
function operatorsPart({ workspace }: WindowsData): Html {
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
  const list: [name: string, now: Html, saved: (preview: WindowPreview) => Html][] = [
    [
      "Return window",
      html`${days(primaryWindowDays)}`,
      (wanted) => previewed("primary_window_days", wanted.windowDays, days),
    ],
    [
      "Newest complete month",
      figure(ranking, "meta/complete_through", month),
      (wanted) => previewed("complete_through", wanted.endMonth, month),
    ],
    [
      "Return rate of the 12 months up to it",
      html`<strong>${shownRate}</strong> <small>${of}</small>`,
      (wanted) =>
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
    ],
    [
      "SKUs that are ranked",
      html`${figure(ranking, "total_eligible_count", count)}
        <small>with ${figure(ranking, "min_sold_units", units)} sold or more</small>`,
      (wanted) =>
        html`${previewed("total_eligible_count", wanted.rankedSkus, count)}
          <small>with ${previewed("min_sold_units", wanted.minSoldUnits, units)} sold or more</small>`,
    ],
  ];
  const columns = [{ text: "Result" }, { text: "Now" }, ...(preview === null ? [] : [{ text: "If saved" }])];
  return dataTable(
    preview === null ? "Results of these settings" : "Results of these settings, and of the new ones",
    columns,
    list.map(([name, now, saved]) => [html`${name}`, now, ...(preview === null ? [] : [saved(preview)])]),
  );
}

/** A figure that the API gives only once the settings are saved. */
function previewed<Value extends number | string>(name: string, value: Value, format: Format<Value>): Html {
  return html`<data value="${String(value)}" data-preview="${name}">${format(value)}</data>`;
}

const RULES_TITLE = "Which orders count";
const RULES: readonly [name: string, field: Field<unknown>][] = Object.entries(setRules.input);

/** Each holds one of the console's connections for some seconds, and most of them are for everybody else. */
const inTurn = createWorkspaceQueue({ places: 2, mostPerWorkspace: 1, longestWaitMs: 3000 });
const BUSY = new ApiError(
  "rate_limited",
  "A preview is already being computed. Try again when it has finished.",
  { retryAfterSeconds: 5 },
);

type RulesData = {
  /** By name: saved values, overridden by the query. */
  values: Record<string, string>;
  saved: Record<string, string>;
  isApplied: boolean;
  /** undefined: not requested; null: nothing to show. */
  preview: RulesPreview | null | undefined;
};

/** The rules by which orders count, and what others would change. */
export const orderRules = definePage<RulesData>({
  name: "order-rules",
  path: "/settings/orders",
  right: readSettings,
  link: RULES_TITLE,
  takes: RULE_NAMES,
  about: async () =>
    "Exchange orders of other apps, free and unpaid orders, and the channels and tags that are left out.",
  data: async (call) => {
    const caller = await call.caller();
    const { database, workspace, now } = caller;
    const { rules: saved, isApplied } = await showRules(database, workspace);
    const given = givenOf(call);
    if (Object.keys(given).length === 0 || !mayDo(call.role, setRules)) {
      return { values: writtenRules(saved), saved: writtenRules(saved), isApplied, preview: undefined };
    }
    const wanted = changedRules(readWanted(setRules.input, given, now), saved);
    const preview = await inTurn(workspace.shop_key, () => previewRules(caller, wanted)).catch(
      (error: unknown) => {
        throw error instanceof WorkspaceBusy ? BUSY : error;
      },
    );
    return { values: writtenRules(wanted), saved: writtenRules(saved), isApplied, preview };
  },
  view: (data, call) => ({
    title: RULES_TITLE,
    body: html`<h1>${RULES_TITLE}</h1>
      ${RULES_LEAD} ${!data.isApplied && html`<p class="banner" role="status">The figures do not reflect these rules yet: a worker is recomputing the affected orders.</p>`}
      ${data.preview !== undefined && comparedRules(data.preview)}
      ${mayDo(call.role, setRules) ? rulesForm(call, data, data.preview !== undefined) : listed(data.values)}`,
  }),
  refused: (call) =>
    refusedView(
      RULES_TITLE,
      call,
      mayDo(call.role, setRules) && rulesForm(call, { values: givenOf(call), saved: {} }, false),
    ),
  forms: [
    formOf(setRules, {
      current: async ({ caller }) => {
        const { database, workspace } = await caller();
        return writtenRules((await showRules(database, workspace)).rules);
      },
    }),
  ],
});

const RULES_LEAD = html`<p class="lead">
  An order that is left out counts neither as sold nor as returned. Test orders and canceled ones never count.
  Rules need the tags, channels and payments that Shopify sends with orders: in imported files only the rule
  about refunds has an effect.
</p>`;

function givenOf({ query }: PageCall): Record<string, string> {
  return Object.fromEntries(
    RULE_NAMES.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])),
  );
}

function rulesForm(
  call: PageCall,
  { values, saved }: Pick<RulesData, "values" | "saved">,
  hasSave: boolean,
): Html {
  const fields = RULES.map(([name, field]) =>
    drawField(call, setRules.name, name, field, values[name] ?? ""),
  );
  return html`<h2>Rules</h2>
    ${previewForm(call, setRules, { fields, current: saved, hasSave })}`;
}

function listed(values: Record<string, string>): Html {
  const textOf = (value: string, { choices }: Field<unknown>): string =>
    choices?.find(([each]) => each === value)?.[1] ?? (value === "" ? "none" : value);
  return tableOf("Rules", RULES, [
    ["Rule", ([, { label }]) => label],
    ["Value", ([name, field]) => textOf(values[name] ?? "", field)],
  ]);
}

const LEFT_OUT_WORDS: Readonly<Record<LeftOut, string>> = {
  exchange: "Exchange orders of other apps, left out",
  free_drafts: "Free draft orders, left out",
  free_orders: "Other free orders, left out",
  unpaid: "Orders not paid in full, left out",
  voided: "Orders whose payment was voided, left out",
  channel: "Orders of channels, left out",
  tag: "Orders with tags, left out",
};

function comparedRules(preview: RulesPreview | null): Html {
  if (preview === null) {
    return html`<p class="banner">
      Figures are withheld, or no month is complete yet, so the effect of these rules cannot be previewed. You
      can still save them.
    </p>`;
  }
  const { now, saved, startMonth, endMonth, isWhole } = preview;
  const row = <Value extends number>(
    text: string,
    name: string,
    [valueOf, format]: readonly [of: (figures: RulesFigures) => Value, format: Format<Value>],
  ): Html[] => [
    html`${text}`,
    previewed(`${name}_now`, valueOf(now), format),
    previewed(name, valueOf(saved), format),
  ];
  const kinds = Object.entries(LEFT_OUT_WORDS) as [LeftOut, string][];
  return html`${dataTable(
    `Results of the rules, ${month(startMonth) as string} to ${month(endMonth) as string}`,
    [{ text: "Newest 12 complete months" }, { text: "Now" }, { text: "If saved" }],
    [
      row("Return rate", "return_rate", [(figures) => figures.returnRate, percent]),
      row("Units sold", "sold_units", [(figures) => figures.soldUnits, units]),
      row("Units returned", "returned_units", [(figures) => figures.returnedUnits, count]),
      ...kinds.map(([by, text]) =>
        row(text, `left_out_${by}`, [(figures) => figures.leftOutOrders[by], count]),
      ),
    ],
  )}
  ${!isWhole && html`<p class="banner">These rules affect more orders than are counted here: the column “If saved” counts only the first 20,000 of them. Saving applies the rules to all.</p>`}`;
}

const REASONS_TITLE = "Return reasons";
const MONTHS = 12;

type ReasonRow = {
  reason: string;
  returnedUnits: number;
  group: ReasonGroup;
  /** The note for a reason without a saved group. */
  note: "" | "proposed" | "in no group";
};

/** Which group each of the workspace's reasons belongs to (M22). */
export const reasons = definePage<readonly ReasonRow[]>({
  name: "reasons",
  path: "/settings/reasons",
  right: readSettings,
  link: REASONS_TITLE,
  about: async () => "Which return reasons mean “too small”, “damaged” and so on.",
  data: async (call) => {
    const { database, workspace, now } = await call.caller();
    const { shop_key: shopKey, data_as_of: asOf } = workspace;
    const firstMonth = monthOfDay(dayOfInstant((asOf ?? now).getTime())) - (MONTHS - 1);
    const stored = new Map(Object.entries((await findReasonGroups(database, shopKey)) ?? {}));
    const known = groupsByReason({});
    const stated = await listStatedReasons(database, shopKey, { month: firstMonth, longest: LONGEST_REASON });
    return stated.map(({ reason, returned_units: returnedUnits }) => {
      const certain = (stored.get(folded(reason)) as ReasonGroup | undefined) ?? known.get(folded(reason));
      if (certain !== undefined) return { reason, returnedUnits, group: certain, note: "" };
      const group = proposedGroup(reason);
      return {
        reason,
        returnedUnits,
        group: group ?? "other",
        note: group === null ? "in no group" : "proposed",
      };
    });
  },
  view: (list, call) => ({
    title: REASONS_TITLE,
    body: html`<h1>${REASONS_TITLE}</h1>
      ${REASONS_LEAD} ${list.length === 0 ? html`<p>No return of these months has a reason.</p>` : reasonsPart(list, call)}`,
  }),
  forms: [formOf(setReasons)],
});

const REASONS_LEAD = html`<p class="lead">
  The reasons of its returns show whether a product runs small. Below are the reasons of the last
  ${MONTHS} months of orders. A proposed group counts only once you save it; until then the reason counts as other.
</p>`;

function reasonsPart(list: readonly ReasonRow[], call: PageCall): Html {
  const isOffered = mayDo(call.role, setReasons);
  const table = tableOf("Reasons and their groups", list, [
    ["Reason", ({ reason }) => reason],
    ["Units returned", ({ returnedUnits }) => count(returnedUnits), "number"],
    [
      "Group",
      (row) =>
        html`${isOffered ? select(row, call) : REASON_GROUP_WORDS[row.group]} ${row.note !== "" && html`<small>${row.note}</small>`}`,
    ],
  ]);
  if (!isOffered) return html`${refusal(call, setReasons.name)}${table}`;
  const [name, { label }] = ["reasons", setReasons.input.reasons];
  const fields = [boxes(call, setReasons.name, { name, legend: label }, [table])];
  return html`${refusal(call, setReasons.name)}${buttonFor(call, setReasons, {}, fields)}`;
}

/** A refused form keeps its selections. */
function select({ reason, group }: ReasonRow, { refusedForm }: PageCall): Html {
  const isRefused = refusedForm?.action === setReasons.name;
  const chosen = isRefused ? refusedForm.values.getAll("reasons") : [];
  const valueOf = (each: ReasonGroup): string => `${reason}=${each}`;
  const current = REASON_GROUPS.find((each) => chosen.includes(valueOf(each))) ?? group;
  return html`<select name="reasons" aria-label="Group of ${reason}" ${isRefused && html` aria-invalid="true"`}>
    ${REASON_GROUPS.map(
      (each) =>
        html`<option value="${valueOf(each)}" ${each === current && html` selected=""`}>
          ${REASON_GROUP_WORDS[each]}
        </option>`,
    )}
  </select>`;
}
