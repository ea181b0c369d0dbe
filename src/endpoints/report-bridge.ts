import { BRIDGE_STEPS, type ReportBridge } from "../contract/report-sections.ts";
import { FIRST_MONTH, firstDayOfMonth } from "../lib/month.ts";
import { isComplete, type CohortRange } from "../metrics/completeness.ts";
import { signedChange } from "../metrics/rate.ts";
import { rateWalk, type WalkedProduct } from "../metrics/rate-walk.ts";
import { loadBreakdown } from "../store/queries/report-breakdown.ts";
import { listBridgeSteps, listReturnsByThen, type BridgeRow } from "../store/queries/report-bridge.ts";
import { countedMonths } from "./cohort-months.ts";
import type { ReportQuery } from "./report-build.ts";
import type { CohortQuery } from "./selection.ts";

/**
 * M24: from the source's bookings to the cohort figure, and from the compared period's rate to this one. `lines`: of the steps
 * by SKU and month of order where they are wanted; they add up to the steps.
 */
export async function loadBridge(
  query: ReportQuery,
  withLines: boolean,
): Promise<{ bridge: ReportBridge; lines: BridgeRow[] }> {
  const { database, workspace, selection, range, before } = query;
  const counted = countedMonths(range);
  const found = await listBridgeSteps(database, workspace, {
    ...range,
    selection,
    countedMonths: counted,
    isByLine: withLines,
  });
  const lines = found.map((row) => ({ ...row, units: signOf(row.step) * row.units }));
  const unitsOf = (step: string): number =>
    lines.reduce((sum, row) => sum + (row.step === step ? row.units : 0), 0);
  const steps = BRIDGE_STEPS.map(({ step, after }) => ({ step, after, units: unitsOf(step) }));
  const sumOf = (after: string): number =>
    steps.reduce((sum, row) => sum + (row.after === after ? row.units : 0), 0);
  const returnedInMonths = unitsOf("returned_in_months");
  return {
    lines: lines.filter(({ step }) => step !== "returned_in_months"),
    bridge: {
      booked_units: returnedInMonths - sumOf("booked"),
      steps: steps.map(({ step, units }) => ({ step, units })),
      returned_in_months_units: returnedInMonths,
      returned_units: returnedInMonths + sumOf("returned_in_months"),
      rate_change: before === null ? null : await walkRates(query, before),
    },
  };
}

/** Steps before `returned_in_months` are stored as the source's surplus. */
function signOf(step: string): 1 | -1 {
  return BRIDGE_STEPS.some((row) => row.step === step && row.after === "booked") ? -1 : 1;
}

async function walkRates(query: CohortQuery, before: CohortRange): Promise<ReportBridge["rate_change"]> {
  const { database, workspace, selection, range } = query;
  const period = await unitsByProduct(query);
  const base = await unitsByProduct({ ...query, range: before });
  const months = monthsByThen(range, before);
  const byThen = months.some(({ lastDay }) => lastDay !== null)
    ? new Map(
        (
          await listReturnsByThen(database, workspace, { selection, windowDays: range.windowDays, months })
        ).map((row) => [row.key, row.returned_units]),
      )
    : new Map([...base.products].map(([key, { returnedUnits }]) => [key, returnedUnits]));
  const keys = new Set([...period.products.keys(), ...base.products.keys()]);
  const products = [...keys].map((key): WalkedProduct => ({
    soldUnits: period.products.get(key)?.soldUnits ?? 0,
    baseSoldUnits: base.products.get(key)?.soldUnits ?? 0,
    baseReturnedByThen: byThen.get(key) ?? 0,
  }));
  const steps = rateWalk(period.total, base.total, products);
  const { returnedUnits, soldUnits } = period.total;
  const change = signedChange(returnedUnits, soldUnits, base.total.returnedUnits, base.total.soldUnits);
  return steps === null || change === null ? null : { ...steps, return_rate_change: change };
}

/** The base months, each up to the day on which it was as old as its counterpart is now; complete ones whole. */
function monthsByThen(range: CohortRange, before: CohortRange) {
  const { windowDays, asOfDay } = range;
  const counterparts = countedMonths(range);
  return countedMonths(before).map((month, place) => {
    const counterpart = counterparts[place] ?? range.endMonth;
    const isWhole = asOfDay === null || (windowDays !== null && isComplete(counterpart, windowDays, asOfDay));
    const shift = firstDayOfMonth(counterpart) - firstDayOfMonth(month);
    // Counterparts at the end of the calendar would be days before its beginning, which text cannot represent.
    return { month, lastDay: isWhole ? null : Math.max(firstDayOfMonth(FIRST_MONTH), asOfDay - shift) };
  });
}

/** Units by product, key "" for lines without one. */
async function unitsByProduct({ database, workspace, selection, range }: CohortQuery) {
  const counted = countedMonths(range);
  const { total, rows } = await loadBreakdown(database, workspace, {
    option: null,
    by: "product",
    selection,
    windowDays: range.windowDays,
    startMonth: counted[0] ?? range.startMonth,
    endMonth: counted.at(-1) ?? range.startMonth - 1,
    comparedMonths: [],
    usualMonths: [],
    labelCostsIncluded: false,
    order: "returns_cost",
    minSoldUnits: 0,
    withDetails: false,
    rows: EVERY_ROW,
  });
  const products = new Map(
    rows.map((row) => [row.key, { soldUnits: row.sold_units, returnedUnits: row.returned_units }]),
  );
  const rest = { soldUnits: total.sold_units, returnedUnits: total.returned_units };
  for (const { soldUnits, returnedUnits } of products.values()) {
    rest.soldUnits -= soldUnits;
    rest.returnedUnits -= returnedUnits;
  }
  products.set("", rest);
  return { total: { soldUnits: total.sold_units, returnedUnits: total.returned_units }, products };
}

const EVERY_ROW = 2_147_483_647;
