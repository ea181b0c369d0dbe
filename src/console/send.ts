import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { html, renderHtml } from "../lib/html.ts";
import type { Html } from "../lib/html.ts";
import { layout } from "./layout.ts";
import type { Frame } from "./layout.ts";
import type { StatePage } from "./state-page.ts";

const compress = promisify(gzip);

export function acceptsGzip({ headers }: FastifyRequest): boolean {
  return /\bgzip\b/u.test(headers["accept-encoding"] ?? "");
}

/** Sends a whole page, compressed for browsers unless it shows a secret, of which its size would say something. */
export async function sendHtml(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  page: Html,
  isSecret = false,
): Promise<FastifyReply> {
  const text = renderHtml(page);
  reply.code(status).type("text/html; charset=utf-8").header("Vary", "Accept-Encoding");
  if (isSecret || !acceptsGzip(request)) return reply.send(text);
  return reply.header("Content-Encoding", "gzip").send(await compress(text));
}

/** A state page in its frame, and in the headers when to come back. */
export function stateMarkup(
  reply: FastifyReply,
  { title, body, retryAfterSeconds }: StatePage,
  frame: Pick<Frame, "scripts" | "userName" | "workspace">,
): Html {
  if (retryAfterSeconds !== undefined) reply.header("Retry-After", String(retryAfterSeconds));
  const article = html`<article class="state">${body}</article>`;
  return layout({ ...frame, title, above: null, body: article, below: null });
}
