import type { FastifyReply, FastifyRequest } from "fastify";
import type { ControlTools } from "../control/acting.ts";
import type { Identity } from "../identity/identity.ts";
import type { PasskeySite } from "../identity/passkey.ts";
import type { SignedIn } from "../identity/session.ts";
import { noteRefusal } from "../http/request-log.ts";
import { renderHtml } from "../lib/html.ts";
import { CONSOLE_ASSETS } from "./console-assets.ts";
import type { DoneCookie } from "./done-cookie.ts";
import { formOf } from "./form-scope.ts";
import { layout } from "./layout.ts";
import type { ConsoleSite } from "./request-rules.ts";
import { stateMarkup } from "./send.ts";
import type { StatePage } from "./state-page.ts";
import { TOO_MANY } from "./entrance-page.ts";
import type { MinuteLimit } from "./minute-limit.ts";

export type EntranceOptions = {
  identity: Identity;
  control: ControlTools;
  site: ConsoleSite;
  now: () => Date;
};

export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
/** `formBytes`: how long its form may be, where that is less than the answer of a browser for a passkey. */
export type Handlers = { get?: Handler; post?: Handler; formBytes?: number };
/** By path. */
export type Routes = Readonly<Record<string, Handlers>>;

/** Whose request it is, and the hash of its cookie. */
export type Visitor = { person: SignedIn; sessionHash: Buffer };

/** What the pages beside those of workspaces are made with. */
export type Desk = EntranceOptions & {
  sessionHashOf: (request: FastifyRequest) => Buffer | null;
  /** Whose request this is, by the session cookie alone; null = nobody's. Keeps the session alive. */
  signedIn: (request: FastifyRequest) => Promise<Visitor | null>;
  /** Sends nobody's request to the sign-in, which leads back to the page that was asked for. */
  toSignIn: (request: FastifyRequest, reply: FastifyReply) => FastifyReply;
  /** As a Set-Cookie header. */
  writeSession: (session: string) => string;
  done: DoneCookie;
};

/** Sends a page that belongs to no workspace. */
export function showState(
  reply: FastifyReply,
  state: StatePage,
  userName: string | null = null,
): FastifyReply {
  const frame = { scripts: [CONSOLE_ASSETS.enterScript], userName, workspace: null };
  return sendMarkup(reply, state.status, renderHtml(stateMarkup(reply, state, frame)));
}

/** Sends a page of one's own account, with the sentence of what was done before it. */
export function showOwn(
  { done }: Desk,
  request: FastifyRequest,
  reply: FastifyReply,
  { status, title, body, userName }: Pick<StatePage, "status" | "title" | "body"> & { userName: string },
): FastifyReply {
  const sentence = done.read(request.headers.cookie);
  if (sentence !== null) reply.header("Set-Cookie", done.clear);
  const frame = {
    scripts: [CONSOLE_ASSETS.enterScript],
    userName,
    workspace: null,
    above: null,
    below: null,
  };
  return sendMarkup(reply, status, renderHtml(layout({ ...frame, title, body, done: sentence })));
}

function sendMarkup(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type("text/html; charset=utf-8").send(text);
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

/** The secret of a link that was sent; what was pasted may be the whole link. */
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

/** Lets so many posts of one address pass in a minute. */
export function limited(desk: Desk, admits: MinuteLimit, handler: Handler): Handler {
  return async (request, reply) => {
    if (admits(request.ip, desk.now())) return handler(request, reply);
    noteRefusal(request, "too many sign-ins from this address");
    return showState(reply, TOO_MANY);
  };
}

export const NO_PASSKEYS_HERE =
  "Passkeys do not work under an IP address: open the console as http://localhost instead.";
