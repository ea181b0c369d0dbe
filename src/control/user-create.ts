import { ensurePerson } from "../identity/person.ts";
import type { Database } from "../store/database.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { quoted, readText } from "./input.ts";
import { impossible } from "./refusal.ts";
import { requireRight } from "./rights.ts";

/** A person who can be made a member, or a link. */
export type CreatedUser = { user_id: string; name: string; is_operator: boolean };

const NAME_MAX_LENGTH = 100;

/**
 * Makes a person, who sees nothing until they are a member of a workspace. The first one of an installation without an
 * operator becomes one. Throws a `Refusal` for a name that somebody has.
 */
export async function createUser(
  database: Database,
  actor: Actor,
  request: { name: string; now: Date },
): Promise<CreatedUser> {
  requireRight(actor, "user.create");
  const name = readText("The name", request.name, NAME_MAX_LENGTH);
  return database.transaction(async (connection) => {
    const { person, isNew } = await ensurePerson(connection, name, request.now);
    if (!isNew) throw impossible(`There is somebody with the name ${quoted(name)} already.`);
    const { user_id: userId, is_operator: isOperator } = person;
    await recordAction(connection, actor, {
      shopKey: null,
      action: "user.create",
      detail: { user_id: userId, is_operator: isOperator },
    });
    return { user_id: userId, name, is_operator: isOperator };
  });
}
