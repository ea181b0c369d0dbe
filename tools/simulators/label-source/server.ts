import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { readBody, sendHalf, sendJson as send, serveLoopback } from "../http.ts";

/** What a simulated label source does wrong: to how many of the next requests, and after how many good ones. */
interface Fault {
  kind: FaultKind;
  /** 1 unless told. */
  times?: number;
  /** 0 unless told. */
  after?: number;
  /** For `slow`: how long an answer takes; 1000 unless told. */
  millis?: number;
}

export type FaultKind =
  | "status_500"
  | "status_503"
  | "status_429"
  /** The connection is cut before the answer. */
  | "cut"
  /** The connection is cut in the middle of the answer. */
  | "cut_midway"
  | "slow"
  /** Half an answer, with the length of half an answer. */
  | "truncated_json"
  | "not_json"
  /** Numbers where text was, text where lists were. */
  | "changed_types"
  | "redirect"
  /** The next page is given on another host. */
  | "foreign_next_page";

const FAULT_KINDS: readonly FaultKind[] = [
  "status_500",
  "status_503",
  "status_429",
  "cut",
  "cut_midway",
  "slow",
  "truncated_json",
  "not_json",
  "changed_types",
  "redirect",
  "foreign_next_page",
];

interface FaultList {
  add(fault: Fault): void;
  /** The fault of this request, if it has one. */
  take(): Fault | null;
  clear(): void;
}

function createFaultList(): FaultList {
  let waiting: Required<Fault>[] = [];
  return {
    add: (fault) => void waiting.push({ times: 1, after: 0, millis: 1000, ...fault }),
    take: () => {
      const fault = waiting[0];
      if (fault === undefined) return null;
      if (fault.after > 0) {
        fault.after -= 1;
        return null;
      }
      fault.times -= 1;
      if (fault.times <= 0) waiting = waiting.slice(1);
      return fault;
    },
    clear: () => {
      waiting = [];
    },
  };
}

/** How one platform answers; bodies are in the platform's own form. */
export interface Platform {
  /** Of the key. */
  header: string;
  refusal: unknown;
  tooMany: unknown;
  notFound: unknown;
  serverError: unknown;
  /** A page of the list, or null for an address there is none at. Throws `BadRequest`. */
  answer(url: URL): unknown;
  /** The same page with the types of its members changed. */
  changeTypes(page: unknown): unknown;
}

export class BadRequest extends Error {
  readonly body: unknown;
  readonly status: number;
  constructor(status: number, body: unknown) {
    super(`status ${status}`);
    this.status = status;
    this.body = body;
  }
}

export interface LabelServerOptions {
  port: number;
  apiKey: string;
  /** Requests in any `windowSeconds` seconds before 429. */
  requests: number;
  windowSeconds: number;
}

/** An account of made-up labels or returns: `count` of them, in the year before `now`. */
export interface AccountOptions extends LabelServerOptions {
  seed: number;
  count: number;
  currencyCode: string;
  now: string;
}

/** What is given of the options, over a source's own defaults. */
export function accountOptions(
  own: Pick<AccountOptions, "apiKey" | "count" | "requests">,
  given: Partial<AccountOptions>,
): AccountOptions {
  const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const usual = { port: 0, seed: 1, currencyCode: "EUR", now: new Date().toISOString(), windowSeconds: 60 };
  return { ...usual, ...own, ...defined };
}

export interface LabelServer {
  url: string;
  control: LabelServerControl;
  stop(): Promise<void>;
}

export interface LabelServerControl {
  fail(fault: Fault): void;
  /** From now on only this key is taken; null = none is. */
  setApiKey(apiKey: string | null): void;
  /** Changes the account once, between the given number of further answers and the one after them. */
  changeAfter(answers: number, change: () => void): void;
  /** Paths and queries asked for so far. */
  requests: readonly string[];
}

/**
 * A label source on loopback: key, rate limit with Retry-After, faults on demand. `POST /control` takes a fault as JSON;
 * `{"api_key": null}` there revokes the key and `{"clear": true}` ends all faults.
 */
export async function startLabelServer(
  platform: Platform,
  options: LabelServerOptions,
): Promise<LabelServer> {
  const faults = createFaultList();
  const requests: string[] = [];
  let changes: { answers: number; change: () => void }[] = [];
  let apiKey: string | null = options.apiKey;
  let recent: number[] = [];

  const secondsUntilFree = (): number => {
    const now = Date.now();
    recent = recent.filter((moment) => now - moment < options.windowSeconds * 1000);
    if (recent.length < options.requests) {
      recent.push(now);
      return 0;
    }
    return Math.max(1, Math.ceil(((recent[0] ?? now) + options.windowSeconds * 1000 - now) / 1000));
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
    if (fault !== null && (await spoil(response, fault, platform))) return;
    await answer(response, url, fault, platform);
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
    if (kind !== undefined) faults.add({ ...order, kind });
    return send(response, 200, { requests: requests.length });
  };

  const server = await serveLoopback(options.port, respond, (response) => response.destroy());
  return {
    url: server.url,
    control: {
      fail: (fault) => faults.add(fault),
      setApiKey: (key) => {
        apiKey = key;
      },
      changeAfter: (answers, change) => void changes.push({ answers, change }),
      requests,
    },
    stop: () => server.stop(),
  };
}

/** Faults that leave no good answer; true = the request is done with. */
async function spoil(response: ServerResponse, fault: Fault, platform: Platform): Promise<boolean> {
  switch (fault.kind) {
    case "status_500":
    case "status_503":
      send(response, fault.kind === "status_500" ? 500 : 503, platform.serverError);
      return true;
    case "status_429":
      send(response, 429, platform.tooMany, { "retry-after": "1" });
      return true;
    case "cut":
      response.destroy();
      return true;
    case "not_json":
      response.writeHead(200, { "content-type": "text/html" }).end("<html><body>Maintenance</body></html>");
      return true;
    case "redirect":
      response.writeHead(302, { location: "http://127.0.0.1:9/elsewhere" }).end();
      return true;
    case "slow":
      await sleep(fault.millis ?? 1000);
      return false;
    case "cut_midway":
    case "truncated_json":
    case "changed_types":
    case "foreign_next_page":
      return false;
  }
}

async function answer(
  response: ServerResponse,
  url: URL,
  fault: Fault | null,
  platform: Platform,
): Promise<void> {
  let page: unknown;
  try {
    page = platform.answer(url);
  } catch (error) {
    if (!(error instanceof BadRequest)) throw error;
    return send(response, error.status, error.body);
  }
  if (page === null) return send(response, 404, platform.notFound);
  if (fault?.kind === "changed_types") return send(response, 200, platform.changeTypes(page));
  if (fault?.kind === "foreign_next_page") {
    return send(response, 200, { ...(page as object), nextPageUrl: "http://127.0.0.2:9/next" });
  }
  const text = JSON.stringify(page);
  if (fault?.kind === "truncated_json") {
    response.writeHead(200, { "content-type": "application/json" }).end(text.slice(0, text.length / 2));
    return;
  }
  if (fault?.kind === "cut_midway") return sendHalf(response, 200, page);
  send(response, 200, page);
}
