import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ErrorCode } from "../contract/errors.ts";
import { sendError, sendRefusal } from "./answer.ts";
import { noteRefusal } from "./request-log.ts";
import type { Surface } from "./server.ts";

/** A delivery as it arrived. Header names are in lower case; the body is what a signature is over. */
export type ReceivedWebhook = { headers: Readonly<Record<string, string>>; body: Buffer };

/** Taken, or refused with one sentence. A 503 is sent again by the platform. */
export type WebhookReply = { status: 200 } | { status: 400 | 401 | 404 | 503; message: string };

const PATH = "/webhooks/shopify";
/** Deliveries name records and hold little else. */
const BODY_LIMIT_BYTES = 1_048_576;
/** Deliveries wait in memory for one of a few database connections. */
const INTAKE = { requests: 64, bytes: 8 * BODY_LIMIT_BYTES };
/** The platform itself gives up after five seconds. */
const BODY_TIMEOUT_MS = 10_000;
const RETRY_AFTER_SECONDS = 10;
/** An HMAC-SHA-256 in base64. */
const SIGNATURE = /^[A-Za-z0-9+/]{43}=$/u;
const NOT_SIGNED = "The signature of this delivery is not that of the app.";

const CODES = {
  400: "invalid_request",
  401: "unauthorized",
  404: "not_found",
  503: "internal_error",
} as const;

/** The store platform's webhooks: one path for every shop and topic. `onRefused` gets each refusal's status. */
export function createWebhookSurface(
  receive: (webhook: ReceivedWebhook) => Promise<WebhookReply>,
  onRefused: (status: number) => void,
): Surface {
  const intake = openIntake();
  return {
    path: PATH,
    allowedMethods: "POST",
    register: (server: FastifyInstance): void => {
      // A context of its own: a signature is over the bytes, so that nothing may parse them first.
      void server.register(async (scope) => {
        scope.removeAllContentTypeParsers();
        scope.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
        scope.setErrorHandler(sendError);
        scope.addHook("onResponse", (_request, reply, done) => {
          if (reply.statusCode >= 400) onRefused(reply.statusCode);
          done();
        });
        scope.addHook("onRequest", (request, reply, done) => {
          if (beginReading(request, reply, intake)) done();
        });
        scope.post(PATH, { bodyLimit: BODY_LIMIT_BYTES }, async (request, reply) =>
          answer(request, reply, await receive(readWebhook(request))),
        );
      });
    },
  };
}

/** Takes a place for a request and its bytes; null = there is none. What it returns gives the place back, once. */
type Intake = (bytes: number) => (() => void) | null;

function openIntake(): Intake {
  let requests = 0;
  let takenBytes = 0;
  return (bytes) => {
    if (requests >= INTAKE.requests || takenBytes + bytes > INTAKE.bytes) return null;
    requests += 1;
    takenBytes += bytes;
    return () => {
      requests -= 1;
      takenBytes -= bytes;
    };
  };
}

/** Whether the body may be read; false = it was refused unread. The place is free again after the answer. */
function beginReading(request: FastifyRequest, reply: FastifyReply, intake: Intake): boolean {
  const { "x-shopify-hmac-sha256": signature, "content-length": length } = request.headers;
  const bytes = length === undefined ? BODY_LIMIT_BYTES : Number(length);
  const refuse = (code: ErrorCode, message: string, status: number): false => {
    noteRefusal(request, message);
    // The server then leaves the body unread (unread-body.ts).
    sendRefusal(reply.header("Connection", "close"), code, message, status);
    return false;
  };
  if (typeof signature !== "string" || !SIGNATURE.test(signature))
    return refuse("unauthorized", NOT_SIGNED, 401);
  if (bytes > BODY_LIMIT_BYTES) return refuse("invalid_request", "The request body is too large.", 413);
  const release = intake(bytes);
  if (release === null) {
    reply.header("Retry-After", String(RETRY_AFTER_SECONDS));
    return refuse("rate_limited", "Too many deliveries at once: send this one again later.", 429);
  }
  const deadline = setTimeout(() => request.raw.socket.destroy(), BODY_TIMEOUT_MS);
  request.raw.once("end", () => clearTimeout(deadline));
  reply.raw.once("close", () => {
    clearTimeout(deadline);
    release();
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

function answer(request: FastifyRequest, reply: FastifyReply, taken: WebhookReply): FastifyReply {
  if (taken.status === 200) return reply.code(200).send();
  if (taken.status === 503) reply.header("Retry-After", String(RETRY_AFTER_SECONDS));
  noteRefusal(request, taken.message);
  return sendRefusal(reply, CODES[taken.status], taken.message, taken.status);
}
