import { buttonFor, formOf, formFor, drawField } from "../../console/action-form.ts";
import { instant, isoInstant } from "../../console/format.ts";
import { definePage, type PageCall } from "../../console/page.ts";
import { codeToCopy, entries, rows, tableOf } from "../../console/views/blocks.ts";
import { refusal, textField } from "../../console/views/form.ts";
import { progress, type Progress } from "../../console/views/progress.ts";
import { ApiError } from "../../contract/errors.ts";
import { html, type Html } from "../../lib/html.ts";
import { keptRunsText } from "../../lib/retention.ts";
import { countsText, durationText, stageText } from "../../lib/run-text.ts";
import { readSources } from "../right.ts";
import { cancelBackfill, disconnectSource, requestSync, showSourceRuns, showSources } from "./actions.ts";
import type { RunPage, ShownSource, ShownSources } from "./actions.ts";
import { IMPORTS_PATH, sourcePath, SOURCES_PATH } from "../console-address.ts";
import type { Fields } from "../field.ts";
import {
  CONNECTION_INPUT,
  connectSource,
  listSources,
  mayNameAddress,
  optionFields,
  secretFields,
  shopField,
} from "./connect.ts";
import type { Source } from "./connect.ts";
import { hasApproval, linkSource } from "./install.ts";
import { SHOPIFY } from "../../sync/connectors/shopify/settings.ts";

const SOURCE_PATH = `${SOURCES_PATH}/:source`;

type ListData = ShownSources & { now: Date };

/** The workspace's data sources with their states, and the sources that can be connected. */
const sourcesPage = definePage<ListData>({
  name: "sources",
  path: SOURCES_PATH,
  right: readSources,
  link: "Sources",
  about: async (call) => {
    const { sources: all } = await loadSources(call);
    const used = all.filter(({ state }) => state !== "new");
    if (used.length === 0) return "No data sources yet.";
    return used.map((source) => `${source.title}: ${STATES[source.state].toLowerCase()}.`).join(" ");
  },
  data: loadSources,
  view: (data, call) => ({ title: "Sources", body: listBody(data, call) }),
});

type SourceData = { shown: ShownSource; hasWorker: boolean; history: RunPage; kept: string; now: Date };

/** One source: its state, its actions, and the history of its runs. */
const sourcePage = definePage<SourceData>({
  name: "source",
  path: SOURCE_PATH,
  right: readSources,
  takes: ["before"],
  data: async (call) => {
    const caller = await call.caller();
    const { now, retention } = caller;
    const { shown, hasWorker } = await readSource(call);
    const before = call.query["before"] ?? null;
    const history = await showSourceRuns(caller, { source: shown.source, before });
    return { shown, hasWorker, history, kept: keptRunsText(retention), now };
  },
  view: (data, call) => ({ title: data.shown.title, body: body(data, call) }),
  forms: [
    formOf(requestSync, {
      path: `${SOURCE_PATH}/sync`,
      follow: ({ done }, { href }) => ({ href: href(progressPage.path), done }),
    }),
    formOf(cancelBackfill, { path: `${SOURCE_PATH}/cancel` }),
    formOf(disconnectSource, {
      path: `${SOURCE_PATH}/disconnect`,
      texts: (name, form) => (name === "typed" ? [form.get("typed") ?? ""] : undefined),
      follow: ({ done }, { href }) => ({ href: href(SOURCES_PATH), done }),
    }),
  ],
});

type ProgressData = { shown: ShownSource; hasWorker: boolean; now: Date };

/** Progress of a source's run. A finished first backfill links to the overview, which then has figures. */
const progressPage = definePage<ProgressData>({
  name: "source-progress",
  path: `${SOURCE_PATH}/progress`,
  right: readSources,
  data: async (call) => {
    const { now } = await call.caller();
    return { ...(await readSource(call)), now };
  },
  view: ({ shown, hasWorker, now }, call) => {
    const job = jobOf(shown, call);
    const { title } = shown;
    return {
      title: `Progress of ${title}`,
      isRunning: job.endedAt === null,
      body: html`<p><a href="${call.href(sourcePath(shown.source))}">${title}</a></p>
        <h1>Reading ${title}</h1>
        ${workerMissing(hasWorker)} ${job.endedAt !== null && trouble(shown, call)} ${progress(job, now)}
        ${job.endedAt === null ? leave(shown) : ended(shown, call)}`,
    };
  },
});

async function loadSources(call: PageCall): Promise<ListData> {
  const caller = await call.caller();
  return { ...(await showSources(caller)), now: caller.now };
}

