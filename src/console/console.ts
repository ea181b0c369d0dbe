import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { WORKSPACE_BUSY, type AdmitMember, type MemberAdmission } from "../access/admit-member.ts";
import type { Operation } from "../access/operation.ts";
import { DEMO_PICTURES_ROUTE, demoPictures } from "../demo/pictures.ts";
import type { RouteGroup } from "../http/server.ts";
import { assetRoute, getRoute } from "../http/assets.ts";
import { CONSOLE_ASSETS } from "./layout.ts";
import { createSessionPages, type SessionPages } from "./session-routes.ts";
import { formScope, formOf } from "./form-scope.ts";
import { operationByName, actorOf, addressOf, openCall, type CallTools, type OpenCall } from "./page-call.ts";
import { createOauthRoutes } from "./oauth-routes.ts";
import { createPageSender, sendState, type PageSender, type Exchange } from "./page-send.ts";
import type { SessionOptions } from "./session-context.ts";
import { Refusal, STATUS_OF_REFUSAL } from "../actions/refusal.ts";
import { requireRight, SenderGone } from "../actions/right.ts";
import { DATA_PATH } from "../actions/workspace/page.ts";
import { ApiError, REST_WORDS } from "../contract/errors.ts";
import type { RawInput } from "../contract/input.ts";
import { sendAnswer } from "../http/answer.ts";
import { parseQueryString } from "../http/query-string.ts";
import { noteRefusal } from "../http/request-log.ts";
import { logFailure } from "../lib/log-failure.ts";
import { note } from "../lib/trace.ts";
import type { Cookie } from "../http/cookie.ts";
import { createMinuteLimit, MOST_FORMS_PER_MINUTE, TOO_MANY_FORMS } from "./minute-limit.ts";
import type { FormAction, FormOutcome, Page, PageFile } from "./page.ts";
import { SEARCH_PATH } from "./pages/products.ts";
import { ACTIONS, MOVED, READABLE, SETTINGS, FILES } from "./registry.ts";
import { findByPath, decodeSegment } from "./route.ts";
import { CHOICE_NAMES, pick } from "./selection.ts";
import {
  BILLING_INACTIVE,
  erasing,
  NOT_FOUND,
  notReady,
  ONLY_POST,
  ONLY_GET,
  badInput,
  forbidden,
  tooMany,
  unexpected,
  unconfirmed,
} from "./state-page.ts";
import type { StatePage } from "./state-page.ts";
import { inPageWords } from "./views/form.ts";
import { waysOn } from "./views/as-of.ts";

type ConsoleOptions = SessionOptions & {
  operations: readonly Operation[];
  admitMember: AdmitMember;
};

const FORM_LIMIT_BYTES = 65_536;
/** Of an upload. */
const PART_LIMIT_BYTES = 4_194_304;

/** The pages of workspaces, and their assets. They run no queries and compute no figures: they call the API's operations. */
export function createConsole(options: ConsoleOptions): RouteGroup[] {
  const sessions = createSessionPages(options);
  const { done } = sessions;
  const shared = {
    guard: createMemberGuard({ ...options, sessions }),
    tools: {
      operationOf: operationByName(options.operations),
      control: options.control,
      site: options.site,
      now: options.now,
    },
    send: createPageSender(done),
  };
  const servePage = createPageRouter(shared);
  const actions = createActionRouter({ ...shared, done, sessions });
  return [
    {
      path: "/w/*",
      allowedMethods: "GET, HEAD, POST",
      register: (server: FastifyInstance): void => {
        server.get("/w/*", servePage);
        formScope(server, { formBytes: FORM_LIMIT_BYTES, partBytes: PART_LIMIT_BYTES }, (scope) => {
          scope.addHook("onRequest", actions.admit);
          scope.post("/w/*", actions.perform);
        });
      },
    },
    ...sessions.routeGroups,
    ...createOauthRoutes(options),
    ...CONSOLE_ASSETS.all.map(assetRoute),
    pictureRoute(),
  ];
}

/**
 * The pictures of the demo store, all on one route: one for each would take a megabyte of every process, and a series of
 * metrics. Their names do not change when they are drawn in another way, so they are kept for a day.
 */
function pictureRoute(): RouteGroup {
  const bodies = demoPictures();
  return getRoute(DEMO_PICTURES_ROUTE, (request, reply) => {
    const [address = ""] = (request.raw.url ?? "").split("?", 1);
    const body = bodies.get(address);
    if (body === undefined) return reply.callNotFound();
    return reply
      .type("image/svg+xml")
      .header("Content-Security-Policy", "default-src 'none'")
      .header("Cache-Control", "public, max-age=86400")
      .send(body);
  });
}

