import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { buildSchema, execute, getNamedType, getNullableType, isEnumType } from "graphql";
import { isLeafType, isListType, isNullableType, parse, validate } from "graphql";
import type { GraphQLAbstractType, GraphQLResolveInfo } from "graphql";
import { dayToText } from "../src/lib/month.ts";
import { projectOrder } from "../src/metrics/classify.ts";
import { mapOrder } from "../src/sync/connectors/shopify/map/map-order.ts";
import {
  toAgreement,
  toFulfillment,
  toLine,
  toOrder,
  toRefund,
  toReturn,
  toReturnLine,
  toSale,
} from "../src/sync/connectors/shopify/map/records.ts";
import { notesOf } from "../src/sync/connectors/shopify/connector.ts";
import { readBulkQuery } from "../tools/simulators/shopify/bulk/rules.ts";
import {
  BULK_DOCUMENTS,
  DOCUMENTS,
  bulkProductsDocument,
  productsDocument,
} from "../src/sync/connectors/shopify/api/documents.ts";

type RestockType = Parameters<typeof toRefund>[1][number]["restockType"];
type ReturnStatus = Parameters<typeof toReturn>[0]["status"];

/** An order as the platform shows it, shortened; days without a time mean noon. */
type GoldenOrder = {
  about: string;
  /** Where it is documented, or who reported it. */
  source: string;
  /** Why it counts this way, computed by hand. */
  explain: string;
  order?: { processedAt?: string; currencyCode?: string; taxesIncluded?: boolean };
  /** quantity, currentQuantity, and "gift card", "tip" or "no shipping". */
  lines: Record<string, [quantity: number, currentQuantity: number, kind?: string]>;
  agreements?: [
    at: string,
    type: string,
    about: string | null,
    sales: [line: string | null, action: string, quantity: number | null, total: string, tax?: string][],
  ][];
  returns?: [
    id: string,
    status: ReturnStatus,
    createdAt: string,
    closedAt: string | null,
    lines: [line: string, quantity: number, processed: number][],
  ][];
  refunds?: [
    id: string,
    at: string,
    returnId: string | null,
    lines: [line: string, quantity: number, restockType: RestockType, subtotal: string, tax?: string][],
  ][];
  fulfillments?: [at: string, lines: [line: string, units: number][], canceledAt?: string][];
  expect: {
    lines: string[];
    events: string[];
    exchanges?: string[];
    amounts?: string[];
    notes?: string[];
    /** M20: in minor units, by line. */
    values?: string[];
    /** M24: booked beyond what is returned on the day. */ booked?: string[];
  };
};

const orders = JSON.parse(
  readFileSync(new URL("shopify-orders.json", import.meta.url), "utf8"),
) as GoldenOrder[];

for (const golden of orders) {
  test(`M1, M2, M9: ${golden.about}`, () => {
    const order = shopifyOrder(golden);
    const { part, anomalies } = mapOrder(order, "EUR");
    const again = {
      ...order,
      agreements: [...order.agreements, ...order.agreements].toReversed(),
      sales: [...order.sales, ...order.sales].toReversed(),
    };
    const repeated = mapOrder(again, "EUR");
    assert.deepEqual(repeated.part, part, "entries that come twice, in another order, count once");
    assert.equal(repeated.anomalies.repeatedEntries, order.agreements.length + order.sales.length);
    const facts = projectOrder({ orderId: "o", ...part });
    const { lines, events, exchanges = [], amounts = [], notes = [], booked = [] } = golden.expect;
    assert.deepEqual(
      {
        lines: facts.lines.map(
          (line) => `${line.lineId} ${dayToText(line.orderedOnDay)}: ${line.soldUnits} sold`,
        ),
        events: facts.events.map(
          (event) =>
            `${event.lineId} ${dayToText(event.occurredOnDay)} lag ${event.lagDays}: ` +
            `${event.returnedUnits} returned, ${event.refundedUnits} refunded, ${event.refundMinor}`,
        ),
        exchanges: part.returns
          .filter((row) => (row.exchangedUnits ?? 0) > 0)
          .map(
            (row) => `${row.returnId} ${row.lineId}: ${row.exchangedUnits} instead, ${row.keptMinor} kept`,
          ),
        amounts: (part.amountRefunds ?? []).map(
          (row) => `${row.refundedAt.slice(0, 10)}: ${row.amountMinor}`,
        ),
        notes: notesOf(anomalies),
        booked: facts.differences.map(
          ({ lineId, bookedOnDay, step, units }) => `${lineId} ${dayToText(bookedOnDay)}: ${units} ${step}`,
        ),
      },
      { lines, events, exchanges, amounts, notes, booked },
      golden.explain,
    );
    const values = facts.lines.map((line) => `${line.lineId}: ${line.soldMinor}`);
    if (golden.expect.values !== undefined) assert.deepEqual(values, golden.expect.values, golden.explain);
  });
}

