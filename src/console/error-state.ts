import type { FastifyRequest } from "fastify";
import type { MemberAdmission } from "../access/admit-member.ts";
import { ApiError } from "../contract/errors.ts";
import { Refusal } from "../actions/refusal.ts";
import { placeOf } from "./member-guard.ts";
import { addressOf } from "./page-call.ts";
import { FILES } from "./registry.ts";
import { NOT_FOUND, badInput, forbidden, notReady, tooMany, unexpected, unconfirmed } from "./state-page.ts";
import type { StatePage } from "./state-page.ts";
import { inPageWords } from "./views/field-errors.ts";
import { waysOn } from "./views/ways-on.ts";
import { logFailure } from "../lib/log-failure.ts";

/** The page that says what went wrong with a request. */
export function stateOfError(
  error: unknown,
  request: FastifyRequest,
  member: MemberAdmission | null,
): StatePage {
  if (error instanceof Refusal) return stateOfRefusal(error, freshHref(request));
  if (error instanceof ApiError) {
    if (error.code === "invalid_request")
      return badInput(
        error.problems.map(({ sentence }) => inPageWords(sentence)).join(" "),
        freshHref(request),
      );
    if (error.code === "forbidden") return forbidden(inPageWords(error.message));
    if (error.code === "rate_limited") return tooMany(error.message, error.retryAfterSeconds ?? 1);
    if (error.code === "not_found") return NOT_FOUND;
    if (error.code === "not_ready") return notReadyFor(member);
  }
  logFailure(request.log, error, request.routeOptions.url);
  return unexpected(error, request.id);
}

function notReadyFor(member: MemberAdmission | null): StatePage {
  return member === null ? notReady("") : notReady(member.readiness, waysOn(member));
}

function stateOfRefusal({ kind, message }: Refusal, href: string): StatePage {
  if (kind === "forbidden") return forbidden(message);
  return kind === "unconfirmed" ? unconfirmed(message, href) : badInput(message, href);
}

/** The page itself without its query; a file needs one, so that it leads to the report that it is of. */
function freshHref(request: FastifyRequest): string {
  const { shopDomain, path } = placeOf(request);
  return addressOf(shopDomain, FILES.some((file) => file.path === path) ? "/report" : path);
}
