import { pipeline, Readable } from "node:stream";
import { createGzip, gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply } from "fastify";

/** Shorter bodies fit into one packet either way. */
const SHORTEST_BYTES = 1024;
const COMPRESSIBLE = /^(?:text\/|application\/json|image\/svg)/u;
const ACCEPTS_GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/iu;

/** Sends this answer uncompressed: it shows a secret, which the compressed size could reveal (BREACH). */
export function withoutCompression(reply: FastifyReply): FastifyReply {
  return reply.header("Content-Encoding", "identity");
}

/**
 * Compresses text for clients that accept gzip, including streams. Encoded responses are unchanged. docs/security.md explains why
 * the size of no answer reveals a secret.
 */
export function compressAnswers(server: FastifyInstance): void {
  server.addHook("onSend", (request, reply, payload: unknown, done) => {
    const encoding = reply.getHeader("Content-Encoding");
    if (encoding === "identity") reply.removeHeader("Content-Encoding");
    const isText = typeof payload === "string" || Buffer.isBuffer(payload);
    const isLong = payload instanceof Readable || (isText && Buffer.byteLength(payload) >= SHORTEST_BYTES);
    const isFit =
      encoding === undefined && isLong && COMPRESSIBLE.test(String(reply.getHeader("Content-Type")));
    if (isFit) reply.header("Vary", [reply.getHeader("Vary") ?? [], "Accept-Encoding"].flat().join(", "));
    if (!isFit || !ACCEPTS_GZIP.test(request.headers["accept-encoding"] ?? "")) {
      done(null, payload);
      return;
    }
    reply.header("Content-Encoding", "gzip").removeHeader("Content-Length");
    if (isText) gzip(payload, done);
    // A failed stream closes the connection, so that a partial file never looks complete.
    else
      done(
        null,
        pipeline(payload, createGzip(), () => {}),
      );
  });
}
