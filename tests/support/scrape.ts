import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { runPromtool } from "./promtool.ts";

/** An alerting rule as Prometheus reads it. */
export type Rule = {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
};

export const RULES_TEXT = readFileSync(
  join(import.meta.dirname, "../../deploy/prometheus/rules.yml"),
  "utf8",
);
export const RULES = (parse(RULES_TEXT) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  ({ rules }) => rules,
);

/** What Prometheus has after one scrape of a server: samples by series, and which series are counters. */
export type Scrape = { values: ReadonlyMap<string, number>; counters: ReadonlySet<string> };

const TARGET = 'job="returns-analytics", instance="server-1:9090"';
const UP = `up{${TARGET}}`;

/** Scrapes as Prometheus does: with the labels of the target, and with `up`. */
export async function scrape(address: string): Promise<Scrape> {
  const text = await fetch(`${address}/metrics`).then(
    (answer) => answer.text(),
    () => null,
  );
  return readScrape(text);
}

/** An answer as Prometheus stores it; null = no answer. */
export function readScrape(text: string | null): Scrape {
  const values = new Map([[UP, text === null ? 0 : 1]]);
  const counters = new Set<string>();
  let rises = false;
  for (const line of (text ?? "").split("\n")) {
    const type = /^# TYPE \S+ (\w+)$/u.exec(line)?.[1];
    if (type !== undefined) rises = type === "counter" || type === "histogram";
    if (line === "" || line.startsWith("#")) continue;
    const end = line.lastIndexOf(" ");
    const [name = "", labels = "}"] = line.slice(0, end).split(/\{(.*)/su);
    const series = `${name}{${TARGET}${labels === "}" ? "" : `, ${labels.slice(0, -1)}`}}`;
    values.set(series, Number(line.slice(end + 1)));
    if (rises) counters.add(series);
  }
  return { values, counters };
}

/** An unknown target: no samples at all. */
export const NOTHING: Scrape = { values: new Map(), counters: new Set() };

/** Two scrapes of a state. */
export type Observed = readonly [first: Scrape, last: Scrape];

const HEALTHY_SCRAPES = 20;
/** For longer states scrapes are ten minutes apart, so that a test of hours or days does not take long. */
const LONG_MINUTES = 60;

/**
 * Evaluates these rules for a server that is healthy for twenty scrapes and then in a state for `minutes`. With each scrape
 * counters rise as between the two scrapes of the state, and growing ages continue to grow. Throws unless no alert is pending or
 * firing at the end of the healthy part, and all of `firing` and none of `silent` fire at the end of the other.
 */
export function checkRules(
  healthy: Observed,
  state: Observed,
  {
    minutes,
    firing,
    silent = [],
  }: { minutes: number; firing: readonly string[]; silent?: readonly string[] },
): void {
  const stepMinutes = minutes > LONG_MINUTES ? 10 : 1;
  const scrapes = minutes / stepMinutes;
  const observed = [...healthy, ...state];
  const names = new Set(observed.flatMap(({ values }) => [...values.keys()]).filter(isUsed));
  for (const name of names) if (isOfEmptyHistogram(name, observed)) names.delete(name);
  const series = [...names].map((name) => {
    const { before, rise, after, growth } = courseOf(name, healthy, state, stepMinutes * 60);
    return {
      series: name,
      values: `${seriesText(before, rise, HEALTHY_SCRAPES)} ${seriesText(after, growth, scrapes + 1)}`,
    };
  });
  const at = (step: number): string => `${step * stepMinutes}m`;
  const test = {
    interval: at(1),
    input_series: series,
    promql_expr_test: [
      { expr: "ALERTS", eval_time: at(HEALTHY_SCRAPES - 1), exp_samples: [] },
      ...firing.map((name) => ({
        expr: `count by (alertname) (ALERTS{alertname="${name}", alertstate="firing"}) > bool 0`,
        eval_time: at(HEALTHY_SCRAPES + scrapes),
        exp_samples: [{ labels: `{alertname="${name}"}`, value: 1 }],
      })),
      ...silent.map((name) => ({
        expr: `ALERTS{alertname="${name}", alertstate="firing"}`,
        eval_time: at(HEALTHY_SCRAPES + scrapes),
        exp_samples: [],
      })),
    ],
  };
  // JSON is YAML, too.
  const file = JSON.stringify({ rule_files: ["rules.yml"], evaluation_interval: at(1), tests: [test] });
  runPromtool(["test", "rules", "test.yml"], { "rules.yml": RULES_TEXT, "test.yml": file });
}

const USED = new Set(RULES.flatMap(({ expr }) => expr.match(/\b(?:returns|http|nodejs|up)_?\w*/gu) ?? []));

function isUsed(series: string): boolean {
  return USED.has(series.slice(0, series.indexOf("{")));
}

/** Histograms without a request only take time. */
function isOfEmptyHistogram(series: string, observed: readonly Scrape[]): boolean {
  const whole = series.replace(/\ble="[^"]*"/u, 'le="+Inf"');
  return series.includes("_bucket{") && observed.every(({ values }) => (values.get(whole) ?? 0) === 0);
}

/** The course of a series: its first value and the change with each scrape, while healthy and in the state; null = absent. */
type Course = { before: number | null; rise: number; after: number | null; growth: number };

function courseOf(series: string, healthy: Observed, state: Observed, stepSeconds: number): Course {
  const [first, last] = valuesOf(series, healthy);
  const [began, now] = valuesOf(series, state);
  if ([...healthy, ...state].some(({ counters }) => counters.has(series))) {
    const rise = (last ?? 0) - (first ?? 0);
    const growth = (now ?? 0) - (began ?? 0);
    const reached = (first ?? 0) + rise * (HEALTHY_SCRAPES - 1);
    return {
      before: last === null ? null : (first ?? 0),
      rise,
      after: now === null ? null : reached + growth,
      growth,
    };
  }
  const isOlder = /^returns_\w+_(?:age|late|overdue)_seconds\{/u.test(series) && (now ?? 0) > (began ?? 0);
  return { before: last, rise: 0, after: now, growth: isOlder ? stepSeconds : 0 };
}

function valuesOf(series: string, [first, last]: Observed): [number | null, number | null] {
  return [first.values.get(series) ?? null, last.values.get(series) ?? null];
}

/** In promtool's notation. */
function seriesText(from: number | null, step: number, samples: number): string {
  if (from === null) return `_x${samples}`;
  const text = (value: number): string => String(Number(value.toFixed(6)));
  return `${text(from)}${step < 0 ? "-" : "+"}${text(Math.abs(step))}x${samples - 1}`;
}
