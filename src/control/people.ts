import type { Connection, Database } from "../store/database.ts";
import { deleteSessions } from "../store/queries/console-session.ts";
import {
  findPerson,
  listPeople,
  lockOperators,
  lockPerson,
  setDisabled,
  setOperator,
} from "../store/queries/console-user.ts";
import type { ListedPerson, PersonRow } from "../store/queries/console-user.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { quoted, readText } from "./input.ts";
import { giveName, PERSON_NAME_MAX_LENGTH } from "./person-name.ts";
import { impossible } from "./refusal.ts";
import { requireRight } from "./rights.ts";

/** `changed` is false when it already was so. */
export type PersonResult = {
  user_id: string;
  name: string;
  is_operator: boolean;
  is_disabled: boolean;
  changed: boolean;
};

/** Everybody who uses the console, by name. */
export async function showPeople(database: Database, actor: Actor): Promise<ListedPerson[]> {
  requireRight(actor, "user.set");
  return listPeople(database);
}

/** Ends every sign-in of a person at once, and lets them in no more. Throws a `Refusal` for the last operator. */
export async function disableUser(
  database: Database,
  actor: Actor,
  name: string,
  now: Date,
): Promise<PersonResult> {
  requireRight(actor, "user.disable");
  return changePerson(database, name, async (connection, person, operators) => {
    if (person.disabled_at !== null) return false;
    if (person.is_operator && operators.length === 1) {
      throw impossible(`${quoted(person.name)} is the last operator: make somebody else one first.`);
    }
    await setDisabled(connection, person.user_id, now);
    await deleteSessions(connection, person.user_id);
    await recordAction(connection, actor, {
      shopKey: null,
      action: "user.disable",
      detail: { user_id: person.user_id, is_disabled: true },
      before: { is_disabled: false },
    });
    return true;
  });
}

/** Lets a person in again, by the passkeys that they had. */
export async function enableUser(database: Database, actor: Actor, name: string): Promise<PersonResult> {
  requireRight(actor, "user.enable");
  return changePerson(database, name, async (connection, person) => {
    if (person.disabled_at === null) return false;
    await setDisabled(connection, person.user_id, null);
    await recordAction(connection, actor, {
      shopKey: null,
      action: "user.enable",
      detail: { user_id: person.user_id, is_disabled: false },
      before: { is_disabled: true },
    });
    return true;
  });
}

/** Gives a person another name. */
export async function renameUser(
  database: Database,
  actor: Actor,
  name: string,
  newName: string,
): Promise<PersonResult> {
  requireRight(actor, "user.rename");
  const wanted = readText("The new name", newName, PERSON_NAME_MAX_LENGTH);
  return changePerson(database, name, async (connection, person) => {
    if (person.name === wanted) return false;
    await giveName(connection, person.user_id, wanted);
    await recordAction(connection, actor, {
      shopKey: null,
      action: "user.rename",
      detail: { user_id: person.user_id, name: wanted },
      before: { name: person.name },
    });
    return true;
  });
}

/** Makes a person an operator of the installation. */
export async function grantOperator(database: Database, actor: Actor, name: string): Promise<PersonResult> {
  requireRight(actor, "user.grant_operator");
  return changePerson(database, name, async (connection, person) => {
    if (person.is_operator) return false;
    await setOperator(connection, person.user_id);
    await recordAction(connection, actor, {
      shopKey: null,
      action: "user.grant_operator",
      detail: { user_id: person.user_id, is_operator: true },
      before: { is_operator: false },
    });
    return true;
  });
}

/** Changes the person of a name, who is held as all operators who may sign in are; `change` says whether anything was. */
async function changePerson(
  database: Database,
  name: string,
  change: (connection: Connection, person: PersonRow, operators: readonly unknown[]) => Promise<boolean>,
): Promise<PersonResult> {
  return database.transaction(async (connection) => {
    // First, so that no two changes wait for each other.
    const operators = await lockOperators(connection);
    const found = await findPerson(connection, name.trim());
    if (found === null) throw impossible(`Nobody here is called ${quoted(name.trim())}.`);
    const changed = await change(connection, await lockPerson(connection, found.user_id), operators);
    const { disabled_at: disabledAt, ...person } = await lockPerson(connection, found.user_id);
    return { ...person, is_disabled: disabledAt !== null, changed };
  });
}
