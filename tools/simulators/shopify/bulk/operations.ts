import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, truncateSync } from "node:fs";
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { GraphQLSchema } from "graphql";
import type { BulkFault, Faults } from "../faults.ts";
import type { RequestContext, Source } from "../schema/sources.ts";
import type { Shop, Statistics } from "../shop.ts";
import { gid } from "../world/ids.ts";
import { randomOf } from "../world/random.ts";
import type { Random } from "../world/random.ts";
import { AccessError, bulkLines } from "./projector.ts";
import { BulkRuleError, readBulkQuery } from "./rules.ts";
import type { BulkQuery } from "./rules.ts";

type BulkStatus = "CREATED" | "RUNNING" | "COMPLETED" | "CANCELING" | "CANCELED" | "FAILED" | "EXPIRED";

export interface BulkOperation extends Source {
  id: string;
  status: BulkStatus;
  errorCode: string | null;
  createdAt: number;
  completedAt: number;
  objectCount: number;
  rootObjectCount: number;
  fileSize: number | null;
  url: string | null;
  partialDataUrl: string | null;
  query: string;
}

export interface BulkOperations {
  run(query: string, context: RequestContext): unknown;
  cancel(id: string): unknown;
  find(id: string): BulkOperation | null;
  list(): BulkOperation[];
  /** The file behind a result's name, or undefined when there is none any more. */
  fileOf(name: string): string | undefined;
  /** Results of completed operations are gone from now on, as after seven days. */
  expireResults(): void;
  stop(): void;
}

interface BulkParts {
  schema: GraphQLSchema;
  shop: Shop;
  faults: Faults;
  statistics: Statistics;
  bulkMillis: number;
  /** The server's own address, known once it listens. */
  baseUrl(): string;
  onFinish(operation: BulkOperation): void;
}

const MOST_RUNNING = 5;

