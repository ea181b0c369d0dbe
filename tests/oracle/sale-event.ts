import { dayOf, daysFrom, dayText, lastDayOf, monthOf } from "./calendar.ts";
import { effectOf } from "./clusters.ts";
import { figuresOf } from "./figures.ts";
import { byCodePoint, changeOf, rateOf, wilsonOf } from "./numbers.ts";
import type { Question } from "./oracle.ts";
import { isDayComplete, windowDaysOf } from "./selection.ts";
import type { OracleSaleEvent, OracleStore } from "./store.ts";

/** M15: the workspace's sale events by slug, the requested one, and whether its slug is unknown. */
export function saleEventParts(question: Question) {
  const { store, params } = question;
  const chosen = saleEventPart(question);
  return {
    sale_event: chosen,
    sale_events: eventsOf(store)
      .toSorted((left, right) => byCodePoint(left.slug, right.slug))
      .map(({ slug, label, starts_on, ends_on }) => ({ slug, label, starts_on, ends_on })),
    sale_event_unknown: params["saleEvent"] !== undefined && chosen === null,
  };
}

/** Of rows with the same slug the last one counts. */
function eventsOf(store: OracleStore): OracleSaleEvent[] {
  return [...new Map((store.files.sale_events ?? []).map((row) => [row.slug, row])).values()];
}

/** M15: a sale event against its baseline, day by day; null when the request names none. */
function saleEventPart(question: Question) {
  const { store, params } = question;
  const events = eventsOf(store);
  const event = events.find((row) => row.slug === params["saleEvent"]);
  if (event === undefined) return null;
  const isOther = ["selected_non_sale", "prior_year"].includes(String(params["saleEventBaseline"]));
  const baseline = isOther ? String(params["saleEventBaseline"]) : "matched_prior";
  const scope = String(params["saleEventScope"] ?? "current_selection");
  const eventDays = daysOf(event);
  const baselineDays = baselineDaysOf(baseline, eventDays, events, params);
  const eventFigures = figuresOn(question, event, eventDays);
  const baselineFigures = figuresOn(question, event, baselineDays);
  const countedDays = closedDays(question, baselineDays);
  const isOnePeriod = baseline !== "selected_non_sale" && countedDays.length > 0;
  return {
    slug: event.slug,
    label: event.label,
    starts_on: event.starts_on,
    ends_on: event.ends_on,
    baseline,
    scope,
    event: { days: closedDays(question, eventDays).length, ...eventFigures.shown },
    baseline_period: {
      days: countedDays.length,
      starts_on: isOnePeriod ? dayText(Math.min(...countedDays)) : null,
      ends_on: isOnePeriod ? dayText(Math.max(...countedDays)) : null,
      ...baselineFigures.shown,
    },
    return_rate_change: changeOf(eventFigures, baselineFigures),
  };
}

function daysOf(event: OracleSaleEvent): number[] {
  return daysFrom(dayOf(event.starts_on), dayOf(event.ends_on));
}

function baselineDaysOf(
  baseline: string,
  eventDays: readonly number[],
  events: readonly OracleSaleEvent[],
  params: Question["params"],
): number[] {
  if (baseline === "matched_prior") return eventDays.map((day) => day - eventDays.length);
  if (baseline === "prior_year") {
    return daysFrom(yearEarlier(Math.min(...eventDays)), yearEarlier(Math.max(...eventDays)));
  }
  const saleDays = new Set(events.flatMap(daysOf));
  const first = dayOf(`${String(params["start_month"])}-01`);
  return daysFrom(first, lastDayOf(String(params["end_month"]))).filter((day) => !saleDays.has(day));
}

/** The same day of the year before; 28 February for 29 February. */
function yearEarlier(day: number): number {
  const text = dayText(day);
  const year = Number(text.slice(0, 4)) - 1;
  return dayOf(`${year}${text.slice(4) === "-02-29" ? "-02-28" : text.slice(4)}`);
}

/** The days without those whose window is still open, unless the request includes them. */
function closedDays({ store, params }: Question, days: readonly number[]): number[] {
  const windowDays = windowDaysOf(store, params);
  return days.filter((day) => params["include_incomplete"] === true || isDayComplete(store, day, windowDays));
}

function figuresOn(question: Question, event: OracleSaleEvent, days: readonly number[]) {
  const { store, ledger, selected, params } = question;
  const counted = closedDays(question, days);
  const ownSkus = event.skus?.split(";");
  const isInScope = (line: (typeof ledger.lines)[number]): boolean => {
    if (params["saleEventScope"] !== "event_scope") return selected.holds(line);
    return ownSkus === undefined || (line.sku !== null && ownSkus.includes(line.sku));
  };
  const lines = ledger.lines.filter((line) => isInScope(line) && counted.includes(line.orderedDay));
  const { sold, returned } = figuresOf(lines, windowDaysOf(store, params));
  const ofEvent = ownSkus === undefined ? [{}] : ownSkus.map((sku) => ({ sku }));
  const named = params["saleEventScope"] === "event_scope" ? ofEvent : [params];
  const isWhole = (month: string): boolean =>
    counted.filter((day) => monthOf(day) === month).length === Number(dayText(lastDayOf(month)).slice(8));
  return {
    sold,
    returned,
    shown: {
      sold_units: sold,
      returned_units: returned,
      return_rate: rateOf(returned, sold),
      return_rate_interval: wilsonOf(returned, sold, effectOf(question, lines, named, isWhole)),
    },
  };
}
