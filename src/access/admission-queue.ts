import { activeSpan, inSpan, type Span } from "../lib/trace.ts";
import type { Queryable } from "../store/database.ts";
import { admitCallers, type AdmissionVerdict, type AdmitRow, type Caller } from "../store/queries/admit.ts";
import type { NodeOfWorkspace } from "./workspace-nodes.ts";
import { createWorkspaceQueue } from "./workspace-queue.ts";
import { keyedHash } from "./token.ts";

export type AdmissionQueueOptions = BatchOptions & {
  /** Connections of `database`. */
  connections: number;
  /** How long a request waits for its statement. */
  longestWaitMs: number;
  /**
   * null: all workspaces are on one server; otherwise a statement covers workspaces of one node, where Citus runs it completely.
   */
  nodeOfWorkspace: NodeOfWorkspace | null;
  /** Where statements for workspaces of a node go; `database` by default. */
  databaseOfNode?: (node: number) => Queryable;
};

/** `now` is for a request that is checked at a given time, instead of the database's. */
export type AdmissionQueue = (request: AdmissionRequest, now?: Date) => Promise<AdmissionResult>;

const LARGEST_BATCH = 256;
/** While one is with the database, the answers to the other are sent. */
const BATCHES_AT_ONCE = 2;
/** Nodes already run in parallel, and a call costs Citus more than its content. */
const BATCHES_OF_A_NODE = 1;
const ONLY_NODE = { node: 0 };

/** Work in progress in the database: workspaces, and the number of batches of each node, at most `most`. */
type UnderWay = { workspaces: Set<number>; batches: Map<number, number>; most: number };

/**
 * Checks requests of all workspaces of a node that arrive together in one statement. A workspace is in one statement at a time:
 * the next would wait for its row. A workspace whose rows another server has locked, or whose part fails, is retried alone, so
 * that it neither delays nor fails others.
 */
export function createAdmissionQueue(options: AdmissionQueueOptions): AdmissionQueue {
  const { connections, longestWaitMs, nodeOfWorkspace, pepper } = options;
  const databaseOf = options.databaseOfNode ?? (() => options.database);
  const places = Math.max(1, connections - BATCHES_AT_ONCE);
  const alone = createWorkspaceQueue({ places, mostPerWorkspace: 1, longestWaitMs });
  const most = nodeOfWorkspace === null ? BATCHES_AT_ONCE : BATCHES_OF_A_NODE;
  const underWay: UnderWay = { workspaces: new Set(), batches: new Map(), most };
  let waiting: Waiting[] = [];
  let isDue = false;

  const sendBatches = (): void => {
    isDue = false;
    waiting = refuseLate(waiting, longestWaitMs);
    for (let batch = takeBatch(waiting, underWay); batch.length > 0; batch = takeBatch(waiting, underWay)) {
      const taken = new Set(batch);
      waiting = waiting.filter((entry) => !taken.has(entry));
      void send(batch);
    }
  };
  /** After everything else of this turn of the event loop, so that later requests join the batch. */
  const sendSoon = (): void => {
    if (isDue || waiting.length === 0) return;
    isDue = true;
    setImmediate(sendBatches);
  };
  const send = async (batch: readonly Waiting[]): Promise<void> => {
    const { node } = batch[0] as Waiting;
    const workspaces = byWorkspace(batch);
    addBatch(underWay, node, 1);
    for (const shopKey of workspaces.keys()) underWay.workspaces.add(shopKey);
    const database = databaseOf(node);
    const left = byWorkspace(
      await inSpan(spanOf(batch), () => checkTogether({ database, pepper }, batch, workspaces.size > 1)),
    );
    addBatch(underWay, node, -1);
    for (const shopKey of workspaces.keys()) if (!left.has(shopKey)) underWay.workspaces.delete(shopKey);
    for (const [shopKey, entries] of left) void sendAlone(shopKey, entries);
    sendSoon();
  };
  const sendAlone = async (shopKey: number, entries: readonly Waiting[]): Promise<void> => {
    const { node } = entries[0] as Waiting;
    const database = databaseOf(node);
    await alone(shopKey, () =>
      inSpan(spanOf(entries), () => checkBatch({ database, pepper }, entries, true)),
    ).catch(rejectAll(entries));
    underWay.workspaces.delete(shopKey);
    sendSoon();
  };
  return async (request, now) => {
    const { node } = nodeOfWorkspace === null ? ONLY_NODE : await nodeOfWorkspace(request.shopKey);
    return new Promise((resolve, reject) => {
      const sinceMs = performance.now();
      waiting.push({ request, node, now: now ?? null, sinceMs, span: activeSpan(), resolve, reject });
      sendSoon();
    });
  };
}

/** A batch's statement belongs to its first sampled trace; each request records its own wait. */
function spanOf(batch: readonly Waiting[]): Span | null {
  const sampled = batch.filter(({ span }) => span !== null);
  for (const { span, sinceMs } of sampled) {
    const waitMs = Math.round((performance.now() - sinceMs) * 1000) / 1000;
    span?.set({ "returns.queue_wait_ms": waitMs, "returns.batch_requests": batch.length });
  }
  return sampled[0]?.span ?? null;
}

