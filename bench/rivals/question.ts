/** What a question is about; `key` as the API takes it. */
export type Subject = { kind: "workspace" } | { kind: "sku" | "product" | "family" | "vendor"; key: string };

/** First days of months, the second one not included. */
export type Months = { from: string; to: string };

export type Row = Record<string, unknown>;

/** How often a database makes a part of a WITH clause: as it decides by itself, or wherever the part is named. */
export const SHARINGS = ["as", "as not materialized"] as const;
export type Sharing = (typeof SHARINGS)[number];

/**
 * How one rival names its tables: the text of a WITH clause with line, returned, refunded, labeled and requested, each
 * cut down to the lines of a subject that were sold in some months, and the labels that belong to no line.
 *
 * - line: line_id, month, sku, sold_units
 * - returned: line_id, month, sku, lag_days, reason, units
 * - refunded: line_id, month, sku, lag_days, units, refund_minor, restocked_cost_minor
 * - labeled: line_id, month, sku, lag_days, label_minor
 * - requested: status, units
 */
export type Dialect = {
  lines(subject: Subject, months: Months): string;
  unmatchedLabels(months: Months): string;
};

/** The statements that answer a question, and what their rows amount to, in a form to compare. */
export type Question = {
  name: string;
  statements(dialect: Dialect): string[];
  answerOf(results: readonly Row[][]): unknown;
};

const WINDOW_DAYS = 30;
const IN_WINDOW = `lag_days <= ${WINDOW_DAYS}`;

/** M6: units sold and returned by cohort month. */
export function monthsQuestion(name: string, subject: Subject, months: Months): Question {
  return {
    name,
    statements: (dialect) => [
      `${dialect.lines(subject, months)}
       select month, sum(sold_units) as sold_units, sum(units) as returned_units
         from (select month, sum(sold_units) as sold_units, 0 as units from line group by month
               union all
               select month, 0, sum(units) from returned where ${IN_WINDOW} group by month) m
        group by month order by month`,
    ],
    answerOf: ([rows = []]) =>
      rows.map((row) => [monthOf(row["month"]), Number(row["sold_units"]), Number(row["returned_units"])]),
  };
}

/** The same added up over the months. */
export function totalQuestion(name: string, subject: Subject, months: Months): Question {
  return {
    name,
    statements: (dialect) => [
      `${dialect.lines(subject, months)}
       select (select sum(sold_units) from line) as sold_units,
              (select sum(units) from returned where ${IN_WINDOW}) as returned_units`,
    ],
    answerOf: ([rows = []]) => [Number(rows[0]?.["sold_units"]), Number(rows[0]?.["returned_units"])],
  };
}

/** M12. */
export function returnRateQuestion(
  name: string,
  subject: Subject,
  months: Months,
  minSoldUnits: number,
): Question {
  return {
    name,
    statements: (dialect) => [
      `${dialect.lines(subject, months)}
       select sku, sum(sold_units) as sold_units, sum(units) as returned_units
         from (select sku, sum(sold_units) as sold_units, 0 as units from line group by sku
               union all
               select sku, 0, sum(units) from returned where ${IN_WINDOW} group by sku) m
        group by sku having sum(sold_units) >= ${minSoldUnits}
        order by sum(units)::float8 / sum(sold_units) desc, sum(units) desc, sum(sold_units) desc, sku limit 50`,
    ],
    answerOf: ([rows = []]) =>
      rows.map((row) => [row["sku"], Number(row["sold_units"]), Number(row["returned_units"])]),
  };
}

/** M13. */
export function returnCostQuestion(name: string, subject: Subject, months: Months): Question {
  return {
    name,
    statements: (dialect) => [
      `${dialect.lines(subject, months)}
       select sku, sum(sold_units) as sold_units, sum(units) as returned_units, sum(refund_minor) as refund_minor,
              sum(label_minor) as label_minor, sum(restocked_cost_minor) as restocked_cost_minor
         from (select sku, sum(sold_units) as sold_units, 0 as units, 0 as refund_minor, 0 as label_minor,
                      0 as restocked_cost_minor
                 from line group by sku
               union all
               select sku, 0, sum(units), 0, 0, 0 from returned where ${IN_WINDOW} group by sku
               union all
               select sku, 0, 0, sum(refund_minor), 0, sum(restocked_cost_minor) from refunded where ${IN_WINDOW} group by sku
               union all
               select sku, 0, 0, 0, sum(label_minor), 0 from labeled where ${IN_WINDOW} group by sku) m
        group by sku having sum(refund_minor) + sum(label_minor) > 0
        order by sum(refund_minor) + sum(label_minor) desc, sku limit 50`,
    ],
    answerOf: ([rows = []]) =>
      rows.map((row) => [
        row["sku"],
        Number(row["sold_units"]),
        Number(row["returned_units"]),
        Number(row["refund_minor"]),
        Number(row["label_minor"]),
      ]),
  };
}

