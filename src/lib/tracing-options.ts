import { option } from "./option.ts";
import { flag, matching, oneOf, pairs, ratio } from "./option-forms.ts";

const SAMPLERS = [
  "parentbased_traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "traceidratio",
  "always_on",
  "always_off",
] as const;
const PROTOCOLS = ["http/protobuf", "http/json"] as const;

const collector = matching(
  "be an address such as http://localhost:4318, without user or password",
  /^https?:\/\/[^\s@?#]+$/u,
);

/** The options of traces: OpenTelemetry's own names, but for the last one. */
export const TRACING_OPTIONS = {
  otlpEndpoint: option(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    collector,
    null,
    "OpenTelemetry collector, such as `http://localhost:4318`; traces are sent to its path `/v1/traces`. Without it tracing is off.",
  ),
  otlpTracesEndpoint: option(
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    collector,
    null,
    "The full address for traces, instead of `OTEL_EXPORTER_OTLP_ENDPOINT`.",
  ),
  otlpHeaders: option(
    "OTEL_EXPORTER_OTLP_HEADERS",
    pairs,
    [],
    "Headers for the collector, such as `authorization=Bearer%20…,x-scope=returns`.",
    { hasFile: true },
  ),
  otlpProtocol: option(
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    oneOf(PROTOCOLS),
    "http/protobuf",
    "`http/protobuf` or `http/json`.",
  ),
  traceServiceName: option(
    "OTEL_SERVICE_NAME",
    matching("have 1 to 100 characters", /^.{1,100}$/u),
    "returns-analytics",
    "The service's name in traces.",
  ),
  traceResource: option(
    "OTEL_RESOURCE_ATTRIBUTES",
    pairs,
    [],
    "Further attributes of this process in traces, such as `deployment.environment.name=production`.",
  ),
  traceSampler: option(
    "OTEL_TRACES_SAMPLER",
    oneOf(SAMPLERS),
    "parentbased_traceidratio",
    `${SAMPLERS.slice(0, -1)
      .map((sampler) => `\`${sampler}\``)
      .join(", ")} or \`${SAMPLERS.at(-1)}\`.`,
  ),
  traceRatio: option(
    "OTEL_TRACES_SAMPLER_ARG",
    ratio,
    1,
    "The share of traces that ratio samplers record, from 0 to 1.",
  ),
  isTracingDisabled: option("OTEL_SDK_DISABLED", flag, false, "`true` turns traces off."),
  trustsTraceparent: option(
    "TRUST_TRACEPARENT",
    flag,
    false,
    "`true` continues the traces of callers and follows their sampling. Set it only where your own proxy sets or removes the header `traceparent`.",
  ),
};

type Pair = readonly [name: string, value: string];

type TracingValues = {
  otlpEndpoint: string | null;
  otlpTracesEndpoint: string | null;
  otlpHeaders: readonly Pair[];
  otlpProtocol: (typeof PROTOCOLS)[number];
  traceServiceName: string;
  traceResource: readonly Pair[];
  traceSampler: (typeof SAMPLERS)[number];
  traceRatio: number;
  isTracingDisabled: boolean;
  trustsTraceparent: boolean;
};

/** How traces are recorded, and where they are sent. */
export type TracingOptions = {
  url: string;
  headers: Readonly<Record<string, string>>;
  protocol: TracingValues["otlpProtocol"];
  serviceName: string;
  resource: Readonly<Record<string, string>>;
  sampler: TracingValues["traceSampler"];
  /** From 0 to 1. */
  ratio: number;
  trustsTraceparent: boolean;
};

/** null = traces are off. */
export function tracingOf(values: TracingValues): TracingOptions | null {
  const { otlpEndpoint, otlpTracesEndpoint } = values;
  const base = otlpEndpoint === null ? null : `${otlpEndpoint.replace(/\/$/u, "")}/v1/traces`;
  const url = otlpTracesEndpoint ?? base;
  if (url === null || values.isTracingDisabled) return null;
  return {
    url,
    headers: Object.fromEntries(values.otlpHeaders),
    protocol: values.otlpProtocol,
    serviceName: values.traceServiceName,
    resource: Object.fromEntries(values.traceResource),
    sampler: values.traceSampler,
    ratio: values.traceRatio,
    trustsTraceparent: values.trustsTraceparent,
  };
}
