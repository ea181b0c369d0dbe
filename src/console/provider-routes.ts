import { CALLBACK_PATH, type ProviderAccount, type ProviderProblem } from "../access/provider.ts";
import { sendLinked } from "../actions/account/page.ts";
import { clientKeyOf } from "../http/client-address.ts";
import { isConsolePath, type TargetCookie } from "./cookies.ts";
import { createMinuteLimit } from "./minute-limit.ts";
import { sendToProvider } from "./provider-flow.ts";
import { attempt, forVisitor, showState, type Routes, type SessionContext } from "./session-context.ts";
import { TOO_MANY } from "./session-pages.ts";
import { createFinish, MOST_FAILURES_PER_MINUTE, nextOf, sendProof } from "./sign-in.ts";

/** Sign-in, confirmation and linking through the identity provider; {} if none is configured. */
export function providerRoutes(context: SessionContext, target: TargetCookie): Routes {
  const { control, flow: cookie, identity, now } = context;
  const { provider } = control;
  if (provider === null) return {};
  const answers = createMinuteLimit(MOST_FAILURES_PER_MINUTE);
  const finish = createFinish(context, target);
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
          const asked = nextOf(request);
          // What is no page of the console could also be too long for a cookie.
          const next = isConsolePath(asked) ? asked : "";
          return sendToProvider(context, reply, { purpose: "confirm", userId, next });
        },
        nextOf,
      ),
    },
    [CALLBACK_PATH]: {
      get: async (request, reply) => {
        const query = (request.raw.url ?? "").slice(CALLBACK_PATH.length);
        const begun = cookie.read(request.headers.cookie, now());
        // Each answer has one attempt: whatever the result, its sign-in is over.
        reply.header("Set-Cookie", cookie.clear);
        const flow = new URLSearchParams(query).get("state") === begun?.state ? begun : null;
        const account = await attempt<ProviderAccount | { problem: ProviderProblem }>(answers, {
          request,
          key: clientKeyOf(request.clientAddress),
          now: now(),
          canSucceed: async () => flow !== null,
          make: async () => (flow === null ? { problem: "elsewhere" } : provider.finish(query, flow)),
          hasFailed: (result) => "problem" in result,
        });
        if (account === null) return showState(reply, TOO_MANY);
        const refuse = (outcome: ProviderProblem) => finish(request, reply, { outcome, userId: null });
        if (flow === null || "problem" in account)
          return refuse("problem" in account ? account.problem : "elsewhere");
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
            if (userId !== flow.userId) return refuse("elsewhere");
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
