import type { FastifyReply, FastifyRequest } from "fastify";
import type { MemberAdmission } from "../admission/admit-member.ts";
import { ApiError } from "../contract/errors.ts";
import { REST_WORDS } from "../contract/vocabulary.ts";
import { sendAnswer } from "../http/answer.ts";
import { parseQueryString } from "../http/query-string.ts";
import type { ConsoleOptions } from "./console.ts";
import type { Entrance } from "./entrance.ts";
import { contentSecurityPolicy } from "./console-headers.ts";
import { layout } from "./layout.ts";
import { CONSOLE_ASSETS } from "./console-assets.ts";
import { createMinuteLimit } from "./minute-limit.ts";
import { addressOf, openCall } from "./page-call.ts";
import type { OpenCall, OperationByName } from "./page-call.ts";
import { createNameCheck } from "./page-names.ts";
import { ROLES } from "./page.ts";
import type { Page, PageFile, View } from "./page.ts";
import { FILES, PAGES } from "./registry.ts";
import { sendHtml, stateMarkup } from "./send.ts";
import {
  BILLING_INACTIVE,
  NOT_FOUND,
  badInput,
  forbidden,
  notReady,
  tooMany,
  unexpected,
} from "./state-page.ts";
import type { StatePage } from "./state-page.ts";
import { apiBox } from "./views/api-box.ts";
import { asOf, printedFooter } from "./views/as-of.ts";

type PageLoopOptions = Pick<ConsoleOptions, "operations" | "admitMember" | "identity" | "site" | "now"> & {
  entrance: Entrance;
};
type Exchange = { request: FastifyRequest; reply: FastifyReply };

/** Of one session. A page makes up to 12 requests; the queue of its shop bounds how many of them run at once. */
const MOST_PAGES_PER_MINUTE = 300;
const TOO_MANY_PAGES = new ApiError(
  "rate_limited",
  `You have opened more than ${MOST_PAGES_PER_MINUTE} pages within a minute. Wait a minute, then go on.`,
  { retryAfterSeconds: 60 },
);

/** The loop over the registry: address, session, member, page, role, data, view. */
export function createPageLoop(options: PageLoopOptions) {
  const operations = new Map(options.operations.map((operation) => [operation.endpoint.name, operation]));
  const operationOf: OperationByName = (name) => {
    const operation = operations.get(name);
    if (operation === undefined) throw new Error(`there is no operation ${name}`);
    return operation;
  };
  const sendPage = pageSender(options, operationOf);
  const admits = createMinuteLimit(MOST_PAGES_PER_MINUTE);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { entrance, now } = options;
    const refused = entrance.guard(request, reply);
    if (refused !== null) return refused;
    let member: MemberAdmission | null = null;
    try {
      const { shopDomain, path } = placeOf(request);
      const sessionHash = entrance.sessionHashOf(request);
      if (sessionHash === null) return await entrance.toSignIn(request, reply);
      const admission = await options.admitMember({ sessionHash, shopDomain });
      if (admission === "signed_out") return await entrance.toSignIn(request, reply);
      if (!admits(sessionHash.toString("hex"), now())) throw TOO_MANY_PAGES;
      if (admission === "not_found") return await sendState({ request, reply }, NOT_FOUND, null);
      member = admission;
      const { userId, visit, workspace } = member;
      await options.identity.noteVisit({ ...visit, sessionHash, userId, shopKey: workspace.shopKey });
      const found = FILES.find((file) => file.path === path) ?? PAGES.find((page) => page.path === path);
      if (found === undefined) return await sendState({ request, reply }, NOT_FOUND, member);
      request.log = request.log.child({ page: found.name, user_id: userId });
      const state = stateOf(member, found);
      if (state !== null) return await sendState({ request, reply }, state, member);
      if ("view" in found) return await sendPage({ request, reply }, found, member);
      const parameters = () => parseQueryString(request.raw.url ?? "");
      const answer = await operationOf(found.endpoint).read(member, { words: REST_WORDS, parameters });
      return await sendAnswer(reply, answer);
    } catch (error) {
      return sendState({ request, reply }, stateOfError(error, request, member), member);
    }
  };
}

/** The workspace and page that an address names; the router has decoded neither. */
function placeOf({ raw }: FastifyRequest): { shopDomain: string; path: string } {
  const [address = ""] = (raw.url ?? "").split("?", 1);
  const [, , shop = "", ...rest] = address.split("/");
  return { shopDomain: decode(shop), path: rest.length === 0 ? "" : `/${rest.join("/")}` };
}