export type ReportMonths = {
  /** The months compared with and those of the report. */
  all: Months;
  counted: Months;
};

/** The whole report: a statement for each part; labels of no line are the whole workspace's only (M10). */
export function reportQuestion(name: string, subject: Subject, months: ReportMonths): Question {
  const counted = (dialect: Dialect, select: string): string =>
    `${dialect.lines(subject, months.counted)} ${select}`;
  return {
    name,
    statements: (dialect) => [
      `${dialect.lines(subject, months.all)} ${TREND}`,
      counted(dialect, `select reason, sum(units) as units from returned where ${IN_WINDOW} group by reason`),
      counted(
        dialect,
        `select lag_days, sum(units) as units from returned where ${IN_WINDOW} group by lag_days`,
      ),
      counted(dialect, "select status, sum(units) as units from requested group by status"),
      counted(dialect, MISMATCH),
      ...(subject.kind === "workspace" ? [dialect.unmatchedLabels(months.counted)] : []),
    ],
    answerOf: (results) => reportAnswer(results, months.counted.from.slice(0, 7)),
  };
}

const TREND = `
  select month, sum(sold_units) as sold_units, sum(units) as returned_units, sum(refunded_units) as refunded_units,
         sum(refund_minor) as refund_minor, sum(label_minor) as label_minor,
         sum(restocked_cost_minor) as restocked_cost_minor
    from (select month, sum(sold_units) as sold_units, 0 as units, 0 as refunded_units, 0 as refund_minor,
                 0 as label_minor, 0 as restocked_cost_minor
            from line group by month
          union all
          select month, 0, sum(units), 0, 0, 0, 0 from returned where ${IN_WINDOW} group by month
          union all
          select month, 0, 0, sum(units), sum(refund_minor), 0, sum(restocked_cost_minor)
            from refunded where ${IN_WINDOW} group by month
          union all
          select month, 0, 0, 0, 0, sum(label_minor), 0 from labeled where ${IN_WINDOW} group by month) m
   group by month order by month`;

const MISMATCH = `
  select sum(greatest(0, m.returned_units - m.refunded_units)) as returned_not_refunded,
         sum(greatest(0, m.refunded_units - m.returned_units)) as refunded_not_returned,
         sum(case when b.line_id is null then 0 else m.returned_units end) as with_label
    from (select line_id, sum(returned_units) as returned_units, sum(refunded_units) as refunded_units
            from (select line_id, units as returned_units, 0 as refunded_units from returned where ${IN_WINDOW}
                  union all
                  select line_id, 0, units from refunded where ${IN_WINDOW}) e
           group by line_id) m
    left join (select distinct line_id from labeled where ${IN_WINDOW}) b on b.line_id = m.line_id`;

/** The figures that all sides are held to; a lag stands for its bucket. */
export type ReportAnswer = {
  trend: unknown[][];
  compared: number[];
  reasons: Record<string, number>;
  byLag: Record<string, number>;
  requests: Record<string, number>;
  mismatch: number[];
  withLabel: number;
  unmatchedMinor: number;
};

function reportAnswer(results: readonly Row[][], firstMonth: string): ReportAnswer {
  const [months = [], reasons = [], lags = [], requests = [], [mismatch = {}] = [], [unmatched = {}] = []] =
    results;
  const figures = ["sold_units", "returned_units", "refunded_units", "refund_minor", "label_minor"];
  const trend = months.map((row) => [monthOf(row["month"]), ...figures.map((figure) => Number(row[figure]))]);
  const before = trend.filter(([month]) => String(month) < firstMonth);
  const sum = (index: number): number => before.reduce((total, row) => total + Number(row[index]), 0);
  return {
    trend: trend.filter(([month]) => String(month) >= firstMonth),
    compared: [sum(1), sum(2)],
    reasons: totalsBy(reasons, (row) => String(row["reason"])),
    byLag: totalsBy(lags, (row) => bucketOf(Number(row["lag_days"]))),
    requests: totalsBy(requests, (row) => String(row["status"])),
    mismatch: [Number(mismatch["returned_not_refunded"]), Number(mismatch["refunded_not_returned"])],
    withLabel: Number(mismatch["with_label"]),
    unmatchedMinor: Number(unmatched["label_minor"] ?? 0),
  };
}

function totalsBy(rows: readonly Row[], keyOf: (row: Row) => string): Record<string, number> {
  const totals: Record<string, number> = {};
  for (const row of rows) totals[keyOf(row)] = (totals[keyOf(row)] ?? 0) + Number(row["units"]);
  return totals;
}

function bucketOf(lagDays: number): string {
  if (lagDays <= 7) return "0-7";
  return lagDays <= 14 ? "8-14" : "15-30";
}

/** YYYY-MM of what a driver makes of a date. */
function monthOf(value: unknown): string {
  return String(value).slice(0, 7);
}
