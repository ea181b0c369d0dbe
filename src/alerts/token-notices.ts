import type { Database } from "../store/database.ts";
import { listMembersByRole } from "../store/queries/workspace-member.ts";
import { notifyPeople } from "../store/queries/notice.ts";
import { listEndingTokens } from "../store/queries/token.ts";
import type { EndingTokenRow } from "../store/queries/token.ts";
import { NOTICE_DAYS, tokenNotice } from "./token-notice.ts";

const TOLD_ROLES = ["owner", "admin"] as const;
const DAY_MS = 86_400_000;

/** Tells the owners and admins of a workspace which tokens end soon, each of them once per stage. */
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
