import { elevenMonthsBefore, monthsFrom } from "./calendar.ts";
import { coveragePart, latestCompleteMonth } from "./coverage.ts";
import { excessMinor, usualMonths } from "./excess.ts";
import { costMinor, figuresOf, soldValueOf, type Figures } from "./figures.ts";
import { amountOf, byCodePoint, decimalsOf, nearest, rateOf, total } from "./numbers.ts";
import type { Question } from "./oracle.ts";
import { countedMonths, isKnownVendor, windowDaysOf } from "./selection.ts";
import type { OracleCatalogue } from "./catalogue.ts";

type Ranked = Figures & {
  sku: string;
  productGid: string | null;
  vendor: string | null;
  excess: () => number | null;
};
type Answered = { data: unknown; meta: Record<string, unknown> };

/** M12. */
export function rateLeaderboard(question: Question): Answered {
  const { store, params } = question;
  const { settings } = store;
  const windowDays = settings.primary_window_days;
  const last = latestCompleteMonth(store, windowDays);
  const first = params["period"] === "month" ? last : elevenMonthsBefore(last);
  const ranking = figuresBySku(question, monthsFrom(first, last), windowDays, first)
    .filter((row) => row.sold >= settings.min_sold_units)
    .toSorted(
      (left, right) =>
        compareRates(right, left) ||
        right.returned - left.returned ||
        right.sold - left.sold ||
        byCodePoint(left.sku, right.sku),
    );
  const minSold = Math.max(settings.min_sold_units, Number(params["min_sold_units"] ?? 0));
  const minRate = Number(params["min_return_rate"] ?? 0);
  const passes = (row: Ranked): boolean =>
    row.sold >= minSold &&
    row.returned / row.sold >= minRate &&
    (params["vendor"] === undefined || row.vendor === params["vendor"]);
  const card = settings.full_leaderboards ? Infinity : settings.visible_card_size;
  const limit = Math.min(Number(params["limit"] ?? 10), card);
  const rows = ranking
    .slice(0, Math.min(card, ranking.length))
    .filter(passes)
    .slice(0, limit)
    .map(({ sku, sold, returned, productGid, vendor, excess }) => ({
      sku,
      excess_return_cost: excess(),
      store_product_gid: productGid,
      vendor,
      sold_units: sold,
      returned_units: returned,
      return_rate: rateOf(returned, sold),
    }));
  return {
    data: { rows, total_eligible_count: ranking.filter(passes).length, min_sold_units: minSold },
    meta: {
      start_month: first,
      end_month: last,
      months_included: monthsFrom(first, last).length,
      excluded_months: [],
      complete_through: last,
      limit,
      returned: rows.length,
      vendor_known: vendorKnown(question),
      totals: {
        ...unitTotals(ranking.filter(passes)),
        ...soldValueOf(sumOfFigures(ranking.filter(passes)), settings.currency_code),
      },
    },
  };
}

