import type { FastifyReply, FastifyRequest } from "fastify";
import { noteRefusal } from "../http/request-log.ts";
import type { SignIn } from "../identity/sign-in.ts";
import type { Desk, Handler, Routes } from "./desk.ts";
import { limited, NO_PASSKEYS_HERE, passkeySiteOf, secretOf, sendProblem, showState } from "./desk.ts";
import {
  ENROL,
  ENTER,
  isLinkRefusal,
  refusedSignIn,
  SIGN_IN,
  SIGN_IN_LOCALLY,
  whyRefused,
} from "./entrance-page.ts";
import { formOf } from "./form-scope.ts";
import { createMinuteLimit } from "./minute-limit.ts";
import type { TargetCookie } from "./target-cookie.ts";

/** Of one address. */
const MOST_SIGN_INS_PER_MINUTE = 30;
const AFTER_RECOVERY = "Your earlier passkeys have been removed, and every other sign-in has ended.";

/**
 * The ways in: a passkey, and one-time links, which on https open nothing but the making of a passkey. A sign-in with a
 * passkey asks for its options first.
 */
export function signInRoutes(desk: Desk, target: TargetCookie): Routes {
  const { identity, site } = desk;
  const isPublic = site.publicOrigin !== null;
  const answers = createMinuteLimit(MOST_SIGN_INS_PER_MINUTE);
  const questions = createMinuteLimit(MOST_SIGN_INS_PER_MINUTE);
  const browserOf = (request: FastifyRequest) => ({
    oldSessionHash: desk.sessionHashOf(request),
    origin: request.ip,
  });
  const finish = createFinish(desk, target);

  const byLink: Handler = async (request, reply) => {
    const secret = secretOf(request);
    if (!isPublic) {
      return finish(request, reply, await identity.signInByLink({ ...browserOf(request), secret }));
    }
    const credential = formOf(request).get("credential") ?? "";
    const passkeySite = passkeySiteOf(request, site);
    if (passkeySite === null) return showState(reply, refusedSignIn("rejected", isPublic));
    const enrolment = { ...browserOf(request), secret, credential, site: passkeySite };
    return finish(request, reply, await identity.signInByEnrolment(enrolment));
  };
  const byPasskey: Handler = async (request, reply) => {
    const passkeySite = passkeySiteOf(request, site);
    if (passkeySite === null) return showState(reply, refusedSignIn("rejected", isPublic));
    const credential = formOf(request).get("credential") ?? "";
    const answer = { ...browserOf(request), credential, site: passkeySite };
    return finish(request, reply, await identity.signInByPasskey(answer));
  };
  const enrolmentOptions: Handler = async (request, reply) => {
    const passkeySite = passkeySiteOf(request, site);
    if (!isPublic || passkeySite === null) return sendProblem(request, reply, 403, NO_PASSKEYS_HERE);
    const options = await identity.enrolmentByLink(secretOf(request), passkeySite);
    if ("outcome" in options) return sendProblem(request, reply, 403, whyRefused(options.outcome));
    return reply.send(options);
  };
  const signatureOptions: Handler = async (request, reply) => {
    const passkeySite = passkeySiteOf(request, site);
    if (passkeySite === null) return sendProblem(request, reply, 403, NO_PASSKEYS_HERE);
    return reply.send(await identity.signatureFor(null, passkeySite));
  };
  return {
    "/enter": {
      get: async (_request, reply) => showState(reply, isPublic ? ENROL : ENTER),
      post: limited(desk, answers, byLink),
    },
    "/enter/options": { post: limited(desk, questions, enrolmentOptions) },
    "/sign-in": {
      get: async (request, reply) =>
        (await desk.signedIn(request)) === null
          ? showState(reply, isPublic ? SIGN_IN : SIGN_IN_LOCALLY)
          : reply.redirect("/", 303),
      post: limited(desk, answers, byPasskey),
    },
    "/sign-in/options": { post: limited(desk, questions, signatureOptions) },
  };
}

/** What is refused says why to whoever has the link or passkey, and to the log. */
function createFinish({ site, writeSession, done }: Desk, target: TargetCookie) {
  return (request: FastifyRequest, reply: FastifyReply, result: SignIn): FastifyReply => {
    if (result.userId !== null) request.log = request.log.child({ user_id: result.userId });
    if (result.outcome !== "signed_in") {
      noteRefusal(
        request,
        `${isLinkRefusal(result.outcome) ? "sign-in link" : "passkey"}: ${result.outcome}`,
      );
      return showState(reply, refusedSignIn(result.outcome, site.publicOrigin !== null));
    }
    request.log.info("signed in");
    const page = target.read(request.headers.cookie);
    reply.header("Set-Cookie", writeSession(result.session));
    if (page !== null) reply.header("Set-Cookie", target.clear);
    if (result.isRecovery) reply.header("Set-Cookie", done.write(AFTER_RECOVERY));
    return reply.redirect(page ?? "/", 303);
  };
}
