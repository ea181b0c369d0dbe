import { NO_PASSKEYS_HERE } from "../actions/account/actions.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { clientKeyOf } from "../http/client-address.ts";
import { noteRefusal } from "../http/request-log.ts";
import type { SignIn } from "../access/sign-in.ts";
import type { SessionContext, RouteHandler, Routes } from "./session-context.ts";
import { attempt, passkeySiteOf, secretOf, sendProblem, showState } from "./session-context.ts";
import {
  ENROL,
  ENTER,
  isLinkRefusal,
  refusedSignIn,
  SIGN_IN,
  SIGN_IN_LOCALLY,
  TOO_MANY,
  whyRefused,
} from "./session-pages.ts";
import { formOf } from "./form-scope.ts";
import { createMinuteLimit } from "./minute-limit.ts";
import type { MinuteLimit } from "./minute-limit.ts";
import { ACTIONS } from "./registry.ts";
import { findByPath } from "./route.ts";
import { SENT } from "./target-cookie.ts";
import type { TargetCookie } from "./target-cookie.ts";

/** That failed, of one address. */
const MOST_FAILURES_PER_MINUTE = 30;
const AFTER_RECOVERY = "Your earlier passkeys have been removed, and every other sign-in has ended.";

/**
 * The ways in: a passkey, and one-time links, which on https open nothing but the making of a passkey. A sign-in with a
 * passkey asks for its options first.
 */
export function signInRoutes(context: SessionContext, target: TargetCookie): Routes {
  const { identity, site } = context;
  const isPublic = site.publicOrigin !== null;
  const answers = createMinuteLimit(MOST_FAILURES_PER_MINUTE);
  const questions = createMinuteLimit(MOST_FAILURES_PER_MINUTE);
  const browserOf = (request: FastifyRequest) => ({
    oldSessionHash: context.sessionHashOf(request),
    origin: request.clientAddress,
  });
  const finish = createFinish(context, target);

  const byLink: RouteHandler = async (request, reply) => {
    const secret = secretOf(request);
    const passkeySite = passkeySiteOf(request, site);
    if (isPublic && passkeySite === null) return showState(reply, refusedSignIn("rejected", isPublic));
    const credential = formOf(request).get("credential") ?? "";
    const result = await attemptOf(
      context,
      request,
      answers,
      () => identity.knowsLink(secret),
      (recordsRefusals) => {
        const browser = { ...browserOf(request), recordsRefusals };
        return isPublic && passkeySite !== null
          ? identity.signInByEnrolment({ ...browser, secret, credential, site: passkeySite })
          : identity.signInByLink({ ...browser, secret });
      },
    );
    return result === null ? showState(reply, TOO_MANY) : finish(request, reply, result);
  };
  const byPasskey: RouteHandler = async (request, reply) => {
    const passkeySite = passkeySiteOf(request, site);
    if (passkeySite === null) return showState(reply, refusedSignIn("rejected", isPublic));
    const answer = { credential: formOf(request).get("credential") ?? "", site: passkeySite };
    const result = await attemptOf(
      context,
      request,
      answers,
      () => identity.knowsPasskey({ ...answer, userId: null }),
      (recordsRefusals) => identity.signInByPasskey({ ...browserOf(request), ...answer, recordsRefusals }),
    );
    return result === null ? showState(reply, TOO_MANY) : finish(request, reply, result);
  };
  const enrolmentOptions: RouteHandler = async (request, reply) => {
    const passkeySite = passkeySiteOf(request, site);
    if (!isPublic || passkeySite === null) return sendProblem(request, reply, 403, NO_PASSKEYS_HERE);
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
  const signatureOptions: RouteHandler = async (request, reply) => {
    const passkeySite = passkeySiteOf(request, site);
    if (passkeySite === null) return sendProblem(request, reply, 403, NO_PASSKEYS_HERE);
    return reply.send(await identity.signatureFor(null, passkeySite));
  };
  return {
    "/enter": {
      get: async (_request, reply) => showState(reply, isPublic ? ENROL : ENTER),
      post: byLink,
    },
    "/enter/options": { post: enrolmentOptions },
    "/sign-in": {
      get: async (request, reply) =>
        (await context.signedIn(request)) === null
          ? showState(reply, isPublic ? SIGN_IN : SIGN_IN_LOCALLY)
          : reply.redirect("/", 303),
      post: byPasskey,
    },
    // Neither reads nor writes anything, so that nobody's questions use up another's.
    "/sign-in/options": { post: signatureOptions },
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

/** A refusal is explained to the person with the link or passkey, and in the log. */
function createFinish({ site, writeSession, done }: SessionContext, target: TargetCookie) {
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
    const asked = target.read(request.headers.cookie);
    const wasSent = asked?.endsWith(SENT) === true;
    const page = wasSent ? formPage(asked) : asked;
    reply.header("Set-Cookie", writeSession(result.session));
    if (page !== null) reply.header("Set-Cookie", target.clear);
    if (wasSent) reply.header("Set-Cookie", done.write(NOT_SENT));
    if (result.isRecovery) reply.header("Set-Cookie", done.write(AFTER_RECOVERY));
    return reply.redirect(page ?? "/", 303);
  };
}
