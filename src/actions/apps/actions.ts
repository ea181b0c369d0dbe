import { timingSafeEqual } from "node:crypto";
import { isVerifier, newGrantSecret, OauthError, readGrantSecret } from "../../access/oauth.ts";
import type { GrantSecret } from "../../access/oauth.ts";
import { hashOf, newSecret } from "../../access/secret.ts";
import { keyedHash, parseToken, renewToken, shopKeyOfTokenId } from "../../access/token.ts";
import { SCOPES, type Scope } from "../../contract/endpoint.ts";
import { keyFor, type Keys } from "../../lib/keys.ts";
import { sealText, unsealText } from "../../lib/seal.ts";
import type { Database } from "../../store/database.ts";
import { holdWhetherMoving } from "../../store/queries/workspace-directory.ts";
import { endGrants, holdRole } from "../../store/queries/workspace-member.ts";
import { defineAction, ShownSecret, type WorkspaceCaller } from "../action.ts";
import type { Actor } from "../actor.ts";
import { anyText, someOf } from "../field.ts";
import { invalid } from "../refusal.ts";
import { mayDo } from "../right.ts";
import { insertNewToken, SCOPE_WORDS } from "../tokens/actions.ts";
import { lockToken } from "../tokens/queries.ts";
import { insertGrant, findGrant, renewAccess, renewGrant } from "./queries.ts";
import type { GrantRow } from "./queries.ts";

/** The access that an app requests, as its page shows it and its form sends it back. */
export type AppRequest = {
  clientHash: string;
  /** What it calls itself. */
  name: string;
  /** The host that its description is at; null = it registered here. */
  describedAt: string | null;
  redirectUri: string;
  /** `redirectUri` with `iss` (RFC 9207), and with the `state` of the request if it has one. */
  answerTo: string;
  codeChallenge: string;
  scopes: readonly Scope[];
};

/** So long a person may take to choose a workspace and decide. */
const SHOWN_MS = 3_600_000;

type RequestCaller = Pick<WorkspaceCaller, "keys" | "now"> & { actor: Pick<Actor, "name"> };

/** A request for addresses and forms of one person alone. */
export const sealRequest = ({ keys, actor, now }: RequestCaller, asked: AppRequest): string =>
  sealText(keyFor("requests", keys), actor.name, asked, now.getTime() + SHOWN_MS);

/** null: it was not made for this person, or has ended. */
export const openRequest = ({ keys, actor, now }: RequestCaller, sealed: string): AppRequest | null =>
  unsealText(keyFor("requests", keys), actor.name, sealed, now) as AppRequest | null;

export const REQUEST_ENDED = invalid("The app's request has ended: add the connection in the app again.");

/** Until its client must have exchanged a code. */
const CODE_MS = 2 * 60_000;

/** Lets an app in: a token that is expired until the app exchanges the code, the action's secret, and renews it from then on. */
export const connectApp = defineAction({
  name: "app.connect",
  title: "Allow access",
  about: "Let an app read a workspace (OAuth).",
  past: "Connected an app",
  least: "admin",
  proof: true,
  usesKeys: true,
  input: {
    request: anyText("Request", { kind: "hidden" }),
    scopes: someOf(
      "It may read",
      SCOPES.map((scope) => [scope, SCOPE_WORDS[scope]] as const),
    ),
  },
  run: async (context, { request, scopes: chosen }) => {
    const { connection, shopKey, domain, keys, now } = context;
    const asked = openRequest(context, request);
    if (asked === null) throw REQUEST_ENDED;
    const { name, redirectUri } = asked;
    const scopes = asked.scopes.filter((scope) => chosen.includes(scope));
    if (scopes.length === 0)
      throw invalid("It may read: choose at least one of the values that are shown.", "scopes");
    const token = { name, scopes, expiresAt: now, replaces: null, requestKey: null };
    const { token_id: tokenId } = await insertNewToken(context, token);
    const { text: code, hash: codeHash } = newGrantSecret("code", tokenId, "", keys.tokenPepper);
    const codeExpiresAt = new Date(now.getTime() + CODE_MS);
    const clientHash = Buffer.from(asked.clientHash, "hex");
    await insertGrant(connection, shopKey, { ...asked, tokenId, clientHash, codeHash, codeExpiresAt });
    return {
      result: { token_id: tokenId },
      secret: new ShownSecret(code),
      done: `${name} may read ${domain}.`,
      audit: { detail: { token_id: tokenId, name, scopes, leads_to: receiverOf(redirectUri) } },
    };
  },
});

/** Who gets the code: a host, or the program of a scheme. */
export function receiverOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri);
  return /^https?:$/u.test(protocol) ? host : `${protocol}//`;
}

/** An unauthenticated client, and what its grant is checked with. */
export type GrantCaller = { database: Database; keys: Keys; now: Date; clientId: string; address: string };

const ACCESS_SECONDS = 3600;
const DAY_MS = 24 * 3_600_000;
/** An app ends after so long without use, and, however much it is used, so long after the consent. */
const REFRESH_MS = 30 * DAY_MS;
const CONSENT_MS = 365 * DAY_MS;

/** What a client proves with that a code is its own (PKCE, RFC 7636); null = it sends a refresh token. */
type CodeProof = { redirectUri: string; verifier: string } | null;

/** "used": the secret was used before, so it may be stolen. */
type Verdict = "valid" | "expired" | "used" | "unknown";