function listBody({ sources: all, has_worker: hasWorker, now }: ListData, call: PageCall): Html {
  const used = all.filter(({ state }) => state !== "new");
  const others = all.filter(({ state }) => state === "new");
  return html`<h1>Sources</h1>
    <p class="lead">Where orders, returns and label costs come from, and how current they are.</p>
    ${used.some(({ state }) => state !== "imported") && workerMissing(hasWorker)}
    ${used.length === 0 && html`<p>No data sources yet: connect a source below, or upload files.</p>`}
    ${used.map((source) => part(source, call, { hasWorker, now }))}
    <h2>Connect another source</h2>
    ${entries([
      ...others.map(({ source, title, kind }) => ({
        name: title,
        detail: kind === "store" ? "Orders, returns, refunds and products." : "What return labels cost.",
        actions: [html`<a href="${call.href(sourcePath(source, "/connect"))}">Connect ${title}</a>`],
      })),
      {
        name: "CSV or Parquet files",
        detail: "Anything else: orders, returns and label costs as files.",
        actions: [html`<a href="${call.href(IMPORTS_PATH)}">Upload files</a>`],
      },
    ])}`;
}

function part(
  source: ShownSource,
  call: PageCall,
  { hasWorker, now }: { hasWorker: boolean; now: Date },
): Html {
  const { title, state } = source;
  const isImported = state === "imported";
  return html`<section>
    <h2>
      ${isImported ? title : html`<a href="${call.href(sourcePath(source.source))}">${title}</a>`}
    </h2>
    ${trouble(source, call)}
    ${rows([
      { name: "State", value: STATES[source.state], note: source.account },
      { name: "Last success", value: lastSuccess(source) },
      ...(isImported ? [] : [{ name: "Next run", value: nextRun(source, hasWorker, now) }]),
    ])}
    ${state === "disconnected" && html`<p><a href="${call.href(sourcePath(source.source, "/connect"))}">Connect ${title} again</a></p>`}
  </section>`;
}

/** The connectable source that a path names; any other is no page. Throws an `ApiError`. */
async function readSource(call: PageCall): Promise<{ shown: ShownSource; hasWorker: boolean }> {
  const { sources, has_worker: hasWorker } = await showSources(await call.caller());
  const shown = sources.find((each) => each.source === call.path["source"] && each.state !== "imported");
  if (shown === undefined) throw new ApiError("not_found", "There is no such source.");
  return { shown, hasWorker };
}

function body({ shown, hasWorker, history, kept, now }: SourceData, call: PageCall): Html {
  const { title, state, source: name } = shown;
  return html`<p><a href="${call.href(SOURCES_PATH)}">All sources</a></p>
    <h1>${title}</h1>
    ${[requestSync, cancelBackfill].map(({ name: action }) => refusal(call, action))} ${workerMissing(hasWorker)}
    ${trouble(shown, call)}
    ${rows([
      { name: "State", value: STATES[shown.state], note: shown.account },
      { name: "Last success", value: lastSuccess(shown) },
      { name: "Next run", value: nextRun(shown, hasWorker, now) },
    ])}
    ${state === "new" || state === "disconnected" ? connectLink(shown, call) : doings(shown, call)}
    <section>
      <h2>Runs</h2>
      ${runsTable(title, history)} ${history.next === null && html`<p>${kept}</p>`}
      ${
        history.next !== null &&
        html`<p><a href="${call.href(sourcePath(name), { before: history.next })}">Older runs</a></p>`
      }
      ${quietTable(title, history)}
    </section>
    ${state !== "new" && state !== "disconnected" && disconnectForm(shown, call)}`;
}

function connectLink({ source: name, title, state }: ShownSource, { href }: PageCall): Html {
  return html`<p>
    <a href="${href(sourcePath(name, "/connect"))}"
      >${state === "new" ? `Connect ${title}` : `Connect ${title} again`}</a
    >
  </p>`;
}

/** The actions on a connection. */
function doings(shown: ShownSource, call: PageCall): Html {
  const { source: name, title, state, waiting, last_synced_at: lastSyncedAt } = shown;
  const hasBackfill = waiting.some(({ kind }) => kind === "backfill");
  const isUnderWay = waiting.length > 0 || shown.last_run?.status === "running";
  return html`<div class="actions">
      ${isUnderWay && html`<a href="${call.href(sourcePath(name, "/progress"))}">View progress</a>`}
      ${state !== "refused" && buttonFor(call, requestSync)}
      <a href="${call.href(sourcePath(name, "/connect"))}">Connect ${title} again</a>
    </div>
    ${
      state !== "refused" &&
      html`<section><h2>Backfill</h2>
        <p>
          A backfill reads everything that ${title} has, not only what changed. Figures do not change until it
          has finished.
        </p>
        <div class="actions">
          ${
            hasBackfill && lastSyncedAt !== null
              ? buttonFor(call, cancelBackfill, { variant: "quiet" })
              : buttonFor(call, requestSync, {
                  button: "Resync all data",
                  variant: "quiet",
                  kept: { backfill: "yes" },
                })
          }
        </div></section>`
    }`;
}

