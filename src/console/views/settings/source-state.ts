import type { ShownSource } from "../../../control/sources.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import { instant } from "../../format.ts";
import type { PageCall } from "../../page.ts";
import { sourcePath } from "../../settings/source-paths.ts";

const STATES: Readonly<Record<ShownSource["state"], string>> = {
  new: "Not connected",
  waiting: "Connected; its first run has not ended yet",
  reading: "Being read now",
  current: "Connected; its last run succeeded",
  failed: "Its last run failed; it is tried again",
  refused: "It no longer accepts its key, so nothing is read",
  disconnected: "Disconnected: its key is deleted, and nothing is read",
  imported: "Imported by hand",
};

export function stateText({ state }: Pick<ShownSource, "state">): string {
  return STATES[state];
}

/** When it last brought everything that it had. */
export function lastSuccess({ last_synced_at: at }: ShownSource): string {
  return at === null ? "Never" : (instant(at.toISOString()) as string);
}

/** A run that is due, or under way, waits for nothing but a worker. */
export function nextRun(source: ShownSource, hasWorker: boolean, now: Date): string {
  if (source.last_run?.status === "running" && hasWorker) return "Under way now";
  const at = source.next_run_at;
  if (at === null) return "None";
  if (at > now) return instant(at.toISOString()) as string;
  return hasWorker ? "Now" : "As soon as a worker runs";
}

/** What went wrong, in the source's own words, and what repairs it; null = nothing did. */
export function trouble(source: ShownSource, { href }: PageCall): Html | null {
  const { state, title, last_error: error } = source;
  if (state === "failed") {
    return html`<p class="banner warn">
      ${error ?? "The last run failed."} It is tried again by itself, with longer pauses each time. If it goes
      on, check that ${title} is reachable and that its key may still read everything, or
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
export function workerMissing(hasWorker: boolean): Html | null {
  if (hasWorker) return null;
  return html`<p class="banner warn">
    <strong>No worker is running, so nothing is read.</strong> Whoever runs this installation starts one with
    <code>./returns worker</code>, or as a part of <code>npm start</code>.
  </p>`;
}
