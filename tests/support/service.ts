import pg from "pg";
import pino from "pino";
import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { text as textOf } from "node:stream/consumers";
import Type from "typebox";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { startService } from "../../src/app.ts";
import { openKeys } from "../../src/actions/installation/secrets.ts";
import { openInstallation, type Installation } from "../../src/installation.ts";
import type { Keys } from "../../src/lib/keys.ts";
import { readConfig } from "../../src/config.ts";
import { createSeededDatabase, createTestDatabase, roleEnvironment } from "./database.ts";
import type { Seed, TestDatabase } from "./database.ts";
import { TEST_SECRET } from "./secret.ts";
import { ENDPOINTS } from "../../src/contract/registry.ts";
import { filledPath, pathNames, type Endpoint } from "../../src/contract/endpoint.ts";
import { TABLES } from "../../src/contract/tables.ts";
import { USUAL_PATH_VALUES } from "./requests.ts";

/** An answer as received. */
export type WireAnswer = { status: number; headers: Headers; text: string };

type AnswerExpectation = {
  path: string;
  method: string;
  /** The plan has no daily limit: rate-limit headers must be absent. */
  isUnlimited: boolean;
  requestId: string | undefined;
};

// What the specification promises, repeated here rather than imported.
const API_VERSION = "2026-07-05";
const COMMON_HEADERS = {
  "cache-control": "private, no-store, no-cache, max-age=0, must-revalidate",
  "cdn-cache-control": "no-store",
  "edge-cdn-cache-control": "no-store",
  "cloudflare-cdn-cache-control": "no-store",
  "vercel-cdn-cache-control": "no-store",
  "x-returns-api-version": API_VERSION,
};
const CODES: Record<number, string> = {
  400: "invalid_request",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  405: "invalid_request",
  409: "not_ready",
  429: "rate_limited",
  431: "invalid_request",
  500: "internal_error",
};
const RATE_LIMIT_HEADERS = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
const STATUSES_WITH_QUOTA = new Set([200, 400, 409, 429]);
const DAY_MS = 86_400_000;

const errorSchema = Compile(
  Type.Object(
    {
      error: Type.Object(
        { code: Type.Enum([...new Set(Object.values(CODES))]), message: Type.String({ minLength: 1 }) },
        { additionalProperties: false },
      ),
    },
    { additionalProperties: false },
  ),
);

const endpoints = new Map<string, Endpoint>(ENDPOINTS.map((endpoint) => [endpoint.path, endpoint]));
const schemas = new Map(
  ENDPOINTS.filter((endpoint) => endpoint.response !== null).map((endpoint) => [
    endpoint.path as string,
    Compile(endpoint.response as TSchema),
  ]),
);

/** Fails if any part of an answer (status, headers, body) breaks the contract. */
function checkAnswer(answer: WireAnswer, expected: AnswerExpectation): void {
  const endpoint = endpoints.get(expected.path);
  const where = `${expected.method} ${expected.path} answered ${answer.status}: ${answer.text.slice(0, 300)}`;
  checkCommonHeaders(answer, where, expected.requestId);
  checkQuotaHeaders(answer, endpoint !== undefined, expected.isUnlimited, where);
  checkStatusHeaders(answer, where);
  if (expected.method === "HEAD") return assert.equal(answer.text, "", where);
  if (answer.status !== 200) return checkError(answer, where);
  assert.ok(endpoint, `only endpoints of the contract answer 200 (${where})`);
  if (endpoint.response !== null) return checkJson(answer, endpoint.path, where);
  return endpoint.fileTypes === undefined ? checkCsv(answer, where) : checkTable(answer, where);
}

/** Fails unless an answer has the headers of every one and none that tells of the server, and the id of its request, if given. */
export function checkCommonHeaders(answer: WireAnswer, where: string, requestId?: string): void {
  for (const [name, value] of Object.entries(COMMON_HEADERS)) {
    assert.equal(answer.headers.get(name), value, `${name}: ${where}`);
  }
  assert.match(answer.headers.get("x-request-id") ?? "", /^[A-Za-z0-9._:-]{1,128}$/u, where);
  if (requestId !== undefined) assert.equal(answer.headers.get("x-request-id"), requestId, where);
  for (const name of ["etag", "last-modified", "set-cookie", "server", "x-powered-by"]) {
    assert.equal(answer.headers.get(name), null, `${name}: ${where}`);
  }
}

