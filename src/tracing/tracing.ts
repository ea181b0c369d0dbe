import { randomUUID } from "node:crypto";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Sampler } from "@opentelemetry/sdk-trace";
import { setTracer } from "../lib/trace.ts";
import type { TracingOptions } from "../lib/tracing-options.ts";
import { VERSION } from "../lib/version.ts";
import { within } from "../lib/within.ts";
import { createExporter } from "./exporter.ts";
import type { TracingLog } from "./exporter.ts";
import { createTracer } from "./tracer.ts";

export type Tracing = {
  /** Sends what is recorded, for at most `LONGEST_STOP_MS`. */
  stop(): Promise<void>;
};

const LONGEST_STOP_MS = 2000;

/** Records traces from here on and sends them in the background, in batches; spans beyond 2048 that wait are dropped. */
export function startTracing(options: TracingOptions, log: TracingLog): Tracing {
  const exporter = createExporter(options, log);
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes(options.resource))
      .merge(
        resourceFromAttributes({
          "service.name": options.serviceName,
          "service.version": VERSION,
          "service.instance.id": randomUUID(),
        }),
      ),
    sampler: samplerOf(options),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  setTracer(createTracer(provider.getTracer("returns-analytics", VERSION), options.trustsTraceparent));
  return {
    stop: async () => {
      setTracer(null);
      exporter.hurry();
      const sent = provider.shutdown();
      await within(LONGEST_STOP_MS, sent).catch(() => exporter.cutOff());
      await sent;
    },
  };
}

function samplerOf({ sampler, ratio }: TracingOptions): Sampler {
  const root = rootSamplerOf(sampler.replace("parentbased_", ""), ratio);
  return sampler.startsWith("parentbased_") ? new ParentBasedSampler({ root }) : root;
}

function rootSamplerOf(name: string, ratio: number): Sampler {
  if (name === "always_on") return new AlwaysOnSampler();
  return name === "always_off" ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(ratio);
}
