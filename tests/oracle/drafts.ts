import fc from "fast-check";
import type { OrderLineRow, OracleRestockType, OracleReturnStatus } from "./store.ts";

/** Orders are in these months, over two turns of the year; a request may include one more month on either side. */
export const FIRST_MONTH = "2024-11";
export const LAST_MONTH = "2026-01";
export const DAYS = 450;

/** Products that may have a row. */
export const PRODUCT_IDS = ["p1", "p2", "p3", "p4"];

/** Members of a line that describe what was sold. */
const LINE_WORDS: readonly Pick<OrderLineRow, "product_id" | "variant_id" | "sku" | "vendor">[] = [
  { product_id: "p1", variant_id: "v1", sku: "S1" },
  { product_id: "p1", variant_id: "v2", sku: "S2" },
  { product_id: "p2", variant_id: "v3", sku: "S3" },
  { product_id: "p1", variant_id: "v4", sku: "U1" },
  { product_id: "p2", variant_id: "v5", sku: "U2" },
  { product_id: "p2", variant_id: "v6" },
  { variant_id: "v6", sku: "ODD" },
  { variant_id: "v1" },
  { variant_id: "v-unknown", sku: "S1" },
  { product_id: "p3" },
  { product_id: "ghost", sku: "GHOST" },
  { product_id: "ghost", vendor: "Ghostly" },
  { sku: "LOOSE" },
  { sku: "LOOSE", vendor: "Solo" },
  { vendor: "Solo" },
  { product_id: "p3", sku: "S1" },
  { product_id: "p3", sku: "GHOST" },
  { variant_id: "v7" },
  { variant_id: "v8" },
  { product_id: "p3", variant_id: "v9", sku: "S2" },
  { product_id: "p4", sku: "S1" },
  { product_id: "p4", variant_id: "v8", vendor: "Solo" },
  { variant_id: "v4", sku: "S1" },
  { sku: "U1" },
  { product_id: "p4", sku: "LOOSE", vendor: "Acme" },
  { product_id: "ghost", sku: "S1", vendor: "other" },
  { sku: "other", vendor: "other" },
  {},
];

export const oneOf = <Value>(...values: Value[]): fc.Arbitrary<Value> => fc.constantFrom(...values);
const often = <Value>(common: Value, ...rare: Value[]): fc.Arbitrary<Value> =>
  fc.oneof({ arbitrary: fc.constant(common), weight: 6 }, { arbitrary: oneOf(...rare), weight: 1 });

const TIMES = ["T12:00:00Z", "T00:00:00Z", "T23:59:59Z", "T23:30:00-05:00", "T00:30:00+02:00", "T12:00:00Z"];
/** An instant some days after the first one, with one of several UTC offsets; sometimes near midnight. */
export const clock = oneOf(...TIMES);
const lag = fc.oneof(oneOf(-1, 0, 14, 29, 30, 31, 44, 45, 46, 89, 90, 91), fc.integer({ min: 0, max: 130 }));
/** Half of all events are of two lines, so that events and labels coincide. */
const lineIndex = fc.oneof(fc.nat({ max: 11 }), fc.nat({ max: 1 }));
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined, freq: 2 });

export const lineDraft = fc.record({
  order: fc.nat({ max: 4 }),
  words: oneOf(...LINE_WORDS),
  /** Half of the lines are in two months. */
  day: fc.oneof(fc.nat({ max: DAYS }), fc.integer({ min: 210, max: 260 })),
  clock,
  units: fc.oneof(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 1, max: 30 })),
  removed: often(0, 1, 2),
  /** Units that are added and removed later. */
  changes: fc.array(
    fc.record({ lag, clock, units: oneOf(1, 1, 2, 3, -1, -1, -2), cause: oneOf("edit", "exchange") }),
    { maxLength: 4 },
  ),
  /** Days after the order and units, if the source states reversals; below 0 restored. */
  reversals: fc.option(
    fc.array(fc.tuple(fc.nat({ max: 100 }), oneOf(1, 1, 2, 3, -1)), { minLength: 1, maxLength: 2 }),
    {
      nil: undefined,
      freq: 1,
    },
  ),
  /** How the value is given, in cents, if at all. */
  value: fc.oneof(
    { arbitrary: fc.record({ price: fc.integer({ min: 0, max: 9_999 }) }), weight: 12 },
    {
      arbitrary: fc.record({ price: fc.integer({ min: 500, max: 9_999 }), discount: fc.nat({ max: 500 }) }),
      weight: 12,
    },
    { arbitrary: fc.record({ amount: fc.nat({ max: 99_999 }) }), weight: 12 },
    { arbitrary: fc.constant({}), weight: 1 },
  ) as fc.Arbitrary<{ price?: number; discount?: number; amount?: number }>,
  drawback: often("none", "test", "canceled", "gift_card"),
});

