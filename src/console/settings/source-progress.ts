import type { ShownSource } from "../../control/sources.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { countsText } from "../../lib/run-text.ts";
import { instant } from "../format.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { progress } from "../views/progress.ts";
import type { Progress } from "../views/progress.ts";
import { kindText } from "../views/settings/source-runs.ts";
import { trouble, workerMissing } from "../views/settings/source-state.ts";
import { SOURCES_PATH, sourcePath } from "./source-paths.ts";
import { readSource } from "./source.ts";

type Data = { shown: ShownSource; hasWorker: boolean; now: Date };

/** How far a source's run is. The end of a first backfill leads to the overview, which has figures then. */
export const sourceProgress = definePage<Data>({
  name: "source-progress",
  path: `${SOURCES_PATH}/:source/progress`,
  right: "sources.read",
  link: null,
  takes: [],
  data: async (call) => {
    const { now } = await call.acting();
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

function leave({ last_synced_at: lastSyncedAt }: ShownSource): Html {
  const figures =
    lastSyncedAt === null
      ? "Figures appear when all of it has arrived, since a part of it would give wrong rates."
      : "Figures stay as they are until it has ended.";
  return html`<p>You can leave this page; it goes on. ${figures}</p>`;
}

function ended({ last_synced_at: lastSyncedAt }: ShownSource, { href }: PageCall): Html | null {
  if (lastSyncedAt === null) return null;
  return html`<p><a href="${href("")}">See the overview</a></p>`;
}

/** What runs now, else what waits, else what ran last. */
function jobOf(shown: ShownSource, { href }: PageCall): Progress {
  const { last_run: run, waiting, state } = shown;
  const startedAt = run === null ? null : new Date(run.started_at);
  const job = { done: null, total: null, startedAt: null, endedAt: null, nextHref: null };
  if (run?.status === "running") {
    const stage =
      run.stage === null
        ? "Starting"
        : `Reading ${kindText(run.kind).toLowerCase()}: ${run.stage.replaceAll("_", " ")}`;
    const { done, total } = run;
    return { ...job, stage, done: run.stage === null ? null : done, total, startedAt };
  }
  const [next] = waiting;
  if (next !== undefined && state !== "refused" && state !== "disconnected") {
    return { ...job, stage: waitingText(shown, next) };
  }
  const at = run?.finished_at ?? run?.started_at;
  const endedAt = at === undefined || at === null ? new Date(0) : new Date(at);
  if (run === null || startedAt === null) return { ...job, stage: "Nothing is under way", endedAt };
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
  if (next.failures === 0 || next.is_due) return `Waiting to read ${kindText(next.kind).toLowerCase()}`;
  const at = instant(new Date(next.run_after).toISOString()) as string;
  return `The last try failed: ${error ?? "no reason was given."} The next one begins at ${at}.`;
}

function endText({ status, counts, error }: NonNullable<ShownSource["last_run"]>): string {
  if (status !== "succeeded") return error ?? "The last run was cut off.";
  const read = countsText(counts);
  return read === "" ? "Everything is read" : `Everything is read: ${read}`;
}
