import { randomBytes } from "node:crypto";
import type pg from "pg";
import { insertRows, type Tenant } from "./tenants.ts";

/** A person with one session, which is valid for an hour. */
export type Person = { userId: string; userName: string; sessionHash: Buffer };

const HOUR_MS = 3_600_000;

/** A signed-in person. */
export async function createPerson(database: pg.Pool): Promise<Person> {
  const userName = `person-${randomBytes(4).toString("hex")}`;
  const { rows } = await database.query<{ user_id: string }>(
    "insert into console_user (name) values ($1) returning user_id",
    [userName],
  );
  const userId = rows[0]?.user_id ?? "";
  return { userId, userName, sessionHash: await createSession(database, userId) };
}

/** A session of a person, from now unless told otherwise. */
export async function createSession(
  database: pg.Pool,
  userId: string,
  {
    sessionHash = randomBytes(32),
    idleUntil,
    endsAt,
  }: { sessionHash?: Buffer; idleUntil?: Date; endsAt?: Date } = {},
): Promise<Buffer> {
  const now = new Date();
  const inAnHour = new Date(now.getTime() + HOUR_MS);
  await insertRows(database, "console_session", [
    {
      session_hash: `\\x${sessionHash.toString("hex")}`,
      user_id: userId,
      created_at: now,
      last_seen_at: now,
      proved_at: now,
      idle_until: idleUntil ?? inAnHour,
      ends_at: endsAt ?? inAnHour,
    },
  ]);
  return sessionHash;
}

/** Makes a person a member, or gives a member another role. */
export async function setRole(
  database: pg.Pool,
  { shopKey }: Pick<Tenant, "shopKey">,
  { userId }: Pick<Person, "userId">,
  role: "viewer" | "admin" | "owner",
): Promise<void> {
  await database.query(
    `insert into workspace_member (shop_key, user_id, role) values ($1, $2, $3)
     on conflict (shop_key, user_id) do update set role = excluded.role`,
    [shopKey, userId, role],
  );
}

export async function removeMember(
  database: pg.Pool,
  { shopKey }: Pick<Tenant, "shopKey">,
  { userId }: Pick<Person, "userId">,
): Promise<void> {
  await database.query("delete from workspace_member where shop_key = $1 and user_id = $2", [
    shopKey,
    userId,
  ]);
}
