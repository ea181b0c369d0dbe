import { readableName } from "./wording.ts";
import type { Database } from "../store/database.ts";
import { listMembersByRole } from "../store/queries/workspace-member.ts";
import { notifyPeople, listEndingTokens, type Notice, type EndingTokenRow } from "../store/queries/notice.ts";

const TOLD_ROLES = ["owner", "admin"] as const;

/** Notifies a workspace's owners and admins of tokens that expire soon, once per token and stage. */
export async function writeTokenNotices(database: Database, shopKey: number, now: Date): Promise<void> {
  const until = new Date(now.getTime() + NOTICE_DAYS * DAY_MS);
  for (const row of await listEndingTokens(database, shopKey, now, until))
    await tell(database, shopKey, row, now);
}

async function tell(database: Database, shopKey: number, row: EndingTokenRow, now: Date): Promise<void> {
  const { token_id: tokenId, name, created_at: createdAt, expires_at: expiresAt } = row;
  const notice = tokenNotice({ tokenId, name, createdAt, expiresAt }, now);
  if (notice === null) return;
  await notifyPeople(database, shopKey, await listMembersByRole(database, shopKey, TOLD_ROLES), notice);
}

/** A token that has an end and that nothing has replaced. */
type EndingToken = { tokenId: string; name: string; createdAt: Date; expiresAt: Date };

const DAY_MS = 86_400_000;
/** How many days before a token's end its owners and admins are notified, the last one first. */
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
export function tokenNotice(token: EndingToken, now: Date): Notice | null {
  const { tokenId, name, createdAt, expiresAt } = token;
  const leftMs = expiresAt.getTime() - now.getTime();
  const stage = STAGES.find(({ days }) => leftMs <= days * DAY_MS);
  if (leftMs <= 0 || stage === undefined) return null;
  if (expiresAt.getTime() - createdAt.getTime() <= stage.days * DAY_MS) return null;
  const when = `${expiresAt.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  return {
    event: `token_expiry:${tokenId}:${expiresAt.toISOString()}:${stage.days}`,
    category: "token_expiry",
    severity: stage.severity,
    title: `The token ${readableName(name)} expires ${leftText(leftMs)}`,
    body: `Requests with it are refused from ${when} on. Rotate it, and give the new token to whatever uses it.`,
    linkPath: `/settings/tokens/${tokenId}`,
    linkLabel: "Open the token",
  };
}

function leftText(leftMs: number): string {
  const days = Math.floor(leftMs / DAY_MS);
  if (days === 0) return "within a day";
  return `in ${days} ${days === 1 ? "day" : "days"}`;
}
