import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ErrorCode } from "../contract/errors.ts";
import { sendError, sendRefusal } from "./answer.ts";
import { noteRefusal } from "./request-log.ts";
import type { RouteGroup } from "./server.ts";
import { createHash } from "node:crypto";
import { html, renderHtml, type Html } from "../lib/html.ts";
import { hashSecret, newSecret } from "../access/secret.ts";
import { createCookie } from "./cookie.ts";

/** A delivery as received. Header names are in lower case; the signature covers the body. */
type ReceivedWebhook = { headers: Readonly<Record<string, string>>; body: Buffer };

/** Taken, or refused with one sentence. A 503 is sent again by the platform. */
type WebhookReply = { status: 200 } | { status: 400 | 401 | 404 | 503; message: string };

/** Deliveries name records and hold little else. */
const BODY_LIMIT_BYTES = 1_048_576;
/** Deliveries wait in memory for one of a few database connections. */
const INTAKE = { requests: 64, bytes: 8 * BODY_LIMIT_BYTES };
/** The platform itself times out after five seconds. */
const BODY_TIMEOUT_MS = 10_000;
/** It sends a body at once, whose packets may get lost. */
const BODY_PAUSE_MS = 2000;
/** The throughput of a slow sender with a round trip of half a second. */
const SLOW_BYTES_PER_MS = 64;
const MOST_AHEAD_MS = 500;
const RETRY_AFTER_SECONDS = 10;
/** An HMAC-SHA-256 in base64. */
const SIGNATURE = /^[A-Za-z0-9+/]{43}=$/u;
/** What WooCommerce sends, unsigned, when a webhook is added: "webhook_id=12". */
const PING = { type: /^application\/x-www-form-urlencoded/u, bytes: 64 };

const CODES = {
  400: "invalid_request",
  401: "unauthorized",
  404: "not_found",
  503: "internal_error",
} as const;

/** One path for every shop and topic of a store platform. */
type WebhookPlace = {
  path: string;
  /** The header, in lower case, of an HMAC-SHA-256 in base64. */
  signatureHeader: string;
  notSigned: string;
};

/** The webhooks of a store platform. `onRefused` gets each refusal's status. */
export function createWebhookRoute(
  place: WebhookPlace,
  receive: (webhook: ReceivedWebhook) => Promise<WebhookReply>,
  onRefused: (status: number) => void,
): RouteGroup {
  const intake = openIntake();
  return {
    path: place.path,
    allowedMethods: "POST",
    register: (server: FastifyInstance): void => {
      // A separate context: a signature covers the raw bytes, so they must not be parsed first.
      void server.register(async (scope) => {
        scope.removeAllContentTypeParsers();
        scope.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
        scope.setErrorHandler(sendError);
        scope.addHook("onResponse", (_request, reply, done) => {
          if (reply.statusCode >= 400) onRefused(reply.statusCode);
          done();
        });
        // The hook right before the body is read: listening to it sets it going.
        scope.addHook("preParsing", (request, reply, payload, done) => {
          if (beginReading(request, reply, intake, place)) done(null, payload);
        });
        scope.post(place.path, { bodyLimit: BODY_LIMIT_BYTES }, async (request, reply) =>
          sendWebhookReply(request, reply, await receive(readWebhook(request))),
        );
      });
    },
  };
}

/** A delivery from its head to its answer. */
type Place = {
  socket: Socket;
  bytes: number;
  /** Its bytes have extended its time until then: of those that still arrive, the one that is furthest behind is the slowest. */
  paidUntilMs: number;
  isArriving: boolean;
};

type Intake = {
  /** null = every place is taken by a delivery that has arrived. */
  enter: (socket: Socket) => Place | null;
  charge: (place: Place, bytes: number) => void;
  leave: (place: Place) => void;
};

/**
 * The deliveries held in memory. Anybody can begin one, because a signature is checked at the end of the body: so bytes count as
 * they arrive, and if there is no room the slowest delivery is ended.
 */
function openIntake(): Intake {
  const places = new Set<Place>();
  let takenBytes = 0;
  const leave = (place: Place): void => {
    if (places.delete(place)) takenBytes -= place.bytes;
  };
  const endSlowest = (): boolean => {
    let slowest: Place | null = null;
    for (const place of places) {
      if (place.isArriving && place.paidUntilMs < (slowest?.paidUntilMs ?? Infinity)) slowest = place;
    }
    if (slowest === null) return false;
    leave(slowest);
    slowest.socket.destroy();
    return true;
  };
  const isFull = (): boolean => places.size >= INTAKE.requests || takenBytes >= INTAKE.bytes;
  return {
    enter: (socket) => {
      if (isFull() && !endSlowest()) return null;
      const place = { socket, bytes: 0, paidUntilMs: performance.now(), isArriving: true };
      places.add(place);
      return place;
    },
    charge: (place, bytes) => {
      if (!places.has(place)) return;
      place.bytes += bytes;
      takenBytes += bytes;
      const paidUntilMs = place.paidUntilMs + bytes / SLOW_BYTES_PER_MS;
      place.paidUntilMs = Math.min(paidUntilMs, performance.now() + MOST_AHEAD_MS);
      while (takenBytes > INTAKE.bytes && endSlowest());
    },
    leave,
  };
}

