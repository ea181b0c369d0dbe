import { change, ChangeError, type Change } from "./changes.ts";
import { exportFolder } from "./export-folder.ts";
import type { BulkFault, FaultTarget, RequestFault } from "./faults.ts";
import type { Simulator } from "./server.ts";
import { emptyStatistics, type AppSubscription } from "./shop.ts";
import { deliver, type WebhookMessage } from "./webhooks.ts";
import { childNumber, gid } from "./world/ids.ts";
import type { WorldOrder, World } from "./world/types.ts";

/** Allowed values of a request's members; others are refused instead of being ignored or misread. */
const KNOWN = {
  do:
    "placeOrder fulfill removeUnits addLine exchange cancelOrder deleteOrder openReturn processReturn closeReturn reopenReturn " +
    "declineReturn cancelReturn sendParcels inspectReturn refund changeProduct deleteProduct touchOrders",
  target: "graphql oauth download",
  "fault.kind": "status cut slow throttled",
  fault: "fail expire truncated duplicate swapped cut stall",
};

type Delivery = {
  messages?: WebhookMessage[];
  copies?: number;
  shuffled?: boolean;
  uri?: string;
  forged?: boolean;
};
type Faulty = { target?: FaultTarget; fault: RequestFault; times?: number; after?: number };

/** The control actions, each with what it takes. */
const HANDLERS = {
  /** The platform's messages are sent at once, or wait for `deliver`. */
  change: ({ shop, tell }: Simulator, input: Change | Change[]): unknown => {
    const all = [input].flat();
    for (const asked of all) requireKnown("do", asked.do);
    const results = all.map((asked) => {
      const { result, messages } = change(shop, asked);
      tell(messages);
      return result;
    });
    return Array.isArray(input) ? results : results[0];
  },
  fault: ({ faults }: Simulator, { target = "graphql", fault, times = 1, after = 0 }: Faulty) => {
    requireKnown("target", target);
    requireKnown("fault.kind", fault?.kind);
    faults.requests[target].add(fault, times, after);
  },
  "bulk-fault": ({ faults }: Simulator, { fault, times = 1 }: { fault: BulkFault; times?: number }) => {
    requireKnown("fault", fault);
    faults.bulk.add(fault, times);
  },
  "clear-faults": ({ faults }: Simulator) => faults.clear(),
  /** Empties the bucket of points. */
  drain: ({ bucket }: Simulator) => bucket.drain(),
  "expire-access-tokens": ({ tokens }: Simulator) => tokens.expireAccess(),
  "revoke-tokens": ({ tokens }: Simulator) => tokens.revokeAll(),
  "set-scopes": ({ tokens }: Simulator, { scopes }: { scopes: string[] }) => tokens.setScopes(scopes),
  /** Sets the shop's subscription to the app, by default a canceled one. */
  billing: ({ shop, tell }: Simulator, given: Partial<AppSubscription>) => {
    const usual = { number: 1, name: "Growth", status: "CANCELLED", currentPeriodEnd: null, trialDays: 0 };
    const subscription = { ...usual, ...given };
    const id = gid("AppSubscription", subscription.number);
    shop.subscription = { typeName: "AppSubscription", id, ...subscription };
    const payload = {
      app_subscription: {
        admin_graphql_api_id: id,
        name: subscription.name,
        status: subscription.status,
        admin_graphql_api_shop_id: gid("Shop", 1),
        updated_at: new Date(shop.clock.now() * 1000).toISOString(),
      },
    };
    tell([{ topic: "APP_SUBSCRIPTIONS_UPDATE", payload }]);
  },
  "expire-bulk-results": ({ bulk }: Simulator) => bulk.expireResults(),
  /** Moves the simulator's time ahead, or to a time. */
  clock: ({ shop }: Simulator, { advanceSeconds, now }: { advanceSeconds?: number; now?: string }) => {
    if (now !== undefined) shop.clock.set(Math.floor(Date.parse(now) / 1000));
    if (advanceSeconds !== undefined) shop.clock.advance(advanceSeconds);
    return { now: new Date(shop.clock.now() * 1000).toISOString() };
  },
  /** Sends the waiting messages, or the given ones. */
  deliver: ({ shop, statistics, subscriptions, waiting }: Simulator, { messages, ...given }: Delivery) => {
    const repeated = messages !== undefined;
    const options = { copies: 1, shuffled: false, forged: false, repeated, ...given };
    return deliver(shop, statistics, subscriptions, messages ?? waiting.splice(0), options);
  },
  "drop-messages": ({ waiting }: Simulator) => ({ dropped: waiting.splice(0).length }),
  statistics: ({ statistics }: Simulator, { reset = false }: { reset?: boolean }) => {
    const seen = { ...statistics };
    if (reset) Object.assign(statistics, emptyStatistics());
    return seen;
  },
  /** The actual state and history of one order. */
  order: ({ shop }: Simulator, { order: number }: { order: number }): unknown => {
    const order = shop.order(number);
    return order === null ? null : described(order);
  },
  "find-order": ({ shop }: Simulator, input: { with: Sought }): { order: number } | null => {
    const found = shop.world.orders.find((order) => order !== null && fits(order, input.with));
    return found === undefined || found === null ? null : { order: found.number };
  },
  export: ({ shop }: Simulator, { folder }: { folder: string }) => exportFolder(shop.world, folder),
  "label-owners": ({ shop }: Simulator) => labelOwnersOf(shop.world),
};

type Handlers = typeof HANDLERS;
/** By action: what it takes and what it answers. */
export type ControlActions = {
  [Action in keyof Handlers]: Handlers[Action] extends (
    simulator: Simulator,
    input: infer Input,
  ) => infer Result
    ? { input: Input; result: Awaited<Result> }
    : never;
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

type Sought = "returnOpen" | "returnable" | "refundable" | "tip";

function fits(order: WorldOrder, what: Sought): boolean {
  if (what === "returnOpen") return order.returns.some(({ status }) => status === "OPEN");
  if (what === "tip") return order.lines.some(({ kind }) => kind === "tip");
  const plain = order.cancelledAt === 0 && !order.test && order.lines[0]?.kind === "product";
  const untouched = order.returns.length === 0 && order.refunds.length === 0 && order.agreements.length === 1;
  return plain && untouched && (what === "returnable" ? (order.lines[0]?.quantity ?? 0) >= 2 : true);
}

/** The data by which a label source may know a return. */
interface LabelOwner {
  orderId: string;
  orderName: string;
  returnId: string;
  /** That of the first parcel. */
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
