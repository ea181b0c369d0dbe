import type { Queryable } from "../store/database.ts";
import { admitMany } from "../store/queries/admit.ts";
import type { AdmitRow, Asker, Verdict } from "../store/queries/admit.ts";
import { hashSecret } from "./token.ts";

/** One request as the checks see it. */
export type AdmissionRequest = {
  shopKey: number;
  tokenId: string;
  secret: string;
  scope: string | null;
  entitlements: readonly string[];
  counted: boolean;
};

export type AdmissionQueueOptions = {
  database: Queryable;
  pepper: Buffer;
  /** How long a request waits behind its shop's statement. */
  longestWaitMs: number;
};

/** What became of a request; `row` is shared by all that were checked together. */
export type Judgement = {
  verdict: Verdict | "over_quota";
  missing: string | null;
  /** Requests of the day, this one included if it was counted; null = no daily quota. */
  usedRequests: number | null;
  row: AdmitRow;
};

/** `now` is for a request that is checked by itself at a given time, instead of the database's. */
export type AdmissionQueue = (request: AdmissionRequest, now?: Date) => Promise<Judgement>;

type Waiting = {
  request: AdmissionRequest;
  sinceMs: number;
  resolve: (judgement: Judgement) => void;
  reject: (error: unknown) => void;
};

const LARGEST_BATCH = 256;
const LOOKS_PER_WAIT = 4;
/** The longest wait; no request behind a slower statement waits for a second one. */
const QUICK_PART = 1 / 60;

/** The requests of a shop that wait for its next statement, and how many went with the one before if that was quick. */
type Line = { waiting: Waiting[]; before: number };

/**
 * Checks the requests of a shop that arrive together in one statement. While it runs, later ones of the same shop
 * wait for the next or the one after it: they would wait for the same row's lock. Shops do not wait for each other, an
 * error fails only the requests of its own statement, and none waits its turn for longer than `longestWaitMs`.
 */
export function createAdmissionQueue(options: AdmissionQueueOptions): AdmissionQueue {
  const { longestWaitMs } = options;
  /** Shops with a statement under way or about to be. */
  const lines = new Map<number, Line>();
  const watch = startedWhenNeeded(longestWaitMs / LOOKS_PER_WAIT, () => {
    for (const { waiting } of lines.values()) refuseLate(waiting, longestWaitMs);
    return lines.size > 0;
  });
  const runNext = async (shopKey: number, line: Line): Promise<void> => {
    refuseLate(line.waiting, longestWaitMs);
    const batch = takeBatch(line);
    if (batch.length === 0) {
      lines.delete(shopKey);
      return;
    }
    watch();
    const startedMs = performance.now();
    const tell = await judge(options, shopKey, batch);
    line.before = performance.now() - startedMs < longestWaitMs * QUICK_PART ? batch.length : 0;
    afterArrivals(() => {
      void runNext(shopKey, line);
      // Once the next statement is on its way, so that the database does not wait for these answers.
      process.nextTick(tell);
    });
  };
  return (request, now) =>
    new Promise((resolve, reject) => {
      if (now !== undefined) {
        resolve(judgeAlone(options, request, now));
        return;
      }
      const entry = { request, sinceMs: performance.now(), resolve, reject };
      const line = lines.get(request.shopKey);
      if (line === undefined) {
        const first = { waiting: [entry], before: 0 };
        lines.set(request.shopKey, first);
        afterArrivals(() => void runNext(request.shopKey, first));
      } else {
        line.waiting.push(entry);
      }
    });
}

/** After what else arrives in this turn of the event loop, so that it comes along. */
function afterArrivals(run: () => void): void {
  setImmediate(run);
}

/**
 * Takes the batch of the next statement: all waiting requests, or at most half of them and the previous batch together.
 * Callers that send the next request after an answer would otherwise form alternating large and small batches, and
 * server and database would idle in turn.
 */
function takeBatch(line: Line): Waiting[] {
  const { waiting, before } = line;
  const most =
    before === 0 ? LARGEST_BATCH : Math.min(LARGEST_BATCH, Math.ceil((waiting.length + before) / 2));
  return waiting.splice(0, most);
}

