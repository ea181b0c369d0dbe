import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../contract/errors.ts";

/** Each holds some 16 MB while it is taken in: its bytes, and a copy on the way to the database. */
const MOST_PARTS_AT_ONCE = 6;
const BYTES_TYPE = /^application\/octet-stream\b/iu;
const TOO_MANY_PARTS = new ApiError(
  "rate_limited",
  `${MOST_PARTS_AT_ONCE} parts of uploads are being taken in. Send this one again in a second.`,
  { retryAfterSeconds: 1 },
);

/**
 * Places of this process for bodies of bytes, asked for before a body is read and free once its request has ended. Throws
 * when all are taken.
 */
export function createPartPlaces(): (request: FastifyRequest, reply: FastifyReply) => void {
  let taken = 0;
  return ({ headers }, reply) => {
    if (!BYTES_TYPE.test(headers["content-type"] ?? "")) return;
    if (taken >= MOST_PARTS_AT_ONCE) throw TOO_MANY_PARTS;
    taken += 1;
    reply.raw.once("close", () => (taken -= 1));
  };
}
