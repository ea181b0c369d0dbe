import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, diag, trace } from "@opentelemetry/api";
import type * as api from "@opentelemetry/api";
import { ExportResultCode, parseKeyPairsIntoRecord, parseTraceParent } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Sampler, SpanExporter } from "@opentelemetry/sdk-trace";
import { setTracer, type Attributes, type Span, type SpanOptions, type Tracer } from "../lib/trace.ts";
import { VERSION } from "../lib/version.ts";
import { within } from "../lib/within.ts";

/** Options that the SDK does not read from the environment. */
type TracingOptions = {
  /** As OTEL_EXPORTER_OTLP_HEADERS has them; null = none. */
  otlpHeaders: string | null;
  /** For one batch with its retries, and so for a stop. */
  otlpTimeoutMs: number;
  traceSampler: string;
  /** From 0 to 1. */
  traceRatio: number;
  trustsTraceparent: boolean;
};

type TracingLog = {
  info: (fields: object, message: string) => void;
  warn: (fields: object, message: string) => void;
};

export type Tracing = {
  /** Sends the recorded spans. */
  stop(): Promise<void>;
};

/** Records traces from here on and sends them in the background, in batches; spans beyond 2048 that wait are dropped. */
export function startTracing(options: TracingOptions, log: TracingLog): Tracing {
  const warn = (message: string): void => log.warn({}, message);
  const ignore = (): void => {};
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { suppressOverrideMessage: true },
  );
  const own = { "service.name": "returns-analytics", "service.version": VERSION };
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ ...own, "service.instance.id": randomUUID() }))
      .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })),
    sampler: samplerOf(options),
    spanProcessors: [new BatchSpanProcessor({ exporter: createExporter(options, log) })],
  });
  setTracer(createTracer(provider.getTracer("returns-analytics", VERSION), options.trustsTraceparent));
  return {
    stop: async () => {
      setTracer(null);
      await within(2 * options.otlpTimeoutMs, provider.shutdown()).catch(ignore);
      diag.disable();
    },
  };
}

function samplerOf({ traceSampler, traceRatio }: TracingOptions): Sampler {
  const root = rootSamplerOf(traceSampler.replace("parentbased_", ""), traceRatio);
  return traceSampler.startsWith("parentbased_") ? new ParentBasedSampler({ root }) : root;
}

function rootSamplerOf(name: string, ratio: number): Sampler {
  if (name === "always_on") return new AlwaysOnSampler();
  return name === "always_off" ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(ratio);
}

/**
 * The SDK's exporter. Spans that the collector does not accept are dropped: the log reports it once, and when it accepts spans
 * again.
 */
function createExporter({ otlpHeaders, otlpTimeoutMs }: TracingOptions, log: TracingLog): SpanExporter {
  const exporter = new OTLPTraceExporter({
    headers: parseKeyPairsIntoRecord(otlpHeaders ?? undefined),
    timeoutMillis: otlpTimeoutMs,
    userAgent: `returns-analytics/${VERSION}`,
  });
  /** Spans since the collector last took a batch. */
  let dropped = 0;
  return {
    export: (spans, done) =>
      exporter.export(spans, ({ code, error }) => {
        if (code === ExportResultCode.SUCCESS) {
          if (dropped > 0) log.info({ dropped_spans: dropped }, "the collector accepts traces again");
          dropped = 0;
        } else {
          const { code: reason = error?.message } = (error ?? {}) as { code?: string | number };
          if (dropped === 0)
            log.warn({ reason }, "traces cannot be sent: they are dropped until the collector answers");
          dropped += spans.length;
        }
        done({ code: ExportResultCode.SUCCESS });
      }),
    shutdown: () => exporter.shutdown(),
  };
}

/** Per trace in this process: a backfill runs many thousands of statements. */
const MOST_SPANS = 1000;

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

/** Shared by the spans of one trace in this process. */
type Trace = { spans: number; leftOut: number };

class RecordedSpan implements Span {
  readonly span: api.Span;
  readonly trace: Trace;
  readonly isRoot: boolean;
  readonly traceId: string;

  constructor(span: api.Span, place: Trace, isRoot: boolean) {
    this.span = span;
    this.trace = place;
    this.isRoot = isRoot;
    this.traceId = span.spanContext().traceId;
  }

  set(attributes: Attributes): void {
    this.span.setAttributes(attributes);
  }

  fail(errorType: string): void {
    this.span.setAttribute("error.type", errorType).setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    const { leftOut } = this.trace;
    if (this.isRoot && leftOut > 0) this.span.setAttribute("returns.spans_left_out", leftOut);
    this.span.end();
  }
}

/**
 * Records the spans of this service alone: the provider is known to nothing else, so that no package can add to a trace.
 * `trustsTraceparent`: a caller's trace is continued and sampled as the caller says. Otherwise each root begins a trace of
 * its own, and a link names the sampled one of the caller.
 */
function createTracer(recorder: api.Tracer, trustsTraceparent: boolean): Tracer {
  const storage = new AsyncLocalStorage<RecordedSpan | null>();
  const active = (): RecordedSpan | null => {
    const span = storage.getStore() ?? null;
    // Sockets and timers that a request opened outlive it, and keep its place.
    return span?.span.isRecording() === true ? span : null;
  };
  const startRoot = ({ name, kind, attributes = {} }: SpanOptions, traceparent?: string): Span | null => {
    const caller = callerOf(traceparent);
    const options: api.SpanOptions = { kind: KINDS[kind ?? "internal"], attributes };
    if (caller !== null && !trustsTraceparent && (caller.traceFlags & TraceFlags.SAMPLED) !== 0)
      options.links = [{ context: caller }];
    const parent =
      caller !== null && trustsTraceparent ? trace.setSpanContext(ROOT_CONTEXT, caller) : ROOT_CONTEXT;
    const span = recorder.startSpan(name, options, parent);
    return span.isRecording() ? new RecordedSpan(span, { spans: 1, leftOut: 0 }, true) : null;
  };
  const startChild = (
    { name, kind, attributes = {} }: SpanOptions,
    { span, trace: place }: RecordedSpan,
  ): Span | null => {
    if (place.spans >= MOST_SPANS) {
      place.leftOut += 1;
      return null;
    }
    place.spans += 1;
    const options = { kind: KINDS[kind ?? "internal"], attributes };
    return new RecordedSpan(
      recorder.startSpan(name, options, trace.setSpan(ROOT_CONTEXT, span)),
      place,
      false,
    );
  };
  return {
    active,
    start: (options, traceparent) => {
      if (options.isRoot === true) return startRoot(options, traceparent);
      const parent = active();
      return parent === null ? null : startChild(options, parent);
    },
    within: (span, work) => storage.run(span as RecordedSpan | null, work),
  };
}

function callerOf(traceparent: string | undefined): api.SpanContext | null {
  const caller = traceparent === undefined ? null : parseTraceParent(traceparent);
  return caller === null ? null : { ...caller, traceFlags: caller.traceFlags & 1, isRemote: true };
}
