import type { Connection } from "../store/database.ts";
import { findFirstOperator, findPerson, insertPerson } from "../store/queries/console-user.ts";
import type { PersonRow } from "../store/queries/console-user.ts";

/** The name of the first person of an installation, unless the command gives one. */
const FIRST_NAME = "operator";

export type FoundPerson = { person: PersonRow; isNew: boolean };

/**
 * The person of a name, made when there is none; without a name, the first operator. Who is made while there is no
 * operator becomes one.
 */
export async function ensurePerson(
  connection: Connection,
  name: string | null,
  now: Date,
): Promise<FoundPerson> {
  const operator = await findFirstOperator(connection);
  if (name === null && operator !== null) return { person: operator, isNew: false };
  const wanted = name ?? FIRST_NAME;
  const isNew = await insertPerson(connection, wanted, operator === null, now);
  return { person: (await findPerson(connection, wanted)) as PersonRow, isNew };
}
