import { faultQueue } from "../http.ts";

/** The next fault of a request, set by a test. */
export type RequestFault =
  | { kind: "status"; status: number }
  | { kind: "cut" }
  | { kind: "slow"; millis: number }
  | { kind: "throttled" };

export type FaultTarget = "graphql" | "oauth" | "download";

/**
 * fail, expire, truncated (a file cut within a line), duplicate (repeated rows), swapped (repeated rows instead of others),
 * cut (the download breaks once), stall.
 */
export type BulkFault = "fail" | "expire" | "truncated" | "duplicate" | "swapped" | "cut" | "stall";

export type Faults = ReturnType<typeof makeFaults>;

export function makeFaults() {
  const requests = {
    graphql: faultQueue<RequestFault>(),
    oauth: faultQueue<RequestFault>(),
    download: faultQueue<RequestFault>(),
  } satisfies Record<FaultTarget, unknown>;
  const bulk = faultQueue<BulkFault>();
  /** Names of results whose next download breaks. */
  const cuts = new Set<string>();
  return {
    requests,
    bulk,
    cuts,
    clear: (): void => {
      for (const queue of [...Object.values(requests), bulk]) queue.clear();
      cuts.clear();
    },
  };
}