/** Rejects requests that have waited too long; returns the others. */
function refuseLate(waiting: readonly Waiting[], longestWaitMs: number): Waiting[] {
  const oldestMs = performance.now() - longestWaitMs;
  return waiting.filter(({ sinceMs, reject }) => {
    if (sinceMs > oldestMs) return true;
    reject(new Error("the admission of earlier requests did not end in time"));
    return false;
  });
}

/** The requests of the next statement, in their order; none while every node has enough, or the workspaces are under way. */
function takeBatch(waiting: readonly Waiting[], { workspaces, batches, most }: UnderWay): Waiting[] {
  const free = waiting.filter(
    ({ request, node }) => !workspaces.has(request.shopKey) && (batches.get(node) ?? 0) < most,
  );
  const [first] = free;
  return free.filter(({ node, now }) => node === first?.node && now === first.now).slice(0, LARGEST_BATCH);
}

function addBatch({ batches }: UnderWay, node: number, change: 1 | -1): void {
  batches.set(node, (batches.get(node) ?? 0) + change);
}

function byWorkspace(entries: readonly Waiting[]): Map<number, Waiting[]> {
  return Map.groupBy(entries, ({ request }) => request.shopKey);
}

function rejectAll(entries: readonly Waiting[]): (error: unknown) => void {
  return (error) => {
    for (const { reject } of entries) reject(error);
  };
}

/** Returns the requests to check again, each workspace by itself; never rejects. */
async function checkTogether(
  options: BatchOptions,
  batch: readonly Waiting[],
  hasManyWorkspaces: boolean,
): Promise<readonly Waiting[]> {
  try {
    return await checkBatch(options, batch, false);
  } catch (error) {
    if (hasManyWorkspaces && isOfOneWorkspace(error)) return batch;
    rejectAll(batch)(error);
    return [];
  }
}

// Classes of SQLSTATE that say nothing of a row: connection, resources, operator and timeout, system.
const OF_THE_DATABASE = /^(?:08|53|57|58)/u;

/** Whether a statement failed, and nothing of it was counted, for a reason that other workspaces need not share. */
function isOfOneWorkspace(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^[0-9A-Z]{5}$/u.test(code) && !OF_THE_DATABASE.test(code);
}

/** One request as the checks see it. */
type AdmissionRequest = {
  shopKey: number;
  tokenId: string;
  secret: string;
  scope: string | null;
  entitlements: readonly string[];
  counted: boolean;
};

/** Result of one request; equal requests that were checked together share `row`. */
export type AdmissionResult = {
  verdict: AdmissionVerdict | "over_quota";
  missing: string | null;
  /** Requests today, including this one if it was counted; null: no daily quota. */
  usedRequests: number | null;
  row: AdmitRow;
};

type Waiting = {
  request: AdmissionRequest;
  node: number;
  now: Date | null;
  sinceMs: number;
  /** Of its admission, if its trace is sampled. */
  span: Span | null;
  resolve: (result: AdmissionResult) => void;
  reject: (error: unknown) => void;
};

type BatchOptions = { database: Queryable; pepper: Buffer };

/** Answers requests from one statement; returns those whose workspace is locked, none when it `waits` for locks. */
async function checkBatch(
  { database, pepper }: BatchOptions,
  batch: readonly Waiting[],
  waits: boolean,
): Promise<Waiting[]> {
  const groups = groupEqual(batch);
  const callers = groups.map((group) => callerOf(group, pepper));
  const options = { waits, now: batch[0]?.now ?? null };
  const rows = await admitCallers(database, callers, options);
  return groups.flatMap((group, index) => {
    const row = rows[index] as AdmitRow;
    if (row.verdict === "locked" && !waits) return group;
    for (const [number, { request, resolve }] of group.entries()) resolve(resultOf(row, request, number));
    return [];
  });
}

/** Sorted by workspace; equal requests that follow one another in their workspace's order of arrival are one group. */
function groupEqual(batch: readonly Waiting[]): Waiting[][] {
  const groups: Waiting[][] = [];
  const sorted = batch.toSorted((one, other) => one.request.shopKey - other.request.shopKey);
  for (const entry of sorted) {
    const group = groups.at(-1);
    if (group?.[0] !== undefined && isSameCaller(group[0].request, entry.request)) group.push(entry);
    else groups.push([entry]);
  }
  return groups;
}

function isSameCaller(one: AdmissionRequest, other: AdmissionRequest): boolean {
  return (
    one.shopKey === other.shopKey &&
    one.tokenId === other.tokenId &&
    one.secret === other.secret &&
    one.scope === other.scope &&
    one.entitlements === other.entitlements &&
    one.counted === other.counted
  );
}

function callerOf(group: readonly Waiting[], pepper: Buffer): Caller {
  const { secret, ...rest } = (group[0] as Waiting).request;
  return { ...rest, secretHash: keyedHash(secret, pepper), requests: group.length };
}

/** `number`: how many of its group arrived before it. */
function resultOf(row: AdmitRow, { counted }: AdmissionRequest, number: number): AdmissionResult {
  const { verdict, missing, daily_quota, used_requests, granted_requests } = row;
  const isCounted = counted && verdict === "admitted";
  const isOver = isCounted && daily_quota !== null && number >= granted_requests;
  const added = isCounted ? Math.min(number + 1, granted_requests) : 0;
  return {
    verdict: isOver ? "over_quota" : verdict,
    missing,
    usedRequests: used_requests === null ? null : used_requests + added,
    row,
  };
}
