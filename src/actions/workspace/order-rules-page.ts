import { readSettings } from "../right.ts";
import { createWorkspaceQueue, WorkspaceBusy } from "../../access/workspace-queue.ts";
import { drawField, EARLIER, earlierText, formOf } from "../../console/action-form.ts";
import type { Format } from "../../console/figure.ts";
import { count, month, percent, units } from "../../console/format.ts";
import { definePage, type PageCall } from "../../console/page.ts";
import { refusal } from "../../console/views/form.ts";
import { dataTable } from "../../console/views/table.ts";
import { ApiError, invalidParameters } from "../../contract/errors.ts";
import { Refusal } from "../refusal.ts";
import { html, type Html } from "../../lib/html.ts";
import type { LeftOut } from "../../metrics/order-rules.ts";
import { readInput, textInput, type Field, type InputOf } from "../field.ts";
import { mayDo } from "../right.ts";
import { changedRules, previewRules, RULE_NAMES, setRules, showRules, writtenRules } from "./order-rules.ts";
import type { RulesFigures, RulesPreview } from "./order-rules.ts";

const PATH = "/settings/orders";
const TITLE = "Which orders count";
const RULES: readonly [name: string, field: Field<unknown>][] = Object.entries(setRules.input);

/** Each holds one of the console's connections for some seconds, and most of them are for everybody else. */
const inTurn = createWorkspaceQueue({ places: 2, mostPerWorkspace: 1, longestWaitMs: 3000 });
const BUSY = new ApiError(
  "rate_limited",
  "A preview is already being computed. Try again when it has finished.",
  { retryAfterSeconds: 5 },
);

type Data = {
  /** By name: saved values, overridden by the query. */
  values: Record<string, string>;
  saved: Record<string, string>;
  isApplied: boolean;
  /** undefined: not requested; null: nothing to show. */
  preview: RulesPreview | null | undefined;
};

/** The rules by which orders count, and what others would change. */
const orderRules = definePage<Data>({
  name: "order-rules",
  path: PATH,
  right: readSettings,
  link: TITLE,
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
    const wanted = changedRules(readQuery(given, now), saved);
    const preview = await inTurn(workspace.shop_key, () => previewRules(caller, wanted)).catch(
      (error: unknown) => {
        throw error instanceof WorkspaceBusy ? BUSY : error;
      },
    );
    return { values: writtenRules(wanted), saved: writtenRules(saved), isApplied, preview };
  },
  view: (data, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${LEAD} ${!data.isApplied && html`<p class="banner" role="status">The figures do not reflect these rules yet: a worker is recomputing the affected orders.</p>`}
      ${data.preview !== undefined && shown(data.preview)}
      ${mayDo(call.role, setRules) ? form(call, data, data.preview !== undefined) : listed(data.values)}`,
  }),
  refused: (call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      <p class="banner refused" role="alert" tabindex="-1" autofocus>
        ${call.problems.map(({ sentence }) => `${sentence} `)}
      </p>
      ${mayDo(call.role, setRules) && form(call, { values: givenOf(call), saved: {} }, false)}`,
  }),
});

const LEAD = html`<p class="lead">
  An order that is left out counts neither as sold nor as returned. Test orders and canceled ones never count.
  Rules need the tags, channels and payments that Shopify sends with orders: in imported files only the rule
  about refunds has an effect.
</p>`;

export const RULE_PAGES = [orderRules] as const;

export const RULE_FORMS = [
  formOf(setRules, {
    path: PATH,
    page: orderRules,
    current: async ({ caller }) => {
      const { database, workspace } = await caller();
      return writtenRules((await showRules(database, workspace)).rules);
    },
  }),
];

function givenOf({ query }: PageCall): Record<string, string> {
  return Object.fromEntries(
    RULE_NAMES.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])),
  );
}

function readQuery(given: Record<string, string>, now: Date): InputOf<typeof setRules.input> {
  try {
    return readInput(setRules.input, textInput(given), now);
  } catch (error) {
    throw error instanceof Refusal ? invalidParameters(error.problems) : error;
  }
}

/** Enter presses the first button, which only shows. */
function form(call: PageCall, { values, saved }: Pick<Data, "values" | "saved">, hasSave: boolean): Html {
  const canBeSaved = hasSave || call.refusedForm !== null;
  return html`<h2>Rules</h2>
    ${refusal(call, setRules.name)}
    <form method="post" action="${call.href(PATH)}">
      ${RULES.map(([name, field]) => drawField(call, setRules.name, name, field, values[name] ?? ""))}
      <div class="actions">
        <button class="${canBeSaved ? "quiet" : ""}" formmethod="get">Preview changes</button>
        ${canBeSaved && html`<button name="${EARLIER}" value="${earlierText(saved)}">${setRules.title}</button>`}
      </div>
    </form>`;
}

function listed(values: Record<string, string>): Html {
  return dataTable(
    "Rules",
    [{ text: "Rule" }, { text: "Value" }],
    RULES.map(([name, { label, choices }]) => {
      const value = values[name] ?? "";
      return [
        html`${label}`,
        html`${choices?.find(([each]) => each === value)?.[1] ?? (value === "" ? "none" : value)}`,
      ];
    }),
  );
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

function shown(preview: RulesPreview | null): Html {
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

/** A figure that the API gives only once the rules are saved and applied. */
function previewed<Value extends number>(name: string, value: Value, format: Format<Value>): Html {
  return html`<data value="${String(value)}" data-preview="${name}">${format(value)}</data>`;
}
