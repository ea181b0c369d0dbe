import { html, type Html } from "../lib/html.ts";
import { figure, valueAt, type ApiAnswer } from "./figure.ts";
import { count, day, decimals, keyMoney, month, percent } from "./format.ts";
import { withOpenMonths } from "./months.ts";
import { knownMonth } from "../lib/month.ts";
import type { BodyOf, PageCall } from "./page.ts";
import type { Alerts } from "./views/alert.ts";
import { picture } from "./views/picture.ts";
import { watchableOf, watchMark, type ListedSelector } from "./views/selection-title.ts";

type Report = ApiAnswer<BodyOf<"report">>;
type Year = ApiAnswer<BodyOf<"return-rate-leaderboard">>;

/** A problem: the alerts about one entity, led by `lead`, and its figures since. */
export type Problem = Candidate & {
  /** Since the month of its first alert: its product, or its group itself, is the first row of the breakdown. */
  named: Report;
  report: Report;
  /** How its product fits since (M22); null = it is a group. */
  fit: Report | null;
};

/** Where in the alerts an entity's are: the spike of a complete month before an early warning. */
type Candidate = { selector: Selector; lead: number; warning: number | null; since: string };
type Selector = Readonly<Record<string, string>>;

const SHOWN = 3;
/** Entities to load: several may belong to one product. */
const MOST_CANDIDATES = 4;
const SELECTORS = ["sku", "product_gid", "product_group_type", "product_group_key"] as const;

/** The selected alerts, by their facts, and the maximum number of entities. */
type Scope = { isOwn?: (facts: Facts) => boolean; most?: number };
type Facts = Readonly<Record<string, unknown>>;

/**
 * The problems of `alerts`, which are open, one per product, most excess cost first; `others`: how many more there are, each entity
 * whose product is not loaded as one.
 */
export async function readProblems(
  call: PageCall,
  alerts: Alerts,
  year: Year,
  { isOwn = () => true, most = MOST_CANDIDATES }: Scope = {},
): Promise<{ problems: Problem[]; others: number }> {
  const candidates = candidatesOf(alerts, isOwn);
  const found = candidates.slice(0, most);
  const named = await Promise.all(
    found.map(async (each, index) => {
      const breakdownBy = each.selector["product_group_type"] ?? "product";
      const months = monthsSince(each, year);
      const parameters = { ...each.selector, ...months, reportSection: "breakdown", breakdownBy };
      return { ...each, named: await call.read(`problem_${index + 1}_product`, "report", parameters) };
    }),
  );
  const byExcess = named.toSorted((one, other) => excessOf(other) - excessOf(one));
  const byProduct = Map.groupBy(byExcess, productOf);
  const shown = [...byProduct.values()].map(([first]) => first).slice(0, SHOWN) as (typeof named)[number][];
  const problems = await Promise.all(
    shown.map(async (each) => {
      const months = monthsSince(each, year);
      const name = each.named.name.replace("_product", "");
      const product = each.selector["product_group_type"] === undefined ? rowOf(each)?.key : undefined;
      const fitOf = { product_gid: product ?? "", ...months, reportSection: "fit" };
      const [report, fit] = await Promise.all([
        call.read(name, "report", { ...each.selector, ...months }),
        product === undefined ? null : call.read(`${name}_fit`, "report", fitOf),
      ]);
      return { ...each, report, fit };
    }),
  );
  return { problems, others: byProduct.size - shown.length + candidates.length - found.length };
}

function monthsSince({ since }: Candidate, year: Year) {
  return withOpenMonths({ start_month: since, end_month: year.body.meta.end_month ?? since }, year);
}

type Named = { named: Report };

/** Its product or group; undefined = nothing of it was sold since. */
function rowOf({ named }: Named) {
  const [row] = named.body.data.breakdown?.rows ?? [];
  return row?.selector === null ? undefined : row;
}

function excessOf(problem: Named): number {
  return rowOf(problem)?.excess_return_cost ?? 0;
}

function productOf(problem: Candidate & Named): string {
  return rowOf(problem)?.key ?? JSON.stringify(problem.selector);
}

