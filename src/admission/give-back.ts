import type { QuotaState } from "../contract/errors.ts";
import type { Queryable } from "../store/database.ts";
import { giveBackRequests } from "../store/queries/admit.ts";
import type { Admission } from "./admit.ts";

/** Takes a counted request out of its day's count again; returns what the quota is then. */
export type GiveBack = (admission: Admission) => Promise<QuotaState | null>;

const DAY_MS = 86_400_000;

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
  return async ({ workspace: { shopKey }, quota }) => {
    if (quota === null) return null;
    const day = new Date(quota.resetsAt.getTime() - DAY_MS).toISOString().slice(0, 10);
    const key = `${shopKey} ${day}`;
    const owed = owedByDay.get(key) ?? openOwed(key, shopKey, day);
    owed.requests += 1;
    await owed.done;
    return { ...quota, used: quota.used - 1 };
  };
}
