import type { ErrorCode } from "../contract/errors.ts";
import type { Quota } from "./result.ts";

/** The service refused the request, or failed. Branch on `code`; the wording of `message` may change. */
export class ReturnsApiError extends Error {
  readonly code: ErrorCode;
  /** The HTTP status. */
  readonly status: number;
  /** To quote to the service's operator; null when the answer has none. */
  readonly requestId: string | null;
  /** When to retry, if the service says so. */
  readonly retryAfterSeconds: number | null;
  /** null when the plan has no daily limit, or the answer does not say. */
  readonly quota: Quota | null;

  constructor(
    message: string,
    detail: Pick<ReturnsApiError, "code" | "status" | "requestId" | "retryAfterSeconds" | "quota">,
  ) {
    super(message);
    this.name = "ReturnsApiError";
    this.code = detail.code;
    this.status = detail.status;
    this.requestId = detail.requestId;
    this.retryAfterSeconds = detail.retryAfterSeconds;
    this.quota = detail.quota;
  }
}

/** `connection`: no answer or only a part; `timeout`: too late; `unreadable_answer`: not this API's format. */
export type NetworkFailure = "connection" | "timeout" | "unreadable_answer";

/** There is no answer of the service: it may have counted the request or not. */
export class ReturnsNetworkError extends Error {
  readonly reason: NetworkFailure;

  constructor(message: string, reason: NetworkFailure, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ReturnsNetworkError";
    this.reason = reason;
  }
}
