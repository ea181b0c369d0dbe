import type { MemberAdmission } from "../../admission/admit-member.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure, valueAt } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { instant, month } from "../format.ts";

type Source = { source: string; status: string | null; stale: boolean };

/** C4: how new the data is and which months are complete, and a banner for each source that is stale. */
export function asOf(answers: readonly ApiAnswer[], { workspace }: MemberAdmission): Html | null {
  const answer = answers[0];
  if (answer === undefined) return null;
  const counting = answers.find((each) => completePath(each) !== null);
  return html`<p class="as-of">
      Orders as of
      ${figure(answer, "meta/freshness/data_updated_at", instant, "no data yet")}${
        counting !== undefined && completeText(counting, workspace.primaryWindowDays)
      }
    </p>
    ${staleBanners(answer)}`;
}

/** Of when the figures are and within which window, for the foot of printed pages; the address says the rest. */
export function printedFooter(
  address: string,
  answers: readonly ApiAnswer[],
  { workspace }: MemberAdmission,
): string {
  const [answer] = answers;
  const updatedAt = answer === undefined ? null : valueAt(answer, "meta/freshness/data_updated_at");
  const windows = answers.map((each) => valueAt(each, "window_days"));
  const windowDays =
    windows.find((days): days is number => typeof days === "number") ?? workspace.primaryWindowDays;
  const asOfText = typeof updatedAt === "string" ? ` · orders as of ${instant(updatedAt) as string}` : "";
  return `${address}${asOfText} · returns within ${windowDays} days of the order`;
}

/** The windows that are not the workspace's own; only reports count them out as days. */
const WINDOW_DAYS: Readonly<Record<string, number>> = { "30d": 30, "90d": 90 };

function completeText(answer: ApiAnswer, primaryWindowDays: number): Html {
  const path = completePath(answer) as string;
  const windowDays =
    valueAt(answer, "window_days") ??
    WINDOW_DAYS[String(valueAt(answer, "meta/window"))] ??
    primaryWindowDays;
  return html` <span aria-hidden="true">·</span> months to ${figure(answer, path, month, "none")} are complete
    for ${windowDays as number} days`;
}

/** Where an answer says through which month it is complete. */
function completePath(answer: ApiAnswer): string | null {
  const paths = ["summary/complete_through", "meta/complete_through"];
  return paths.find((path) => typeof valueAt(answer, path) === "string") ?? null;
}

function staleBanners(answer: ApiAnswer): Html[] {
  const sources = (valueAt(answer, "meta/freshness/sources") ?? []) as readonly Source[];
  return sources.flatMap(({ source, stale }, index) => {
    if (!stale) return [];
    const path = `meta/freshness/sources/${index}`;
    const status = figure(answer, `${path}/status`, statusText, "It was never synced.");
    const last = figure(answer, `${path}/last_synced_at`, instant, "it never succeeded");
    return [
      html`<p class="banner warn" role="status">
        <strong>${source} is out of date.</strong> ${status} Last success: ${last}.
      </p>`,
    ];
  });
}

const STATUS_TEXTS: Readonly<Record<string, string>> = {
  ok: "The last sync worked, but it was more than 36 hours ago.",
  syncing: "A sync is under way.",
  failed: "The last sync failed and is tried again.",
  disconnected: "It is disconnected.",
};

function statusText(status: string): string {
  return STATUS_TEXTS[status] ?? status;
}
