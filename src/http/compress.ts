import { pipeline, Readable } from "node:stream";
import { createGzip, gzip } from "node:zlib";
import type { FastifyInstance } from "fastify";

/** Shorter bodies fit into one packet either way. */
const SHORTEST_BYTES = 1024;
const COMPRESSIBLE = /^(?:text\/|application\/json|image\/svg)/u;
const ACCEPTS_GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/iu;

/**
 * Compresses text for clients that accept gzip, including streams. Encoded responses are unchanged, and so are pages that answer a
 * form: they may show a secret, which the compressed size could reveal (BREACH). docs/security.md explains why no other does.
 */
export function compressAnswers(server: FastifyInstance): void {
  server.addHook("onSend", (request, reply, payload: unknown, done) => {
    const type = String(reply.getHeader("Content-Type"));
    const isOfForm = request.method === "POST" && type.startsWith("text/html");
    const isText = typeof payload === "string" || Buffer.isBuffer(payload);
    const isLong = payload instanceof Readable || (isText && Buffer.byteLength(payload) >= SHORTEST_BYTES);
    const isFit = isLong && !isOfForm && !reply.hasHeader("Content-Encoding") && COMPRESSIBLE.test(type);
    if (isFit) reply.header("Vary", [reply.getHeader("Vary") ?? [], "Accept-Encoding"].flat().join(", "));
    const isPacked = isFit && ACCEPTS_GZIP.test(request.headers["accept-encoding"] ?? "");
    if (isPacked) reply.header("Content-Encoding", "gzip").removeHeader("Content-Length");
    if (!isPacked) done(null, payload);
    else if (isText) gzip(payload, done);
    // A failed stream closes the connection, so that a partial file never looks complete.
    else
      done(
        null,
        pipeline(payload, createGzip(), () => {}),
      );
  });
}
