import type { FastifyReply, FastifyRequest } from "fastify";
import type { Proof } from "../access/identity.ts";
import type { Browser, SignIn } from "../access/sign-in.ts";
import { NO_PASSKEYS_HERE } from "../actions/account/actions.ts";
import { clientKeyOf } from "../http/client-address.ts";
import { noteRefusal } from "../http/request-log.ts";
import { html, type Html } from "../lib/html.ts";
import { SENT, isConsolePath, type TargetCookie } from "./cookies.ts";
import { formOf } from "./form-scope.ts";
import { OFFER_PASSKEY } from "./layout.ts";
import { createMinuteLimit, type MinuteLimit } from "./minute-limit.ts";
import { ACTIONS } from "./registry.ts";
import { findByPath } from "./route.ts";
import {
  attempt,
  forVisitor,
  leadOn,
  passkeySiteOf,
  secretOf,
  sendProblem,
  showSignIn,
  showState,
  showOwn,
  type OwnRequest,
  type RouteHandler,
  type Routes,
  type SessionContext,
} from "./session-context.ts";
import { signInState, kindOfRefusal, refusedSignIn, TOO_MANY, whyRefused } from "./session-pages.ts";
import { HOW_TO_GET_A_LINK, passkeyForm } from "./views/form.ts";

/** Failed attempts per address. */
export const MOST_FAILURES_PER_MINUTE = 30;
const AFTER_RECOVERY =
  "Your earlier passkeys and linked accounts have been removed, and every other sign-in has ended.";

/**
 * The sign-in methods: a passkey, and one-time links, which over https only let their person create a passkey. A sign-in with a
 * passkey first requests its options.
 */
export function signInRoutes(context: SessionContext, target: TargetCookie): Routes {
  const { identity, site } = context;
  const isPublic = site.publicOrigin !== null;
  const answers = createMinuteLimit(MOST_FAILURES_PER_MINUTE);
  const finish = createFinish(context, target);
  const signIn = async (
    request: FastifyRequest,
    reply: FastifyReply,
    canSucceed: () => Promise<boolean>,
    make: (browser: Browser) => Promise<SignIn>,
  ): Promise<FastifyReply> => {
    const oldSessionHash = context.sessionHashOf(request);
    const browser = { oldSessionHash, origin: request.clientAddress };
    const result = await attemptOf(context, request, answers, canSucceed, (recordsRefusals) =>
      make({ ...browser, recordsRefusals }),
    );
    return result === null ? showState(reply, TOO_MANY) : finish(request, reply, result);
  };

  const byLink: RouteHandler = async (request, reply) => {
    const secret = secretOf(request);
    const passkeySite = passkeySiteOf(request, site);
    if (isPublic && passkeySite === null) return showState(reply, refusedSignIn("rejected", isPublic));
    const credential = formOf(request).get("credential") ?? "";
    return signIn(
      request,
      reply,
      () => identity.knowsLink(secret),
      (browser) =>
        isPublic && passkeySite !== null
          ? identity.signInByEnrolment({ ...browser, secret, credential, site: passkeySite })
          : identity.signInByLink({ ...browser, secret }),
    );
  };
  const byPasskey: RouteHandler = async (request, reply) => {
    const passkeySite = passkeySiteOf(request, site);
    if (passkeySite === null) return showState(reply, refusedSignIn("rejected", isPublic));
    const answer = { credential: formOf(request).get("credential") ?? "", site: passkeySite };
    return signIn(
      request,
      reply,
      () => identity.knowsPasskey({ ...answer, userId: null }),
      (browser) => identity.signInByPasskey({ ...browser, ...answer }),
    );
  };
  return {
    "/enter": {
      get: async (request, reply) => {
        const name = new URLSearchParams(request.raw.url?.split("?")[1]).get("link") ?? "";
        const link = await identity.describeLink(name);
        return showState(reply, signInState(link, isPublic, context.control.provider));
      },
      post: byLink,
    },
    "/enter/options": { post: enrolmentOptions(context) },
    "/sign-in": {
      get: async (request, reply) =>
        (await context.signedIn(request)) === null ? showSignIn(context, reply) : reply.redirect("/", 303),
      post: byPasskey,
    },
    // Without reads or writes, so that nobody can use up another's limit.
    "/sign-in/options": {
      post: async (request, reply) => {
        const passkeySite = passkeySiteOf(request, site);
        if (passkeySite === null) return sendProblem(request, reply, 403, NO_PASSKEYS_HERE);
        return reply.send(await identity.signatureFor(null, passkeySite));
      },
    },
  };
}

