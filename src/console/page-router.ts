import { requireRight } from "../actions/right.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { DATA_PATH } from "../actions/workspace/page.ts";
import { ApiError } from "../contract/errors.ts";
import type { MemberAdmission } from "../access/admit-member.ts";
import type { RawInput } from "../contract/input.ts";
import { REST_WORDS } from "../contract/errors.ts";
import { note } from "../lib/trace.ts";
import { sendAnswer } from "../http/answer.ts";
import { parseQueryString } from "../http/query-string.ts";
import { stateOfError } from "./error-state.ts";
import type { MemberGuard } from "./member-guard.ts";
import { actorOf, addressOf, openCall } from "./page-call.ts";
import type { CallTools } from "./page-call.ts";
import { sendState } from "./page-send.ts";
import type { PageSender } from "./page-send.ts";
import type { Page, PageFile } from "./page.ts";
import { ACTIONS, MOVED, READABLE, SETTINGS } from "./registry.ts";
import { SEARCH_PATH } from "./pages/products.ts";
import { findByPath } from "./route.ts";
import { CHOICE_NAMES, pick } from "./selection.ts";
import { BILLING_INACTIVE, erasing, NOT_FOUND, notReady, ONLY_POST } from "./state-page.ts";
import type { StatePage } from "./state-page.ts";
import { waysOn } from "./views/ways-on.ts";

export type RouterOptions = { guard: MemberGuard; tools: CallTools; send: PageSender };

/** Routes a request to its page of the registry: member, page, right, data, view. */
export function createPageRouter({ guard, tools, send }: RouterOptions) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    let member: MemberAdmission | null = null;
    try {
      const admitted = await guard.admit(request, reply);
      if ("answered" in admitted) return await admitted.answered;
      member = admitted.member;
      const moved = MOVED.get(admitted.path);
      if (moved !== undefined) return await reply.redirect(movedTo(member, moved, request));
      const found = findByPath(READABLE, admitted.path);
      if (found === null) return await sendState({ request, reply }, missing(admitted.path, reply), member);
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
          openCall(tools, { request, member, actor, raw, held }),
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

/** In the address of a page: the id of the table that is asked for as a file. */
const TABLE_NAME = "csv";

/** What mail programs and advertisers add to links. Any other name that a page does not take is refused. */
const TRACKING = /^(?:utm_\w*|gclid|fbclid)$/u;

function withoutTracking({ values, refusals }: RawInput) {
  return { values: new Map([...values].filter(([name]) => !TRACKING.test(name))), refusals };
}

/** The page of today that shows what an address of an earlier version showed; what it has no name for is left out. */
function movedTo(
  { workspace }: MemberAdmission,
  view: Readonly<Record<string, string>>,
  { raw }: FastifyRequest,
): string {
  const values = Object.fromEntries(parseQueryString(raw.url ?? "").values);
  const kept = pick(values as Record<string, string>, [...CHOICE_NAMES, "vendor"]);
  return addressOf(workspace.shopDomain, SEARCH_PATH, { ...kept, ...view });
}

/** An action is no page. */
function missing(path: string, reply: FastifyReply): StatePage {
  if (findByPath(ACTIONS, path) === null) return NOT_FOUND;
  reply.header("Allow", "POST");
  return ONLY_POST;
}

/**
 * Why a member does not see a page of their own workspace whatever their role; null = they do. Settings are shown in any
 * state. Of a file the operation says whether the workspace is ready: it asks for what the plan includes first, as the API
 * does.
 */
function stateOf(member: MemberAdmission, page: Page | PageFile): StatePage | null {
  if (SETTINGS.some((each) => each === page)) return null;
  if (!member.isBillingActive) return BILLING_INACTIVE;
  if (member.eraseAfter !== null) return erasing(addressOf(member.workspace.shopDomain, DATA_PATH));
  return member.readiness === "ready" || !("view" in page)
    ? null
    : notReady(member.readiness, waysOn(member));
}
