import { findByIdOrName } from "../actions/people/actions.ts";
import type { FoundPerson } from "../actions/people/actions.ts";
import { quoted } from "../actions/input.ts";
import { impossible } from "../actions/refusal.ts";
import { callerOf } from "./action-command.ts";
import type { CommandSession } from "./command.ts";

/** The argument of a command that acts on somebody. */
export const PERSON = { "<person>": "their id, or on a terminal their name" };

type Among = {
  /** Whom the command may act on; default: everybody. */
  isMeant?: (person: FoundPerson) => boolean;
  /** What happens to them, as a question; default: whether to go on. */
  question?: string;
};

/**
 * Whom a command means, by id or by name; null = nobody has that name. Members choose their names: so a name is never enough
 * for a script, and on a terminal the command says whom it has found, and asks.
 */
export async function personMeant(
  session: CommandSession,
  named: string,
  { isMeant = () => true, question = "Is this the right person?" }: Among = {},
): Promise<FoundPerson | null> {
  const { terminal, interruption } = session;
  const found = (await findByIdOrName(callerOf(session), named)).filter(isMeant);
  const [person, ...others] = found;
  if (person === undefined || person.user_id === named.trim().toLowerCase()) return person ?? null;
  if (others.length > 0) {
    const list = found.map((each) => `\n  ${described(each)}`).join("");
    throw impossible(`Several people are called ${quoted(person.name)}: use the id of one.${list}`);
  }
  const asked = `${described(person)}. ${question}`;
  await terminal.confirm(asked, interruption.signal, "name the person by their id");
  return person;
}

/** The same, where there has to be somebody. */
export async function requirePerson(
  session: CommandSession,
  named: string,
  among?: Among & { where?: string },
): Promise<FoundPerson> {
  const person = await personMeant(session, named, among);
  if (person !== null) return person;
  throw impossible(`Nobody ${among?.where ?? "here"} is called ${quoted(named.trim())}.`);
}

/** Name, id and all that tells a person from another of that name. */
function described({ user_id: id, name, is_operator, disabled_at, memberships }: FoundPerson): string {
  const facts = [
    id,
    ...(is_operator ? ["an operator of this installation"] : []),
    ...(disabled_at === null ? [] : ["disabled"]),
    memberships.length === 0 ? "member of no workspace" : `member of ${memberships.join(", ")}`,
  ];
  return `${quoted(name)} is ${facts.join("; ")}`;
}
