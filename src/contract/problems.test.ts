import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ApiError, REST_WORDS } from "./errors.ts";
import { compileRequest } from "./input.ts";
import { returnCostLeaderboard } from "./return-cost-leaderboard.ts";

describe("what is wrong with a request", () => {
  const reader = compileRequest(returnCostLeaderboard, REST_WORDS);
  const problemsOf = (values: Record<string, string>): ApiError["problems"] => {
    try {
      reader({ values: new Map(Object.entries(values)), refusals: new Map() });
    } catch (error) {
      assert.ok(error instanceof ApiError);
      assert.equal(error.problems.map(({ sentence }) => sentence).join(" "), error.message);
      return error.problems;
    }
    assert.fail("nothing was refused");
  };

  test("is a sentence for each parameter, by its name; an unknown name is no parameter", () => {
    const problems = problemsOf({ lmit: "5", limit: "0", start_month: "2026-05", end_month: "2026-01" });
    assert.deepEqual(
      problems.map(({ name }) => name),
      [null, null, "limit", "start_month"],
    );
    assert.match(problems[0]?.sentence ?? "", /^lmit is not a parameter of .*; did you mean limit\?$/u);
    assert.deepEqual(problems.slice(2), [
      { name: "limit", sentence: "limit must be a whole number from 1 to 100." },
      { name: "start_month", sentence: "start_month must not be later than end_month." },
    ]);
  });

  test("is about no one parameter when several contradict each other", () => {
    const sentence =
      "Give one selector only: sku, or product_gid, or product_group_type with product_group_key.";
    const months = { start_month: "2026-01", end_month: "2026-01" };
    assert.deepEqual(problemsOf({ ...months, sku: "A", product_gid: "B" }), [{ name: null, sentence }]);
  });
});
