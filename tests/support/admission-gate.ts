import assert from "node:assert/strict";
import { createAdmit } from "../../src/admission/admit.ts";
import type { Admit, Need } from "../../src/admission/admit.ts";
import { ApiError } from "../../src/contract/errors.ts";
import { deriveKeys } from "../../src/lib/keys.ts";
import type { Queryable } from "../../src/store/database.ts";
import { TEST_SECRET } from "./secret.ts";

export const ALERTS: Need = { scope: "read:alerts", entitlements: ["api_access"], counted: true };
export const pepper = deriveKeys(TEST_SECRET).tokenPepper;

/** A gate, and how many statements it has sent. */
export function openGate(admission: Queryable): { admit: Admit; statements: () => number } {
  let statements = 0;
  const counting: Queryable = {
    rows: (statement, values) => {
      statements += 1;
      return admission.rows(statement, values);
    },
  };
  return { admit: createAdmit({ database: counting, pepper }), statements: () => statements };
}

/** Asks for all at once; in their order, the day's use after each, or the code of its refusal. */
export async function askTogether(admit: Admit, requests: readonly [token: string, need: Need][]) {
  const outcomes = await Promise.allSettled(requests.map(([token, need]) => admit(`Bearer ${token}`, need)));
  return outcomes.map((outcome) => {
    if (outcome.status === "fulfilled") return outcome.value.quota?.used ?? null;
    assert.ok(outcome.reason instanceof ApiError, String(outcome.reason));
    return outcome.reason.message.includes("not known") ? "unknown" : outcome.reason.code;
  });
}

export function times<Value>(count: number, value: Value): Value[] {
  return Array.from({ length: count }, () => value);
}
