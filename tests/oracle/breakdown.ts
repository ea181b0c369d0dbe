import { figuresOf } from "./figures.ts";
import type { Figures } from "./figures.ts";
import type { LedgerLine } from "./ledger.ts";
import { amountOf, byCodePoint, rateOf, wilsonOf } from "./numbers.ts";
import type { Question } from "./oracle.ts";
import { countedMonths, windowDaysOf } from "./selection.ts";

const ROWS = 20;

type Group = { key: string; figures: Figures };

/** The section breakdown: the costliest keys, and a row for all other lines. Labels are not told: no rule is about them. */
export function breakdownPart(question: Question) {
  const { store, ledger, selected, params } = question;
  const by = String(params["breakdownBy"] ?? "product");
  const months = countedMonths(store, params, String(params["start_month"]), String(params["end_month"]));
  const lines = ledger.lines.filter((line) => selected.holds(line) && months.includes(line.month));
  const windowDays = windowDaysOf(store, params);
  const keyOf = (line: LedgerLine): string | null => keysOf(question, line)[by] ?? null;
  const costOf = ({ figures }: Group): number => costMinor(question, figures);
  const groups = [...new Set(lines.filter((line) => line.sold > 0).map(keyOf))]
    .filter((key) => key !== null)
    .map((key) => ({
      key,
      figures: figuresOf(
        lines.filter((line) => keyOf(line) === key),
        windowDays,
      ),
    }))
    .toSorted(
      (left, right) =>
        costOf(right) - costOf(left) ||
        right.figures.returned - left.figures.returned ||
        byCodePoint(left.key, right.key),
    )
    .slice(0, ROWS);
  const listed = new Set<string | null>(groups.map(({ key }) => key));
  const rest = figuresOf(
    lines.filter((line) => !listed.has(keyOf(line))),
    windowDays,
  );
  return {
    breakdown_by: by,
    rows: [
      ...groups.map(({ key, figures }) => ({
        key,
        selector: selectorOf(by, key),
        ...shown(question, figures),
      })),
      { key: "other", selector: null, ...shown(question, rest) },
    ],
  };
}

function keysOf({ ledger }: Question, line: LedgerLine): Record<string, string | null | undefined> {
  const product = ledger.catalogue.products.find(({ gid }) => gid === line.productGid);
  return {
    vendor: line.vendor,
    product: line.productGid,
    sku: line.sku,
    family: product?.family,
    analytics_category: product?.analyticsCategory,
  };
}

function selectorOf(by: string, key: string): Record<string, string> {
  if (by === "product") return { product_gid: key };
  if (by === "vendor" || by === "sku") return { [by]: key };
  return { product_group_type: by, product_group_key: key };
}

function costMinor({ ledger }: Question, figures: Figures): number {
  return figures.refundMinor + (ledger.labelCostsIncluded ? figures.labelMinor : 0);
}

function shown(question: Question, figures: Figures) {
  const { currency_code: currency } = question.store.settings;
  const { sold, returned } = figures;
  return {
    sold_units: sold,
    returned_units: returned,
    return_rate: rateOf(returned, sold),
    return_rate_interval: wilsonOf(returned, sold),
    refunded_amount: amountOf(figures.refundMinor, currency),
    return_label_cost: amountOf(question.ledger.labelCostsIncluded ? figures.labelMinor : 0, currency),
    returns_cost: amountOf(costMinor(question, figures), currency),
  };
}
