import { change, ChangeError, type Change } from "./changes.ts";
import { exportFolder } from "./export-folder.ts";
import type { BulkFault, FaultTarget, RequestFault } from "./faults.ts";
import type { Simulator } from "./server.ts";
import { emptyStatistics, type AppSubscription } from "./shop.ts";
import { deliver, type SentDelivery, type WebhookMessage } from "./webhooks.ts";
import { childNumber, gid } from "./world/ids.ts";
import type { WorldOrder, World } from "./world/types.ts";

/** The control actions: what each takes and what it answers. */
export interface ControlActions {
  /** Makes changes; what the platform would tell waits until it is delivered. */
  change: [input: Change | Change[], result: unknown];
  fault: [input: { target?: FaultTarget; fault: RequestFault; times?: number; after?: number }, result: null];
  "bulk-fault": [input: { fault: BulkFault; times?: number }, result: null];
  "clear-faults": [input: Record<string, never>, result: null];
  /** Empties the bucket of points. */
  drain: [input: Record<string, never>, result: null];
  "expire-access-tokens": [input: Record<string, never>, result: null];
  "revoke-tokens": [input: Record<string, never>, result: null];
  "set-scopes": [input: { scopes: string[] }, result: null];
  /** Changes what the shop pays for the app, by default a subscription that was canceled. */
  billing: [input: Partial<Omit<AppSubscription, "typeName">>, result: null];
  "expire-bulk-results": [input: Record<string, never>, result: null];
  /** Moves the simulator's time ahead, or to a time. */
  clock: [input: { advanceSeconds?: number; now?: string }, result: { now: string }];
  /** Sends what waits, or the messages given. */
  deliver: [
    input: {
      messages?: WebhookMessage[];
      copies?: number;
      shuffled?: boolean;
      uri?: string;
      forged?: boolean;
    },
    result: SentDelivery[],
  ];
  "drop-messages": [input: Record<string, never>, result: { dropped: number }];
  statistics: [input: { reset?: boolean }, result: Simulator["statistics"]];
  /** One order as it truly is. */
  order: [input: { order: number }, result: unknown];
  "find-order": [
    input: { with: "returnOpen" | "returnable" | "refundable" | "tip" },
    result: { order: number } | null,
  ];
  export: [input: { folder: string }, result: Awaited<ReturnType<typeof exportFolder>>];
  "label-owners": [input: Record<string, never>, result: ReturnType<typeof labelOwnersOf>];
}

/** What a request may name: whatever is not here would be taken and do nothing, or something else. */
const KNOWN = {
  do:
    "placeOrder fulfill removeUnits addLine exchange cancelOrder deleteOrder openReturn processReturn closeReturn reopenReturn " +
    "declineReturn cancelReturn sendParcels refund changeProduct deleteProduct touchOrders",
  target: "graphql oauth download",
  "fault.kind": "status cut slow throttled",
  fault: "fail expire truncated duplicate swapped cut stall",
};

type Handlers = {
  [Action in keyof ControlActions]: (
    simulator: Simulator,
    input: ControlActions[Action][0],
  ) => ControlActions[Action][1] | Promise<ControlActions[Action][1]>;
};

