/** Random orders with their history, without a server: as the API shows each, and as it actually was. */
import { execute, parse, validate, type DocumentNode, type GraphQLSchema } from "graphql";
import { change, type Change } from "./changes.ts";
import { shopifyOptions, type ShopifyOptions } from "./options.ts";
import type { RequestContext } from "./schema/nodes.ts";
import { readSchema, resolveField, typeNameOf } from "./schema/resolvers.ts";
import { makeShop } from "./shop.ts";
import { childNumber, gid } from "./world/ids.ts";
import type { HistoryEvent, WorldOrder } from "./world/types.ts";

/** An event as README.md describes it: ids are those of the API, `at` is ISO 8601. */
export type TrueEvent = Omit<HistoryEvent, "at" | "line" | "fulfillment" | "return" | "refund"> & {
  at: string;
  line?: string;
  fulfillment?: string;
  return?: string;
  refund?: string;
};

export interface History {
  number: number;
  id: string;
  events: TrueEvent[];
}

export type Histories = ReturnType<typeof openHistories>;

/** A shop of `orders` full histories up to `now`; the same options make the same orders. */
export function openHistories(given: Partial<ShopifyOptions> = {}) {
  const options = shopifyOptions({ now: "2026-06-01T00:00:00Z", histories: "full", ...given });
  const shop = makeShop(options);
  const schema = readSchema();
  const documents = new Map<string, DocumentNode>();
  const context = { shop, scopes: options.scopes } as unknown as RequestContext;
  return {
    /** Each order with its history until now. */
    orders: (): History[] => shop.world.orders.flatMap((order) => (order === null ? [] : [historyOf(order)])),
    /** A further change, as README.md lists them under Control. */
    change: (asked: Change): void => void change(shop, asked),
    /** The API's data for a query; the platform's cost and page limits do not apply here. */
    ask: (query: string, variables: Record<string, unknown> = {}): unknown => {
      const document = documents.get(query) ?? readDocument(schema, query);
      documents.set(query, document);
      const { data, errors } = execute({
        schema,
        document,
        variableValues: variables,
        contextValue: context,
        fieldResolver: resolveField,
        typeResolver: typeNameOf,
      }) as { data?: unknown; errors?: readonly Error[] };
      if (errors?.[0] !== undefined) throw errors[0];
      return JSON.parse(JSON.stringify(data)) as unknown;
    },
  };
}

function readDocument(schema: GraphQLSchema, query: string): DocumentNode {
  const document = parse(query);
  const [error] = validate(schema, document);
  if (error !== undefined) throw error;
  return document;
}

function historyOf(order: WorldOrder): History {
  const idOf = (type: string, index: number): string => gid(type, childNumber(order.number, index));
  const events = order.history.map(({ at, line, fulfillment, return: request, refund, ...event }) => ({
    ...event,
    at: new Date(at * 1000).toISOString(),
    ...(line !== undefined && { line: idOf("LineItem", line) }),
    ...(fulfillment !== undefined && { fulfillment: idOf("Fulfillment", fulfillment) }),
    ...(request !== undefined && { return: idOf("Return", request) }),
    ...(refund !== undefined && { refund: idOf("Refund", refund) }),
  }));
  return { number: order.number, id: gid("Order", order.number), events };
}
