import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import Fastify, { LogController } from "fastify";
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Operation } from "../access/operation.ts";
import { servedPaths } from "../contract/endpoint.ts";
import { errorBody, REST_WORDS, type QuotaState } from "../contract/errors.ts";
import { quotaHeaders } from "../contract/wire.ts";
import type { Network } from "../lib/networks.ts";
import { inSpan, isTracing, startSpan, type Span, type SpanOptions } from "../lib/trace.ts";
import { sendAnswer, sendError, sendRefusal } from "./answer.ts";
import { createBoundedServer } from "./bounded-server.ts";
import { addClientAddress } from "./client-address.ts";
import { compressAnswers } from "./compress.ts";
import { COMMON_HEADERS, requestId } from "./headers.ts";
import type { HttpMetrics } from "./metrics.ts";
import { parseQueryString } from "./query-string.ts";
import { createRequestLine, createRequestLog, PROBE_ROUTES } from "./request-log.ts";

/** A route in addition to the REST endpoints, with its own answer format. */
export type RouteGroup = {
  /** A path that ends in `/*` matches all paths with the prefix before the star. */
  path: string;
  allowedMethods: string;
  register: (server: FastifyInstance) => void;
};

export type ServerOptions = {
  operations: readonly Operation[];
  routeGroups: readonly RouteGroup[];
  logger: FastifyBaseLogger;
  metrics: HttpMetrics;
  /** The used quota of the token in a request whose path cannot be read; null: unknown or unlimited. */
  quotaOf?: (authorization: string | undefined) => Promise<QuotaState | null>;
  /** Proxies trusted to report a client's address; default: none. */
  trustedProxies?: readonly Network[];
  /** A browser's response at an unknown path outside /api; null: the same as a program's. */
  notFoundPage: { headers: Readonly<Record<string, string>>; body: () => Buffer } | null;
  /** Adds routes that are no endpoints of the contract: health, readiness, metrics. */
  registerOperationsRoutes: ((server: FastifyInstance) => void) | null;
};

const BODY_LIMIT_BYTES = 1_048_576;

/** The HTTP server: registers every operation of the contract. It contains no business rule. */
export function createServer(options: ServerOptions): FastifyInstance {
  const server = Fastify({
    loggerInstance: options.logger,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: createRequestLog,
    genReqId: requestId,
    bodyLimit: BODY_LIMIT_BYTES,
    serverFactory: createBoundedServer,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    routerOptions: { maxParamLength: 1 },
    frameworkErrors: (error, request, reply) => {
      void answerUnroutable(error, request, reply, options.quotaOf);
    },
    clientErrorHandler: answerUnparsable,
  });
  addClientAddress(server, options.trustedProxies ?? []);
  const methods = new Map<string, string>([
    ...options.operations.flatMap(({ endpoint }) =>
      servedPaths(endpoint).map(({ path }) => [path, "GET, HEAD"] as const),
    ),
    ...options.routeGroups.map(({ path, allowedMethods }) => [path, allowedMethods] as const),
  ]);
  const areas = [...methods.keys()].filter((path) => path.endsWith("/*")).map((path) => path.slice(0, -1));
  const methodsOf = (path: string): string | undefined =>
    methods.get(path) ?? methods.get(`${areas.find((area) => path.startsWith(area)) ?? ""}*`);
  const { notFoundPage } = options;
  const refuse = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    refuseUnknown(request, reply, { methodsOf, notFoundPage });
  traceRequests(server);
  // Hooks with a callback: a promise for each would cost every request a turn.
  server.addHook("onRequest", (request, reply, done) => {
    setCommonHeaders(request, reply);
    if (isAmbiguous(request.raw)) sendRefusal(reply, "invalid_request", AMBIGUOUS);
    else if (request.is404) refuse(request, reply);
    else done();
  });
  const writeRequestLine = createRequestLine(options.logger);
  server.addHook("onResponse", (request, reply, done) => {
    options.metrics.observe(request, reply);
    writeRequestLine(request, reply);
    done();
  });
  endConnectionsWhileClosing(server);
  compressAnswers(server);
  stopReadingAnsweredBodies(server);
  server.setErrorHandler(sendError);
  server.setNotFoundHandler(refuse);
  for (const operation of options.operations) registerOperation(server, operation);
  for (const group of options.routeGroups) group.register(server);
  options.registerOperationsRoutes?.(server);
  return server;
}

