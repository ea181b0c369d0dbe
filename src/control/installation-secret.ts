import type { Connection, Database, Queryable } from "../store/database.ts";
import { findSecretFingerprint, keepSecretFingerprint } from "../store/queries/installation.ts";
import { insertRootSecret, listRootSecrets, lockRootSecrets } from "../store/queries/installation-secret.ts";
import type { RootSecretRow } from "../store/queries/installation-secret.ts";
import { deriveKeys, fingerprintOf, makeKeys, rootFingerprint, sealKeys, unsealKeys } from "../lib/keys.ts";
import type { Keys } from "../lib/keys.ts";
import { readOrCreateSecret, readSecret } from "../lib/secret-file.ts";
import { impossible } from "./refusal.ts";

/** A database, and where this process has its root secret from. */
export type SecretPlace = {
  database: Database;
  dataFolder: string;
  /** null = the file of the data folder. */
  secret: string | null;
};

/** What a database knows of root secrets; `earlier`: the fingerprint of a version that had but one, null = none was used. */
export type KnownSecrets = { rows: RootSecretRow[]; earlier: Buffer | null };

const WRONG_SECRET =
  "The secret is not one of this database's, so no token would work: start with the same RETURNS_SECRET or the same data folder " +
  "as its other servers.";
const NO_SECRET =
  "No secret is set, and this database has one: set RETURNS_SECRET, or use the data folder whose file secret holds it.";

/**
 * The keys of the installation, opened with this process's root secret. The first use of a database makes them, and the file
 * of the secret where none is set. Throws a `Refusal` when the database does not know the secret, or has retired it.
 */
export async function openKeys(place: SecretPlace): Promise<Keys> {
  const { database, dataFolder } = place;
  const known = await readSecrets(database);
  const isFirst = known.rows.length === 0;
  // Read after the database: what made its first row has written the file before.
  const own =
    isFirst && known.earlier === null ? (place.secret ?? readOrCreateSecret(dataFolder)) : ownSecret(place);
  const secret = requireKnown(known, own);
  if (!isFirst) return openRow(known.rows, secret);
  return database.transaction((connection) => writeFirst(connection, secret));
}

/** The root secret of this process; null = there is none. */
export function ownSecret({ secret, dataFolder }: Omit<SecretPlace, "database">): string | null {
  return secret ?? readSecret(dataFolder);
}

/** In this order: a new installation commits its fingerprint and its first row at once, and never shows the first alone. */
export async function readSecrets(database: Queryable): Promise<KnownSecrets> {
  const earlier = await findSecretFingerprint(database);
  const rows = await listRootSecrets(database);
  return { rows, earlier: rows.length > 0 ? null : earlier };
}

/** Returns the secret if the database would accept it. Throws a `Refusal` otherwise. */
export function requireKnown(known: KnownSecrets, secret: string | null): string {
  const problem = secretProblem(known, secret);
  if (problem !== null) throw impossible(problem);
  return secret as string;
}

/** Why the database would not accept a secret, in a sentence; null = it would, or it has not used any yet. */
export function secretProblem({ rows, earlier }: KnownSecrets, secret: string | null): string | null {
  if (rows.length === 0 && earlier === null) return null;
  if (secret === null) return NO_SECRET;
  const fingerprint = rootFingerprint(secret);
  if (rows.length === 0) return earlier?.equals(fingerprint) ? null : WRONG_SECRET;
  const row = findSecret(rows, secret);
  if (row === undefined) return WRONG_SECRET;
  if (row.retired_at === null) return null;
  const day = row.retired_at.toISOString().slice(0, 10);
  return `The secret is version ${row.version}, which was retired on ${day}: start with ${versionsText(validOf(rows))}.`;
}

export function findSecret(rows: readonly RootSecretRow[], secret: string): RootSecretRow | undefined {
  const fingerprint = rootFingerprint(secret);
  return rows.find((row) => row.fingerprint.equals(fingerprint));
}

export function validOf(rows: readonly RootSecretRow[]): number[] {
  return rows.filter((row) => row.retired_at === null).map(({ version }) => version);
}

/** "version 2", "versions 2 and 3". */
export function versionsText(versions: readonly number[]): string {
  const words = versions.map(String);
  const last = words.pop() ?? "";
  return words.length === 0 ? `version ${last}` : `versions ${words.join(", ")} and ${last}`;
}

/** What an operator reads of this process's root secret; changes nothing. */
export async function describeSecret(place: SecretPlace): Promise<{ ok: boolean; message: string }> {
  const known = await readSecrets(place.database);
  const secret = ownSecret(place);
  const problem = secretProblem(known, secret);
  if (problem !== null) return { ok: false, message: problem };
  const own = secret === null ? undefined : findSecret(known.rows, secret);
  if (own === undefined) return { ok: true, message: "version 1 from its first use on" };
  const others = validOf(known.rows).filter((version) => version !== own.version);
  if (others.length === 0) return { ok: true, message: `version ${own.version}, the only valid one` };
  const rest = `${versionsText(others)} ${others.length === 1 ? "is" : "are"} valid too`;
  return { ok: true, message: `version ${own.version}; ${rest}, until ./returns secret retire` };
}

/** Opens the keys with a secret that is valid. Throws a `Refusal` when they were changed. */
export function openRow(rows: readonly RootSecretRow[], secret: string): Keys {
  const { version, sealed_keys: sealed } = findSecret(rows, secret) as RootSecretRow & {
    sealed_keys: Buffer;
  };
  try {
    return unsealKeys(secret, version, sealed);
  } catch {
    throw impossible(
      `The keys that version ${version} of the secret opens are damaged in the database: restore a backup.`,
    );
  }
}

/** One process writes the first row; others that began at once open it. An earlier version's keys stay what they are. */
async function writeFirst(connection: Connection, secret: string): Promise<Keys> {
  await lockRootSecrets(connection);
  const made = makeKeys();
  await keepSecretFingerprint(connection, fingerprintOf(made.tokenPepper));
  const known = await readSecrets(connection);
  if (known.rows.length > 0) return openRow(known.rows, requireKnown(known, secret));
  const keys = [made, deriveKeys(secret)].find(({ tokenPepper }) =>
    known.earlier?.equals(fingerprintOf(tokenPepper)),
  );
  if (keys === undefined) throw impossible(WRONG_SECRET);
  await insertRootSecret(connection, 1, rootFingerprint(secret), sealKeys(secret, 1, keys));
  return keys;
}