function disconnectForm({ source: name, title }: ShownSource, call: PageCall): Html {
  const { name: action } = disconnectSource;
  return html`<section><h2>Disconnect ${title}</h2>
    <p>Its key is deleted, and nothing new is read. The data read so far stays, with its date.</p>
    ${refusal(call, action)}
    ${buttonFor(call, disconnectSource, { button: `Disconnect ${title}`, variant: "danger" }, [
      textField(call, action, { name: "typed", label: `Type ${name} to confirm` }),
    ])}</section>`;
}

function leave({ last_synced_at: lastSyncedAt }: ShownSource): Html {
  const figures =
    lastSyncedAt === null
      ? "Figures appear when all of it has arrived, because incomplete data would give wrong rates."
      : "Figures do not change until it has finished.";
  return html`<p>You can leave this page; the sync continues. ${figures}</p>`;
}

function ended({ last_synced_at: lastSyncedAt }: ShownSource, { href }: PageCall): Html | null {
  if (lastSyncedAt === null) return null;
  return html`<p><a href="${href("")}">See the overview</a></p>`;
}

/** The active run, else the waiting one, else the last. */
function jobOf(shown: ShownSource, { href }: PageCall): Progress {
  const { last_run: run, waiting, state } = shown;
  const startedAt = run === null ? null : new Date(run.started_at);
  const job = { done: null, total: null, startedAt: null, endedAt: null, nextHref: null };
  if (run?.status === "running") {
    const stage =
      run.stage === null
        ? "Starting"
        : `Reading ${KINDS[run.kind].toLowerCase()}: ${run.stage.replaceAll("_", " ")}`;
    const { done, total } = run;
    return { ...job, stage, done: run.stage === null ? null : done, total, startedAt };
  }
  const [next] = waiting;
  if (next !== undefined && state !== "refused" && state !== "disconnected") {
    return { ...job, stage: waitingText(shown, next) };
  }
  const at = run?.finished_at ?? run?.started_at;
  const endedAt = at === undefined || at === null ? new Date(0) : new Date(at);
  if (run === null || startedAt === null) return { ...job, stage: "Nothing is running", endedAt };
  const isFirstData = run.status === "succeeded" && run.kind === "backfill" && shown.kind === "store";
  return {
    ...job,
    stage: endText(run),
    done: run.done,
    total: run.total,
    startedAt,
    endedAt,
    nextHref: isFirstData ? href("") : null,
  };
}

type Waiting = ShownSource["waiting"][number];

function waitingText({ last_error: error }: ShownSource, next: Waiting): string {
  if (next.failures === 0 || next.is_due) return `Waiting to read ${KINDS[next.kind].toLowerCase()}`;
  const at = instant(new Date(next.run_after).toISOString()) as string;
  return `The last attempt failed: ${error ?? "no reason was given."} The next one starts at ${at}.`;
}

function endText({ status, counts, error }: NonNullable<ShownSource["last_run"]>): string {
  if (status !== "succeeded") return error ?? "The last run was interrupted.";
  const read = countsText(counts);
  return read === "" ? "Everything has been read" : `Everything is read: ${read}`;
}

type Run = RunPage["runs"][number];

const KINDS: Readonly<Record<Run["kind"], string>> = {
  backfill: "Everything",
  incremental: "What changed",
  open_returns: "Open returns",
  refresh: "Single records",
};
const ASKED_BY: Readonly<Record<Run["requested_by"], string>> = {
  connect: "connecting",
  schedule: "the schedule",
  webhook: "the source itself",
  operator: "a person",
};
const STATUSES: Readonly<Record<Run["status"], string>> = {
  running: "Running",
  succeeded: "Succeeded",
  failed: "Failed",
  interrupted: "Interrupted; the next run continues it",
};