function shopifyOrder({ order = {}, lines, ...golden }: GoldenOrder): Parameters<typeof mapOrder>[0] {
  const { agreements = [], returns = [], refunds = [], fulfillments = [] } = golden;
  const ids = agreements.map(([, type], index) => `${type}-${String(index).padStart(2, "0")}`);
  const sales = agreements.flatMap(([, , , rows], index) =>
    rows.map(([line, actionType, quantity, total, tax = "0.00"], number) =>
      toSale(
        {
          __typename: line === null ? "AdjustmentSale" : "ProductSale",
          id: `${ids[index]}-${number}`,
          actionType,
          lineType: line === null ? "ADJUSTMENT" : "PRODUCT",
          quantity,
          totalAmount: money(total),
          totalTaxAmount: money(tax),
          ...(line === null ? {} : { lineItem: { id: line } }),
        },
        ids[index] as string,
      ),
    ),
  );
  return {
    order: toOrder({
      id: "o",
      name: "#1001",
      processedAt: noon(order.processedAt ?? "2026-01-10"),
      cancelledAt: null,
      test: false,
      currencyCode: order.currencyCode ?? "EUR",
      taxesIncluded: order.taxesIncluded ?? false,
      tags: [],
      sourceName: "web",
      displayFinancialStatus: "PAID",
      originalTotalPriceSet: money("30.00"),
      totalTipReceivedSet: money("0.00"),
    }),
    lines: Object.entries(lines).map(([id, [quantity, currentQuantity, kind]]) =>
      toLine({
        id,
        title: id,
        quantity,
        currentQuantity,
        requiresShipping: kind !== "no shipping",
        isGiftCard: kind === "gift card",
        originalUnitPriceSet: money("10.00"),
      }),
    ),
    returns: returns.map(([id, status, createdAt, closedAt]) =>
      toReturn({
        id,
        status,
        createdAt: noon(createdAt),
        closedAt: closedAt === null ? null : noon(closedAt),
      }),
    ),
    returnLines: returns.flatMap(([returnId, , , , rows]) =>
      rows.map(([line, quantity, processedQuantity]) =>
        toReturnLine(
          {
            __typename: "ReturnLineItem",
            id: `${returnId}-${line}`,
            quantity,
            processedQuantity,
            fulfillmentLineItem: { lineItem: { id: line } },
          },
          returnId,
        ),
      ),
    ),
    refunds: refunds.map(([id, at, returnId, rows]) =>
      toRefund(
        {
          id,
          createdAt: noon(at),
          processedAt: noon(at),
          return: returnId === null ? null : { id: returnId },
        },
        rows.map(([line, quantity, restockType, subtotal, tax = "0.00"], number) => ({
          id: `${id}-${number}`,
          quantity,
          restockType,
          lineItem: { id: line },
          subtotalSet: money(subtotal),
          totalTaxSet: money(tax),
        })),
      ),
    ),
    fulfillments: fulfillments.flatMap(([at, rows, canceledAt], index) => {
      const status = canceledAt === undefined ? "SUCCESS" : "CANCELLED";
      const sent = rows.map(([line, quantity]) => ({ quantity, lineItem: { id: line } }));
      const times = { createdAt: noon(at), updatedAt: noon(canceledAt ?? at) };
      return toFulfillment({ id: `sent-${index}`, status, ...times }, sent) ?? [];
    }),
    agreements: agreements.map(([at, type, about], index) =>
      toAgreement({
        __typename: type,
        id: ids[index] as string,
        happenedAt: noon(at),
        ...(type === "RefundAgreement" ? { refund: { id: about ?? "" } } : {}),
        ...(type === "ReturnAgreement" ? { return: { id: about ?? "" } } : {}),
      }),
    ),
    sales: sales.flatMap((sale) => (sale !== null && "sale" in sale ? [sale.sale] : [])),
    tipLineIds: Object.keys(lines).filter((id) => lines[id]?.[2] === "tip"),
    trackings: [],
  };
}

