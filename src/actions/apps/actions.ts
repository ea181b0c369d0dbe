import { timingSafeEqual } from "node:crypto";
import { OauthError, readDescription, wrongRequest } from "../../access/oauth.ts";
import type { AppRequest, OauthClient } from "../../access/oauth.ts";
import { hashOf, newSecret } from "../../access/secret.ts";
import { keyedHash, parseToken, renewToken, shopKeyOfTokenId } from "../../access/token.ts";
import { fetchJson } from "../../alerts/delivery/post.ts";
import type { PushOptions } from "../../alerts/delivery/send.ts";
import { SCOPES } from "../../contract/endpoint.ts";
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
import { insertGrant, findGrant, renewGrant, type GrantRow } from "./queries.ts";

/** Of an app's description. */
const MOST_BYTES = 10_240;
const TIMEOUT_MS = 5000;

/** The app that describes itself at an address, which is fetched as alerts are sent. Throws `OauthError`. */
export async function fetchClient(clientId: string, push: PushOptions): Promise<OauthClient> {
  const fetched = await fetchJson(clientId, MOST_BYTES, { ...push, timeoutMs: TIMEOUT_MS });
  if (!("problem" in fetched)) return readDescription(clientId, fetched.value);
  throw wrongRequest(`Its description could not be read (client_id): ${fetched.problem}`);
}

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
  past: "Connected an app",
  least: "admin",
  proof: true,
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
    const { text: secret } = newSecret();
    await insertGrant(connection, shopKey, {
      ...asked,
      tokenId,
      clientHash: Buffer.from(asked.clientHash, "hex"),
      codeHash: keyedHash(secret, keys.tokenPepper),
      codeExpiresAt: new Date(now.getTime() + CODE_MS),
    });
    return {
      result: { token_id: tokenId },
      secret: new ShownSecret(`rta_code_${tokenId}${secret}`),
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

/**
 * A code, or a refresh token: the token id, whose shop key locates its rows, the code's secret, which all refresh tokens of the
 * grant share, and a secret of the refresh token's own.
 */
type GrantSecret = { tokenId: string; code: string; own?: string };

const GRANT_SECRET =
  /^rta_(?:code|refresh)_(?<tokenId>[0-9A-Za-z]{16})(?<code>[\w-]{43})(?<own>[\w-]{43})?$/u;

const readGrantSecret = (text: string) => GRANT_SECRET.exec(text)?.groups as GrantSecret | undefined;

/** The grant of a token id, if it is the caller's. A guess locks no row, and does not reveal which workspaces are moving. */
async function findOwn({ database, clientId }: GrantCaller, tokenId = ""): Promise<GrantRow | null> {
  const shopKey = shopKeyOfTokenId(tokenId);
  const grant = shopKey === null ? null : await findGrant(database, shopKey, tokenId);
  return grant?.client_hash.equals(hashOf(clientId)) === true ? grant : null;
}

function isHash(hash: Buffer | null, secret: string, { keys }: GrantCaller): boolean {
  return hash !== null && timingSafeEqual(keyedHash(secret, keys.tokenPepper), hash);
}

/** The audit shows it as a revoked token, by the app. */
const endBy = ({ address: origin }: GrantCaller, reason: string) => ({ name: "app", origin, reason });

/** Ends the grant of an access or refresh token of the client (RFC 7009); any other changes nothing. */
export async function endGrant(caller: GrantCaller, token: string): Promise<null> {
  const access = parseToken(token);
  const refresh = readGrantSecret(token);
  const grant = await findOwn(caller, access?.tokenId ?? refresh?.tokenId);
  if (grant === null) return null;
  const { shop_key: shopKey, token_id: tokenId } = grant;
  const isOwn =
    isHash(grant.secret_hash, access?.secret ?? "", caller) ||
    isHash(grant.family_hash, refresh?.code ?? "", caller);
  if (!isOwn) return null;
  return caller.database.transaction(async (connection) => {
    if ((await holdWhetherMoving(connection, shopKey)) === true) throw MOVING;
    await endGrants(connection, shopKey, { tokenId }, endBy(caller, "by the app"));
    return null;
  });
}

const NOT_VALID = new OauthError("invalid_grant", "This code or refresh token is not valid for this client.");
const ENDED = new OauthError("invalid_grant", "This access has ended: ask the person to allow it again.");
const MOVING = new OauthError(
  "temporarily_unavailable",
  "The workspace is moving: try again in a few minutes.",
  503,
);

const VERIFIER = /^[\w.~-]{43,128}$/u;

/** What a client proves with that a code is its own (PKCE, RFC 7636); null = it sends a refresh token. */
type CodeProof = { redirectUri: string; verifier: string } | null;

/**
 * Exchanges a code or a refresh token for the next one and a new access token, if the person who consented, their role and the plan
 * still allow it. Used again, it ends the grant. Returns the token response (RFC 6749, section 5.1).
 *
 * @throws OauthError
 */
export async function exchange(caller: GrantCaller, text: string, proof: CodeProof): Promise<object> {
  const given = readGrantSecret(text);
  const found = await findOwn(caller, given?.tokenId);
  if (given === undefined || found === null || (given.own === undefined) !== (proof !== null))
    throw NOT_VALID;
  const { database, keys, now } = caller;
  const { shop_key: shopKey, token_id: tokenId } = found;
  const issued = await database.transaction(async (connection) => {
    // Members are locked before rows of the workspace, as everywhere (`holdRights`).
    const role = await holdRole(connection, shopKey, found.created_by.replace(/^user:/u, ""));
    if ((await holdWhetherMoving(connection, shopKey)) !== false) throw MOVING;
    await lockToken(connection, shopKey, tokenId);
    const grant = await findGrant(connection, shopKey, tokenId);
    if (grant === null) throw NOT_VALID;
    // Returned, so that the transaction is committed.
    const ended = async (reason: string): Promise<null> => {
      await endGrants(connection, shopKey, { tokenId }, endBy(caller, reason));
      return null;
    };
    if (isUsed(grant, given, proof, caller)) return ended("a code or refresh token was used twice");
    if (role === null || !mayDo(role, connectApp))
      return ended("the person who allowed it may no longer connect apps");
    if (grant.has_api_access !== true) return ended("the plan does not include api_access");
    const { token: accessToken, secretHash } = renewToken(tokenId, keys.tokenPepper);
    const { text: own } = newSecret();
    await renewGrant(connection, shopKey, tokenId, {
      secretHash,
      expiresAt: new Date(now.getTime() + ACCESS_SECONDS * 1000),
      refreshHash: keyedHash(own, keys.tokenPepper),
      refreshExpiresAt: endOf(grant, new Date(now.getTime() + REFRESH_MS)),
      now,
    });
    return {
      access_token: accessToken,
      token_type: "Bearer",
      expires_in: ACCESS_SECONDS,
      refresh_token: `rta_refresh_${tokenId}${given.code}${own}`,
      scope: grant.scopes.join(" "),
    };
  });
  if (issued === null) throw ENDED;
  return issued;
}

/**
 * Whether a code or refresh token was used before, so it may be stolen: a code can be exchanged once, and of the refresh tokens of a
 * grant only the newest is valid. Throws `OauthError` for one that is invalid or has expired.
 */
function isUsed(grant: GrantRow, given: GrantSecret, proof: CodeProof, caller: GrantCaller): boolean {
  if (!isHash(proof === null ? grant.family_hash : grant.code_hash, given.code, caller)) throw NOT_VALID;
  const isReplay =
    proof === null ? !isHash(grant.refresh_hash, given.own ?? "", caller) : grant.refresh_hash !== null;
  if (proof !== null && !isReplay) {
    const { redirectUri, verifier } = proof;
    const challenge = VERIFIER.test(verifier) ? hashOf(verifier).toString("base64url") : "";
    if (redirectUri !== grant.redirect_uri || challenge !== grant.code_challenge) throw NOT_VALID;
  }
  const isOver = !isReplay && endOf(grant, grant.secret_expires_at) <= caller.now;
  if (grant.revoked_at !== null || isOver) throw ENDED;
  return isReplay;
}

function endOf({ created_at: consentedAt }: GrantRow, wanted: Date): Date {
  return new Date(Math.min(wanted.getTime(), consentedAt.getTime() + CONSENT_MS));
}
