import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { hashSecret } from "../identity/secret.ts";
import { LONGEST_SESSION_SECONDS } from "../identity/session.ts";
import type { Identity } from "../identity/identity.ts";
import type { SignedIn } from "../identity/session.ts";
import { createCookie } from "../http/cookie.ts";
import { noteRefusal } from "../http/request-log.ts";
import type { Surface } from "../http/server.ts";
import { renderHtml } from "../lib/html.ts";
import { CONSOLE_ASSETS } from "./console-assets.ts";
import { consoleHeaders } from "./console-headers.ts";
import {
  chooser,
  ENTER,
  NO_SIGN_IN,
  OTHER_ORIGIN,
  otherHost,
  refusedLink,
  SIGN_IN,
  TOO_MANY,
} from "./entrance-page.ts";
import { createMinuteLimit } from "./minute-limit.ts";
import { formScope } from "./form-scope.ts";
import { judgeRequest } from "./request-rules.ts";
import type { ConsoleSite } from "./request-rules.ts";
import { stateMarkup } from "./send.ts";
import type { StatePage } from "./state-page.ts";
import { createTargetCookie } from "./target-cookie.ts";
import type { TargetCookie } from "./target-cookie.ts";

export type EntranceOptions = { identity: Identity; site: ConsoleSite; now: () => Date };

/** The way into the console, and what its other pages ask of it. */
export type Entrance = {
  surfaces: Surface[];
  /** Sets the headers of every page; answers a request that came by another name or from another site, else null. */
  guard: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | null;
  /** SHA-256 of the session cookie; null = there is none. */
  sessionHashOf: (request: FastifyRequest) => Buffer | null;
  /** Sends nobody's request to the sign-in, which leads back to the page that was asked for. */
  toSignIn: (request: FastifyRequest, reply: FastifyReply) => FastifyReply;
};

/** Whose request this is, by the session cookie alone; null = nobody's. Keeps the session alive. */
type ReadSignedIn = (request: FastifyRequest) => Promise<SignedIn | null>;
type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
type Handlers = { get?: Handler; post?: Handler };

/** Of one address. */
const MOST_SIGN_INS_PER_MINUTE = 30;
const FORM_LIMIT_BYTES = 2048;
/** Not "cookies": it would sign people out of every other service of the domain, or of localhost. */
const CLEARED_DATA = '"cache", "storage"';

export function createEntrance(options: EntranceOptions): Entrance {
  const { identity, site } = options;
  const cookie = createCookie("returns", site.publicOrigin !== null, LONGEST_SESSION_SECONDS);
  const target = createTargetCookie(site.publicOrigin !== null);
  const headers = consoleHeaders(site);
  const sessionHashOf = (request: FastifyRequest): Buffer | null =>
    hashSecret(cookie.read(request.headers.cookie) ?? "");
  const guard = (request: FastifyRequest, reply: FastifyReply): FastifyReply | null => {
    reply.headers(headers);
    const { host, origin, "sec-fetch-site": fetchSite } = request.headers;
    const head = { method: request.method, host, origin, fetchSite: fetchSite?.toString() };
    const verdict = judgeRequest(head, site);
    if (verdict === "allowed") return null;
    const isOtherHost = verdict === "other_host";
    noteRefusal(request, isOtherHost ? "the console has no such name" : "not sent by a page of the console");
    const port = request.socket.localPort ?? 0;
    return send(reply, isOtherHost ? otherHost(site.publicOrigin, port) : OTHER_ORIGIN);
  };
  const signedIn: ReadSignedIn = async (request) => {
    const sessionHash = sessionHashOf(request);
    const person = sessionHash === null ? null : await identity.readSession(sessionHash);
    if (person !== null) request.log = request.log.child({ user_id: person.userId });
    return person;
  };
  const signIn = createSignIn(options, { sessionHashOf, write: (session) => cookie.write(session), target });
  const signOut: Handler = async (request, reply) => {
    const sessionHash = sessionHashOf(request);
    const userId = sessionHash === null ? null : await identity.signOut(sessionHash);
    if (userId !== null) request.log.info({ user_id: userId }, "signed out");
    reply.headers({ "Set-Cookie": cookie.clear, "Clear-Site-Data": CLEARED_DATA });
    return reply.redirect("/sign-in", 303);
  };
  const routes = { ...pagesOf(identity, site, signedIn), "/sign-out": { post: signOut } };
  const surfaces = Object.entries<Handlers>({ ...routes, "/enter": { ...routes["/enter"], post: signIn } });
  return {
    surfaces: surfaces.map(([path, handlers]) => surface(path, handlers, guard)),
    guard,
    sessionHashOf,
    toSignIn: (request, reply) => {
      const kept = target.write(request.raw.url ?? "");
      if (kept !== null) reply.header("Set-Cookie", kept);
      return reply.redirect("/sign-in", 303);
    },
  };
}

