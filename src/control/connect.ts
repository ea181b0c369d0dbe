import type { Database } from "../store/database.ts";
import { findConnection, putConnection } from "../store/queries/data-source.ts";
import type { ConnectionRow } from "../store/queries/data-source.ts";
import { requestRun } from "../store/queries/sync-request.ts";
import { listAccountWorkspaces } from "../store/directory.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { SourceFailed, SourceRefused } from "../sync/connector.ts";
import type { Secrets, Source, SourcePlace } from "../sync/connector.ts";
import { sealSecrets, unsealSecrets } from "../sync/credentials.ts";
import { SOURCES } from "../sync/connectors/sources.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { impossible, invalid } from "./refusal.ts";
import { requireRight } from "./rights.ts";

export type { Source };

/** What connecting works with. */
export type ConnectEnvironment = {
  database: Database;
  sealingKey: Buffer;
  now: () => Date;
  /** Where sources reach the service; null = no webhooks: it only polls. */
  publicUrl: string | null;
};

export type ConnectRequest = {
  /** The shop that the secrets have to be of; null = whichever they are of. */
  account: string | null;
  url: string;
  /** What the operator chose; undefined members are unchanged. */
  settings: Readonly<Record<string, unknown>>;
  secrets: Secrets;
};

/** A new connection; `notes` are sentences that whoever connected should read. */
export type Connected = {
  source: string;
  workspace: string;
  /** The account at the source, where it has a name. */
  account: string | null;
  url: string;
  requested_run: "backfill";
  notes: string[];
};

const LONGEST_CHECK_MS = 60_000;
const KEY = /^[\u0021-\u007e]{1,4096}$/u;

/**
 * Connects a source, after asking it with the secrets, and asks for everything there is to read. What an earlier
 * connection has read and where it stood stay. Throws a `Refusal`, and then nothing has changed, when the source does not
 * take the secrets or does not answer, or when they are of a shop of another currency or of another workspace.
 */
export async function connectSource(
  environment: ConnectEnvironment,
  actor: Actor,
  workspace: WorkspaceRow,
  source: Source,
  request: ConnectRequest,
): Promise<Connected> {
  requireRight(actor, "source.connect");
  const { database, publicUrl } = environment;
  const { url, secrets } = request;
  const { shop_domain: domain, currency_code: currency } = workspace;
  const place = { url, secrets, signal: AbortSignal.timeout(LONGEST_CHECK_MS) };
  const { account, currencyCode, notes } = await explaining(source.check(place));
  if (request.account !== null && account !== request.account) {
    throw impossible(`${url} is the shop ${account}, not ${request.account}.`);
  }
  if (currencyCode !== null && currencyCode !== currency) {
    throw impossible(
      `The shop ${account} sells in ${currencyCode}, but the workspace ${domain} counts in ${currency}: make a workspace with that currency.`,
    );
  }
  const earlier = await findConnection(database, workspace.shop_key, source.source);
  if (account !== null) await requireFree(database, actor, workspace, { source, account, earlier });
  await storeConnection(environment, workspace, source, {
    actor,
    earlier,
    settings: settingsOf(source, earlier, request, account),
    secrets: { ...keptSecrets(environment, source, earlier), ...secrets },
  });
  const hints = await registerWebhooks(source, place, publicUrl);
  return {
    source: source.source,
    workspace: domain,
    account,
    url,
    requested_run: "backfill",
    notes: [...notes, ...hints],
  };
}

/** Every source that a workspace can be connected to. */
export function listSources(): readonly Source[] {
  return SOURCES;
}

/** A key or token that is valid in a header: none has blanks; text with blanks is some other file. */
export function readKey(name: string, value: string): string {
  const key = value.trim();
  if (isKey(key)) return key;
  throw invalid(
    `The ${name} must be one word of letters, digits and signs; its file must contain nothing else.`,
  );
}

export function isKey(text: string): boolean {
  return KEY.test(text);
}

