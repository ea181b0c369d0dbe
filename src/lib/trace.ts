/**
 * A span's attributes: names from a closed set, counts, durations and error classes. Never a caller's input or a workspace's
 * name: docs/decisions/0048-traces.md.
 */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

export type SpanOptions = {
  /** Of a closed set: a route, a statement, a source. */
  name: string;
  kind?: "server" | "client";
  /** true: begins a new trace. Any other span exists only within a sampled trace. */
  isRoot?: boolean;
  attributes?: Attributes;
  /** Errors that are answers, such as refusals: the span has not failed. */
  expects?: (error: unknown) => boolean;
};

export type Span = {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  set(attributes: Attributes): void;
  /** Gives it the status of an error. */
  fail(errorType: string): void;
  end(): void;
};

/** Records spans. src/operations/tracing.ts has the only implementation; it is not loaded while traces are off. */
export type Tracer = {
  /** The span around what runs now; null = none, or its trace is not sampled. */
  active(): Span | null;
  /** null: not recorded. `traceparent`: the header from a root's caller. */
  start(options: SpanOptions, traceparent?: string): Span | null;
  /** Runs work inside a span; null = inside none. */
  within<Result>(span: Span | null, work: () => Result): Result;
};

/** Of the process, as its collector is; null = traces are off, and each function below does nothing more than its work. */
let tracer: Tracer | null = null;

export function setTracer(next: Tracer | null): void {
  tracer = next;
}

export function isTracing(): boolean {
  return tracer !== null;
}

/** Does work inside a new span, which ends with it and fails if it throws. */
export function traced<Result>(options: SpanOptions, work: () => Promise<Result>): Promise<Result> {
  if (tracer === null) return work();
  if (options.isRoot !== true && tracer.active() === null) return work();
  const span = tracer.start(options);
  if (span !== null) return record(tracer, span, options, work);
  return options.isRoot === true ? tracer.within(null, work) : work();
}

async function record<Result>(
  recorder: Tracer,
  span: Span,
  { expects }: SpanOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await recorder.within(span, work);
  } catch (error) {
    if (expects?.(error) !== true) span.fail(errorType(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Adds attributes to the span around what runs now. */
export function note(attributes: Attributes): void {
  tracer?.active()?.set(attributes);
}

/** The span around what runs now has failed, although nothing is thrown. */
export function noteFailure(failure: string): void {
  tracer?.active()?.fail(failure);
}

export function activeSpan(): Span | null {
  return tracer === null ? null : tracer.active();
}

/** For log lines. */
export function traceFields(): { trace_id?: string } {
  const span = activeSpan();
  return span === null ? {} : { trace_id: span.traceId };
}

/** Starts a span that the caller ends; null = it is not recorded. */
export function startSpan(options: SpanOptions, traceparent?: string): Span | null {
  return tracer === null ? null : tracer.start(options, traceparent);
}

/** Runs work inside a span, or inside none. */
export function inSpan<Result>(span: Span | null, work: () => Result): Result {
  return tracer === null ? work() : tracer.within(span, work);
}

const CLASS_OF_ERROR = /^\w{1,60}$/u;

/** The SQLSTATE, the system's code or the name of an error; never its message. */
export function errorType(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  const known = [code, name].find((type) => typeof type === "string" && CLASS_OF_ERROR.test(type));
  return (known as string | undefined) ?? "_OTHER";
}
