import type { Connection } from "../store/database.ts";
import { insertLink, findFirstOperator, insertPerson } from "../store/queries/console-user.ts";
import type { LinkPurpose, NewLink, PersonRow } from "../store/queries/console-user.ts";
import { newSecret } from "./secret.ts";

const MINUTE_MS = 60_000;

/** Invitations last longer, because the recipient may not read them for two days. */
const LIFETIME_MS: Readonly<Record<LinkPurpose, number>> = {
  enter: 10 * MINUTE_MS,
  invite: 72 * 60 * MINUTE_MS,
  recover: 10 * MINUTE_MS,
};

/** A link's secret, shown once, its expiry, and the name under which its page finds it. */
type MadeLink = { secret: string; expiresAt: Date; linkName: string };

type LinkWish = Pick<NewLink, "userId" | "purpose"> &
  Partial<Pick<NewLink, "madeBy" | "shopKey" | "email">> & { now: Date };

/**
 * Makes a link that signs a person in once: to enter or recover within ten minutes, by invitation within 72 hours. One to
 * recover ends the person's passkeys and sessions when it is used.
 */
export async function makeLink(connection: Connection, { now, ...wish }: LinkWish): Promise<MadeLink> {
  const { text, hash } = newSecret();
  const expiresAt = new Date(now.getTime() + LIFETIME_MS[wish.purpose]);
  const made = { linkHash: hash, createdAt: now, expiresAt };
  await insertLink(connection, { madeBy: null, shopKey: null, email: null, ...wish, ...made });
  // The hash of 256 random bits: it opens nothing.
  return { secret: text, expiresAt, linkName: hash.toString("base64url") };
}

/** Makes a person, who becomes an operator while there is none. */
export async function makePerson(connection: Connection, name: string, now: Date): Promise<PersonRow> {
  return insertPerson(connection, name, (await findFirstOperator(connection)) === null, now);
}
