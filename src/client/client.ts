import type { ErrorCode } from "../contract/errors.ts";
import { ReturnsApiError, ReturnsNetworkError } from "./errors.ts";
import { ENDPOINTS, ERROR_STATUS } from "./endpoints.ts";
import type { EndpointFacts, EndpointMethods } from "./endpoints.ts";
import type { ClientOptions, FileExport, Quota, RequestOptions, Result } from "./result.ts";
import { retryWaitMs, sleep } from "./retry.ts";

/** A client of the token's workspace. */
export type ReturnsClient = EndpointMethods;

/** Creates a client; no request is sent yet. Throws `TypeError` for invalid options. */
export function createClient(options: ClientOptions): ReturnsClient {
  const connection = connectionOf(options);
  const methods: Record<string, unknown> = {};
  for (const [name, endpoint] of Object.entries(ENDPOINTS)) {
    const method = (parameters: AnyParameters = {}, requestOptions: RequestOptions = {}) =>
      request(connection, endpoint, parameters, requestOptions);
    methods[name] = method;
    if (endpoint.isPaged) methods[`iterate${name.charAt(0).toUpperCase()}${name.slice(1)}`] = rowsOf(method);
  }
  // The interface is made from the same contract as ENDPOINTS.
  return methods as unknown as ReturnsClient;
}

/** Turns a method that answers pages into one that gives their rows. */
function rowsOf(method: unknown) {
  const pages = method as PagedMethod<AnyParameters, unknown[], { next_cursor: string | null }>;
  return async function* iterate(parameters: AnyParameters = {}, options?: RequestOptions) {
    for await (const page of iteratePages(pages, parameters, options)) yield* page.data;
  };
}

/** How to reach the service, with its time limits and retries. */
function connectionOf(options: ClientOptions) {
  const { token, fetch = (url, init) => globalThis.fetch(url, init) } = options;
  if (typeof token !== "function") checkToken(token);
  return {
    baseUrl: baseUrlOf(options.baseUrl, options.allowPlainHttp === true),
    // Called for every attempt, so that a rotated token is used.
    token: async () => (typeof token === "function" ? checkToken(await token()) : token),
    fetch,
    timeoutMs: numberOf("timeoutMs", options.timeoutMs ?? 30_000, 1),
    maxRetries: numberOf("maxRetries", options.maxRetries ?? 2, 0),
    maxRetryWaitMs: numberOf("maxRetryWaitMs", options.maxRetryWaitMs ?? 20_000, 0),
    retryBaseMs: numberOf("retryBaseMs", options.retryBaseMs ?? 500, 0),
  };
}

const LOOPBACK = /^(?:localhost|\[::1\]|127(?:\.\d{1,3}){3})$/u;

function baseUrlOf(text: string, allowPlainHttp: boolean): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    url === null ||
    !["http:", "https:"].includes(url.protocol) ||
    url.username !== "" ||
    url.search !== ""
  ) {
    throw new TypeError("baseUrl must be an address such as https://returns.example, without user or query.");
  }
  if (url.protocol === "http:" && !LOOPBACK.test(url.hostname) && !allowPlainHttp) {
    throw new TypeError(
      "baseUrl must begin with https://: the token would be sent unencrypted to another machine (allowPlainHttp permits that).",
    );
  }
  return `${url.origin}${url.pathname}`.replace(/(?<!\/)\/+$/u, "");
}

/** An error about the header would contain the token, so it is checked first. */
function checkToken(token: unknown): string {
  if (typeof token === "string" && /^[\x21-\x7e]+$/u.test(token)) return token;
  throw new TypeError("token must be text without spaces or line breaks.");
}

const LONGEST_TIMER_MS = 2_147_483_647;

function numberOf(name: string, value: number, minimum: number): number {
  if (value >= minimum && value <= LONGEST_TIMER_MS) return value;
  throw new TypeError(`${name} must be a number of at least ${minimum}.`);
}

type ServiceConnection = ReturnType<typeof connectionOf>;

type AnyParameters = Readonly<Record<string, unknown>>;

/**
 * Sends a request, and retries it if that may help. Throws `ReturnsApiError`, `ReturnsNetworkError`, the reason of the caller's
 * signal, or `TypeError` for an invalid call.
 */
