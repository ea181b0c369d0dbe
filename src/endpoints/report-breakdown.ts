import type { ReportBreakdown } from "../contract/report.ts";
import { FIRST_MONTH } from "../lib/month.ts";
import { currencyExponent, decimalFromMinor } from "../metrics/money.ts";
import { rate, wilsonInterval } from "../metrics/rate.ts";
import { returnsCostMinor } from "../metrics/totals.ts";
import type { Queryable } from "../store/database.ts";
import { loadBreakdown } from "../store/queries/report-breakdown.ts";
import type { BreakdownAnswer, BreakdownBy, BreakdownFigures } from "../store/queries/report-breakdown.ts";
import type { Selection } from "../store/queries/selection.ts";
import type { Workspace } from "../store/workspace.ts";
import { labelCostsIncluded } from "./label-costs.ts";

export type BreakdownRequest = {
  by: BreakdownBy;
  selection: Selection;
  /** null = lifetime. */
  windowDays: number | null;
  /** The months that count. */
  countedMonths: readonly number[];
};

const ROWS = 20;

/** M7, M11: a selection's figures by vendor, product, SKU or group: the 20 costliest, and one row for the rest. */
export async function requestBreakdown(
  database: Queryable,
  workspace: Workspace,
  { by, selection, windowDays, countedMonths }: BreakdownRequest,
): Promise<ReportBreakdown> {
  const answer = await loadBreakdown(database, workspace, {
    by,
    selection,
    windowDays,
    startMonth: countedMonths[0] ?? FIRST_MONTH + 1,
    endMonth: countedMonths.at(-1) ?? FIRST_MONTH,
    labelCostsIncluded: labelCostsIncluded(workspace),
    rows: ROWS,
  });
  const present = (figures: BreakdownFigures) => presentFigures(figures, workspace);
  return {
    breakdown_by: by,
    rows: [
      ...answer.rows.map((row) => ({
        key: row.key,
        label: row.title ?? row.key,
        selector: selectorOf(by, row.key),
        ...present(row),
      })),
      { key: "other", label: "Everything else", selector: null, ...present(restOf(answer)) },
    ],
  };
}

/** What the rows leave of the total: further keys, and lines that have none. */
function restOf({ total, rows }: BreakdownAnswer): BreakdownFigures {
  const rest = { ...total };
  for (const row of rows) {
    for (const measure of Object.keys(rest) as (keyof BreakdownFigures)[]) rest[measure] -= row[measure];
  }
  return rest;
}

function selectorOf(by: BreakdownBy, key: string) {
  switch (by) {
    case "vendor":
      return { vendor: key };
    case "product":
      return { product_gid: key };
    case "sku":
      return { sku: key };
    case "family":
    case "analytics_category":
      return { product_group_type: by, product_group_key: key };
  }
}

function presentFigures(figures: BreakdownFigures, workspace: Workspace) {
  const exponent = currencyExponent(workspace.currencyCode);
  const included = labelCostsIncluded(workspace);
  const { sold_units: soldUnits, returned_units: returnedUnits } = figures;
  const minor = { refundMinor: figures.refund_minor, labelMinor: figures.label_minor };
  return {
    sold_units: soldUnits,
    returned_units: returnedUnits,
    return_rate: rate(returnedUnits, soldUnits),
    return_rate_interval: wilsonInterval(returnedUnits, soldUnits),
    refunded_amount: decimalFromMinor(minor.refundMinor, exponent),
    return_label_cost: decimalFromMinor(included ? minor.labelMinor : 0, exponent),
    returns_cost: decimalFromMinor(returnsCostMinor(minor, included), exponent),
  };
}
