import assert from "node:assert/strict";
import { test } from "node:test";
import type { EarlyWarning, WarnedKind } from "./early-warning.ts";
import { announceWarnings, newEpisodeId, type WarningEpisode } from "./warning-episode.ts";

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

const ANNOUNCED = { hasWarned: true, isAnnounced: true, episodeId: "sku:A:1970-01-02" };

/** Days with their warnings, one after the other; returns what was announced and in which problem, by day. */
function replay(days: Record<number, EarlyWarning[]>): Record<string, string[]> {
  const known = new Map<string, WarningEpisode>();
  const told: Record<string, string[]> = {};
  for (const [day, warnings] of Object.entries(days)) {
    const { announced, episodes } = announceWarnings(warnings, [...known.values()], Number(day));
    for (const episode of episodes) known.set(`${episode.kind} ${episode.key}`, episode);
    if (announced.length > 0)
      told[day] = announced.map(({ kind, key, episodeId }) => {
        const isOwn = episodeId === newEpisodeId({ kind, key }, Number(day));
        return `${kind} ${key}${isOwn ? "" : ` of ${episodeId}`}`;
      });
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

test("M17: a part that warned on the day of the alert is not announced again; one that did not is, in the same problem", () => {
  const product = warning("product", "P", 11, [part("sku", "A", 8)]);
  const [a, b] = [warning("sku", "A", 8), warning("sku", "B", 9)];
  assert.deepEqual(replay({ 1: [product, a], 3: [product, a] }), { 1: ["product P"] });
  assert.deepEqual(replay({ 1: [product], 3: [product, a], 4: [product, a] }), {
    1: ["product P"],
    3: ["sku A of product:P:1970-01-02"],
  });
  assert.deepEqual(replay({ 1: [product], 3: [product, b] }), { 1: ["product P"], 3: ["sku B"] });
});

test("M17: a mild warning of a category in July does not suppress that of its toy in August", () => {
  const mild = warning("analytics_category", "Toys", 34, [part("product", "Toy", 9)]);
  const toy = [warning("sku", "TOY-1", 100), warning("product", "Toy", 110, [part("sku", "TOY-1", 100)])];
  const bad = warning("analytics_category", "Toys", 130, [
    part("product", "Toy", 110),
    part("sku", "TOY-1", 100),
  ]);
  // The category has had no warning for 30 days; the product is explained by its SKU, now a part of the category.
  assert.deepEqual(replay({ 190: [mild], 195: [mild], 225: [...toy, bad], 226: [...toy, bad] }), {
    190: ["analytics_category Toys"],
    225: ["sku TOY-1 of analytics_category:Toys:1970-07-10"],
  });
  const product = warning("product", "Toy", 110);
  assert.deepEqual(replay({ 190: [mild], 195: [mild], 225: [product, bad], 226: [product, bad] }), {
    190: ["analytics_category Toys"],
    225: ["product Toy of analytics_category:Toys:1970-07-10"],
  });
  // After 45 days without a warning of any of them it is another problem.
  assert.deepEqual(replay({ 190: [mild], 236: [product, bad] }), {
    190: ["analytics_category Toys"],
    236: ["product Toy"],
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
    2: ["product P of sku:A:1970-01-02"],
  });
});

test("M17: an older as-of day neither ends an episode nor announces it again", () => {
  const sku = [warning("sku", "A", 10)];
  const known: WarningEpisode[] = [{ kind: "sku", key: "A", startedDay: 90, latestDay: 100, ...ANNOUNCED }];
  const { announced, episodes } = announceWarnings(sku, known, 20);
  assert.deepEqual(announced, []);
  assert.deepEqual(episodes, known);
});

test("M17: what a narrower warning explains counts as reported on the day of that one", () => {
  const parts = [part("sku", "A", 9)];
  const known: WarningEpisode[] = [{ kind: "sku", key: "A", startedDay: 1, latestDay: 6, ...ANNOUNCED }];
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