export const returnDraft = fc.record({
  line: lineIndex,
  number: oneOf(0, 0, 1, 2, 3, 4),
  status: oneOf<OracleReturnStatus>(
    "CLOSED",
    "CLOSED",
    "CLOSED",
    "REQUESTED",
    "OPEN",
    "DECLINED",
    "CANCELED",
  ),
  units: fc.integer({ min: 1, max: 4 }),
  processed: maybe(fc.nat({ max: 4 })),
  lag,
  clock,
  exchanged: often(0, 1, 2),
  keptCents: fc.nat({ max: 4_000 }),
  reason: oneOf(
    "too_small",
    "too_small",
    "defect",
    "",
    "refund_only",
    "unspecified",
    " refund_only ",
    "too_small",
    "Too Large",
    "size-too-large",
    "not_as_described",
    "STYLE",
    "wrong-item",
    "late",
  ),
});

export const refundDraft = fc.record({
  line: lineIndex,
  number: fc.nat({ max: 7 }),
  units: fc.nat({ max: 3 }),
  /** Sometimes taken back. */
  cents: fc.oneof(
    { arbitrary: fc.nat({ max: 9_999 }), weight: 6 },
    { arbitrary: fc.integer({ min: -3_000, max: -1 }), weight: 1 },
  ),
  restock: oneOf<OracleRestockType | undefined>(
    "RETURN",
    "RETURN",
    "NO_RESTOCK",
    "LEGACY_RESTOCK",
    "CANCEL",
    undefined,
  ),
  linked: oneOf("no", "no", "first", "second", "shared", "unknown"),
  lag,
  clock,
});

export const labelDraft = fc.record({
  line: lineIndex,
  target: oneOf("return", "shared return", "order", "both", "unknown return", "nothing known", "nothing"),
  lag,
  /** Sometimes a credit. */
  cents: fc.oneof(
    { arbitrary: fc.integer({ min: 1, max: 1_200 }), weight: 6 },
    { arbitrary: fc.integer({ min: -400, max: -1 }), weight: 1 },
  ),
  currency: fc.oneof(
    { arbitrary: oneOf(undefined, "EUR"), weight: 40 },
    { arbitrary: fc.constant("USD"), weight: 1 },
  ),
  isVoided: often(false, true),
});

export const eventDraft = fc.record({
  day: fc.nat({ max: DAYS }),
  length: fc.integer({ min: 1, max: 40 }),
  skus: oneOf(undefined, "S1;U1", "S2", "S1;S3;GONE"),
});

export const catalogueDraft = fc.record({
  /** Whether a product has its own row, or is only known from variants and lines. */
  isDescribed: fc.tuple(...PRODUCT_IDS.map(() => often(true, false))),
  vendors: fc.tuple(...PRODUCT_IDS.map(() => oneOf<string | undefined>("Acme", "Best", "other", undefined))),
  families: fc.tuple(...PRODUCT_IDS.map(() => oneOf<string | undefined>("Tops", "Shoes", undefined))),
  categories: fc.tuple(...PRODUCT_IDS.map(() => oneOf<string | undefined>("Tops", "Outdoor", undefined))),
  costs: fc.tuple(
    ...["v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9"].map(() =>
      maybe(fc.integer({ min: 1, max: 900 })),
    ),
  ),
});

export type Draft<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;
