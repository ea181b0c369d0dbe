import type { MemberAdmission } from "../../access/admit-member.ts";
import { mayDo, readSources } from "../../actions/right.ts";
import { listSources, listStores } from "../../actions/sources/connect.ts";
import { IMPORTS_PATH, SOURCES_PATH, sourcePath } from "../../actions/console-address.ts";
import { html, type Html } from "../../lib/html.ts";
import { figure, valueAt, type ApiAnswer } from "../figure.ts";
import { instant, month } from "../format.ts";
import { RESOLVING_REQUEST } from "../months.ts";
import { addressOf } from "../page-call.ts";

type Source = { source: string; status: string | null; stale: boolean };

/** C4: how new the data is and which months are complete, and a banner for each source that is stale. */
export function asOf(answers: readonly ApiAnswer[], member: MemberAdmission): Html | null {
  const { workspace } = member;
  const answer = answers[0];
  if (answer === undefined) return null;
  const counting = mainAnswer(answers);
  return html`<p class="as-of">
      ${dataAsOf(answers)}${counting !== undefined && completeText(counting, workspace.primaryWindowDays)}
    </p>
    ${staleBanners(answer, member)}`;
}

/** As-of of the figures; a page with entities only has none, and shows the newest sync of any source. */
function dataAsOf(answers: readonly ApiAnswer[]): Html {
  const dated = answers.find((each) => valueAt(each, AS_OF) !== undefined);
  if (dated !== undefined) return html`Orders as of ${figure(dated, AS_OF, instant, "no data yet")}`;
  return html`Updated ${figure(answers[0] as ApiAnswer, UPDATED_AT, instant, "never")}`;
}

const AS_OF = "meta/data_as_of";
const UPDATED_AT = "meta/freshness/data_updated_at";

/**
 * The answer that determines the complete months of the page: not the one that only resolved its months, unless it is the only
 * one. Ever has no complete months.
 */
function mainAnswer(answers: readonly ApiAnswer[]): ApiAnswer | undefined {
  if (isEver(answers)) return undefined;
  const own = answers.filter(({ name }) => name !== RESOLVING_REQUEST);
  return [...own, ...answers].find((each) => completePath(each) !== null);
}

function isEver(answers: readonly ApiAnswer[]): boolean {
  return answers.some((each) => valueAt(each, "meta/window") === "lifetime");
}

/**
 * As-of and window of the figures, for the footer of printed pages; the address contains the rest. A page with entities only
 * shows the newest sync of any source.
 */
export function printedFooter(
  address: string,
  answers: readonly ApiAnswer[],
  { workspace }: MemberAdmission,
): string {
  const timeAt = (path: string): unknown =>
    answers.map((each) => valueAt(each, path)).find((value) => typeof value === "string");
  const [asOfTime, updatedAt] = [timeAt(AS_OF), timeAt(UPDATED_AT)];
  const main = mainAnswer(answers);
  const windowDays = (main === undefined ? null : windowDaysOf(main)) ?? workspace.primaryWindowDays;
  const windowText = isEver(answers)
    ? "returns however late"
    : `returns within ${windowDays} days of the order`;
  const updatedText = typeof updatedAt === "string" ? ` · updated ${instant(updatedAt) as string}` : "";
  const asOfText =
    typeof asOfTime === "string" ? ` · orders as of ${instant(asOfTime) as string}` : updatedText;
  return `${address}${asOfText} · ${windowText}`;
}

/** The windows that are not the workspace's own; only reports count them out as days. */
const WINDOW_DAYS: Readonly<Record<string, number>> = { "30d": 30, "90d": 90 };

function completeText(answer: ApiAnswer, primaryWindowDays: number): Html {
  const path = completePath(answer) as string;
  return html` <span aria-hidden="true">·</span> months to ${figure(answer, path, month, "none")} are complete:
    each order has had ${windowDaysOf(answer) ?? primaryWindowDays} days to come back`;
}