async function request(
  connection: ServiceConnection,
  endpoint: EndpointFacts,
  parameters: AnyParameters,
  options: RequestOptions,
): Promise<Result<unknown, unknown> | FileExport> {
  const url = `${connection.baseUrl}${placeText(endpoint, parameters)}`;
  for (let retriesMade = 0; ; retriesMade++) {
    options.signal?.throwIfAborted();
    const token = await connection.token();
    try {
      return await tryOnce(connection, endpoint, { url, token, options });
    } catch (error) {
      const waitMs = retryWaitMs(error, retriesMade, connection);
      if (waitMs === null) throw error;
      await sleep(waitMs, options.signal);
    }
  }
}

type Try = { url: string; token: string; options: RequestOptions };

async function tryOnce(
  connection: ServiceConnection,
  { path, fileTypes }: EndpointFacts,
  { url, token, options }: Try,
): Promise<Result<unknown, unknown> | FileExport> {
  const { signal, timeoutMs = connection.timeoutMs, requestId } = options;
  const deadline = startDeadline(timeoutMs, signal);
  const failure = (error: unknown): unknown => {
    if (error instanceof ReturnsApiError || error instanceof ReturnsNetworkError) return error;
    if (deadline.hasPassed())
      return new ReturnsNetworkError(`${path} did not answer within ${timeoutMs} ms.`, "timeout");
    if (signal?.aborted === true) return signal.reason;
    // The caller's own fetch may put anything into its messages.
    const detail = innermostMessage(error).replaceAll(token, "[token]");
    return new ReturnsNetworkError(`${path} could not be reached: ${detail}`, "connection", error);
  };
  try {
    const response = await connection.fetch(url, {
      headers: {
        authorization: `Bearer ${token}`,
        ...(requestId === undefined ? {} : { "x-request-id": requestId }),
      },
      signal: deadline.signal,
      // The API never redirects, and a token must not follow one to somewhere else.
      redirect: "error",
      credentials: "omit",
      cache: "no-store",
    });
    if (!response.ok) throw await readError(response, path);
    if (fileTypes !== null) return readFile(response, fileTypes, deadline, failure);
    const result = await readResult(response);
    deadline.end();
    return result;
  } catch (error) {
    deadline.end();
    throw failure(error);
  }
}

/** The path and query of a URL. A name that the endpoint does not have is a mistake, reported before it costs a request. */
function placeText({ path, parameters: known }: EndpointFacts, parameters: AnyParameters): string {
  const pairs: string[] = [];
  let place = path;
  for (const [name, value] of Object.entries(parameters)) {
    if (!known.includes(name)) throw new TypeError(`${path} has no parameter ${name}.`);
    if (value === undefined || value === null) continue;
    const text = encodeURIComponent(valueText(value));
    if (place.includes(`{${name}}`)) place = place.replace(`{${name}}`, () => text);
    else pairs.push(`${name}=${text}`);
  }
  const missing = /\{(\w+)\}/u.exec(place)?.[1];
  if (missing !== undefined) throw new TypeError(`${path} needs the parameter ${missing}.`);
  return pairs.length === 0 ? place : `${place}?${pairs.join("&")}`;
}

/** Numbers in plain decimal, as the service reads them: never 1e-7. */
function valueText(value: unknown): string {
  if (typeof value !== "number" || !String(value).includes("e")) return String(value);
  return value.toLocaleString("en", { useGrouping: false, maximumFractionDigits: 20 });
}

/** If fetch only says that it failed, its cause says why. */
function innermostMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return innermostMessage(error.cause);
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  return first === undefined ? error.message : innermostMessage(first);
}

type PagedMethod<Parameters, Data, Meta> = (
  parameters: Parameters & { cursor?: string | undefined },
  options?: RequestOptions,
) => Promise<Result<Data, Meta>>;

/**
 * The answers of a method that has pages, one request each, from `parameters.cursor` or the first page on, as in
 * `iteratePages(client.entities, { limit: 100 })`. Stopping early asks for no further page.
 */
export async function* iteratePages<Parameters, Data, Meta extends { next_cursor: string | null }>(
  method: PagedMethod<Parameters, Data, Meta>,
  parameters: Parameters & { cursor?: string | undefined },
  options?: RequestOptions,
): AsyncGenerator<Result<Data, Meta>, void, undefined> {
  let { cursor } = parameters;
  do {
    const page = await method({ ...parameters, cursor }, options);
    yield page;
    cursor = page.meta.next_cursor ?? undefined;
  } while (cursor !== undefined);
}

/** Reads a JSON answer. Throws `ReturnsNetworkError` when it is none of this API's. */
async function readResult(response: Response): Promise<Result<unknown, unknown>> {
  requireType(response, ["application/json"]);
  const body = parsed(await response.text());
  if (!isObject(body) || !("data" in body) || !isObject(body["meta"])) throw unreadable();
  return { data: body["data"], meta: body["meta"], ...readEnvelope(response.headers) };
}