/** M13. */
export function costLeaderboard(question: Question): Answered {
  const { store, ledger, params } = question;
  const { currency_code: currency } = store.settings;
  const months = countedMonths(store, params, String(params["start_month"]), String(params["end_month"]));
  const costOf = (row: Figures): number => costMinor(question, row);
  const minCost = Number(params["min_cost"] ?? 0) * 10 ** decimalsOf(currency);
  const ranking = figuresBySku(question, months, windowDaysOf(store, params), String(params["start_month"]))
    .filter(
      (row) =>
        costOf(row) > 0 &&
        costOf(row) >= minCost - 1e-6 &&
        (params["vendor"] === undefined || row.vendor === params["vendor"]),
    )
    .toSorted((left, right) => costOf(right) - costOf(left) || byCodePoint(left.sku, right.sku));
  const rows = ranking.slice(0, Number(params["limit"] ?? 10)).map((row) => ({
    sku: row.sku,
    store_product_gid: row.productGid,
    vendor: row.vendor,
    total_cost_amount: amountOf(costOf(row), currency),
    total_refunded_amount: amountOf(row.refundMinor, currency),
    total_return_label_cost: amountOf(ledger.labelCostsIncluded ? row.labelMinor : 0, currency),
    sold_units: row.sold,
    returned_units: row.returned,
    return_rate: rateOf(row.returned, row.sold),
    refunded_units: row.refundedUnits,
    estimated_margin_impact: row.hasCost ? amountOf(costOf(row) - row.restockedCostMinor, currency) : null,
    cogs_coverage: cogsCoverageOf(row),
    excess_return_cost: row.excess(),
  }));
  return {
    data: {
      rows,
      currency_code: currency,
      total_eligible_count: ranking.length,
      label_costs_included: ledger.labelCostsIncluded,
    },
    meta: {
      returned: rows.length,
      ...coveragePart(store, params),
      vendor_known: vendorKnown(question),
      totals: {
        total_cost_amount: amountOf(total(ranking, costOf), currency),
        total_refunded_amount: amountOf(
          total(ranking, (row) => row.refundMinor),
          currency,
        ),
        total_return_label_cost: amountOf(
          total(ranking, (row) => (ledger.labelCostsIncluded ? row.labelMinor : 0)),
          currency,
        ),
        ...unitTotals(ranking),
        ...soldValueOf(sumOfFigures(ranking), currency),
      },
    },
  };
}

/** M13: whole percent, rounded. */
export function cogsCoverageOf(figures: Figures): number {
  if (figures.returned === 0) return 0;
  return nearest(BigInt(figures.returnedWithCost) * 100n, BigInt(figures.returned));
}

function vendorKnown({ ledger, params }: Question): boolean | null {
  return params["vendor"] === undefined ? null : isKnownVendor(ledger, params["vendor"]);
}

function sumOfFigures(rows: readonly Ranked[]) {
  return {
    sold: total(rows, (row) => row.sold),
    soldMinor: total(rows, (row) => row.soldMinor),
    soldWithValue: total(rows, (row) => row.soldWithValue),
    refundMinor: total(rows, (row) => row.refundMinor),
  };
}

function unitTotals(rows: readonly Ranked[]) {
  const sold = total(rows, (row) => row.sold);
  const returned = total(rows, (row) => row.returned);
  return { sold_units: sold, returned_units: returned, return_rate: rateOf(returned, sold) };
}

/** One row per SKU with lines in the selection, from those lines only. */
function figuresBySku(
  question: Question,
  counted: string[],
  windowDays: number | null,
  first: string,
): Ranked[] {
  const { store, ledger, selected } = question;
  const usual = usualMonths(question, first, windowDays);
  const held = ledger.lines.filter((line) => line.sold > 0 && selected.holds(line));
  return ledger.catalogue.skus.flatMap((entry) => {
    const lines = held.filter((line) => line.sku === entry.sku);
    if (lines.length === 0) return [];
    return {
      sku: entry.sku,
      ...shownProduct(question, entry, lines),
      ...figuresOf(
        lines.filter((line) => counted.includes(line.month)),
        windowDays,
      ),
      excess: () => {
        const minor = excessMinor(question, lines, { counted, usual, windowDays });
        return minor === null ? null : amountOf(minor, store.settings.currency_code);
      },
    };
  });
}

/** The SKU's own product; if the selection does not contain it, the first product that it contains. */
function shownProduct(
  { ledger: { catalogue }, selected }: Question,
  entry: OracleCatalogue["skus"][number],
  lines: readonly { productGid: string | null }[],
): { productGid: string | null; vendor: string | null } {
  const gids = lines.flatMap((line) => (line.productGid === null ? [] : [line.productGid]));
  const isOwn = !selected.isNarrowed || gids.length === 0 || gids.includes(entry.productGid ?? "");
  if (isOwn) return { productGid: entry.productGid, vendor: entry.vendor };
  const productGid = gids.toSorted(byCodePoint)[0] ?? null;
  const product = catalogue.products.find(({ gid }) => gid === productGid);
  return { productGid, vendor: product?.vendor ?? null };
}

function compareRates(left: Figures, right: Figures): number {
  return left.returned * right.sold - right.returned * left.sold;
}
