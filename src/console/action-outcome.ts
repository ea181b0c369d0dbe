import type { FastifyReply } from "fastify";
import type { MemberAdmission } from "../access/admit-member.ts";
import type { Refusal } from "../actions/refusal.ts";
import { noteRefusal } from "../http/request-log.ts";
import type { FormAction, FormOutcome } from "./action.ts";
import type { DoneCookie } from "./cookies.ts";
import { formOf } from "./form-scope.ts";
import type { OpenCall } from "./page-call.ts";
import type { Exchange, PageSender } from "./page-send.ts";

/** An action that was asked for, and what answers it. */
type SentAction = Exchange & {
  member: MemberAdmission;
  action: FormAction;
  call: OpenCall;
  send: PageSender;
  done: DoneCookie;
};

/** Of a refusal, by its kind. */
export const STATUS = { invalid: 400, forbidden: 403, unconfirmed: 403, impossible: 409 } as const;

export async function sendOutcome(sent: SentAction, outcome: FormOutcome): Promise<FastifyReply> {
  const { request, reply, member, action, send, done } = sent;
  if ("done" in outcome) {
    return reply.header("Set-Cookie", done.write(outcome.done)).redirect(outcome.href, 303);
  }
  if ("json" in outcome) return reply.send(outcome.json);
  if ("view" in outcome) {
    return send.view({ request, reply }, action.page, member, { status: 200, ...outcome.view });
  }
  const { name, type, body } = outcome.file;
  return reply.type(type).header("Content-Disposition", `attachment; filename="${name}"`).send(body);
}

/** The refusal of what a script asked for. */
export function sendSentence({ request, reply }: Exchange, { kind, message }: Refusal): FastifyReply {
  noteRefusal(request, message);
  return reply.code(STATUS[kind]).send({ error: { kind, message } });
}

/** Shows the page of the form again, with what was filled in; a script gets the sentence alone. */
export async function sendRefusal(sent: SentAction, refusal: Refusal): Promise<FastifyReply> {
  const { request, reply, member, action, call, send } = sent;
  const { page } = action;
  if (page === null) return sendSentence(sent, refusal);
  noteRefusal(request, refusal.message);
  const status = STATUS[refusal.kind];
  if (refusal.kind === "forbidden") throw refusal;
  const again = { ...call, refusedForm: { action: action.name, values: formOf(request), refusal } };
  const view = page.view(await page.data(again), again);
  return send.view({ request, reply }, page, member, { status, ...view });
}
