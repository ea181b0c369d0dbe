import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { CALLBACK_PATH, hasSignedInAgain, type Provider } from "../access/provider.ts";
import { hashSecret } from "../access/secret.ts";
import { isFreshProof, LONGEST_SESSION_SECONDS } from "../access/session.ts";
import { REFUSALS } from "../access/sign-in.ts";
import type { Evidence, Refused, SignIn, SignInRefusal } from "../access/sign-in.ts";
import { NO_PASSKEYS_HERE } from "../actions/account/actions.ts";
import { accountRoutes, linkPost } from "../actions/account/page.ts";
import { digestRoutes } from "../actions/digest/link-page.ts";
import { clientKeyOf } from "../http/client-address.ts";
import { createCookie } from "../http/cookie.ts";
import { noteRefusal } from "../http/request-log.ts";
import type { RouteGroup } from "../http/server.ts";
import { html, type Html } from "../lib/html.ts";
import { keyFor } from "../lib/keys.ts";
import { createPlaces } from "../lib/places.ts";
import { createDoneCookie, createFlowCookie, createTargetCookie, isConsolePath, SENT } from "./cookies.ts";
import { formOf, formScope } from "./form-scope.ts";
import { homeRoutes } from "./home.ts";
import { withQuery } from "./page-call.ts";
import { OFFER_PASSKEY } from "./layout.ts";
import { createMinuteLimit, MOST_FORMS_PER_MINUTE, type MinuteLimit } from "./minute-limit.ts";
import { authorizeRoutes } from "./oauth-routes.ts";
import { operatorRoutes } from "./operator.ts";
import { ACTIONS } from "./registry.ts";
import { consoleHeaders, isOfAppWindow, judgeRequest, type ConsoleSite } from "./request-rules.ts";
import { fillPath, findByPath } from "./route.ts";
import {
  forVisitor,
  leadOn,
  passkeyOptions,
  passkeySiteOf,
  showOwn,
  showSignIn,
  showState,
} from "./session-context.ts";
import type {
  OwnRequest,
  RouteHandler,
  RouteHandlers,
  Routes,
  SessionContext,
  SessionOptions,
  Visitor,
} from "./session-context.ts";
import {
  kindOfRefusal,
  OTHER_ORIGIN,
  otherHost,
  providerForm,
  refusedSignIn,
  secretField,
  signInState,
  TOO_MANY,
} from "./session-pages.ts";
import { statePage } from "./state-page.ts";
import { HOW_TO_GET_A_LINK, passkeyForm } from "./views/form.ts";

/** Sign-in to the console, and the functions that its other pages use. */
export type SessionPages = Pick<SessionContext, "sessionHashOf" | "toSignIn" | "done"> & {
  routeGroups: RouteGroup[];
  /** Sets the headers of every page; answers a request that came by another name or from another site, else null. */
  guard: (request: FastifyRequest, reply: FastifyReply, isOpen?: boolean) => FastifyReply | null;
};

/** Of the answer of a browser for a passkey, which is longer than any other form. */
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
    flow: createFlowCookie(isSecure, keyFor("provider", options.control.keys)),
    target,
    admitsForm: createMinuteLimit(MOST_FORMS_PER_MINUTE),
  };
  const routes: Routes = {
    ...homeRoutes(context),
    ...signInRoutes(context),
    ...accountRoutes(context),
    ...authorizeRoutes(context),
    ...digestRoutes(context),
    ...operatorRoutes(context),
    "/sign-out": {
      post: async (request, reply) => {
        const sessionHash = sessionHashOf(request);
        const ended = sessionHash && (await identity.signOut(sessionHash, request.clientAddress));
        if (ended !== null) request.log.info({ user_id: ended.user_id }, "signed out");
        const idToken = ended?.id_token ?? null;
        reply.headers({ "Set-Cookie": [cookie.clear, context.done.clear], "Clear-Site-Data": CLEARED_DATA });
        const away = idToken === null ? null : await options.control.provider?.signOutUrl(idToken);
        return typeof away === "string" ? leave(reply, away) : reply.redirect("/sign-in", 303);
      },
    },
  };
  const guard = createGuard(site);
  const routeGroups = Object.entries(routes).map(([path, handlers]) => routeGroup(path, handlers, guard));
  return { routeGroups, guard, sessionHashOf, toSignIn: context.toSignIn, done: context.done };
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

