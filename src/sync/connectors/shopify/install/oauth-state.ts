import { randomUUID } from "node:crypto";
import { seal, unseal } from "../../../../lib/seal.ts";

/** What an installation is for. It travels through the merchant's browser, sealed. */
export type PendingInstall = {
  shopKey: number;
  /** The workspace's domain. */
  workspace: string;
  /** The shop's domain at the platform. */
  shop: string;
  /** Base address of its admin. */
  url: string;
  /** What the operator chose for the connection. */
  choices: Readonly<Record<string, unknown>>;
  /** Of a link of a member: their name as an actor. It works for as long as they may make one. */
  madeBy?: string;
  /** Started by a member in the console, who continues there. */
  endsInConsole?: boolean;
  /** Of a state: the browser in which the approval has begun. */
  browser?: string;
  /** Of a state: the id of the link that it has begun with; absent = with the platform's own installation. */
  linkId?: string;
};

export type OpenedInstallation = PendingInstall & {
  /** Of this one sealing, so that a state or a link counts once. */
  id: string;
};

/** A link that an operator passes on, and the state of one approval that has begun. */
export type SealedKind = "link" | "state";

const LIFETIME_MS: Readonly<Record<SealedKind, number>> = { link: 7 * 86_400_000, state: 10 * 60_000 };
const LONGEST = 4096;

export function sealInstallation(
  sealingKey: Buffer,
  kind: SealedKind,
  installation: PendingInstall,
  now: Date,
): string {
  const endsAt = now.getTime() + LIFETIME_MS[kind];
  const text = JSON.stringify({ ...installation, id: randomUUID(), endsAt });
  return seal(sealingKey, contextOf(kind), text).toString("base64url");
}

/** null = it was not sealed here for this kind, or its time is over. */
export function openInstallation(
  sealingKey: Buffer,
  kind: SealedKind,
  sealed: string,
  now: Date,
): OpenedInstallation | null {
  if (sealed.length > LONGEST) return null;
  try {
    const text = unseal(sealingKey, contextOf(kind), Buffer.from(sealed, "base64url"));
    const { endsAt, ...installation } = JSON.parse(text) as OpenedInstallation & { endsAt: number };
    return now.getTime() < endsAt ? installation : null;
  } catch {
    return null;
  }
}

function contextOf(kind: SealedKind): string {
  return `shopify installation ${kind}`;
}
