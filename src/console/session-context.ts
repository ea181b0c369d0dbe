import type { FastifyReply, FastifyRequest } from "fastify";
import type { Actor } from "../actions/actor.ts";
import { Refusal, STATUS_OF_REFUSAL } from "../actions/refusal.ts";
import { SenderGone } from "../actions/right.ts";
import { NO_PASSKEYS_HERE } from "../actions/account/actions.ts";
import type { ActionTools } from "../actions/action.ts";
import type { Identity } from "../access/identity.ts";
import type { PasskeySite } from "../access/passkey.ts";
import type { SignedIn } from "../access/session.ts";
import { parseQueryString } from "../http/query-string.ts";
import { noteRefusal } from "../http/request-log.ts";
import { CONSOLE_ASSETS, layout } from "./layout.ts";
import type { Cookie } from "../http/cookie.ts";
import { formOf } from "./form-scope.ts";
import type { createFlowCookie, createTargetCookie } from "./cookies.ts";
import type { ConsoleSite } from "./request-rules.ts";
import { actorOf, withQuery } from "./page-call.ts";
import { signInPage } from "./session-pages.ts";
import { sendHtml, stateMarkup } from "./send.ts";
import { tooMany, type StatePage } from "./state-page.ts";
import { TOO_MANY_FORMS, type MinuteLimit } from "./minute-limit.ts";
import type { FormPlace } from "./views/form.ts";

export type SessionOptions = {
  identity: Identity;
  control: ActionTools;
  site: ConsoleSite;
  now: () => Date;
  /** What workers and timers do; `alert`: the name of the alert that fires, null = none does. */
  checkRunning: () => Promise<{ name: string; alert: string | null; message: string }[]>;
};

export type RouteHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
/** `isOpen`: its address is the right to post to it, from anywhere and in any form. */
export type RouteHandlers = { get?: RouteHandler; post?: RouteHandler; isOpen?: true };
/** By path. */
export type Routes = Readonly<Record<string, RouteHandlers>>;

/** Whose request it is, and the hash of its cookie. */
export type Visitor = { person: SignedIn; sessionHash: Buffer };

/** The context of pages outside workspaces. */
export type SessionContext = SessionOptions & {
  sessionHashOf: (request: FastifyRequest) => Buffer | null;
  /** The person of a request, by the session cookie only; null: none. Keeps the session alive. */
  signedIn: (request: FastifyRequest) => Promise<Visitor | null>;
  /** Redirects a request without a session to the sign-in page, which returns to `page`; default: the requested one. */
  toSignIn: (request: FastifyRequest, reply: FastifyReply, page?: string) => FastifyReply;
  /** As a Set-Cookie header. */
  writeSession: (session: string) => string;
  done: Cookie;
  flow: ReturnType<typeof createFlowCookie>;
  /** The page that is shown after a sign-in. */
  target: ReturnType<typeof createTargetCookie>;
  /** Of forms of people, outside workspaces. */
  admitsForm: MinuteLimit;
};

/** The request of somebody who is signed in. */
export type OwnRequest = { request: FastifyRequest; reply: FastifyReply; visitor: Visitor };

/** Serves people who are signed in, and still are when the work begins; leads others to the sign-in page, and then to `back`. */
export function forVisitor(
  { signedIn, toSignIn }: Pick<SessionContext, "signedIn" | "toSignIn">,
  serve: (own: OwnRequest) => Promise<FastifyReply>,
  back?: (request: FastifyRequest) => string,
): RouteHandler {
  return async (request, reply) => {
    const visitor = await signedIn(request);
    if (visitor === null) return toSignIn(request, reply, back?.(request));
    try {
      return await serve({ request, reply, visitor });
    } catch (error) {
      if (error instanceof SenderGone) return toSignIn(request, reply, back?.(request));
      throw error;
    }
  };
}

/** The answer of `act`, or `refused` with its refusal. */
export async function orRefused(
  act: () => Promise<FastifyReply>,
  refused: (refusal: Refusal) => FastifyReply | Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return refused(error);
  }
}

const TOO_MANY = tooMany(TOO_MANY_FORMS, 60);

/** Takes a form of somebody who is signed in and has not sent too many; `act` may refuse it. */
export function forSender(
  context: SessionContext,
  act: (own: OwnRequest) => Promise<FastifyReply>,
  refused: (own: OwnRequest, refusal: Refusal) => FastifyReply | Promise<FastifyReply>,
): RouteHandler {
  return forVisitor(context, async (own) => {
    const { userId, name } = own.visitor.person;
    if (!context.admitsForm(userId, context.now())) return showState(own.reply, TOO_MANY, name);
    return orRefused(
      () => act(own),
      (refusal) => refused(own, refusal),
    );
  });
}

