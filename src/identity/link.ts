import type { Connection } from "../store/database.ts";
import { insertLink } from "../store/queries/console-link.ts";
import { newSecret } from "./secret.ts";

const LIFETIME_MS = 10 * 60_000;

/** The secret of a link, shown this once, and when it expires. */
export type MadeLink = { secret: string; expiresAt: Date };

/** Makes a link that signs a person in once, within ten minutes. */
export async function makeLink(connection: Connection, userId: string, now: Date): Promise<MadeLink> {
  const { text, hash } = newSecret();
  const expiresAt = new Date(now.getTime() + LIFETIME_MS);
  await insertLink(connection, { linkHash: hash, userId, createdAt: now, expiresAt });
  return { secret: text, expiresAt };
}