/** A server with only the operators' routes, for a separate port. */
export function createOperationsServer(
  logger: FastifyBaseLogger,
  register: (server: FastifyInstance) => void,
): FastifyInstance {
  const server = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    serverFactory: createBoundedServer,
    forceCloseConnections: true,
  });
  server.addHook("onRequest", ({ raw }, reply, done) => {
    if (isAmbiguous(raw)) sendRefusal(reply, "invalid_request", AMBIGUOUS);
    else done();
  });
  register(server);
  return server;
}

/** An answer given while the server closes ends its connection: kept alive, it would hold the process for a minute. */
function endConnectionsWhileClosing(server: FastifyInstance): void {
  let isClosing = false;
  server.addHook("preClose", (done) => {
    isClosing = true;
    done();
  });
  server.addHook("onSend", (_request, reply, _payload, done) => {
    if (isClosing) reply.header("Connection", "close");
    done();
  });
}

function registerOperation(server: FastifyInstance, operation: Operation): void {
  for (const { path, values } of servedPaths(operation.endpoint)) {
    server.get(path, async (request, reply) => {
      const parameters = () => parseQueryString(request.raw.url ?? "", values);
      const answer = await operation.perform(
        { authorization: request.headers.authorization, words: REST_WORDS, parameters },
        (quota, tokenId) => {
          request.log = request.log.child({ token_id: tokenId });
          reply.headers(quotaHeaders(quota));
        },
      );
      return sendAnswer(reply, answer);
    });
  }
}

function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(COMMON_HEADERS);
  reply.header("X-Request-ID", request.id);
}

const AMBIGUOUS = "A request has one Host header, and only OPTIONS may be of * instead of a path.";

/** RFC 9112, section 3.2, and RFC 9110, section 7.1. Node.js keeps the first of two Hosts, and the router takes `*` for `/`. */
function isAmbiguous({ method, url, rawHeaders }: IncomingMessage): boolean {
  const isHost = (text: string, place: number): boolean =>
    place % 2 === 0 && text.length === 4 && text.toLowerCase() === "host";
  return rawHeaders.filter(isHost).length > 1 || (url === "*" && method !== "OPTIONS");
}

/** A request without a route passes no hook or admission; with a token it still gets the quota headers. */
async function answerUnroutable(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  quotaOf: ServerOptions["quotaOf"],
): Promise<void> {
  setCommonHeaders(request, reply);
  reply.headers(quotaHeaders((await quotaOf?.(request.headers.authorization)) ?? null));
  sendError(error, request, reply);
}

type Known = {
  methodsOf: (path: string) => string | undefined;
  notFoundPage: ServerOptions["notFoundPage"];
};

function isBrowserOutsideApi(request: FastifyRequest, path: string): boolean {
  return (request.headers.accept ?? "").includes("text/html") && !/^\/api(\/|$)/u.test(path);
}

/** 404 and 405 are decided before the token and cost nothing of the quota. */
function refuseUnknown(
  request: FastifyRequest,
  reply: FastifyReply,
  { methodsOf, notFoundPage }: Known,
): FastifyReply {
  const path = (request.raw.url ?? "").split("?", 1)[0] ?? "";
  // A group that finds nothing at its path calls for the same 404, with an allowed method.
  const known = methodsOf(path);
  const allowed = known?.split(", ").includes(request.method) === true ? undefined : known;
  if (allowed === undefined && notFoundPage !== null && isBrowserOutsideApi(request, path)) {
    return reply.code(404).headers(notFoundPage.headers).send(notFoundPage.body());
  }
  if (allowed === undefined) {
    return sendRefusal(
      reply,
      "not_found",
      "Nothing is served at this path; the API is under /api/v1/, its guides at /docs.",
    );
  }
  reply.header("Allow", allowed);
  return sendRefusal(reply, "invalid_request", `This path allows ${allowed} only.`, 405);
}

