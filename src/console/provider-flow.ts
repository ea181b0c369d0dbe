import type { FastifyReply } from "fastify";
import type { Flow } from "../access/provider.ts";
import { createCookie } from "../http/cookie.ts";
import { html } from "../lib/html.ts";
import { seal, unseal } from "../lib/seal.ts";
import { showState, type SessionContext } from "./session-context.ts";
import { refusedSignIn } from "./session-pages.ts";
import { statePage } from "./state-page.ts";

const LIFETIME_SECONDS = 600;

export type FlowCookie = ReturnType<typeof createFlowCookie>;

/** The cookie that binds a sign-in at the identity provider to the browser that started it; null: none, not ours, or too old. */
export function createFlowCookie(isSecure: boolean, key: Buffer) {
  const { read, write, clear } = createCookie("returns-provider", isSecure, LIFETIME_SECONDS);
  const context = "sign-in at the identity provider";
  return {
    read: (header: string | undefined, now: Date): Flow | null => {
      try {
        const flow = JSON.parse(unseal(key, context, Buffer.from(read(header) ?? "", "base64url"))) as Flow;
        return now.getTime() - flow.startedAt <= LIFETIME_SECONDS * 1000 ? flow : null;
      } catch {
        return null;
      }
    },
    write: (flow: Flow): string => write(seal(key, context, JSON.stringify(flow)).toString("base64url")),
    clear,
  };
}

/** Sends a browser to the identity provider, or says that the provider does not answer. */
export async function sendToProvider(
  { control: { provider }, flow, now, site }: SessionContext,
  reply: FastifyReply,
  started: Pick<Flow, "purpose" | "userId" | "next">,
): Promise<FastifyReply> {
  const begun = (await provider?.begin({ ...started, startedAt: now().getTime() })) ?? null;
  if (provider === null || begun === null)
    return showState(reply, refusedSignIn("down", site.publicOrigin !== null));
  reply.header("Set-Cookie", flow.write(begun.flow));
  return leave(reply, begun.url, provider.name);
}

/**
 * Sends a browser to another site after a form. A redirect would require that site in `form-action` of every page with the form,
 * and Chromium would check all further redirects against it.
 */
export function leave(reply: FastifyReply, url: string, name: string): FastifyReply {
  const title = `Continue to ${name}`;
  reply.header("Refresh", `0; url=${url}`);
  return showState(reply, statePage(200, title, html`<p><a href="${url}">${title}</a></p>`));
}
