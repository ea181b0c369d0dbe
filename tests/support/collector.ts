import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import pino from "pino";
import { openTracing } from "../../src/app.ts";
import { readConfig } from "../../src/config.ts";

/** A span as the collector received it. */
export type CollectedSpan = {
  traceId: string;
  spanId: string;
  /** Empty for a span without a parent from this process. */
  parentSpanId: string;
  name: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  isError: boolean;
  resource: Record<string, unknown>;
};

/** A collector of OTLP over HTTP on this machine, which answers as instructed. */
export type Collector = {
  url: string;
  /** In the order of their arrival. */
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
    if (behaviour === 200) collected.spans.push(...readSpans(body));
    response.writeHead(behaviour, { "content-type": "application/x-protobuf" }).end();
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

/** A message in protobuf: the values of each field by its number. */
type Message = Map<number, (number | Buffer)[]>;

/** The fields of opentelemetry/proto/trace/v1/trace.proto, by number. */
function readSpans(body: Buffer): CollectedSpan[] {
  return messages(readMessage(body), 1).flatMap((resourceSpans) => {
    const resource = readAttributes(messages(resourceSpans, 1).flatMap((found) => messages(found, 1)));
    const spans = messages(resourceSpans, 2).flatMap((scope) => messages(scope, 2));
    return spans.map((span) => ({
      traceId: bytes(span, 1).toString("hex"),
      spanId: bytes(span, 2).toString("hex"),
      parentSpanId: bytes(span, 4).toString("hex"),
      name: bytes(span, 5).toString(),
      kind: Number(span.get(6)?.[0]),
      attributes: readAttributes(messages(span, 9)),
      links: messages(span, 13).map((link) => ({
        traceId: bytes(link, 1).toString("hex"),
        spanId: bytes(link, 2).toString("hex"),
      })),
      isError: messages(span, 15)[0]?.get(3)?.[0] === 2,
      resource,
    }));
  });
}

function readAttributes(pairs: readonly Message[]): Record<string, unknown> {
  return Object.fromEntries(pairs.map((pair) => [bytes(pair, 1).toString(), readValue(bytes(pair, 2))]));
}

/** A string, a boolean, or a number as an integer or a double. */
function readValue(body: Buffer): unknown {
  const [[field, [value]] = [0, []]] = readMessage(body);
  if (field === 2) return value === 1;
  if (field === 4) return (value as Buffer).readDoubleLE();
  return field === 1 ? String(value) : value;
}

function bytes(message: Message, field: number): Buffer {
  return (message.get(field)?.[0] ?? Buffer.alloc(0)) as Buffer;
}

function messages(message: Message, field: number): Message[] {
  return (message.get(field) ?? []).map((body) => readMessage(body as Buffer));
}

function readMessage(body: Buffer): Message {
  const fields: Message = new Map();
  let at = 0;
  const varint = (): number => {
    for (let value = 0, scale = 1; ; scale *= 128) {
      const byte = body.readUInt8(at++);
      value += (byte % 128) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < body.length) {
    const tag = varint();
    const length = { 0: 0, 1: 8, 2: null, 5: 4 }[tag % 8] ?? varint();
    const value = tag % 8 === 0 ? varint() : body.subarray(at, (at += length));
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}

/** Options of a process that sends its traces there. */
export function tracingEnvironment({ url }: Pick<Collector, "url">): Record<string, string> {
  return { OTEL_EXPORTER_OTLP_ENDPOINT: url };
}

/** Does something while this process is traced; returns its spans, and the lines that tracing itself logged. */
export async function traceWhile(
  collector: Collector,
  work: () => Promise<unknown>,
  options: Record<string, string> = {},
): Promise<{ spans: CollectedSpan[]; logs: Record<string, unknown>[] }> {
  const logs: Record<string, unknown>[] = [];
  const logger = pino({ level: "trace" }, { write: (line: string) => void logs.push(JSON.parse(line)) });
  const before = collector.spans.length;
  const environment = { ...tracingEnvironment(collector), ...options };
  Object.assign(process.env, environment);
  const tracing = await openTracing(readConfig(environment), logger);
  for (const name of Object.keys(environment)) delete process.env[name];
  try {
    await work();
  } finally {
    await tracing?.stop();
  }
  return { spans: collector.spans.slice(before), logs };
}

/** The names below a span, each with those below it, in the order in which they began. */
export type SpanTree = { [name: string]: SpanTree };

export function treeOf(spans: readonly CollectedSpan[], parentSpanId = ""): SpanTree {
  const children = spans.filter((span) => span.parentSpanId === parentSpanId);
  return Object.fromEntries(children.map(({ name, spanId }) => [name, treeOf(spans, spanId)]));
}

/** The one span of this name. */
export function only(spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const found = spans.filter((span) => span.name === name);
  assert.equal(found.length, 1, `${name} among ${spans.map((span) => span.name).join(", ")}`);
  return found[0] as CollectedSpan;
}
