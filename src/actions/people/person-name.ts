import type { Connection } from "../../store/database.ts";
import { findNamesakes, lockNames, renamePerson } from "./queries.ts";
import { quoted } from "../input.ts";
import { impossible, invalid } from "../refusal.ts";

export const PERSON_NAME_MAX_LENGTH = 100;
/** Before NFKC, which may make one character of several. */
const LONGEST_WRITTEN = 10 * PERSON_NAME_MAX_LENGTH;

/** Invisible characters, or characters that move others: control, format and bidi characters, zero-width blanks. */
const UNSEEN = /[\u{16fe4}\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}]/u;
const PERSON_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu;

export function isPersonId(text: string): boolean {
  return PERSON_ID.test(text);
}

/** A person's name as stored: NFKC, one blank between words. Throws `invalid` for invisible characters, and for an id. */
export function readPersonName(label: string, text: string): string {
  // Normalizing a form full of combining characters takes a second.
  const name = (text.length > LONGEST_WRITTEN ? "" : text)
    .normalize("NFKC")
    .replaceAll(/\p{Zs}+/gu, " ")
    .trim();
  // Dashes of other kinds look the same.
  if (isPersonId(name.replaceAll(/\p{Pd}/gu, "-"))) throw invalid(`${label} must not look like an id.`);
  if (name !== "" && name.length <= PERSON_NAME_MAX_LENGTH && !UNSEEN.test(name)) return name;
  throw invalid(
    `${label} must be text of 1 to ${PERSON_NAME_MAX_LENGTH} characters, without control or invisible characters.`,
  );
}

/**
 * Throws a `Refusal` if somebody else in one of the person's workspaces has their current or new name; of two simultaneous
 * changes the second is refused. It reveals nothing about other workspaces.
 */
export async function requireOwnName(
  connection: Connection,
  userId: string,
  name: string | null = null,
): Promise<void> {
  await lockNames(connection);
  const shared = await findNamesakes(connection, userId, name);
  if (shared.length === 0) return;
  const called = name === null ? "has the same name" : `is called ${quoted(name)}`;
  throw impossible(`Somebody in ${shared.join(", ")} ${called} already.`);
}

/** Gives a person a name. Throws a `Refusal` when somebody in a workspace of theirs has it. */
export async function giveName(connection: Connection, userId: string, name: string): Promise<void> {
  await requireOwnName(connection, userId, name);
  await renamePerson(connection, userId, name);
}