function checkQuotaHeaders(
  answer: WireAnswer,
  isEndpoint: boolean,
  isUnlimited: boolean,
  where: string,
): void {
  const [limit = null, remaining = null, reset = null] = RATE_LIMIT_HEADERS.map((name) =>
    answer.headers.get(name),
  );
  const given = [limit, remaining, reset].filter((value) => value !== null).length;
  const isCounted = isEndpoint && !isUnlimited && STATUSES_WITH_QUOTA.has(answer.status);
  // A failure before the plan is known cannot name its limit.
  const allowed = isCounted ? [3] : answer.status === 500 && isEndpoint && !isUnlimited ? [0, 3] : [0];
  assert.ok(allowed.includes(given), `${given} rate-limit headers: ${where}`);
  if (given === 0) return;
  assert.match(limit ?? "", /^\d+$/u, where);
  assert.match(remaining ?? "", /^\d+$/u, where);
  assert.ok(Number(remaining) <= Number(limit), where);
  assert.match(reset ?? "", /^\d{4}-\d{2}-\d{2}T00:00:00\.000Z$/u, where);
  const untilReset = Date.parse(reset ?? "") - Date.now();
  assert.ok(untilReset > -60_000 && untilReset <= DAY_MS, `the day resets at the next midnight: ${where}`);
}

function checkStatusHeaders({ status, headers }: WireAnswer, where: string): void {
  assert.equal(headers.get("www-authenticate"), status === 401 ? "Bearer" : null, where);
  assert.equal(headers.get("allow") !== null, status === 405, where);
  const retryAfter = headers.get("retry-after");
  assert.equal(retryAfter !== null, status === 429 || status === 500, `Retry-After: ${where}`);
  if (retryAfter !== null) {
    assert.match(retryAfter, /^\d{1,5}$/u, where);
    assert.ok(Number(retryAfter) >= 1 && Number(retryAfter) <= DAY_MS / 1000, where);
  }
}

function checkError({ status, headers, text }: WireAnswer, where: string): void {
  assert.equal(headers.get("content-type"), "application/json; charset=utf-8", where);
  const body = JSON.parse(text) as { error: { code: string; message: string } };
  assert.ok(errorSchema.Check(body), where);
  assert.equal(body.error.code, CODES[status], where);
  const { code, message } = body.error;
  assert.equal(text, JSON.stringify({ error: { code, message } }), "the bytes of an error are fixed");
}

function checkJson({ headers, text }: WireAnswer, path: string, where: string): void {
  assert.equal(headers.get("content-type"), "application/json; charset=utf-8", where);
  const body = JSON.parse(text) as { meta: { api_version: string } };
  const schema = schemas.get(path);
  assert.ok(schema, where);
  if (!schema.Check(body)) {
    assert.fail(`the body breaks its schema: ${JSON.stringify(schema.Errors(body).slice(0, 3))} (${where})`);
  }
  assert.equal(body.meta.api_version, headers.get("x-returns-api-version"), where);
}

function checkCsv({ headers, text }: WireAnswer, where: string): void {
  assert.equal(headers.get("content-type"), "text/csv; charset=utf-8", where);
  assert.match(
    headers.get("content-disposition") ?? "",
    /^attachment; filename="returns-report_[A-Za-z0-9._-]+_\d{4}-\d{2}_\d{4}-\d{2}\.csv"$/u,
    where,
  );
  assert.ok(text.startsWith("section,cohort_month,key,label,metric,value,unit\r\n"), where);
  assert.ok(text.endsWith("\r\n"), where);
}

function checkTable({ headers }: WireAnswer, where: string): void {
  const [, table = "", format] =
    /^attachment; filename="(\w+)\.(parquet|csv)"$/u.exec(headers.get("content-disposition") ?? "") ?? [];
  assert.ok(
    TABLES.some(({ name }) => name === table),
    where,
  );
  const type = format === "csv" ? "text/csv; charset=utf-8" : "application/vnd.apache.parquet";
  assert.equal(headers.get("content-type"), type, where);
}

