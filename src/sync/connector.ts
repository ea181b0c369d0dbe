import type { Database } from "../store/database.ts";
import type { SourceKind } from "../store/queries/data-source.ts";

/**
 * Everything there is (backfill), what changed since the last run (incremental), orders whose returns are still under
 * way (open_returns), or the records that webhooks named (refresh). A label source treats all of them alike.
 */
export type SyncKind = "backfill" | "incremental" | "open_returns" | "refresh";

/** A source the worker reads. */
export type Connector = {
  /** The name it has everywhere: "shopify", "shipstation", "loop". */
  source: string;
  kind: SourceKind;
  /**
   * Reads the source, applies what it said, and publishes it together with the source's new as-of, all in the last
   * transaction. Whatever way it ends, a later run continues from what it has stored. Throws `SourceRefused` or
   * `SourceFailed`; any other error is a fault of ours.
   */
  sync(context: SyncContext): Promise<SyncOutcome>;
};

export type SyncContext = {
  database: Database;
  shopKey: number;
  /** Of the shop. */
  currencyCode: string;
  kind: SyncKind;
  settings: Record<string, unknown>;
  credentials: Credentials;
  /** Aborted when the worker stops: the connector throws the signal's reason at the next safe point. */
  signal: AbortSignal;
  now(): Date;
  progress(progress: SyncProgress): void;
};

/** The secrets of one connection; sealed at rest. */
export type Credentials = {
  read(): Promise<Secrets>;
  /**
   * Replaces the secrets by what `change` makes of them, one such change at a time over all processes: `change` sees
   * what an earlier one left. Returns what is stored now.
   */
  change(change: (secrets: Secrets) => Promise<Secrets>): Promise<Secrets>;
};

export type Secrets = Readonly<Record<string, string>>;

/** `total` null = unknown. */
export type SyncProgress = { stage: string; done: number; total: number | null };

export type SyncOutcome = {
  /** What the run read and changed, by name: orders, changed_orders, products, labels, … */
  counts: Record<string, number>;
  /** Sentences the operator should read although the run succeeded. */
  notes: string[];
};

/** The source no longer takes our credentials: nothing helps but connecting it again. `message` is one sentence. */
export class SourceRefused extends Error {
  override name = "SourceRefused";
}

/** The source did not answer as it should; a later run may succeed. `message` is one sentence. */
export class SourceFailed extends Error {
  override name = "SourceFailed";
}
