import { setTimeout as sleep } from "node:timers/promises";
import { ExportResultCode } from "@opentelemetry/core";
import { JsonTraceSerializer, ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { TracingOptions } from "../lib/tracing-options.ts";
import { VERSION } from "../lib/version.ts";

export type TracingLog = {
  info: (fields: object, message: string) => void;
  warn: (fields: object, message: string) => void;
};

export type CollectorExporter = SpanExporter & {
  /** From here on nothing is sent twice. */
  hurry(): void;
  /** Cuts off what is under way. */
  cutOff(): void;
};

/** For one batch, all of its tries. */
const LONGEST_EXPORT_MS = 10_000;
const FIRST_RETRY_MS = 1000;
const RETRIED_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const SERIALIZERS = {
  "http/json": { serializer: JsonTraceSerializer, type: "application/json" },
  "http/protobuf": { serializer: ProtobufTraceSerializer, type: "application/x-protobuf" },
} as const;

/** Why a batch was not taken, and whether another try may help. */
class NotTaken extends Error {
  override name = "NotTaken";
  readonly mayHelp: boolean;

  constructor(reason: string, mayHelp: boolean) {
    super(reason);
    this.mayHelp = mayHelp;
  }
}

/** Sends spans to a collector by OTLP. What it does not take in time is dropped: the log says so once, and when it answers again. */
export function createExporter(
  { url, headers, protocol }: Pick<TracingOptions, "url" | "headers" | "protocol">,
  log: TracingLog,
): CollectorExporter {
  const { serializer, type } = SERIALIZERS[protocol];
  const stopping = new AbortController();
  let isHurried = false;
  /** Spans since the collector last took a batch. */
  let dropped = 0;
  const underWay = new Set<Promise<void>>();

  const post = async (body: Uint8Array, signal: AbortSignal): Promise<void> => {
    const request = {
      method: "POST",
      headers: { "user-agent": `returns-analytics/${VERSION}`, ...headers, "content-type": type },
      body: body as Uint8Array<ArrayBuffer>,
      // A redirect would carry the headers to wherever it leads.
      redirect: "manual",
      signal,
    } as const;
    const response = await fetch(url, request).catch((error: Error & { cause?: { code?: string } }) => {
      throw new NotTaken(signal.aborted ? "no answer in time" : (error.cause?.code ?? error.name), true);
    });
    await response.body?.cancel();
    if (!response.ok) throw new NotTaken(`status ${response.status}`, RETRIED_STATUSES.has(response.status));
  };
  const send = async (spans: ReadableSpan[]): Promise<void> => {
    const body = serializer.serializeRequest(spans);
    if (body === undefined) return;
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(LONGEST_EXPORT_MS)]);
    for (let delayMs = FIRST_RETRY_MS; ; delayMs *= 2) {
      try {
        await post(body, signal);
        return;
      } catch (error) {
        const isLast = isHurried || signal.aborted || !(error instanceof NotTaken && error.mayHelp);
        if (isLast) throw error;
        await sleep(delayMs, undefined, { signal, ref: false }).catch(() => Promise.reject(error as Error));
      }
    }
  };
  const noteTaken = (): void => {
    if (dropped > 0) log.info({ dropped_spans: dropped }, "the collector takes traces again");
    dropped = 0;
  };
  const noteDropped = (spans: number, reason: string): void => {
    if (dropped === 0)
      log.warn(
        { collector: url, reason },
        "traces cannot be sent: they are dropped until the collector answers",
      );
    dropped += spans;
  };
  return {
    export: (spans, done) => {
      const sending = send(spans)
        .then(noteTaken, (error: Error) => noteDropped(spans.length, error.message))
        .finally(() => {
          underWay.delete(sending);
          done({ code: ExportResultCode.SUCCESS });
        });
      underWay.add(sending);
    },
    hurry: () => {
      isHurried = true;
    },
    cutOff: () => stopping.abort(),
    shutdown: async () => {
      await Promise.all(underWay);
    },
  };
}
