import type { ReportStore, StoreLine } from "./report-store.ts";

export type OracleRequest = {
  selects: (line: StoreLine) => boolean;
  startMonth: string;
  endMonth: string;
  /** null = lifetime */
  windowDays: number | null;
  includeIncomplete: boolean;
  asOf: string;
};

/** A report's figures, counted by looping over the store's rows. Money in minor units. */
export function countReport(store: ReportStore, request: OracleRequest) {
  const months = monthsOf(request).filter((month) => counts(lastDayOf(month), request));
  const lines = store.lines.filter(
    (line) => months.includes(line.cohort_month.slice(0, 7)) && request.selects(line),
  );
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  const inside = (row: { lag_days: number }) =>
    request.windowDays === null || row.lag_days <= request.windowDays;
  const of = <Row extends { line_id: string }>(rows: Row[], line: StoreLine) =>
    rows.filter((row) => row.line_id === line.line_id);
  const perLine = lines.map((line) => {
    const events = of(store.events, line).filter(inside);
    return {
      line,
      events,
      month: line.cohort_month,
      returned: sum(events.map((event) => event.returned_units)),
      refunded: sum(events.map((event) => event.refunded_units)),
      shares: of(store.shares, line).filter(inside),
    };
  });
  const events = perLine.flatMap((counted) => counted.events);
  const requests = lines.flatMap((line) => of(store.requests, line));
  const reasons = Object.groupBy(
    events.filter((event) => event.returned_units > 0),
    (event) => event.reason ?? "",
  );
  return {
    months: months.map((month) => {
      const ofMonth = perLine.filter((counted) => counted.month.startsWith(month));
      return {
        month,
        soldUnits: sum(ofMonth.map((counted) => counted.line.sold_units)),
        returnedUnits: sum(ofMonth.map((counted) => counted.returned)),
        refundMinor: sum(ofMonth.flatMap((counted) => counted.events.map((event) => event.refund_minor))),
      };
    }),
    soldUnits: sum(lines.map((line) => line.sold_units)),
    returnedUnits: sum(perLine.map((counted) => counted.returned)),
    refundedUnits: sum(perLine.map((counted) => counted.refunded)),
    refundMinor: sum(events.map((event) => event.refund_minor)),
    labelMinor: sum(perLine.flatMap((counted) => counted.shares.map((share) => share.label_minor))),
    unitsByReason: new Map(
      Object.entries(reasons).map(([reason, rows]) => [
        reason,
        sum((rows ?? []).map((event) => event.returned_units)),
      ]),
    ),
    /** One entry per returned unit, ascending. */
    lags: events
      .flatMap((event) => Array.from({ length: event.returned_units }, () => event.lag_days))
      .toSorted((left, right) => left - right),
    returnedNotRefunded: sum(perLine.map(({ returned, refunded }) => Math.max(0, returned - refunded))),
    refundedNotReturned: sum(perLine.map(({ returned, refunded }) => Math.max(0, refunded - returned))),
    returnedWithLabel: sum(perLine.filter(({ shares }) => shares.length > 0).map(({ returned }) => returned)),
    unitsInState: (status: string) =>
      sum(requests.filter((row) => row.status === status).map((row) => row.units)),
  };
}

/** M10: euro labels charged in the months, not voided, that no line bears. */
export function countUnmatchedLabels(
  store: ReportStore,
  months: Pick<OracleRequest, "startMonth" | "endMonth">,
) {
  const matched = new Set(store.shares.map((share) => share.label_id));
  return store.labels
    .filter(
      (label) => !matched.has(label.label_id) && label.voided_at === null && label.currency_code === "EUR",
    )
    .filter(({ charged_at: at }) => at.slice(0, 7) >= months.startMonth && at.slice(0, 7) <= months.endMonth)
    .reduce((total, label) => total + label.amount_minor, 0);
}

/** M15: units sold on the given days, and those of them returned inside the window. */
export function countDaysSold(
  store: ReportStore,
  request: OracleRequest,
  isInPeriod: (day: string) => boolean,
) {
  const lines = store.lines.filter(
    (line) => isInPeriod(line.ordered_on) && counts(line.ordered_on, request) && request.selects(line),
  );
  const events = lines.flatMap((line) =>
    store.events.filter(
      (event) =>
        event.line_id === line.line_id &&
        (request.windowDays === null || event.lag_days <= request.windowDays),
    ),
  );
  return {
    soldUnits: lines.reduce((total, line) => total + line.sold_units, 0),
    returnedUnits: events.reduce((total, event) => total + event.returned_units, 0),
  };
}

/** M5: whether what was ordered on a day counts: its window has closed, or nobody asks. */
export function counts(
  day: string,
  request: Pick<OracleRequest, "windowDays" | "includeIncomplete" | "asOf">,
) {
  if (request.includeIncomplete || request.windowDays === null) return true;
  return dayAfter(day, request.windowDays) < request.asOf.slice(0, 10);
}

export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

function lastDayOf(month: string): string {
  return dayAfter(`${nextMonth(month)}-01`, -1);
}

function monthsOf({ startMonth, endMonth }: Pick<OracleRequest, "startMonth" | "endMonth">): string[] {
  const months = [];
  for (let month = startMonth; month <= endMonth; month = nextMonth(month)) months.push(month);
  return months;
}

function nextMonth(month: string): string {
  return dayAfter(`${month}-28`, 4).slice(0, 7);
}
