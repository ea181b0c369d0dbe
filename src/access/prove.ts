import type { Connection, Database } from "../store/database.ts";
import { useLink } from "../store/queries/console-session.ts";
import { listPasskeys, usePasskey } from "../store/queries/console-passkey.ts";
import { lockPerson } from "../store/queries/console-user.ts";
import { checkSignature } from "./passkey.ts";
import type { PasskeyAnswer } from "./passkey.ts";
import { recordRefusal } from "./record.ts";
import { hashSecret } from "./secret.ts";
import { proveSession } from "./session.ts";
import { openLink } from "./sign-in.ts";
import type { Browser, SignInRefusal } from "./sign-in.ts";

/** A new proof of who somebody is: their session under a new id, or why not. "other": a link for something else. */
export type Proof =
  | { outcome: "proved"; session: string }
  | { outcome: SignInRefusal | "other" | "signed_out" };

/** Whose session is renewed, and who asks. */
export type ProofRequest = Pick<Browser, "origin" | "recordsRefusals"> & {
  userId: string;
  sessionHash: Buffer;
  now: Date;
};

/** Whether a person has a passkey for a host name. */
export async function hasPasskey(database: Database, userId: string, rpId: string): Promise<boolean> {
  return (await listPasskeys(database, userId)).some((passkey) => passkey.rp_id === rpId);
}

/** Proves by a passkey of the person. */
export async function proveByPasskey(
  database: Database,
  request: ProofRequest & PasskeyAnswer,
): Promise<Proof> {
  const { userId, now } = request;
  const signed = await checkSignature(database, { ...request, purpose: "prove", userId });
  if ("refused" in signed) return refused(database, request, signed.refused);
  const { credentialId, counter } = signed;
  const proof = await database.transaction(async (connection): Promise<Proof> => {
    return renew(connection, request, "passkey", async () =>
      (await usePasskey(connection, credentialId, counter, now)) ? null : { outcome: "counter" },
    );
  });
  return proof.outcome === "proved" ? proof : refused(database, request, proof.outcome);
}

/** Proves by a new link of the same person. Another person's link, and one that would end passkeys, stay unused. */
export async function proveByLink(
  database: Database,
  request: ProofRequest & { secret: string },
): Promise<Proof> {
  const { secret, userId, now } = request;
  const link = await openLink(database, secret, now);
  if ("outcome" in link) return refused(database, request, link.outcome);
  if (link.user_id !== userId || link.purpose === "recover") return refused(database, request, "other");
  const proof = await database.transaction(async (connection): Promise<Proof> => {
    const hash = hashSecret(secret) as Buffer;
    return renew(connection, request, "link", async () =>
      (await useLink(connection, hash, now)) === null ? { outcome: "used" } : null,
    );
  });
  return proof.outcome === "proved" ? proof : refused(database, request, proof.outcome);
}

/** Holds the person first, as whoever changes or removes one does; `useUp` says why the proof does not count. */
async function renew(
  connection: Connection,
  request: ProofRequest,
  way: "link" | "passkey",
  useUp: () => Promise<Proof | null>,
): Promise<Proof> {
  const person = await lockPerson(connection, request.userId);
  if (person?.disabled_at !== null) return { outcome: "disabled" };
  const refusal = await useUp();
  if (refusal !== null) return refusal;
  const session = await proveSession(connection, { ...request, way });
  return session === null ? { outcome: "signed_out" } : { outcome: "proved", session };
}

async function refused(
  database: Database,
  request: ProofRequest,
  outcome: Exclude<Proof["outcome"], "proved">,
): Promise<Proof> {
  if (request.recordsRefusals !== false) await recordRefusal(database, request, `proof: ${outcome}`);
  return { outcome };
}
