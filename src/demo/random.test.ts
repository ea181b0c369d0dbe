import assert from "node:assert/strict";
import { test } from "node:test";
import { createRandom, weightedDraw } from "./random.ts";

const draws = (seed: number, name: string) => {
  const random = createRandom(seed, name);
  return Array.from({ length: 50 }, () => random.fraction());
};

test("the same seed and name give the same stream, and others another", () => {
  assert.deepEqual(draws(1, "orders"), draws(1, "orders"));
  assert.notDeepEqual(draws(1, "orders"), draws(2, "orders"));
  assert.notDeepEqual(draws(1, "orders"), draws(1, "returns"));
});

test("fractions fill the range from 0 to 1 evenly", () => {
  const random = createRandom(7, "evenness");
  const bins = Array.from({ length: 10 }, () => 0);
  for (let draw = 0; draw < 100_000; draw += 1) {
    const bin = Math.floor(random.fraction() * 10);
    bins[bin] = (bins[bin] ?? 0) + 1;
  }
  assert.equal(bins.length, 10);
  for (const count of bins) assert.ok(Math.abs(count - 10_000) < 400, `${count} of about 10000`);
});

test("whole numbers include both ends and nothing beyond", () => {
  const random = createRandom(7, "integers");
  const seen = new Set(Array.from({ length: 500 }, () => random.integer(2, 5)));
  assert.deepEqual(seen, new Set([2, 3, 4, 5]));
});

test("a weighted draw follows its weights and never takes a weight of 0", () => {
  const random = createRandom(7, "weights");
  const draw = weightedDraw(
    ["never", "seldom", "often"],
    (item) => ({ never: 0, seldom: 1, often: 9 })[item] ?? 0,
  );
  const counts = { never: 0, seldom: 0, often: 0 };
  for (let time = 0; time < 10_000; time += 1) counts[draw(random) as keyof typeof counts] += 1;
  assert.equal(counts.never, 0);
  assert.ok(Math.abs(counts.seldom - 1000) < 150, `${counts.seldom} of about 1000`);
});
