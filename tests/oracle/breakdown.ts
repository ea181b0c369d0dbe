import { effectOf } from "./clusters.ts";
import { comparedMonths } from "./coverage.ts";
import { excessMinor, usualMonths } from "./excess.ts";
import { costMinor, figuresOf, soldValueOf, type Figures } from "./figures.ts";
import type { LedgerLine } from "./ledger.ts";
import { amountOf, byCodePoint, changeOf, rateOf, wilsonOf } from "./numbers.ts";
import type { Question } from "./oracle.ts";
import type { OracleParameters } from "./store.ts";
import { countedMonths, selectionOf, windowDaysOf } from "./selection.ts";

const ROWS = 20;

type Group = { key: string; figures: Figures; lines: LedgerLine[] };

/** The section breakdown: the costliest keys, and a row for all other lines. Without labels, which no rule covers. */
export function breakdownPart(question: Question) {
  const { store, ledger, selected, params } = question;
  const by = String(params["breakdownBy"] ?? "product");
  const months = countedMonths(store, params, String(params["start_month"]), String(params["end_month"]));
  const held = ledger.lines.filter((line) => selected.holds(line));
  const lines = held.filter((line) => months.includes(line.month));
  const windowDays = windowDaysOf(store, params);
  const keyOf = (line: LedgerLine): string | null => keyIn(question, line, by);
  const costOf = ({ figures }: Group): number => costMinor(question, figures);
  const isOption = by.startsWith("option:");
  const isInOrderOfSizes = isOption && params["breakdownOrder"] === undefined;
  const order = isInOrderOfSizes ? "sold_units" : String(params["breakdownOrder"] ?? "returns_cost");
  const range = {
    counted: months,
    usual: usualMonths(question, String(params["start_month"]), windowDays),
    windowDays,
  };
  const compared = comparedMonths(store, params) ?? [];
  const groups = [...new Set(lines.filter((line) => line.sold > 0).map(keyOf))]
    .filter((key) => key !== null)
    .map((key) => {
      const own = lines.filter((line) => keyOf(line) === key);
      const byMonth = months.map((month) =>
        figuresOf(
          own.filter((line) => line.month === month),
          windowDays,
        ),
      );
      const always = held.filter((line) => keyOf(line) === key);
      return {
        key,
        lines: own,
        figures: figuresOf(own, windowDays),
        before: figuresOf(
          always.filter((line) => compared.includes(line.month)),
          windowDays,
        ),
        excess: excessMinor(question, always, range),
        byMonth,
      };
    })
    .toSorted(
      (left, right) =>
        (order === "excess_return_cost" ? (right.excess ?? -1) - (left.excess ?? -1) : 0) ||
        (order === "returned_units" ? right.figures.returned - left.figures.returned : 0) ||
        (order === "sold_units" ? right.figures.sold - left.figures.sold : 0) ||
        (order === "return_rate" ? rankOf(question, right) - rankOf(question, left) : 0) ||
        (order === "return_rate_change"
          ? rankOf(question, right, right.before) - rankOf(question, left, left.before)
          : 0) ||
        costOf(right) - costOf(left) ||
        right.figures.returned - left.figures.returned ||
        byCodePoint(left.key, right.key),
    )
    .slice(0, isOption ? Infinity : ROWS);
  const listed = new Set<string | null>(groups.map(({ key }) => key));
  const rest = figuresOf(
    lines.filter((line) => !listed.has(keyOf(line))),
    windowDays,
  );
  const ownEffect = effectOf(question, lines, [params]);
  const names = ledger.catalogue.variants.flatMap(({ options }) => options.map(([name]) => name));
  const spelled = names.find((name) => `option:${name}`.toLowerCase() === by.toLowerCase());
  if (isInOrderOfSizes) groups.sort((left, right) => SIZES.indexOf(left.key) - SIZES.indexOf(right.key));
  if (isOption) groups.sort((left, right) => Number(left.key === "") - Number(right.key === ""));
  return {
    breakdown_by: isOption ? `option:${spelled}` : by,
    rows: [
      ...groups.map(({ key, figures, lines: own, before, excess, byMonth }) => {
        const selector = selectorOf(question, by, key);
        const effect = selector === null ? ownEffect : effectOf(question, own, [selector]);
        return {
          key,
          selector,
          ...shown(question, figures, effect),
          excess_return_cost: excess === null ? null : amountOf(excess, store.settings.currency_code),
          return_rate_change: changeOf(figures, before),
          top_reason: topReasonOf(figures),
          monthly_return_rates: byMonth.map(({ sold, returned }) =>
            sold === 0 ? null : rateOf(returned, sold),
          ),
        };
      }),
      {
        key: "other",
        selector: null,
        ...shown(question, rest, ownEffect),
        excess_return_cost: null,
        return_rate_change: null,
        top_reason: null,
        monthly_return_rates: [],
      },
    ],
  };
}

