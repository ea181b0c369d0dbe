import { AsyncLocalStorage } from "node:async_hooks";
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from "@opentelemetry/api";
import type * as api from "@opentelemetry/api";
import { parseTraceParent } from "@opentelemetry/core";
import type { Attributes, Span, SpanOptions, Tracer } from "../lib/trace.ts";

/** Of one trace in this process: a backfill runs many thousands of statements. */
const MOST_SPANS = 1000;

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

/** What the spans of one trace in this process share. */
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
export function createTracer(recorder: api.Tracer, trustsTraceparent: boolean): Tracer {
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
