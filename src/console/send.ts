import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { renderHtml } from "../lib/html.ts";
import type { Html } from "../lib/html.ts";

const compress = promisify(gzip);

export function acceptsGzip({ headers }: FastifyRequest): boolean {
  return /\bgzip\b/u.test(headers["accept-encoding"] ?? "");
}

/** Sends a whole page, compressed for browsers. */
export async function sendHtml(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  page: Html,
): Promise<FastifyReply> {
  const text = renderHtml(page);
  reply.code(status).type("text/html; charset=utf-8").header("Vary", "Accept-Encoding");
  if (!acceptsGzip(request)) return reply.send(text);
  return reply.header("Content-Encoding", "gzip").send(await compress(text));
}
