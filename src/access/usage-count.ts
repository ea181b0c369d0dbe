import { ApiError, type ErrorCode, type Vocabulary } from "../contract/errors.ts";
import type { Database } from "../store/database.ts";
import { addUsage } from "../store/queries/admit.ts";
import type { NodeOfWorkspace } from "./workspace-nodes.ts";

/** Whose request it is; `day` is the UTC day that its admission counted it on. */
export type CountedCaller = { shopKey: number; tokenId: string; day: string };

/** How a request ended. */
type UsageOutcome = "ok" | ErrorCode;

/** Requests that agree in all of it. `quotaRequests` of them count towards the daily quota. */
type UsageCount = CountedCaller & {
  endpoint: string;
  surface: Vocabulary["surface"];
  outcome: UsageOutcome;
  requests: number;
  quotaRequests: number;
};

/** The endpoint and surface of a request. */
export type Asked = Pick<UsageCount, "endpoint" | "surface">;

/** What is learned about a request while it runs; null: its workspace is not known yet. */
type RunningRequest = { caller: CountedCaller | null; isCounted: boolean };

/** Hears of a request that has ended. */
export type CountUsage = (
  caller: CountedCaller,
  asked: Asked,
  outcome: UsageOutcome,
  isCounted: boolean,
) => void;

/** The requests of this process that are in no table yet. */
type UsageMemory = {
  count: CountUsage;
  /** Hands the counts out and starts from zero. */
  take: () => UsageCount[];
  /** Adds counts that could not be written, as far as there is room; returns how many requests there was none for. */
  putBack: (counts: readonly UsageCount[]) => number;
};

/** Runs a request and counts its outcome; a request of unknown origin is not counted. */
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

/** Counts in a map, the only work while a request is answered. */
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

/** A token's id contains its workspace. */
function keyOf(count: Pick<UsageCount, "tokenId" | "day" | "endpoint" | "surface" | "outcome">): string {
  return `${count.tokenId}${count.day}${count.surface}${count.outcome}${count.endpoint}`;
}

/** The most that a server which is killed loses of its counts. */
const USAGE_INTERVAL_MS = 10_000;
const ONLY_NODE = { node: 0 };

/** Counts requests, and writes the counts. */
type UsageWriter = {
  count: CountUsage;
  /** Writes the remaining counts after the last request has ended. */
  stop: () => Promise<void>;
};

type UsageWriterOptions = {
  /** A pool that holds up no admission. */
  database: Database;
  /** null = all workspaces are on one. */
  nodeOfWorkspace: NodeOfWorkspace | null;
  log: { warn: (detail: object, message: string) => void };
  /** Default: `USAGE_INTERVAL_MS`. */
  intervalMs?: number;
};

/**
 * Writes this process's counts every `intervalMs`, in one transaction per node, so that a lost node affects only its own
 * workspaces. Counts that cannot be written are kept for the next time, up to a limit. Requests do not wait for it.
 */
export function startUsageWriter(options: UsageWriterOptions): UsageWriter {
  const { log, intervalMs = USAGE_INTERVAL_MS } = options;
  const memory = createUsageMemory();
  let writing = Promise.resolve();
  const write = async (): Promise<void> => {
    const counts = memory.take();
    const unwritten = await writeByNode(options, counts);
    if (unwritten === null) return;
    const { left, error } = unwritten;
    const workspaces = new Set(left.map(({ shopKey }) => shopKey)).size;
    const detail = { err: error, workspaces, dropped_requests: memory.putBack(left) };
    log.warn(detail, "usage details could not be written; they are kept for the next attempt");
  };
  const writeNext = (): Promise<void> => {
    writing = writing.then(write);
    return writing;
  };
  const timer = setInterval(() => void writeNext(), intervalMs);
  timer.unref();
  return {
    count: memory.count,
    stop: () => {
      clearInterval(timer);
      return writeNext();
    },
  };
}

/** Returns what could not be written, with the first error; null = everything is written. Never rejects. */
async function writeByNode(
  { database, nodeOfWorkspace }: UsageWriterOptions,
  counts: readonly UsageCount[],
): Promise<{ left: readonly UsageCount[]; error: unknown } | null> {
  const left: UsageCount[] = [];
  const errors: unknown[] = [];
  try {
    for (const workspaces of (await workspacesByNode(nodeOfWorkspace, counts)).values()) {
      await writeWorkspaces(database, workspaces).catch((error: unknown) => {
        for (const { ofWorkspace } of workspaces) left.push(...ofWorkspace);
        errors.push(error);
      });
    }
  } catch (error) {
    return { left: counts, error };
  }
  return errors.length === 0 ? null : { left, error: errors[0] };
}

type CountsOfWorkspace = { shopKey: number; ofWorkspace: UsageCount[] };

/** In the order of their keys, as every server writes them: two wait for each other instead of both. */
async function workspacesByNode(
  nodeOfWorkspace: NodeOfWorkspace | null,
  counts: readonly UsageCount[],
): Promise<Map<number, CountsOfWorkspace[]>> {
  const nodes = new Map<number, CountsOfWorkspace[]>();
  const workspaces = [...Map.groupBy(counts, ({ shopKey }) => shopKey)].toSorted(
    ([one], [other]) => one - other,
  );
  for (const [shopKey, ofWorkspace] of workspaces) {
    const { node } = nodeOfWorkspace === null ? ONLY_NODE : await nodeOfWorkspace(shopKey);
    const ofNode = nodes.get(node) ?? [];
    ofNode.push({ shopKey, ofWorkspace });
    nodes.set(node, ofNode);
  }
  return nodes;
}

async function writeWorkspaces(database: Database, workspaces: readonly CountsOfWorkspace[]): Promise<void> {
  await database.transaction(async (connection) => {
    for (const { shopKey, ofWorkspace } of workspaces) await addUsage(connection, shopKey, ofWorkspace);
  });
}
