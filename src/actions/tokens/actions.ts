import { createToken as makeToken } from "../../access/token.ts";
import { SCOPES, type Scope } from "../../contract/endpoint.ts";
import { firstDay } from "../usage/usage.ts";
import { quoted } from "../input.ts";
import { impossible, invalid, Refusal } from "../refusal.ts";
import { findPlan } from "../plan/queries.ts";
import {
  expireToken,
  findReplacement,
  findRequestedToken,
  insertToken,
  listUsedTokens,
  lockToken,
  revokeToken as endToken,
} from "./queries.ts";
import type { TokenRow } from "./queries.ts";
import { defineAction, defineList, ShownSecret, type ActionContext, type Done } from "../action.ts";
import { anyText, expiry, lifetime, optional, requestKey, someOf, text, typedName } from "../field.ts";
import { findGrant } from "../apps/queries.ts";
import { attend, sortByAttention, statusOf, type AttendedToken } from "./attention.ts";

/** How many days of requests the list counts, today included. */
export const RECENT_DAYS = 30;

/** What each scope allows a program to read. */
export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  "read:dashboard": "Catalogue, summaries and rankings",
  "read:reports": "Reports and monthly series",
  "read:exports": "Reports and tables as files",
  "read:alerts": "Alerts",
};

/** The token is shown this once; only its hash is kept. */
type IssuedToken = { token: ShownSecret; token_id: string };

const NAME_MAX_LENGTH = 100;
const ID_ATTEMPTS = 5;

/** The form has already created its token; no second one is created. */
export class AlreadyMade extends Refusal {
  readonly tokenId: string;

  constructor(tokenId: string) {
    super("impossible", `This form has already created the token ${tokenId}. A token is shown only once.`);
    this.name = "AlreadyMade";
    this.tokenId = tokenId;
  }
}

const tokenId = anyText("The token", { kind: "hidden", hint: "its id, from `token list`" });

/** The workspace's tokens without their secrets, those that need somebody first. */
export const tokenList = defineList<AttendedToken>({
  name: "tokens.read",
  about: "List a workspace's tokens, without their secrets.",
  past: "Read the list of tokens",
  least: "admin",
  columns: {
    "token id": "token_id",
    name: "name",
    status: "status",
    scopes: "scopes",
    created: "created_at",
    expires: "expires_at",
    "last used": "last_used_at",
  },
  rows: async ({ database, workspace, now }) => {
    const rows = await listUsedTokens(database, workspace.shop_key, firstDay(RECENT_DAYS, now));
    return sortByAttention(rows.map((row) => attend(row, now)));
  },
});

export const createToken = defineAction({
  name: "token.create",
  title: "Create token",
  about: "Create a token and print it, once, on standard output.",
  past: "Created a token",
  least: "admin",
  proof: true,
  usesKeys: true,
  input: {
    name: text("Name", NAME_MAX_LENGTH, {
      hint: "What uses it, such as “weekly report”. 1 to 100 characters.",
    }),
    scopes: someOf(
      "Scopes",
      SCOPES.map((scope) => [scope, SCOPE_WORDS[scope]] as const),
      {
        hint: SCOPES.join(", "),
      },
    ),
    expires: optional(expiry("Expiry", { hint: "90d, 12h or a future date-time (default: never)" })),
    request_key: requestKey,
  },
  run: async (context, { name, scopes, expires, request_key }) => {
    await refuseSecond(context, request_key);
    const token = { name, scopes, expiresAt: expires, replaces: null, requestKey: request_key };
    return issued(await insertNewToken(context, token), { name, scopes, expires_at: expires });
  },
});

export const rotateToken = defineAction({
  name: "token.rotate",
  title: "Replace token",
  about: "Replace a token with a new one of the same name, scopes and lifetime.",
  past: "Replaced a token",
  least: "admin",
  proof: true,
  usesKeys: true,
  input: {
    token_id: tokenId,
    overlap: optional(
      lifetime("Overlap", { hint: "how long the old one stays valid: 24h, 7d (default: not at all)" }),
    ),
    request_key: requestKey,
  },
  confirm: ({ token_id: id, overlap }) =>
    overlap === null ? `Requests with the token ${id} will fail. Replace it?` : null,
  run: async (context, { token_id: id, overlap, request_key }) => {
    const { connection, shopKey, now } = context;
    const old = await requireToken(context, id);
    await refuseSecond(context, request_key);
    await requireRotatable(context, old);
    const { name, scopes } = old;
    const lifetimeMs = old.expires_at === null ? null : old.expires_at.getTime() - old.created_at.getTime();
    const expiresAt = lifetimeMs === null ? null : new Date(now.getTime() + lifetimeMs);
    const made = await insertNewToken(context, {
      name,
      scopes,
      expiresAt,
      replaces: id,
      requestKey: request_key,
    });
    const validUntil =
      (overlap ?? 0) === 0
        ? await endToken(connection, shopKey, id)
        : await expireToken(connection, shopKey, id, new Date(now.getTime() + (overlap ?? 0)));
    const replaces = { token_id: id, valid_until: validUntil as Date };
    const done = issued(
      { ...made, name, scopes, replaces },
      { name, scopes, expires_at: expiresAt, replaces: id },
      settingsOf(old),
    );
    return {
      ...done,
      done: `${done.done} The token ${id} works until ${replaces.valid_until.toISOString()}.`,
    };
  },
});