/** By rate, or by its change since `before`; few units come last. */
function rankOf({ store }: Question, { figures }: Group, before: Figures | null = null): number {
  const isFew = figures.sold < Math.max(store.settings.min_sold_units, 1);
  if (isFew || before?.sold === 0) return -2;
  return figures.returned / figures.sold - (before === null ? 0 : before.returned / before.sold);
}

/** The stated reason that more units have than any other. */
function topReasonOf({ reasons, returned }: Figures): { reason: string; share: number } | null {
  const counts = new Map<string, number>();
  for (const { kind, reason } of reasons) {
    const key = `${kind} ${reason}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const [[key, units] = ["", 0], second] = [...counts].toSorted((left, right) => right[1] - left[1]);
  if (!key.startsWith("stated ") || second?.[1] === units) return null;
  return { reason: key.slice("stated ".length), share: rateOf(units, returned) };
}

/** Sizes of the random stores in ascending order, then other values, then no value. */
const SIZES = ["s", "m", "9.5", "10", "red", "blue", ""];

/** M22: the first value of the option at the line's variant, ignoring the case of its name. */
function keyIn(question: Question, line: LedgerLine, by: string): string | null {
  if (!by.startsWith("option:")) return keysOf(question, line)[by] ?? null;
  const found = line.options.find(([name]) => `option:${name}`.toLowerCase() === by.toLowerCase());
  return found?.[1].toLowerCase() ?? "";
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

/** M14: the first of the possible selectors that selects exactly the row's lines, whenever they were sold. */
function selectorOf(question: Question, by: string, key: string): OracleParameters | null {
  const { ledger, selected, params } = question;
  const sold = ledger.lines.filter((line) => line.sold > 0);
  const isOfRow = (line: LedgerLine) => selected.holds(line) && keyIn(question, line, by) === key;
  const ownNames = ["sku", "product_gid", "product_group_type", "product_group_key"];
  const own = Object.fromEntries(ownNames.flatMap((name) => (name in params ? [[name, params[name]]] : [])));
  const hasUsed = params["include_used_variants"] === true && ("sku" in own || "product_gid" in own);
  const asked = { ...own, ...(hasUsed ? { include_used_variants: true } : {}) } as OracleParameters;
  const ofVendor = params["vendor"] === undefined ? {} : { vendor: params["vendor"] };
  const keyed: Record<string, OracleParameters> = {
    vendor: { ...asked, vendor: key },
    product: { product_gid: key, include_used_variants: true, ...ofVendor },
    sku: { sku: key, ...ofVendor },
    family: { product_group_type: "family", product_group_key: key, ...ofVendor },
    analytics_category: { product_group_type: "analytics_category", product_group_key: key, ...ofVendor },
  };
  const possible = [keyed[by], Object.keys(asked).length === 0 ? undefined : { ...asked, ...ofVendor }];
  const found = possible.find((selector) => {
    if (selector === undefined) return false;
    const taken = selectionOf(ledger, selector, true);
    return taken !== null && sold.every((line) => taken.holds(line) === isOfRow(line));
  });
  return found ?? null;
}

function shown(question: Question, figures: Figures, effect: number) {
  const { currency_code: currency } = question.store.settings;
  const { sold, returned } = figures;
  return {
    sold_units: sold,
    returned_units: returned,
    return_rate: rateOf(returned, sold),
    return_rate_interval: wilsonOf(returned, sold, effect),
    refunded_amount: amountOf(figures.refundMinor, currency),
    return_label_cost: amountOf(question.ledger.labelCostsIncluded ? figures.labelMinor : 0, currency),
    returns_cost: amountOf(costMinor(question, figures), currency),
    ...soldValueOf(figures, currency),
  };
}
