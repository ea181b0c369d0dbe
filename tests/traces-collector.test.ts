import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, test } from "node:test";
import { ConfigError, readConfig } from "../src/config.ts";
import { startSpan, traced } from "../src/lib/trace.ts";
import { startCollector, traceWhile } from "./support/collector.ts";
import { use } from "./support/use.ts";
import { makeFolder } from "./support/folder.ts";

/** An unreachable, slow or refusing collector causes nothing but one line in the log of the sending process. */

const collector = use(startCollector);
beforeEach(() => {
  collector.answer(200);
  collector.bodies.length = 0;
});

/** The size of a batch that is sent at once. */
const BATCH = 512;
const root = (): void => startSpan({ name: "test", isRoot: true })?.end();
const endBatch = (): void => {
  for (let spans = 0; spans < BATCH; spans++) root();
};
const messagesOf = (logs: readonly Record<string, unknown>[]): unknown[] => logs.map(({ msg }) => msg);

async function arrived(bodies: number): Promise<void> {
  while (collector.bodies.length < bodies) await new Promise((done) => setTimeout(done, 5));
}

test("spans are sent to /v1/traces in protobuf, with the operator's headers", async () => {
  await traceWhile(collector, async () => root(), {
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20of-the-collector,x-scope=returns",
  });
  const [sent] = collector.bodies;
  assert.equal(sent?.path, "/v1/traces");
  assert.equal(sent.headers["content-type"], "application/x-protobuf");
  assert.equal(sent.headers.authorization, "Bearer of-the-collector");
  assert.equal(sent.headers["x-scope"], "returns");
  assert.ok(sent.body.includes("service.name") && sent.body.includes("test"));
});

test("the headers of OTEL_EXPORTER_OTLP_HEADERS_FILE are sent, and are not in the environment", async () => {
  const folder = makeFolder();
  const file = join(folder, "headers");
  writeFileSync(file, "authorization=Bearer%20of-the-file\n");
  await traceWhile(collector, async () => root(), { OTEL_EXPORTER_OTLP_HEADERS_FILE: file });
  assert.equal(collector.bodies[0]?.headers.authorization, "Bearer of-the-file");
  assert.equal(process.env["OTEL_EXPORTER_OTLP_HEADERS"], undefined);
});

test("invalid settings of traces are refused in a sentence that shows no value", () => {
  const refused: Record<string, string> = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://user:password@collector:4318",
    OTEL_EXPORTER_OTLP_TIMEOUT: "never",
    OTEL_TRACES_SAMPLER: "xray",
    OTEL_TRACES_SAMPLER_ARG: "1.5",
    OTEL_SDK_DISABLED: "yes",
    TRUST_TRACEPARENT: "1",
  };
  assert.throws(
    () => readConfig(refused),
    (error: ConfigError) => {
      assert.ok(error instanceof ConfigError);
      assert.deepEqual(error.message.split("\n"), [
        "OTEL_EXPORTER_OTLP_ENDPOINT must be an address such as http://localhost:4318, without user or password.",
        "OTEL_EXPORTER_OTLP_TIMEOUT must be a whole number from 100 to 60000.",
        "OTEL_TRACES_SAMPLER must be parentbased_traceidratio, parentbased_always_on, parentbased_always_off, traceidratio, always_on or always_off.",
        "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1.",
        "OTEL_SDK_DISABLED must be true or false.",
        "TRUST_TRACEPARENT must be true or false.",
      ]);
      return true;
    },
  );
});

test("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is used unchanged", async () => {
  await traceWhile(collector, async () => root(), {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/own/path`,
  });
  assert.deepEqual(
    collector.bodies.map(({ path }) => path),
    ["/own/path"],
  );
});

test("a refusing collector is logged once, and once more when it accepts traces again", async () => {
  collector.answer(400);
  const { spans, logs } = await traceWhile(collector, async () => {
    for (const batches of [1, 2, 3]) {
      endBatch();
      await arrived(batches);
    }
    collector.answer(200);
    endBatch();
    await arrived(4);
  });
  assert.deepEqual(messagesOf(logs), [
    "traces cannot be sent: they are dropped until the collector answers",
    "the collector accepts traces again",
  ]);
  assert.equal(logs[0]?.["reason"], 400);
  assert.equal(logs[1]?.["dropped_spans"], 3 * BATCH);
  assert.equal(spans.length, BATCH);
});

test("a batch is sent again if the collector is too busy", async () => {
  collector.answer(503);
  const { spans, logs } = await traceWhile(collector, async () => {
    endBatch();
    await arrived(1);
    collector.answer(200);
    await arrived(2);
  });
  assert.deepEqual([spans.length, logs], [BATCH, []]);
});

test("without a collector stopping is quick", async () => {
  const startedAt = performance.now();
  const { logs } = await traceWhile(collector, async () => root(), {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
  });
  assert.ok(performance.now() - startedAt < 3000);
  assert.equal(logs.length, 1);
  assert.equal(logs[0]?.["level"], 40);
});

test("stopping does not wait for a hanging collector longer than its time limit", async () => {
  collector.answer("hang");
  const { logs } = await traceWhile(collector, async () => {
    endBatch();
    await arrived(1);
    root();
  });
  assert.equal(logs.length, 1);
  assert.equal(logs[0]?.["reason"], "Request timed out");
});

test("1000 spans of a trace are recorded, and the first says how many are left out", async () => {
  const { spans } = await traceWhile(collector, () =>
    traced({ name: "long", isRoot: true }, async () => {
      for (let step = 0; step < 1100; step++) await traced({ name: "step" }, async () => {});
    }),
  );
  assert.equal(spans.length, 1000);
  assert.equal(spans.at(-1)?.attributes["returns.spans_left_out"], 101);
});

test("work that outlives its trace is in no trace", async () => {
  const { spans } = await traceWhile(collector, async () => {
    let late: Promise<void> = Promise.resolve();
    await traced({ name: "request", isRoot: true }, async () => {
      late = new Promise((done) => setTimeout(done, 10)).then(() => traced({ name: "late" }, async () => {}));
    });
    await late;
  });
  assert.deepEqual(
    spans.map(({ name }) => name),
    ["request"],
  );
});
