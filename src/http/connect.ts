import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { html, renderHtml } from "../lib/html.ts";
import type { Html } from "../lib/html.ts";
import { newBrowser } from "./cookie.ts";
import type { BrowserCookie } from "./cookie.ts";
import type { RouteGroup } from "./server.ts";

/** Where the merchant's browser goes next, or one sentence that it shows. */
export type ConnectReply = { location: string } | ConnectPage;

type ConnectPage = {
  status: 200 | 400 | 401 | 404 | 409 | 502;
  title: string;
  message: string;
  /** A page of this service to go on to. */
  next?: { href: string; text: string };
};

export type ConnectHandlers = {
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

/** The two pages of an installation. They answer GET alone: a HEAD would use up what may be used once. */
export function createConnectRoutes(handlers: ConnectHandlers, cookie: BrowserCookie): RouteGroup[] {
  return [
    createPage("/connect/shopify", async (request, reply) => {
      const browser = cookie.read(request.headers.cookie) ?? newBrowser();
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
