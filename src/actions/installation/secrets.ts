import {
  deriveKeys,
  fingerprintOf,
  makeKeys,
  rootFingerprint,
  sealKeys,
  unsealKeys,
} from "../../lib/keys.ts";
import type { Keys } from "../../lib/keys.ts";
import { readOrCreateSecret, readSecret, isWeakSecret, secretsOf } from "../../lib/secret-file.ts";
import type { Connection, Database, Queryable } from "../../store/database.ts";
import {
  findSecretFingerprint,
  insertRootSecret,
  keepSecretFingerprint,
  listRootSecrets,
  lockRootSecrets,
  removeRootSecrets,
} from "./queries.ts";
import type { RootSecretRow } from "./queries.ts";
import { OPERATOR } from "../actor.ts";
import { recordAction, type Detail } from "../audit/record.ts";
import { impossible, invalid } from "../refusal.ts";

/** A database, and where this process has its root secrets from: a list, newest first. */
export type SecretPlace = {
  database: Database;
  dataFolder: string;
  /** null = the file of the data folder. */
  secret: string | null;
};

/** The database's root secrets; `earlier`: the fingerprint of a version with a single secret, null: none was used. */
type KnownSecrets = { rows: RootSecretRow[]; earlier: Buffer | null };

const LEAST_CHARACTERS = 32;
const WRONG_SECRET =
  "The secret is not one of this database's, so no token would work: start with the same RETURNS_SECRET or the same data folder " +
  "as its other servers.";
const NO_SECRET =
  "No secret is set, and this database has one: set RETURNS_SECRET, or use the data folder whose file secret holds it.";
const EMPTY_SECRET = "The list of secrets has an empty entry: put one comma between two secrets.";

/**
 * The installation's keys, opened with any of this process's root secrets and sealed under the first. The first use of a database
 * creates them, and the secret's file if none is set. Throws a `Refusal` if the database knows none of the secrets.
 */
export async function openKeys(place: SecretPlace): Promise<Keys> {
  const { database, dataFolder } = place;
  const known = await readKnown(database);
  // Read after the database: what made its first row has written the file before.
  const list = isUsed(known) ? ownSecret(place) : (place.secret ?? readOrCreateSecret(dataFolder));
  const secrets = requireSecrets(known, list);
  if (known.rows.length > 0 && isSettled(changeFor(known.rows, secrets))) return open(known.rows, secrets);
  return database.transaction((connection) => sealUnderFirst(connection, list));
}

/** The list of root secrets of this process, as it is written; null = there is none. */
export function ownSecret({ secret, dataFolder }: Omit<SecretPlace, "database">): string | null {
  return secret ?? readSecret(dataFolder);
}

/** Description of this process's root secrets for operators; changes nothing. */
export async function describeSecret(place: SecretPlace): Promise<{ ok: boolean; message: string }> {
  const known = await readKnown(place.database);
  const list = ownSecret(place);
  const problem = problemOf(known, list);
  if (problem !== null) return { ok: false, message: problem };
  const newest = known.rows.at(-1);
  if (list === null || newest === undefined) return { ok: true, message: "in use from the first start on" };
  if (!listed(known, list).some((secret) => isOf(newest, secret))) {
    return { ok: true, message: "opens the keys, but a newer one does too: put that first in the list" };
  }
  const others = known.rows.length - 1;
  if (others === 0) return { ok: true, message: "the only one that opens the keys" };
  return { ok: true, message: `one of ${others + 1} that open the keys, until a start without the older` };
}

/**
 * In this order: a new installation commits its fingerprint and its first row together, and the first must never be seen alone.
 */
async function readKnown(database: Queryable): Promise<KnownSecrets> {
  const earlier = await findSecretFingerprint(database);
  const rows = await listRootSecrets(database);
  return { rows, earlier: rows.length > 0 ? null : earlier };
}

function isUsed({ rows, earlier }: KnownSecrets): boolean {
  return rows.length > 0 || earlier !== null;
}

function isKnown({ rows, earlier }: KnownSecrets, secret: string): boolean {
  return earlier?.equals(rootFingerprint(secret)) ?? rows.some((row) => isOf(row, secret));
}

function isOf({ fingerprint }: RootSecretRow, secret: string): boolean {
  return fingerprint.equals(rootFingerprint(secret));
}