/** A code can be exchanged once, and of the refresh tokens of a family only the newest is valid. */
function judge(grant: GrantRow, given: GrantSecret, proof: CodeProof, caller: GrantCaller): Verdict {
  const isHash = hashesOf(caller);
  if (proof === null) {
    if (!isHash(given.family, grant.family_hash)) return "unknown";
    if (!isHash(given.secret, grant.refresh_hash)) return "used";
    return refreshEnd(grant, grant.refresh_expires_at ?? caller.now) > caller.now ? "valid" : "expired";
  }
  if (!isHash(given.secret, grant.code_hash)) return "unknown";
  if (grant.code_used_at !== null) return "used";
  const { redirectUri, verifier } = proof;
  if (grant.redirect_uri !== redirectUri || !isVerifier(verifier, grant.code_challenge)) return "unknown";
  return grant.code_expires_at > caller.now ? "valid" : "expired";
}

function refreshEnd({ created_at: consentedAt }: GrantRow, wanted: Date): Date {
  return new Date(Math.min(wanted.getTime(), consentedAt.getTime() + CONSENT_MS));
}

/** Ends the grant of an access or refresh token of the client (RFC 7009); any other changes nothing. */
export async function endGrant(caller: GrantCaller, token: string): Promise<void> {
  const access = parseToken(token);
  const refresh = readGrantSecret("refresh", token);
  const tokenId = access?.tokenId ?? refresh?.tokenId;
  const shopKey = tokenId === undefined ? null : shopKeyOfTokenId(tokenId);
  if (tokenId === undefined || shopKey === null) return;
  // A guessed code locks no row, and does not reveal which workspaces are moving.
  const found = await findGrant(caller.database, shopKey, tokenId);
  if (found === null || !isOfClient(found, caller)) return;
  const isHash = hashesOf(caller);
  const isOwn =
    access === null
      ? isHash(refresh?.family ?? "", found.family_hash)
      : isHash(access.secret, found.secret_hash);
  if (!isOwn) return;
  await caller.database.transaction(async (connection) => {
    if ((await holdWhetherMoving(connection, shopKey)) === true) throw MOVING;
    await endGrants(connection, shopKey, { tokenId }, endBy(caller, "by the app"));
  });
}

const NOT_VALID = new OauthError("invalid_grant", "This code or refresh token is not valid for this client.");
const ENDED = new OauthError("invalid_grant", "This access has ended: ask the person to allow it again.");
const MOVING = new OauthError(
  "temporarily_unavailable",
  "The workspace is moving: try again in a few minutes.",
  503,
);

/**
 * Exchanges a code or a refresh token for the next one and a new access token, if the person who consented, their role and the plan
 * still allow it. Used again, it ends the grant. Returns the token response (RFC 6749, section 5.1).
 *
 * @throws OauthError
 */
export async function exchange(caller: GrantCaller, text: string, proof: CodeProof): Promise<object> {
  const given = readGrantSecret(proof === null ? "refresh" : "code", text);
  const shopKey = given === null ? null : shopKeyOfTokenId(given.tokenId);
  if (given === null || shopKey === null) throw NOT_VALID;
  const { database, keys, now } = caller;
  const { tokenId, family } = given;
  const found = await findGrant(database, shopKey, tokenId);
  if (found === null || !isOfClient(found, caller)) throw NOT_VALID;
  const issued = await database.transaction(async (connection) => {
    // Members are locked before rows of the workspace, as everywhere (`holdRights`).
    const role = await holdRole(connection, shopKey, found.created_by.replace(/^user:/u, ""));
    if ((await holdWhetherMoving(connection, shopKey)) !== false) throw MOVING;
    await lockToken(connection, shopKey, tokenId);
    const grant = await findGrant(connection, shopKey, tokenId);
    if (grant === null) throw NOT_VALID;
    const verdict = judge(grant, given, proof, caller);
    if (verdict === "unknown") throw NOT_VALID;
    if (grant.revoked_at !== null || verdict === "expired") throw ENDED;
    // Returned, so that the transaction is committed.
    const ended = async (reason: string, answer = ENDED): Promise<OauthError> => {
      await endGrants(connection, shopKey, { tokenId }, endBy(caller, reason));
      return answer;
    };
    if (verdict === "used") return ended("a code or refresh token was used twice", NOT_VALID);
    if (role === null || !mayDo(role, connectApp))
      return ended("the person who allowed it may no longer connect apps");
    if (grant.has_api_access !== true) return ended("the plan does not include api_access");
    const { token: accessToken, secretHash } = renewToken(tokenId, keys.tokenPepper);
    const next = newGrantSecret("refresh", tokenId, family || newSecret().text, keys.tokenPepper);
    const expiresAt = new Date(now.getTime() + ACCESS_SECONDS * 1000);
    await renewAccess(connection, shopKey, tokenId, { secretHash, expiresAt });
    const refreshExpiresAt = refreshEnd(grant, new Date(now.getTime() + REFRESH_MS));
    const { text: refreshToken, familyHash, hash: refreshHash } = next;
    await renewGrant(connection, shopKey, tokenId, { familyHash, refreshHash, refreshExpiresAt, now });
    return {
      access_token: accessToken,
      token_type: "Bearer",
      expires_in: ACCESS_SECONDS,
      refresh_token: refreshToken,
      scope: grant.scopes.join(" "),
    };
  });
  if (issued instanceof OauthError) throw issued;
  return issued;
}

function isOfClient(grant: GrantRow, { clientId }: GrantCaller): boolean {
  return grant.client_hash.equals(hashOf(clientId));
}

function hashesOf({ keys }: GrantCaller) {
  return (secret: string, hash: Buffer | null): boolean =>
    hash !== null && timingSafeEqual(keyedHash(secret, keys.tokenPepper), hash);
}

/** The audit shows it as a revoked token, by the app. */
const endBy = ({ address: origin }: GrantCaller, reason: string) => ({ name: "app", origin, reason });
