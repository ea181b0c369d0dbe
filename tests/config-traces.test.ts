import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, readConfig } from "../src/config.ts";
import type { Config } from "../src/config.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/" };
const tracingOf = (environment: Record<string, string>): Config["tracing"] => readConfig(environment).tracing;

test("traces are off without an endpoint, and where OTEL_SDK_DISABLED says so", () => {
  assert.equal(tracingOf({}), null);
  assert.equal(tracingOf({ OTEL_SERVICE_NAME: "returns", OTEL_TRACES_SAMPLER: "always_on" }), null);
  assert.equal(tracingOf({ ...ENDPOINT, OTEL_SDK_DISABLED: "true" }), null);
});

test("an endpoint is all that traces need", () => {
  assert.deepEqual(tracingOf(ENDPOINT), {
    url: "http://collector:4318/v1/traces",
    headers: {},
    protocol: "http/protobuf",
    serviceName: "returns-analytics",
    resource: {},
    sampler: "parentbased_traceidratio",
    ratio: 1,
    trustsTraceparent: false,
  });
});

test("the address for traces is used as it is, and headers are percent-decoded", () => {
  const tracing = tracingOf({
    ...ENDPOINT,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://traces.example/in",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20dXNlcjo=, x-scope = returns",
    OTEL_TRACES_SAMPLER_ARG: "0.05",
  });
  assert.equal(tracing?.url, "https://traces.example/in");
  assert.deepEqual(tracing.headers, { authorization: "Basic dXNlcjo=", "x-scope": "returns" });
  assert.equal(tracing.ratio, 0.05);
});

test("what traces cannot use is refused in a sentence that shows no value", () => {
  const refused: Record<string, string> = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://user:password@collector:4318",
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "collector:4317",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization",
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    OTEL_RESOURCE_ATTRIBUTES: "name=%zz",
    OTEL_TRACES_SAMPLER: "xray",
    OTEL_TRACES_SAMPLER_ARG: "1.5",
    OTEL_SDK_DISABLED: "yes",
    TRUST_TRACEPARENT: "1",
  };
  const address = "must be an address such as http://localhost:4318, without user or password.";
  const pairs = "must list names and values such as name=value,other=value%20with%20spaces.";
  assert.throws(
    () => readConfig(refused),
    (error: ConfigError) => {
      assert.ok(error instanceof ConfigError);
      assert.deepEqual(error.message.split("\n"), [
        `OTEL_EXPORTER_OTLP_ENDPOINT ${address}`,
        `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ${address}`,
        `OTEL_EXPORTER_OTLP_HEADERS ${pairs}`,
        "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or http/json.",
        `OTEL_RESOURCE_ATTRIBUTES ${pairs}`,
        "OTEL_TRACES_SAMPLER must be parentbased_traceidratio, parentbased_always_on, parentbased_always_off, traceidratio, always_on or always_off.",
        "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1.",
        "OTEL_SDK_DISABLED must be true or false.",
        "TRUST_TRACEPARENT must be true or false.",
      ]);
      return true;
    },
  );
});
