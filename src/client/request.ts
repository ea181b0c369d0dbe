import { readCsv } from "./csv-export.ts";
import type { CsvExport } from "./csv-export.ts";
import { readError, readResult } from "./answer.ts";
import { startDeadline } from "./deadline.ts";
import type { Deadline } from "./deadline.ts";
import { ReturnsApiError, ReturnsNetworkError } from "./errors.ts";
import type { RequestOptions, Result } from "./result.ts";
import { retryWaitMs, sleep } from "./retry.ts";
import type { ClientRetries } from "./retry.ts";

/** How to reach the service. */
export type ServiceConnection = ClientRetries & {
  /** Without a slash at its end. */
  baseUrl: string;
  /** Asked for every try, so that a rotated token is taken up. */
  token: () => Promise<string>;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  timeoutMs: number;
};

/** What the client knows of an endpoint. */
export type EndpointFacts = {
  path: string;
  format: "json" | "csv";
  isPaged: boolean;
  parameters: readonly string[];
};

export type Parameters = Readonly<Record<string, unknown>>;

/**
 * Asks an endpoint, again if that may help. Throws `ReturnsApiError`, `ReturnsNetworkError`, the reason of the caller's
 * signal, or `TypeError` for an invalid call.
 */
export async function request(
  connection: ServiceConnection,
  endpoint: EndpointFacts,
  parameters: Parameters,
  options: RequestOptions,
): Promise<Result<unknown, unknown> | CsvExport> {
  const url = `${connection.baseUrl}${endpoint.path}${queryText(endpoint, parameters)}`;
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
  { path, format }: EndpointFacts,
  { url, token, options }: Try,
): Promise<Result<unknown, unknown> | CsvExport> {
  const { signal, timeoutMs = connection.timeoutMs, requestId } = options;
  const deadline = startDeadline(timeoutMs, signal);
  const failure = (error: unknown): unknown => failureOf(error, { path, token, timeoutMs, signal, deadline });
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
    if (format === "csv") return readCsv(response, deadline, failure);
    const result = await readResult(response);
    deadline.end();
    return result;
  } catch (error) {
    deadline.end();
    throw failure(error);
  }
}

/** The query of a URL. A name that the endpoint does not have is a mistake, reported before it costs a request. */
function queryText({ path, parameters: known }: EndpointFacts, parameters: Parameters): string {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(parameters)) {
    if (!known.includes(name)) throw new TypeError(`${path} has no parameter ${name}.`);
    if (value !== undefined && value !== null) pairs.push(`${name}=${encodeURIComponent(valueText(value))}`);
  }
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

/** Numbers in plain decimal, as the service reads them: never 1e-7. */
function valueText(value: unknown): string {
  if (typeof value !== "number" || !String(value).includes("e")) return String(value);
  return value.toLocaleString("en", { useGrouping: false, maximumFractionDigits: 20 });
}

type FailureFacts = {
  path: string;
  token: string;
  timeoutMs: number;
  signal: AbortSignal | undefined;
  deadline: Deadline;
};

function failureOf(error: unknown, { path, token, timeoutMs, signal, deadline }: FailureFacts): unknown {
  if (error instanceof ReturnsApiError || error instanceof ReturnsNetworkError) return error;
  if (deadline.hasPassed()) {
    return new ReturnsNetworkError(`${path} did not answer within ${timeoutMs} ms.`, "timeout");
  }
  if (signal?.aborted === true) return signal.reason;
  // A fetch of the caller's own may put anything into its messages.
  const detail = innermostMessage(error).replaceAll(token, "[token]");
  return new ReturnsNetworkError(`${path} could not be asked: ${detail}`, "connection", error);
}

/** Where fetch only says that it failed, its cause says why. */
function innermostMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return innermostMessage(error.cause);
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  return first === undefined ? error.message : innermostMessage(first);
}