function listed(known: KnownSecrets, list: string): string[] {
  return secretsOf(list, (secret) => isKnown(known, secret));
}

/** Why the database would not accept a list of secrets, in a sentence; null = it would. */
function problemOf(known: KnownSecrets, list: string | null): string | null {
  if (list === null) return isUsed(known) ? NO_SECRET : null;
  const secrets = listed(known, list);
  if (secrets.some((secret) => secret === "" && !isKnown(known, secret))) return EMPTY_SECRET;
  if (isUsed(known) && !secrets.some((secret) => isKnown(known, secret))) return WRONG_SECRET;
  return null;
}

function requireSecrets(known: KnownSecrets, list: string | null): string[] {
  const problem = problemOf(known, list);
  if (problem !== null) throw impossible(problem);
  return listed(known, list as string);
}

/** Opens the keys with the first secret that can. Throws a `Refusal` when they were changed. */
function open(rows: readonly RootSecretRow[], secrets: readonly string[]): Keys {
  const secret = secrets.find((each) => rows.some((row) => isOf(row, each))) as string;
  const { version, sealed_keys: sealed } = rows.find((row) => isOf(row, secret)) as RootSecretRow;
  try {
    return unsealKeys(secret, version, sealed);
  } catch {
    throw impossible(
      `The keys that version ${version} of the secret opens are damaged in the database: restore a backup.`,
    );
  }
}

/** The rows that a start removes, and the version under which it seals the keys again, null = under none. */
type Change = { removed: number[]; version: number | null };

/**
 * A list without the newest secret is from before or during a rotation, and removes nothing, so that servers may start in any
 * order. A list with it removes the secrets that it lacks.
 */
function changeFor(rows: readonly RootSecretRow[], secrets: readonly string[]): Change {
  const newest = rows.at(-1) as RootSecretRow;
  const [first = ""] = secrets;
  const isCurrent = secrets.some((secret) => isOf(newest, secret));
  const isSealed = isCurrent ? isOf(newest, first) : rows.some((row) => isOf(row, first));
  const removed = rows.filter(
    (row) => (isCurrent && !secrets.some((secret) => isOf(row, secret))) || (!isSealed && isOf(row, first)),
  );
  return { removed: removed.map(({ version }) => version), version: isSealed ? null : newest.version + 1 };
}

function isSettled({ removed, version }: Change): boolean {
  return removed.length === 0 && version === null;
}

/** One process at a time. The first one of a new database creates its keys; those of an earlier version are kept. */
async function sealUnderFirst(connection: Connection, list: string | null): Promise<Keys> {
  await lockRootSecrets(connection);
  const known = await readKnown(connection);
  const secrets = requireSecrets(known, list);
  const [first = ""] = secrets;
  if (known.rows.length === 0) {
    const opener = secrets.find((secret) => isKnown(known, secret));
    if (opener === undefined && secrets.length > 1) requireStrong(first);
    const made = opener === undefined ? makeKeys() : deriveKeys(opener);
    if (opener === undefined) await keepSecretFingerprint(connection, fingerprintOf(made.tokenPepper));
    await seal(connection, 1, opener ?? first, made);
  }
  const rows = known.rows.length > 0 ? known.rows : await listRootSecrets(connection);
  const keys = open(rows, secrets);
  const { removed, version } = changeFor(rows, secrets);
  if (!isSettled({ removed, version })) await removeRootSecrets(connection, removed);
  if (removed.length > 0) await record(connection, "secret.retire", { versions: removed });
  if (version !== null) {
    if (!isKnown(known, first)) requireStrong(first);
    await seal(connection, version, first, keys);
    await record(connection, "secret.add", { version });
  }
  return keys;
}

async function seal(connection: Connection, version: number, secret: string, keys: Keys): Promise<void> {
  await insertRootSecret(connection, version, rootFingerprint(secret), sealKeys(secret, version, keys));
}

async function record(
  connection: Connection,
  action: "secret.add" | "secret.retire",
  detail: Detail,
): Promise<void> {
  await recordAction(connection, OPERATOR, { shopKey: null, action, detail });
}

function requireStrong(secret: string): void {
  if (secret.length < LEAST_CHARACTERS) {
    throw invalid(`The new secret must have at least ${LEAST_CHARACTERS} characters.`);
  }
  if (!isWeakSecret(secret)) return;
  throw invalid("The new secret must be random, such as what openssl rand -hex 32 prints.");
}
