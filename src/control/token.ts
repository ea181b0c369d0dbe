import { createToken } from "../admission/token.ts";
import { SCOPES } from "../contract/endpoint.ts";
import type { Connection, Database } from "../store/database.ts";
import {
  expireToken,
  findReplacement,
  findRequestedToken,
  insertToken,
  listTokens,
  lockToken,
  revokeToken,
} from "../store/queries/token-write.ts";
import type { TokenRow } from "../store/queries/token-write.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { requireRight } from "./rights.ts";
import { quoted, readChoices, readExpiry, readLifetime, readText } from "./input.ts";
import { impossible, invalid, Refusal } from "./refusal.ts";

/** `token` is shown this once; only its hash is kept. */
export type IssuedToken = { token: string; token_id: string };

/** The new token, what it has from the old one, and until when that works. */
export type RotatedToken = IssuedToken & {
  name: string;
  scopes: string[];
  replaces: { token_id: string; valid_until: Date };
};

/** A token as lists show it. */
export type ListedToken = TokenRow & { status: "active" | "expired" | "revoked" };

const NAME_MAX_LENGTH = 100;
const ID_ATTEMPTS = 5;

/** The form that asks for a token has made one before; nothing is made a second time. */
export class AlreadyMade extends Refusal {
  readonly tokenId: string;

  constructor(tokenId: string) {
    super("impossible", `This form has already made the token ${tokenId}. A token is shown only once.`);
    this.name = "AlreadyMade";
    this.tokenId = tokenId;
  }
}

/** `requestKey` names the form that asks, so that sending it twice makes one token. */
type Requested = { requestKey?: string | undefined; now: Date };

/**
 * Makes a token with the scopes of a comma-separated list; `expires` as `readExpiry` takes it. Throws `AlreadyMade` for a
 * `requestKey` that has made one, on whatever server.
 */
export async function issueToken(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  pepper: Buffer,
  request: Requested & { name: string; scopes: string; expires?: string | undefined },
): Promise<IssuedToken> {
  requireRight(actor, "token.create");
  const requestKey = readRequestKey(request.requestKey);
  const name = readText("The name", request.name, NAME_MAX_LENGTH);
  const scopes = readChoices("The scopes", request.scopes, SCOPES);
  if (scopes.length === 0) throw invalid(`The scopes must name at least one of ${SCOPES.join(", ")}.`);
  const expiresAt =
    request.expires === undefined ? null : readExpiry("The expiry", request.expires, request.now);
  return database.transaction(async (connection) => {
    await refuseSecond(connection, workspace, requestKey);
    const token = { name, scopes, expiresAt, action: "token.create", requestKey } as const;
    return insertNewToken(connection, actor, workspace, pepper, token);
  });
}

/**
 * Ends a token now; ending it again changes nothing. `typedName` = what the actor typed as its name, where that was asked
 * for. Returns since when it is revoked.
 */
export async function endToken(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  { tokenId, typedName }: { tokenId: string; typedName?: string },
): Promise<{ token_id: string; revoked_at: Date }> {
  requireRight(actor, "token.revoke");
  return database.transaction(async (connection) => {
    const token = await requireToken(connection, workspace, tokenId);
    if (token.revoked_at !== null) return { token_id: tokenId, revoked_at: token.revoked_at };
    if (typedName !== undefined && typedName.trim() !== token.name) {
      throw invalid("The name is not that of this token: type it as it stands above.");
    }
    const revokedAt = await revokeToken(connection, workspace.shop_key, tokenId);
    await recordAction(connection, actor, {
      shopKey: workspace.shop_key,
      action: "token.revoke",
      detail: { token_id: tokenId },
      before: settingsOf(token),
    });
    return { token_id: tokenId, revoked_at: revokedAt as Date };
  });
}

/**
 * Makes a token with the name, scopes and lifetime of another one, which ends now, or after `overlap` (24h, 7d) so
 * that its users can change over. Throws `AlreadyMade` as `issueToken` does.
 */
