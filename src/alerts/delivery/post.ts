import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type BlockList } from "node:net";
import { VERSION } from "../../lib/version.ts";
import { AddressRefused, guardedLookup, isAllowed, type Resolve, type Route } from "./networks.ts";
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

/**
 * Sends one message over a separate connection, only to allowed addresses. Redirects are not followed; only the status matters.
 * Never throws.
 */
export async function post({ url, headers, body }: Post, options: PostOptions): Promise<SendOutcome> {
  const { allowedNetworks, resolve, timeoutMs } = options;
  const target = new URL(url);
  const route: Route = { protocol: target.protocol, allowed: allowedNetworks };
  const address = hostOf(target);
  // A literal address is not looked up.
  if (isIP(address) !== 0 && !isAllowed(address, route)) return failed(refusedAddress(address));
  const send = target.protocol === "https:" ? requestHttps : requestHttp;
  return new Promise((done) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const request = send(target, {
      method: "POST",
      agent: false,
      lookup: guardedLookup(resolve, route),
      maxHeaderSize: MOST_HEADER_BYTES,
      signal,
      headers: {
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(body)),
        "user-agent": `returns-analytics/${VERSION}`,
        ...headers,
      },
    });
    request.on("response", (response) => {
      leaveUnread(response);
      done(outcomeOf(response));
    });
    request.on("error", (error) =>
      done(failed(signal.aborted ? silence(timeoutMs) : sentenceOf(error, target))),
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
