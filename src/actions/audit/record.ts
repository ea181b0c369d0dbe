import { insertAuditEvent, insertInstallationEvent } from "../../store/queries/audit.ts";
import type { Connection } from "../../store/database.ts";
import type { Actor } from "../actor.ts";

/** The audit details of an action; their type excludes secrets. */
export type Detail = { readonly [name: string]: DetailValue };
type DetailValue = string | number | boolean | null | undefined | Date | readonly DetailValue[] | Detail;

/** An action that changes something. */
type AuditedAction = {
  /** null = the whole installation. */
  shopKey: number | null;
  /** The name of the right that it takes. */
  action: string;
  /** The changed values, after the change. */
  detail: Detail;
  /** How that was before; absent = nothing was. */
  before?: Detail;
};

/** Records an action in the action's own transaction. */
export async function recordAction(
  connection: Connection,
  actor: Actor,
  action: AuditedAction,
): Promise<void> {
  const { shopKey, before = null, ...rest } = action;
  const event = { ...rest, actor: actor.name, origin: actor.origin, before };
  if (shopKey === null) await insertInstallationEvent(connection, event);
  else await insertAuditEvent(connection, shopKey, event);
}
