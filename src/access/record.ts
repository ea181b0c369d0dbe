import type { Connection, Queryable } from "../store/database.ts";
import { insertInstallationEvent } from "../store/queries/audit.ts";
import { userName } from "../lib/user-name.ts";

/** Where a request came from, such as an IP address; null = not by HTTP. */
export type Origin = string | null;

/** Records what a person did to their own ways in. */
export async function record(
  connection: Connection,
  { userId, origin }: { userId: string; origin: Origin },
  action: string,
  detail: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await insertInstallationEvent(connection, {
    actor: userName(userId),
    action,
    detail,
    origin,
  });
}

/** Records that somebody was refused who may be this person. */
export async function recordRefusal(
  database: Queryable,
  { userId, origin }: { userId: string; origin: Origin },
  reason: string,
): Promise<void> {
  await insertInstallationEvent(database, {
    actor: "unknown",
    action: "session.refuse",
    detail: { user_id: userId, reason },
    origin,
  });
}
