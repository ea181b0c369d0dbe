import { mulberry32 } from "../../../src/demo/random.ts";
import { accountOptions, BadRequest, momentsOf, startLabelServer } from "../label-source/server.ts";
import type { AccountOptions, Platform } from "../label-source/server.ts";

/** Loop's list of returns on loopback, with given returns or those of a seed. */
export async function startLoopSimulator(
  given: Partial<AccountOptions & { returns: readonly SimulatedReturn[] }> = {},
) {
  const options = accountOptions(DEFAULTS, given);
  const returns = new Map(
    (given.returns ?? generateLoopReturns(options)).map((returned) => [returned.id, returned]),
  );
  let url = "";
  const server = await startLabelServer(
    platformOf(returns, () => url),
    options,
  );
  ({ url } = server);
  return {
    url,
    apiKey: options.apiKey,
    control: {
      /** Adds a return, or replaces the one with its id. */
      put: (returned: SimulatedReturn) => void returns.set(returned.id, returned),
      /** Voids all labels of a return. */
      void: (returnId: string, at: string): void => {
        const returned = returns.get(returnId);
        if (returned === undefined) throw new Error(`There is no return ${returnId}.`);
        const labels = returned.labels.map((label) => ({ ...label, status: "cancelled" }));
        returns.set(returnId, { ...returned, labels, labelStatus: "cancelled", updatedAt: at });
      },
      returns: (): readonly SimulatedReturn[] => [...returns.values()],
      ...server.control,
    },
    stop: server.stop,
  };
}

const DEFAULTS = { apiKey: "simulated-loop-key", count: 100, requests: 300 };

const LIST_PATH = "/api/2026-07/warehouse/return/list";
const MAX_RANGE_MS = 120 * 86_400_000;
const LISTED_STATES = ["open", "closed", "expired"];

function platformOf(returns: ReadonlyMap<string, SimulatedReturn>, ownUrl: () => string): Platform {
  const message = (text: string): unknown => ({ message: text });
  return {
    header: "X-Authorization",
    refusal: message("Unauthorized"),
    tooMany: message("Too Many Requests"),
    notFound: message("Not Found"),
    serverError: message("Server Error"),
    answer: (url) => (url.pathname === LIST_PATH ? listPage(returns, url, ownUrl()) : null),
    changeTypes: (page) => {
      const { returns: found, ...rest } = page as { returns: object[] };
      return { ...rest, returns: found.map((returned) => ({ ...returned, labels: "none" })) };
    },
  };
}

function listPage(returns: ReadonlyMap<string, SimulatedReturn>, url: URL, ownUrl: string): unknown {
  const asked = (name: string): string => url.searchParams.get(name) ?? "";
  const time = (name: string): number => {
    const moment = Date.parse(asked(name));
    if (Number.isNaN(moment)) throw new BadRequest(422, { errors: { [name]: ["The date is invalid."] } });
    return moment;
  };
  const [from, to] = [time("from"), time("to")];
  if (to - from > MAX_RANGE_MS) {
    throw new BadRequest(422, { errors: { to: ["The range may not exceed 120 days."] } });
  }
  const pageSize = Math.min(Number(asked("pageSize") || 100), 750);
  const offset = asked("cursor") === "" ? 0 : Number(Buffer.from(asked("cursor"), "base64url").toString());
  const states = asked("state") === "" ? LISTED_STATES : [asked("state")];
  const key = asked("filter") === "updated_at" ? "updatedAt" : "createdAt";
  const found = [...returns.values()]
    .filter(({ state }) => states.includes(state))
    .filter((returned) => Date.parse(returned[key]) >= from && Date.parse(returned[key]) <= to)
    .toSorted((left, right) => (left[key] === right[key] ? 0 : left[key] < right[key] ? -1 : 1));
  const page = found.slice(offset, offset + pageSize).map(wireReturn);
  if (asked("paginate") !== "true") return page;
  const isLast = offset + pageSize >= found.length;
  const next = new URL(`${LIST_PATH}${url.search}`, ownUrl);
  next.searchParams.set("cursor", Buffer.from(String(offset + pageSize)).toString("base64url"));
  return { returns: page, nextPageUrl: isLast ? null : next.href, previousPageUrl: null };
}

function wireReturn(returned: SimulatedReturn): unknown {
  return {
    id: returned.id,
    state: returned.state,
    created_at: returned.createdAt,
    updated_at: returned.updatedAt,
    outcome: "refund",
    order_id: `9${returned.providerOrderId}`,
    order_name: returned.orderName,
    provider_order_id: returned.providerOrderId,
    currency: returned.currency,
    tracking_number: returned.trackingNumber,
    label_status: returned.labelStatus,
    label_rate: returned.labelRate,
    labels: returned.labels.map((label) => ({
      rate: label.rate,
      tracking_number: label.trackingNumber,
      carrier: "USPS",
      status: label.status,
      ...(label.createdAt === undefined ? {} : { created_at: label.createdAt }),
    })),
  };
}

/** One return of a simulated Loop account; times are ISO 8601. */
export interface SimulatedReturn {
  id: string;
  /** open, closed, cancelled, expired or review. */
  state: string;
  providerOrderId: string;
  orderName: string;
  currency: string;
  createdAt: string;
  updatedAt: string;
  labels: LoopLabel[];
  /** Decimal text, which older accounts have besides or instead of `labels`. */
  labelRate: string | null;
  /** The label's, if `labels` is empty. */
  trackingNumber: string | null;
  labelStatus: string | null;
}

interface LoopLabel {
  /** In cents; null = not priced yet. */
  rate: number | string | null;
  trackingNumber: string | null;
  status: string;
  createdAt?: string;
}

/** A return with the given members; by default an open return without a label. */
export function loopReturn(told: Partial<SimulatedReturn> & Pick<SimulatedReturn, "id">): SimulatedReturn {
  const createdAt = told.createdAt ?? "2026-01-10T12:00:00.000Z";
  return {
    state: "open",
    providerOrderId: "1",
    orderName: "#1",
    currency: "EUR",
    createdAt,
    updatedAt: createdAt,
    labels: [],
    labelRate: null,
    trackingNumber: null,
    labelStatus: null,
    ...told,
  };
}

/** Returns of a year, most of them with a label; the same for the same seed. */
export function generateLoopReturns(
  options: Pick<AccountOptions, "seed" | "count" | "currencyCode" | "now">,
): SimulatedReturn[] {
  const random = mulberry32(options.seed);
  return momentsOf(options).map((created, index) => {
    const trackingNumber = `94${String(options.seed).padStart(4, "0")}${String(index).padStart(12, "0")}`;
    const rate = 300 + Math.floor(random() * 1500);
    const updated = Math.min(Date.parse(options.now), created + 4 * 86_400_000);
    return loopReturn({
      id: String(500_000 + index),
      providerOrderId: String(6_000_000_000_000 + index),
      orderName: `#${1001 + index}`,
      currency: options.currencyCode,
      createdAt: new Date(created).toISOString(),
      updatedAt: new Date(updated).toISOString(),
      labels: random() < 0.9 ? [{ rate, trackingNumber, status: "in_transit" }] : [],
    });
  });
}
