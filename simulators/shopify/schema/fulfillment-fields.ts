import { childNumber, gid, legacyId } from "../world/ids.ts";
import { unitsAmounts } from "../world/money.ts";
import { lineOf, sumOf } from "../world/units.ts";
import type { Fulfillment, Order } from "../world/types.ts";
import { listOf } from "./listing.ts";
import { isoTime, moneyBag, typeFields } from "./resolver.ts";
import type { ResolversByType, Source } from "./resolver.ts";
import { lineSource, orderSource } from "./sources.ts";

interface FulfillmentSource extends Source {
  order: Order;
  index: number;
  fulfillment: Fulfillment;
}

interface FulfillmentLineSource extends Source {
  order: Order;
  number: number;
  lineIndex: number;
  quantity: number;
}

export function fulfillmentSources(order: Order): FulfillmentSource[] {
  return order.fulfillments.map((fulfillment, index) => ({
    typeName: "Fulfillment",
    order,
    index,
    fulfillment,
  }));
}

/** A line of one of the order's fulfilments, by its place in it. */
export function fulfillmentLineSource(
  order: Order,
  [index, place]: readonly [index: number, place: number],
): FulfillmentLineSource {
  const line = order.fulfillments[index]?.lines[place];
  if (line === undefined)
    throw new Error(`order ${order.number} has no line ${place} of fulfilment ${index}`);
  const number = childNumber(childNumber(order.number, index), place);
  return { typeName: "FulfillmentLineItem", order, number, ...line };
}

function numberOf({ order, index }: FulfillmentSource): number {
  return childNumber(order.number, index);
}

export const fulfillmentFields: ResolversByType = {
  Fulfillment: typeFields<FulfillmentSource>({
    id: (source) => gid("Fulfillment", numberOf(source)),
    legacyResourceId: (source) => legacyId("Fulfillment", numberOf(source)),
    name: ({ order, index }) => `${order.name}-F${index + 1}`,
    order: ({ order }) => orderSource(order),
    createdAt: ({ fulfillment }) => isoTime(fulfillment.createdAt),
    updatedAt: ({ fulfillment }) => isoTime(fulfillment.updatedAt),
    status: ({ fulfillment }) => (fulfillment.canceled ? "CANCELLED" : "SUCCESS"),
    displayStatus: ({ fulfillment }) => (fulfillment.canceled ? "CANCELED" : "FULFILLED"),
    requiresShipping: ({ order, fulfillment }) =>
      fulfillment.lines.some(({ lineIndex }) => lineOf(order, lineIndex).requiresShipping),
    totalQuantity: ({ fulfillment }) => sumOf(fulfillment.lines, ({ quantity }) => quantity),
    fulfillmentLineItems: ({ order, index, fulfillment }) =>
      listOf(fulfillment.lines.map((_, place) => fulfillmentLineSource(order, [index, place]))),
  }),
  FulfillmentLineItem: typeFields<FulfillmentLineSource>({
    id: ({ number }) => gid("FulfillmentLineItem", number),
    quantity: ({ quantity }) => quantity,
    lineItem: ({ order, lineIndex }) => lineSource(order, lineIndex),
    originalTotalSet: ({ order, lineIndex, quantity }) =>
      moneyBag(lineOf(order, lineIndex).unitPriceMinor * quantity),
    discountedTotalSet: ({ order, lineIndex, quantity }) => {
      const { netMinor, taxMinor } = unitsAmounts(lineOf(order, lineIndex), order.taxesIncluded, quantity);
      return moneyBag(order.taxesIncluded ? netMinor + taxMinor : netMinor);
    },
  }),
};
