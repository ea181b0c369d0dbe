import type { QuotaState } from "../contract/errors.ts";
import type { Queryable } from "../store/database.ts";
import { giveBackRequests } from "../store/queries/admit.ts";
import { checkReadiness } from "../store/migrate.ts";
import type { Admission } from "./admit.ts";

/**
 * Takes a request that had no turn out of its day's count again, if it was counted; returns what the quota is then.
 * Throws when the database is slow to answer even this: then it is away, and nobody has asked too much.
 */
export type GiveBack = (admission: Pick<Admission, "workspace" | "quota">) => Promise<QuotaState | null>;

const DAY_MS = 86_400_000;
const SOON_MS = 1000;

type Owed = { requests: number; done: Promise<void> };

/** Requests of a shop that are given back in the same turn of the event loop share a statement: many stop waiting at once. */
export function createGiveBack(database: Queryable): GiveBack {
  const owedByDay = new Map<string, Owed>();
  const openOwed = (key: string, shopKey: number, day: string): Owed => {
    const owed: Owed = { requests: 0, done: Promise.resolve() };
    owed.done = new Promise((resolve, reject) => {
      setImmediate(() => {
        owedByDay.delete(key);
        giveBackRequests(database, shopKey, day, owed.requests).then(resolve, reject);
      });
    });
    owedByDay.set(key, owed);
    return owed;
  };
  const giveBack = async (shopKey: number, quota: QuotaState): Promise<QuotaState> => {
    const day = new Date(quota.resetsAt.getTime() - DAY_MS).toISOString().slice(0, 10);
    const key = `${shopKey} ${day}`;
    const owed = owedByDay.get(key) ?? openOwed(key, shopKey, day);
    owed.requests += 1;
    await owed.done;
    return { ...quota, used: quota.used - 1 };
  };
  return async ({ workspace, quota }) => {
    const sinceMs = performance.now();
    const given = quota === null ? null : await giveBack(workspace.shopKey, quota);
    const isReady = quota !== null || (await checkReadiness(database)).ready;
    if (isReady && performance.now() - sinceMs < SOON_MS) return given;
    throw new Error("a request had no turn while the database did not answer");
  };
}