type RouterOptions = { guard: MemberGuard; tools: CallTools; send: PageSender };

/** Routes a request to its page of the registry: member, page, right, data, view. */
function createPageRouter({ guard, tools, send }: RouterOptions) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    let member: MemberAdmission | null = null;
    try {
      const admitted = await guard.admit(request, reply);
      if ("answered" in admitted) return await admitted.answered;
      member = admitted.member;
      const moved = MOVED.get(admitted.path);
      if (moved !== undefined) return await reply.redirect(movedTo(member, moved, request));
      const found = findByPath(READABLE, admitted.path);
      if (found === null)
        return await sendState({ request, reply }, missing(request, reply, admitted.path), member);
      const { place: page, held } = found;
      request.log = request.log.child({ page: page.name });
      note({ "returns.page": page.name });
      const actor = actorOf(member, admitted.sessionHash, member.role, request, tools.now());
      const state = stateOf(member, page);
      if (state !== null) return await sendState({ request, reply }, state, member);
      requireRight(actor, page.right);
      if ("view" in page) {
        const raw = withoutTracking(parseQueryString(request.raw.url ?? ""));
        const table = raw.values.get(TABLE_NAME);
        raw.values.delete(TABLE_NAME);
        if (typeof table === "string" && !member.workspace.entitlements.includes("data_export"))
          throw new ApiError("forbidden", "Your plan does not include downloads as CSV.");
        return await send.page(
          { request, reply },
          page,
          member,
          openCall(tools, { request, member, actor, page, raw, held }),
          typeof table === "string" ? table : null,
        );
      }
      const parameters = () => parseQueryString(request.raw.url ?? "");
      const answer = await tools.operationOf(page.endpoint).read(member, { words: REST_WORDS, parameters });
      return await sendAnswer(reply, answer);
    } catch (error) {
      return sendState({ request, reply }, stateOfError(error, request, member), member);
    }
  };
}

/** Parameter in a page's address: the id of the table requested as a file. */
const TABLE_NAME = "csv";

/** Parameters that mail programs and advertisers add to links. Any other unknown name is refused. */
const TRACKING = /^(?:utm_\w*|gclid|fbclid)$/u;

function withoutTracking({ values, refusals }: RawInput) {
  return { values: new Map([...values].filter(([name]) => !TRACKING.test(name))), refusals };
}

/** The current page for an address of an earlier version; parameters without an equivalent are dropped. */
function movedTo(
  { workspace }: MemberAdmission,
  view: Readonly<Record<string, string>>,
  { raw }: FastifyRequest,
): string {
  const values = Object.fromEntries(parseQueryString(raw.url ?? "").values);
  const kept = pick(values as Record<string, string>, [...CHOICE_NAMES, "vendor"]);
  return addressOf(workspace.shopDomain, SEARCH_PATH, { ...kept, ...view });
}

/** An action is no page, and a page takes no form. */
function missing(request: FastifyRequest, reply: FastifyReply, path: string): StatePage {
  const isPost = request.method === "POST";
  if (findByPath<{ path: string }>(isPost ? READABLE : ACTIONS, path) === null) return NOT_FOUND;
  reply.header("Allow", isPost ? "GET, HEAD" : "POST");
  return isPost ? ONLY_GET : ONLY_POST;
}

/**
 * Why a member of any role cannot see a page of their own workspace; null: they can. Settings are shown in any state. For a file
 * the operation checks readiness: it checks the plan first, as the API does.
 */
function stateOf(member: MemberAdmission, page: Page | PageFile): StatePage | null {
  if (SETTINGS.some((each) => each === page)) return null;
  if (!member.isBillingActive) return BILLING_INACTIVE;
  if (member.eraseAfter !== null) return erasing(addressOf(member.workspace.shopDomain, DATA_PATH));
  return member.readiness === "ready" || !("view" in page)
    ? null
    : notReady(member.readiness, waysOn(member));
}

/** Each holds some 16 MB while it is taken in: its bytes, and a copy on the way to the database. */
const MOST_PARTS_AT_ONCE = 12;
/** The page sends one at a time. */
const MOST_OF_ONE = 2;

