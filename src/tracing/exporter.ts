import { setTimeout as sleep } from "node:timers/promises";
import { ExportResultCode } from "@opentelemetry/core";
import { JsonTraceSerializer, ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import type { TracingOptions } from "../lib/tracing-options.ts";
import { VERSION } from "../lib/version.ts";

export type TracingLog = {
  info: (fields: object, message: string) => void;
  warn: (fields: object, message: string) => void;
};

export type CollectorExporter = SpanExporter & {
  /** From here on nothing is sent twice. */
  hurry: () => void;
  /** Cuts off what is under way. */
  cutOff: () => void;
};

/** For one batch, all of its tries. */
const LONGEST_EXPORT_MS = 10_000;
const FIRST_RETRY_MS = 1000;
const RETRIED_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const SERIALIZERS = {
  "http/json": { serializer: JsonTraceSerializer, type: "application/json" },
  "http/protobuf": { serializer: ProtobufTraceSerializer, type: "application/x-protobuf" },
} as const;

const DROPPED = "traces cannot be sent: they are dropped until the collector answers";

type FetchError = Error & { cause?: { code?: string } };

/** Why a batch was not taken, and whether another try may help. */
class NotTaken extends Error {
  override name = "NotTaken";
  readonly mayHelp: boolean;

  constructor(reason: string, mayHelp: boolean) {
    super(reason);
    this.mayHelp = mayHelp;
  }
}

type Sender = Pick<CollectorExporter, "hurry" | "cutOff"> & { send: (body: Uint8Array) => Promise<void> };

/** Sends one body until the collector takes it, for at most `LONGEST_EXPORT_MS`. */
function createSender(url: string, headers: Readonly<Record<string, string>>): Sender {
  const stopping = new AbortController();
  let isHurried = false;
  const post = async (body: Uint8Array, signal: AbortSignal): Promise<void> => {
    // A redirect would carry the headers to wherever it leads.
    const request = { method: "POST", headers, body: body as Uint8Array<ArrayBuffer>, signal };
    const response = await fetch(url, { ...request, redirect: "manual" }).catch((error: FetchError) => {
      throw new NotTaken(signal.aborted ? "no answer in time" : (error.cause?.code ?? error.name), true);
    });
    await response.body?.cancel();
    if (!response.ok) throw new NotTaken(`status ${response.status}`, RETRIED_STATUSES.has(response.status));
  };
  return {
    send: async (body) => {
      const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(LONGEST_EXPORT_MS)]);
      for (let delayMs = FIRST_RETRY_MS; ; delayMs *= 2) {
        try {
          await post(body, signal);
          return;
        } catch (error) {
          if (isHurried || signal.aborted || !(error instanceof NotTaken && error.mayHelp)) throw error;
          await sleep(delayMs, undefined, { signal, ref: false }).catch(() => Promise.reject(error));
        }
      }
    },
    hurry: () => {
      isHurried = true;
    },
    cutOff: () => stopping.abort(),
  };
}

/** Sends spans to a collector by OTLP. What it does not take is dropped: the log says so once, and when it takes spans again. */
export function createExporter(
  { url, headers, protocol }: Pick<TracingOptions, "url" | "headers" | "protocol">,
  log: TracingLog,
): CollectorExporter {
  const { serializer, type } = SERIALIZERS[protocol];
  const userAgent = `returns-analytics/${VERSION}`;
  const { send, hurry, cutOff } = createSender(url, {
    "user-agent": userAgent,
    ...headers,
    "content-type": type,
  });
  const underWay = new Set<Promise<void>>();
  /** Spans since the collector last took a batch. */
  let dropped = 0;
  const noteTaken = (): void => {
    if (dropped > 0) log.info({ dropped_spans: dropped }, "the collector takes traces again");
    dropped = 0;
  };
  const noteDropped = (spans: number, reason: string): void => {
    if (dropped === 0) log.warn({ collector: new URL(url).origin, reason }, DROPPED);
    dropped += spans;
  };
  return {
    export: (spans, done) => {
      const sending = send(serializer.serializeRequest(spans) ?? new Uint8Array())
        .then(noteTaken, (error: Error) => noteDropped(spans.length, error.message))
        .finally(() => {
          underWay.delete(sending);
          done({ code: ExportResultCode.SUCCESS });
        });
      underWay.add(sending);
    },
    hurry,
    cutOff,
    shutdown: async () => {
      await Promise.all(underWay);
    },
  };
}
