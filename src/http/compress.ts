import { pipeline, Readable } from "node:stream";
import { createGzip, gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** What is shorter fits one packet either way. */
const SHORTEST_BYTES = 1024;
const COMPRESSIBLE = /^(?:text\/|application\/json|image\/svg)/u;
const ACCEPTS_GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/iu;

function acceptsGzip({ headers }: FastifyRequest): boolean {
  return ACCEPTS_GZIP.test(headers["accept-encoding"] ?? "");
}

/** Sends this answer as it is: it shows a secret, of which the compressed size would say something (BREACH). */
export function withoutCompression(reply: FastifyReply): FastifyReply {
  return reply.header("Content-Encoding", "identity");
}

/**
 * Compresses text for clients that accept gzip, streams included. What has an encoding already is left alone.
 * docs/security.md says why no answer gives anything away by its size.
 */
export function compressAnswers(server: FastifyInstance): void {
  server.addHook("onSend", (request, reply, payload: unknown, done) => {
    const encoding = reply.getHeader("Content-Encoding");
    if (encoding === "identity") reply.removeHeader("Content-Encoding");
    const isText = typeof payload === "string" || Buffer.isBuffer(payload);
    const isLong = payload instanceof Readable || (isText && Buffer.byteLength(payload) >= SHORTEST_BYTES);
    if (encoding !== undefined || !isLong || !COMPRESSIBLE.test(String(reply.getHeader("Content-Type")))) {
      done(null, payload);
      return;
    }
    reply.header("Vary", [reply.getHeader("Vary") ?? [], "Accept-Encoding"].flat().join(", "));
    if (!acceptsGzip(request)) {
      done(null, payload);
      return;
    }
    reply.header("Content-Encoding", "gzip").removeHeader("Content-Length");
    if (isText) gzip(payload, done);
    // A stream that fails ends the connection, so that a part never looks whole.
    else
      done(
        null,
        pipeline(payload, createGzip(), () => {}),
      );
  });
}