function routeGroup(
  path: string,
  { get, post, isOpen }: RouteHandlers,
  guard: SessionPages["guard"],
): RouteGroup {
  const methods = [get && "GET, HEAD", post && "POST"].filter((method) => method !== undefined);
  return {
    path,
    allowedMethods: methods.join(", "),
    register: (server: FastifyInstance): void => {
      formScope(server, { formBytes: FORM_LIMIT_BYTES, partBytes: null }, (scope) => {
        if (isOpen === true) {
          const options = { parseAs: "string", bodyLimit: FORM_LIMIT_BYTES } as const;
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

/** Failed attempts: per address of those who sign in, per person of those who confirm. */
const MOST_PER_MINUTE = 30;

/** Somebody who signs in or, as `visitor`, confirms who they are and then goes on to the page `next`. */
type Asking = { request: FastifyRequest; reply: FastifyReply; visitor: Visitor | null; next: string };

/**
 * Sign-in, and the confirmation of who is signed in, by the same three ways: a passkey, which first requests its options, an account
 * at the identity provider, and one-time links, which over https only let their person create a passkey.
 */
function signInRoutes(context: SessionContext): Routes {
  const { identity, site } = context;
  const { provider } = context.control;
  const isPublic = site.publicOrigin !== null;
  const attempts = createMinuteLimit(MOST_PER_MINUTE);
  const signIn =
    (isByLink: boolean): RouteHandler =>
    (request, reply) =>
      authenticate(context, attempts, { request, reply, visitor: null, next: "" }, isByLink);
  return {
    "/enter": {
      get: async (request, reply) => {
        const name = new URLSearchParams(request.raw.url?.split("?")[1]).get("link") ?? "";
        const link = await identity.describeLink(name);
        return showState(reply, signInState(link, isPublic, provider));
      },
      post: signIn(true),
    },
    // What a browser needs to create the first passkey of a link's person.
    "/enter/options": {
      post: passkeyOptions(context, async (request, passkeySite) => {
        if (!isPublic) return NO_PASSKEYS_HERE;
        const options = await identity.enrolmentByLink(secretOf(request), passkeySite);
        return "outcome" in options ? REFUSALS[options.outcome] : options;
      }),
    },
    "/sign-in": {
      get: async (request, reply) =>
        (await context.signedIn(request)) === null ? showSignIn(context, reply) : reply.redirect("/", 303),
      post: signIn(false),
    },
    "/sign-in/options": {
      post: passkeyOptions(context, (_, passkeySite) => identity.signatureFor(null, passkeySite)),
    },
    "/confirm": {
      get: forVisitor(context, (own) => showConfirm(context, own, nextOf(own.request)), nextOf),
      post: forVisitor(
        context,
        async (own) => {
          const { request, visitor } = own;
          const isByLink = await takesLink(context, request, visitor.person.userId);
          return authenticate(context, attempts, { ...own, next: nextOf(request) }, isByLink);
        },
        nextOf,
      ),
    },
    "/confirm/options": {
      post: passkeyOptions(context, async (request, passkeySite) => {
        const visitor = await context.signedIn(request);
        if (visitor === null) return REFUSALS.signed_out;
        return identity.signatureFor(visitor.person.userId, passkeySite);
      }),
    },
    ...(provider !== null && providerRoutes(context, provider)),
  };
}

/** The same through the identity provider, which links the account of somebody who is signed in and has none. */
function providerRoutes(context: SessionContext, provider: Provider): Routes {
  const { flow: cookie, identity, now, site } = context;
  const send = async (reply: FastifyReply, userId: string | null, next: string): Promise<FastifyReply> => {
    // What is no page of the console could also be too long for a cookie.
    const page = isConsolePath(next) ? next : "";
    const begun = await provider.begin({ userId, next: page, startedAt: now().getTime() });
    if (begun === null) return showState(reply, refusedSignIn("down", site.publicOrigin !== null));
    reply.header("Set-Cookie", cookie.write(begun.flow));
    return leave(reply, begun.url);
  };
  return {
    // `next`: of somebody who is signed in.
    "/sign-in/provider": {
      post: async (request, reply) => {
        const next = formOf(request).get("next");
        if (next === null) return send(reply, null, "");
        const visitor = await context.signedIn(request);
        if (visitor === null) return context.toSignIn(request, reply, next);
        const { userId, authenticatedAt } = visitor.person;
        // To link an account, a person confirms in another way first.
        if (!isFreshProof(authenticatedAt, now()) && !(await identity.hasAccount(userId, provider.issuer)))
          return reply.redirect(withQuery("/confirm", { next }), 303);
        return send(reply, userId, next);
      },
    },
    [CALLBACK_PATH]: {
      get: async (request, reply) => {
        const query = (request.raw.url ?? "").slice(CALLBACK_PATH.length);
        const begun = cookie.read(request.headers.cookie, now());
        // Each answer has one attempt: whatever the result, its sign-in is over.
        reply.header("Set-Cookie", cookie.clear);
        const flow = new URLSearchParams(query).get("state") === begun?.state ? begun : null;
        const asking = { request, reply, visitor: null, next: "" };
        if (flow === null) return finish(context, asking, ELSEWHERE);
        const account = await provider.finish(query, flow);
        if ("outcome" in account) return finish(context, asking, account);
        const evidence = { way: "provider", account, startedAt: new Date(flow.startedAt) } as const;
        const browser = { oldSessionHash: context.sessionHashOf(request), origin: request.clientAddress };
        if (flow.userId === null)
          return finish(context, asking, await identity.signIn({ ...evidence, ...browser }));
        const visitor = await context.signedIn(request);
        if (visitor === null) return context.toSignIn(request, reply, flow.next);
        const { userId } = visitor.person;
        if (userId !== flow.userId) return finish(context, asking, ELSEWHERE);
        const back = { request, reply, visitor, next: flow.next };
        if (await identity.hasAccount(userId, provider.issuer))
          return finish(context, back, await identity.signIn({ ...evidence, ...browser, userId }));
        if (hasSignedInAgain(account, evidence.startedAt) === false)
          return finish(context, back, { outcome: "not_again", userId });
        return linkPost(context, account)(request, reply);
      },
    },
  };
}

const ELSEWHERE: Refused = { outcome: "elsewhere", userId: null };

/**
 * Sends a browser to another site after a form. A redirect would require that site in `form-action` of every page with the form,
 * and Chromium would check all further redirects against it.
 */
function leave(reply: FastifyReply, url: string): FastifyReply {
  const title = `Continue to ${new URL(url).host}`;
  reply.header("Refresh", `0; url=${url}`);
  return showState(reply, statePage(200, title, html`<p><a href="${url}">${title}</a></p>`));
}

/** Leaves database connections for others when checks exceed the limit. */
const lookInTurn = createPlaces(2);

/**
 * Tries a sent link or passkey, with a limit on failures per minute. Beyond it, attempts that can succeed are still made: nobody is
 * locked out by the failures of others at their address. Their refusals are not recorded, so that nobody can fill the table.
 */
async function authenticate(
  context: SessionContext,
  limit: MinuteLimit,
  asking: Asking,
  isByLink: boolean,
): Promise<FastifyReply> {
  const { request, reply, visitor } = asking;
  const { identity } = context;
  const evidence = evidenceOf(context, request, isByLink);
  if (evidence === null) return finish(context, asking, { outcome: "rejected", userId: null });
  const userId = visitor?.person.userId ?? null;
  const key = userId ?? clientKeyOf(request.clientAddress);
  const isWithin = limit(key, context.now());
  if (isWithin || (await lookInTurn(() => identity.mayAccept(evidence, userId)))) {
    const browser = { userId, oldSessionHash: context.sessionHashOf(request), origin: request.clientAddress };
    const result = await identity.signIn({ ...evidence, ...browser, recordsRefusals: isWithin });
    const hasFailed = result.outcome !== "signed_in";
    if (!hasFailed) limit.giveBack(key);
    if (isWithin || !hasFailed) return finish(context, asking, result);
  }
  noteRefusal(request, "too many sign-ins from this address");
  return showState(reply, TOO_MANY);
}

/** null: it takes a passkey, which browsers do not have under an IP address. */
function evidenceOf(context: SessionContext, request: FastifyRequest, isByLink: boolean): Evidence | null {
  const secret = secretOf(request);
  if (isByLink && context.site.publicOrigin === null) return { way: "link", secret };
  const site = passkeySiteOf(request, context.site);
  const credential = formOf(request).get("credential") ?? "";
  if (site === null) return null;
  return isByLink ? { way: "enrolment", secret, credential, site } : { way: "passkey", credential, site };
}

/** The secret of a submitted link; the whole link may be pasted. */
function secretOf(request: FastifyRequest): string {
  const given = formOf(request).get("secret") ?? "";
  return given.slice(given.lastIndexOf("#") + 1).trim();
}

const PROVED = "You have confirmed your identity. The confirmation lasts 10 minutes.";

/** Answers an attempt. A refusal is explained to the person, and in the log. */
async function finish(context: SessionContext, asking: Asking, result: SignIn): Promise<FastifyReply> {
  const { request, reply, visitor, next } = asking;
  if (visitor === null && result.userId !== null) request.log = request.log.child({ user_id: result.userId });
  if (result.outcome !== "signed_in") return refuse(context, asking, result.outcome);
  request.log.info(visitor === null ? "signed in" : "confirmed their identity");
  reply.header("Set-Cookie", context.writeSession(result.session));
  if (visitor !== null) return leadOn(context, reply, PROVED, isConsolePath(next) ? next : "/");
  const asked = context.target.read(request.headers.cookie);
  const wasSent = asked?.endsWith(SENT) === true;
  const sentence = wasSent ? NOT_SENT : await greetingOf(context, request, result);
  if (asked !== null) reply.header("Set-Cookie", context.target.clear);
  if (sentence !== null) reply.header("Set-Cookie", context.done.write(sentence));
  return reply.redirect((wasSent ? formPage(asked) : asked) ?? "/", 303);
}

function refuse(
  context: SessionContext,
  { request, reply, visitor, next }: Asking,
  outcome: SignInRefusal,
): FastifyReply | Promise<FastifyReply> {
  if (outcome === "signed_out") return context.toSignIn(request, reply, next);
  noteRefusal(request, `${visitor === null ? kindOfRefusal(outcome) : "proof"}: ${outcome}`);
  return visitor === null
    ? showState(reply, refusedSignIn(outcome, context.site.publicOrigin !== null))
    : showConfirm(context, { request, reply, visitor }, next, REFUSALS[outcome]);
}

const NOT_SENT =
  "You were signed out when you sent the form, so nothing was changed. Fill it in and send it again.";
const AFTER_RECOVERY =
  "Your earlier passkeys and linked accounts have been removed, and every other sign-in has ended.";
/** Passkeys need a name: an IP address has none. */
const NO_PASSKEY_HERE = `You are signed in. ${NO_PASSKEYS_HERE} There a passkey can sign you in without a link.`;

async function greetingOf(
  { identity, site }: SessionContext,
  request: FastifyRequest,
  { userId, isRecovery }: Exclude<SignIn, Refused>,
): Promise<string | null> {
  if (isRecovery) return AFTER_RECOVERY;
  if (!(await identity.isNewcomer(userId))) return null;
  return passkeySiteOf(request, site) === null ? NO_PASSKEY_HERE : OFFER_PASSKEY;
}

/** The page of a form of a workspace, by the address that the form was sent to. */
function formPage(asked: string): string {
  const [, , shop = "", ...rest] = asked.slice(0, -SENT.length).split("?", 1)[0]?.split("/") ?? [];
  const found = findByPath(ACTIONS, `/${rest.join("/")}`);
  return `/w/${shop}${found === null ? "" : fillPath(found.place.page.path, found.held)}`;
}

/** The page that required a confirmation: in the address of a page, or in a form. */
function nextOf(request: FastifyRequest): string {
  if (request.method === "POST") return formOf(request).get("next") ?? "";
  return new URL(request.raw.url ?? "", "http://localhost").searchParams.get("next") ?? "";
}

/** A link confirms an identity only on this machine, and only of a person without passkeys. */
async function takesLink(
  { identity, site }: SessionContext,
  request: FastifyRequest,
  userId: string,
): Promise<boolean> {
  if (site.publicOrigin !== null) return false;
  const passkeySite = passkeySiteOf(request, site) ?? { rpId: "localhost", origin: "" };
  return !(await identity.hasPasskey(userId, passkeySite));
}

async function showConfirm(
  context: SessionContext,
  own: OwnRequest,
  next: string,
  problem?: string,
): Promise<FastifyReply> {
  const { request, visitor } = own;
  const { userId, name: userName } = visitor.person;
  const goesOn = html`<input type="hidden" name="next" value="${next}" />`;
  const form = (await takesLink(context, request, userId))
    ? linkForm(goesOn)
    : passkeyForm({ action: "/confirm", kind: "get", button: "Confirm with a passkey", fields: goesOn });
  const { provider } = context.control;
  const isLinked = provider !== null && (await context.identity.hasAccount(userId, provider.issuer));
  const title = "Confirm your identity";
  const body = html`<article class="state">
    <h1>${title}</h1>
    ${problem !== undefined && html`<p class="banner refused" role="alert">${problem}</p>`}
    <p>You are signed in as ${userName}. Confirm your identity to change who has access. A confirmation lasts 10 minutes.</p>
    ${isLinked && providerForm(`Confirm with ${provider.name}`, goesOn)} ${form}
    <p><a href="${isConsolePath(next) ? next : "/"}">Go back without confirming</a></p>
  </article>`;
  return showOwn(context, own, { status: problem === undefined ? 200 : 403, title, body });
}

function linkForm(goesOn: Html): Html {
  return html`${HOW_TO_GET_A_LINK}
    <form method="post" action="/confirm">
      ${goesOn} ${secretField("Paste the link here instead of opening it")}
      <button>Confirm</button>
    </form>`;
}