/** The pages that only read. */
function pagesOf(identity: Identity, site: ConsoleSite, signedIn: ReadSignedIn) {
  const enter = site.publicOrigin === null ? ENTER : NO_SIGN_IN;
  const signInPage = site.publicOrigin === null ? SIGN_IN : NO_SIGN_IN;
  const home: Handler = async (request, reply) => {
    const person = await signedIn(request);
    if (person === null) return send(reply, signInPage);
    const workspaces = await identity.workspacesOf(person.userId);
    const [only, another] = workspaces;
    const last = workspaces.find((workspace) => workspace.shop_key === person.lastShopKey);
    const chosen = last ?? (another === undefined ? only : undefined);
    if (workspaces.length === 0 && person.isOperator) return reply.redirect("/welcome", 303);
    return reply.redirect(chosen === undefined ? "/w" : `/w/${encodeURIComponent(chosen.shop_domain)}`, 303);
  };
  const choose: Handler = async (request, reply) => {
    const person = await signedIn(request);
    if (person === null) return reply.redirect("/sign-in", 303);
    return send(reply, chooser(await identity.workspacesOf(person.userId), person.isOperator), person.name);
  };
  return {
    "/": { get: home },
    "/w": { get: choose },
    "/sign-in": {
      get: async (request: FastifyRequest, reply: FastifyReply) =>
        (await signedIn(request)) === null ? send(reply, signInPage) : reply.redirect("/", 303),
    },
    "/enter": { get: async (_request: FastifyRequest, reply: FastifyReply) => send(reply, enter) },
  };
}

type SessionPlace = {
  sessionHashOf: Entrance["sessionHashOf"];
  write: (session: string) => string;
  target: TargetCookie;
};

/** The one action that makes a session. A link that is refused says why to whoever has it, and to the log. */
function createSignIn(
  { identity, site, now }: EntranceOptions,
  { sessionHashOf, write, target }: SessionPlace,
): Handler {
  const admits = createMinuteLimit(MOST_SIGN_INS_PER_MINUTE);
  return async (request, reply) => {
    if (site.publicOrigin !== null) {
      noteRefusal(request, "nobody can sign in at an https address yet");
      return send(reply, { ...NO_SIGN_IN, status: 403 });
    }
    if (!admits(request.ip, now())) {
      noteRefusal(request, "too many sign-ins from this address");
      return send(reply, TOO_MANY);
    }
    const result = await identity.signIn(secretOf(request), sessionHashOf(request));
    if (result.userId !== null) request.log = request.log.child({ user_id: result.userId });
    if (result.outcome === "signed_in") {
      request.log.info("signed in");
      const page = target.read(request.headers.cookie);
      reply.header("Set-Cookie", write(result.session));
      if (page !== null) reply.header("Set-Cookie", target.clear);
      return reply.redirect(page ?? "/", 303);
    }
    noteRefusal(request, `sign-in link: ${result.outcome}`);
    return send(reply, refusedLink(result.outcome));
  };
}

/** What was pasted may be the whole link. */
function secretOf({ body }: FastifyRequest): string {
  const given = body instanceof URLSearchParams ? (body.get("secret") ?? "") : "";
  return given.slice(given.lastIndexOf("#") + 1).trim();
}

function surface(path: string, { get, post }: Handlers, guard: Entrance["guard"]): Surface {
  const methods = [get && "GET, HEAD", post && "POST"].filter((method) => method !== undefined);
  return {
    path,
    allowedMethods: methods.join(", "),
    register: (server: FastifyInstance): void => {
      formScope(server, { formBytes: FORM_LIMIT_BYTES, partBytes: null }, (scope) => {
        scope.addHook("onRequest", (request, reply, done) => {
          if (guard(request, reply) === null) done();
        });
        if (get !== undefined) scope.get(path, get);
        if (post !== undefined) scope.post(path, post);
      });
    },
  };
}

function send(reply: FastifyReply, state: StatePage, userName: string | null = null): FastifyReply {
  const frame = { scripts: [CONSOLE_ASSETS.enterScript], userName, workspace: null };
  return reply
    .code(state.status)
    .type("text/html; charset=utf-8")
    .send(renderHtml(stateMarkup(reply, state, frame)));
}
