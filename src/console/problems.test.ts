import assert from "node:assert/strict";
import { test } from "node:test";
import { problemsOf } from "./problems.ts";

test("a refusal is divided into the sentences that the API joined, by the parameter each begins with", () => {
  const sentences = [
    "lmit is not a parameter of GET /api/v1/entities; did you mean limit?",
    "limit must be a whole number from 1 to 100.",
    "start_month must not be later than end_month.",
  ];
  assert.deepEqual(
    problemsOf(sentences.join(" ")),
    sentences.map((sentence, index) => ({ name: [null, "limit", "start_month"][index], sentence })),
  );
});

test("a sentence about several parameters names none", () => {
  const sentence =
    "Give one selector only: sku, or product_gid, or product_group_type with product_group_key.";
  assert.deepEqual(problemsOf(sentence), [{ name: null, sentence }]);
});
