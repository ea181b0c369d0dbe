import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { execute, type GraphQLSchema } from "graphql";
import type { BulkFault, Faults } from "../faults.ts";
import { ACCESS_DENIED, resolveField, typeNameOf } from "../schema/resolvers.ts";
import type { RequestContext } from "../schema/nodes.ts";
import type { Shop, Statistics } from "../shop.ts";
import { gid } from "../world/ids.ts";
import { randomOf } from "../world/random.ts";
import { BulkRuleError, readBulkQuery } from "./rules.ts";

type BulkStatus = "CREATED" | "RUNNING" | "COMPLETED" | "CANCELING" | "CANCELED" | "FAILED" | "EXPIRED";

export type BulkOperation = {
  typeName: string;
  id: string;
  status: BulkStatus;
  errorCode: string | null;
  /** Seconds since 1970; 0 = not yet. */
  endedAt: number;
  objectCount: string;
  url: string | null;
};

export type BulkOperations = ReturnType<typeof makeBulkOperations>;

type BulkParts = {
  schema: GraphQLSchema;
  shop: Shop;
  faults: Faults;
  statistics: Statistics;
  bulkMillis: number;
  /** The server's own address, known once it listens. */
  baseUrl(): string;
  onFinish(operation: BulkOperation): void;
};

const MOST_RUNNING = 5;

