import type { FastifyReply, FastifyRequest } from "fastify";
import { CALLBACK_PATH, type ProviderAccount, type ProviderProblem } from "../access/provider.ts";
import type { SignInRefusal } from "../access/sign-in.ts";
import { sendLinked } from "../actions/account/page.ts";
import { clientKeyOf } from "../http/client-address.ts";
import { noteRefusal } from "../http/request-log.ts";
import { isConsolePath, type TargetCookie } from "./cookies.ts";
import { formOf } from "./form-scope.ts";
import { createMinuteLimit } from "./minute-limit.ts";
import { sendToProvider } from "./provider-flow.ts";
import { attempt, forVisitor, showState, type Routes, type SessionContext } from "./session-context.ts";
import { refusedSignIn, TOO_MANY } from "./session-pages.ts";
import { createFinish, MOST_FAILURES_PER_MINUTE, sendProof } from "./sign-in.ts";

/** Sign-in, confirmation and linking through the identity provider; {} if none is configured. */
export function providerRoutes(context: SessionContext, target: TargetCookie): Routes {
  const { control, flow: cookie, identity, now, site } = context;
  const { provider } = control;
  if (provider === null) return {};
  const answers = createMinuteLimit(MOST_FAILURES_PER_MINUTE);
  const finish = createFinish(context, target);
  const refuse = (request: FastifyRequest, reply: FastifyReply, outcome: SignInRefusal): FastifyReply => {
    noteRefusal(request, `identity provider: ${outcome}`);
    return showState(reply, refusedSignIn(outcome, site.publicOrigin !== null));
  };

  return {
    "/sign-in/provider": {
      post: (_request, reply) =>
        sendToProvider(context, reply, { purpose: "sign_in", userId: null, next: "" }),
    },
    "/confirm/provider": {
      post: forVisitor(
        context,
        ({ request, reply, visitor }) => {
          const { userId } = visitor.person;
          return sendToProvider(context, reply, { purpose: "confirm", userId, next: nextOf(request) });
        },
        nextOf,
      ),
    },
    [CALLBACK_PATH]: {
      get: async (request, reply) => {
        const query = (request.raw.url ?? "").slice(CALLBACK_PATH.length);
        const flow = cookie.read(request.headers.cookie, now());
        // Each answer has one attempt: whatever the result, its sign-in is over.
        reply.header("Set-Cookie", cookie.clear);
        const isOurs = flow !== null && new URLSearchParams(query).get("state") === flow.state;
        const account = await attempt<ProviderAccount | { problem: ProviderProblem }>(answers, {
          request,
          key: clientKeyOf(request.clientAddress),
          now: now(),
          canSucceed: async () => isOurs,
          make: async () => (isOurs ? provider.finish(query, flow) : { problem: "elsewhere" }),
          hasFailed: (result) => "problem" in result,
        });
        if (account === null) return showState(reply, TOO_MANY);
        if ("problem" in account) return refuse(request, reply, account.problem);
        if (flow === null) return refuse(request, reply, "elsewhere");
        const origin = request.clientAddress;
        if (flow.purpose === "sign_in") {
          const oldSessionHash = context.sessionHashOf(request);
          return finish(request, reply, await identity.signInByProvider({ oldSessionHash, origin, account }));
        }
        const serve = forVisitor(
          context,
          async (own) => {
            const { person, sessionHash } = own.visitor;
            const { userId } = person;
            if (userId !== flow.userId) return refuse(request, reply, "elsewhere");
            if (flow.purpose === "link") return sendLinked(context, own, account);
            const startedAt = new Date(flow.startedAt);
            const asked = { userId, sessionHash, origin, account, startedAt };
            return sendProof(context, own, flow.next, await identity.reauthenticateByProvider(asked));
          },
          () => flow.next,
        );
        return serve(request, reply);
      },
    },
  };
}

/** What is no page of the console could also be too long for a cookie. */
function nextOf(request: FastifyRequest): string {
  const asked = formOf(request).get("next") ?? "";
  return isConsolePath(asked) ? asked : "";
}
