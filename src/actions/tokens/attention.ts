import type { TokenRow, UsedTokenRow } from "./queries.ts";

/** A token of the list, and why somebody should look at it; null = nothing is wrong with it. */
export type AttendedToken = UsedTokenRow & {
  status: "active" | "expired" | "revoked";
  attention: "expired" | "expiring" | "unused" | null;
  /** It has ended, and needs no attention. */
  is_over: boolean;
  /** Whether it was used after another one took its place; null = none has. */
  is_used_since_replaced: boolean | null;
};

const DAY_MS = 86_400_000;
/** When the first notice goes out, too. */
const EXPIRING_DAYS = 14;
/** How long it stays listed, so that people can see why requests with it fail. */
const EXPIRED_DAYS = 30;
const UNUSED_DAYS = 90;

/** Whether requests with a token are accepted, as far as the token is concerned. */
export function statusOf(token: TokenRow, now: Date): AttendedToken["status"] {
  if (token.revoked_at !== null) return "revoked";
  return token.expires_at !== null && token.expires_at <= now ? "expired" : "active";
}

/** A token's needed attention at a given time. */
export function attend(token: UsedTokenRow, now: Date): AttendedToken {
  const status = statusOf(token, now);
  const attention = attentionOf(token, status, now);
  const is_used_since_replaced =
    token.replaced_at === null ? null : token.last_used_at !== null && token.last_used_at > token.replaced_at;
  return {
    ...token,
    status,
    attention,
    is_over: status !== "active" && attention === null,
    is_used_since_replaced,
  };
}

/** Expired or expiring ones first, by their expiry; then unused ones; then the rest by name. */
export function sortByAttention(tokens: readonly AttendedToken[]): AttendedToken[] {
  const rankOf = ({ attention }: AttendedToken): number =>
    attention === null ? 2 : attention === "unused" ? 1 : 0;
  const endOf = ({ expires_at: at }: AttendedToken): number => at?.getTime() ?? Number.MAX_SAFE_INTEGER;
  return tokens.toSorted(
    (one, other) =>
      rankOf(one) - rankOf(other) ||
      (rankOf(one) === 0 ? endOf(one) - endOf(other) : 0) ||
      one.name.localeCompare(other.name, "en") ||
      one.token_id.localeCompare(other.token_id, "en"),
  );
}

function attentionOf(
  token: UsedTokenRow,
  status: AttendedToken["status"],
  now: Date,
): AttendedToken["attention"] {
  const { expires_at: expiresAt, last_used_at: lastUsedAt, created_at: createdAt } = token;
  if (status === "revoked" || token.replaced_by !== null || token.app_redirect_uri !== null) return null;
  const daysLeft = expiresAt === null ? Infinity : (expiresAt.getTime() - now.getTime()) / DAY_MS;
  if (status === "expired") return daysLeft > -EXPIRED_DAYS ? "expired" : null;
  if (daysLeft <= EXPIRING_DAYS) return "expiring";
  const idleDays = (now.getTime() - (lastUsedAt ?? createdAt).getTime()) / DAY_MS;
  return idleDays >= UNUSED_DAYS ? "unused" : null;
}
