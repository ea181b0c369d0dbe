import assert from "node:assert/strict";
import { test } from "node:test";
import { assertHolds, readGoldenStores, titleOf } from "../golden/golden.ts";
import type { GoldenRequest, GoldenStore } from "../golden/golden.ts";
import { createOracle } from "./oracle.ts";
import type { OracleStore } from "./store.ts";

for (const golden of readGoldenStores()) {
  test(`${golden.rules.join(", ")}: the oracle's answers equal those computed by hand for ${golden.name}`, () => {
    for (const request of golden.requests) {
      const answer = createOracle(storeOf(golden, request))(request.path, request.params);
      assert.equal(answer.status, request.status ?? 200, titleOf(request));
      if (answer.status !== 200) continue;
      assertHolds(answer, sharedPart(request.expect, answer), titleOf(request));
    }
  });
}

function storeOf({ files, as_of, workspace }: GoldenStore, request: GoldenRequest): OracleStore {
  const full_leaderboards = request.full_leaderboards ?? workspace.full_leaderboards;
  return { files, as_of, settings: { ...workspace, full_leaderboards } };
}

/** The expected values of members that the oracle computes; it knows no titles and echoes no parameters. */
function sharedPart(expected: unknown, answer: unknown): unknown {
  if (Array.isArray(expected)) {
    return expected.map((entry, index) => sharedPart(entry, (answer as unknown[])[index]));
  }
  if (typeof expected !== "object" || expected === null) return expected;
  const members = Object.entries(expected).filter(([name]) => Object.hasOwn(answer as object, name));
  return Object.fromEntries(
    members.map(([name, value]) => [name, sharedPart(value, (answer as Record<string, unknown>)[name])]),
  );
}
