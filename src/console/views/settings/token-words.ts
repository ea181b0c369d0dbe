import { ENDPOINTS } from "../../../contract/registry.ts";
import type { Endpoint, Scope } from "../../../contract/endpoint.ts";
import type { AttendedToken } from "../../../control/token-attention.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import { relativeTime } from "../../../lib/relative-time.ts";
import { day, instant } from "../../format.ts";

/** What each scope lets a program read. */
export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  "read:dashboard": "Catalogue, summaries and rankings",
  "read:reports": "Reports and monthly series",
  "read:exports": "Reports as CSV files",
  "read:alerts": "Alerts",
};

const DAY_MS = 86_400_000;

/** The endpoints that a scope opens. */
export function endpointsOf(scope: string): Endpoint[] {
  return (ENDPOINTS as readonly Endpoint[]).filter((endpoint) => endpoint.scope === scope);
}

/** Scopes in words; one that this version does not know stands as it is. */
export function scopeList(scopes: readonly string[]): string {
  const words: Readonly<Record<string, string>> = SCOPE_WORDS;
  return scopes.map((scope) => words[scope] ?? scope).join(" · ");
}

/** How a token begins. */
export function tokenPrefix(tokenId: string): string {
  return `rta_live_${tokenId}…`;
}

/** Who made a token. */
export function makerOf({ created_by: actor, maker_name: name }: AttendedToken): string {
  if (name !== null) return name;
  return actor.startsWith("user:") ? "a person who is no longer here" : actor;
}

export function isoDay(at: Date): string {
  return day(at.toISOString()) as string;
}

export function isoInstant(at: Date): string {
  return instant(at.toISOString()) as string;
}

/** "in 9 days", "in 5 h", "12 days ago". */
export function distance(at: Date, now: Date): string {
  const days = Math.floor(Math.abs(at.getTime() - now.getTime()) / DAY_MS);
  if (days < 2) return relativeTime(at, now);
  return at < now ? `${days} days ago` : `in ${days} days`;
}

/** When a token ends, and how far away that is. */
export function expiryText({ expires_at: at }: AttendedToken, now: Date): Html {
  if (at === null) return html`never`;
  return html`${isoDay(at)} <small>${distance(at, now)}</small>`;
}

/** When a token was last used. */
export function lastUsedText({ last_used_at: at }: AttendedToken, now: Date): Html {
  return at === null ? html`never` : html`${isoDay(at)} <small>${distance(at, now)}</small>`;
}

/** What a token is worth now, and why somebody should look at it. */
export function stateText(token: AttendedToken): Html {
  const { status, attention, replaced_by: replacedBy, isUsedSinceReplaced } = token;
  if (status === "revoked") return html`revoked`;
  if (status === "expired") return html`<strong>expired</strong>`;
  if (replacedBy !== null) {
    return html`being replaced <small>${isUsedSinceReplaced === true ? "still used" : "not used since"}</small>`;
  }
  if (attention === "expiring") return html`works <small class="tag">expires soon</small>`;
  if (attention === "unused") return html`works <small class="tag">unused for 90 days</small>`;
  return html`works`;
}
