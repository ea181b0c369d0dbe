import { once } from "node:events";
import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type BlockList } from "node:net";
import { readAtMost } from "../../lib/read-at-most.ts";
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

/** `why`: turns an error while reading the answer into a sentence. */
type Answered = { response: IncomingMessage; why: (error: unknown) => string };

/** Sends over a separate connection, only to allowed addresses. Never throws; `problem`: a sentence. */
async function ask(
  target: URL,
  { allowedNetworks, resolve, timeoutMs }: PostOptions,
  { method, headers, body }: { method: "GET" | "POST"; headers: Record<string, string>; body?: string },
): Promise<Answered | { problem: string }> {
  const route: Route = { protocol: target.protocol, allowed: allowedNetworks };
  const address = hostOf(target);
  // A literal address is not looked up.
  if (isIP(address) !== 0 && !isAllowed(address, route)) return { problem: refusedAddress(address) };
  const send = target.protocol === "https:" ? requestHttps : requestHttp;
  const signal = AbortSignal.timeout(timeoutMs);
  const why = (error: unknown): string =>
    signal.aborted ? silence(timeoutMs) : sentenceOf(error as Error, target);
  const guarded = { agent: false, lookup: guardedLookup(resolve, route), maxHeaderSize: MOST_HEADER_BYTES };
  const named = { "user-agent": `returns-analytics/${VERSION}`, ...headers };
  const request = send(target, { ...guarded, method, signal, headers: named });
  // Once there is an answer, errors are emitted by it.
  request.on("error", () => {}).end(body);
  try {
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return { response, why };
  } catch (error) {
    return { problem: why(error) };
  }
}

/** Reads a short JSON document, with the same guards as for a message. Never throws; `problem`: a sentence. */
export async function fetchJson(
  url: string,
  mostBytes: number,
  options: PostOptions,
): Promise<{ value: unknown } | { problem: string }> {
  const target = new URL(url);
  const answered = await ask(target, options, { method: "GET", headers: { accept: "application/json" } });
  if ("problem" in answered) return answered;
  const { response, why } = answered;
  try {
    if (response.statusCode !== 200) return { problem: `${target.host} answered ${response.statusCode}.` };
    const bytes = await readAtMost(response as AsyncIterable<Buffer>, mostBytes);
    if (bytes === null) return { problem: `${target.host} answered more than ${mostBytes} bytes.` };
    return { value: JSON.parse(bytes.toString()) as unknown };
  } catch (error) {
    return { problem: error instanceof SyntaxError ? `${target.host} did not answer JSON.` : why(error) };
  } finally {
    response.destroy();
  }
}

/**
 * Sends one message over a separate connection, only to allowed addresses. Redirects are not followed; only the status matters.
 * Never throws.
 */
export async function post({ url, headers, body }: Post, options: PostOptions): Promise<SendOutcome> {
  const length = String(Buffer.byteLength(body));
  const about = { "content-type": "application/json", "content-length": length, ...headers };
  const answered = await ask(new URL(url), options, { method: "POST", headers: about, body });
  if ("problem" in answered) return failed(answered.problem);
  leaveUnread(answered.response);
  return outcomeOf(answered.response);
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