export async function rotateToken(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  pepper: Buffer,
  request: Requested & { tokenId: string; overlap?: string | undefined },
): Promise<RotatedToken> {
  requireRight(actor, "token.rotate");
  const { tokenId, now } = request;
  const requestKey = readRequestKey(request.requestKey);
  const overlapMs = request.overlap === undefined ? 0 : readLifetime("The overlap", request.overlap);
  return database.transaction(async (connection) => {
    const old = await requireToken(connection, workspace, tokenId);
    await refuseSecond(connection, workspace, requestKey);
    await requireRotatable(connection, workspace, old, now);
    const lifetimeMs = old.expires_at === null ? null : old.expires_at.getTime() - old.created_at.getTime();
    const issued = await insertNewToken(connection, actor, workspace, pepper, {
      name: old.name,
      scopes: old.scopes,
      expiresAt: lifetimeMs === null ? null : new Date(now.getTime() + lifetimeMs),
      action: "token.rotate",
      replaces: old,
      requestKey,
    });
    const validUntil =
      overlapMs === 0
        ? await revokeToken(connection, workspace.shop_key, tokenId)
        : await expireToken(connection, workspace.shop_key, tokenId, new Date(now.getTime() + overlapMs));
    const { name, scopes } = old;
    return { ...issued, name, scopes, replaces: { token_id: tokenId, valid_until: validUntil as Date } };
  });
}

/** The workspace's tokens without their secrets. */
export async function showTokens(
  database: Database,
  workspace: WorkspaceRow,
  now: Date,
): Promise<ListedToken[]> {
  const tokens = await listTokens(database, workspace.shop_key);
  return tokens.map((token) => ({ ...token, status: statusOf(token, now) }));
}

type TokenToInsert = {
  name: string;
  scopes: readonly string[];
  expiresAt: Date | null;
  action: "token.create" | "token.rotate";
  replaces?: TokenRow;
  requestKey: string | null;
};

async function insertNewToken(
  connection: Connection,
  actor: Actor,
  workspace: WorkspaceRow,
  pepper: Buffer,
  { name, scopes, expiresAt, action, replaces, requestKey }: TokenToInsert,
): Promise<IssuedToken> {
  const { shop_key: shopKey } = workspace;
  const asked = { name, scopes, createdBy: actor.name, expiresAt, requestKey };
  for (let attempt = 1; attempt <= ID_ATTEMPTS; attempt++) {
    const { token, tokenId, secretHash } = createToken(shopKey, pepper);
    const kept = { ...asked, tokenId, secretHash, replaces: replaces?.token_id ?? null };
    if (!(await insertToken(connection, shopKey, kept))) {
      // The same form, sent to another server at the same time.
      await refuseSecond(connection, workspace, requestKey);
      continue;
    }
    await recordAction(connection, actor, {
      shopKey,
      action,
      detail: {
        token_id: tokenId,
        name,
        scopes,
        expires_at: expiresAt,
        ...(replaces === undefined ? {} : { replaces: replaces.token_id }),
      },
      ...(replaces === undefined ? {} : { before: settingsOf(replaces) }),
    });
    return { token, token_id: tokenId };
  }
  throw new Error("No free token id was found.");
}

/** How a token was before it was replaced or revoked, for the audit. */
function settingsOf({ token_id, name, scopes, expires_at }: TokenRow) {
  return { token_id, name, scopes, expires_at };
}

const REQUEST_KEY = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;

function readRequestKey(key: string | undefined): string | null {
  if (key === undefined) return null;
  if (REQUEST_KEY.test(key)) return key;
  throw invalid("The form is not complete: open it again.");
}

async function refuseSecond(
  connection: Connection,
  workspace: WorkspaceRow,
  requestKey: string | null,
): Promise<void> {
  const made =
    requestKey === null ? null : await findRequestedToken(connection, workspace.shop_key, requestKey);
  if (made !== null) throw new AlreadyMade(made);
}

/** One that has ended, or that another one has replaced already, is not replaced again. */
async function requireRotatable(
  connection: Connection,
  workspace: WorkspaceRow,
  token: TokenRow,
  now: Date,
): Promise<void> {
  const { token_id: tokenId } = token;
  const status = statusOf(token, now);
  if (status !== "active") throw impossible(`The token ${tokenId} is ${status}: create a new one instead.`);
  const replacement = await findReplacement(connection, workspace.shop_key, tokenId);
  if (replacement !== null) {
    throw impossible(`The token ${tokenId} is replaced by ${replacement} already: rotate that one instead.`);
  }
}

async function requireToken(
  connection: Connection,
  workspace: WorkspaceRow,
  tokenId: string,
): Promise<TokenRow> {
  const token = await lockToken(connection, workspace.shop_key, tokenId);
  if (token !== null) return token;
  throw impossible(`The workspace ${workspace.shop_domain} has no token with the id ${quoted(tokenId)}.`);
}

/** Whether requests with a token are let in, as far as the token is concerned. */
export function statusOf(token: TokenRow, now: Date): ListedToken["status"] {
  if (token.revoked_at !== null) return "revoked";
  return token.expires_at !== null && token.expires_at <= now ? "expired" : "active";
}
