import type { ReportBreakdown } from "../contract/report.ts";
import { FIRST_MONTH, monthOfDate, monthsBetween } from "../lib/month.ts";
import { usualMonths } from "../metrics/completeness.ts";
import { designEffect, type Orders } from "../metrics/design-effect.ts";
import { decimalOrNull } from "../metrics/money.ts";
import { compareSizes } from "../metrics/size-order.ts";
import { rate, signedChange, wilsonInterval } from "../metrics/rate.ts";
import { loadBreakdown } from "../store/queries/report-breakdown.ts";
import type {
  BreakdownBy,
  BreakdownFigures,
  BreakdownOrder,
  BreakdownRow,
} from "../store/queries/report-breakdown.ts";
import type { Selection } from "../store/queries/selection.ts";
import { countedMonths, moneyOf, presentCost, presentSoldValue, rateFigures } from "./cohort-months.ts";
import type { Money } from "./cohort-months.ts";
import { loadOrders } from "./design-effects.ts";
import type { ReportQuery } from "./report-build.ts";
import { presentReason } from "./report-reason.ts";
import { asDivision } from "./options.ts";
import { requestSelection } from "./selection.ts";

/** As `breakdownBy` names it; an option that the workspace has. */
type BreakdownRequest = { by: string; order: BreakdownOrder | undefined };

const ROWS = 20;

/** M7, M11, M22, M25: a selection's figures by vendor, product, SKU, group or option: the first 20, and one row for the rest. */
export async function requestBreakdown(
  { database, workspace, selection, range, before, orders }: ReportQuery,
  { by: asked, order }: BreakdownRequest,
): Promise<ReportBreakdown> {
  const { by, option } = asDivision(asked);
  const counted = countedMonths(range);
  const money = moneyOf(workspace);
  const answer = await loadBreakdown(database, workspace, {
    by,
    option,
    selection,
    windowDays: range.windowDays,
    startMonth: counted[0] ?? FIRST_MONTH + 1,
    endMonth: counted.at(-1) ?? FIRST_MONTH,
    comparedMonths: before === null ? [] : monthsBetween(before.startMonth, before.endMonth),
    usualMonths: usualMonths(range),
    labelCostsIncluded: money.labelCostsIncluded,
    order: order ?? (option === null ? "returns_cost" : "sold_units"),
    minSoldUnits: workspace.minSoldUnits,
    withDetails: true,
    rows: option === null ? ROWS : ROWS + 1,
  });
  const rows = option === null ? answer.rows : ofOption(answer.rows, order);
  const selectors = rows.map((row) => selectorOf(by, row, selection));
  const rowSelections = selectors.map((selector) => [
    selector === null ? selection : requestSelection(selector, selector.vendor ?? null),
  ]);
  const rowOrders = await loadOrders({ database, workspace }, rowSelections, counted);
  const effectOf = (own: Orders, { sold_units: soldUnits }: BreakdownFigures): number =>
    designEffect(own, { soldUnits, months: counted });
  const ownEffect = effectOf(orders, answer.total);
  return {
    breakdown_by: asked,
    rows: [
      ...rows.map((row, place) => ({
        key: row.key,
        label: row.title ?? (row.key === "" ? "No value" : row.key),
        selector: selectors[place] ?? null,
        ...presentFigures(
          row,
          money,
          selectors[place] === null ? ownEffect : effectOf(rowOrders[place] ?? orders, row),
        ),
        excess_return_cost: decimalOrNull(row.excess_minor, money.currencyExponent),
        return_rate_change: signedChange(
          row.returned_units,
          row.sold_units,
          row.compared_returned_units,
          row.compared_sold_units,
        ),
        top_reason: topReason(row),
        monthly_return_rates: monthlyRates(row, counted),
        product_title: row.product_title,
        product_image_url: row.product_image_url,
      })),
      {
        key: "other",
        label: "Everything else",
        selector: null,
        ...presentFigures(restOf(answer.total, rows), money, ownEffect),
        excess_return_cost: null,
        return_rate_change: null,
        top_reason: null,
        monthly_return_rates: [],
        product_title: null,
        product_image_url: null,
      },
    ],
  };
}

/** M22: the first values in the requested order, else sizes ascending and then other values; units without a value last. */
function ofOption(rows: readonly BreakdownRow[], order: BreakdownOrder | undefined): BreakdownRow[] {
  const values = rows.filter(({ key }) => key !== "").slice(0, ROWS);
  if (order === undefined) values.sort((left, right) => compareSizes(left.key, right.key));
  return [...values, ...rows.filter(({ key }) => key === "")];
}

/** M6: null where nothing was sold. */
function monthlyRates({ months }: BreakdownRow, counted: readonly number[]): (number | null)[] {
  const byMonth = new Map(months.map((row) => [monthOfDate(row.cohort_month), row]));
  return counted.map((month) => {
    const { sold_units: sold = 0, returned_units: returned = 0 } = byMonth.get(month) ?? {};
    return sold === 0 ? null : rate(returned, sold);
  });
}

/** M8: the reason of more units than any other; null where it is no stated one. */
function topReason({ reasons, returned_units: returnedUnits }: BreakdownRow) {
  const most = Math.max(...reasons.map((reason) => reason.returned_units));
  const [top, ...others] = reasons
    .filter((reason) => reason.returned_units === most)
    .map((reason) => presentReason(reason.reason));
  if (top?.kind !== "stated" || others.length > 0) return null;
  return { reason: top.reason, label: top.label, share: rate(most, returnedUnits) };
}

/** The total minus the rows: further keys, and lines without one. */
function restOf(total: BreakdownFigures, rows: readonly BreakdownRow[]): BreakdownFigures {
  const rest = { ...total };
  for (const row of rows) {
    for (const measure of Object.keys(rest) as (keyof BreakdownFigures)[]) rest[measure] -= row[measure];
  }
  return rest;
}

type RowSelector = ReportBreakdown["rows"][number]["selector"];

/** M14: what selects the lines of a row and no others; null when no selector does. */
function selectorOf(by: BreakdownBy, row: BreakdownRow, selection: Selection): RowSelector {
  const { kind, key, includeUsed, vendor } = selection;
  const ofVendor = vendor === null ? {} : { vendor };
  if (by === "vendor") {
    const own = kind === "workspace" ? {} : keySelector(kind, key, includeUsed);
    return { ...own, vendor: row.key };
  }
  if (row.has_whole_key && by !== "option")
    return { ...keySelector(by, row.key, by === "product"), ...ofVendor };
  if (row.is_whole_selection && kind !== "workspace")
    return { ...keySelector(kind, key, includeUsed), ...ofVendor };
  return null;
}

function keySelector(kind: Exclude<Selection["kind"], "workspace">, key: string, includeUsed: boolean) {
  const used = includeUsed ? { include_used_variants: true as const } : {};
  switch (kind) {
    case "product":
      return { product_gid: key, ...used };
    case "sku":
      return { sku: key, ...used };
    case "family":
    case "analytics_category":
      return { product_group_type: kind, product_group_key: key };
  }
}

function presentFigures(figures: BreakdownFigures, money: Money, effect: number) {
  const totals = {
    soldUnits: figures.sold_units,
    soldMinor: figures.sold_minor,
    valuedSoldUnits: figures.valued_sold_units,
    returnedUnits: figures.returned_units,
    refundMinor: figures.refund_minor,
    labelMinor: figures.label_minor,
  };
  return {
    ...rateFigures(totals),
    return_rate_interval: wilsonInterval(totals.returnedUnits, totals.soldUnits, effect),
    ...presentCost(totals, money),
    ...presentSoldValue(totals, money),
  };
}
