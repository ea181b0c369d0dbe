import { findConnection, putConnection } from "../store/queries/data-source.ts";
import type { ConnectionRow, SourceKind } from "../store/queries/data-source.ts";
import type { Database } from "../store/database.ts";
import { insertAuditEvent } from "../store/queries/audit.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { SourceFailed, SourceRefused } from "../sync/connector.ts";
import type { Secrets } from "../sync/connector.ts";
import { sealSecrets } from "../sync/credentials.ts";
import { checkLoop } from "../sync/connectors/loop/client.ts";
import { checkShipStation } from "../sync/connectors/shipstation/client.ts";
import { requestRun } from "../sync/run-request.ts";
import { OPERATOR } from "./audit.ts";
import { impossible, invalid } from "./refusal.ts";

/** What connecting works with. */
export type ConnectEnvironment = {
  database: Database;
  sealingKey: Buffer;
  now: () => Date;
};

/** A new connection; `notes` are sentences for the operator. */
export type Connected = {
  source: string;
  workspace: string;
  /** The account at the source, where it has a name. */
  account: string | null;
  url: string;
  requested_run: "backfill";
  notes: string[];
};

export const LABEL_SOURCES = ["shipstation", "loop"] as const;
export type LabelSource = (typeof LABEL_SOURCES)[number];

const LABEL_URLS: Readonly<Record<LabelSource, string>> = {
  shipstation: "https://api.shipstation.com",
  loop: "https://api.loopreturns.com",
};
const CHECKS = { shipstation: checkShipStation, loop: checkLoop } as const;
const LONGEST_CHECK_MS = 60_000;
const KEY = /^[\u0021-\u007e]{1,4096}$/u;

/**
 * Connects a source of label costs, after asking it with the key. Throws a `Refusal`, and then nothing has changed, when
 * the source does not take the key or does not answer.
 */
export async function connectLabelSource(
  environment: ConnectEnvironment,
  workspace: WorkspaceRow,
  request: { source: LabelSource; apiKey: string; url?: string | undefined },
): Promise<Connected> {
  const { source } = request;
  const apiKey = readKey("The API key", request.apiKey);
  const url = request.url ?? LABEL_URLS[source];
  await explaining(CHECKS[source]({ url, apiKey, signal: AbortSignal.timeout(LONGEST_CHECK_MS) }));
  await storeConnection(environment, workspace, {
    source,
    kind: "label_cost",
    settings: { url },
    secrets: { apiKey },
    actor: OPERATOR,
  });
  const { shop_domain: domain } = workspace;
  return { source, workspace: domain, account: null, url, requested_run: "backfill", notes: [] };
}

/** A key or token that is valid in a header: none has blanks; text with blanks is some other file. */
export function readKey(name: string, value: string): string {
  const key = value.trim();
  if (KEY.test(key)) return key;
  throw invalid(`${name} must be one word of letters, digits and signs; its file must contain nothing else.`);
}

export type ConnectionToStore = {
  source: string;
  kind: SourceKind;
  settings: Record<string, unknown>;
  secrets: Secrets;
  /** Who connects: the operator, or the merchant in the browser. */
  actor: string;
};

/**
 * Stores a connection whose credentials work and asks for everything there is to read, in one transaction. What an
 * earlier connection has read and where it stood stay.
 */
export async function storeConnection(
  { database, sealingKey, now }: ConnectEnvironment,
  workspace: WorkspaceRow,
  { source, kind, settings, secrets, actor }: ConnectionToStore,
): Promise<void> {
  const { shop_key: shopKey } = workspace;
  await database.transaction(async (connection) => {
    await putConnection(connection, {
      shopKey,
      source,
      kind,
      settings: { ...settings, connectedAt: now().toISOString() },
      sealedCredentials: sealSecrets({ sealingKey, shopKey, source }, secrets),
    });
    await requestRun(connection, { shopKey, source, kind: "backfill", requestedBy: "connect" });
    await insertAuditEvent(connection, shopKey, {
      actor,
      action: "source.connect",
      detail: { source, ...settings },
    });
  });
}

/** The connection there is or was; null = there never was one. */
export async function findEarlier(
  database: Database,
  workspace: WorkspaceRow,
  source: string,
): Promise<ConnectionRow | null> {
  return findConnection(database, workspace.shop_key, source);
}

/** Turns what a source says into the sentence of a refusal. */
export async function explaining<Result>(asking: Promise<Result>): Promise<Result> {
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
