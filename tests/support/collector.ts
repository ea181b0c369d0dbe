import { createServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import pino from "pino";
import { openTracing } from "../../src/app.ts";
import { readConfig } from "../../src/config.ts";

/** A span as the collector received it. */
export type CollectedSpan = {
  traceId: string;
  spanId: string;
  /** Empty for a span that this process sent no parent of. */
  parentSpanId: string;
  name: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  isError: boolean;
  resource: Record<string, unknown>;
};

/** A collector of OTLP over HTTP on this machine, which answers as it is told. */
export type Collector = {
  url: string;
  /** Of bodies in JSON, in the order of their arrival. */
  spans: CollectedSpan[];
  bodies: { path: string; headers: IncomingHttpHeaders; body: Buffer }[];
  answer(behaviour: number | "hang"): void;
  stop(): Promise<void>;
};

export async function startCollector(): Promise<Collector> {
  const collected: Pick<Collector, "spans" | "bodies"> = { spans: [], bodies: [] };
  let behaviour: number | "hang" = 200;
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url: path = "", headers } = request;
    const body = Buffer.concat((await request.toArray()) as Buffer[]);
    collected.bodies.push({ path, headers, body });
    if (behaviour === "hang") return;
    if (behaviour === 200 && headers["content-type"] === "application/json")
      collected.spans.push(...readSpans(JSON.parse(body.toString())));
    response.writeHead(behaviour, { "content-type": "application/json" }).end("{}");
  };
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    ...collected,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: (next) => {
      behaviour = next;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

type Attribute = { key: string; value: Record<string, unknown> };
type WireSpan = Pick<CollectedSpan, "traceId" | "spanId" | "name" | "kind"> & {
  parentSpanId?: string;
  links?: CollectedSpan["links"];
  attributes: Attribute[];
  status: { code?: number };
};
type Wire = {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: WireSpan[] }[] }[];
};

function readSpans({ resourceSpans }: Wire): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ traceId, spanId, parentSpanId = "", name, kind, attributes, links = [], status }) => ({
        traceId,
        spanId,
        parentSpanId,
        name,
        kind,
        attributes: readAttributes(attributes),
        links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
        isError: status.code === 2,
        resource: readAttributes(resource.attributes),
      })),
    ),
  );
}

function readAttributes(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

/** Options of a process that sends its traces there. */
export function tracingEnvironment({ url }: Pick<Collector, "url">): Record<string, string> {
  return { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };
}

/** Does something while this process is traced; returns the spans of it, and the lines that tracing itself logged. */
export async function traceWhile(
  collector: Collector,
  work: () => Promise<unknown>,
  options: Record<string, string> = {},
): Promise<{ spans: CollectedSpan[]; logs: Record<string, unknown>[] }> {
  const logs: Record<string, unknown>[] = [];
  const logger = pino({ level: "trace" }, { write: (line: string) => void logs.push(JSON.parse(line)) });
  const before = collector.spans.length;
  const tracing = await openTracing(readConfig({ ...tracingEnvironment(collector), ...options }), logger);
  try {
    await work();
  } finally {
    await tracing?.stop();
  }
  return { spans: collector.spans.slice(before), logs };
}

/** The names below a span, each with those below it, in the order in which they began to be sent. */
export type SpanTree = { [name: string]: SpanTree };

export function treeOf(spans: readonly CollectedSpan[], parentSpanId = ""): SpanTree {
  const children = spans.filter((span) => span.parentSpanId === parentSpanId);
  return Object.fromEntries(children.map(({ name, spanId }) => [name, treeOf(spans, spanId)]));
}
