import { ApiError } from "../contract/errors.ts";
import type { ErrorCode } from "../contract/errors.ts";
import type { Vocabulary } from "../contract/vocabulary.ts";

/** Whose request it is; `day` is the UTC day that its admission counted it on. */
export type CountedCaller = { shopKey: number; tokenId: string; day: string };

/** How a request ended. */
export type UsageOutcome = "ok" | ErrorCode;

/** Requests that agree in all of it. `quotaRequests` of them count towards the daily quota. */
export type UsageCount = CountedCaller & {
  endpoint: string;
  surface: Vocabulary["surface"];
  outcome: UsageOutcome;
  requests: number;
  quotaRequests: number;
};

/** What a request asks for, and through which surface. */
export type Asked = Pick<UsageCount, "endpoint" | "surface">;

/** What becomes known of a request while it runs: null = not yet whose it is. */
export type RunningRequest = { caller: CountedCaller | null; isCounted: boolean };

/** Hears of a request that has ended. */
export type CountUsage = (
  caller: CountedCaller,
  asked: Asked,
  outcome: UsageOutcome,
  isCounted: boolean,
) => void;

/** The requests of this process that are in no table yet. */
export type UsageMemory = {
  count: CountUsage;
  /** Hands the counts out and starts from zero. */
  take: () => UsageCount[];
  /** Adds counts that could not be written, as far as there is room; returns how many requests there was none for. */
  putBack: (counts: readonly UsageCount[]) => number;
};

/** Runs a request and counts how it ended; one of which nobody knows whose it is counts nowhere. */
export async function countEnd<Result>(
  count: CountUsage,
  asked: Asked,
  run: (request: RunningRequest) => Promise<Result>,
): Promise<Result> {
  const request: RunningRequest = { caller: null, isCounted: false };
  const end = (outcome: UsageOutcome): void => {
    if (request.caller !== null) count(request.caller, asked, outcome, request.isCounted);
  };
  try {
    const result = await run(request);
    end("ok");
    return result;
  } catch (error) {
    end(error instanceof ApiError ? error.code : "internal_error");
    throw error;
  }
}

/** Some 25 MB. Requests that agree in everything take one, however many they are. */
const MOST_COUNTS = 100_000;

/** Counts in a map: nothing else happens while a request is answered. */
export function createUsageMemory(mostCounts = MOST_COUNTS): UsageMemory {
  let counts = new Map<string, UsageCount>();
  const countOf = (
    { shopKey, tokenId, day }: CountedCaller,
    asked: Asked,
    outcome: UsageOutcome,
  ): UsageCount => {
    const key = keyOf({ tokenId, day, ...asked, outcome });
    let found = counts.get(key);
    if (found === undefined) {
      found = { shopKey, tokenId, day, ...asked, outcome, requests: 0, quotaRequests: 0 };
      counts.set(key, found);
    }
    return found;
  };
  return {
    count: (caller, asked, outcome, isCounted) => {
      const found = countOf(caller, asked, outcome);
      found.requests += 1;
      if (isCounted) found.quotaRequests += 1;
    },
    take: () => {
      const taken = [...counts.values()];
      counts = new Map();
      return taken;
    },
    putBack: (back) => {
      let dropped = 0;
      for (const count of back) {
        const found = counts.get(keyOf(count));
        if (found !== undefined) {
          found.requests += count.requests;
          found.quotaRequests += count.quotaRequests;
        } else if (counts.size < mostCounts) counts.set(keyOf(count), count);
        else dropped += count.requests;
      }
      return dropped;
    },
  };
}

/** A token's id holds its shop. */
function keyOf(count: Pick<UsageCount, "tokenId" | "day" | "endpoint" | "surface" | "outcome">): string {
  return `${count.tokenId}${count.day}${count.surface}${count.outcome}${count.endpoint}`;
}
