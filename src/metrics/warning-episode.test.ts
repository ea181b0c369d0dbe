import assert from "node:assert/strict";
import { test } from "node:test";
import type { EarlyWarning, WarnedKind } from "./early-warning.ts";
import { announceWarnings } from "./warning-episode.ts";
import type { WarningEpisode } from "./warning-episode.ts";

type Part = { kind: WarnedKind; key: string; excessLines: number };

const warning = (kind: WarnedKind, key: string, excess: number, parts: Part[] = []): EarlyWarning => ({
  kind,
  key,
  windowDays: 28,
  lines: 100,
  returnedLines: excess + 2,
  expectedLines: 2,
  p: 1e-6,
  parts,
});
const part = (kind: WarnedKind, key: string, excessLines: number): Part => ({ kind, key, excessLines });

/** Days with their warnings, one after the other; returns what was announced, by day. */
function replay(days: Record<number, EarlyWarning[]>): Record<string, string[]> {
  const known = new Map<string, WarningEpisode>();
  const told: Record<string, string[]> = {};
  for (const [day, warnings] of Object.entries(days)) {
    const { announced, episodes } = announceWarnings(warnings, [...known.values()], Number(day));
    for (const episode of episodes) known.set(`${episode.kind} ${episode.key}`, episode);
    if (announced.length > 0) told[day] = announced.map(({ kind, key }) => `${kind} ${key}`);
  }
  return told;
}

test("M17: one warning per episode, which ends after 45 days without", () => {
  const sku = [warning("sku", "A", 10)];
  assert.deepEqual(replay({ 1: sku, 2: sku, 47: sku, 92: sku, 138: sku }), { 1: ["sku A"], 138: ["sku A"] });
});

test("M17: the narrowest entity with 80 % of the excess is reported", () => {
  const product = (excess: number) => warning("product", "P", excess, [part("sku", "A", 8)]);
  assert.deepEqual(replay({ 1: [warning("sku", "A", 8), product(10)] }), { 1: ["sku A"] });
  assert.deepEqual(replay({ 1: [warning("sku", "A", 8), product(11)] }), { 1: ["product P"] });
});

test("M17: what was named as part of a warning is no second one, what was not is", () => {
  const product = warning("product", "P", 11, [part("sku", "A", 8)]);
  const first = { 1: [product] };
  assert.deepEqual(replay({ ...first, 3: [product, warning("sku", "A", 9)] }), { 1: ["product P"] });
  assert.deepEqual(replay({ ...first, 3: [product, warning("sku", "B", 9)] }), {
    1: ["product P"],
    3: ["sku B"],
  });
});

test("M17: a broader entity is reported later only for more than the narrower ones explain", () => {
  const parts = [part("sku", "A", 8), part("sku", "B", 8)];
  const skus = [warning("sku", "A", 8), warning("sku", "B", 8)];
  assert.deepEqual(replay({ 1: skus, 2: [...skus, warning("product", "P", 20, parts)] }), {
    1: ["sku A", "sku B"],
  });
  assert.deepEqual(replay({ 1: skus, 2: [...skus, warning("product", "P", 21, parts)] }), {
    1: ["sku A", "sku B"],
    2: ["product P"],
  });
});

test("M17: an older as-of day neither ends an episode nor tells it again", () => {
  const sku = [warning("sku", "A", 10)];
  const known: WarningEpisode[] = [
    { kind: "sku", key: "A", startedDay: 90, latestDay: 100, isAnnounced: true },
  ];
  const { announced, episodes } = announceWarnings(sku, known, 20);
  assert.deepEqual(announced, []);
  assert.deepEqual(episodes, known);
});

test("M17: what a narrower warning explains counts as reported on the day of that one", () => {
  const parts = [part("sku", "A", 9)];
  const known: WarningEpisode[] = [{ kind: "sku", key: "A", startedDay: 1, latestDay: 6, isAnnounced: true }];
  const day = [warning("sku", "A", 9), warning("product", "P", 10, parts)];
  const { announced, episodes } = announceWarnings(day, known, 7);
  assert.deepEqual(announced, []);
  assert.deepEqual(
    new Map(episodes.map(({ key, startedDay, latestDay }) => [key, [startedDay, latestDay]])),
    new Map([
      ["A", [1, 7]],
      ["P", [1, 7]],
    ]),
  );
});
