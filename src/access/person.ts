import type { Connection } from "../store/database.ts";
import { findFirstOperator, insertPerson } from "../store/queries/console-user.ts";
import type { PersonRow } from "../store/queries/console-user.ts";

/** The name of the first person of an installation, unless the command gives one. */
const FIRST_NAME = "operator";

/** Makes a person, who becomes an operator while there is none. */
export async function makePerson(connection: Connection, name: string, now: Date): Promise<PersonRow> {
  return insertPerson(connection, name, (await findFirstOperator(connection)) === null, now);
}

/** The first operator; made when there is none. */
export async function ensureOperator(
  connection: Connection,
  now: Date,
): Promise<{ person: PersonRow; isNew: boolean }> {
  const operator = await findFirstOperator(connection);
  if (operator !== null) return { person: operator, isNew: false };
  return { person: await insertPerson(connection, FIRST_NAME, true, now), isNew: true };
}
