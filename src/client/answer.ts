import { ReturnsApiError, ReturnsNetworkError } from "./errors.ts";
import { ERROR_STATUS, type ErrorCode } from "./endpoints.ts";
import type { FileExport, Quota, Result } from "./result.ts";

/** Reads a JSON answer. Throws `ReturnsNetworkError` when it is none of this API's. */
export async function readResult(response: Response): Promise<Result<unknown, unknown>> {
  requireType(response, ["application/json"]);
  const body = parsed(await response.text());
  if (!isObject(body) || !("data" in body) || !isObject(body["meta"])) throw unreadable();
  return { data: body["data"], meta: body["meta"], ...readEnvelope(response.headers) };
}

/** Wraps an answer's body; `failure` converts the error of a broken read. */
export function readFile(
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

/** The time restarts for each piece, and runs only while the reader waits: a slow reader is no failure. */
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
export function requireType(response: Response, types: readonly string[]): void {
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
export async function readError(response: Response, path: string): Promise<ReturnsApiError> {
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
export function readEnvelope(headers: Headers): { quota: Quota | null; requestId: string | null } {
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

export type Deadline = ReturnType<typeof startDeadline>;

/**
 * Ends a request that takes too long or that its caller aborts: not `AbortSignal.any`, which browsers in use lack, and a time that
 * stops while the caller is at work.
 */
export function startDeadline(timeoutMs: number, callerSignal: AbortSignal | undefined) {
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
