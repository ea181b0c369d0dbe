import type { ErrorCode } from "../contract/errors.ts";
import type { Vocabulary } from "../contract/vocabulary.ts";

/** Whose request it is; `day` is the UTC day that its admission counted it on. */
export type Caller = { shopKey: number; tokenId: string; day: string };

/** How a request ended. */
export type UsageOutcome = "ok" | ErrorCode;

/** Requests that agree in all of it. `quotaRequests` of them count towards the daily quota. */
export type UsageCount = Caller & {
  endpoint: string;
  surface: Vocabulary["surface"];
  outcome: UsageOutcome;
  requests: number;
  quotaRequests: number;
};

/** A request that has ended. */
export type EndedRequest = Omit<UsageCount, keyof Caller | "requests" | "quotaRequests"> & {
  caller: Caller;
  isCounted: boolean;
};

/** The requests of this process that are in no table yet. */
export type UsageMemory = {
  count(request: EndedRequest): void;
  /** Hands the counts out and begins anew. */
  take(): UsageCount[];
  /** Adds counts that could not be written. */
  putBack(counts: readonly UsageCount[]): void;
};

/** Counts in a map: nothing else happens while a request is answered. */
export function createUsageMemory(): UsageMemory {
  let counts = new Map<string, UsageCount>();
  const add = (key: string, made: UsageCount): void => {
    const found = counts.get(key);
    if (found === undefined) counts.set(key, made);
    else {
      found.requests += made.requests;
      found.quotaRequests += made.quotaRequests;
    }
  };
  return {
    count: ({ caller: { shopKey, tokenId, day }, isCounted, ...asked }) => {
      const made = { shopKey, tokenId, day, ...asked, requests: 1, quotaRequests: isCounted ? 1 : 0 };
      add(keyOf(made), made);
    },
    take: () => {
      const taken = [...counts.values()];
      counts = new Map();
      return taken;
    },
    putBack: (back) => {
      for (const made of back) add(keyOf(made), made);
    },
  };
}

/** A token's id holds its shop. */
function keyOf({ tokenId, day, endpoint, surface, outcome }: UsageCount): string {
  return `${tokenId} ${day} ${endpoint} ${surface} ${outcome}`;
}
