import assert from "node:assert/strict";
import { test } from "node:test";
import { quantiles, tailProbability } from "./negative-binomial.ts";

const close = (actual: number, expected: number): void =>
  assert.ok(
    Math.abs(actual - expected) <= 1e-9 * Math.max(Math.abs(expected), 1e-300),
    `${actual} ≠ ${expected}`,
  );

test("a shape of 2 has the tail (1 + k/(1 + x)) · (x/(1 + x))^k", () => {
  const tail = (count: number, exposure: number) => {
    const odds = exposure / (1 + exposure);
    return odds ** count * (1 + count * (1 - odds));
  };
  for (const [count, exposure] of [
    [3, 0.1],
    [8, 0.4],
    [30, 3],
  ] as const) {
    close(tailProbability(count, { shape: 2, weight: 1 }, exposure), tail(count, exposure));
  }
});

test("ends of the range, and tails far below the precision of a subtraction", () => {
  assert.equal(tailProbability(0, { shape: 5, weight: 50 }, 10), 1);
  assert.equal(tailProbability(1, { shape: 5, weight: 50 }, 0), 0);
  assert.ok(tailProbability(1, { shape: 5, weight: 50 }, 1000) > 0.99);
  const far = tailProbability(60, { shape: 25, weight: 500 }, 40);
  assert.ok(far > 0 && far < 1e-30, String(far));
});

test("a quantile is the smallest count that reaches its level", () => {
  const rate = { shape: 7, weight: 60 };
  const levels = [0.025, 0.1, 0.5, 0.9, 0.975];
  for (const [place, count] of quantiles(levels, rate, 300).entries()) {
    const level = levels[place] as number;
    assert.ok(1 - tailProbability(count + 1, rate, 300) >= level - 1e-12);
    assert.ok(count === 0 || 1 - tailProbability(count, rate, 300) < level);
  }
  assert.deepEqual(quantiles([0.1, 0.9], rate, 0), [0, 0]);
  assert.ok((quantiles([0.5], { shape: 5e4, weight: 5e5 }, 4e5)[0] as number) > 39_000);
});
