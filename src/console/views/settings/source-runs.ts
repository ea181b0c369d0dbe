import type { RunPage } from "../../../control/sources.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import { countsText, durationText, stageText } from "../../../lib/run-text.ts";
import { instant } from "../../format.ts";
import { dataTable } from "../table.ts";

type Run = RunPage["runs"][number];

const COLUMNS = [
  { text: "Started" },
  { text: "What" },
  { text: "Asked by" },
  { text: "State" },
  { text: "Took", isNumber: true },
  { text: "Read" },
  { text: "Remarks" },
];

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
  interrupted: "Cut off; the next run continues it",
};

/** What a run reads, in words. */
export function kindText(kind: Run["kind"]): string {
  return KINDS[kind];
}

/** The history of a source, newest first. */
export function runsTable(title: string, { runs }: RunPage): Html {
  if (runs.length === 0) return html`<p>No run has begun yet.</p>`;
  return dataTable(
    `Runs of ${title}`,
    COLUMNS,
    runs.map((run) => [
      html`<time datetime="${run.started_at.toISOString()}">${instant(run.started_at.toISOString())}</time>`,
      html`${KINDS[run.kind]}`,
      html`${ASKED_BY[run.requested_by]}`,
      html`${STATUSES[run.status]}${run.attempt > 1 && `, try ${run.attempt}`}`,
      html`${durationText(run.duration_seconds)}`,
      html`${readText(run)}`,
      html`${[...(run.error === null ? [] : [run.error]), ...run.notes].join(" ") || "–"}`,
    ]),
  );
}

function readText(run: Run): string {
  return (Object.keys(run.counts).length > 0 ? countsText(run.counts) : stageText(run)) ?? "–";
}
