import { randomBytes } from "node:crypto";
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import { parsedJson } from "../lib/parsed-json.ts";
import { createPlaces } from "../lib/places.ts";
import { readSigned, signed } from "../lib/signed.ts";
import type { Queryable } from "../store/database.ts";
import type { ChallengePurpose, ListedPasskey, NewPasskey } from "../store/queries/console-user.ts";
import { putUsedChallenge, findPasskey, listPasskeys } from "../store/queries/console-user.ts";
import { hashOf } from "./secret.ts";

/** As long as the browser waits for the person, and a little more. */
const LIFETIME_MS = 5 * 60_000;
const RANDOM_BYTES = 16;

/** `userId` null: anyone who signs in. `key` belongs to the installation, so that any of its servers can check the answer. */
export type ChallengeRequest = {
  key: Buffer;
  purpose: ChallengePurpose;
  userId: string | null;
  now: Date;
};

/** A challenge that this installation has made, for this purpose and person, and that has not expired. */
type DueChallenge = { hash: Buffer; expiresAt: Date; purpose: ChallengePurpose };

/**
 * Creates the bytes that a passkey signs, valid for five minutes. They are signed instead of stored, so that requesting them costs
 * nothing and needs no limit that could lock others out.
 */
export function makeChallenge(request: ChallengeRequest): Uint8Array<ArrayBuffer> {
  const random = randomBytes(RANDOM_BYTES).toString("base64url");
  const payload = `${random}.${request.now.getTime() + LIFETIME_MS}`;
  return Uint8Array.from(Buffer.from(signed(request.key, payload, contextOf(request))));
}

/** The challenge of an answer; null: not created here for this purpose and person, or expired. */
export function readChallenge(challenge: string, request: ChallengeRequest): DueChallenge | null {
  const { key, purpose, now } = request;
  const text = Buffer.from(challenge, "base64url").toString();
  // Base64url has several spellings of the same bytes; only the one we made counts.
  const isCanonical = Buffer.from(text).toString("base64url") === challenge;
  const payload = isCanonical ? readSigned(key, text, contextOf(request)) : null;
  const expiresAt = new Date(Number(payload?.split(".")[1]));
  return expiresAt > now ? { hash: hashOf(challenge), expiresAt, purpose } : null;
}

const contextOf = ({ purpose, userId }: ChallengeRequest) => `${purpose} ${userId ?? ""} `;

/** The parts of a browser's passkey answer that are read before it is checked. */
type CredentialJson = { id: string; response: { clientDataJSON: string; userHandle?: string } };

/** 1 to 1023 bytes in base64url. */
const ID = /^[A-Za-z0-9_-]{2,1364}$/u;

/** An answer and the challenge that it claims to answer; both are unchecked. */
type ReadCredential<Credential> = { response: Credential; challenge: string };

/** Reads the output of the browser's `toJSON`; null: anything else. */
function readCredential<Credential extends CredentialJson>(text: string): ReadCredential<Credential> | null {
  const credential = parsedJson(text);
  const { id, response } = objectOf(credential);
  const { clientDataJSON } = objectOf(response);
  if (typeof id !== "string" || !ID.test(id) || typeof clientDataJSON !== "string") return null;
  const { challenge } = objectOf(parsedJson(Buffer.from(clientDataJSON, "base64url").toString()));
  return typeof challenge === "string" ? { response: credential as Credential, challenge } : null;
}

