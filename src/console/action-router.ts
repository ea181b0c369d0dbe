import type { FastifyReply, FastifyRequest } from "fastify";
import type { MemberAdmission } from "../access/admit-member.ts";
import { Refusal } from "../actions/refusal.ts";
import { requireRight, SenderGone } from "../actions/right.ts";
import { ApiError } from "../contract/errors.ts";
import { parseQueryString } from "../http/query-string.ts";
import { sendOutcome, sendRefusal, sendSentence } from "./action-outcome.ts";
import type { ActionCall } from "./action.ts";
import type { DoneCookie } from "./cookies.ts";
import { formOf } from "./form-scope.ts";
import { stateOfError } from "./error-state.ts";
import { createMinuteLimit, MOST_FORMS_PER_MINUTE, TOO_MANY_FORMS } from "./minute-limit.ts";
import { actorOf, openCall } from "./page-call.ts";
import type { OpenCall } from "./page-call.ts";
import type { RouterOptions } from "./page-router.ts";
import { sendState } from "./page-send.ts";
import { ACTIONS, READABLE } from "./registry.ts";
import { findByPath } from "./route.ts";
import type { SessionPages } from "./session-routes.ts";
import { NOT_FOUND, ONLY_GET } from "./state-page.ts";

/** Each holds some 16 MB while it is taken in: its bytes, and a copy on the way to the database. */
const MOST_PARTS_AT_ONCE = 12;
/** The page sends one after the other. */
const MOST_OF_A_WORKSPACE = 2;

/**
 * Places of this process for bodies of bytes, asked for before a body is read and free once its request has ended. Throws
 * when all are taken, or those of the workspace.
 */
function createPartPlaces(): (shopKey: number, reply: FastifyReply) => void {
  const takenByWorkspace = new Map<number, number>();
  let taken = 0;
  const change = (shopKey: number, by: 1 | -1): void => {
    const ofWorkspace = (takenByWorkspace.get(shopKey) ?? 0) + by;
    if (ofWorkspace === 0) takenByWorkspace.delete(shopKey);
    else takenByWorkspace.set(shopKey, ofWorkspace);
    taken += by;
  };
  return (shopKey, reply) => {
    // Its sender was looked up meanwhile, and nothing would give the place back.
    if (reply.raw.closed) return;
    if ((takenByWorkspace.get(shopKey) ?? 0) >= MOST_OF_A_WORKSPACE)
      throw tooMany(`${MOST_OF_A_WORKSPACE} parts of uploads to this workspace are being received.`);
    if (taken >= MOST_PARTS_AT_ONCE)
      throw tooMany(`${MOST_PARTS_AT_ONCE} parts of uploads are being received.`);
    change(shopKey, 1);
    reply.raw.once("close", () => change(shopKey, -1));
  };
}

function tooMany(sentence: string): ApiError {
  const message = `${sentence} Send this one again in a second.`;
  return new ApiError("rate_limited", message, { retryAfterSeconds: 1 });
}

type ActionRouterOptions = RouterOptions & { done: DoneCookie; sessions: Pick<SessionPages, "toSignIn"> };

const BYTES_TYPE = /^application\/octet-stream\b/iu;
const TAKES_FORM = new ApiError("invalid_request", "This accepts a form, not binary data.");
const TOO_MANY = new ApiError("rate_limited", TOO_MANY_FORMS, { retryAfterSeconds: 60 });

/**
 * Routes a form to its action of the registry: member, action, right, use case, outcome. `admit` is for before the body is
 * read: a stranger's is not, nor are bytes that the member may not send. When it has arrived, the member is admitted again, and
 * what the use case writes holds their rights.
 */
export function createActionRouter({ guard, tools, send, done, sessions }: ActionRouterOptions) {
  const admits = createMinuteLimit(MOST_FORMS_PER_MINUTE);
  const takePlace = createPartPlaces();

  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    try {
      const result = await guard.admit(request, reply);
      if ("answered" in result) return await result.answered;
      const { member, path, sessionHash } = result;
      if (BYTES_TYPE.test(request.headers["content-type"] ?? "")) {
        const action = findByPath(ACTIONS, path)?.place;
        if (action?.takes !== "bytes") throw TAKES_FORM;
        requireRight(actorOf(member, sessionHash, member.role, request, tools.now()), action.right);
        takePlace(member.workspace.shopKey, reply);
      }
      return undefined;
    } catch (error) {
      if (error instanceof Refusal) return sendSentence({ request, reply }, error);
      return sendState({ request, reply }, stateOfError(error, request, null), null);
    }
  }

  async function perform(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    let member: MemberAdmission | null = null;
    try {
      const admitted = await guard.again(request, reply);
      if ("answered" in admitted) return await admitted.answered;
      const { sessionHash, path } = admitted;
      ({ member } = admitted);
      const found = findByPath(ACTIONS, path);
      if (found === null) return await sendState({ request, reply }, missing(path, reply), member);
      const { place: action, held } = found;
      request.log = request.log.child({ action: action.name });
      if (action.takes !== "bytes" && !admits(member.userId, tools.now())) throw TOO_MANY;
      const actor = actorOf(member, sessionHash, member.role, request, tools.now());
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
      if (error instanceof SenderGone) {
        if (error.reason === "signed_out") return sessions.toSignIn(request, reply);
        return sendState({ request, reply }, NOT_FOUND, null);
      }
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
