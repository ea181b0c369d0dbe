import { ApiError } from "../../contract/errors.ts";
import { disconnectSource } from "../../control/disconnect.ts";
import { keptRunsText } from "../../control/retention.ts";
import { showSourceRuns, showSources } from "../../control/sources.ts";
import type { RunPage, ShownSource } from "../../control/sources.ts";
import { invalid } from "../../control/refusal.ts";
import { cancelBackfill, requestSync } from "../../control/sync.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { Action } from "../action.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { rows } from "../views/facts.ts";
import { actionForm, refusal, textField } from "../views/form.ts";
import { runsTable } from "../views/settings/source-runs.ts";
import { lastSuccess, nextRun, stateText, trouble, workerMissing } from "../views/settings/source-state.ts";
import { SOURCES_PATH, sourcePath } from "./source-paths.ts";

type Data = { shown: ShownSource; hasWorker: boolean; history: RunPage; kept: string; now: Date };

/** One source: how it is, what can be done with it, and the history of its runs. */
export const source = definePage<Data>({
  name: "source",
  path: `${SOURCES_PATH}/:source`,
  right: "sources.read",
  link: null,
  takes: ["before"],
  data: async (call) => {
    const { database, actor, workspace, now, retention } = await call.acting();
    const { shown, hasWorker } = await readSource(call);
    const before = call.query["before"] ?? null;
    const history = await showSourceRuns(database, actor, workspace, { source: shown.source, before });
    return { shown, hasWorker, history, kept: keptRunsText(retention), now };
  },
  view: (data, call) => ({ title: data.shown.title, body: body(data, call) }),
});

/** The connectable source that a path names; any other is no page. Throws an `ApiError`. */
export async function readSource(call: PageCall): Promise<{ shown: ShownSource; hasWorker: boolean }> {
  const { database, actor, workspace } = await call.acting();
  const { sources, has_worker: hasWorker } = await showSources(database, actor, workspace);
  const shown = sources.find((each) => each.source === call.path["source"] && each.state !== "imported");
  if (shown === undefined) throw new ApiError("not_found", "There is no such source.");
  return { shown, hasWorker };
}

export const sourceActions: readonly Action[] = [
  {
    name: "sync.request",
    path: `${SOURCES_PATH}/:source/sync`,
    right: "sync.request",
    page: source,
    perform: async ({ form, path, href, acting }) => {
      const { database, actor, workspace } = await acting();
      const name = path["source"] ?? "";
      const isBackfill = form.get("kind") === "backfill";
      const { has_worker: hasWorker } = await requestSync(database, actor, workspace, {
        source: name,
        isBackfill,
      });
      const done = hasWorker
        ? "A run was asked for; it begins within a second or two."
        : "A run was asked for; it begins as soon as a worker runs.";
      return { href: href(sourcePath(name, "/progress")), done };
    },
  },
  {
    name: "sync.cancel",
    path: `${SOURCES_PATH}/:source/cancel`,
    right: "sync.cancel",
    page: source,
    perform: async ({ path, href, acting }) => {
      const { database, actor, workspace } = await acting();
      const name = path["source"] ?? "";
      const { was_requested: was } = await cancelBackfill(database, actor, workspace, name);
      const done = was
        ? "The backfill is taken back; from now on only what changes is read."
        : "No backfill was waiting; nothing has changed.";
      return { href: href(sourcePath(name)), done };
    },
  },
  {
    name: "source.disconnect",
    path: `${SOURCES_PATH}/:source/disconnect`,
    right: "source.disconnect",
    page: source,
    perform: async ({ form, path, href, acting }) => {
      const { database, actor, workspace } = await acting();
      const name = path["source"] ?? "";
      if ((form.get("typed") ?? "").trim() !== name) throw invalid(`Type ${name} to disconnect it.`);
      await disconnectSource(database, actor, workspace, name);
      return {
        href: href(SOURCES_PATH),
        done: `${name} is disconnected: its key is deleted, and what was read stays.`,
      };
    },
  },
];

function body({ shown, hasWorker, history, kept, now }: Data, call: PageCall): Html {
  const { title, state, source: name } = shown;
  return html`<p><a href="${call.href(SOURCES_PATH)}">All sources</a></p>
    <h1>${title}</h1>
    ${["sync.request", "sync.cancel"].map((action) => refusal(call, action))} ${workerMissing(hasWorker)}
    ${trouble(shown, call)}
    ${rows([
      { name: "State", value: stateText(shown), note: shown.account },
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

/** What can be done with a connection. */
function doings(shown: ShownSource, call: PageCall): Html {
  const { source: name, title, state, waiting, last_synced_at: lastSyncedAt } = shown;
  const hasBackfill = waiting.some(({ kind }) => kind === "backfill");
  const isUnderWay = waiting.length > 0 || shown.last_run?.status === "running";
  const sync = { path: sourcePath(name, "/sync") };
  return html`<div class="actions">
      ${isUnderWay && html`<a href="${call.href(sourcePath(name, "/progress"))}">See how far it is</a>`}
      ${state !== "refused" && actionForm(call, { ...sync, button: "Sync now", kept: { kind: "incremental" } })}
      <a href="${call.href(sourcePath(name, "/connect"))}">Connect ${title} again</a>
    </div>
    ${
      state !== "refused" &&
      html`<section><h2>Backfill</h2>
        <p>
          A backfill reads everything that ${title} has, not only what changed. Figures stay as they are until
          it has ended.
        </p>
        <div class="actions">
          ${
            hasBackfill && lastSyncedAt !== null
              ? actionForm(call, {
                  path: sourcePath(name, "/cancel"),
                  button: "Take back the backfill",
                  look: "quiet",
                })
              : actionForm(call, {
                  ...sync,
                  button: "Read everything again",
                  look: "quiet",
                  kept: { kind: "backfill" },
                })
          }
        </div></section>`
    }`;
}

function disconnectForm({ source: name, title }: ShownSource, call: PageCall): Html {
  const action = "source.disconnect";
  return html`<section><h2>Disconnect ${title}</h2>
    <p>Its key is deleted and nothing new is read. What was read stays, with its date.</p>
    ${refusal(call, action)}
    ${actionForm(
      call,
      { path: sourcePath(name, "/disconnect"), button: `Disconnect ${title}`, look: "danger" },
      [textField(call, action, { name: "typed", label: `Type ${name} to confirm` })],
    )}</section>`;
}