export function makeBulkOperations(parts: BulkParts) {
  const { statistics } = parts;
  const folder = mkdtempSync(join(tmpdir(), "shopify-bulk-"));
  const operations: BulkOperation[] = [];
  /** Paths of results by their names. */
  const files = new Map<string, string>();
  const running = (): number => operations.filter(isRunning).length;
  const find = (id: string): BulkOperation | null => operations.find((one) => one.id === id) ?? null;
  return {
    run: (query: string, context: RequestContext): unknown => {
      const problem = problemOf(parts.schema, query);
      if (problem !== null) return refusal(problem, ["query"], "INVALID");
      if (running() >= MOST_RUNNING) {
        const message = "A bulk query operation for this app and shop is already in progress.";
        return refusal(message, ["query"], "OPERATION_IN_PROGRESS");
      }
      const operation: BulkOperation = {
        typeName: "BulkOperation",
        id: gid("BulkOperation", operations.length + 1),
        status: "CREATED",
        errorCode: null,
        endedAt: 0,
        objectCount: "0",
        url: null,
      };
      operations.push(operation);
      statistics.bulkRuns += 1;
      statistics.bulkRunningMost = Math.max(statistics.bulkRunningMost, running());
      void work(parts, operation, { query, context, seed: operations.length, folder, files });
      return { bulkOperation: operation, userErrors: [] };
    },
    cancel: (id: string): unknown => {
      const operation = find(id);
      if (operation === null) return refusal("Bulk operation does not exist", ["id"]);
      const isLive = operation.status === "CREATED" || operation.status === "RUNNING";
      if (isLive) operation.status = "CANCELING";
      const message = "A bulk operation cannot be canceled when it is completed";
      return { bulkOperation: operation, userErrors: isLive ? [] : [{ field: null, message }] };
    },
    find,
    /** The file of a result by name; undefined once it has expired. */
    fileOf: (name: string): string | undefined => files.get(name),
    /** Deletes the results of completed operations, as after seven days. */
    expireResults: (): void => files.clear(),
    stop: (): void => {
      for (const operation of operations) if (isRunning(operation)) operation.status = "CANCELING";
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function isRunning({ status }: BulkOperation): boolean {
  return status === "CREATED" || status === "RUNNING" || status === "CANCELING";
}

function isCanceling({ status }: BulkOperation): boolean {
  return status === "CANCELING";
}

function problemOf(schema: GraphQLSchema, query: string): string | null {
  try {
    readBulkQuery(schema, query);
    return null;
  } catch (error) {
    if (error instanceof BulkRuleError) return error.message;
    throw error;
  }
}

function refusal(message: string, field: string[], code?: string): unknown {
  return { bulkOperation: null, userErrors: [{ field, message, code }] };
}

type Work = {
  query: string;
  context: RequestContext;
  seed: number;
  folder: string;
  files: Map<string, string>;
};

class AccessError extends Error {}

/** Runs one operation to its end; any error ends it as FAILED. */
async function work(
  parts: BulkParts,
  operation: BulkOperation,
  { query, context, seed, folder, files }: Work,
): Promise<void> {
  const fault = parts.faults.bulk.take();
  const name = `${randomUUID()}.jsonl`;
  try {
    await pause(parts.bulkMillis / 2);
    if (!isCanceling(operation)) operation.status = "RUNNING";
    if (fault === "stall") while (!isCanceling(operation)) await pause(20);
    const lines = await linesOf(parts.schema, query, context);
    operation.objectCount = String(lines.length);
    const text = writtenLines(lines, randomOf(parts.shop.options.seed + seed, 3), fault);
    await pause(parts.bulkMillis / 2);
    if (isCanceling(operation)) operation.status = "CANCELED";
    else complete(parts, operation, fault, { name, path: join(folder, name), text, files });
  } catch (error) {
    operation.status = "FAILED";
    operation.errorCode = error instanceof AccessError ? "ACCESS_DENIED" : "INTERNAL_SERVER_ERROR";
    if (!(error instanceof AccessError)) console.error("bulk operation failed:", error);
  }
  operation.endedAt = parts.shop.clock.now();
  parts.onFinish(operation);
}

type Connection = { edges: { node: Record<string, unknown> }[] };

/** One line of JSON for each node; nodes below another have its id as `__parentId`. */
async function linesOf(schema: GraphQLSchema, query: string, context: RequestContext): Promise<string[]> {
  const { document, root } = readBulkQuery(schema, query);
  const contextValue: RequestContext = { ...context, isWhole: true };
  const options = { schema, document, contextValue, fieldResolver: resolveField, typeResolver: typeNameOf };
  const { data, errors } = await execute(options);
  if (errors?.[0] !== undefined) {
    throw errors[0].extensions["code"] === ACCESS_DENIED ? new AccessError() : errors[0];
  }
  const lines: string[] = [];
  const write = ({ edges }: Connection, parentId: unknown): void => {
    for (const { node } of edges) {
      const children: Connection[] = [];
      const line = JSON.stringify({ ...node, __parentId: parentId }, (_, value: unknown) => {
        if (typeof value !== "object" || value === null || !("edges" in value)) return value;
        children.push(value as Connection);
        return undefined;
      });
      lines.push(line);
      for (const child of children) write(child, node["id"]);
    }
  };
  write(data?.[root.alias?.value ?? root.name.value] as Connection, undefined);
  return lines;
}

/** The share of lines that a fault repeats. */
const DAMAGED_SHARE = 0.02;

/** The lines shuffled, some of them twice: in addition to the others, or instead of others. */
function writtenLines(
  lines: readonly string[],
  random: ReturnType<typeof randomOf>,
  fault?: BulkFault,
): string {
  const rows = lines.flatMap((line, index) => {
    if ((fault !== "duplicate" && fault !== "swapped") || !random.chance(DAMAGED_SHARE)) return [line];
    return fault === "duplicate" ? [line, line] : [lines[index - 1] ?? line];
  });
  for (let index = rows.length - 1; index > 0; index -= 1) {
    const other = random.between(0, index);
    [rows[index], rows[other]] = [rows[other] as string, rows[index] as string];
  }
  return rows.map((row) => `${row}\n`).join("");
}

type Result = { name: string; path: string; text: string; files: Map<string, string> };

function complete(
  parts: BulkParts,
  operation: BulkOperation,
  fault: BulkFault | undefined,
  { name, path, text, files }: Result,
): void {
  operation.status = fault === "fail" ? "FAILED" : fault === "expire" ? "EXPIRED" : "COMPLETED";
  if (fault === "fail") operation.errorCode = "INTERNAL_SERVER_ERROR";
  if (text === "") return;
  writeFileSync(path, text);
  files.set(name, path);
  if (fault === "cut") parts.faults.cuts.add(name);
  if (fault === "truncated") truncateSync(path, Math.ceil(Buffer.byteLength(text) * 0.6));
  if (fault !== "fail" && fault !== "expire") operation.url = `${parts.baseUrl()}/bulk/${name}`;
}
