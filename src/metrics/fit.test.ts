import assert from "node:assert/strict";
import { test } from "node:test";
import { betaBelow, fitOfSizes, fitSentence } from "./fit.ts";
import { groupsByReason, proposedGroup } from "./reason-groups.ts";

test("M22: the Beta distribution is that of its closed forms", () => {
  for (const [x, alpha, beta, expected] of [
    [0.3, 1, 1, 0.3],
    [0.3, 2, 1, 0.09],
    [0.3, 1, 3, 1 - 0.7 ** 3],
    [0.5, 40, 40, 0.5],
    // Two or more of three at 0.4.
    [0.4, 2, 2, 3 * 0.4 ** 2 * 0.6 + 0.4 ** 3],
  ] as const) {
    assert.ok(Math.abs(betaBelow(x, alpha, beta) - expected) < 1e-12, `${x} ${alpha} ${beta}`);
  }
});

test("M22: the prior of a size is its siblings, and a sentence needs a clear interval", () => {
  const others = { returns: 980, tooSmall: 245, tooLarge: 245 };
  const small = { returns: 60, tooSmall: 42, tooLarge: 3 };
  const usual = { returns: 60, tooSmall: 15, tooLarge: 15 };
  const { sizes, whole } = fitOfSizes([usual, small, usual], others);
  // Siblings of M: (30 + 5) ÷ (120 + 20) = 0.25, so Beta(5 + 42, 15 + 18).
  assert.ok(Math.abs((sizes[1]?.tooSmall.share ?? 0) - 47 / 80) < 1e-12);
  assert.deepEqual([sizes.map(({ fit }) => fit), whole.fit], [[null, "small", null], null]);
  assert.equal(fitSentence(["S", "M", "L"], { sizes, whole }), "Runs small in M.");
  // The same shares of a tenth of the returns: thin, and no sentence.
  const thin = fitOfSizes(
    [small, small].map(() => ({ returns: 6, tooSmall: 4, tooLarge: 0 })),
    others,
  );
  assert.deepEqual(
    thin.sizes.map(({ fit, isThin }) => [fit, isThin]),
    [
      [null, true],
      [null, true],
    ],
  );
  assert.equal(fitSentence([], { sizes: [], whole: { fit: "large" } }), "Runs large on the whole.");
  const both = [{ fit: "small" }, { fit: "small" }, { fit: null }, { fit: "large" }] as const;
  assert.equal(
    fitSentence(["S", "M", "L", "XL"], { sizes: both, whole: { fit: null } }),
    "Runs small in S and M, and large in XL.",
  );
});

test("M22: a size runs small from five such returns on, and neither small nor large if both are many; it is thin below 20", () => {
  const others = { returns: 0, tooSmall: 0, tooLarge: 0 };
  const of = (returns: number, tooSmall: number, tooLarge: number) => ({ returns, tooSmall, tooLarge });
  const second = (...sizes: { returns: number; tooSmall: number; tooLarge: number }[]) =>
    fitOfSizes(sizes, others).sizes[1];
  assert.equal(second(of(100, 100, 0), of(5, 5, 0))?.fit, "small");
  assert.equal(second(of(100, 100, 0), of(4, 4, 0))?.fit, null);
  assert.equal(second(of(100, 0, 100), of(5, 0, 5))?.fit, "large");
  assert.equal(second(of(100, 0, 100), of(4, 0, 4))?.fit, null);
  const rare = { returns: 1000, tooSmall: 100, tooLarge: 100 };
  assert.equal(fitOfSizes([of(100, 50, 50)], rare).whole.fit, null);
  assert.deepEqual(
    [second(of(9, 0, 0), of(20, 0, 0))?.isThin, second(of(9, 0, 0), of(19, 0, 0))?.isThin],
    [false, true],
  );
});

test("M22: Shopify's reasons have groups, own ones come first, and phrases of four languages are proposed", () => {
  const groups = groupsByReason({ "size-too-small": "other", "zu klein": "too_small" });
  assert.deepEqual(
    ["size-too-small", "zu klein", "defective", "__proto__"].map((reason) => groups.get(reason)),
    ["other", "too_small", "damaged", undefined],
  );
  for (const [reason, group] of [
    ["too_small", "too_small"],
    ["Zu groß!", "too_large"],
    ["Trop serré aux épaules", "too_small"],
    ["Demasiado PEQUEÑO", "too_small"],
    ["Artikel beschädigt", "damaged"],
    ["changed my mind", "changed_mind"],
    ["arrived-late", "late"],
    ["Falscher Artikel", "wrong_item"],
    ["not too smallish", null],
    ["\u202e".repeat(9000), null],
    ["", null],
  ] as const) {
    assert.equal(proposedGroup(reason), group, reason.slice(0, 30));
  }
});
