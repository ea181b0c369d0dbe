import fc from "fast-check";
import { dayOf, dayText } from "./calendar.ts";
import type {
  OrderLineRow,
  ProductRow,
  RefundRow,
  RestockType,
  ReturnLabelRow,
  ReturnRow,
  ReturnStatus,
  SaleEventRow,
  Store,
  VariantRow,
} from "./store.ts";

/** Orders lie in these months, over two turns of the year; a request may ask for one more on either side. */
export const FIRST_MONTH = "2024-11";
export const LAST_MONTH = "2026-01";
const FIRST_DAY = dayOf(`${FIRST_MONTH}-01`);
const DAYS = 450;

/** What a line says of what was sold. */
const LINE_WORDS: readonly Pick<OrderLineRow, "product_id" | "variant_id" | "sku">[] = [
  { product_id: "p1", variant_id: "v1", sku: "S1" },
  { product_id: "p1", variant_id: "v2", sku: "S2" },
  { product_id: "p2", variant_id: "v3", sku: "S3" },
  { product_id: "p1", variant_id: "v4", sku: "U1" },
  { product_id: "p2", variant_id: "v5", sku: "U2" },
  { product_id: "p2", variant_id: "v6" },
  { variant_id: "v1" },
  { product_id: "p3" },
  { product_id: "ghost", sku: "GHOST" },
  { sku: "LOOSE" },
  {},
];

const oneOf = <Value>(...values: Value[]): fc.Arbitrary<Value> => fc.constantFrom(...values);
const often = <Value>(common: Value, ...rare: Value[]): fc.Arbitrary<Value> =>
  fc.oneof({ arbitrary: fc.constant(common), weight: 6 }, { arbitrary: oneOf(...rare), weight: 1 });

/** An instant some days after the first one, with one of several offsets; near midnight now and then. */
const clock = oneOf(
  "T12:00:00Z",
  "T00:00:00Z",
  "T23:59:59Z",
  "T23:30:00-05:00",
  "T00:30:00+02:00",
  "T12:00:00Z",
);
const lag = fc.oneof(oneOf(-1, 0, 14, 29, 30, 31, 44, 45, 46, 89, 90, 91), fc.integer({ min: 0, max: 130 }));
const lineIndex = fc.nat({ max: 11 });
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined, freq: 2 });

const lineDraft = fc.record({
  order: fc.nat({ max: 4 }),
  words: oneOf(...LINE_WORDS),
  day: fc.nat({ max: DAYS }),
  clock,
  units: fc.integer({ min: 1, max: 6 }),
  removed: often(0, 1, 2),
  drawback: often("none", "test", "canceled", "gift_card"),
});

const returnDraft = fc.record({
  line: lineIndex,
  number: fc.nat({ max: 2 }),
  status: oneOf<ReturnStatus>("CLOSED", "CLOSED", "CLOSED", "REQUESTED", "OPEN", "DECLINED", "CANCELED"),
  units: fc.integer({ min: 1, max: 4 }),
  processed: maybe(fc.nat({ max: 4 })),
  lag,
  clock,
  reason: oneOf("too_small", "too_small", "defect", "", "refund_only"),
});

const refundDraft = fc.record({
  line: lineIndex,
  number: fc.nat({ max: 3 }),
  units: fc.nat({ max: 3 }),
  cents: fc.nat({ max: 9_999 }),
  restock: oneOf<RestockType | undefined>(
    "RETURN",
    "RETURN",
    "NO_RESTOCK",
    "LEGACY_RESTOCK",
    "CANCEL",
    undefined,
  ),
  linked: oneOf("no", "no", "first", "second", "unknown"),
  lag,
  clock,
});

const labelDraft = fc.record({
  line: lineIndex,
  target: oneOf("return", "order", "both", "unknown return", "nothing known", "nothing"),
  lag,
  cents: fc.integer({ min: 1, max: 1_200 }),
  currency: fc.oneof(
    { arbitrary: oneOf(undefined, "EUR"), weight: 40 },
    { arbitrary: fc.constant("USD"), weight: 1 },
  ),
  isVoided: often(false, true),
});

const eventDraft = fc.record({
  day: fc.nat({ max: DAYS }),
  length: fc.integer({ min: 1, max: 40 }),
  skus: oneOf(undefined, "S1;U1", "S2", "S1;S3;GONE"),
});

const catalogueDraft = fc.record({
  families: fc.tuple(...["p1", "p2", "p3"].map(() => oneOf<string | undefined>("Tops", "Shoes", undefined))),
  categories: fc.tuple(
    ...["p1", "p2", "p3"].map(() => oneOf<string | undefined>("Tops", "Outdoor", undefined)),
  ),
  costs: fc.tuple(...["v1", "v2", "v3", "v4", "v5", "v6"].map(() => maybe(fc.integer({ min: 1, max: 900 })))),
});

type Draft<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;