export type QueryParameters =
  | Record<string, string | number | boolean>
  | readonly (readonly [string, string])[];

export type CallOptions = {
  token?: string;
  /** Parameters by name, in pairs when one repeats, or a query string as it is to be sent. */
  params?: QueryParameters | string;
  method?: string;
  headers?: Record<string, string>;
  /** The token's plan has no daily limit. */
  isUnlimited?: boolean;
};

export type CalledAnswer = {
  status: number;
  headers: Headers;
  text: string;
  /** The body of a JSON answer, with the members of the schema. */
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
  /** For the test's own statements, past the service. */
  database: pg.Pool;
  databaseUrl: string;
  installation: Installation;
  keys: Keys;
  /** Every line the service logged. */
  logs: string[];
  /** Sends a request; fails if the answer breaks the contract in any part. */
  call: ServiceCaller;
  stop(): Promise<void>;
};

export type ServiceCaller = (path: string, options?: CallOptions) => Promise<CalledAnswer>;

/** The environment of a server on a test database: it serves with the roles' logins, and commands run as the owner. */
export function serviceEnvironment(databaseUrl: string): Record<string, string> {
  return {
    PORT: "0",
    DATABASE_URL: databaseUrl,
    ...roleEnvironment(databaseUrl),
    RETURNS_SECRET: TEST_SECRET,
    DATABASE_CONNECTIONS: "4",
  };
}

/** Starts the real service on its own database, with the given options; `call` uses HTTP. */
export async function startTestService(options: Record<string, string> = {}): Promise<TestService> {
  return startOn(await createTestDatabase(), options);
}

/** The same on a database filled by a seed. */
export async function startSeededService<Known>(
  seed: Seed<Known>,
  options: Record<string, string> = {},
): Promise<{ service: TestService; known: Known }> {
  const database = await createSeededDatabase(seed);
  return { service: await startOn(database, options), known: database.known };
}

/** The same on an existing database; stopping the service drops it. */
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

/** Another server of the same database, in this process too; it never outlives the test. */
export async function startBeside(
  context: { after(stop: () => Promise<void>): void },
  { databaseUrl }: Pick<TestService, "databaseUrl">,
  options: Record<string, string> = {},
): Promise<TestService> {
  const server = await startOn({ url: databaseUrl, drop: async () => {} }, options);
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= server.stop());
  context.after(stop);
  return { ...server, stop };
}

/** A small pool that survives the loss of its idle connections. */
export function openTestPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 3 });
  pool.on("error", () => {});
  return pool;
}

/** One request over a kept connection, without following redirects: `fetch` takes several times as long. */
export function send(
  address: string,
  { body, ...options }: { method?: string; headers: Record<string, string>; body?: string | Uint8Array },
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(address, options, (response) => {
      const headers = new Headers();
      for (const [name, values = []] of Object.entries(response.headersDistinct))
        for (const value of values) headers.append(name, value);
      const answered = (text: string) => resolve({ status: response.statusCode ?? 0, headers, text });
      textOf(response).then(answered, reject);
    });
    request.on("error", reject).end(body);
  });
}

/** A function that sends requests to one server and checks each answer against the contract. */
export function createCaller(address: string): ServiceCaller {
  return async (path, options = {}) => {
    const method = options.method ?? "GET";
    const headers = {
      // Compressing answers takes longer than many of them; compression has its own tests.
      "accept-encoding": "identity",
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...options.headers,
    };
    const { params } = options;
    const ofPath = pathNames(path);
    const given = typeof params === "string" ? [] : pairsOf(params ?? {});
    const place = filledPath(path, { ...USUAL_PATH_VALUES, ...Object.fromEntries(given) });
    const query = typeof params === "string" ? params : given.filter(([name]) => !ofPath.includes(name));
    const answer = await send(`${address}${place}${queryOf(query)}`, { method, headers });
    const { text } = answer;
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

function pairsOf(params: QueryParameters): (readonly [string, string])[] {
  const pairs: (readonly [string, unknown])[] = Array.isArray(params) ? params : Object.entries(params);
  return pairs.map(([name, value]) => [name, String(value)]);
}

function queryOf(params: QueryParameters | string): string {
  if (typeof params === "string") return `?${params}`;
  return `?${pairsOf(params)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&")}`;
}
