import pg from "pg";
import pino from "pino";
import { startService } from "../../src/app.ts";
import { openKeys } from "../../src/actions/installation/secrets.ts";
import { openInstallation } from "../../src/installation.ts";
import type { Installation } from "../../src/installation.ts";
import type { Keys } from "../../src/lib/keys.ts";
import { readConfig } from "../../src/config.ts";
import { checkAnswer } from "./answer-check.ts";
import { createSeededDatabase, createTestDatabase, roleEnvironment } from "./database.ts";
import type { Seed, TestDatabase } from "./database.ts";
import { TEST_SECRET } from "./secret.ts";

export type Parameters = Record<string, string | number | boolean> | readonly (readonly [string, string])[];

export type CallOptions = {
  token?: string;
  /** Parameters by name, in pairs when one repeats, or a query string as it is to be sent. */
  params?: Parameters | string;
  method?: string;
  headers?: Record<string, string>;
  /** The token's plan has no daily limit. */
  isUnlimited?: boolean;
};

export type CalledAnswer = {
  status: number;
  headers: Headers;
  text: string;
  /** The body of a JSON answer; its members are what the schema says. */
  json(): Body;
  /** The message of an error. */
  message(): string;
};

export type Body = {
  data: Record<string, unknown> & Record<string, unknown>[];
  meta: Record<string, unknown>;
};

export type TestService = {
  address: string;
  /** For the test's own reading and writing, past the service. */
  database: pg.Pool;
  databaseUrl: string;
  installation: Installation;
  keys: Keys;
  /** Every line the service logged. */
  logs: string[];
  /** Asks the service; fails when the answer breaks the contract in any part. */
  call: Caller;
  stop(): Promise<void>;
};

export type Caller = (path: string, options?: CallOptions) => Promise<CalledAnswer>;

/** The environment of a server on a test database: it serves by the roles, and commands run as the owner. */
export function serviceEnvironment(databaseUrl: string): Record<string, string> {
  return {
    PORT: "0",
    DATABASE_URL: databaseUrl,
    ...roleEnvironment(databaseUrl),
    RETURNS_SECRET: TEST_SECRET,
    DATABASE_CONNECTIONS: "4",
  };
}

/** Starts the real service on a database of its own, with options of one's own too; `call` speaks HTTP to it. */
export async function startTestService(options: Record<string, string> = {}): Promise<TestService> {
  return startOn(await createTestDatabase(), options);
}

/** The same on a database that holds what a seed has written. */
export async function startSeededService<Known>(
  seed: Seed<Known>,
): Promise<{ service: TestService; known: Known }> {
  const database = await createSeededDatabase(seed);
  return { service: await startOn(database, {}), known: database.known };
}

/** The same on a database that is there already; stopping the service drops it. */
export async function startOn(
  testDatabase: TestDatabase,
  options: Record<string, string>,
): Promise<TestService> {
  const { url } = testDatabase;
  const database = openTestPool(url);
  const logs: string[] = [];
  const logger = pino({ level: "trace" }, { write: (line: string) => void logs.push(line) });
  const config = readConfig({ ...serviceEnvironment(url), ...options });
  const installation = await openInstallation(config, (line) => void logs.push(line));
  const service = await startService(config, installation, logger);
  return {
    address: service.address,
    database,
    databaseUrl: url,
    installation,
    keys: await openKeys(installation),
    logs,
    call: createCaller(service.address),
    stop: async () => {
      await service.stop();
      await installation.close();
      await database.end();
      await testDatabase.drop();
    },
  };
}

/** A small pool that outlives the ends of its idle connections. */
export function openTestPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 3 });
  pool.on("error", () => {});
  return pool;
}

/** A function that asks one server and holds each answer to the contract. */
export function createCaller(address: string): Caller {
  return async (path, options = {}) => {
    const method = options.method ?? "GET";
    const headers = {
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...options.headers,
    };
    const response = await fetch(`${address}${path}${queryOf(options.params)}`, { method, headers });
    const text = await response.text();
    const answer = { status: response.status, headers: response.headers, text };
    checkAnswer(answer, {
      path,
      method,
      isUnlimited: options.isUnlimited ?? false,
      requestId: options.headers?.["x-request-id"],
    });
    return {
      ...answer,
      json: () => JSON.parse(text) as Body,
      message: () => (JSON.parse(text) as { error: { message: string } }).error.message,
    };
  };
}

function queryOf(params: Parameters | string | undefined): string {
  if (params === undefined) return "";
  if (typeof params === "string") return `?${params}`;
  const pairs: (readonly [string, unknown])[] = Array.isArray(params) ? params : Object.entries(params);
  return `?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&")}`;
}