function noon(day: string): string {
  return day.includes("T") ? day : `${day}T12:00:00Z`;
}

function money(amount: string) {
  return { shopMoney: { amount } };
}

const schema = buildSchema(
  readFileSync(new URL("../tools/simulators/shopify/admin-2026-10.graphql", import.meta.url), "utf8"),
);

const METAFIELD = { namespace: "custom", key: "size_chart" };
const BULK = [...Object.values(BULK_DOCUMENTS), bulkProductsDocument(null), bulkProductsDocument(METAFIELD)];
const PAGES = [...Object.values(DOCUMENTS), productsDocument(null), productsDocument(METAFIELD)];

for (const { name, text } of [...PAGES, ...BULK]) {
  test(`the document ${name} is valid in the platform's schema and names no customer`, () => {
    assert.deepEqual(validate(schema, parse(text)), []);
    assert.doesNotMatch(text, /customer|email|phone|address|displayName|note\b/i);
  });
}

/** Values of the platform's scalars. */
const SCALARS: Readonly<Record<string, unknown>> = {
  Boolean: true,
  DateTime: "2026-01-01T00:00:00Z",
  Decimal: "1.0",
  Int: 1,
  UnsignedInt64: "1",
};

/** An answer to a document, with null for every value that the schema lets be null, and for such objects too if asked. */
function emptiestAnswer(text: string, withObjects: boolean): unknown {
  const fieldResolver = (_source: unknown, _args: unknown, _context: unknown, info: GraphQLResolveInfo) => {
    const { returnType, path } = info;
    const named = getNamedType(returnType);
    const isRoot = path.prev === undefined;
    if (isNullableType(returnType) && !isRoot && (isLeafType(named) || !withObjects)) return null;
    const value = isEnumType(named)
      ? named.getValues()[0]?.value
      : isLeafType(named)
        ? (SCALARS[named.name] ?? "x")
        : {};
    return isListType(getNullableType(returnType)) ? [value] : value;
  };
  /** The type that the document asks about. */
  const typeResolver = (_value: unknown, _context: unknown, _info: unknown, type: GraphQLAbstractType) =>
    schema.getPossibleTypes(type).find(({ name }) => text.includes(`... on ${name} `))?.name ??
    schema.getPossibleTypes(type)[0]?.name;
  const variableValues = { id: "x", ids: ["x"], query: "x", topic: "ORDERS_UPDATED", subscription: {} };
  const found = execute({ schema, document: parse(text), variableValues, fieldResolver, typeResolver });
  const { data, errors } = found as Exclude<typeof found, Promise<unknown>>;
  assert.equal(errors, undefined);
  return JSON.parse(JSON.stringify(data));
}

for (const { name, text, read } of [...PAGES, ...BULK]) {
  test(`an answer to ${name} is read with null wherever the platform's schema lets it be`, () => {
    for (const withObjects of [true, false]) read(emptiestAnswer(text, withObjects));
  });
}

for (const { name, text } of BULK) {
  test(`the document ${name} follows the rules of bulk operations`, () =>
    assert.equal(readBulkQuery(schema, text).root.kind, "Field"));
}

test("the documents of products contain the family's metafield only if it is configured", () => {
  for (const documentOf of [bulkProductsDocument, productsDocument]) {
    assert.match(
      documentOf(METAFIELD).text,
      /metafield\(namespace: "custom", key: "size_chart"\) \{ value \}/,
    );
    assert.doesNotMatch(documentOf(null).text, /metafield/i);
  }
});