export function makeBulkOperations(parts: BulkParts): BulkOperations {
  const folder = mkdtempSync(join(tmpdir(), "shopify-bulk-"));
  const operations: BulkOperation[] = [];
  const files = new Map<string, string>();
  const running = (): number => operations.filter(isRunning).length;
  return {
    run: (query, context) => {
      let read: BulkQuery;
      try {
        read = readBulkQuery(parts.schema, query);
      } catch (error) {
        if (error instanceof BulkRuleError) return refusal(error.message, "INVALID");
        throw error;
      }
      if (running() >= MOST_RUNNING) {
        return refusal(
          "A bulk query operation for this app and shop is already in progress.",
          "OPERATION_IN_PROGRESS",
        );
      }
      const operation = newOperation(operations.length + 1, query, parts.shop.clock.now());
      operations.push(operation);
      parts.statistics.bulkRuns += 1;
      parts.statistics.bulkRunningMost = Math.max(parts.statistics.bulkRunningMost, running());
      void work(parts, operation, read, context, folder, files);
      return { bulkOperation: operation, userErrors: [] };
    },
    cancel: (id) => cancel(operations, id),
    find: (id) => operations.find((operation) => operation.id === id) ?? null,
    list: () => operations,
    fileOf: (name) => files.get(name),
    expireResults: () => files.clear(),
    stop: () => {
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

function newOperation(number: number, query: string, createdAt: number): BulkOperation {
  return {
    typeName: "BulkOperation",
    id: gid("BulkOperation", number),
    status: "CREATED",
    errorCode: null,
    createdAt,
    completedAt: 0,
    objectCount: 0,
    rootObjectCount: 0,
    fileSize: null,
    url: null,
    partialDataUrl: null,
    query,
  };
}

function refusal(message: string, code: string): unknown {
  return { bulkOperation: null, userErrors: [{ field: ["query"], message, code }] };
}

function cancel(operations: BulkOperation[], id: string): unknown {
  const operation = operations.find((one) => one.id === id);
  if (operation === undefined) {
    return { bulkOperation: null, userErrors: [{ field: ["id"], message: "Bulk operation does not exist" }] };
  }
  if (operation.status === "CREATED" || operation.status === "RUNNING") {
    operation.status = "CANCELING";
    return { bulkOperation: operation, userErrors: [] };
  }
  const message = "A bulk operation cannot be canceled when it is completed";
  return { bulkOperation: operation, userErrors: [{ field: null, message }] };
}

/** Runs one operation to its end; whatever goes wrong ends it as FAILED. */
async function work(
  parts: BulkParts,
  operation: BulkOperation,
  query: BulkQuery,
  context: RequestContext,
  folder: string,
  files: Map<string, string>,
): Promise<void> {
  const fault = parts.faults.takeBulk();
  const name = `${randomUUID()}.jsonl`;
  const path = join(folder, name);
  try {
    await pause(parts.bulkMillis / 2);
    if (!isCanceling(operation)) operation.status = "RUNNING";
    if (fault === "stall") while (!isCanceling(operation)) await pause(20);
    const bytes = await writeLines(parts, operation, query, context, path, damageOf(fault));
    await pause(parts.bulkMillis / 2);
    if (isCanceling(operation)) operation.status = "CANCELED";
    else complete(parts, operation, fault, { name, path, bytes }, files);
  } catch (error) {
    operation.status = "FAILED";
    operation.errorCode = error instanceof AccessError ? "ACCESS_DENIED" : "INTERNAL_SERVER_ERROR";
    if (!(error instanceof AccessError)) console.error("bulk operation failed:", error);
  }
  operation.completedAt = parts.shop.clock.now();
  parts.onFinish(operation);
}

function damageOf(fault: BulkFault | undefined): Damage | null {
  return fault === "duplicate" || fault === "swapped" ? fault : null;
}

async function writeLines(
  parts: BulkParts,
  operation: BulkOperation,
  query: BulkQuery,
  context: RequestContext,
  path: string,
  damage: Damage | null,
): Promise<number> {
  const number = Number(operation.id.split("/").at(-1));
  const file = await createResultFile(path, parts.shop.options.seed + number, damage);
  for (const _ of bulkLines(parts.schema, query, context, file.add)) {
    if (isCanceling(operation)) break;
    if (file.full()) await file.flush();
  }
  const { bytes, lines, roots } = await file.finish();
  operation.objectCount = lines;
  operation.rootObjectCount = roots;
  return bytes;
}

function complete(
  parts: BulkParts,
  operation: BulkOperation,
  fault: string | undefined,
  { name, path, bytes }: { name: string; path: string; bytes: number },
  files: Map<string, string>,
): void {
  const url = `${parts.baseUrl()}/bulk/${name}`;
  if (operation.objectCount > 0) files.set(name, path);
  if (fault === "truncated" && bytes > 0) truncateSync(path, Math.ceil(bytes * 0.6));
  if (fault === "cut") parts.faults.cutDownload(name);
  if (fault === "fail") {
    operation.status = "FAILED";
    operation.errorCode = "INTERNAL_SERVER_ERROR";
    if (bytes > 0) truncateSync(path, Math.ceil(bytes / 2));
    operation.partialDataUrl = operation.objectCount > 0 ? url : null;
    return;
  }
  operation.status = fault === "expire" ? "EXPIRED" : "COMPLETED";
  operation.fileSize = operation.objectCount > 0 ? bytes : null;
  operation.url = operation.objectCount > 0 && fault !== "expire" ? url : null;
}

/** Lines that are shuffled among each other at a time. */
const BLOCK_LINES = 2000;
/** Share of a block's lines that are held back into a later one, so that children stand before and far from parents. */
const HELD_SHARE = 0.05;
/** Without a later block to go to, held lines go at the end. */
const DAMAGED_SHARE = 0.02;

/** Some lines come twice: beside the others, or in the place of others. */
type Damage = "duplicate" | "swapped";

interface ResultFile {
  add: (line: string, isRoot: boolean) => void;
  /** Whether enough is held to be worth writing. */
  full(): boolean;
  flush(): Promise<void>;
  /** Writes what is left; returns the file's size and counts. */
  finish(): Promise<{ bytes: number; lines: number; roots: number }>;
}

/** A JSON lines file in shuffled order, written in bounded memory. */
async function createResultFile(path: string, seed: number, damage: Damage | null): Promise<ResultFile> {
  const file = await open(path, "w");
  const random = randomOf(seed, 3);
  let block: string[] = [];
  let bytes = 0;
  let lines = 0;
  let roots = 0;
  const write = async (rows: string[]): Promise<void> => {
    bytes += await append(file, rows);
  };
  return {
    add: (line, isRoot) => {
      const isDamaged = damage !== null && random.chance(DAMAGED_SHARE);
      block.push(isDamaged && damage === "swapped" ? (block.at(-1) ?? line) : line);
      if (isDamaged && damage === "duplicate") block.push(line);
      lines += 1;
      if (isRoot) roots += 1;
    },
    full: () => block.length >= BLOCK_LINES,
    flush: async () => {
      shuffle(block, random);
      const held = block.splice(Math.ceil(block.length * (1 - HELD_SHARE)));
      const rows = block;
      block = held;
      await write(rows);
    },
    finish: async () => {
      shuffle(block, random);
      await write(block);
      await file.close();
      return { bytes, lines, roots };
    },
  };
}

async function append(file: FileHandle, rows: string[]): Promise<number> {
  if (rows.length === 0) return 0;
  const data = Buffer.from(`${rows.join("\n")}\n`);
  await file.appendFile(data);
  return data.length;
}

function shuffle(rows: string[], random: Random): void {
  for (let index = rows.length - 1; index > 0; index -= 1) {
    const other = random.between(0, index);
    const row = rows[index] as string;
    rows[index] = rows[other] as string;
    rows[other] = row;
  }
}