/**
 * This process's slots for bodies of bytes, taken before a body is read and released when its request has ended. Throws if all
 * are taken, or those of the workspace or the person: one person may belong to many workspaces.
 */
function createPartPlaces(): (member: MemberAdmission, reply: FastifyReply) => void {
  const takenBy = new Map<number | string, number>();
  let taken = 0;
  const change = (key: number | string, by: 1 | -1): void => {
    const count = (takenBy.get(key) ?? 0) + by;
    if (count === 0) takenBy.delete(key);
    else takenBy.set(key, count);
  };
  return ({ workspace: { shopKey }, userId }, reply) => {
    // The connection closed during the sender's look-up, so the slot would never be released.
    if (reply.raw.closed) return;
    if ((takenBy.get(shopKey) ?? 0) >= MOST_OF_ONE)
      throw partRefused(`${MOST_OF_ONE} parts of uploads to this workspace are being received.`);
    if ((takenBy.get(userId) ?? 0) >= MOST_OF_ONE)
      throw partRefused(`${MOST_OF_ONE} parts of your uploads are being received.`);
    if (taken >= MOST_PARTS_AT_ONCE)
      throw partRefused(`${MOST_PARTS_AT_ONCE} parts of uploads are being received.`);
    const add = (by: 1 | -1): void => {
      change(shopKey, by);
      change(userId, by);
      taken += by;
    };
    add(1);
    reply.raw.once("close", () => add(-1));
  };
}

function partRefused(sentence: string): ApiError {
  const message = `${sentence} Send this one again in a second.`;
  return new ApiError("rate_limited", message, { retryAfterSeconds: 1 });
}

type ActionRouterOptions = RouterOptions & { done: Cookie; sessions: Pick<SessionPages, "toSignIn"> };

const BYTES_TYPE = /^application\/octet-stream\b/iu;
const TAKES_FORM = new ApiError("invalid_request", "This accepts a form, not binary data.");
const TOO_MANY = new ApiError("rate_limited", TOO_MANY_FORMS, { retryAfterSeconds: 60 });

/**
 * Routes a form to its action of the registry: member, action, right, effect, outcome. `admit` runs before the body is read: a
 * stranger's body is not read, nor are bytes that the member may not send. After its arrival, the member is admitted again, and
 * the action locks their rights.
 */