/** The entities of the alerts, most units beyond the usual first. */
function candidatesOf(alerts: Alerts, isOwn: (facts: Facts) => boolean): Candidate[] {
  const current = alerts.body.data.flatMap(({ metadata }, index) => {
    const facts = metadata ?? {};
    const isEarly = facts["kind"] === "early_warning";
    const at = textAt(facts, isEarly ? "as_of" : "cohort_month");
    const selector = Object.fromEntries(
      SELECTORS.flatMap((name) => (textAt(facts, name) === "" ? [] : [[name, textAt(facts, name)]])),
    );
    if (!isOwn(facts) || Object.keys(selector).length === 0) return [];
    const since = (isEarly ? textAt(facts, "ordered_from") : at).slice(0, 7);
    return [{ index, isEarly, selector, since, excess: excessUnits(facts, isEarly) }];
  });
  const byEntity = Map.groupBy(current, ({ selector }) => JSON.stringify(selector));
  return [...byEntity.values()]
    .toSorted((one, other) => mostExcess(other) - mostExcess(one))
    .map((group) => {
      const early = group.find(({ isEarly }) => isEarly);
      const spike = group.find(({ isEarly }) => !isEarly);
      const { index, selector } = (spike ?? early) as (typeof group)[number];
      const [since = ""] = group.map((each) => each.since).toSorted();
      return { selector, lead: index, warning: early?.index ?? null, since };
    });
}

function textAt(facts: Facts, name: string): string {
  const value = facts[name];
  return typeof value === "string" ? value : "";
}

function mostExcess(group: readonly { excess: number }[]): number {
  return Math.max(...group.map(({ excess }) => excess));
}

/** Only selects the entities to load. */
function excessUnits(facts: Facts, isEarly: boolean): number {
  const at = (name: string): number => Number(facts[name] ?? 0);
  return isEarly
    ? at("returned_lines") - at("expected_lines")
    : at("returned_units") - at("baseline_rate") * at("sold_units");
}

/** The link to all problems; null = the cards show all. */
export function linkToAll(
  { problems, others }: { problems: readonly Problem[]; others: number },
  call: PageCall,
): { text: string; href: string } | null {
  if (others === 0) return null;
  return { text: `All ${problems.length + others} problems`, href: call.href("/alerts", { state: "open" }) };
}

/** The problems as cards: what, since when, why, the cost so far, and whether it improves. */
export function problemCards(problems: readonly Problem[], alerts: Alerts, call: PageCall): Html {
  if (problems.length === 0)
    return html`<p class="calm">No problems: nothing comes back more often than usual.</p>`;
  return html`<section class="problems" aria-labelledby="problems">
    <h2 id="problems" class="unseen">Problems</h2>
    <ol class="cards" role="list" tabindex="0" aria-labelledby="problems">
      ${problems.map((problem) => card(problem, alerts, call))}
    </ol>
  </section>`;
}

/** A problem in parts, for a page and for a mail. */
export function problemParts(problem: Problem, alerts: Alerts, call: PageCall) {
  const { selector, report } = problem;
  const row = rowOf(problem);
  const own = report.body.meta.selector;
  const group = own.type === "product_group" ? own.label : null;
  const months = { start_month: problem.since, end_month: report.body.meta.end_month };
  const view = { ...selector, ...months, include_incomplete: "true" };
  const isRecent = knownMonth(months.end_month) - knownMonth(months.start_month) < RECENT_MONTHS;
  return {
    name: group ?? row?.label ?? Object.values(selector)[0] ?? "",
    detail: own.type === "sku" ? own.primarySku : group === null ? "all its SKUs" : "category or family",
    hasPicture: group === null,
    imageUrl: row?.product_image_url ?? null,
    href: call.href("/report", { ...view, reportSection: "reasons" }),
    byWeek: isRecent ? `${call.href("/report", { ...view, interval: "week" })}#trend` : null,
    what: html`${whatPart(problem, alerts)} ${reasonPart(problem)}${fitPart(problem)}`,
    course: html`${sincePart(problem, alerts)}${costPart(problem, call)} · ${outlookPart(problem, alerts)}`,
  };
}