/** What a browser needs to create the first passkey of a link's person. */
function enrolmentOptions(context: SessionContext): RouteHandler {
  const { identity, site } = context;
  const questions = createMinuteLimit(MOST_FAILURES_PER_MINUTE);
  return async (request, reply) => {
    const passkeySite = passkeySiteOf(request, site);
    if (site.publicOrigin === null || passkeySite === null)
      return sendProblem(request, reply, 403, NO_PASSKEYS_HERE);
    const secret = secretOf(request);
    const options = await attemptOf(
      context,
      request,
      questions,
      () => identity.knowsLink(secret),
      () => identity.enrolmentByLink(secret, passkeySite),
    );
    if (options === null) return showState(reply, TOO_MANY);
    if ("outcome" in options) return sendProblem(request, reply, 403, whyRefused(options.outcome));
    return reply.send(options);
  };
}

/** An attempt that counts for its address. */
async function attemptOf<Result extends object>(
  context: SessionContext,
  request: FastifyRequest,
  limit: MinuteLimit,
  canSucceed: () => Promise<boolean>,
  make: (recordsRefusals: boolean) => Promise<Result>,
): Promise<Result | null> {
  return attempt(limit, {
    request,
    key: clientKeyOf(request.clientAddress),
    now: context.now(),
    canSucceed,
    make,
    hasFailed: (result) => "outcome" in result && result.outcome !== "signed_in",
  });
}

/** Passkeys need a name: an IP address has none. */
const NO_PASSKEY_HERE = `You are signed in. ${NO_PASSKEYS_HERE} There a passkey can sign you in without a link.`;

const NOT_SENT =
  "You were signed out when you sent the form, so nothing was changed. Fill it in and send it again.";

/** The page of a form of a workspace, by the address that the form was sent to. */
function formPage(asked: string): string {
  const [, , shop = "", ...rest] = asked.slice(0, -SENT.length).split("?", 1)[0]?.split("/") ?? [];
  const found = findByPath(ACTIONS, `/${rest.join("/")}`);
  const path = (found?.place.page?.path ?? "").replaceAll(/:(\w+)/gu, (_, name: string) =>
    encodeURIComponent(found?.held[name] ?? ""),
  );
  return `/w/${shop}${path}`;
}

/** A refusal is explained to the person with the link, passkey or account, and in the log. */
export function createFinish({ identity, site, writeSession, done }: SessionContext, target: TargetCookie) {
  return async (request: FastifyRequest, reply: FastifyReply, result: SignIn): Promise<FastifyReply> => {
    if (result.userId !== null) request.log = request.log.child({ user_id: result.userId });
    if (result.outcome !== "signed_in") {
      noteRefusal(request, `${kindOfRefusal(result.outcome)}: ${result.outcome}`);
      return showState(reply, refusedSignIn(result.outcome, site.publicOrigin !== null));
    }
    request.log.info("signed in");
    const asked = target.read(request.headers.cookie);
    const wasSent = asked?.endsWith(SENT) === true;
    const page = wasSent ? formPage(asked) : asked;
    const greeting = async (): Promise<string | null> => {
      if (wasSent) return NOT_SENT;
      if (result.isRecovery) return AFTER_RECOVERY;
      if (!(await identity.isNewcomer(result.userId))) return null;
      return passkeySiteOf(request, site) === null ? NO_PASSKEY_HERE : OFFER_PASSKEY;
    };
    const sentence = await greeting();
    reply.header("Set-Cookie", writeSession(result.session));
    if (page !== null) reply.header("Set-Cookie", target.clear);
    if (sentence !== null) reply.header("Set-Cookie", done.write(sentence));
    return reply.redirect(page ?? "/", 303);
  };
}

/** Per person: failures, and requests for options. */
const MOST_PROOFS_PER_MINUTE = 30;
const PROVED = "You have confirmed your identity. The confirmation lasts 10 minutes.";

