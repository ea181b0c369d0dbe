import type { FastifyReply } from "fastify";
import { html, renderHtml, type Html } from "../lib/html.ts";
import { layout, type Frame } from "./layout.ts";
import type { StatePage } from "./state-page.ts";

/** Sends a whole page. */
export function sendHtml(reply: FastifyReply, status: number, page: Html): FastifyReply {
  return reply.code(status).type("text/html; charset=utf-8").send(renderHtml(page));
}

/** A state page in its frame, and in the headers when to come back. */
export function stateMarkup(
  reply: FastifyReply,
  { title, body, retryAfterSeconds }: StatePage,
  frame: Pick<Frame, "scripts" | "userName" | "workspace">,
): Html {
  if (retryAfterSeconds !== undefined) reply.header("Retry-After", String(retryAfterSeconds));
  const article = html`<article class="state">${body}</article>`;
  return layout({ ...frame, title, body: article });
}
