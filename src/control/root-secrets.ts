import type { Connection } from "../store/database.ts";
import { hideSecretFingerprint } from "../store/queries/installation.ts";
import {
  insertRootSecret,
  listRootSecrets,
  lockRootSecrets,
  retireRootSecret,
} from "../store/queries/installation-secret.ts";
import type { RootSecretRow } from "../store/queries/installation-secret.ts";
import { rootFingerprint, sealKeys } from "../lib/keys.ts";
import { nextSecretFile, readOrCreateSecretFile, turnSecret } from "../lib/secret-file.ts";
import { isWeakSecret } from "../lib/weak-secret.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { findSecret, openKeys, openRow, ownSecret, requireKnown, validOf } from "./installation-secret.ts";
import type { SecretPlace } from "./installation-secret.ts";
import { refusalOf } from "./new-folder.ts";
import { impossible, invalid } from "./refusal.ts";
import { requireRight } from "./rights.ts";

/** A root secret without itself; `is_own`: this process has it. */
export type ShownSecret = { version: number; created_at: Date; retired_at: Date | null; is_own: boolean };

/**
 * A root secret that is valid now. `is_new`: it was not before; `file` holds it; `is_made`: which was made here; `version_before`: of
 * the one that this process began with; `kept_file`: where that one is now, null = where it was.
 */
export type AddedSecret = {
  version: number;
  created_at: Date;
  is_new: boolean;
  file: string;
  is_made: boolean;
  version_before: number;
  kept_file: string | null;
};

const LEAST_CHARACTERS = 32;

/** Every root secret that the installation has had, oldest first. */
export async function showRootSecrets(place: SecretPlace): Promise<ShownSecret[]> {
  const secret = ownSecret(place);
  return (await listRootSecrets(place.database)).map((row) => shown(row, secret));
}

/**
 * Makes the secret of a file valid beside the others: processes with either open the same keys. Where there is no such file it is
 * made. May be repeated. Throws a `Refusal` for a secret that is short, guessable or retired, and for a file that cannot be used.
 */
export async function addSecretOfFile(place: SecretPlace, actor: Actor, file: string): Promise<AddedSecret> {
  requireRight(actor, "secret.add");
  await openKeys(place);
  const { secret, isMade } = takeSecret(file);
  const { added, before, isNew } = await addRootSecret(place, actor, secret);
  return {
    version: added.version,
    created_at: added.created_at,
    is_new: isNew,
    file,
    is_made: isMade,
    version_before: before.version,
    kept_file: null,
  };
}

/**
 * The same with a secret made here, which then takes the place of the data folder's. Whenever this is cut off, the file holds
 * a valid secret. Throws a `Refusal` where RETURNS_SECRET is set.
 */
export async function replaceOwnSecret(place: SecretPlace, actor: Actor): Promise<AddedSecret> {
  const { dataFolder } = place;
  if (place.secret !== null) {
    throw invalid(
      "Name the file of the new secret: RETURNS_SECRET is set, which this command cannot change.",
    );
  }
  await openKeys(place);
  const before = ownSecret(place) as string;
  const added = await addSecretOfFile({ ...place, secret: before }, actor, nextSecretFile(dataFolder));
  try {
    const turned = turnSecret(dataFolder, { before, versionBefore: added.version_before });
    return { ...added, file: turned.file, kept_file: turned.keptFile };
  } catch (error) {
    throw refusalOf(error, dataFolder);
  }
}

/**
 * Ends a root secret: what starts with it is refused from now on, and what runs goes on until it ends. This process must have
 * another valid one, so that one is left which is known to work. Retiring twice changes nothing.
 */
export async function retireSecret(
  place: SecretPlace,
  actor: Actor,
  version: number,
): Promise<ShownSecret & { changed: boolean }> {
  requireRight(actor, "secret.retire");
  await openKeys(place);
  return changeSecrets(place, async (connection, rows, own) => {
    const row = rows.find((candidate) => candidate.version === version);
    if (row === undefined)
      throw impossible(`There is no version ${version}: ./returns secret list shows them.`);
    if (row.retired_at !== null) return { ...shown(row, own), changed: false };
    if (findSecret(rows, own) === row) throw impossible(ownSentence(rows, version));
    const retired = await retireRootSecret(connection, version);
    await hideSecretFingerprint(connection, row.fingerprint);
    await recordAction(connection, actor, { shopKey: null, action: "secret.retire", detail: { version } });
    return { ...shown(retired, own), changed: true };
  });
}

async function addRootSecret(
  place: SecretPlace,
  actor: Actor,
  secret: string,
): Promise<{ added: RootSecretRow; before: RootSecretRow; isNew: boolean }> {
  requireStrong(secret);
  return changeSecrets(place, async (connection, rows, own) => {
    const before = findSecret(rows, own) as RootSecretRow;
    const found = findSecret(rows, secret);
    if (found !== undefined && found.retired_at !== null) {
      throw impossible(
        `That secret is version ${found.version}, which was retired: add one that was never used.`,
      );
    }
    if (found !== undefined) return { added: found, before, isNew: false };
    const version = (rows.at(-1)?.version ?? 0) + 1;
    const sealed = sealKeys(secret, version, openRow(rows, own));
    const added = await insertRootSecret(connection, version, rootFingerprint(secret), sealed);
    await recordAction(connection, actor, { shopKey: null, action: "secret.add", detail: { version } });
    return { added, before, isNew: true };
  });
}

/** One change at a time, by a process whose secret is still valid. */
async function changeSecrets<Result>(
  place: SecretPlace,
  change: (connection: Connection, rows: RootSecretRow[], own: string) => Promise<Result>,
): Promise<Result> {
  const own = ownSecret(place);
  return place.database.transaction(async (connection) => {
    await lockRootSecrets(connection);
    const rows = await listRootSecrets(connection);
    return change(connection, rows, requireKnown({ rows, earlier: null }, own));
  });
}

function takeSecret(file: string): { secret: string; isMade: boolean } {
  try {
    return readOrCreateSecretFile(file);
  } catch (error) {
    throw refusalOf(error, file);
  }
}

function requireStrong(secret: string): void {
  if (secret.length < LEAST_CHARACTERS) {
    throw invalid(`The new secret must have at least ${LEAST_CHARACTERS} characters.`);
  }
  if (!isWeakSecret(secret)) return;
  throw invalid("The new secret must be random, such as what openssl rand -hex 32 prints.");
}

function shown(row: RootSecretRow, own: string | null): ShownSecret {
  const { version, created_at: createdAt, retired_at: retiredAt } = row;
  const isOwn = own !== null && row.fingerprint.equals(rootFingerprint(own));
  return { version, created_at: createdAt, retired_at: retiredAt, is_own: isOwn };
}

function ownSentence(rows: readonly RootSecretRow[], version: number): string {
  return validOf(rows).length === 1
    ? `Version ${version} is the only valid secret: add another one first, by ./returns secret add.`
    : `This command uses version ${version} itself: run it with another valid secret, to prove that one works.`;
}
