import { createReadStream, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { makeBucket, answerGraphql, throttledAnswer } from "./graphql.ts";
import type { GraphqlParts, GraphqlRequest } from "./graphql.ts";
import { readBody, sendHalf, sendJson as send, serveLoopback } from "../http.ts";
import { makeBulkOperations } from "./bulk/operations.ts";
import { ChangeError } from "./changes.ts";
import { control, controlNames } from "./control.ts";
import { makeFaults } from "./faults.ts";
import type { RequestFault } from "./faults.ts";
import type { ShopifyOptions } from "./options.ts";
import { readSchema } from "./schema/resolvers.ts";
import { makeShop, emptyStatistics } from "./shop.ts";
import { makeTokens } from "./tokens.ts";
import { deliver, makeSubscriptions } from "./webhooks.ts";
import type { WebhookMessage } from "./webhooks.ts";

/** Everything that a request or a control action may use. */
export type Simulator = ReturnType<typeof makeSimulator>;

const GRAPHQL_PATH = "/admin/api/2026-10/graphql.json";
const UNAUTHORIZED = {
  errors: "[API] Invalid API key or access token (unrecognized login or wrong password)",
};

/** Serves one shop on loopback. */
export async function serveShopify(options: ShopifyOptions): ReturnType<typeof serveLoopback> {
  let url = "";
  const simulator = makeSimulator(options, () => url);
  const server = await serveLoopback(
    options.port,
    (request, response) => route(simulator, request, response),
    (response, error) => {
      const status = error instanceof ChangeError || error instanceof SyntaxError ? 400 : 500;
      if (status === 500) console.error(error);
      send(response, status, { errors: error instanceof Error ? error.message : String(error) });
    },
  );
  ({ url } = server);
  return {
    url,
    stop: () => {
      simulator.bulk.stop();
      return server.stop();
    },
  };
}

function makeSimulator(options: ShopifyOptions, baseUrl: () => string) {
  const shop = makeShop(options);
  const statistics = emptyStatistics();
  const schema = readSchema();
  const faults = makeFaults();
  const bucket = makeBucket(options.bucketPoints, options.restorePerSecond);
  /** Messages that wait to be delivered. */
  const waiting: WebhookMessage[] = [];
  const subscriptions = makeSubscriptions();
  /** Sends messages to subscribers, now or on demand. */
  const tell = (messages: WebhookMessage[]): void => {
    const usual = { copies: 1, shuffled: false, forged: false, repeated: false };
    if (!options.deliverAtOnce) waiting.push(...messages);
    else void deliver(shop, statistics, subscriptions, messages, usual);
  };
  const bulk = makeBulkOperations({
    schema,
    shop,
    faults,
    statistics,
    baseUrl,
    bulkMillis: options.bulkMillis,
    onFinish: ({ id, status, errorCode, endedAt }) => {
      const payload = {
        admin_graphql_api_id: id,
        type: "query",
        status: status.toLowerCase(),
        error_code: errorCode?.toLowerCase() ?? null,
        completed_at: new Date(endedAt * 1000).toISOString(),
      };
      tell([{ topic: "BULK_OPERATIONS_FINISH", payload }]);
    },
  });
  return {
    shop,
    bucket,
    bulk,
    faults,
    tokens: makeTokens(options, shop.clock, statistics),
    subscriptions,
    statistics,
    waiting,
    tell,
    graphql: { schema, bucket, statistics, connectionCost: options.connectionCost } satisfies GraphqlParts,
  };
}

async function route(
  simulator: Simulator,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
  if (pathname.startsWith("/control/"))
    return controlRequest(simulator, pathname.slice(9), request, response);
  if (pathname.startsWith("/bulk/")) return download(simulator, pathname.slice(6), request, response);
  if (pathname === "/admin/oauth/authorize") {
    const location = simulator.tokens.authorize(searchParams);
    if (location === undefined) return send(response, 400, { error: "invalid_request" });
    response.writeHead(302, { location }).end();
    return undefined;
  }
  const body = await readBody(request);
  if (pathname === "/admin/oauth/access_token" && request.method === "POST") {
    return oauthRequest(simulator, request, body, response);
  }
  if (pathname !== GRAPHQL_PATH || request.method !== "POST")
    return send(response, 404, { errors: "Not Found" });
  return graphqlRequest(simulator, request, body, response);
}

async function graphqlRequest(
  simulator: Simulator,
  request: IncomingMessage,
  body: string,
  response: ServerResponse,
): Promise<void> {
  const { statistics, tokens, shop, bulk, subscriptions, bucket } = simulator;
  statistics.requests += 1;
  const scopes = tokens.scopesOf(request.headers["x-shopify-access-token"] as string | undefined);
  if (scopes === undefined) {
    statistics.unauthorized += 1;
    return send(response, 401, UNAUTHORIZED);
  }
  const asked = JSON.parse(body) as GraphqlRequest;
  const name = /(?:query|mutation)\s+(\w+)/.exec(String(asked.query))?.[1] ?? "unnamed";
  statistics.operations[name] = (statistics.operations[name] ?? 0) + 1;
  const fault = simulator.faults.requests.graphql.take();
  if (fault?.kind === "throttled") return send(response, 200, throttledAnswer(bucket, 0));
  const answer = (): Promise<unknown> =>
    answerGraphql(simulator.graphql, asked, { shop, bulk, subscriptions, scopes });
  return sendWithFault(response, fault, 200, answer);
}

async function oauthRequest(
  simulator: Simulator,
  request: IncomingMessage,
  body: string,
  response: ServerResponse,
): Promise<void> {
  const isJson = request.headers["content-type"]?.includes("json") ?? false;
  const fields = isJson ? Object.entries(JSON.parse(body) as object) : [...new URLSearchParams(body)];
  const input = Object.fromEntries(fields.map(([key, value]) => [key, String(value)]));
  const fault = simulator.faults.requests.oauth.take();
  if (fault?.kind === "status") return send(response, fault.status, { errors: "Fault" });
  const { status, body: answer } = simulator.tokens.exchange(input);
  return sendWithFault(response, fault, status, () => Promise.resolve(answer));
}

/** Sends a result, from an offset if there is a Range. */
async function download(
  simulator: Simulator,
  name: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  simulator.statistics.bulkDownloads += 1;
  const path = simulator.bulk.fileOf(name);
  if (path === undefined) return send(response, 404, { errors: "The result is gone" });
  const fault = simulator.faults.requests.download.take();
  if (fault?.kind === "status") return send(response, fault.status, { errors: "Fault" });
  if (fault?.kind === "slow") await pause(fault.millis);
  const size = statSync(path).size;
  const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? "");
  const start = range === null ? 0 : Math.min(Number(range[1]), size);
  response.writeHead(range === null ? 200 : 206, {
    "content-type": "application/jsonl",
    "content-length": size - start,
    "accept-ranges": "bytes",
    ...(range !== null && { "content-range": `bytes ${start}-${size - 1}/${size}` }),
  });
  const cut = simulator.faults.cuts.delete(name) || fault?.kind === "cut";
  const stream = createReadStream(path, {
    start,
    ...(cut && { end: start + Math.floor((size - start) / 2) }),
  });
  stream.on("error", () => response.destroy());
  stream.on("end", () => (cut ? response.destroy() : response.end()));
  response.on("close", () => stream.destroy());
  stream.pipe(response, { end: false });
  return undefined;
}

async function controlRequest(
  simulator: Simulator,
  action: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(request);
  const answer = control(simulator, action, body === "" ? {} : JSON.parse(body));
  if (answer === undefined) return send(response, 404, { errors: `Actions: ${controlNames().join(", ")}` });
  return send(response, 200, (await answer) ?? null);
}

async function sendWithFault(
  response: ServerResponse,
  fault: RequestFault | undefined,
  status: number,
  answer: () => Promise<unknown>,
): Promise<void> {
  if (fault?.kind === "status") return send(response, fault.status, { errors: "Fault" });
  if (fault?.kind === "slow") await pause(fault.millis);
  const body = await answer();
  return fault?.kind === "cut" ? sendHalf(response, status, body) : send(response, status, body);
}