/** Wraps an answer's body; `failure` converts the error of a broken read. */
function readFile(
  response: Response,
  types: readonly string[],
  deadline: Deadline,
  failure: (error: unknown) => unknown,
): FileExport {
  requireType(response, types);
  deadline.pause();
  const stream = watched(response.body, deadline, failure);
  return {
    stream,
    text: () => new Response(stream).text(),
    filename: /filename="([^"]+)"/u.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? null,
    ...readEnvelope(response.headers),
  };
}

/** The time restarts for each piece, and runs only while the reader waits: a slow reader is not a failure. */
function watched(
  body: ReadableStream<Uint8Array> | null,
  deadline: Deadline,
  failure: (error: unknown) => unknown,
): ReadableStream<Uint8Array> {
  const reader = body?.getReader();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        deadline.restart();
        try {
          const piece = await reader?.read();
          deadline.pause();
          if (piece?.value !== undefined) {
            controller.enqueue(piece.value);
            return;
          }
          deadline.end();
          controller.close();
        } catch (error) {
          deadline.end();
          controller.error(failure(error));
        }
      },
      cancel: async (reason) => {
        deadline.end();
        await reader?.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** A page of a proxy or another service's answer is not taken for this API's. */
function requireType(response: Response, types: readonly string[]): void {
  const type = response.headers.get("Content-Type") ?? "";
  if (!types.some((allowed) => type.startsWith(allowed))) throw unreadable();
}

function unreadable(): ReturnsNetworkError {
  return new ReturnsNetworkError(
    "The server at this address is not a Returns Analytics API: check baseUrl.",
    "unreadable_answer",
  );
}

/** Reads an error answer, also from an intermediary. */
async function readError(response: Response, path: string): Promise<ReturnsApiError> {
  const { status, headers } = response;
  const body = parsed(await response.text());
  const error = isObject(body) && isObject(body["error"]) ? body["error"] : {};
  const { code, message } = error;
  return new ReturnsApiError(
    typeof message === "string" ? message : `${path} answered ${status} without the API's error body.`,
    {
      code: isErrorCode(code) ? code : codeOfStatus(status),
      status,
      retryAfterSeconds: readRetryAfter(headers.get("Retry-After"), Date.now()),
      ...readEnvelope(headers),
    },
  );
}

/** The values in the headers of every answer. */
function readEnvelope(headers: Headers): { quota: Quota | null; requestId: string | null } {
  const [limit, remaining] = ["Limit", "Remaining"].map((name) =>
    Number.parseInt(headers.get(`X-RateLimit-${name}`) ?? "", 10),
  );
  const resetsAt = new Date(headers.get("X-RateLimit-Reset") ?? "");
  const isKnown = limit !== undefined && remaining !== undefined && limit >= 0 && remaining >= 0;
  return {
    quota: isKnown && !Number.isNaN(resetsAt.getTime()) ? { limit, remaining, resetsAt } : null,
    requestId: headers.get("X-Request-ID"),
  };
}

/** Seconds or an HTTP date; null when absent or neither. */
function readRetryAfter(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  if (/^\d{1,9}$/u.test(value)) return Number(value);
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? null : Math.max(0, Math.ceil((atMs - nowMs) / 1000));
}

function codeOfStatus(status: number): ErrorCode {
  const known = Object.entries(ERROR_STATUS).find(([, of]) => of === status)?.[0];
  if (isErrorCode(known)) return known;
  return status >= 500 ? "internal_error" : "invalid_request";
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERROR_STATUS, code);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

type Deadline = ReturnType<typeof startDeadline>;

/**
 * Ends a request that takes too long or that its caller aborts: not `AbortSignal.any`, which browsers in use lack, and a time that
 * stops while the caller is at work.
 */
function startDeadline(timeoutMs: number, callerSignal: AbortSignal | undefined) {
  const controller = new AbortController();
  let hasPassed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const giveUp = (): void => controller.abort(callerSignal?.reason);
  const pause = (): void => clearTimeout(timer);
  const restart = (): void => {
    pause();
    timer = setTimeout(() => {
      hasPassed = true;
      controller.abort();
    }, timeoutMs);
  };
  callerSignal?.addEventListener("abort", giveUp, { once: true });
  restart();
  return {
    signal: controller.signal,
    /** Whether it was time, and not the caller. */
    hasPassed: () => hasPassed,
    restart,
    pause,
    end: (): void => {
      pause();
      callerSignal?.removeEventListener("abort", giveUp);
    },
  };
}