const NOT_HTTP = ["400 Bad Request", "The request is not well-formed HTTP."] as const;
const UNPARSABLE: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "The URL and headers must be at most 32 KB."],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "The request took too long to arrive."],
};

/** A request that Node's parser rejects never becomes a request; it still gets an answer in the contract's format. */
function answerUnparsable(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = UNPARSABLE[error.code ?? ""] ?? NOT_HTTP;
  const body = JSON.stringify(errorBody("invalid_request", message));
  const headers = { ...COMMON_HEADERS, "X-Request-ID": requestId({ headers: {} } as IncomingMessage) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${status}\r\n${lines.join("")}Content-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** The rest of a body this short is discarded, so that its connection can be reused. */
const SHORT_BODY_BYTES = 65_536;
/** How long a client that still sends has to read its answer. */
const GRACE_MS = 2000;

/**
 * Stops reading a body whose request has been answered, unless it is short. Node.js would read it to its end, at the
 * cost of every other request; closing the connection at once would reset it, and the client might never see the answer.
 */
function stopReadingAnsweredBodies(server: FastifyInstance): void {
  server.addHook("onSend", ({ raw }, reply, _payload, done) => {
    if (!raw.complete && hasLongBody(raw, reply)) {
      reply.header("Connection", "close");
      closeAfterGrace(raw);
    }
    done();
  });
}

function hasLongBody({ headers }: IncomingMessage, reply: FastifyReply): boolean {
  if (headers["transfer-encoding"] !== undefined) return true;
  const bytes = Number(headers["content-length"] ?? 0);
  return bytes > SHORT_BODY_BYTES || (bytes > 0 && reply.getHeader("connection") === "close");
}

/**
 * Reads nothing more, and closes the connection a while after the answer. Node.js calls `resume` to discard the body, and
 * `destroySoon` to end the connection with its last answer.
 */
function closeAfterGrace({ socket }: IncomingMessage): void {
  socket.pause();
  socket.resume = () => socket;
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), GRACE_MS);
    socket.once("close", () => clearTimeout(timer));
  };
}

/** Adds a span for each request but probes, around everything that answers it. While traces are off it adds nothing. */
function traceRequests(server: FastifyInstance): void {
  if (!isTracing()) return;
  const spans = new WeakMap<FastifyRequest, Span>();
  const end = (request: FastifyRequest, reply: FastifyReply): void => {
    const span = spans.get(request);
    spans.delete(request);
    if (span !== undefined) endRequestSpan(span, reply);
  };
  server.addHook("onRequest", (request, reply, done) => {
    const span = startRequestSpan(request);
    if (span === null) {
      done();
      return;
    }
    spans.set(request, span);
    // A caller who leaves before the answer: there is no response to hear of.
    reply.raw.once("close", () => end(request, reply));
    request.log = request.log.child({ trace_id: span.traceId });
    inSpan(span, done);
  });
  // After a body has been read, the socket emits the events.
  server.addHook("preHandler", (request, _reply, done) => {
    const span = spans.get(request);
    if (span === undefined) done();
    else inSpan(span, done);
  });
  server.addHook("onResponse", (request, reply, done) => {
    end(request, reply);
    done();
  });
}

function startRequestSpan(request: FastifyRequest): Span | null {
  const { url: route } = request.routeOptions;
  if (route !== undefined && PROBE_ROUTES.has(route)) return null;
  const { traceparent } = request.headers;
  return startSpan(spanOf(request.method, route), typeof traceparent === "string" ? traceparent : undefined);
}

/** Paths may contain a workspace's name, so only the route is recorded. */
function spanOf(method: string, route: string | undefined): SpanOptions {
  return {
    name: route === undefined ? method : `${method} ${route}`,
    kind: "server",
    isRoot: true,
    attributes: {
      "http.request.method": method,
      "url.scheme": "http",
      ...(route === undefined ? {} : { "http.route": route }),
    },
  };
}

function endRequestSpan(span: Span, { statusCode, raw }: FastifyReply): void {
  span.set({ "http.response.status_code": statusCode });
  if (statusCode >= 500) span.fail(String(statusCode));
  else if (!raw.writableFinished) span.fail("connection_closed");
  span.end();
}
