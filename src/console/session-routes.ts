import { accountRoutes } from "../actions/account/page.ts";
import { consentRoutes } from "../actions/apps/page.ts";
import { digestRoutes } from "../actions/digest/link-page.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { hashSecret } from "../access/secret.ts";
import { LONGEST_SESSION_SECONDS } from "../access/session.ts";
import { createCookie } from "../http/cookie.ts";
import { noteRefusal } from "../http/request-log.ts";
import type { RouteGroup } from "../http/server.ts";
import { consoleHeaders, isOfAppWindow, judgeRequest, type ConsoleSite } from "./request-rules.ts";
import { flowKeyOf } from "../lib/keys.ts";
import { operatorRoutes } from "./operator.ts";
import { createFlowCookie, leave } from "./provider-flow.ts";
import { queryOf, showSignIn, showState } from "./session-context.ts";
import type { SessionContext, SessionOptions, RouteHandlers, Routes } from "./session-context.ts";
import { chooser, OTHER_ORIGIN, otherHost } from "./session-pages.ts";
import { formScope } from "./form-scope.ts";
import { createMinuteLimit, MOST_FORMS_PER_MINUTE } from "./minute-limit.ts";
import { signInRoutes } from "./sign-in.ts";
import { switchedPage } from "./layout.ts";
import { createDoneCookie, createTargetCookie, SENT } from "./cookies.ts";
import { welcomeRoutes } from "./welcome.ts";

/** Sign-in to the console, and the functions that its other pages use. */
export type SessionPages = Pick<SessionContext, "sessionHashOf" | "toSignIn" | "done"> & {
  surfaces: RouteGroup[];
  /** Sets the headers of every page; answers a request that came by another name or from another site, else null. */
  guard: (request: FastifyRequest, reply: FastifyReply, isOpen?: boolean) => FastifyReply | null;
};

/** Of the answer of a browser for a passkey. */
const FORM_LIMIT_BYTES = 16_384;
/** Not "cookies": it would sign people out of every other service of the domain, or of localhost. */
const CLEARED_DATA = '"cache", "storage"';

export function createSessionPages(options: SessionOptions): SessionPages {
  const { identity, site } = options;
  const isSecure = site.publicOrigin !== null;
  const cookie = createCookie("returns", isSecure, LONGEST_SESSION_SECONDS);
  const target = createTargetCookie(isSecure);
  const sessionHashOf = (request: FastifyRequest): Buffer | null =>
    hashSecret(cookie.read(request.headers.cookie) ?? "");
  const context: SessionContext = {
    ...options,
    sessionHashOf,
    signedIn: async (request) => {
      const sessionHash = sessionHashOf(request);
      const person = sessionHash === null ? null : await identity.readSession(sessionHash);
      if (sessionHash === null || person === null) return null;
      request.log = request.log.child({ user_id: person.userId });
      return { person, sessionHash };
    },
    toSignIn: (request, reply, page) => {
      const kept = target.write(page ?? (request.raw.url ?? "") + (request.method === "POST" ? SENT : ""));
      if (kept !== null) reply.header("Set-Cookie", kept);
      return reply.redirect("/sign-in", 303);
    },
    writeSession: (session) => cookie.write(session),
    done: createDoneCookie(isSecure),
    flow: createFlowCookie(isSecure, flowKeyOf(options.control.keys)),
    target,
    admitsForm: createMinuteLimit(MOST_FORMS_PER_MINUTE),
  };
  const routes: Routes = {
    ...homeRoutes(context),
    ...signInRoutes(context),
    ...accountRoutes(context),
    ...consentRoutes(context),
    ...digestRoutes(context),
    ...welcomeRoutes(context),
    ...operatorRoutes(context),
    "/sign-out": {
      post: async (request, reply) => {
        const sessionHash = sessionHashOf(request);
        const idToken = sessionHash === null ? null : await identity.idTokenOf(sessionHash);
        const userId =
          sessionHash === null ? null : await identity.signOut(sessionHash, request.clientAddress);
        if (userId !== null) request.log.info({ user_id: userId }, "signed out");
        reply.headers({ "Set-Cookie": [cookie.clear, context.done.clear], "Clear-Site-Data": CLEARED_DATA });
        const { provider } = options.control;
        const away = idToken === null || provider === null ? null : await provider.signOutUrl(idToken);
        return away === null || provider === null
          ? reply.redirect("/sign-in", 303)
          : leave(reply, away, provider.name);
      },
    },
  };
  const guard = createGuard(site);
  const surfaces = Object.entries(routes).map(([path, handlers]) => surface(path, handlers, guard));
  return { surfaces, guard, sessionHashOf, toSignIn: context.toSignIn, done: context.done };
}

function createGuard(site: ConsoleSite): SessionPages["guard"] {
  const headers = consoleHeaders(site);
  return (request, reply, isOpen = false) => {
    reply.headers(headers);
    if (isOfAppWindow(request.raw.url ?? "")) reply.header("Cross-Origin-Opener-Policy", "unsafe-none");
    const { host, origin, "sec-fetch-site": fetchSite } = request.headers;
    const head = { method: isOpen ? "GET" : request.method, host, origin, fetchSite: fetchSite?.toString() };
    const verdict = judgeRequest(head, site);
    if (verdict === "allowed") return null;
    const isOtherHost = verdict === "other_host";
    noteRefusal(request, isOtherHost ? "the console has no such name" : "not sent by a page of the console");
    const port = request.socket.localPort ?? 0;
    return showState(reply, isOtherHost ? otherHost(site.publicOrigin, port) : OTHER_ORIGIN);
  };
}

/** Where a person's work begins. */
function homeRoutes(context: SessionContext): Routes {
  const { identity, signedIn } = context;
  return {
    "/": {
      get: async (request, reply) => {
        const visitor = await signedIn(request);
        if (visitor === null) return showSignIn(context, reply);
        const { userId, lastShopKey, isOperator } = visitor.person;
        const { shopDomain, hasAny } = await identity.homeOf(userId, lastShopKey);
        if (!hasAny && isOperator) return reply.redirect("/welcome", 303);
        return reply.redirect(shopDomain === null ? "/w" : `/w/${encodeURIComponent(shopDomain)}`, 303);
      },
    },
    "/w": {
      get: async (request, reply) => {
        const visitor = await signedIn(request);
        if (visitor === null) return reply.redirect("/sign-in", 303);
        const { userId, name, isOperator } = visitor.person;
        const { q: search = "", after = "", page = "" } = queryOf(request);
        const found = await identity.workspacesOf(userId, { search, after });
        return showState(
          reply,
          chooser({ ...found, search, after, page: switchedPage(page) }, isOperator),
          name,
        );
      },
    },
  };
}

function surface(
  path: string,
  { get, post, formBytes = FORM_LIMIT_BYTES, isOpen }: RouteHandlers,
  guard: SessionPages["guard"],
): RouteGroup {
  const methods = [get && "GET, HEAD", post && "POST"].filter((method) => method !== undefined);
  return {
    path,
    allowedMethods: methods.join(", "),
    register: (server: FastifyInstance): void => {
      formScope(server, { formBytes, partBytes: null }, (scope) => {
        if (isOpen === true) {
          const options = { parseAs: "string", bodyLimit: formBytes } as const;
          scope.addContentTypeParser("*", options, (_request, _body, done) => done(null));
        }
        scope.addHook("onRequest", (request, reply, done) => {
          if (guard(request, reply, isOpen === true) === null) done();
        });
        if (get !== undefined) scope.get(path, get);
        if (post !== undefined) scope.post(path, post);
      });
    },
  };
}
