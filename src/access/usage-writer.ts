import type { Database } from "../store/database.ts";
import { addUsage } from "../store/queries/usage.ts";
import type { NodeOfShop } from "./shop-nodes.ts";
import { createUsageMemory } from "./usage-count.ts";
import type { CountUsage, UsageCount } from "./usage-count.ts";

/** The most that a server which is killed loses of its counts. */
export const USAGE_INTERVAL_MS = 10_000;
const ONLY_NODE = 0;

/** Counts requests, and writes the counts. */
export type UsageWriter = {
  count: CountUsage;
  /** Writes what is left, once no request is under way any more. */
  stop: () => Promise<void>;
};

export type UsageWriterOptions = {
  /** A pool that holds up no admission. */
  database: Database;
  /** null = all shops are on one. */
  nodeOfShop: NodeOfShop | null;
  log: { warn: (detail: object, message: string) => void };
  /** Default: `USAGE_INTERVAL_MS`. */
  intervalMs?: number;
};

/**
 * Writes the counts of this process every `intervalMs`, in one transaction for each node, so that a lost node concerns its
 * own shops only. Counts that cannot be written are kept for the next time, as far as there is room. A request waits for
 * none of it.
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
    const shops = new Set(left.map(({ shopKey }) => shopKey)).size;
    const detail = { err: error, shops, dropped_requests: memory.putBack(left) };
    log.warn(detail, "details of usage could not be written; they are kept for the next time");
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
  { database, nodeOfShop }: UsageWriterOptions,
  counts: readonly UsageCount[],
): Promise<{ left: readonly UsageCount[]; error: unknown } | null> {
  const left: UsageCount[] = [];
  const errors: unknown[] = [];
  try {
    for (const shops of (await shopsByNode(nodeOfShop, counts)).values()) {
      await writeShops(database, shops).catch((error: unknown) => {
        for (const { ofShop } of shops) left.push(...ofShop);
        errors.push(error);
      });
    }
  } catch (error) {
    return { left: counts, error };
  }
  return errors.length === 0 ? null : { left, error: errors[0] };
}

type CountsOfShop = { shopKey: number; ofShop: UsageCount[] };

/** In the order of their keys, as every server writes them: two wait for each other instead of both. */
async function shopsByNode(
  nodeOfShop: NodeOfShop | null,
  counts: readonly UsageCount[],
): Promise<Map<number, CountsOfShop[]>> {
  const nodes = new Map<number, CountsOfShop[]>();
  const shops = [...Map.groupBy(counts, ({ shopKey }) => shopKey)].toSorted(([one], [other]) => one - other);
  for (const [shopKey, ofShop] of shops) {
    const node = nodeOfShop === null ? ONLY_NODE : await nodeOfShop(shopKey);
    const ofNode = nodes.get(node) ?? [];
    ofNode.push({ shopKey, ofShop });
    nodes.set(node, ofNode);
  }
  return nodes;
}

async function writeShops(database: Database, shops: readonly CountsOfShop[]): Promise<void> {
  await database.transaction(async (connection) => {
    for (const { shopKey, ofShop } of shops) await addUsage(connection, shopKey, ofShop);
  });
}
