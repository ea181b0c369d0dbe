import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { inSpan, isTracing, startSpan } from "../lib/trace.ts";
import type { Span, SpanOptions } from "../lib/trace.ts";
import { PROBE_ROUTES } from "./request-log.ts";

/** Adds a span for each request but probes, around everything that answers it. While traces are off it adds nothing. */
export function traceRequests(server: FastifyInstance): void {
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
  // Where a body has been read, it is the socket that goes on.
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

/** Paths may name a workspace or anything else, so that only the route is shown. */
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
