import { html, type Html } from "../../lib/html.ts";
import { durationText } from "../../lib/run-text.ts";
import { count, instant } from "../format.ts";

/** How far a job is: a run of a source, an import. */
export type Progress = {
  /** The current step in words, such as "Reading orders"; at its end, the result. */
  stage: string;
  /** Done and total of that; null: not counted, or unknown. */
  done: number | null;
  total: number | null;
  /** null = it waits for its turn. */
  startedAt: Date | null;
  /** null = it has not ended. */
  endedAt: Date | null;
  /** Where the browser goes when it ends; null = it reloads this page. */
  nextHref: string | null;
};

/**
 * A job's progress. `progress.js` requests the page again every 2 s and copies the parts marked `data-live`, so that focus and
 * scroll position are kept; also set `isRunning` of the view: without script the browser then reloads the page every 5 s.
 */
export function progress(job: Progress, now: Date): Html {
  const { stage, startedAt, endedAt, nextHref } = job;
  const state = endedAt === null ? "running" : "ended";
  return html`<section
    class="progress"
    aria-label="Progress"
    data-progress="${state}"
    ${nextHref !== null && html` data-next="${nextHref}"`}
  >
    <p class="stage" role="status" data-live="stage">${stage}</p>
    <div data-live="bar">${endedAt === null && bar(job)}</div>
    <dl class="facts">
      ${fact("counts", "Done", html`${doneText(job)}`)}
      ${fact("started", "Started", startedAt === null ? html`Waiting to start` : html`${instant(startedAt.toISOString())}`)}
      ${fact("elapsed", "Elapsed", html`${elapsedText(job, now)}`)}
    </dl>
  </section>`;
}

/** Without a known total the bar only shows that the job is running. */
function bar({ done, total }: Progress): Html {
  if (done === null || total === null || total <= 0) {
    return html`<progress aria-label="Progress"></progress>`;
  }
  return html`<progress aria-label="Progress" max="${total}" value="${Math.min(done, total)}"></progress>`;
}

function fact(live: string, name: string, value: Html): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd data-live="${live}">${value}</dd>
  </div>`;
}

function doneText({ done, total }: Progress): string {
  if (done === null) return "Nothing counted yet";
  const read = count(done) as string;
  return total === null ? read : `${read} of ${count(total) as string}`;
}

function elapsedText({ startedAt, endedAt }: Progress, now: Date): string {
  if (startedAt === null) return "–";
  const endMs = (endedAt ?? now).getTime();
  return durationText(Math.max(0, Math.round((endMs - startedAt.getTime()) / 1000)));
}