/** An address that is no percent-encoded UTF-8, or that holds a control character, names nothing. */
function decode(text: string): string {
  try {
    const decoded = decodeURIComponent(text);
    return /\p{Cc}/u.test(decoded) ? "" : decoded;
  } catch {
    return "";
  }
}

/**
 * Why a member does not see a page of their own workspace; null = they do. Of a file the operation says whether the
 * workspace is ready: it asks for what the plan includes first, as the API does.
 */
function stateOf(member: MemberAdmission, found: Page | PageFile): StatePage | null {
  const { role } = found;
  if (!member.isBillingActive) return BILLING_INACTIVE;
  if (ROLES.indexOf(member.role) < ROLES.indexOf(role)) {
    return forbidden(`This page needs the role ${role}; yours is ${member.role}.`);
  }
  return member.readiness === "ready" || !("view" in found) ? null : notReady(member.readiness);
}

function stateOfError(error: unknown, request: FastifyRequest, member: MemberAdmission | null): StatePage {
  if (error instanceof ApiError) {
    if (error.code === "invalid_request") return badInput(error.message, freshHref(request));
    if (error.code === "forbidden") return forbidden(error.message);
    if (error.code === "rate_limited") return tooMany(error.message, error.retryAfterSeconds ?? 1);
    if (error.code === "not_found") return NOT_FOUND;
    if (error.code === "not_ready") return notReady(member?.readiness ?? "");
  }
  request.log.error({ err: error, route: request.routeOptions.url }, "unexpected error");
  return unexpected(error, request.id);
}

/** The page itself without its query; a file needs one, so that it leads to the report that it is of. */
function freshHref(request: FastifyRequest): string {
  const { shopDomain, path } = placeOf(request);
  return addressOf(shopDomain, FILES.some((file) => file.path === path) ? "/report" : path);
}

function pageSender(options: PageLoopOptions, operationOf: OperationByName) {
  return async ({ request, reply }: Exchange, page: Page, member: MemberAdmission): Promise<FastifyReply> => {
    const call = openCall(member, parseQueryString(request.raw.url ?? ""), operationOf);
    const { status, title, body } = await viewOf(page, call);
    reply.header("Content-Security-Policy", contentSecurityPolicy(call.imageSources));
    const origin = options.site.publicOrigin ?? `http://${request.headers.host}`;
    const markup = layout({
      title,
      scripts: [CONSOLE_ASSETS.pageScript],
      userName: member.userName,
      workspace: workspaceOf(member, page),
      above: asOf(call.answers(), member),
      body,
      below: status === 200 ? apiBox(call.requests, origin) : null,
      printed: printedFooter(`${origin}${request.raw.url}`, call.answers(), member),
    });
    return sendHtml(request, reply, status, markup);
  };
}

const checkNames = createNameCheck(PAGES);

/** A query that the API refuses shows the page's form with the API's sentences, where the page has one. */
async function viewOf(page: Page, call: OpenCall): Promise<View & { status: number }> {
  try {
    checkNames(page, Object.keys(call.query));
    return { status: 200, ...page.view(await page.data(call), call) };
  } catch (error) {
    const isRefusal = error instanceof ApiError && error.code === "invalid_request";
    if (!isRefusal || page.refused === undefined) throw error;
    return { status: 400, ...page.refused({ ...call, problems: error.problems }) };
  }
}

function sendState(
  { request, reply }: Exchange,
  state: StatePage,
  member: MemberAdmission | null,
): Promise<FastifyReply> {
  const workspace = member === null ? null : workspaceOf(member, null);
  const frame = { scripts: [], userName: member?.userName ?? null, workspace };
  return sendHtml(request, reply, state.status, stateMarkup(reply, state, frame));
}

/** The navigation of a workspace: every page of the registry that is listed, and that the member's role opens. */
function workspaceOf({ workspace, role }: MemberAdmission, current: Page | null) {
  const { shopDomain } = workspace;
  const mine = PAGES.filter((page) => ROLES.indexOf(page.role) <= ROLES.indexOf(role));
  return {
    shopDomain,
    href: addressOf(shopDomain, ""),
    links: mine.flatMap(({ link, path }) =>
      link === null
        ? []
        : [{ href: addressOf(shopDomain, path), text: link, isCurrent: path === current?.path }],
    ),
  };
}