/** null = the answer is in the workspace's own window. */
function windowDaysOf(answer: ApiAnswer): number | null {
  const days = valueAt(answer, "window_days");
  return typeof days === "number" ? days : (WINDOW_DAYS[String(valueAt(answer, "meta/window"))] ?? null);
}

/** Path of an answer's newest complete month. */
function completePath(answer: ApiAnswer): string | null {
  const paths = ["summary/complete_through", "meta/complete_through"];
  return paths.find((path) => typeof valueAt(answer, path) === "string") ?? null;
}

function staleBanners(answer: ApiAnswer, member: MemberAdmission): Html[] {
  const sources = (valueAt(answer, "meta/freshness/sources") ?? []) as readonly Source[];
  return sources.flatMap(({ source, stale }, index) => {
    if (!stale) return [];
    const path = `meta/freshness/sources/${index}`;
    const status = figure(answer, `${path}/status`, statusText, "It was never synced.");
    const last = figure(answer, `${path}/last_synced_at`, instant, "it never succeeded");
    return [
      html`<p class="banner warn" role="status">
        <strong>${SOURCE_NAMES[source] ?? source} is out of date.</strong> ${status} Last success: ${last}.
        ${repairLink(source, String(valueAt(answer, `${path}/status`)), member)}
      </p>`,
    ];
  });
}

const SOURCE_NAMES: Readonly<Record<string, string>> = {
  csv: "The import of orders",
  csv_labels: "The import of return labels",
  shopify: "Shopify",
  woocommerce: "WooCommerce",
  shipstation: "ShipStation",
  loop: "Loop",
};

const STATUS_TEXTS: Readonly<Record<string, string>> = {
  ok: "It last delivered data more than 36 hours ago.",
  syncing: "New data is being fetched.",
  failed: "The last attempt failed; it will be retried.",
  disconnected: "It is disconnected, so no new data arrives.",
};

function statusText(status: string): string {
  return STATUS_TEXTS[status] ?? status;
}

/** A member's options for a workspace without figures; without the right, who can act. */
export function waysOn(member: MemberAdmission): Html {
  const { readiness, role, workspace } = member;
  const href = (path: string): string => addressOf(workspace.shopDomain, path);
  if (!mayDo(role, readSources)) {
    return html`<p>An admin or an owner of this workspace can fix this.</p>`;
  }
  const store = workspace.sources.find(({ kind, source }) => kind === "store" && isConnectable(source));
  const source = store?.source ?? "shopify";
  if (readiness === "backfilling") {
    return html`<p><a href="${href(sourcePath(source, "/progress"))}">View progress</a></p>`;
  }
  if (readiness === "reconnecting") {
    return html`<p><a href="${href(sourcePath(source, "/connect"))}">Connect it again</a></p>`;
  }
  const isUnderWay = store !== undefined && store.status !== "disconnected";
  return html`<ul>
    ${isUnderWay && html`<li><a href="${href(sourcePath(source, "/progress"))}">View progress</a></li>`}
    ${listStores().map(
      ({ source: name, title }) =>
        html`<li><a href="${href(sourcePath(name, "/connect"))}">Connect ${title}</a></li>`,
    )}
    <li><a href="${href(IMPORTS_PATH)}">Upload files</a></li>
    <li><a href="${href(SOURCES_PATH)}">All sources</a></li>
  </ul>`;
}

/** The link that repairs a source which is out of date, for those who may. */
function repairLink(source: string, status: string, { role, workspace }: MemberAdmission): Html | null {
  if (!mayDo(role, readSources)) return null;
  const href = (path: string): string => addressOf(workspace.shopDomain, path);
  if (!isConnectable(source)) return html`<a href="${href(IMPORTS_PATH)}">Upload newer files</a>`;
  return status === "disconnected"
    ? html`<a href="${href(sourcePath(source, "/connect"))}">Connect it again</a>`
    : html`<a href="${href(sourcePath(source))}">See why</a>`;
}

function isConnectable(name: string): boolean {
  return listSources().some(({ source }) => source === name);
}
