/** What goes wrong next, by order of a test. */
export type RequestFault =
  | { kind: "status"; status: number }
  | { kind: "cut" }
  | { kind: "slow"; millis: number }
  | { kind: "throttled" };

export type FaultTarget = "graphql" | "oauth" | "download";

/**
 * fail, expire, truncated (a file cut in a line), duplicate (rows twice), swapped (rows twice in the place of others),
 * cut (the download breaks once), stall.
 */
export type BulkFault = "fail" | "expire" | "truncated" | "duplicate" | "swapped" | "cut" | "stall";

export interface Faults {
  add(target: FaultTarget, fault: RequestFault, times: number, after: number): void;
  take(target: FaultTarget): RequestFault | undefined;
  addBulk(fault: BulkFault, times: number): void;
  takeBulk(): BulkFault | undefined;
  cutDownload(name: string): void;
  takeCut(name: string): boolean;
  clear(): void;
}

export function makeFaults(): Faults {
  const queues: Record<FaultTarget, (RequestFault | undefined)[]> = { graphql: [], oauth: [], download: [] };
  let bulk: BulkFault[] = [];
  const cuts = new Set<string>();
  return {
    add: (target, fault, times, after) => {
      const quiet = Array.from({ length: after }, () => undefined);
      queues[target].push(...quiet, ...Array.from({ length: times }, () => fault));
    },
    take: (target) => queues[target].shift(),
    addBulk: (fault, times) => bulk.push(...Array.from({ length: times }, () => fault)),
    takeBulk: () => bulk.shift(),
    cutDownload: (name) => cuts.add(name),
    takeCut: (name) => cuts.delete(name),
    clear: () => {
      for (const target of ["graphql", "oauth", "download"] as const) queues[target] = [];
      bulk = [];
      cuts.clear();
    },
  };
}
