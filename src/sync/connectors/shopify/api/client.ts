import Type from "typebox";
import type { Static } from "typebox";
import { Compile } from "typebox/compile";
import { SourceFailed, SourceRefused } from "../../../connector.ts";
import { isObject, nullable, object, reader, Text } from "../../shared/foreign.ts";
import type { Json } from "../../shared/foreign.ts";
import { ask, BLOCKED, download, isBlocked, pause, readJson, RETRY_POLICY } from "../../shared/http.ts";
import type { HttpAnswer, HttpSource, Outcome, RetryPolicy } from "../../shared/http.ts";
import type { Document } from "./documents.ts";
import { isFileUrl } from "./hosts.ts";
import { TITLE } from "./objects.ts";

export const API_VERSION = "2026-10";

/** A version is named after the month of its release, and supported for at least a year from then. */
export function supportEndsAt(version: string): Date {
  const [year = 0, month = 0] = version.split("-").map(Number);
  return new Date(Date.UTC(year + 1, month - 1));
}

export type ShopifyRetryPolicy = RetryPolicy & {
  /** Between two polls of bulk operations. */
  pollMs: number;
  /** A bulk operation without progress for this long is abandoned. */
  stallMs: number;
};

/** A throttled request costs nothing and succeeds in the end, but retries are limited. */
export const SHOPIFY_RETRY_POLICY: ShopifyRetryPolicy = {
  ...RETRY_POLICY,
  slowdowns: 1000,
  pollMs: 1000,
  stallMs: 60 * 60_000,
};

/** The source of access tokens; both throw SourceRefused if none is available. */
export type TokenSource = {
  accessToken(): Promise<string>;
  /** A token that is not `staleToken`, which the platform has refused. */
  refreshed(staleToken: string): Promise<string>;
};

export type ShopifyClient = {
  /**
   * Sends a request, and again after a pause where that may help. Throws CostExceeded for a request that is too large, SourceRefused
   * when the token is refused, SourceFailed for anything else, and the signal's reason once it aborts.
   */
  query<Answer>(document: Document<Answer>, variables: Record<string, unknown>): Promise<Answer>;
  /** The lines of a bulk operation's result, which needs no token. */
  download(url: string): Promise<ReadableStream<Uint8Array>>;
  retryPolicy: ShopifyRetryPolicy;
};

type ShopifyClientOptions = {
  url: string;
  tokens: TokenSource;
  signal: AbortSignal;
  retryPolicy: ShopifyRetryPolicy;
};

/** A request costs more than the platform allows for any request, or than it can do in time: request less at once. */
export class CostExceeded extends Error {
  override name = "CostExceeded";
}

/** The file of a bulk operation no longer exists. */
export class DownloadGone extends Error {
  override name = "DownloadGone";
}

export function openClient(options: ShopifyClientOptions): ShopifyClient {
  const { signal, retryPolicy, url } = options;
  const source = { title: TITLE, address: url, signal, retryPolicy };
  const budget = openBudget();
  return {
    retryPolicy,
    query: (document, variables) => query({ source, budget, options }, document, variables),
    download: (fileUrl) => downloadFile(source, url, fileUrl),
  };
}

type Place = { source: HttpSource; budget: Budget; options: ShopifyClientOptions };

async function query<Answer>(
  { source, budget, options }: Place,
  document: Document<Answer>,
  variables: Record<string, unknown>,
): Promise<Answer> {
  const { tokens, url } = options;
  const body = JSON.stringify({ query: document.text, variables });
  const hasSeveral = Array.isArray(variables["ids"]) && variables["ids"].length > 1;
  let token: string | null = null;
  let isRefreshed = false;
  let breakdowns = 0;
  const data = await ask<Json>(
    source,
    async () => {
      await budget.spend(document.name, source.signal);
      token ??= await tokens.accessToken();
      const headers = { "content-type": "application/json", accept: "application/json" };
      return {
        url: `${url}/admin/api/${API_VERSION}/graphql.json`,
        method: "POST",
        headers: { ...headers, "x-shopify-access-token": token },
        body,
      };
    },
    async (answer) => {
      if (answer.status !== 401 && answer.status !== 403) {
        const outcome = readAnswer(budget, document, answer);
        if ("again" in outcome && outcome.delayMs === null) breakdowns += 1;
        if (hasSeveral && breakdowns === MOST_BREAKDOWNS) throw new CostExceeded(document.name);
        return outcome;
      }
      if (isBlocked(answer)) return BLOCKED;
      if (token === null || isRefreshed) throw new SourceRefused(REFUSED);
      isRefreshed = true;
      token = await tokens.refreshed(token);
      return { again: REFUSED, delayMs: 0 };
    },
  );
  return document.read(data);
}

/** The platform's internal errors, and its timeouts, of one request for several objects: from then on, fewer are requested at once. */
const MOST_BREAKDOWNS = 3;

const REFUSED = "Shopify no longer accepts the access token of this app: connect the shop again.";

