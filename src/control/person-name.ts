import type pg from "pg";
import type { Connection } from "../store/database.ts";
import { renamePerson } from "../store/queries/console-user.ts";
import { quoted } from "./input.ts";
import { impossible } from "./refusal.ts";

export const PERSON_NAME_MAX_LENGTH = 100;

const UNIQUE_VIOLATION = "23505";

/** Gives a person a name. Throws a `Refusal` when somebody has it, also one who took it at the same moment. */
export async function giveName(connection: Connection, userId: string, name: string): Promise<void> {
  try {
    await renamePerson(connection, userId, name);
  } catch (error) {
    if ((error as pg.DatabaseError).code !== UNIQUE_VIOLATION) throw error;
    throw impossible(`Somebody here is called ${quoted(name)} already.`);
  }
}
