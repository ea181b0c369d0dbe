import type { FastifyReply, FastifyRequest } from "fastify";
import type { ControlTools } from "../actions/action.ts";
import type { Identity } from "../access/identity.ts";
import type { PasskeySite } from "../access/passkey.ts";
import type { SignedIn } from "../access/session.ts";
import { noteRefusal } from "../http/request-log.ts";
import { createPlaces } from "../lib/places.ts";
import { CONSOLE_ASSETS, layout } from "./layout.ts";
import type { DoneCookie } from "./cookies.ts";
import { formOf } from "./form-scope.ts";
import type { ConsoleSite } from "./request-rules.ts";
import type { FlowCookie } from "./provider-flow.ts";
import { signInPage } from "./session-pages.ts";
import { sendHtml, stateMarkup } from "./send.ts";
import type { StatePage } from "./state-page.ts";
import type { MinuteLimit } from "./minute-limit.ts";

export type SessionOptions = {
  identity: Identity;
  control: ControlTools;
  site: ConsoleSite;
  now: () => Date;
  /** What workers and timers do; `alert`: the name of the alert that fires, null = none does. */
  checkRunning: () => Promise<{ name: string; alert: string | null; message: string }[]>;
};

export type RouteHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
/**
 * `formBytes`: how long its form may be, where that is less than the answer of a browser for a passkey. `isOpen`: its address
 * is the right to post to it, from anywhere and in any form.
 */
export type RouteHandlers = {
  get?: RouteHandler;
  post?: RouteHandler;
  formBytes?: number;
  isOpen?: true;
};
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
  done: DoneCookie;
  flow: FlowCookie;
};

/** Shows the ways in to somebody who is not signed in. */
export async function showSignIn(
  { control: { provider }, site }: SessionContext,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const shown = provider === null ? null : { name: provider.name, isUp: await provider.isUp() };
  return showState(reply, signInPage(site.publicOrigin !== null, shown));
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

/** Sends a page of the account, with the last action's sentence; the log says why a form was `refused`. */
export function showOwn(
  { done }: SessionContext,
  request: FastifyRequest,
  reply: FastifyReply,
  {
    refused,
    status,
    title,
    body,
    userName,
  }: Pick<StatePage, "status" | "title" | "body"> & { userName: string; refused?: string | undefined },
): FastifyReply {
  if (refused !== undefined) noteRefusal(request, refused);
  const sentence = done.read(request.headers.cookie);
  if (sentence !== null) reply.header("Set-Cookie", done.clear);
  const frame = {
    scripts: [CONSOLE_ASSETS.enterScript],
    userName,
    workspace: null,
    above: null,
    below: null,
  };
  return sendHtml(reply, status, layout({ ...frame, title, body, done: sentence }));
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

/** The secret of a submitted link; the whole link may be pasted. */
export function secretOf(request: FastifyRequest): string {
  const given = formOf(request).get("secret") ?? "";
  return given.slice(given.lastIndexOf("#") + 1).trim();
}

/** Answers a script of ours. */
export function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  message: string,
): FastifyReply {
  noteRefusal(request, message);
  return reply.code(status).send({ message });
}

/** An attempt to sign in, or to confirm an identity. */
type Attempt<Result> = {
  request: FastifyRequest;
  /** Whose failures count, such as an address. */
  key: string;
  now: Date;
  /** Checks cheaply, without writing, whether it can succeed. */
  canSucceed: () => Promise<boolean>;
  /** Beyond the limit refusals are not recorded, so that nobody can fill the table. */
  make: (recordsRefusals: boolean) => Promise<Result>;
  hasFailed: (result: Result) => boolean;
};

/** Leaves database connections for others when checks exceed the limit. */
const lookInTurn = createPlaces(2);

/**
 * Makes an attempt, with a limit on failures per minute; null: limit reached. Beyond the limit, attempts that can succeed are
 * still made: nobody is locked out by the failures of others at their address.
 */
export async function attempt<Result>(limit: MinuteLimit, asked: Attempt<Result>): Promise<Result | null> {
  const { request, key, now, canSucceed, make, hasFailed } = asked;
  const isWithin = limit(key, now);
  if (isWithin || (await lookInTurn(canSucceed))) {
    const result = await make(isWithin);
    if (!hasFailed(result)) limit.giveBack(key);
    if (isWithin || !hasFailed(result)) return result;
  }
  noteRefusal(request, "too many sign-ins from this address");
  return null;
}