/** Identity confirmation for a signed-in person; it returns to the page that required it. */
export function reauthenticateRoutes(context: SessionContext): Routes {
  const answers = createMinuteLimit(MOST_PROOFS_PER_MINUTE);
  const questions = createMinuteLimit(MOST_PROOFS_PER_MINUTE);
  return {
    "/confirm": {
      get: forVisitor(context, (own) => show(context, own, nextOf(own.request)), nextOf),
      post: forVisitor(
        context,
        async (own) => {
          const proof = await confirm(context, answers, own);
          if (proof === null) return showState(own.reply, TOO_MANY);
          return sendProof(context, own, nextOf(own.request), proof);
        },
        nextOf,
      ),
    },
    "/confirm/options": {
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

/** The page that required a confirmation: in the address of a page, or in a form. */
export function nextOf(request: FastifyRequest): string {
  if (request.method === "POST") return formOf(request).get("next") ?? "";
  return new URL(request.raw.url ?? "", "http://localhost").searchParams.get("next") ?? "";
}

/** Leads on with the confirmed session, or says why it is not. */
export async function sendProof(
  context: SessionContext,
  own: OwnRequest,
  next: string,
  proof: Proof,
): Promise<FastifyReply> {
  const { request, reply } = own;
  if (proof.outcome === "signed_out") return context.toSignIn(request, reply, next);
  if (proof.outcome !== "confirmed") {
    noteRefusal(request, `proof: ${proof.outcome}`);
    return show(context, own, next, whyRefused(proof.outcome));
  }
  request.log.info("confirmed their identity");
  reply.header("Set-Cookie", context.writeSession(proof.session));
  return leadOn(context, reply, PROVED, isConsolePath(next) ? next : "/");
}

/** null = too many of the person's proofs have failed. */
async function confirm(
  context: SessionContext,
  limit: MinuteLimit,
  { request, visitor }: OwnRequest,
): Promise<Proof | null> {
  const { identity, site } = context;
  const { userId } = visitor.person;
  const proof = { userId, sessionHash: visitor.sessionHash, origin: request.clientAddress };
  const passkeySite = passkeySiteOf(request, site);
  const secret = secretOf(request);
  const isByLink = await takesLink(context, request, userId);
  if (!isByLink && passkeySite === null) return { outcome: "rejected" };
  const answer = {
    credential: formOf(request).get("credential") ?? "",
    site: passkeySite ?? { rpId: "", origin: "" },
  };
  return attempt<Proof>(limit, {
    request,
    key: userId,
    now: context.now(),
    hasFailed: ({ outcome }) => outcome !== "confirmed",
    canSucceed: () => (isByLink ? identity.knowsLink(secret) : identity.knowsPasskey({ ...answer, userId })),
    make: (recordsRefusals) =>
      isByLink
        ? identity.reauthenticateByLink({ ...proof, secret, recordsRefusals })
        : identity.reauthenticateByPasskey({ ...proof, ...answer, recordsRefusals }),
  });
}

/** A link confirms an identity only on this machine, and only of a person without passkeys. */
async function takesLink(
  { identity, site }: SessionContext,
  request: FastifyRequest,
  userId: string,
): Promise<boolean> {
  if (site.publicOrigin !== null) return false;
  const passkeySite = passkeySiteOf(request, site) ?? { rpId: "localhost", origin: "" };
  return !(await identity.hasPasskey(userId, passkeySite));
}

async function show(
  context: SessionContext,
  own: OwnRequest,
  next: string,
  problem?: string,
): Promise<FastifyReply> {
  const { request, visitor } = own;
  const { userId, name: userName } = visitor.person;
  const goesOn = html`<input type="hidden" name="next" value="${next}" />`;
  const form = (await takesLink(context, request, userId))
    ? linkForm(goesOn)
    : passkeyForm({ action: "/confirm", kind: "get", button: "Confirm with a passkey", fields: goesOn });
  const { provider } = context.control;
  const isLinked = provider !== null && (await context.identity.hasAccount(userId, provider.issuer));
  const title = "Confirm your identity";
  const body = html`<article class="state">
    <h1>${title}</h1>
    ${problem !== undefined && html`<p class="banner refused" role="alert">${problem}</p>`}
    <p>You are signed in as ${userName}. Confirm your identity to change who has access. A confirmation lasts 10 minutes.</p>
    ${
      isLinked &&
      html`<form method="post" action="/confirm/provider">
        ${goesOn} <button>Confirm with ${provider.name}</button>
      </form>`
    }
    ${form}
    <p><a href="${isConsolePath(next) ? next : "/"}">Go back without confirming</a></p>
  </article>`;
  return showOwn(context, own, { status: problem === undefined ? 200 : 403, title, body });
}

function linkForm(goesOn: Html): Html {
  return html`${HOW_TO_GET_A_LINK}
    <form method="post" action="/confirm">
      ${goesOn}
      <p class="field">
        <label for="secret">Paste the link here instead of opening it</label>
        <input id="secret" name="secret" autocomplete="off" spellcheck="false" required />
      </p>
      <button>Confirm</button>
    </form>`;
}
