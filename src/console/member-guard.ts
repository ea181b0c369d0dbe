import type { FastifyReply, FastifyRequest } from "fastify";
import type { MemberAdmission } from "../access/admit-member.ts";
import { ApiError } from "../contract/errors.ts";
import type { ConsoleOptions } from "./console.ts";
import type { SessionPages } from "./session-routes.ts";
import { createMinuteLimit } from "./minute-limit.ts";
import { sendState } from "./page-send.ts";
import { decodeSegment } from "./route.ts";
import { NOT_FOUND } from "./state-page.ts";

/** A request of a member: the hash of their cookie, and what it asks for below /w/<shop_domain>. */
type GuardedRequest = { member: MemberAdmission; sessionHash: Buffer; path: string };

type Guard = (
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<GuardedRequest | { answered: FastifyReply }>;

/**
 * Lets members of the workspace pass; everybody else is answered. `admit` is for the head of a request and counts it, `again`
 * for when its body has arrived, which may take as long as its sender likes.
 */
export type MemberGuard = { admit: Guard; again: Guard };

/** Of one person. A page makes up to 12 requests; the queue of its workspace bounds how many of them run at once. */
const MOST_PAGES_PER_MINUTE = 300;
const TOO_MANY_PAGES = new ApiError(
  "rate_limited",
  `You have opened more than ${MOST_PAGES_PER_MINUTE} pages within a minute. Wait a minute, then continue.`,
  { retryAfterSeconds: 60 },
);

/** Name and origin of the request, session, member, number of requests, in this order. */
export function createMemberGuard(options: ConsoleOptions & { sessions: SessionPages }): MemberGuard {
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
export function placeOf({ raw }: FastifyRequest): { shopDomain: string; path: string } {
  const [address = ""] = (raw.url ?? "").split("?", 1);
  const [, , shop = "", ...rest] = address.split("/");
  return { shopDomain: decodeSegment(shop), path: rest.length === 0 ? "" : `/${rest.join("/")}` };
}
