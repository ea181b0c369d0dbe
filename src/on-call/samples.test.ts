import assert from "node:assert/strict";
import { test } from "node:test";
import { readProcess } from "./readings.ts";
import { formatValue } from "./rule.ts";
import { RULES } from "./rules.ts";
import { parseSamples, quantileOf, sumOf } from "./samples.ts";

const SCRAPE = `# HELP waits_seconds Help with { braces }.
# TYPE waits_seconds histogram
waits_seconds_bucket{le="0.1",route="/a"} 50
waits_seconds_bucket{le="1",route="/a"} 100
waits_seconds_bucket{le="+Inf",route="/a"} 100
waits_seconds_bucket{le="0.1",route="/b"} 0
waits_seconds_bucket{le="1",route="/b"} 0
waits_seconds_bucket{le="+Inf",route="/b"} 100
plain 3
odd{text="a \\"quoted\\", one"} 1e-3
`;

test("a scrape is read line by line, with its labels", () => {
  const samples = parseSamples(SCRAPE);
  assert.equal(samples.length, 8);
  assert.deepEqual(samples.at(-2), { name: "plain", labels: {}, value: 3 });
  assert.deepEqual(samples.at(-1), { name: "odd", labels: { text: 'a \\"quoted\\", one' }, value: 0.001 });
  assert.equal(
    sumOf(samples, "waits_seconds_bucket", ({ le }) => le === "+Inf"),
    200,
  );
  assert.equal(sumOf(samples, "absent"), 0);
});

test("a quantile is that of Prometheus: spread evenly within its bucket, the last bound where there is no upper one", () => {
  const samples = parseSamples(SCRAPE);
  const of = (share: number, route: string) =>
    quantileOf(samples, "waits_seconds", share, (labels) => labels["route"] === route);
  assert.deepEqual([of(0.25, "/a"), of(0.75, "/a"), of(0.5, "/b")], [0.05, 0.55, 1]);
  assert.ok(Number.isNaN(of(0.5, "/nowhere")));
});

test("every rule that doctor takes from /metrics is read there, and one without samples is not broken", () => {
  const names = RULES.flatMap(({ name, doctor }) => (doctor === "metrics" ? [name] : []));
  const read = readProcess([]);
  assert.deepEqual(
    read.map(({ rule }) => rule),
    names,
  );
  for (const { rule, readings } of read)
    assert.ok(
      readings.every(({ value }) => Number.isNaN(value)),
      rule,
    );
});

test("values are written for people", () => {
  const texts = [0.25, 59, 60, 125, 3600, 7500, 93_600].map((seconds) => formatValue(seconds, "seconds"));
  assert.deepEqual(texts, ["0.25 s", "59 s", "1 min", "2 min 5 s", "1 h", "2 h 5 min", "1 d 2 h"]);
  assert.deepEqual([formatValue(0.025, "share"), formatValue(3, "count")], ["2.5 %", "3"]);
});
