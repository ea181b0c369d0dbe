import type { FastifyReply, FastifyRequest } from "fastify";
import type { Actor } from "../control/actor.ts";
import { addPasskey, endOtherSessions, endSession, removePasskey, renameMe, showMe } from "../control/me.ts";
import type { Me } from "../control/me.ts";
import { invalid, Refusal } from "../control/refusal.ts";
import { requireRight } from "../control/rights.ts";
import { noteRefusal } from "../http/request-log.ts";
import { isFreshProof } from "../identity/session.ts";
import { STATUS } from "./action-outcome.ts";
import type { Desk, Handler, Routes, Visitor } from "./desk.ts";
import { NO_PASSKEYS_HERE, passkeySiteOf, sendProblem, showOwn } from "./desk.ts";
import { formOf } from "./form-scope.ts";
import { createMinuteLimit, MOST_FORMS_PER_MINUTE, TOO_MANY_FORMS } from "./minute-limit.ts";
import type { MinuteLimit } from "./minute-limit.ts";
import { actorOf } from "./page-call.ts";
import type { RefusedForm } from "./page.ts";
import { tooMany } from "./state-page.ts";
import { meBody } from "./views/me.ts";

const TOO_MANY = tooMany(TOO_MANY_FORMS, 60);

/** A form of one's own account: what it does, and the sentence of what counts since. */
type OwnAction = (own: Own) => Promise<string>;
type Own = { desk: Desk; request: FastifyRequest; fields: URLSearchParams; actor: Actor; me: Me; now: Date };

/** One's own account: name, passkeys, running sign-ins. */
export function meRoutes(desk: Desk): Routes {
  const admits = createMinuteLimit(MOST_FORMS_PER_MINUTE);
  const post = (action: string, perform: OwnAction): Handler => createPost(desk, admits, action, perform);
  return {
    "/me": {
      get: async (request, reply) => {
        const visitor = await desk.signedIn(request);
        return visitor === null ? desk.toSignIn(request, reply) : show(desk, { request, reply, visitor });
      },
    },
    "/me/name": { post: post("me.rename", rename) },
    "/me/passkeys": { post: post("passkey.add", add) },
    "/me/passkeys/options": { post: createOptions(desk) },
    "/me/passkeys/remove": { post: post("passkey.remove", remove) },
    "/me/sessions/end": { post: post("session.end_other", end) },
    "/me/sessions/end-others": { post: post("session.end_other", endOthers) },
  };
}

async function rename({ desk, fields, actor, me }: Own): Promise<string> {
  const name = await renameMe(desk.control.database, actor, me, fields.get("name") ?? "");
  return `You are called ${name} now.`;
}

async function add(own: Own): Promise<string> {
  const { desk, request, fields, actor, me, now } = own;
  const site = passkeySiteOf(request, desk.site);
  requireRight(actor, "passkey.add");
  if (site === null) throw invalid(NO_PASSKEYS_HERE);
  const credential = fields.get("credential") ?? "";
  const sent = { name: fields.get("name") ?? "", credential, site, now };
  const name = await addPasskey(desk.control.database, actor, me, sent);
  return `The passkey ${name} signs you in from now on.${await endIfAsked(own)}`;
}

async function remove(own: Own): Promise<string> {
  const { desk, fields, actor, me } = own;
  const keepsAWayIn = desk.site.publicOrigin === null || fields.get("knows") === "yes";
  const removed = { id: fields.get("id") ?? "", keepsAWayIn };
  const name = await removePasskey(desk.control.database, actor, me, removed);
  return `The passkey ${name} signs nobody in any more.${await endIfAsked(own)}`;
}

async function end({ desk, fields, actor, me, now }: Own): Promise<string> {
  await endSession(desk.control.database, actor, me, fields.get("id") ?? "", now);
  return "That sign-in has ended.";
}

async function endOthers({ desk, actor, me, now }: Own): Promise<string> {
  return ended(await endOtherSessions(desk.control.database, actor, me, now));
}

async function endIfAsked({ desk, fields, actor, me, now }: Own): Promise<string> {
  if (fields.get("end_others") !== "yes") return "";
  return ` ${ended(await endOtherSessions(desk.control.database, actor, me, now))}`;
}

const ended = (count: number): string =>
  count === 0 ? "There was no other sign-in." : `Your other sign-ins have ended: ${count}.`;

function createPost(desk: Desk, admits: MinuteLimit, action: string, perform: OwnAction): Handler {
  return async (request, reply) => {
    const visitor = await desk.signedIn(request);
    if (visitor === null) return desk.toSignIn(request, reply);
    const now = desk.now();
    const { userId, name } = visitor.person;
    if (!admits(userId, now)) return showOwn(desk, request, reply, { ...TOO_MANY, userName: name });
    const fields = formOf(request);
    const me = { userId, sessionHash: visitor.sessionHash };
    try {
      const sentence = await perform({
        desk,
        request,
        fields,
        actor: actorOf(visitor.person, "person", request, now),
        me,
        now,
      });
      return await reply.header("Set-Cookie", desk.done.write(sentence)).redirect("/me", 303);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      noteRefusal(request, error.message);
      return show(desk, { request, reply, visitor, refusedForm: { action, values: fields, refusal: error } });
    }
  };
}

/** What the browser needs to make one more passkey. */
function createOptions(desk: Desk): Handler {
  return async (request, reply) => {
    const visitor = await desk.signedIn(request);
    const site = passkeySiteOf(request, desk.site);
    if (visitor === null) return sendProblem(request, reply, 403, "You are no longer signed in.");
    if (site === null) return sendProblem(request, reply, 403, NO_PASSKEYS_HERE);
    try {
      requireRight(actorOf(visitor.person, "person", request, desk.now()), "passkey.add");
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return sendProblem(request, reply, STATUS[error.kind], error.message);
    }
    const { userId, name } = visitor.person;
    return reply.send(await desk.identity.enrolmentOf({ userId, name, site }));
  };
}

type Shown = { request: FastifyRequest; reply: FastifyReply; visitor: Visitor; refusedForm?: RefusedForm };

async function show(desk: Desk, { request, reply, visitor, refusedForm }: Shown): Promise<FastifyReply> {
  const { person, sessionHash } = visitor;
  const now = desk.now();
  const account = await showMe(desk.control.database, { userId: person.userId, sessionHash }, now);
  const body = meBody({
    account,
    name: person.name,
    isFresh: isFreshProof(person.provedAt, now),
    isPublic: desk.site.publicOrigin !== null,
    refusedForm: refusedForm ?? null,
  });
  const status = refusedForm === undefined ? 200 : STATUS[refusedForm.refusal.kind];
  return showOwn(desk, request, reply, { status, title: "Your account", body, userName: person.name });
}
