import type { FastifyRequest } from "fastify";
import { showState, type Routes, type SessionContext } from "../../console/session-context.ts";
import { statePage, type StatePage } from "../../console/state-page.ts";
import { html } from "../../lib/html.ts";
import { keyFor } from "../../lib/keys.ts";
import { userName } from "../../lib/user-name.ts";
import { runAction } from "../action.ts";
import type { Actor } from "../actor.ts";
import { textInput } from "../field.ts";
import { Refusal } from "../refusal.ts";
import { requireWorkspace } from "../workspace/workspace.ts";
import { confirmDigest, SENT_AT, stopDigest, DIGEST_PATH, readDigestLink } from "./actions.ts";
import type { DigestLink } from "./actions.ts";
import { findReader } from "./queries.ts";

const NOTHING: StatePage = statePage(
  404,
  "This link does not work",
  html`<p>
      It is incomplete, or the membership that it was created for has ended, so no digest is sent. The weekly digest is
      turned on and off in the settings of a workspace, under “Your notices”.
    </p>
    <p><a href="/">Open the console</a></p>`,
);

/**
 * The pages behind the links of its mails, without sign-in. A GET, as mail scanners send, changes nothing; a POST performs the
 * signed purpose, also from a mail program, which sends no Origin (RFC 8058).
 */
export function digestRoutes({ control, now }: SessionContext): Routes {
  const key = keyFor("digests", control.keys);
  const find = async (request: FastifyRequest) => {
    const address = new URLSearchParams(request.raw.url?.split("?")[1]).get("link") ?? "";
    const link = readDigestLink(key, address);
    const workspace = link === null ? null : await findReader(control.database, link.shopKey, link.userId);
    return link === null || workspace === null ? null : { link, workspace, address };
  };
  return {
    [DIGEST_PATH]: {
      isOpen: true,
      get: async (request, reply) => {
        const found = await find(request);
        if (found === null) return showState(reply, NOTHING);
        return showState(reply, question(found.link, found.workspace.workspace_name, found.address));
      },
      post: async (request, reply) => {
        const found = await find(request);
        if (found === null) return showState(reply, NOTHING);
        const { userId, askedAt, purpose } = found.link;
        const actor: Actor = {
          name: userName(userId),
          origin: request.clientAddress,
          standing: "viewer",
          isFresh: false,
          session: null,
        };
        const workspace = await requireWorkspace(control.database, found.workspace.shop_domain);
        const caller = { ...control, actor, workspace, now: now() };
        try {
          const { done } =
            purpose === "stop"
              ? await runAction(stopDigest, caller, textInput({}))
              : await runAction(confirmDigest, caller, textInput({ asked: String(askedAt) }));
          return await showState(reply, ended(200, "Weekly digest", done));
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          return showState(reply, ended(409, "Nothing was changed", error.message));
        }
      },
    },
  };
}

function question({ purpose }: DigestLink, name: string, link: string): StatePage {
  const { title } = purpose === "stop" ? stopDigest : confirmDigest;
  const text =
    purpose === "stop"
      ? `You will receive no more digests of ${name}. You can turn the digest on again in the settings.`
      : `The digest of ${name} will be sent to you on ${SENT_AT}. Each digest has a link that stops it.`;
  return {
    status: 200,
    title: "Weekly digest",
    body: html`<h1>Weekly digest of ${name}</h1>
      <p>${text}</p>
      <form method="post" action="${DIGEST_PATH}?link=${link}">
        <button>${title}</button>
      </form>`,
  };
}

function ended(status: number, title: string, text: string): StatePage {
  const next = html`<p role="status">${text}</p>
    <p><a href="/">Open the console</a></p>`;
  return statePage(status, title, next);
}
