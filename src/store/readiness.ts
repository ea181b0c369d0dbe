import { within } from "../lib/within.ts";
import type { Queryable } from "./database.ts";
import { schemaLevel } from "./migrate.ts";
import { appliedMigrations } from "./queries/schema.ts";

export type Readiness = { ready: true } | { ready: false; reason: string };

/** A probe is answered soon, even if the database does not respond. */
const READINESS_TIMEOUT_MS = 3000;

/** Whether the database answers with a schema that this version works with; otherwise why it does not serve. */
export async function checkReadiness(database: Queryable): Promise<Readiness> {
  try {
    const level = await schemaLevel(await within(READINESS_TIMEOUT_MS, appliedMigrations(database)));
    return level === "current" || level === "ahead"
      ? { ready: true }
      : { ready: false, reason: `the database schema is ${level}` };
  } catch {
    return { ready: false, reason: "the database does not answer" };
  }
}
