import type { Admit } from "../../src/admission/admit.ts";
import type { Answer } from "../../src/contract/call.ts";
import type { ReportData } from "../../src/contract/report.ts";
import { report } from "../../src/endpoints/report.ts";
import { returnCostLeaderboard } from "../../src/endpoints/return-cost-leaderboard.ts";
import { returnRateLeaderboard } from "../../src/endpoints/return-rate-leaderboard.ts";
import { summary } from "../../src/endpoints/summary.ts";
import { timeseries } from "../../src/endpoints/timeseries.ts";
import type { Database, Queryable } from "../../src/store/database.ts";
import type { Workspace } from "../../src/store/workspace.ts";
import type { ReportAnswer, Subject } from "./question.ts";

/** One of our endpoints with its input, and what its answer amounts to, in the form the rivals answer in. */
export type OwnQuestion = {
  ask(database: Queryable, workspace: Workspace): Promise<Answer>;
  answerOf(body: { data: unknown }): unknown;
};

/** The workspace of a token, as each request gets it. */
export async function admittedWorkspace(admit: Admit, token: string): Promise<Workspace> {
  const { workspace } = await admit(`Bearer ${token}`, { scope: null, entitlements: [], counted: false });
  return workspace;
}

/** Runs the endpoint; milliseconds that it waited for the database, and its answer. */
export async function askOwn(
  question: OwnQuestion,
  database: Database,
  workspace: Workspace,
): Promise<{ ms: number; answer: unknown }> {
  let ms = 0;
  const watched: Queryable = {
    rows: async <Row>(...call: Parameters<Queryable["rows"]>) => {
      const startedMs = performance.now();
      const rows = await database.rows<Row>(...call);
      ms += performance.now() - startedMs;
      return rows;
    },
  };
  const answer = await question.ask(watched, workspace);
  if (answer.kind !== "json") throw new Error("the endpoint answered with a file");
  return { ms, answer: question.answerOf(answer.body) };
}

export type OwnMonths = { start_month: string; end_month: string };

/** Of a leaderboard: as many as the rivals' statements rank. */
const ROWS = 50;

const call = <Input>(database: Queryable, workspace: Workspace, input: Input) => ({
  database,
  workspace,
  input,
});

export function ownMonths(subject: Subject, months: OwnMonths): OwnQuestion {
  return {
    ask: (database, workspace) =>
      timeseries(call(database, workspace, { ...months, ...selectorOf(subject) })),
    answerOf: ({ data }) =>
      (data as { rows: OwnRow[] }).rows
        .filter((row) => row.sold_units > 0)
        .map((row) => [row.cohort_month.slice(0, 7), row.sold_units, row.returned_units]),
  };
}

export function ownTotal(subject: Subject, months: OwnMonths): OwnQuestion {
  return {
    ask: (database, workspace) => summary(call(database, workspace, { ...months, ...selectorOf(subject) })),
    answerOf: ({ data }) => [(data as OwnRow).sold_units, (data as OwnRow).returned_units],
  };
}

export function ownReturnRate(period: "month" | "year", vendor: string | undefined): OwnQuestion {
  return {
    ask: (database, workspace) =>
      returnRateLeaderboard(
        call(database, workspace, { period, limit: ROWS, ...(vendor === undefined ? {} : { vendor }) }),
      ),
    answerOf: ({ data }) =>
      (data as { rows: OwnRow[] }).rows.map((row) => [row.sku, row.sold_units, row.returned_units]),
  };
}

export function ownReturnCost(vendor: string | undefined, months: OwnMonths): OwnQuestion {
  return {
    ask: (database, workspace) =>
      returnCostLeaderboard(
        call(database, workspace, { ...months, limit: ROWS, ...(vendor === undefined ? {} : { vendor }) }),
      ),
    answerOf: ({ data }) =>
      (data as { rows: OwnRow[] }).rows.map((row) => [
        row.sku,
        row.sold_units,
        row.returned_units,
        cents(row.total_refunded_amount),
        cents(row.total_return_label_cost),
      ]),
  };
}

export function ownReport(subject: Subject, months: OwnMonths): OwnQuestion {
  return {
    ask: (database, workspace) => report(call(database, workspace, { ...months, ...selectorOf(subject) })),
    answerOf: ({ data }) => reportAnswer(data as Required<ReportData>),
  };
}

type OwnRow = {
  cohort_month: string;
  sku: string;
  sold_units: number;
  returned_units: number;
  total_refunded_amount: number;
  total_return_label_cost: number;
};

function reportAnswer(data: Required<ReportData>): ReportAnswer {
  const { lifecycle_coverage: lifecycle, refunds, comparison, costs } = data;
  return {
    trend: data.trend.map((row) => [
      row.cohort_month.slice(0, 7),
      row.sold_units,
      row.returned_units,
      row.refunded_units,
      cents(row.refunded_amount),
      cents(row.return_label_cost),
    ]),
    compared: [comparison?.sold_units ?? 0, comparison?.returned_units ?? 0],
    reasons: Object.fromEntries(data.return_reasons.map((row) => [row.reason, row.returned_units])),
    byLag: Object.fromEntries(
      data.timing_buckets
        .filter((row) => row.returned_units > 0)
        .map((row) => [row.bucket, row.returned_units]),
    ),
    requests: {
      CANCELED: lifecycle.canceled_units,
      CLOSED: lifecycle.closed_units,
      DECLINED: lifecycle.declined_units,
      OPEN: lifecycle.open_units,
      REQUESTED: lifecycle.requested_units,
    },
    mismatch: [refunds.returned_not_refunded_units, refunds.refunded_not_returned_units],
    withLabel: Math.round((lifecycle.share_with_label ?? 0) * data.summary.returned_units),
    unmatchedMinor: cents(costs.unmatched_label_cost ?? 0),
  };
}

function cents(amount: number): number {
  return Math.round(amount * 100);
}

function selectorOf(subject: Subject) {
  switch (subject.kind) {
    case "sku":
      return { sku: subject.key };
    case "product":
      return { product_gid: subject.key };
    case "family":
      return { product_group_type: "family" as const, product_group_key: subject.key };
    default:
      return {};
  }
}
