import {
  listEndingTokens,
  MANAGERS,
  notifyMembers,
  type EndingTokenRow,
  type Notice,
} from "../store/queries/notice.ts";
import type { Database } from "../store/database.ts";
import { daysText, minuteText, readableName } from "./wording.ts";

/** Notifies a workspace's owners and admins of tokens that expire soon, once per token and stage. */
export async function writeTokenNotices(database: Database, shopKey: number, now: Date): Promise<void> {
  const until = new Date(now.getTime() + NOTICE_DAYS * DAY_MS);
  for (const token of await listEndingTokens(database, shopKey, now, until)) {
    const notice = tokenNotice(token, now);
    if (notice !== null) await notifyMembers(database, shopKey, MANAGERS, notice);
  }
}

const DAY_MS = 86_400_000;
/** How many days before a token expires the workspace's owners and admins are notified, the last stage first. */
const STAGES = [
  { days: 3, severity: "critical" },
  { days: 14, severity: "warning" },
] as const;
/** From the first notice on. */
const NOTICE_DAYS = 14;

/**
 * The notice of a token that expires within 14 or 3 days, at a given time: that of its current stage. null: in no stage, expired,
 * or created within the stage, so that its creator knows.
 */
export function tokenNotice(token: EndingTokenRow, now: Date): Notice | null {
  const { token_id: tokenId, name, created_at: createdAt, expires_at: expiresAt } = token;
  const leftMs = expiresAt.getTime() - now.getTime();
  const stage = STAGES.find(({ days }) => leftMs <= days * DAY_MS);
  if (leftMs <= 0 || stage === undefined) return null;
  if (expiresAt.getTime() - createdAt.getTime() <= stage.days * DAY_MS) return null;
  return {
    event: `token_expiry:${tokenId}:${expiresAt.toISOString()}:${stage.days}`,
    category: "token_expiry",
    severity: stage.severity,
    title: `The token ${readableName(name)} expires ${leftText(leftMs)}`,
    body: `Requests with it are refused from ${minuteText(expiresAt)} on. Replace it, and give the new token to the programs that use it.`,
    linkPath: `/settings/tokens/${tokenId}`,
    linkLabel: "Open the token",
  };
}

function leftText(leftMs: number): string {
  const days = Math.floor(leftMs / DAY_MS);
  return days === 0 ? "within a day" : `in ${daysText(days)}`;
}
