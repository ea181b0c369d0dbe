import type { Database } from "../store/database.ts";
import type { SourceKind } from "../store/queries/data-source.ts";
import type { SyncKind } from "../store/queries/sync-request.ts";
import { cleanLabel } from "./connectors/shared/text.ts";

/** A source that the worker reads. */
export type Connector = {
  /** Its identifier: "shopify", "shipstation", "loop". */
  source: string;
  kind: SourceKind;
  /**
   * Reads the source, applies what it states, and publishes it together with the source's new as-of, all in the last
   * transaction. Whatever way it ends, a later run continues from what it has stored. Throws `SourceRefused` or
   * `SourceFailed`; any other error is internal.
   */
  sync(context: SyncContext): Promise<SyncOutcome>;
};

/** The parts of a source that the commands use. */
export type Source = Pick<Connector, "source" | "kind"> & {
  /** Its display name: "ShipStation". */
  title: string;
  /** Its data, as one sentence in the commands' help. */
  summary: string;
  /** The address of its API; null = each shop has its own, which is given on connecting. */
  address: string | null;
  /** How a shop is named, where each has its own address. */
  shops: ShopNames | null;
  /** The secret that connects it, its name, and where to get it (null: it is known). */
  key: { secret: string; title: string; help: string | null };
  /** Secrets in addition to the key. Those of an earlier connection are kept if it is connected again without them. */
  otherSecrets: readonly { secret: string; title: string; description: string }[];
  /** Settings of a connection, chosen with options of the command or in a form. */
  options: readonly SettingOption[];
  /** Throws `SourceFailed` for settings that no sync could use. */
  checkSettings(settings: Readonly<Record<string, unknown>>): void;
  /**
   * Tests credentials at the source before they are stored, while somebody waits. Throws `SourceRefused` or
   * `SourceFailed` when a sync with them cannot succeed.
   */
  check(place: SourcePlace): Promise<SourceAccount>;
  /** Has the source send webhooks to the service at `publicUrl`; null = it has none. Throws as `check`. */
  registerWebhooks: ((place: SourcePlace, publicUrl: string) => Promise<unknown>) | null;
  /** When deleted orders are found without webhooks: "only by a backfill". */
  deletionsFound: string;
};

export type ShopNames = {
  /** Its field: "The shop’s address". */
  label: string;
  /** What a name is: "its domain at Shopify, such as my-store.myshopify.com". */
  allowed: string;
  example: string;
  /** A shop's address, and the account that must answer there (null = any); null = it is not a name of a shop. */
  find(name: string): { shop: string | null; url: string } | null;
  /** Whether an address is a shop's, or a stand-in for it on this machine. */
  isUrl(url: URL): boolean;
};

/** `flags` and `description` are of the command, `label` is of a form. A list has several values. */
export type SettingOption = {
  setting: string;
  flags: string;
  description: string;
  label: string;
  isList: boolean;
};

/** A source's address and secrets. */
export type SourcePlace = { url: string; secrets: Secrets; signal: AbortSignal };

/** Whose credentials they are; null = the source does not say. */
type SourceAccount = {
  /** The shop's name at the source: a workspace has the data of one shop, and a shop is in one workspace. */
  account: string | null;
  currencyCode: string | null;
  /** Sentences for the person who connected it. */
  notes: string[];
};

export type SyncContext = {
  database: Database;
  shopKey: number;
  /** Of the shop. */
  currencyCode: string;
  kind: SyncKind;
  settings: Record<string, unknown>;
  /** As the last run left it, in the connector's own format; null before the first one. */
  cursor: unknown;
  credentials: Credentials;
  /** Aborted when the worker stops: the connector throws the signal's reason at the next safe point. */
  signal: AbortSignal;
  /** Aborted with `TurnOver` while others wait: a connector whose source may be slow without limit throws that where a run can continue later. */
  turn?: AbortSignal | undefined;
  now(): Date;
  progress(progress: SyncProgress): void;
};

/** The secrets of one connection; sealed at rest. */
export type Credentials = {
  read(): Promise<Secrets>;
  /**
   * Replaces the secrets with the result of `change`, one change at a time over all processes: `change` receives the result of an
   * earlier one. Returns the stored secrets.
   */
  change(change: (secrets: Secrets) => Promise<Secrets>): Promise<Secrets>;
};

export type Secrets = Readonly<Record<string, string>>;

/** `total` null = unknown. */
export type SyncProgress = { stage: string; done: number; total: number | null };

export type SyncOutcome = {
  /** Counts of the run's read and changed records, by name: orders, changed_orders, products, labels, … */
  counts: Record<string, number>;
  /** Notes for the operator about a successful run. */
  notes: string[];
  /** Whether anything that is served came out different; left out = not known. */
  isChanged?: boolean;
};

/** One sentence. It may quote a source's answer, so it is cleaned and shortened like a label. */
class SourceError extends Error {
  constructor(sentence: string) {
    super(cleanLabel(sentence) ?? "");
  }
}

/** The source refuses our credentials; it has to be reconnected. */
export class SourceRefused extends SourceError {
  override name = "SourceRefused";
}

/** The source failed; a later run may succeed. */
export class SourceFailed extends SourceError {
  override name = "SourceFailed";
}

/** A run has used its slot for long while others wait: it yields, and continues after them. */
export class TurnOver extends Error {
  override name = "TurnOver";
}

const HOUR_MS = 3_600_000;
const SHORTEST_MS = { store: HOUR_MS / 4, label_cost: HOUR_MS };
/** A third of the 36 hours after which a source is stale, so that two polls may fail. */
const LONGEST_MS = 12 * HOUR_MS;
const WEEK_MS = 7 * 24 * HOUR_MS;

/**
 * The interval until the next poll of a source: the average time between a store's orders, from 15 minutes (label sources: an
 * hour) to 12 hours. If webhooks report changes, a poll only checks that they reported all.
 */
export function pollIntervalMs(
  kind: SourceKind,
  activity: { weekOrders: number; isToldByWebhooks: boolean },
): number {
  if (activity.isToldByWebhooks) return LONGEST_MS;
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS[kind], WEEK_MS / activity.weekOrders));
}