/** A random store; small, so that rules meet. */
export const randomStore: fc.Arbitrary<Store> = fc
  .record({
    primary: oneOf(30, 30, 45, 7),
    minSold: fc.integer({ min: 1, max: 4 }),
    card: fc.integer({ min: 1, max: 4 }),
    asOf: fc.integer({ min: 120, max: DAYS + 130 }),
    catalogue: catalogueDraft,
    lines: fc.array(lineDraft, { minLength: 4, maxLength: 14 }),
    returns: fc.array(returnDraft, { maxLength: 14 }),
    refunds: fc.array(refundDraft, { maxLength: 14 }),
    labels: fc.option(fc.array(labelDraft, { minLength: 1, maxLength: 8 }), { nil: undefined, freq: 4 }),
    events: fc.array(eventDraft, { maxLength: 3 }),
  })
  .map((draft) => {
    const lines = draft.lines.map(lineRow);
    return {
      settings: {
        currency_code: "EUR",
        primary_window_days: draft.primary,
        min_sold_units: draft.minSold,
        visible_card_size: draft.card,
        full_leaderboards: true,
      },
      as_of: `${dayText(FIRST_DAY + draft.asOf)}T00:00:00Z`,
      files: {
        products: productRows(draft.catalogue),
        variants: variantRows(draft.catalogue),
        order_lines: lines,
        returns: draft.returns.map((entry) => returnRow(entry, lineAt(lines, entry.line))),
        refunds: draft.refunds.map((entry) => refundRow(entry, lineAt(lines, entry.line))),
        ...(draft.labels === undefined
          ? {}
          : {
              return_labels: draft.labels.map((entry, index) =>
                labelRow(entry, lineAt(lines, entry.line), index),
              ),
            }),
        sale_events: draft.events.map(eventRow),
      },
    };
  });

function lineAt(lines: readonly OrderLineRow[], index: number): OrderLineRow {
  return lines[index % lines.length] as OrderLineRow;
}

function textOf(day: number, time: string): string {
  return dayText(FIRST_DAY + day) + time;
}

function after(line: OrderLineRow, lagDays: number, time: string): string {
  return dayText(dayOf(line.ordered_at) + lagDays) + time;
}

function amountText(cents: number): string {
  return (cents / 100).toFixed(2);
}

function productRows({ families, categories }: Draft<typeof catalogueDraft>): ProductRow[] {
  return ["p1", "p2", "p3"].map((product_id, index) => ({
    product_id,
    title: `Product ${product_id}`,
    vendor: index === 0 ? "Acme" : "Best",
    ...given("family", families[index]),
    ...given("analytics_category", categories[index]),
  }));
}

function variantRows({ costs }: Draft<typeof catalogueDraft>): VariantRow[] {
  const rows: VariantRow[] = [
    { variant_id: "v1", product_id: "p1", sku: "S1", condition: "new" },
    { variant_id: "v2", product_id: "p1", sku: "S2" },
    { variant_id: "v3", product_id: "p2", sku: "S3" },
    { variant_id: "v4", product_id: "p1", sku: "U1", condition: "used", counterpart_sku: "S1" },
    { variant_id: "v5", product_id: "p2", sku: "U2", condition: "used" },
    { variant_id: "v6", product_id: "p2" },
  ];
  return rows.map((row, index) => {
    const cents = costs[index];
    return { ...row, ...given("unit_cost", cents === undefined ? undefined : amountText(cents)) };
  });
}

function lineRow(draft: Draft<typeof lineDraft>, index: number): OrderLineRow {
  const ordered_at = textOf(draft.day, draft.clock);
  return {
    order_id: `o${draft.order}`,
    line_id: `o${draft.order}-${index}`,
    ordered_at,
    ...draft.words,
    units: draft.units,
    ...given("removed_units", draft.removed === 0 ? undefined : draft.removed),
    ...given("test", draft.drawback === "test" ? true : undefined),
    ...given("gift_card", draft.drawback === "gift_card" ? true : undefined),
    ...given("canceled_at", draft.drawback === "canceled" ? ordered_at : undefined),
  };
}

function returnRow(draft: Draft<typeof returnDraft>, line: OrderLineRow): ReturnRow {
  return {
    return_id: `${line.order_id}-r${draft.number}`,
    order_id: line.order_id,
    line_id: line.line_id,
    status: draft.status,
    units: draft.units,
    ...given("processed_units", draft.processed),
    ...given("closed_at", draft.status === "CLOSED" ? after(line, draft.lag, draft.clock) : undefined),
    ...given("reason", draft.reason === "" ? undefined : draft.reason),
  };
}

function refundRow(draft: Draft<typeof refundDraft>, line: OrderLineRow): RefundRow {
  const returnIds = {
    no: undefined,
    first: `${line.order_id}-r0`,
    second: `${line.order_id}-r1`,
    unknown: "r-unknown",
  };
  return {
    refund_id: `f${draft.number}`,
    order_id: line.order_id,
    line_id: line.line_id,
    refunded_at: after(line, draft.lag, draft.clock),
    units: Math.min(draft.units, line.units),
    subtotal: amountText(draft.cents),
    ...given("restock_type", draft.restock),
    ...given("return_id", returnIds[draft.linked as keyof typeof returnIds]),
  };
}

function labelRow(draft: Draft<typeof labelDraft>, line: OrderLineRow, index: number): ReturnLabelRow {
  const namesReturn = draft.target === "return" || draft.target === "both";
  const namesOrder = ["order", "both", "unknown return"].includes(draft.target);
  const isUnknown = draft.target === "unknown return" || draft.target === "nothing known";
  const charged_at = after(line, draft.lag, "T12:00:00Z");
  return {
    label_id: `b${index}`,
    ...given("order_id", namesOrder ? line.order_id : undefined),
    ...given("return_id", namesReturn ? `${line.order_id}-r0` : isUnknown ? "r-unknown" : undefined),
    charged_at,
    amount: amountText(draft.cents),
    ...given("currency", draft.currency),
    ...given("voided_at", draft.isVoided ? charged_at : undefined),
  };
}

function eventRow(draft: Draft<typeof eventDraft>, index: number): SaleEventRow {
  return {
    slug: `event-${index}`,
    label: `Event ${index}`,
    starts_on: dayText(FIRST_DAY + draft.day),
    ends_on: dayText(FIRST_DAY + draft.day + draft.length - 1),
    ...given("skus", draft.skus),
  };
}

/** The member alone, or nothing where there is no value. */
function given<Name extends string, Value>(name: Name, value: Value | undefined): { [name in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { [name in Name]?: Value });
}