function card(problem: Problem, alerts: Alerts, call: PageCall): Html {
  const { name, detail, hasPicture, imageUrl, href, byWeek, what, course } = problemParts(
    problem,
    alerts,
    call,
  );
  return html`<li class="card">
    ${hasPicture && picture(imageUrl, "", call.imageSources)}
    <h3><a href="${href}">${name}</a> <small>${detail}</small></h3>
<p>${what}</p>
    <p>${course}</p>
    <p class="actions">
      <a class="button" href="${href}" aria-label="See why ${name} comes back">See why</a>
      ${byWeek !== null && html`<a href="${byWeek}" aria-label="${name} by week of order">By week</a>`}
      ${watchMark(call, watchableOf(problem.selector as ListedSelector))}
    </p>
  </li>`;
}

/** A problem that began within this many months is worth a look week by week. */
const RECENT_MONTHS = 6;

function whatPart({ lead }: Problem, alerts: Alerts): Html {
  const path = `${lead}/metadata`;
  if (valueAt(alerts, `${path}/kind`) === "early_warning") {
    return html`<strong>${figure(alerts, `${path}/returned_lines`, count)}</strong> of
      ${figure(alerts, `${path}/sold_lines`, count)} order lines came back by
      ${figure(alerts, `${path}/as_of`, day)}, usually ${figure(alerts, `${path}/expected_lines`, decimals(1))}.`;
  }
  return html`<strong>${figure(alerts, `${path}/return_rate`, percent)}</strong> of
    ${figure(alerts, `${path}/cohort_month`, month)} came back, usually
    ${figure(alerts, `${path}/baseline_rate`, percent)}.`;
}

/** The reason given most since; null = there is no one such. */
function reasonPart(problem: Problem): Html | null {
  if ((rowOf(problem)?.top_reason ?? null) === null) return null;
  const path = "breakdown/rows/0/top_reason";
  return html`${figure(problem.named, `${path}/label`, String)}
  (${figure(problem.named, `${path}/share`, percent)}).`;
}

/** M22: which sizes run small or large; null without evidence. */
function fitPart({ fit }: Problem): Html | null {
  if ((fit?.body.data.fit?.sentence ?? null) === null) return null;
  return html` <strong>${figure(fit as Report, "fit/sentence", String)}</strong>`;
}

function sincePart({ warning, report }: Problem, alerts: Alerts): Html {
  return warning === null
    ? html`Since ${figure(report, "meta/start_month", month)}`
    : html`Since ${figure(alerts, `${warning}/metadata/ordered_from`, day)}`;
}

/** M25: the cost of the returns beyond the usual rate since then; null if there is none. */
function costPart(problem: Problem, call: PageCall): Html | null {
  const amount = keyMoney(call.currencyCode);
  const excess = rowOf(problem)?.excess_return_cost ?? null;
  if ((excess ?? problem.report.body.data.summary.returns_cost) === 0) return null;
  return excess === null
    ? html` · ${figure(problem.report, "summary/returns_cost", amount)} so far`
    : html` · ${figure(problem.named, "breakdown/rows/0/excess_return_cost", amount)} beyond usual so far`;
}

/** The outlook of the newest open month, compared with the announced month and the usual rate. */
function outlookPart({ lead, report }: Problem, alerts: Alerts): Html {
  const trend = report.body.data.trend ?? [];
  const index = trend.findLastIndex(({ outlook }) => outlook !== null);
  const outlook = trend[index]?.outlook ?? null;
  if (outlook === null) return html`too early to say whether it gets better`;
  const path = `trend/${index}`;
  const heading = html`${figure(report, `${path}/cohort_month`, month)} about
    ${figure(report, `${path}/outlook/return_rate`, percent)}`;
  const usual = valueAt(alerts, `${lead}/metadata/baseline_rate`);
  const bad = valueAt(alerts, `${lead}/metadata/return_rate`);
  if (typeof usual !== "number" || typeof bad !== "number") return heading;
  return html`${heading}: <strong>${verdictOf(outlook, { usual, bad })}</strong>`;
}

/** Whether the interval of the outlook lies below the announced rate, and reaches down to the usual one. */
export function verdictOf(
  { low, high }: { low: number; high: number },
  { usual, bad }: { usual: number; bad: number },
): string {
  if (low > bad) return "getting worse";
  if (high >= bad) return "not better yet";
  return low > usual ? "better, not yet as usual" : "back to usual";
}
