import { dayOf, dayText } from "./calendar.ts";
import type {
  catalogueDraft,
  Draft,
  eventDraft,
  labelDraft,
  lineDraft,
  refundDraft,
  returnDraft,
} from "./drafts.ts";
import { FIRST_MONTH, PRODUCT_IDS } from "./drafts.ts";
import type {
  OrderLineRow,
  OracleProduct,
  RefundRow,
  ReturnLabelRow,
  ReturnRow,
  OracleSaleEvent,
  OracleVariant,
} from "./store.ts";

/** The day that the drafts count from. */
export const FIRST_DAY = dayOf(`${FIRST_MONTH}-01`);

/** A return of several orders, when the store has one. */
const SHARED_RETURN = "r-shared";

export function lineAt(lines: readonly OrderLineRow[], index: number): OrderLineRow {
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

function amountOrNone(cents: number | undefined): string | undefined {
  return cents === undefined ? undefined : amountText(cents);
}

export function productRows(draft: Draft<typeof catalogueDraft>): OracleProduct[] {
  const { vendors, families, categories, isDescribed } = draft;
  const rows = PRODUCT_IDS.map((product_id, index) => ({
    product_id,
    title: `Product ${product_id}`,
    ...given("vendor", vendors[index]),
    ...given("family", families[index]),
    ...given("analytics_category", categories[index]),
  }));
  return rows.filter((_, index) => isDescribed[index]);
}

/** Size and colour of each variant; null = it has none. The size option of v7 has another name. */
const OPTIONS = [
  ["S", "Red"],
  ["M", "red"],
  ["10", "Blue"],
  ["s", null],
  ["9.5", null],
  [null, "Blue"],
  ["10", "Red"],
  ["m", "Blue"],
  [null, null],
] as const;

export function variantRows({ costs }: Draft<typeof catalogueDraft>): OracleVariant[] {
  const rows: OracleVariant[] = [
    { variant_id: "v1", product_id: "p1", sku: "S1", condition: "new" },
    { variant_id: "v2", product_id: "p1", sku: "S2" },
    { variant_id: "v3", product_id: "p2", sku: "S3" },
    { variant_id: "v4", product_id: "p1", sku: "U1", condition: "used", counterpart_sku: "S1" },
    { variant_id: "v5", product_id: "p2", sku: "U2", condition: "used" },
    { variant_id: "v6", product_id: "p2" },
    { variant_id: "v7", product_id: "p3", sku: "S3", condition: "used", counterpart_sku: "S1" },
    { variant_id: "v8", product_id: "p1", condition: "used", counterpart_sku: "S1" },
    { variant_id: "v9", product_id: "p3", sku: "S2" },
  ];
  return rows.map((row, index) => {
    const cents = costs[index];
    const [size, colour] = OPTIONS[index] as (typeof OPTIONS)[number];
    return {
      ...row,
      ...given("unit_cost", cents === undefined ? undefined : amountText(cents)),
      ...(size === null ? {} : { option1_name: sizeNameOf(index), option1_value: size }),
      ...(colour === null ? {} : { option2_name: "Colour", option2_value: colour }),
    };
  });
}

function sizeNameOf(index: number): string {
  if (index === 6) return "Width";
  return index % 2 === 0 ? "Size" : "SIZE";
}

export function lineRow(draft: Draft<typeof lineDraft>, index: number): OrderLineRow {
  const ordered_at = textOf(draft.day, draft.clock);
  const changes = draft.changes.map(
    ({ lag, clock, units, cause }) =>
      `${textOf(draft.day + Math.max(0, lag), clock)} ${units > 0 ? "+" : ""}${units} ${cause}`,
  );
  const added = draft.changes.some(({ units }) => units > 1);
  return {
    order_id: `o${draft.order}`,
    line_id: `o${draft.order}-${index}`,
    ordered_at,
    ...draft.words,
    units: Math.max(draft.units, added ? 0 : 1),
    ...given("removed_units", draft.removed === 0 ? undefined : draft.removed),
    ...given("changes", changes.length === 0 ? undefined : changes.join("; ")),
    ...given(
      "reversals",
      draft.reversals?.map(([days, units]) => `${textOf(draft.day + days, draft.clock)} ${units}`).join("; "),
    ),
    ...given("unit_price", amountOrNone(draft.value.price)),
    ...given("unit_discount", amountOrNone(draft.value.discount)),
    ...given("sold_amount", amountOrNone(draft.value.amount)),
    ...given("test", draft.drawback === "test" ? true : undefined),
    ...given("gift_card", draft.drawback === "gift_card" ? true : undefined),
    ...given("canceled_at", draft.drawback === "canceled" ? ordered_at : undefined),
  };
}

export function returnRow(draft: Draft<typeof returnDraft>, line: OrderLineRow): ReturnRow {
  return {
    return_id: draft.number === 2 ? SHARED_RETURN : `${line.order_id}-r${draft.number}`,
    order_id: line.order_id,
    line_id: line.line_id,
    status: draft.status,
    units: draft.units,
    ...given("processed_units", draft.processed),
    ...given("closed_at", draft.status === "CLOSED" ? after(line, draft.lag, draft.clock) : undefined),
    ...given("exchanged_units", draft.exchanged === 0 ? undefined : draft.exchanged),
    ...given("kept_amount", draft.exchanged === 0 ? undefined : amountText(draft.keptCents)),
    ...given("reason", draft.reason === "" ? undefined : draft.reason),
  };
}

export function refundRow(draft: Draft<typeof refundDraft>, line: OrderLineRow): RefundRow {
  const returnIds = {
    no: undefined,
    first: `${line.order_id}-r0`,
    second: `${line.order_id}-r1`,
    shared: SHARED_RETURN,
    unknown: "r-unknown",
  };
  return {
    refund_id: `f${draft.number}`,
    order_id: line.order_id,
    line_id: line.line_id,
    refunded_at: after(line, draft.lag, draft.clock),
    units: Math.min(draft.units, Math.max(1, line.units)),
    subtotal: amountText(draft.cents),
    ...given("as_stated", draft.cents < 0 ? true : undefined),
    ...given("restock_type", draft.restock),
    ...given("return_id", returnIds[draft.linked as keyof typeof returnIds]),
  };
}

export function labelRow(draft: Draft<typeof labelDraft>, line: OrderLineRow, index: number): ReturnLabelRow {
  const namesOrder = ["order", "both", "unknown return"].includes(draft.target);
  const ownReturn = `${line.order_id}-r0`;
  const returnIds = new Map([
    ["return", ownReturn],
    ["both", ownReturn],
    ["shared return", SHARED_RETURN],
    ["unknown return", "r-unknown"],
    ["nothing known", "r-unknown"],
  ]);
  const charged_at = after(line, draft.lag, "T12:00:00Z");
  return {
    label_id: `b${index}`,
    ...given("order_id", namesOrder ? line.order_id : undefined),
    ...given("return_id", returnIds.get(draft.target)),
    charged_at,
    amount: amountText(draft.cents),
    ...given("currency", draft.currency),
    ...given("voided_at", draft.isVoided ? charged_at : undefined),
  };
}

export function eventRow(draft: Draft<typeof eventDraft>, index: number): OracleSaleEvent {
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
