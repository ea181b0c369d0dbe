import assert from "node:assert/strict";
import { createAdmit } from "../../src/access/admit.ts";
import type { Admit, Need } from "../../src/access/admit.ts";
import { createShopNodes } from "../../src/access/shop-nodes.ts";
import { ApiError } from "../../src/contract/errors.ts";
import { deriveKeys } from "../../src/lib/keys.ts";
import type { Database, Queryable } from "../../src/store/database.ts";
import { openNodeDatabases } from "../../src/store/node-databases.ts";
import { isCitus } from "./citus.ts";
import { TEST_SECRET } from "./secret.ts";
import { eventually } from "./worker.ts";

export const ALERTS: Need = { scope: "read:alerts", entitlements: ["api_access"], counted: true };
export const pepper = deriveKeys(TEST_SECRET).tokenPepper;

/** A guard, and how many statements it has sent. */
export function openGuard(admission: Queryable): { admit: Admit; statements: () => number } {
  let statements = 0;
  const counting: Queryable = {
    rows: (statement, values) => {
      statements += 1;
      return admission.rows(statement, values);
    },
  };
  return { admit: createAdmit({ database: counting, pepper }), statements: () => statements };
}

export type ServingGuard = { admit: Admit; close(this: void): Promise<void> };

/** The same as servers open it: on a Citus a check goes straight to the shop's node, which cancels one that takes too long. */
export async function openServingGuard(
  coordinator: Queryable,
  url: string,
  open: (url: string) => Database,
): Promise<ServingGuard> {
  if (!isCitus()) return { admit: openGuard(coordinator).admit, close: async () => {} };
  const nodes = openNodeDatabases({ coordinator, url, open, retryMs: 100 });
  const nodeOfShop = createShopNodes(coordinator);
  for (const shopKey of [1, 2, 3, 4, 5, 6, 7, 8]) {
    const node = await nodeOfShop(shopKey);
    await eventually(async () => nodes.of(node) !== coordinator, `node ${node} answers`);
  }
  const admit = createAdmit({ database: coordinator, pepper, nodeOfShop, databaseOfNode: nodes.of });
  return { admit, close: () => nodes.close() };
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
