import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { faultQueue, readBody, sendHalf, sendJson as send, serveLoopback } from "../http.ts";

const FAULT_KINDS = [
  "status_500",
  "status_503",
  "status_429",
  /** The connection is cut before the answer, or in the middle of it. */
  "cut",
  "cut_midway",
  "slow",
  /** Half an answer, with a matching Content-Length. */
  "truncated_json",
  "not_json",
  /** Numbers instead of text, text instead of lists. */
  "changed_types",
  "redirect",
  /** The next page is on another host. */
  "foreign_next_page",
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

/** A fault of the next `times` requests (default 1), after `after` good ones (0); `slow` takes `millis` (1000). */
type Fault = { kind: FaultKind; times?: number; after?: number; millis?: number };

/** How one platform answers, in its own format. */
export type Platform = {
  /** The name of the key's header. */
  header: string;
  refusal: unknown;
  tooMany: unknown;
  notFound: unknown;
  serverError: unknown;
  /** A page of the list, or null for an unknown address. Throws `BadRequest`. */
  answer(url: URL): unknown;
  /** The same page with the types of its members changed. */
  changeTypes(page: unknown): unknown;
};

export class BadRequest extends Error {
  readonly body: unknown;
  readonly status: number;
  constructor(status: number, body: unknown) {
    super(`status ${status}`);
    this.status = status;
    this.body = body;
  }
}

/** More than `requests` within any `windowSeconds` seconds are answered with 429. */
export type LabelServerOptions = { port: number; apiKey: string; requests: number; windowSeconds: number };

/** An account with generated labels or returns: `count` of them, in the year before `now`. */
export type AccountOptions = LabelServerOptions & {
  seed: number;
  count: number;
  currencyCode: string;
  now: string;
};

/** The given options, with a source's defaults. */
export function accountOptions(
  own: Pick<AccountOptions, "apiKey" | "count" | "requests">,
  given: Partial<AccountOptions>,
): AccountOptions {
  const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const usual = { port: 0, seed: 1, currencyCode: "EUR", now: new Date().toISOString(), windowSeconds: 60 };
  return { ...usual, ...own, ...defined };
}

const DAY_MS = 86_400_000;

/** When the account's entries were created: evenly over a year, the last one just before `now`. */
export function momentsOf({ count, now }: Pick<AccountOptions, "count" | "now">): number[] {
  const end = Date.parse(now);
  return Array.from(
    { length: count },
    (_, index) => end - Math.floor(((count - index) / count) * 365 * DAY_MS),
  );
}

export type LabelServer = Awaited<ReturnType<typeof startLabelServer>>;

/**
 * A label source on loopback: key, rate limit with Retry-After, faults on demand. `POST /control` takes a fault as JSON;
 * `{"api_key": null}` there revokes the key and `{"clear": true}` ends all faults.
 */
export async function startLabelServer(platform: Platform, options: LabelServerOptions) {
  const faults = faultQueue<Fault>();
  const requests: string[] = [];
  let changes: { answers: number; change: () => void }[] = [];
  let { apiKey }: { apiKey: string | null } = options;
  let recent: number[] = [];
  const windowMs = options.windowSeconds * 1000;

  const fail = (fault: Fault): void => faults.add(fault, fault.times, fault.after);

  const secondsUntilFree = (): number => {
    const now = Date.now();
    recent = recent.filter((moment) => now - moment < windowMs);
    if (recent.length >= options.requests) {
      return Math.max(1, Math.ceil(((recent[0] ?? now) + windowMs - now) / 1000));
    }
    recent.push(now);
    return 0;
  };

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    if (url.pathname === "/control") return control(request, response);
    requests.push(`${url.pathname}${url.search}`);
    if (apiKey === null || request.headers[platform.header.toLowerCase()] !== apiKey) {
      return send(response, 401, platform.refusal);
    }
    const waitSeconds = secondsUntilFree();
    if (waitSeconds > 0) return send(response, 429, platform.tooMany, { "retry-after": String(waitSeconds) });
    const fault = faults.take();
    if (fault?.kind === "slow") await sleep(fault.millis ?? 1000);
    if (fault !== undefined && isSpoiled(response, fault.kind, platform)) return;
    answer(response, url, fault?.kind, platform);
    for (const waiting of changes) {
      waiting.answers -= 1;
      if (waiting.answers === 0) waiting.change();
    }
    changes = changes.filter(({ answers }) => answers > 0);
  };

  const control = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const order = JSON.parse((await readBody(request)) || "{}") as Partial<Fault> & {
      api_key?: string | null;
      clear?: boolean;
    };
    if (order.api_key !== undefined) apiKey = order.api_key;
    if (order.clear === true) faults.clear();
    const { kind } = order;
    if (kind !== undefined && !FAULT_KINDS.includes(kind)) return send(response, 400, { kinds: FAULT_KINDS });
    if (kind !== undefined) fail({ ...order, kind });
    return send(response, 200, { requests: requests.length });
  };

  const { url, stop } = await serveLoopback(options.port, respond, (response) => response.destroy());
  return {
    url,
    stop,
    control: {
      fail,
      /** From now on only this key is accepted; null = none. */
      setApiKey: (key: string | null): void => {
        apiKey = key;
      },
      /** Changes the account once, between the given number of further answers and the one after them. */
      changeAfter: (answers: number, change: () => void): void => void changes.push({ answers, change }),
      /** Paths and queries asked for so far. */
      requests: requests as readonly string[],
    },
  };
}

/** Applies faults that replace the answer; true = the request is finished. */
function isSpoiled(response: ServerResponse, kind: FaultKind, platform: Platform): boolean {
  if (kind === "status_500" || kind === "status_503") {
    send(response, Number(kind.slice(-3)), platform.serverError);
  } else if (kind === "status_429") send(response, 429, platform.tooMany, { "retry-after": "1" });
  else if (kind === "cut") response.destroy();
  else if (kind === "redirect") response.writeHead(302, { location: "http://127.0.0.1:9/elsewhere" }).end();
  else if (kind === "not_json") {
    response.writeHead(200, { "content-type": "text/html" }).end("<html><body>Maintenance</body></html>");
  } else return false;
  return true;
}

function answer(response: ServerResponse, url: URL, fault: FaultKind | undefined, platform: Platform): void {
  let page: unknown;
  try {
    page = platform.answer(url);
  } catch (error) {
    if (!(error instanceof BadRequest)) throw error;
    return send(response, error.status, error.body);
  }
  if (page === null) return send(response, 404, platform.notFound);
  if (fault === "cut_midway") return sendHalf(response, 200, page);
  if (fault === "truncated_json") {
    const text = JSON.stringify(page);
    response.writeHead(200, { "content-type": "application/json" }).end(text.slice(0, text.length / 2));
    return;
  }
  if (fault === "changed_types") page = platform.changeTypes(page);
  if (fault === "foreign_next_page") page = { ...(page as object), nextPageUrl: "http://127.0.0.2:9/next" };
  send(response, 200, page);
}