/** Whether the body may be read; false = it was refused unread. The place is free again after the answer. */
function beginReading(
  request: FastifyRequest,
  reply: FastifyReply,
  intake: Intake,
  { signatureHeader, notSigned }: WebhookPlace,
): boolean {
  const {
    [signatureHeader]: signature,
    "content-length": length,
    "content-type": type = "",
  } = request.headers;
  const { raw } = request;
  const refuse = (code: ErrorCode, message: string, status: number): false => {
    noteRefusal(request, message);
    // The server then leaves the body unread (unread-body.ts).
    sendRefusal(reply.header("Connection", "close"), code, message, status);
    return false;
  };
  if (signature === undefined && PING.type.test(type) && Number(length ?? Infinity) <= PING.bytes) {
    void reply.code(200).header("Connection", "close").send();
    return false;
  }
  if (typeof signature !== "string" || !SIGNATURE.test(signature))
    return refuse("unauthorized", notSigned, 401);
  if (Number(length ?? 0) > BODY_LIMIT_BYTES)
    return refuse("invalid_request", "The request body is too large.", 413);
  const place = intake.enter(raw.socket);
  if (place === null) {
    reply.header("Retry-After", String(RETRY_AFTER_SECONDS));
    return refuse("rate_limited", "Too many deliveries at once: send this one again later.", 429);
  }
  const [deadline, pause] = [BODY_TIMEOUT_MS, BODY_PAUSE_MS].map((milliseconds) =>
    setTimeout(() => raw.socket.destroy(), milliseconds),
  );
  const stopWaiting = (): void => {
    place.isArriving = false;
    clearTimeout(deadline);
    clearTimeout(pause);
  };
  raw.on("data", (chunk: Buffer) => {
    pause?.refresh();
    intake.charge(place, chunk.length);
  });
  raw.once("end", stopWaiting);
  reply.raw.once("close", () => {
    stopWaiting();
    intake.leave(place);
  });
  return true;
}

function readWebhook(request: FastifyRequest): ReceivedWebhook {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === "string") headers[name] = value;
  }
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  return { headers, body };
}

function sendWebhookReply(request: FastifyRequest, reply: FastifyReply, taken: WebhookReply): FastifyReply {
  if (taken.status === 200) return reply.code(200).send();
  if (taken.status === 503) reply.header("Retry-After", String(RETRY_AFTER_SECONDS));
  noteRefusal(request, taken.message);
  return sendRefusal(reply, CODES[taken.status], taken.message, taken.status);
}

/** Where the merchant's browser goes next, or one sentence that it shows. */
type ConnectReply = { location: string } | ConnectPage;

type ConnectPage = {
  status: 200 | 400 | 401 | 404 | 409 | 502;
  title: string;
  message: string;
  /** A page of this service as the next step. */
  next?: { href: string; text: string };
};

type ConnectHandlers = {
  /** The app's address at the store platform, and the links that operators pass on; `browser` is the one that asks. */
  begin(query: URLSearchParams, browser: string): Promise<ConnectReply>;
  /** Where the platform sends the merchant back to; null = a browser in which nothing was begun. */
  finish(query: URLSearchParams, browser: string | null): Promise<ConnectReply>;
};

const STYLE = html`<style>body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:20vh auto 0;padding:0 1.5rem;color-scheme:light dark}h1{font-size:1.4rem;line-height:1.3}</style>`;
const STYLE_HASH = createHash("sha256")
  .update(renderHtml(STYLE).replaceAll(/<\/?style>/gu, ""))
  .digest("base64");

/** The page loads nothing and runs nothing; its address holds a code, which no other site is to learn. */
const PAGE_HEADERS = {
  "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "Referrer-Policy": "no-referrer",
} as const;

/** How long a merchant may take to approve. */
const APPROVAL_SECONDS = 600;

/** The two pages of an installation. They answer only GET: a HEAD would use up one-time values. */
export function createConnectRoutes(handlers: ConnectHandlers, isSecure: boolean): RouteGroup[] {
  const cookie = createCookie("returns-approval", isSecure, APPROVAL_SECONDS);
  return [
    createPage("/connect/shopify", async (request, reply) => {
      const kept = cookie.read(request.headers.cookie) ?? "";
      const browser = hashSecret(kept) === null ? newSecret().text : kept;
      const answer = await handlers.begin(queryOf(request), browser);
      if ("location" in answer) reply.header("Set-Cookie", cookie.write(browser));
      return answer;
    }),
    createPage("/connect/shopify/callback", (request) =>
      handlers.finish(queryOf(request), cookie.read(request.headers.cookie)),
    ),
  ];
}

function createPage(
  path: string,
  handle: (request: FastifyRequest, reply: FastifyReply) => Promise<ConnectReply>,
): RouteGroup {
  return {
    path,
    allowedMethods: "GET",
    register: (server: FastifyInstance): void => {
      server.get(path, { exposeHeadRoute: false }, async (request, reply) =>
        send(reply, await handle(request, reply)),
      );
    },
  };
}

function queryOf(request: FastifyRequest): URLSearchParams {
  return new URLSearchParams((request.raw.url ?? "").split("?").slice(1).join("?"));
}

function send(reply: FastifyReply, answer: ConnectReply): FastifyReply {
  reply.headers(PAGE_HEADERS);
  if ("location" in answer) return reply.redirect(answer.location, 302);
  return reply
    .code(answer.status)
    .type("text/html; charset=utf-8")
    .send(renderHtml(pageOf(answer)));
}

function pageOf({ title, message, next }: ConnectPage): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
${STYLE}
</head>
<body>
<main>
<h1>${title}</h1>
<p>${message}</p>
${next !== undefined && html`<p><a href="${next.href}">${next.text}</a></p>`}
</main>
</body>
</html>
`;
}