const readErrors = reader(
  TITLE,
  Type.Array(
    object("Error", {
      message: Text,
      path: nullable(Type.Array(Type.Unknown())),
      extensions: nullable(object("Extensions", { code: nullable(Text) })),
    }),
  ),
);

/** Status 200 carries errors too. */
function readAnswer(
  budget: Budget,
  { name, leavesOut = false }: Document,
  { status, body }: HttpAnswer<string>,
): Outcome<Json> {
  if (status !== 200) throw new SourceFailed(`Shopify answered ${name} with status ${status}.`);
  const json = readJson(body);
  if ("again" in json) return json;
  const { data, errors = null, extensions } = isObject(json.value) ? json.value : {};
  budget.learn(name, extensions);
  // Some refusals are an object of messages instead of a list of errors.
  if (errors !== null && !Array.isArray(errors)) {
    throw new SourceFailed(`Shopify refused ${name}: ${JSON.stringify(errors)}.`);
  }
  const found = readErrors(errors ?? []);
  const codes = new Set(found.map((error) => error.extensions?.code));
  if (codes.has("THROTTLED"))
    return { again: "it throttles this app", delayMs: budget.throttledMs(extensions) };
  if (codes.has("MAX_COST_EXCEEDED")) throw new CostExceeded(name);
  const messages = found.map(({ message }) => message.replace(/\.$/u, "")).join("; ");
  // "Timeout" has no code (travis-r6s/gridsome-source-shopify issue 49).
  if (codes.has("INTERNAL_SERVER_ERROR") || messages === "Timeout") return { again: messages, delayMs: null };
  const isOfNodes = found.every(({ path }) => path?.[0] === "nodes" && path.length > 1);
  if (found.length > 0 && !(leavesOut && isOfNodes))
    throw new SourceFailed(`Shopify refused ${name}: ${messages}.`);
  if (isObject(data)) return { value: data };
  throw new SourceFailed(`Shopify answered ${name} without data.`);
}

async function downloadFile(
  source: HttpSource,
  shopUrl: string,
  url: string,
): Promise<ReadableStream<Uint8Array>> {
  const file = URL.parse(url);
  if (file === null || !isFileUrl(file, new URL(shopUrl))) {
    const host = file?.host ?? "no host";
    throw new SourceFailed(
      `Shopify returned the file of a bulk operation on ${host}, which is not an allowed host.`,
    );
  }
  const retryPolicy = { ...source.retryPolicy, timeoutMs: null };
  return download({ ...source, retryPolicy }, file, () => new DownloadGone());
}

/** The points that the platform lets an app spend on a shop, from its last answer plus the points restored since. */
type Budget = {
  /** Waits until a request of this document may be sent, by its last cost, and subtracts its points. */
  spend(documentName: string, signal: AbortSignal): Promise<void>;
  /** How long that takes. */
  waitMs(documentName: string): number;
  learn(documentName: string, extensions: unknown): void;
  /** How long to wait after a refusal: (requested − available) ÷ restore rate. */
  throttledMs(extensions: unknown): number;
};

const THROTTLED_MS = 1000;

/** Some errors have no cost. */
const COST = Type.Object({
  cost: Type.Object({
    requestedQueryCost: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
    throttleStatus: Type.Object({
      currentlyAvailable: Type.Number(),
      maximumAvailable: Type.Number(),
      restoreRate: Type.Number(),
    }),
  }),
});
const hasCost = Compile(COST);

/** `nowMs`: milliseconds of a clock that never goes back. */
export function openBudget(nowMs: () => number = () => performance.now()): Budget {
  const costs = new Map<string, number>();
  let status = { currentlyAvailable: Infinity, maximumAvailable: Infinity, restoreRate: 0 };
  let learnedMs = 0;
  const waitMs = (documentName: string): number => {
    const restored = status.currentlyAvailable + ((nowMs() - learnedMs) / 1000) * status.restoreRate;
    const missing = (costs.get(documentName) ?? 0) - Math.min(status.maximumAvailable, restored);
    return missing <= 0 || status.restoreRate === 0 ? 0 : (missing / status.restoreRate) * 1000;
  };
  return {
    waitMs,
    spend: async (documentName, signal) => {
      const delayMs = waitMs(documentName);
      if (delayMs > 0) await pause(delayMs, signal);
      status.currentlyAvailable -= costs.get(documentName) ?? 0;
    },
    learn: (documentName, extensions) => {
      const cost = costOf(extensions);
      if (cost === null) return;
      if (cost.requestedQueryCost) costs.set(documentName, cost.requestedQueryCost);
      status = { ...cost.throttleStatus };
      learnedMs = nowMs();
    },
    throttledMs: (extensions) => {
      const cost = costOf(extensions);
      if (cost === null || cost.throttleStatus.restoreRate <= 0) return THROTTLED_MS;
      const missing = (cost.requestedQueryCost ?? 0) - cost.throttleStatus.currentlyAvailable;
      return Math.max(0, (missing / cost.throttleStatus.restoreRate) * 1000);
    },
  };
}

function costOf(extensions: unknown): Static<typeof COST>["cost"] | null {
  return hasCost.Check(extensions) ? extensions.cost : null;
}
