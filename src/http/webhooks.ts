import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { sendError, sendRefusal } from "./answer.ts";
import type { Surface } from "./server.ts";

/** A delivery as it arrived. Header names are in lower case; the body is what a signature is over. */
export type ReceivedWebhook = { headers: Readonly<Record<string, string>>; body: Buffer };

/** Taken, or refused with one sentence. */
export type WebhookReply = { status: 200 } | { status: 400 | 401 | 404; message: string };

const PATH = "/webhooks/shopify";
/** Orders of many lines are large; no other request is. */
const BODY_LIMIT_BYTES = 8 * 1_048_576;

const CODES = { 400: "invalid_request", 401: "unauthorized", 404: "not_found" } as const;

/** Where the store platform tells of changes: one path for every shop and topic. */
export function createWebhookSurface(receive: (webhook: ReceivedWebhook) => Promise<WebhookReply>): Surface {
  return {
    path: PATH,
    allowedMethods: "POST",
    register: (server: FastifyInstance): void => {
      // A context of its own: a signature is over the bytes, so that nothing may parse them first.
      void server.register(async (scope) => {
        scope.removeAllContentTypeParsers();
        scope.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
        scope.setErrorHandler(sendError);
        scope.post(PATH, { bodyLimit: BODY_LIMIT_BYTES }, async (request, reply) =>
          answer(reply, await receive(readWebhook(request))),
        );
      });
    },
  };
}

function readWebhook(request: FastifyRequest): ReceivedWebhook {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === "string") headers[name] = value;
  }
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  return { headers, body };
}

function answer(reply: FastifyReply, taken: WebhookReply): FastifyReply {
  if (taken.status === 200) return reply.code(200).send();
  return sendRefusal(reply, CODES[taken.status], taken.message);
}