/** The history of a source, newest first. */
function runsTable(title: string, { runs }: RunPage): Html {
  if (runs.length === 0) return html`<p>No run has begun yet.</p>`;
  return tableOf(`Runs of ${title}`, runs, [
    ["Started", ({ started_at: at }) => html`<time datetime="${at.toISOString()}">${isoInstant(at)}</time>`],
    ["What", ({ kind }) => KINDS[kind]],
    ["Requested by", ({ requested_by: by }) => ASKED_BY[by]],
    ["State", ({ status, attempt }) => `${STATUSES[status]}${attempt > 1 ? `, try ${attempt}` : ""}`],
    ["Took", ({ duration_seconds: seconds }) => durationText(seconds), "number"],
    ["Read", readText],
    ["Remarks", ({ error, notes }) => [...(error === null ? [] : [error]), ...notes].join(" ") || "–"],
  ]);
}

/** Of unchanged runs, only the newest of each kind has its own row. */
function quietTable(title: string, { quiet }: RunPage): Html | null {
  if (quiet.length === 0) return null;
  return tableOf(`Earlier runs of ${title} that changed nothing, by day`, quiet, [
    ["Day (UTC)", ({ day }) => html`<time datetime="${day}">${day}</time>`],
    ["What", ({ kind }) => KINDS[kind]],
    ["Runs", ({ runs }) => String(runs), "number"],
  ]);
}

function readText(run: Run): string {
  return (Object.keys(run.counts).length > 0 ? countsText(run.counts) : stageText(run)) ?? "–";
}

const STATES: Readonly<Record<ShownSource["state"], string>> = {
  new: "Not connected",
  waiting: "Connected; its first sync has not finished yet",
  reading: "Being read now",
  current: "Connected; its last run succeeded",
  failed: "Its last run failed; it will be retried",
  refused: "Its key is no longer accepted, so nothing is read",
  disconnected: "Disconnected: its key is deleted, and nothing is read",
  imported: "Imported by hand",
};

/** When it last brought everything that it had. */
function lastSuccess({ last_synced_at: at }: ShownSource): string {
  return at === null ? "Never" : isoInstant(at);
}

/** A run that is due, or under way, waits for nothing but a worker. */
function nextRun(source: ShownSource, hasWorker: boolean, now: Date): string {
  if (source.last_run?.status === "running" && hasWorker) return "Under way now";
  const at = source.next_run_at;
  if (at === null) return "None";
  if (at > now) return isoInstant(at);
  return hasWorker ? "Now" : "As soon as a worker runs";
}

/** The problem in the source's own words, and its fix; null: none. */
function trouble(source: ShownSource, { href }: PageCall): Html | null {
  const { state, title, last_error: error } = source;
  if (state === "failed") {
    return html`<p class="banner warn">
      ${error ?? "The last run failed."} It is retried automatically, with longer pauses each time. If it keeps failing,
      check that ${title} is reachable and that its key can still read everything, or
      <a href="${href(sourcePath(source.source, "/connect"))}">connect ${title} again</a>.
    </p>`;
  }
  if (state !== "refused") return null;
  return html`<p class="banner warn">
    ${error ?? "The source no longer accepts its key."} Nothing is read until you
    <a href="${href(sourcePath(source.source, "/connect"))}">connect ${title} again</a>.
  </p>`;
}

/** Without a worker nothing is read at all. */
function workerMissing(hasWorker: boolean): Html | null {
  if (hasWorker) return null;
  return html`<p class="banner warn">
    <strong>No worker is running, so nothing is read.</strong> The operator of this service can start one with
    <code>./returns worker</code>; <code>npm start</code> includes one.
  </p>`;
}

type ConnectData = {
  source: Source;
  shown: ShownSource;
  mayNameAddress: boolean;
  hasApproval: boolean;
};

/** The forms that connect a source, or connect it again. */
const connectPage = definePage<ConnectData>({
  name: "source-connect",
  path: `${SOURCES_PATH}/:source/connect`,
  right: connectSource,
  data: async (call) => {
    const { connecting } = await call.caller();
    const { shown } = await readSource(call);
    return {
      source: sourceOf(call),
      shown,
      mayNameAddress: mayNameAddress(connecting),
      hasApproval: hasApproval(connecting),
    };
  },
  view: (data, call) => ({ title: `Connect ${data.source.title}`, body: connectBody(data, call) }),
  forms: [
    formOf(connectSource, {
      follow: ({ result, done }, { href }) => ({ href: href(sourcePath(result.source, "/progress")), done }),
    }),
    formOf(linkSource, {
      path: `${SOURCES_PATH}/:source/link`,
      follow: ({ secret }, call) => {
        const { title } = sourceOf(call);
        const link = secret?.reveal() ?? "";
        return { view: { title: `Approve at ${title}`, body: approve(title, link) } };
      },
    }),
  ],
});

