import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../contract/errors.ts";
import { Refusal } from "../control/refusal.ts";
import { requireRight } from "../control/rights.ts";
import { parseQueryString } from "../http/query-string.ts";
import type { Action, ActionCall } from "./action.ts";
import { formOf, sendOutcome, sendRefusal } from "./action-outcome.ts";
import type { DoneCookie } from "./done-cookie.ts";
import { stateOfError } from "./loop-error.ts";
import type { MemberRequest } from "./member-gate.ts";
import { createMinuteLimit } from "./minute-limit.ts";
import { actorOf, openCall } from "./page-call.ts";
import type { OpenCall } from "./page-call.ts";
import type { LoopOptions } from "./page-loop.ts";
import { sendState } from "./page-send.ts";
import { createPartPlaces } from "./part-places.ts";
import { ACTIONS, PAGES, SETTINGS } from "./registry.ts";
import { matchPath } from "./route.ts";
import { NOT_FOUND, ONLY_GET } from "./state-page.ts";

/** Of one session. */
const MOST_FORMS_PER_MINUTE = 60;
const TOO_MANY_FORMS = new ApiError(
  "rate_limited",
  `You have sent more than ${MOST_FORMS_PER_MINUTE} forms within a minute. Wait a minute, then go on.`,
  { retryAfterSeconds: 60 },
);

/**
 * The loop over the actions of the registry: member, action, right, use case, outcome. `admit` is for before the body is
 * read: a stranger's is not.
 */
export function createActionLoop({ gate, tools, send, done }: LoopOptions & { done: DoneCookie }) {
  const admits = createMinuteLimit(MOST_FORMS_PER_MINUTE);
  const takePlace = createPartPlaces();
  const admitted = new WeakMap<FastifyRequest, MemberRequest>();

  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    try {
      const result = await gate(request, reply);
      if ("answered" in result) return await result.answered;
      takePlace(request, reply);
      admitted.set(request, result);
      return undefined;
    } catch (error) {
      return sendState({ request, reply }, stateOfError(error, request, null), null);
    }
  }

  async function perform(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { member, path } = admitted.get(request) as MemberRequest;
    try {
      const found = findAction(path);
      if (found === null) return await sendState({ request, reply }, missing(path, reply), member);
      const { action, held } = found;
      request.log = request.log.child({ action: action.name });
      if (action.takes !== "bytes" && !admits(member.userId, tools.now())) throw TOO_MANY_FORMS;
      const actor = actorOf(member, request, tools.now());
      const raw = parseQueryString(request.raw.url ?? "");
      const sent = {
        request,
        reply,
        member,
        action,
        send,
        done,
        call: openCall(tools, { request, member, actor, raw, held }),
      };
      try {
        requireRight(actor, action.right);
        return await sendOutcome(sent, await action.perform(actionCall(sent.call, request)));
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return await sendRefusal(sent, error);
      }
    } catch (error) {
      return sendState({ request, reply }, stateOfError(error, request, member), member);
    }
  }

  return { admit, perform };
}

function actionCall(call: OpenCall, request: FastifyRequest): ActionCall {
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  return { ...call, form: formOf(request), bytes };
}

function findAction(path: string): { action: Action; held: Record<string, string> } | null {
  for (const action of ACTIONS) {
    const held = matchPath(action.path, path);
    if (held !== null) return { action, held };
  }
  return null;
}

/** A page takes no form. */
function missing(path: string, reply: FastifyReply) {
  if (![...PAGES, ...SETTINGS].some((page) => matchPath(page.path, path) !== null)) return NOT_FOUND;
  reply.header("Allow", "GET, HEAD");
  return ONLY_GET;
}
