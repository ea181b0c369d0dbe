import { invalidParameters } from "../../contract/errors.ts";
import type { Problem } from "../../contract/errors.ts";
import type { Acting } from "../../control/acting.ts";
import { Refusal } from "../../control/refusal.ts";
import { hasRight } from "../../control/rights.ts";
import { previewWindows } from "../../control/window-preview.ts";
import type { WindowPreview } from "../../control/window-preview.ts";
import { readMinSoldUnits, readWindowDays, setWorkspace } from "../../control/workspace-settings.ts";
import type { WindowSettings } from "../../control/workspace-settings.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { Action } from "../action.ts";
import type { ApiAnswer } from "../figure.ts";
import { units } from "../format.ts";
import { definePage } from "../page.ts";
import type { BodyOf, PageCall } from "../page.ts";
import { rows } from "../views/facts.ts";
import { refusal, textField } from "../views/form.ts";
import { compared } from "../views/settings/windows.ts";

const PATH = "/settings/windows";
const TITLE = "Return window and threshold";
const LINK = "Return window";
const ACTION = "windows.set";
const NAMES = ["primary_window_days", "min_sold_units"] as const;

/** What the API says today of the newest twelve complete months; null = it withholds figures. */
export type Today = {
  ranking: ApiAnswer<BodyOf<"return-rate-leaderboard">>;
  /** null = no month is complete. */
  summary: ApiAnswer<BodyOf<"summary">> | null;
} | null;

type Data = {
  workspace: Acting["workspace"];
  today: Today;
  /** null = nothing else is asked for, or there is nothing to show of it. */
  preview: WindowPreview | null;
};

/** The return window and the threshold of rankings: what they are, and what others would change. */
export const windows = definePage<Data>({
  name: "windows",
  path: PATH,
  right: "settings.read",
  link: LINK,
  takes: NAMES,
  about: async ({ primaryWindowDays, minSoldUnits }) =>
    `A return counts within ${primaryWindowDays} days of the order. A SKU is ranked from ${units(minSoldUnits) as string} sold on.`,
  data: async (call) => {
    const acting = await call.acting();
    const wanted = wantedOf(call);
    return {
      workspace: acting.workspace,
      today: await todayOf(call, acting),
      preview:
        wanted === null ? null : await previewWindows(acting.database, acting.actor, acting.admitted, wanted),
    };
  },
  view: (data, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${LEAD} ${withheldNote(data)} ${data.today !== null && compared(data.today, data.preview, call)}
      ${hasRight(call.role, ACTION) && form(call, canSave(data))} ${operatorsPart(data)}`,
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

const LEAD = html`<p class="lead">
  A return counts when the unit comes back within the return window, and a month is complete once each of its
  orders has had that long. A change counts from the next page and the next API request on: nothing has to be
  recomputed first.
</p>`;

export const windowsActions: readonly Action[] = [
  {
    name: ACTION,
    path: PATH,
    right: ACTION,
    page: windows,
    perform: async ({ form: sent, href, acting }) => {
      const { database, actor, workspace } = await acting();
      const settings = new Map(NAMES.map((name) => [name, sent.get(name) ?? ""]));
      const saved = await setWorkspace(database, actor, workspace, settings);
      const { primary_window_days: windowDays, min_sold_units: minSoldUnits } = saved;
      return {
        href: href(PATH),
        done: `Saved. From the next page and the next API request on, a return counts within ${windowDays} days of the order, and a SKU is ranked from ${units(minSoldUnits) as string} sold on.`,
      };
    },
  },
];

/** The settings that the query asks to be shown; null = none. Throws `ApiError` for values that cannot be saved. */
function wantedOf({ query, role, primaryWindowDays, minSoldUnits }: PageCall): WindowSettings | null {
  if (!NAMES.some((name) => query[name] !== undefined) || !hasRight(role, ACTION)) return null;
  const problems: Problem[] = [];
  const read = (name: (typeof NAMES)[number], current: number, reader: (text: string) => number): number => {
    const given = query[name];
    if (given === undefined) return current;
    try {
      return reader(given);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      problems.push({ name, sentence: error.message });
      return current;
    }
  };
  const wanted = {
    primaryWindowDays: read("primary_window_days", primaryWindowDays, readWindowDays),
    minSoldUnits: read("min_sold_units", minSoldUnits, readMinSoldUnits),
  };
  if (problems.length > 0) throw invalidParameters(problems);
  return wanted;
}

function isServed({ billing, readiness }: Acting["workspace"]): boolean {
  return billing === "active" && readiness === "ready";
}

async function todayOf(call: PageCall, { workspace }: Acting): Promise<Today> {
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
    Figures are withheld while ${why}, so nothing can be shown of what another window would change. It can be
    saved all the same.
  </p>`;
}

/** Once it is shown what would change, or where there is nothing to show. */
function canSave({ today, preview }: Data): boolean {
  return preview !== null || today === null || today.summary === null;
}

/** Enter presses the first button, which only shows. The second one stands there once there is something to save. */
function form(call: PageCall, hasSave: boolean): Html {
  const { query, href, primaryWindowDays, minSoldUnits, refusedForm } = call;
  const canBeSaved = hasSave || refusedForm !== null;
  return html`<h2>Try other values</h2>
    ${refusal(call, ACTION)}
    <form method="post" action="${href(PATH)}">
      ${textField(call, ACTION, {
        name: "primary_window_days",
        label: "Return window, in days after the order",
        hint: "1 to 365. The API calls it primary_window_days.",
        type: "number",
        value: query["primary_window_days"] ?? String(primaryWindowDays),
      })}
      ${textField(call, ACTION, {
        name: "min_sold_units",
        label: "Least sold units of a SKU in a ranking",
        hint: "0 or more: of fewer units, a rate says little. The API calls it min_sold_units.",
        type: "number",
        value: query["min_sold_units"] ?? String(minSoldUnits),
      })}
      <div class="actions">
        <button class="${canBeSaved ? "quiet" : ""}" formmethod="get">Show what would change</button>
        ${canBeSaved && html`<button>Save</button>`}
      </div>
    </form>`;
}

/** What only whoever runs the installation can change. */
function operatorsPart({ workspace }: Data): Html {
  const { billing, readiness, visible_card_size: cardSize } = workspace;
  return html`<h2>Set by whoever runs this installation</h2>
    ${rows([
      {
        name: "Rows of a ranking",
        value: `${cardSize}`,
        note: "How many rows a plan without full leaderboards shows.",
      },
      { name: "Billing", value: billing, note: "While it is inactive, no figures are given." },
      {
        name: "State of the data",
        value: READINESS_TEXTS[readiness] ?? readiness,
        note: "It follows the imports and the connection of the store.",
      },
    ])}`;
}

const READINESS_TEXTS: Readonly<Record<string, string>> = {
  ready: "ready",
  installing: "no data yet",
  backfilling: "the order history is being fetched",
  reconnecting: "the store refuses access",
};