/** Transports of an authenticator, from an unchecked list. */
function readTransports(list: unknown): string[] {
  const words = Array.isArray(list) ? (list as unknown[]) : [];
  return words
    .filter((word) => typeof word === "string" && /^[a-z-]{1,20}$/u.test(word))
    .slice(0, 8) as string[];
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** Where a passkey is made and used: the host name that it belongs to, and the origin of the page. */
export type PasskeySite = { rpId: string; origin: string };

/** Why a passkey was not accepted, as its person is told. */
export const PASSKEY_REFUSALS = {
  second: "This passkey is already registered: sign in with it.",
  malformed: "The browser sent no passkey. This step needs JavaScript.",
  challenge: "That took too long, or was sent twice.",
  stranger: "This passkey is not registered here.",
  unverified: "The passkey must ask for a fingerprint, a face or a PIN, and it did not.",
  counter: "This passkey may have been copied: its counter went backwards. Remove it and create another.",
  rejected: "The passkey was created for another address, or its signature is not valid.",
};

/** `userId`: the passkey's actual or claimed owner; absent: unknown. */
export type PasskeyRefusal = { refused: keyof typeof PASSKEY_REFUSALS; userId?: string };

/** A checked signature; `usePasskey` checks whether the counter still increases. */
export type Signed = { userId: string; credentialId: Buffer; counter: number };

export type PasskeyAnswer = {
  /** The credential as JSON, as the browser's `toJSON` writes it. */
  credential: string;
  site: PasskeySite;
  challengeKey: Buffer;
  now: Date;
};

/** The person who creates a passkey; a recovery replaces the existing ones, so that they cannot prevent it. */
export type Enrolment = {
  userId: string;
  name: string;
  site: PasskeySite;
  isRecovery: boolean;
  challengeKey: Buffer;
  now: Date;
};

/** The person who confirms who they are; null: anyone who signs in. */
type SignedFor = { userId: string | null };

const purposeOf = ({ userId }: SignedFor) => (userId === null ? "sign_in" : "prove");

const NAME = "Returns Analytics";
/** How long a browser waits for the person. */
const WAIT_MS = 240_000;
/** EdDSA, ES256 and RS256; every authenticator supports one of them. The default adds another, about which Node.js warns. */
const ALGORITHMS = [-8, -7, -257];
/** Limits the processors and connections that answers can take. */
const checkInTurn = createPlaces(8);

/** Imported with the first passkey, since it takes a quarter of a second. */
const library = async () => import("@simplewebauthn/server");

/** The browser's options to create a passkey for a person. */
export async function enrolmentOptions(
  database: Queryable,
  { userId, name, site, isRecovery, challengeKey: key, now }: Enrolment,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await library();
  return generateRegistrationOptions({
    rpName: NAME,
    rpID: site.rpId,
    userID: handleOf(userId),
    userName: name,
    userDisplayName: name,
    challenge: makeChallenge({ key, purpose: "enrol", userId, now }),
    timeout: WAIT_MS,
    attestationType: "none",
    excludeCredentials: isRecovery ? [] : descriptorsOf(await listPasskeys(database, userId), site),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    supportedAlgorithmIDs: ALGORITHMS,
  });
}

/** The browser's options to sign: with any passkey of this site to sign in, with one of the person to confirm their identity. */
export async function signatureOptions(
  database: Queryable,
  { userId, site, challengeKey: key, now }: SignedFor & Omit<PasskeyAnswer, "credential">,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await library();
  const own = userId === null ? null : descriptorsOf(await listPasskeys(database, userId), site);
  return generateAuthenticationOptions({
    rpID: site.rpId,
    challenge: makeChallenge({ key, purpose: purposeOf({ userId }), userId, now }),
    timeout: WAIT_MS,
    userVerification: "required",
    ...(own === null ? {} : { allowCredentials: own }),
  });
}

/** Checks a new passkey of a person, and uses its challenge up. */
export async function checkEnrolment(
  database: Queryable,
  answer: PasskeyAnswer & { userId: string },
): Promise<NewPasskey | PasskeyRefusal> {
  return checkInTurn(async (): Promise<NewPasskey | PasskeyRefusal> => {
    const { site, userId, challengeKey: key, now } = answer;
    const read = readCredential<RegistrationResponseJSON>(answer.credential);
    if (read === null) return { refused: "malformed" };
    const { response, challenge } = read;
    const due = readChallenge(challenge, { key, purpose: "enrol", userId, now });
    if (due === null || !(await putUsedChallenge(database, due))) return { refused: "challenge" };
    const { verifyRegistrationResponse } = await library();
    const checked = await checkedBy(async () => {
      await refuseCertificates(response);
      return verifyRegistrationResponse({
        response,
        expectedChallenge: challenge,
        expectedOrigin: site.origin,
        expectedRPID: site.rpId,
        requireUserVerification: true,
        supportedAlgorithmIDs: ALGORITHMS,
      });
    });
    if ("refused" in checked) return checked;
    if (!checked.verified || checked.registrationInfo === undefined) return { refused: "rejected" };
    const { id, publicKey, counter } = checked.registrationInfo.credential;
    return {
      credentialId: Buffer.from(id, "base64url"),
      rpId: site.rpId,
      publicKey: Buffer.from(publicKey),
      counter,
      transports: readTransports(response.response.transports),
    };
  });
}

/** A known passkey whose signature is not checked yet, and the challenge that it answers. */
type Known = {
  response: AuthenticationResponseJSON;
  challenge: string;
  due: DueChallenge;
  passkey: NonNullable<Awaited<ReturnType<typeof findPasskey>>>;
};

/** Finds the passkey of an answer: one look-up by primary key, only for an answer to our own challenge, without a write. */
export async function findAnswering(
  database: Queryable,
  answer: PasskeyAnswer & SignedFor,
): Promise<Known | PasskeyRefusal> {
  const { userId, challengeKey: key, now } = answer;
  const read = readCredential<AuthenticationResponseJSON>(answer.credential);
  if (read === null) return { refused: "malformed" };
  const { response, challenge } = read;
  const due = readChallenge(challenge, { key, purpose: purposeOf(answer), userId, now });
  if (due === null) return { refused: "challenge" };
  const passkey = await findPasskey(database, Buffer.from(response.id, "base64url"));
  if (passkey === null || (userId !== null && passkey.user_id !== userId)) return { refused: "stranger" };
  return { response, challenge, due, passkey };
}

/** Checks a signature of any person to sign in, or of one person as confirmation, and uses up its challenge. */
export async function checkSignature(
  database: Queryable,
  answer: PasskeyAnswer & SignedFor,
): Promise<Signed | PasskeyRefusal> {
  const known = await findAnswering(database, answer);
  if ("refused" in known) return known;
  const { response, challenge, due, passkey } = known;
  return checkInTurn(async (): Promise<Signed | PasskeyRefusal> => {
    if (!(await putUsedChallenge(database, due))) return { refused: "challenge" };
    const handle = response.response.userHandle;
    if (handle !== undefined && handle !== Buffer.from(handleOf(passkey.user_id)).toString("base64url"))
      return { refused: "stranger" };
    const { verifyAuthenticationResponse } = await library();
    const checked = await checkedBy(() =>
      verifyAuthenticationResponse({
        response,
        expectedChallenge: challenge,
        expectedOrigin: answer.site.origin,
        expectedRPID: answer.site.rpId,
        credential: {
          id: response.id,
          publicKey: Uint8Array.from(passkey.public_key),
          counter: passkey.counter,
        },
        requireUserVerification: true,
      }),
    );
    if ("refused" in checked) return { ...checked, userId: passkey.user_id };
    if (!checked.verified) return { refused: "rejected", userId: passkey.user_id };
    const { newCounter: counter } = checked.authenticationInfo;
    return { userId: passkey.user_id, credentialId: passkey.credential_id, counter };
  });
}

/** Attestation is not requested. The library would fetch revocation lists from any address in an attestation. */
async function refuseCertificates({ response }: RegistrationResponseJSON): Promise<void> {
  const { decodeAttestationObject } = await import("@simplewebauthn/server/helpers");
  const statement = decodeAttestationObject(
    Uint8Array.from(Buffer.from(response.attestationObject, "base64url")),
  );
  const format = statement.get("fmt");
  const isPlain =
    format === "none" || (format === "packed" && statement.get("attStmt").get("x5c") === undefined);
  if (!isPlain) throw new Error(`an attestation of the format ${format}`);
}

/** An error thrown by the library means an unaccepted answer: it only computes, without I/O that could fail. */
async function checkedBy<Checked extends object>(
  check: () => Promise<Checked>,
): Promise<Checked | PasskeyRefusal> {
  try {
    return await check();
  } catch (error) {
    const message = String(error);
    if (/user could not be verified/u.test(message)) return { refused: "unverified" };
    return { refused: /counter value/u.test(message) ? "counter" : "rejected" };
  }
}

function descriptorsOf(passkeys: readonly ListedPasskey[], { rpId }: PasskeySite) {
  return passkeys
    .filter((passkey) => passkey.rp_id === rpId)
    .map(({ credential_id: id, transports }) => ({ id: id.toString("base64url"), transports }));
}

/** The person's id as a passkey keeps it. */
function handleOf(userId: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(userId.replaceAll("-", ""), "hex"));
}
