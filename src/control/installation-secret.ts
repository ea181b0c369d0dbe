import { createHmac } from "node:crypto";
import type { Queryable } from "../store/database.ts";
import { findSecretFingerprint, keepSecretFingerprint } from "../store/queries/installation.ts";
import { impossible } from "./refusal.ts";

const WRONG_SECRET =
  "The secret is not the one this database's tokens were made with, so that none of them would work: start with the " +
  "same RETURNS_SECRET or the same data folder.";

/**
 * Holds the installation to the secret it was first used with; a server with another one would answer 401 to every
 * token. Throws a `Refusal` when it is another one.
 */
export async function requireSameSecret(database: Queryable, tokenPepper: Buffer): Promise<void> {
  await keepSecretFingerprint(database, fingerprintOf(tokenPepper));
  const problem = await secretProblem(database, tokenPepper);
  if (problem !== null) throw impossible(problem);
}

/** The sentence about a secret that differs from the kept one; null = it is the same, or none is kept yet. */
export async function secretProblem(database: Queryable, tokenPepper: Buffer): Promise<string | null> {
  const kept = await findSecretFingerprint(database);
  return kept === null || kept.equals(fingerprintOf(tokenPepper)) ? null : WRONG_SECRET;
}

/** What tells one secret from another, and nothing else of it. */
export function fingerprintOf(tokenPepper: Buffer): Buffer {
  return createHmac("sha256", tokenPepper).update("fingerprint of the installation").digest();
}