/** Leads on to a page, which shows what was done. */
export function leadOn({ done }: SessionContext, reply: FastifyReply, sentence: string, href: string) {
  return reply.header("Set-Cookie", done.write(sentence)).redirect(href, 303);
}

/** A person, as the actor of their request, and what their actions outside workspaces act with. */
export function ownCaller(
  { control, now }: SessionContext,
  { request, visitor: { person, sessionHash } }: Omit<OwnRequest, "reply">,
  standing: Actor["standing"] = person.isOperator ? "operator" : "person",
) {
  return { ...control, actor: actorOf(person, sessionHash, standing, request, now()), now: now() };
}

/** The parameters of an address. One that is not text, or not valid for PostgreSQL, counts as missing. */
export function queryOf({ raw }: FastifyRequest): Readonly<Record<string, string>> {
  const texts = [...parseQueryString(raw.url ?? "").values].flatMap(([name, value]) =>
    typeof value === "string" && (value.length <= 253 || name === "page") && !value.includes("\0")
      ? [[name, value.trim()]]
      : [],
  );
  return Object.fromEntries(texts) as Record<string, string>;
}

/** A form of a page, and why it was refused. */
export type RefusedAction = { action: { name: string }; refused: Refusal };

/** The place of the forms of a page at the path `page`; `form`: the one that was sent. */
export function formPlace(request: FastifyRequest, page: string, form: RefusedAction | undefined): FormPlace {
  const refusedForm = form && { action: form.action.name, values: formOf(request), refusal: form.refused };
  const href: FormPlace["href"] = (path, parameters) => withQuery(path || page, parameters);
  return { refusedForm: refusedForm ?? null, problems: [], href };
}

/** Shows the sign-in page to somebody who is not signed in. */
export function showSignIn({ control, site }: SessionContext, reply: FastifyReply): FastifyReply {
  return showState(reply, signInPage(site.publicOrigin !== null, control.provider));
}

/** Sends a page that belongs to no workspace. */
export function showState(
  reply: FastifyReply,
  state: StatePage,
  userName: string | null = null,
): FastifyReply {
  const frame = { scripts: [CONSOLE_ASSETS.enterScript], userName, workspace: null };
  return sendHtml(reply, state.status, stateMarkup(reply, state, frame));
}

/** A page of somebody's own; `refused`: why its form was. */
type OwnPage = Pick<StatePage, "title" | "body"> & { status?: number; refused?: Refusal | undefined };

/** Sends a page of somebody's own, with the last action's sentence; the log says why a form was refused. */
export function showOwn(
  { done }: SessionContext,
  { request, reply, visitor }: OwnRequest,
  { title, body, refused, status = refused === undefined ? 200 : STATUS_OF_REFUSAL[refused.kind] }: OwnPage,
): FastifyReply {
  if (refused !== undefined) noteRefusal(request, refused.message);
  const sentence = done.read(request.headers.cookie);
  if (sentence !== null) reply.header("Set-Cookie", done.clear);
  const markup = layout({
    scripts: [CONSOLE_ASSETS.enterScript],
    userName: visitor.person.name,
    workspace: null,
    title,
    body,
    done: sentence,
  });
  return sendHtml(reply, status, markup);
}

/** Where passkeys of this request's page belong; null = browsers have none there, as under an IP address. */
export function passkeySiteOf(
  { headers }: FastifyRequest,
  { publicOrigin }: ConsoleSite,
): PasskeySite | null {
  if (publicOrigin !== null) return { rpId: new URL(publicOrigin).hostname, origin: publicOrigin };
  const host = headers.host?.toLowerCase() ?? "";
  return /^localhost(?::\d+)?$/u.test(host) ? { rpId: "localhost", origin: `http://${host}` } : null;
}

/** Answers a script with what a browser needs for a passkey; `ask` returns that, or why there is none in a sentence. */
export function passkeyOptions(
  { site }: SessionContext,
  ask: (request: FastifyRequest, passkeySite: PasskeySite) => Promise<object | string>,
): RouteHandler {
  return (request, reply) => {
    const refuse = (status: number, message: string): FastifyReply => {
      noteRefusal(request, message);
      return reply.code(status).send({ message });
    };
    return orRefused(
      async () => {
        const passkeySite = passkeySiteOf(request, site);
        const options = passkeySite === null ? NO_PASSKEYS_HERE : await ask(request, passkeySite);
        return typeof options === "string" ? refuse(403, options) : reply.send(options);
      },
      ({ kind, message }) => refuse(STATUS_OF_REFUSAL[kind], message),
    );
  };
}