export const SOURCE_PAGES = [sourcesPage, sourcePage, progressPage, connectPage] as const;

function sourceOf({ path }: PageCall): Source {
  const source = listSources().find((each) => each.source === path["source"]);
  if (source === undefined) throw new ApiError("not_found", "There is no such source.");
  return source;
}

function connectBody(data: ConnectData, call: PageCall): Html {
  const { source, shown } = data;
  const { title, kind } = source;
  return html`<p><a href="${call.href(SOURCES_PATH)}">All sources</a></p>
    <h1>${shown.state === "new" ? `Connect ${title}` : `Connect ${title} again`}</h1>
    <p class="lead">
      ${kind === "store" ? "Orders, returns, refunds and products are read. Nothing in the shop is changed; the shop only reports its changes, by webhooks." : "The costs of return labels are read. Nothing is changed at the source."}
    </p>
    ${source.source === SHOPIFY && byApproval(data, call)} ${withKey(data, call)}`;
}

/** A link instead of a redirect: a form of the console must not redirect to another site. */
function byApproval(data: ConnectData, call: PageCall): Html {
  const { source } = data;
  if (!data.hasApproval) {
    return html`<section><h2>By approval</h2>
      ${refusal(call, linkSource.name)}
      <p>
        Not available here: it needs a ${source.title} app and a public address, which the operator of this
        service sets (<code>PUBLIC_URL</code>, <code>SHOPIFY_CLIENT_ID</code>,
        <code>SHOPIFY_CLIENT_SECRET</code>). <a href="/docs/connect">How to connect</a>.
      </p></section>`;
  }
  return html`<section><h2>By approval</h2>
    <p>Somebody who may install apps in the shop approves the connection in its admin. No key is copied.</p>
    ${connectForm(data, call, linkSource, { secrets: {} })}</section>`;
}

function withKey(data: ConnectData, call: PageCall): Html {
  const { source, shown } = data;
  const { title, address, key } = source;
  const secrets = secretFields(
    source,
    shown.state === "new" ? "Optional." : "Leave it empty to keep the current one.",
  );
  return html`<section><h2>${address === null ? `With a ${key.title}` : `With its ${key.title}`}</h2>
    ${key.help !== null && html`<p>${key.help}</p>`}
    ${connectForm(data, call, connectSource, { button: `Connect ${title}`, secrets })}</section>`;
}

/** The fields of this source only, filled with stored values; its options have defaults. */
function connectForm(
  { source, shown, mayNameAddress: mayName }: ConnectData,
  call: PageCall,
  action: typeof connectSource | typeof linkSource,
  { button = action.title, secrets }: { button?: string; secrets: Fields },
): Html | null {
  const { address } = CONNECTION_INPUT;
  const options = optionFields(source);
  const names = Object.keys(options);
  const values = valuesOf(source, shown);
  const isFilledIn = call.refusedForm?.action === action.name;
  const folded = html`<details ${isFilledIn && html` open=""`}>
    <summary>Families and used variants</summary>
    ${Object.entries(options).map(([name, field]) => drawField(call, action.name, name, field, values[name]))}
  </details>`;
  const input = {
    ...(source.shops === null ? {} : { shop: shopField(source.shops) }),
    ...(mayName ? { address } : {}),
    ...secrets,
    ...options,
  };
  return formFor(
    call,
    { ...action, input },
    {
      button,
      values,
      drawn: Object.fromEntries(names.map((name, place) => [name, place === 0 ? folded : null])),
    },
  );
}

function valuesOf({ address, options }: Source, { account, settings }: ShownSource): Record<string, string> {
  const url = settings["url"];
  const defaultUrl = address ?? (account === null ? null : `https://${account}`);
  const chosen = options.map(({ setting, isList }) => {
    const value = settings[setting];
    const text = isList && Array.isArray(value) ? value.join("\n") : value;
    return [`option-${setting}`, typeof text === "string" ? text : ""];
  });
  return {
    shop: account ?? "",
    address: typeof url === "string" && url !== defaultUrl ? url : "",
    ...Object.fromEntries(chosen),
  };
}

/** Shown once: anyone with the link who may install apps in the shop can use it. */
function approve(title: string, link: string): Html {
  return html`<h1>Approve at ${title}</h1>
    <p>Open this link while you are signed in to the shop, and approve what the app may read. It leads back here.</p>
    <p><a href="${link}">Approve at ${title}</a></p>
    <p>
      If somebody else runs the shop, send them the link. It connects this workspace once, within seven days, and
      works only for people who may install apps in the shop.
    </p>
    ${codeToCopy("approval", link)}`;
}