export const revokeToken = defineAction({
  name: "token.revoke",
  title: "Revoke token",
  about: "Revoke a token; requests with it fail at once.",
  past: "Revoked a token",
  least: "admin",
  proof: true,
  input: {
    token_id: tokenId,
    typed_name: typedName,
  },
  confirm: ({ token_id: id }) => `Requests with the token ${id} will fail. Revoke it?`,
  run: async (context, { token_id: id, typed_name: typed }) => {
    const token = await requireToken(context, id);
    const done = (revokedAt: Date) => `The token ${token.name} was revoked at ${revokedAt.toISOString()}.`;
    if (token.revoked_at !== null) {
      return {
        result: { token_id: id, revoked_at: token.revoked_at },
        done: done(token.revoked_at),
        audit: null,
      };
    }
    if (typed !== null && typed !== token.name) {
      throw invalid("This is not the token’s name: type it exactly as shown above.", "typed_name");
    }
    const revokedAt = (await endToken(context.connection, context.workspace.shop_key, id)) as Date;
    return {
      result: { token_id: id, revoked_at: revokedAt },
      done: done(revokedAt),
      audit: { detail: { token_id: id }, before: settingsOf(token) },
    };
  },
});

export const TOKEN_ACTIONS = [createToken, revokeToken, rotateToken] as const;

function issued<Issued extends IssuedToken>(
  result: Issued,
  detail: { name: string; scopes: readonly string[]; expires_at: Date | null; replaces?: string },
  before?: ReturnType<typeof settingsOf>,
): Done<Issued> & { secret: ShownSecret } {
  const { token: secret, token_id: id } = result;
  return {
    result,
    secret,
    done: `Its id is ${id}. It is not shown again.`,
    audit: { detail: { token_id: id, ...detail }, ...(before === undefined ? {} : { before }) },
  };
}

type TokenToInsert = {
  name: string;
  scopes: readonly string[];
  expiresAt: Date | null;
  replaces: string | null;
  requestKey: string | null;
};

/** A token of the workspace, on a plan that lets it in. */
export async function insertNewToken(context: ActionContext, token: TokenToInsert): Promise<IssuedToken> {
  const { connection, actor, shopKey, keys } = context;
  await requireApiAccess(context);
  for (let attempt = 1; attempt <= ID_ATTEMPTS; attempt++) {
    const { token: secret, tokenId: id, secretHash } = makeToken(shopKey, keys.tokenPepper);
    const kept = { ...token, tokenId: id, secretHash, createdBy: actor.name };
    if (await insertToken(connection, shopKey, kept)) return { token: new ShownSecret(secret), token_id: id };
    // The same form, sent to another server at the same time.
    await refuseSecond(context, token.requestKey);
  }
  throw new Error("No free token id was found.");
}

/** A token that admission would refuse is not created. One that is there stays as it is when the plan changes. */
async function requireApiAccess({ connection, workspace, domain }: ActionContext): Promise<void> {
  const plan = await findPlan(connection, workspace.plan);
  if (plan?.entitlements.includes("api_access") === true) return;
  throw impossible(
    `The plan ${workspace.plan} of ${domain} does not include api_access: a token needs a plan that does.`,
  );
}

/** How a token was before it was replaced or revoked, for the audit. */
function settingsOf({ token_id, name, scopes, expires_at }: TokenRow) {
  return { token_id, name, scopes, expires_at };
}

async function refuseSecond({ connection, shopKey }: ActionContext, key: string | null): Promise<void> {
  const made = key === null ? null : await findRequestedToken(connection, shopKey, key);
  if (made !== null) throw new AlreadyMade(made);
}

/** One that has ended, or that another one has replaced already, is not replaced again. */
async function requireRotatable({ connection, shopKey, now }: ActionContext, token: TokenRow): Promise<void> {
  const { token_id: id } = token;
  if ((await findGrant(connection, shopKey, id)) !== null) {
    throw impossible(`The token ${id} is that of a connected app, which renews it automatically.`);
  }
  const status = statusOf(token, now);
  if (status !== "active") throw impossible(`The token ${id} is ${status}: create a new one instead.`);
  const replacement = await findReplacement(connection, shopKey, id);
  if (replacement !== null) {
    throw impossible(`The token ${id} has already been replaced by ${replacement}: rotate that one instead.`);
  }
}

async function requireToken({ connection, shopKey, domain }: ActionContext, id: string): Promise<TokenRow> {
  const token = await lockToken(connection, shopKey, id);
  if (token !== null) return token;
  throw impossible(`The workspace ${domain} has no token with the id ${quoted(id)}.`);
}