const HANDLERS: Handlers = {
  change: ({ shop, tell }, input) => {
    const all = [input].flat();
    for (const asked of all) requireKnown("do", asked.do);
    const results = all.map((asked) => {
      const { result, messages } = change(shop, asked);
      tell(messages);
      return result;
    });
    return Array.isArray(input) ? results : results[0];
  },
  fault: ({ faults }, { target = "graphql", fault, times = 1, after = 0 }) => {
    requireKnown("target", target);
    requireKnown("fault.kind", fault?.kind);
    faults.requests[target].add(fault, times, after);
    return null;
  },
  "bulk-fault": ({ faults }, { fault, times = 1 }) => {
    requireKnown("fault", fault);
    faults.bulk.add(fault, times);
    return null;
  },
  "clear-faults": ({ faults }) => nothing(faults.clear()),
  drain: ({ bucket }) => nothing(bucket.drain()),
  "expire-access-tokens": ({ tokens }) => nothing(tokens.expireAccess()),
  "revoke-tokens": ({ tokens }) => nothing(tokens.revokeAll()),
  "set-scopes": ({ tokens }, { scopes }) => nothing(tokens.setScopes(scopes)),
  billing: ({ shop, tell }, given) => {
    const usual = { number: 1, name: "Growth", status: "CANCELLED", currentPeriodEnd: null, trialDays: 0 };
    const subscription = { typeName: "AppSubscription", ...usual, ...given };
    shop.subscription = subscription;
    const payload = {
      app_subscription: {
        admin_graphql_api_id: gid("AppSubscription", subscription.number),
        name: subscription.name,
        status: subscription.status,
        admin_graphql_api_shop_id: gid("Shop", 1),
        updated_at: new Date(shop.clock.now() * 1000).toISOString(),
      },
    };
    tell([{ topic: "APP_SUBSCRIPTIONS_UPDATE", payload }]);
    return null;
  },
  "expire-bulk-results": ({ bulk }) => nothing(bulk.expireResults()),
  clock: ({ shop }, { advanceSeconds, now }) => {
    if (now !== undefined) shop.clock.set(Math.floor(Date.parse(now) / 1000));
    if (advanceSeconds !== undefined) shop.clock.advance(advanceSeconds);
    return { now: new Date(shop.clock.now() * 1000).toISOString() };
  },
  deliver: async (simulator, { messages, copies = 1, shuffled = false, forged = false, uri }) => {
    const { shop, statistics, subscriptions, waiting } = simulator;
    const sent = messages ?? waiting.splice(0);
    return deliver(shop, statistics, subscriptions, sent, {
      copies,
      shuffled,
      forged,
      ...(uri !== undefined && { uri }),
    });
  },
  "drop-messages": ({ waiting }) => ({ dropped: waiting.splice(0).length }),
  statistics: (simulator, { reset = false }) => {
    const seen = { ...simulator.statistics };
    if (reset) Object.assign(simulator.statistics, emptyStatistics());
    return seen;
  },
  order: ({ shop }, { order: number }) => {
    const order = shop.order(number);
    return order === null ? null : described(order);
  },
  "find-order": ({ shop }, input) => {
    const found = shop.world.orders.find((order) => order !== null && fits(order, input.with));
    return found === undefined || found === null ? null : { order: found.number };
  },
  export: ({ shop }, { folder }) => exportFolder(shop.world, folder),
  "label-owners": ({ shop }) => labelOwnersOf(shop.world),
};

/** Runs a control action by name; undefined when there is none. */
export function control(simulator: Simulator, action: string, input: unknown): Promise<unknown> | undefined {
  if (!Object.hasOwn(HANDLERS, action)) return undefined;
  const handler = HANDLERS[action as keyof Handlers] as (simulator: Simulator, input: unknown) => unknown;
  return Promise.resolve().then(() => handler(simulator, input));
}

export function controlNames(): string[] {
  return Object.keys(HANDLERS);
}

function requireKnown(member: keyof typeof KNOWN, given: unknown): void {
  const names = KNOWN[member].split(" ");
  if (!names.includes(String(given))) throw new ChangeError(`${member} is one of ${names.join(", ")}`);
}

function nothing(_done: void): null {
  return null;
}

function described(order: WorldOrder): unknown {
  return {
    ...order,
    id: gid("Order", order.number),
    lines: order.lines.map(({ product, variant, ...line }, index) => ({
      ...line,
      id: gid("LineItem", childNumber(order.number, index)),
      product: product?.number ?? null,
      position: variant?.position ?? null,
    })),
  };
}

function fits(order: WorldOrder, what: ControlActions["find-order"][0]["with"]): boolean {
  if (what === "returnOpen") return order.returns.some(({ status }) => status === "OPEN");
  if (what === "tip") return order.lines.some(({ kind }) => kind === "tip");
  const plain = order.cancelledAt === 0 && !order.test && order.lines[0]?.kind === "product";
  const untouched = order.returns.length === 0 && order.refunds.length === 0 && order.agreements.length === 1;
  return plain && untouched && (what === "returnable" ? (order.lines[0]?.quantity ?? 0) >= 2 : true);
}

/** What a label source may know a return by. */
interface LabelOwner {
  orderId: string;
  orderName: string;
  returnId: string;
  /** Of the first parcel. */
  trackingNumber: string | null;
  /** ISO 8601. */
  createdAt: string;
  status: string;
}

/** Every return of the shop, in the order of its orders. */
function labelOwnersOf(world: World): LabelOwner[] {
  return world.orders.flatMap((order) =>
    (order?.returns ?? []).flatMap((request, index) =>
      order === null
        ? []
        : [
            {
              orderId: gid("Order", order.number),
              orderName: order.name,
              returnId: gid("Return", childNumber(order.number, index)),
              trackingNumber: request.trackingNumbers[0] ?? null,
              createdAt: new Date(request.createdAt * 1000).toISOString(),
              status: request.status,
            },
          ],
    ),
  );
}