function createActionRouter({ guard, tools, send, done, sessions }: ActionRouterOptions) {
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
        takePlace(member, reply);
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
      if (found === null) return await sendState({ request, reply }, missing(request, reply, path), member);
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
        call: openCall(tools, { request, member, actor, page: action.page, raw, held }),
      };
      try {
        requireRight(actor, action.right);
        const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        return await sendOutcome(sent, await action.perform({ ...sent.call, form: formOf(request), bytes }));
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

/** A submitted action, and its response. */
type SentAction = Exchange & {
  member: MemberAdmission;
  action: FormAction;
  call: OpenCall;
  send: PageSender;
  done: Cookie;
};

async function sendOutcome(sent: SentAction, outcome: FormOutcome): Promise<FastifyReply> {
  const { request, reply, member, action, send, done } = sent;
  if ("done" in outcome) {
    return reply.header("Set-Cookie", done.write(outcome.done)).redirect(outcome.href, 303);
  }
  if ("json" in outcome) return reply.send(outcome.json);
  if ("leave" in outcome) return reply.redirect(outcome.leave, 303);
  if ("view" in outcome) {
    return send.view({ request, reply }, action.page, member, { status: 200, ...outcome.view });
  }
  const { name, type, body } = outcome.file;
  return reply.type(type).header("Content-Disposition", `attachment; filename="${name}"`).send(body);
}

/** The refusal of a script's request. */
function sendSentence({ request, reply }: Exchange, { kind, message }: Refusal): FastifyReply {
  noteRefusal(request, message);
  return reply.code(STATUS_OF_REFUSAL[kind]).send({ error: { kind, message } });
}

/** Shows the form's page again with the entered values; a script gets only the sentence. */
async function sendRefusal(sent: SentAction, refusal: Refusal): Promise<FastifyReply> {
  const { request, reply, member, action, call, send } = sent;
  const { page } = action;
  if (action.isScript === true) return sendSentence(sent, refusal);
  noteRefusal(request, refusal.message);
  if (refusal.kind === "forbidden") throw refusal;
  const status = STATUS_OF_REFUSAL[refusal.kind];
  const again = { ...call, refusedForm: { action: action.name, values: formOf(request), refusal } };
  const view = page.view(await page.data(again), again);
  return send.view({ request, reply }, page, member, { status, ...view });
}

const BUSY =
  "The service is still computing figures of this workspace. Open this page again in a few seconds: it continues where it stopped.";

/** The page that explains a failed request. */
function stateOfError(error: unknown, request: FastifyRequest, member: MemberAdmission | null): StatePage {
  if (error instanceof Refusal) return stateOfRefusal(error, freshHref(request));
  if (error instanceof ApiError) {
    if (error.code === "invalid_request")
      return badInput(
        error.problems.map(({ sentence }) => inPageWords(sentence)).join(" "),
        freshHref(request),
      );
    if (error.code === "forbidden") return forbidden(inPageWords(error.message));
    if (error.code === "rate_limited") {
      const sentence = error.message === WORKSPACE_BUSY ? BUSY : error.message;
      return tooMany(sentence, error.retryAfterSeconds ?? 1);
    }
    if (error.code === "not_found") return NOT_FOUND;
    if (error.code === "not_ready")
      return member === null ? notReady("") : notReady(member.readiness, waysOn(member));
  }
  logFailure(request.log, error, request.routeOptions.url);
  return unexpected(error, request.id);
}

function stateOfRefusal({ kind, message }: Refusal, href: string): StatePage {
  if (kind === "forbidden") return forbidden(message);
  return kind === "unconfirmed" ? unconfirmed(message, href) : badInput(message, href);
}

/** The page without its query; a file needs one, to refer to its report. */
function freshHref(request: FastifyRequest): string {
  const { shopDomain, path } = placeOf(request);
  return addressOf(shopDomain, FILES.some((file) => file.path === path) ? "/report" : path);
}

/** A member's request: the hash of their cookie, and the path below /w/<shop_domain>. */
type GuardedRequest = { member: MemberAdmission; sessionHash: Buffer; path: string };

type Guard = (
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<GuardedRequest | { answered: FastifyReply }>;

/**
 * Lets members of the workspace pass; everybody else is answered. `admit` is for the head of a request and counts it, `again`
 * for when its body has arrived, which may take as long as its sender likes.
 */
type MemberGuard = { admit: Guard; again: Guard };

/** Per person. A page makes up to 12 requests; its workspace's queue limits how many run at once. */
const MOST_PAGES_PER_MINUTE = 300;
const TOO_MANY_PAGES = new ApiError(
  "rate_limited",
  `You have opened more than ${MOST_PAGES_PER_MINUTE} pages within a minute. Wait a minute, then continue.`,
  { retryAfterSeconds: 60 },
);

/** Name and origin of the request, session, member, number of requests, in this order. */
function createMemberGuard(options: ConsoleOptions & { sessions: SessionPages }): MemberGuard {
  const { sessions, now } = options;
  const admits = createMinuteLimit(MOST_PAGES_PER_MINUTE);
  const pass = async (request: FastifyRequest, reply: FastifyReply, isHead: boolean) => {
    const { shopDomain, path } = placeOf(request);
    const sessionHash = sessions.sessionHashOf(request);
    if (sessionHash === null) return { answered: sessions.toSignIn(request, reply) };
    const member = await options.admitMember({ sessionHash, shopDomain });
    if (member === "signed_out") return { answered: sessions.toSignIn(request, reply) };
    if (isHead && !admits(member.userId, now())) throw TOO_MANY_PAGES;
    if (member.role === null) return { answered: await sendState({ request, reply }, NOT_FOUND, null) };
    return { member, sessionHash, path };
  };
  return {
    admit: async (request, reply) => {
      const refused = sessions.guard(request, reply);
      if (refused !== null) return { answered: refused };
      const passed = await pass(request, reply, true);
      if ("answered" in passed) return passed;
      const { member, sessionHash } = passed;
      const { userId, visit, workspace } = member;
      await options.identity.noteVisit({ ...visit, sessionHash, userId, shopKey: workspace.shopKey });
      request.log = request.log.child({ user_id: userId });
      return passed;
    },
    again: (request, reply) => pass(request, reply, false),
  };
}

/** The workspace and page that an address names; the router has decoded neither. */
function placeOf({ raw }: FastifyRequest): { shopDomain: string; path: string } {
  const [address = ""] = (raw.url ?? "").split("?", 1);
  const [, , shop = "", ...rest] = address.split("/");
  return { shopDomain: decodeSegment(shop), path: rest.length === 0 ? "" : `/${rest.join("/")}` };
}