/** Data of two shops in one workspace, or of one shop in two, would be counted twice or lost. */
async function requireFree(
  database: Database,
  actor: Actor,
  { shop_domain: domain, shop_key: shopKey }: WorkspaceRow,
  { source, account, earlier }: { source: Source; account: string; earlier: ConnectionRow | null },
): Promise<void> {
  const before = earlier?.settings["shop"];
  if (typeof before === "string" && before !== account) {
    throw impossible(
      `The workspace ${domain} holds the data of the shop ${before}: make a workspace for ${account}.`,
    );
  }
  const others = await listAccountWorkspaces(database, source.source, account);
  const other = others.find((row) => row.sealed_credentials !== null && row.shop_key !== shopKey);
  if (other === undefined) return;
  // Members of a workspace learn nothing of others.
  const which =
    actor.standing === "operator"
      ? `the workspace ${other.shop_domain}`
      : "another workspace of this service";
  throw impossible(`The shop ${account} is already connected to ${which}.`);
}

function settingsOf(
  source: Source,
  earlier: ConnectionRow | null,
  request: ConnectRequest,
  account: string | null,
): Record<string, unknown> {
  const given = Object.entries(request.settings).filter(([, value]) => value !== undefined);
  const shop = account === null ? {} : { shop: account };
  const settings = { ...earlier?.settings, ...Object.fromEntries(given), url: request.url, ...shop };
  try {
    source.checkSettings(settings);
  } catch (error) {
    throw error instanceof SourceFailed ? invalid(error.message) : error;
  }
  return settings;
}

function keptSecrets(
  { sealingKey }: ConnectEnvironment,
  { source, otherSecrets }: Source,
  earlier: ConnectionRow | null,
): Secrets {
  if (earlier === null || earlier.sealed_credentials === null) return {};
  try {
    const place = { sealingKey, shopKey: earlier.shop_key, source };
    const secrets = unsealSecrets(place, earlier.sealed_credentials);
    return Object.fromEntries(
      Object.entries(secrets).filter(([name]) => otherSecrets.some(({ secret }) => secret === name)),
    );
  } catch (error) {
    if (error instanceof SourceRefused) return {};
    throw error;
  }
}

/** In one transaction with the run that it asks for. */
async function storeConnection(
  { database, sealingKey, now }: ConnectEnvironment,
  { shop_key: shopKey }: WorkspaceRow,
  { source, kind }: Source,
  connection: {
    settings: Record<string, unknown>;
    secrets: Secrets;
    actor: Actor;
    earlier: ConnectionRow | null;
  },
): Promise<void> {
  const { settings, secrets, actor, earlier } = connection;
  await database.transaction(async (transaction) => {
    await putConnection(transaction, {
      shopKey,
      source,
      kind,
      settings: { ...settings, connectedAt: now().toISOString() },
      sealedCredentials: sealSecrets({ sealingKey, shopKey, source }, secrets),
    });
    await requestRun(transaction, { shopKey, source, kind: "backfill", requestedBy: "connect" });
    await recordAction(transaction, actor, {
      shopKey,
      action: "source.connect",
      detail: { source, ...settings },
      ...(earlier === null ? {} : { before: { source, ...earlier.settings, status: earlier.status } }),
    });
  });
}

/** The connection works without webhooks, only slower. */
async function registerWebhooks(
  source: Source,
  place: SourcePlace,
  publicUrl: string | null,
): Promise<string[]> {
  if (source.registerWebhooks === null) return [];
  if (publicUrl === null) {
    return [
      "PUBLIC_URL is not set, so the shop sends no webhooks: changes are read every 15 minutes, deleted orders only by a backfill.",
    ];
  }
  try {
    await source.registerWebhooks(place, publicUrl);
    return [];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [
      `Webhooks are not registered, so changes are read every 15 minutes, deleted orders only by a backfill: ${reason}`,
    ];
  }
}

/** Turns what a source says into the sentence of a refusal. */
async function explaining<Result>(asking: Promise<Result>): Promise<Result> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof SourceRefused || error instanceof SourceFailed) throw impossible(error.message);
    if (error instanceof Error && error.name === "TimeoutError") {
      throw impossible("The source did not answer in time; nothing was stored.");
    }
    throw error;
  }
}
