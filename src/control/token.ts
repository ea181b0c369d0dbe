import { createToken } from "../admission/token.ts";
import { SCOPES } from "../contract/endpoint.ts";
import type { Connection, Database } from "../store/database.ts";
import {
  expireToken,
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
import { impossible, invalid } from "./refusal.ts";

/** `token` is shown this once; only its hash is kept. */
export type IssuedToken = { token: string; token_id: string };

/** A token as lists show it. */
export type ListedToken = TokenRow & { status: "active" | "expired" | "revoked" };

const NAME_MAX_LENGTH = 100;
const ID_ATTEMPTS = 5;

/** Makes a token with the scopes of a comma-separated list; `expires` as `readExpiry` takes it. */
export async function issueToken(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  pepper: Buffer,
  request: { name: string; scopes: string; expires?: string | undefined; now: Date },
): Promise<IssuedToken> {
  requireRight(actor, "token.create");
  const name = readText("The name", request.name, NAME_MAX_LENGTH);
  const scopes = readChoices("The scopes", request.scopes, SCOPES);
  if (scopes.length === 0) throw invalid(`The scopes must name at least one of ${SCOPES.join(", ")}.`);
  const expiresAt =
    request.expires === undefined ? null : readExpiry("The expiry", request.expires, request.now);
  return database.transaction((connection) =>
    insertNewToken(connection, actor, workspace, pepper, { name, scopes, expiresAt, action: "token.create" }),
  );
}

/** Ends a token now; ending it again changes nothing. Returns since when it is revoked. */
export async function endToken(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  tokenId: string,
): Promise<{ token_id: string; revoked_at: Date }> {
  requireRight(actor, "token.revoke");
  return database.transaction(async (connection) => {
    const token = await requireToken(connection, workspace, tokenId);
    if (token.revoked_at !== null) return { token_id: tokenId, revoked_at: token.revoked_at };
    const revokedAt = await revokeToken(connection, workspace.shop_key, tokenId);
    await recordAction(connection, actor, {
      shopKey: workspace.shop_key,
      action: "token.revoke",
      detail: { token_id: tokenId },
    });
    return { token_id: tokenId, revoked_at: revokedAt as Date };
  });
}

/**
 * Makes a token with the name, scopes and lifetime of another one, which ends now, or after `overlap` (24h, 7d) so
 * that its users can change over.
 */
export async function rotateToken(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  pepper: Buffer,
  request: { tokenId: string; overlap?: string | undefined; now: Date },
): Promise<IssuedToken & { replaces: { token_id: string; valid_until: Date } }> {
  requireRight(actor, "token.rotate");
  const { tokenId, now } = request;
  const overlapMs = request.overlap === undefined ? 0 : readLifetime("The overlap", request.overlap);
  return database.transaction(async (connection) => {
    const old = await requireToken(connection, workspace, tokenId);
    const status = statusOf(old, now);
    if (status !== "active") throw impossible(`The token ${tokenId} is ${status}: create a new one instead.`);
    const lifetimeMs = old.expires_at === null ? null : old.expires_at.getTime() - old.created_at.getTime();
    const issued = await insertNewToken(connection, actor, workspace, pepper, {
      name: old.name,
      scopes: old.scopes,
      expiresAt: lifetimeMs === null ? null : new Date(now.getTime() + lifetimeMs),
      action: "token.rotate",
      replaces: tokenId,
    });
    const validUntil =
      overlapMs === 0
        ? await revokeToken(connection, workspace.shop_key, tokenId)
        : await expireToken(connection, workspace.shop_key, tokenId, new Date(now.getTime() + overlapMs));
    return { ...issued, replaces: { token_id: tokenId, valid_until: validUntil as Date } };
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
  action: string;
  replaces?: string;
};

async function insertNewToken(
  connection: Connection,
  actor: Actor,
  workspace: WorkspaceRow,
  pepper: Buffer,
  { name, scopes, expiresAt, action, replaces }: TokenToInsert,
): Promise<IssuedToken> {
  for (let attempt = 1; attempt <= ID_ATTEMPTS; attempt++) {
    const { token, tokenId, secretHash } = createToken(workspace.shop_key, pepper);
    const kept = { tokenId, name, secretHash, scopes, createdBy: actor.name, expiresAt };
    if (!(await insertToken(connection, workspace.shop_key, kept))) continue;
    await recordAction(connection, actor, {
      shopKey: workspace.shop_key,
      action,
      detail: {
        token_id: tokenId,
        name,
        scopes,
        expires_at: expiresAt,
        ...(replaces === undefined ? {} : { replaces }),
      },
    });
    return { token, token_id: tokenId };
  }
  throw new Error("No free token id was found.");
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

function statusOf(token: TokenRow, now: Date): ListedToken["status"] {
  if (token.revoked_at !== null) return "revoked";
  return token.expires_at !== null && token.expires_at <= now ? "expired" : "active";
}
