import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../contract/errors.ts";
import { Refusal } from "../control/refusal.ts";
import { requireRight } from "../control/rights.ts";
import { parseQueryString } from "../http/query-string.ts";
import type { ActionCall } from "./action.ts";
import { sendOutcome, sendRefusal } from "./action-outcome.ts";
import type { DoneCookie } from "./done-cookie.ts";
import { formOf } from "./form-scope.ts";
import { stateOfError } from "./loop-error.ts";
import type { MemberRequest } from "./member-gate.ts";
import { createMinuteLimit, MOST_FORMS_PER_MINUTE, TOO_MANY_FORMS } from "./minute-limit.ts";
import { actorOf, openCall } from "./page-call.ts";
import type { OpenCall } from "./page-call.ts";
import type { LoopOptions } from "./page-loop.ts";
import { sendState } from "./page-send.ts";
import { createPartPlaces } from "./part-places.ts";
import { ACTIONS, READABLE } from "./registry.ts";
import { findByPath } from "./route.ts";
import { NOT_FOUND, ONLY_GET } from "./state-page.ts";

const TOO_MANY = new ApiError("rate_limited", TOO_MANY_FORMS, { retryAfterSeconds: 60 });

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
      const found = findByPath(ACTIONS, path);
      if (found === null) return await sendState({ request, reply }, missing(path, reply), member);
      const { place: action, held } = found;
      request.log = request.log.child({ action: action.name });
      if (action.takes !== "bytes" && !admits(member.userId, tools.now())) throw TOO_MANY;
      const actor = actorOf(member, member.role, request, tools.now());
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

/** A page takes no form. */
function missing(path: string, reply: FastifyReply) {
  if (findByPath(READABLE, path) === null) return NOT_FOUND;
  reply.header("Allow", "GET, HEAD");
  return ONLY_GET;
}
