export interface ClientOptions {
  /** The service's address without `/api/v1`, such as `https://returns.example`. */
  baseUrl: string;
  /** The access token, or a function that returns the current one; called for every request. */
  token: string | (() => string | Promise<string>);
  /** Sends the token unencrypted to an `http:` address of another machine too, such as inside a cluster. Default: false. */
  allowPlainHttp?: boolean | undefined;
  /** Instead of the platform's own `fetch`. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** For each try, from the request to the end of a JSON answer; for an export, the wait for each piece. Default: 30,000. */
  timeoutMs?: number | undefined;
  /** Tries after the first one. Each may count against the daily quota. Default: 2. */
  maxRetries?: number | undefined;
  /**
   * The longest pause between two attempts; if the service requests a longer one, its error is thrown at once. Default: 20,000.
   */
  maxRetryWaitMs?: number | undefined;
  /** The first pause is random up to this; each further one up to twice as much as the one before. Default: 500. */
  retryBaseMs?: number | undefined;
}

/** The answer to one request. */
export interface Result<Data, Meta> {
  data: Data;
  meta: Meta;
  /** null when the plan has no daily limit, or the answer does not say. */
  quota: Quota | null;
  /** The request's id in the service's log; null when the answer does not say. */
  requestId: string | null;
}

/** The workspace's quota on the current UTC day. */
export interface Quota {
  /** Requests a day. */
  limit: number;
  /** Requests left. */
  remaining: number;
  resetsAt: Date;
}

/** Options of one call. */
export interface RequestOptions {
  /** Ends the call, also while it waits between tries or while an export is read. */
  signal?: AbortSignal | undefined;
  /** For this call instead of the client's. */
  timeoutMs?: number | undefined;
  /** Sent as X-Request-ID: 1 to 128 characters of `A–Z a–z 0–9 . _ : -`. */
  requestId?: string | undefined;
}

/** A file while it arrives. Read it once, as a stream or as text; or cancel the stream. */
export interface FileExport {
  /** CSV is UTF-8. Fails with `ReturnsNetworkError` if the file is interrupted; the part received so far is incomplete. */
  stream: ReadableStream<Uint8Array>;
  /** The whole file, of CSV. */
  text(): Promise<string>;
  /** The service's name for the file; null when the answer does not say. */
  filename: string | null;
  quota: Quota | null;
  requestId: string | null;
}
