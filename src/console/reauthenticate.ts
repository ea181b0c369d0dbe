import { NO_PASSKEYS_HERE } from "../actions/account/actions.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { noteRefusal } from "../http/request-log.ts";
import type { Proof } from "../access/identity.ts";
import { html } from "../lib/html.ts";
import type { Html } from "../lib/html.ts";
import { isConsolePath } from "./console-path.ts";
import type { SessionContext, RouteHandler, Routes, Visitor } from "./session-context.ts";
import { attempt, passkeySiteOf, secretOf, sendProblem, showOwn, showState } from "./session-context.ts";
import { TOO_MANY, whyRefused } from "./session-pages.ts";
import { formOf } from "./form-scope.ts";
import { createMinuteLimit } from "./minute-limit.ts";
import type { MinuteLimit } from "./minute-limit.ts";
import { HOW_TO_GET_A_LINK, passkeyForm } from "./passkey-form.ts";

/** Of one person: those that failed, and questions. */
const MOST_PROOFS_PER_MINUTE = 30;
const PROVED = "You have confirmed your identity. The confirmation lasts 10 minutes.";

/** Where somebody who is signed in proves again who they are; it leads back to the page that asked for it. */
export function reauthenticateRoutes(context: SessionContext): Routes {
  const answers = createMinuteLimit(MOST_PROOFS_PER_MINUTE);
  const questions = createMinuteLimit(MOST_PROOFS_PER_MINUTE);
  return {
    "/prove": {
      get: async (request, reply) => {
        const visitor = await context.signedIn(request);
        const next = new URL(request.raw.url ?? "", "http://localhost").searchParams.get("next") ?? "";
        return visitor === null
          ? context.toSignIn(request, reply)
          : show(context, { request, reply, visitor, next });
      },
      post: createReauthenticate(context, answers),
    },
    "/prove/options": {
      post: async (request, reply) => {
        const visitor = await context.signedIn(request);
        const passkeySite = passkeySiteOf(request, context.site);
        if (visitor === null) return sendProblem(request, reply, 403, "You are no longer signed in.");
        if (passkeySite === null) return sendProblem(request, reply, 403, NO_PASSKEYS_HERE);
        const { userId } = visitor.person;
        if (!questions(userId, context.now())) return showState(reply, TOO_MANY);
        return reply.send(await context.identity.signatureFor(userId, passkeySite));
      },
    },
  };
}

function createReauthenticate(context: SessionContext, limit: MinuteLimit): RouteHandler {
  return async (request, reply) => {
    const visitor = await context.signedIn(request);
    if (visitor === null) return context.toSignIn(request, reply);
    const fields = formOf(request);
    const next = fields.get("next") ?? "";
    const proof = await prove(context, limit, request, visitor);
    if (proof === null) return showState(reply, TOO_MANY);
    if (proof.outcome === "signed_out") return context.toSignIn(request, reply);
    if (proof.outcome !== "proved") {
      noteRefusal(request, `proof: ${proof.outcome}`);
      return show(context, { request, reply, visitor, next, problem: whyRefused(proof.outcome) });
    }
    request.log.info("confirmed their identity");
    reply.header("Set-Cookie", context.writeSession(proof.session));
    reply.header("Set-Cookie", context.done.write(PROVED));
    return reply.redirect(isConsolePath(next) ? next : "/", 303);
  };
}

/** null = too many of the person's proofs have failed. */
async function prove(
  context: SessionContext,
  limit: MinuteLimit,
  request: FastifyRequest,
  visitor: Visitor,
): Promise<Proof | null> {
  const { identity, site } = context;
  const { userId } = visitor.person;
  const proof = { userId, sessionHash: visitor.sessionHash, origin: request.clientAddress };
  const asked = {
    request,
    key: userId,
    now: context.now(),
    hasFailed: ({ outcome }: Proof): boolean => outcome !== "proved",
  };
  const passkeySite = passkeySiteOf(request, site);
  if (await takesLink(context, request, userId)) {
    const secret = secretOf(request);
    const canSucceed = () => identity.knowsLink(secret);
    return attempt(limit, {
      ...asked,
      canSucceed,
      make: (recordsRefusals) => identity.proveByLink({ ...proof, secret, recordsRefusals }),
    });
  }
  if (passkeySite === null) return { outcome: "rejected" };
  const answer = { credential: formOf(request).get("credential") ?? "", site: passkeySite };
  const canSucceed = () => identity.knowsPasskey({ ...answer, userId });
  return attempt(limit, {
    ...asked,
    canSucceed,
    make: (recordsRefusals) => identity.proveByPasskey({ ...proof, ...answer, recordsRefusals }),
  });
}

/** A link proves on this machine alone, and only for who has no passkey. */
async function takesLink(
  { identity, site }: SessionContext,
  request: FastifyRequest,
  userId: string,
): Promise<boolean> {
  if (site.publicOrigin !== null) return false;
  const passkeySite = passkeySiteOf(request, site) ?? { rpId: "localhost", origin: "" };
  return !(await identity.hasPasskey(userId, passkeySite));
}

type Shown = {
  request: FastifyRequest;
  reply: FastifyReply;
  visitor: Visitor;
  next: string;
  problem?: string;
};

async function show(
  context: SessionContext,
  { request, reply, visitor, next, problem }: Shown,
): Promise<FastifyReply> {
  const { userId, name: userName } = visitor.person;
  const goesOn = html`<input type="hidden" name="next" value="${next}" />`;
  const form = (await takesLink(context, request, userId))
    ? linkForm(goesOn)
    : passkeyForm({ action: "/prove", kind: "get", button: "Confirm with a passkey", fields: goesOn });
  const title = "Confirm your identity";
  const body = html`<article class="state">
    <h1>${title}</h1>
    ${problem !== undefined && html`<p class="banner refused" role="alert">${problem}</p>`}
    <p>You are signed in as ${userName}. Confirm your identity to change who has access. A confirmation lasts 10 minutes.</p>
    ${form}
    <p><a href="${isConsolePath(next) ? next : "/"}">Go back without confirming</a></p>
  </article>`;
  return showOwn(context, request, reply, {
    status: problem === undefined ? 200 : 403,
    title,
    body,
    userName,
  });
}

function linkForm(goesOn: Html): Html {
  return html`${HOW_TO_GET_A_LINK}
    <form method="post" action="/prove">
      ${goesOn}
      <p class="field">
        <label for="secret">Paste the link here instead of opening it</label>
        <input id="secret" name="secret" autocomplete="off" spellcheck="false" required />
      </p>
      <button>Confirm</button>
    </form>`;
}
