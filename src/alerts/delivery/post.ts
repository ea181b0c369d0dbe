import { once } from "node:events";
import { request as requestHttp, type ClientRequest, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type BlockList } from "node:net";
import { VERSION } from "../../lib/version.ts";
import {
  AddressRefused,
  guardedLookup,
  isAllowed,
  type Resolve,
  type Route,
} from "../../lib/guarded-lookup.ts";
import { failed, type SendOutcome } from "./retry.ts";

/** Where messages may go, and how long one may take. */
export type PostOptions = {
  /** Besides public addresses. */
  allowedNetworks: BlockList;
  resolve: Resolve;
  /** From the connection to the status of the answer. */
  timeoutMs: number;
};

type Post = { url: string; headers: Record<string, string>; body: string };

/** More of an answer is not read. */
const MOST_ANSWER_BYTES = 16_384;
const MOST_HEADER_BYTES = 8192;

type Sent = { request: ClientRequest; signal: AbortSignal } | { refused: string };

/** A request over a connection of its own, which leads nowhere but to allowed addresses; `refused`: the address is a literal of none. */
function begin(
  target: URL,
  { allowedNetworks, resolve, timeoutMs }: PostOptions,
  init: { method: "GET" | "POST"; headers: Record<string, string> },
): Sent {
  const route: Route = { protocol: target.protocol, allowed: allowedNetworks };
  const address = hostOf(target);
  // A literal address is not looked up.
  if (isIP(address) !== 0 && !isAllowed(address, route)) return { refused: refusedAddress(address) };
  const send = target.protocol === "https:" ? requestHttps : requestHttp;
  const signal = AbortSignal.timeout(timeoutMs);
  const headers = { "user-agent": `returns-analytics/${VERSION}`, ...init.headers };
  const guarded = { agent: false, lookup: guardedLookup(resolve, route), maxHeaderSize: MOST_HEADER_BYTES };
  return { request: send(target, { ...guarded, method: init.method, signal, headers }), signal };
}

/** Reads a short JSON document, as guarded as a message is sent. Never throws; `problem`: a sentence. */
export async function fetchJson(
  url: string,
  mostBytes: number,
  options: PostOptions,
): Promise<{ value: unknown } | { problem: string }> {
  const target = new URL(url);
  const sent = begin(target, options, { method: "GET", headers: { accept: "application/json" } });
  if ("refused" in sent) return { problem: sent.refused };
  const { request, signal } = sent;
  try {
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    if (response.statusCode !== 200) {
      response.destroy();
      return { problem: `${target.host} answered ${response.statusCode}.` };
    }
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of response as AsyncIterable<Buffer>) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > mostBytes) return { problem: `${target.host} answered more than ${mostBytes} bytes.` };
    }
    return { value: JSON.parse(Buffer.concat(pieces).toString()) as unknown };
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: `${target.host} did not answer JSON.` };
    if (signal.aborted) return { problem: silence(options.timeoutMs) };
    return { problem: sentenceOf(error as Error, target) };
  } finally {
    request.destroy();
  }
}

/**
 * Sends one message over a separate connection, only to allowed addresses. Redirects are not followed; only the status matters.
 * Never throws.
 */
export async function post({ url, headers, body }: Post, options: PostOptions): Promise<SendOutcome> {
  const target = new URL(url);
  const length = String(Buffer.byteLength(body));
  const sent = begin(target, options, {
    method: "POST",
    headers: { "content-type": "application/json", "content-length": length, ...headers },
  });
  if ("refused" in sent) return failed(sent.refused);
  const { request, signal } = sent;
  return new Promise((done) => {
    request.on("response", (response) => {
      leaveUnread(response);
      done(outcomeOf(response));
    });
    request.on("error", (error) =>
      done(failed(signal.aborted ? silence(options.timeoutMs) : sentenceOf(error, target))),
    );
    request.end(body);
  });
}

/** The host of an address without the brackets of IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.replaceAll(/^\[|\]$/gu, "");
}

/** Lets a short answer end, and cuts a long one off. */
function leaveUnread(response: IncomingMessage): void {
  let bytes = 0;
  response.on("error", () => {});
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MOST_ANSWER_BYTES) response.destroy();
  });
}

function outcomeOf({ statusCode: status = 0, headers }: IncomingMessage): SendOutcome {
  if (status >= 200 && status <= 299)
    return { status: "delivered", answer: `The receiver answered ${status}.` };
  if (status === 410)
    return { status: "gone", problem: "The receiver answered 410: it accepts no more messages." };
  if (status >= 300 && status <= 399)
    return failed(
      `The receiver answered ${status}: redirects are not followed. Use the address that it redirects to.`,
    );
  return failed(`The receiver answered ${status}.`, retryAfterMs(headers["retry-after"]));
}

function retryAfterMs(value: string | undefined): number | null {
  return value !== undefined && /^\d{1,6}$/u.test(value.trim()) ? Number(value) * 1000 : null;
}

function silence(timeoutMs: number): string {
  return `The receiver did not answer within ${timeoutMs / 1000} s.`;
}

function refusedAddress(host: string): string {
  return `${host} is not a public https address; the operator of this service can allow its network.`;
}

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOTFOUND: "has no address: check its name.",
  EAI_AGAIN: "could not be looked up.",
  ECONNREFUSED: "refused the connection.",
  ECONNRESET: "closed the connection without an answer.",
  EPIPE: "closed the connection without an answer.",
  EHOSTUNREACH: "could not be reached.",
  ENETUNREACH: "could not be reached.",
  ETIMEDOUT: "could not be reached.",
};

function sentenceOf(error: Error & { code?: string }, { hostname }: URL): string {
  if (error instanceof AddressRefused) return refusedAddress(hostname);
  const code = error.code ?? "";
  const known = PROBLEMS[code];
  if (known !== undefined) return `${hostname} ${known}`;
  if (/CERT|TLS|SSL|SIGNATURE/u.test(code))
    return `The certificate of ${hostname} is not accepted (${code}).`;
  return `${hostname} could not be reached (${code === "" ? error.message : code}).`;
}
