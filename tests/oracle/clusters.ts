import { elevenMonthsBefore } from "./calendar.ts";
import { latestCompleteMonth } from "./coverage.ts";
import type { LedgerLine } from "./ledger.ts";
import { wilsonOf } from "./numbers.ts";
import type { Question } from "./oracle.ts";
import { selectionOf } from "./selection.ts";
import type { OracleParameters } from "./store.ts";

const FEWEST = 200;

/** M6: the interval of the rate of these lines. */
export function intervalOf(
  question: Question,
  { sold, returned, lines }: { sold: number; returned: number; lines: readonly LedgerLine[] },
): { low: number; high: number } | null {
  return wilsonOf(returned, sold, effectOf(question, lines, [question.params]));
}

/** M6: the design effect for these lines of what `named` selects, of several selections together. Parts are known only for whole months. */
export function effectOf(
  question: Question,
  lines: readonly LedgerLine[],
  named: readonly OracleParameters[],
  isWhole: (month: string) => boolean = () => true,
): number {
  const sold = lines.reduce((sum, line) => sum + line.sold, 0);
  if (sold === 0) return 1;
  let squares = 0;
  for (const [month, ofMonth] of Map.groupBy(lines, (line) => line.month)) {
    squares += isWhole(month) ? squaresOfMonth(question, ofMonth, named) : squaresOf(ofMonth);
  }
  return 1 + correlationOfRequest(question, named) * (squares / sold - 1);
}

/** M6: the correlation of the single category of what is named, else of the store, else 0. */
export function correlationOfRequest(
  question: Question,
  named: readonly OracleParameters[] = [question.params],
): number {
  const categories = new Set(named.flatMap((params) => categoriesOf(question, params)));
  const [category] = categories;
  const own =
    categories.size === 1 && typeof category === "string" ? correlationOf(question, category) : null;
  return own ?? correlationOf(question, null) ?? 0;
}

/** The sum of squared order sizes: exact for one part, an upper bound for several. */
function squaresOfMonth(
  { ledger }: Question,
  lines: readonly LedgerLine[],
  named: readonly OracleParameters[],
): number {
  const parts = [...Map.groupBy(lines, (line) => partOf(line, named)).values()].filter((part) =>
    part.some(({ sold }) => sold > 0),
  );
  if (parts.length < 2) return squaresOf(lines);
  const together = parts.reduce((sum, part) => sum + Math.sqrt(squaresOf(part)), 0) ** 2;
  const [{ vendor, product_group_type: type, product_group_key: key } = {}] = named;
  if (vendor === undefined || type === undefined || key === undefined) return together;
  const around = [{ vendor }, { product_group_type: type, product_group_key: key }].map((params) => {
    const selected = selectionOf(ledger, params, true);
    return squaresOf(ledger.lines.filter((line) => line.month === lines[0]?.month && selected?.holds(line)));
  });
  return Math.min(together, ...around);
}

/** The part of a line: for a SKU each listing, for a product or a vendor's products of a group each product and condition, else one part. */
function partOf(line: LedgerLine, [first = {}]: readonly OracleParameters[]): string {
  const { productGid, used, sku, counterpartSku, vendor, variantId } = line;
  if (first["sku"] !== undefined) {
    return JSON.stringify([
      sku,
      productGid,
      used,
      counterpartSku,
      productGid === null ? vendor : null,
      variantId,
    ]);
  }
  const isOfProducts = first["product_group_key"] !== undefined && first["vendor"] !== undefined;
  return first["product_gid"] !== undefined || isOfProducts ? JSON.stringify([productGid, used]) : "";
}

/** Units that an order gained on another day count as a separate order. */
function orderOf({ orderedDay, orderId }: LedgerLine): string {
  return `${orderedDay} ${orderId}`;
}

export function squaresOf(lines: readonly LedgerLine[]): number {
  const orders = [...Map.groupBy(lines, orderOf).values()];
  return orders.reduce((sum, order) => sum + order.reduce((units, { sold }) => units + sold, 0) ** 2, 0);
}

/** The categories of the selected products; null for none. */
function categoriesOf({ ledger }: Question, params: OracleParameters): (string | null)[] {
  const { products } = ledger.catalogue;
  const categoryOf = (gid: string | null): string | null =>
    products.find((product) => product.gid === gid)?.analyticsCategory ?? null;
  const sold = ledger.lines.filter((line) => line.sold > 0);
  const { sku, product_gid: gid, product_group_type: type, product_group_key: key, vendor } = params;
  if (sku !== undefined) {
    return sold.filter((line) => line.sku === sku).map((line) => categoryOf(line.productGid));
  }
  if (gid !== undefined) return [categoryOf(String(gid))];
  if (type === "analytics_category") return [String(key)];
  if (type === "family") {
    return products.filter(({ family }) => family === key).map((product) => product.analyticsCategory);
  }
  if (vendor === undefined) return [null];
  const loose = sold.filter((line) => line.productGid === null && line.vendor === vendor);
  return [
    ...products.filter((product) => product.vendor === vendor).map((product) => product.analyticsCategory),
    ...loose.map(() => null),
  ];
}

const correlations = new WeakMap<Question["ledger"], Map<string | null, number | null>>();

/** Kept by ledger, since every rate needs it. */
function correlationOf(question: Question, category: string | null): number | null {
  const known = correlations.get(question.ledger) ?? new Map<string | null, number | null>();
  correlations.set(question.ledger, known);
  const found = known.get(category);
  if (found !== undefined) return found;
  const correlation = correlationOfOrders(question, category);
  known.set(category, correlation);
  return correlation;
}

/** The correlation within orders, from 0 to 1, of a category or (null) the store; null if too few orders had a return. */
function correlationOfOrders({ store, ledger }: Question, category: string | null): number | null {
  const windowDays = store.settings.primary_window_days;
  const last = latestCompleteMonth(store, windowDays);
  const first = elevenMonthsBefore(last);
  const inCategory = new Set(
    ledger.catalogue.products.filter((one) => one.analyticsCategory === category).map(({ gid }) => gid),
  );
  const orders = new Map<string, { x: number; y: number }>();
  for (const line of ledger.lines) {
    if (line.sold === 0 || line.month < first || line.month > last) continue;
    if (category !== null && !(line.productGid !== null && inCategory.has(line.productGid))) continue;
    const key = orderOf(line);
    const order = orders.get(key) ?? { x: 0, y: 0 };
    order.x += line.sold;
    order.y += line.returned.filter(({ lagDays }) => lagDays <= windowDays).length;
    orders.set(key, order);
  }
  const all = [...orders.values()];
  if (all.filter(({ y }) => y > 0).length < FEWEST) return null;
  const sold = all.reduce((sum, { x }) => sum + x, 0);
  const rate = all.reduce((sum, { y }) => sum + y, 0) / sold;
  const size = all.reduce((sum, { x }) => sum + x ** 2, 0) / sold;
  if (rate === 1 || size === 1) return 0;
  let squares = 0;
  for (const { x, y } of all) squares += (y - rate * x) ** 2;
  const variance = ((all.length / (all.length - 1)) * squares) / sold ** 2;
  const effect = variance / ((rate * (1 - rate)) / sold);
  return Math.min(1, Math.max(0, (effect - 1) / (size - 1)));
}