/**
 * Returns what sees to it that `look` is called now and then, for as long as it returns true. One timer for all: behind
 * one for each statement, the statement's garbage grows old (docs/decisions/0013).
 */
function startedWhenNeeded(everyMs: number, look: () => boolean): () => void {
  let timer: NodeJS.Timeout | null = null;
  return () => {
    timer ??= setInterval(() => {
      if (look() || timer === null) return;
      clearInterval(timer);
      timer = null;
    }, everyMs).unref();
  };
}

async function judgeAlone(
  { database, pepper }: AdmissionQueueOptions,
  request: AdmissionRequest,
  now: Date,
): Promise<Judgement> {
  const row = await admitMany(database, request.shopKey, [askerOf(request, pepper)], now);
  const asked = request.counted && row.verdicts[0] === "admitted" ? 1 : 0;
  return judgementOf(row, 0, { isCounted: request.counted, asked });
}

/** While a statement hangs, requests behind it are answered in time. */
function refuseLate(waiting: Waiting[], longestWaitMs: number): void {
  const oldestMs = performance.now() - longestWaitMs;
  while ((waiting[0]?.sinceMs ?? Infinity) <= oldestMs) {
    waiting.shift()?.reject(new Error("the admission of earlier requests did not end in time"));
  }
}

/** Returns what lets each request hear what became of it; never rejects. */
async function judge(
  { database, pepper }: AdmissionQueueOptions,
  shopKey: number,
  batch: readonly Waiting[],
): Promise<() => void> {
  try {
    const { askers, numbers } = groupByAsker(batch, pepper);
    const row = await admitMany(database, shopKey, askers, null);
    return () => tellJudgements(row, batch, numbers);
  } catch (error) {
    return () => {
      for (const { reject } of batch) reject(error);
    };
  }
}

function tellJudgements(row: AdmitRow, batch: readonly Waiting[], numbers: readonly number[]): void {
  let asked = 0;
  for (const [index, { request, resolve }] of batch.entries()) {
    const number = numbers[index] as number;
    if (request.counted && row.verdicts[number] === "admitted") asked += 1;
    resolve(judgementOf(row, number, { isCounted: request.counted, asked }));
  }
}

/** Each distinct asker once, its secret hashed once, and the number of each request's asker. */
function groupByAsker(batch: readonly Waiting[], pepper: Buffer): { askers: Asker[]; numbers: number[] } {
  const askers: Asker[] = [];
  const firsts: AdmissionRequest[] = [];
  const numbers = batch.map(({ request }) => {
    const number = firsts.findIndex((first) => isSameAsker(first, request));
    const asker = askers[number];
    if (asker !== undefined) {
      asker.requests += 1;
      return number;
    }
    firsts.push(request);
    return askers.push(askerOf(request, pepper)) - 1;
  });
  return { askers, numbers };
}

function isSameAsker(one: AdmissionRequest, other: AdmissionRequest): boolean {
  return (
    one.tokenId === other.tokenId &&
    one.secret === other.secret &&
    one.scope === other.scope &&
    one.entitlements === other.entitlements &&
    one.counted === other.counted
  );
}

function askerOf({ tokenId, secret, scope, entitlements, counted }: AdmissionRequest, pepper: Buffer): Asker {
  return { tokenId, secretHash: hashSecret(secret, pepper), scope, entitlements, counted, requests: 1 };
}

/** `asked`: how many of the batch had come as far as the quota by then, this one included. */
function judgementOf(row: AdmitRow, number: number, count: { isCounted: boolean; asked: number }): Judgement {
  const verdict = row.verdicts[number] as Verdict;
  const isOver =
    verdict === "admitted" &&
    count.isCounted &&
    row.daily_quota !== null &&
    count.asked > row.granted_requests;
  return {
    verdict: isOver ? "over_quota" : verdict,
    missing: row.missing[number] ?? null,
    usedRequests:
      row.used_requests === null ? null : row.used_requests + Math.min(count.asked, row.granted_requests),
    row,
  };
}
