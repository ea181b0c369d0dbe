import type { FastifyReply, FastifyRequest } from "fastify";
import { CALLBACK_PATH, type Flow, type ProviderAccount, type ProviderProblem } from "../access/provider.ts";
import type { SignIn } from "../access/sign-in.ts";
import { sendLinked } from "../actions/account/page.ts";
import { clientKeyOf } from "../http/client-address.ts";
import { noteRefusal } from "../http/request-log.ts";
import { formOf } from "./form-scope.ts";
import { createMinuteLimit } from "./minute-limit.ts";
import { sendToProvider } from "./provider-flow.ts";
import { attempt, showState, type Routes, type SessionContext } from "./session-context.ts";
import { refusedSignIn, TOO_MANY } from "./session-pages.ts";
import { createFinish, MOST_FAILURES_PER_MINUTE, sendProof } from "./sign-in.ts";
import { isConsolePath } from "./cookies.ts";
import type { TargetCookie } from "./cookies.ts";

/** The provider's answer. */
type Answer = ProviderAccount | { problem: ProviderProblem };

/** Sign-in, confirmation and linking through the identity provider; {} if none is configured. */
export function providerRoutes(context: SessionContext, target: TargetCookie): Routes {
  const { control, flow: cookie, identity, now } = context;
  const { provider } = control;
  if (provider === null) return {};
  const answers = createMinuteLimit(MOST_FAILURES_PER_MINUTE);
  const finish = createFinish(context, target);

  const signIn = async (request: FastifyRequest, reply: FastifyReply, account: ProviderAccount) => {
    const oldSessionHash = context.sessionHashOf(request);
    const browser = { oldSessionHash, origin: request.clientAddress };
    return finish(request, reply, await identity.signInByProvider({ ...browser, account }));
  };
  const forVisitor = async (
    request: FastifyRequest,
    reply: FastifyReply,
    flow: Flow,
    account: ProviderAccount,
  ): Promise<FastifyReply> => {
    const visitor = await context.signedIn(request);
    if (visitor === null) return context.toSignIn(request, reply, flow.next);
    const { userId } = visitor.person;
    if (userId !== flow.userId) return refuse(context, request, reply, "elsewhere");
    if (flow.purpose === "link") return sendLinked(context, { request, reply, visitor }, account);
    const { sessionHash } = visitor;
    const proof = await identity.reauthenticateByProvider({
      userId,
      sessionHash,
      origin: request.clientAddress,
      account,
      startedAt: new Date(flow.startedAt),
    });
    return sendProof(context, { request, reply, visitor, next: flow.next }, proof);
  };

  return {
    "/sign-in/provider": {
      post: (_request, reply) =>
        sendToProvider(context, reply, { purpose: "sign_in", userId: null, next: "" }),
    },
    "/confirm/provider": {
      post: async (request, reply) => {
        const visitor = await context.signedIn(request);
        const asked = formOf(request).get("next") ?? "";
        // What is no page of the console could also be too long for a cookie.
        const next = isConsolePath(asked) ? asked : "";
        if (visitor === null) return context.toSignIn(request, reply, next);
        const { userId } = visitor.person;
        return sendToProvider(context, reply, { purpose: "confirm", userId, next });
      },
    },
    [CALLBACK_PATH]: {
      get: async (request, reply) => {
        const query = (request.raw.url ?? "").slice(CALLBACK_PATH.length);
        const flow = cookie.read(request.headers.cookie, now());
        // Each answer has one attempt: whatever the result, its sign-in is over.
        reply.header("Set-Cookie", cookie.clear);
        const isOurs = flow !== null && new URLSearchParams(query).get("state") === flow.state;
        const answer = await attempt<Answer>(answers, {
          request,
          key: clientKeyOf(request.clientAddress),
          now: now(),
          canSucceed: async () => isOurs,
          make: async () => (isOurs ? provider.finish(query, flow) : { problem: "elsewhere" }),
          hasFailed: (result) => "problem" in result,
        });
        if (answer === null) return showState(reply, TOO_MANY);
        if (flow === null || "problem" in answer)
          return refuse(context, request, reply, "problem" in answer ? answer.problem : "elsewhere");
        return flow.purpose === "sign_in"
          ? signIn(request, reply, answer)
          : forVisitor(request, reply, flow, answer);
      },
    },
  };
}

function refuse(
  { site }: SessionContext,
  request: FastifyRequest,
  reply: FastifyReply,
  outcome: Exclude<SignIn["outcome"], "signed_in">,
): FastifyReply {
  noteRefusal(request, `identity provider: ${outcome}`);
  return showState(reply, refusedSignIn(outcome, site.publicOrigin !== null));
}
