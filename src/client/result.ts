/** What one request answered. */
export interface Result<Data, Meta> {
  data: Data;
  meta: Meta;
  /** null when the plan has no daily limit, or the answer does not say. */
  quota: Quota | null;
  /** The request's id in the service's log; null when the answer does not say. */
  requestId: string | null;
}

/** Where the workspace stands in the current UTC day. */
export interface Quota {
  /** Requests a day. */
  limit: number;
  /** Requests left. */
  remaining: number;
  resetsAt: Date;
}

/** What one call may set. */
export interface RequestOptions {
  /** Ends the call, also while it waits between tries or while an export is read. */
  signal?: AbortSignal | undefined;
  /** For this call instead of the client's. */
  timeoutMs?: number | undefined;
  /** Sent as X-Request-ID: 1 to 128 characters of `A–Z a–z 0–9 . _ : -`. */
  requestId?: string | undefined;
}
