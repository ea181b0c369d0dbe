import { insertAuditEvent, insertInstallationEvent } from "../../store/queries/audit.ts";
import type { Connection } from "../../store/database.ts";
import type { Actor } from "../actor.ts";

/** An action that changes something; neither member holds a secret. */
type AuditedAction = {
  /** null = the whole installation. */
  shopKey: number | null;
  /** The name of the right that it takes. */
  action: string;
  /** The changed values, after the change. */
  detail: Readonly<Record<string, unknown>>;
  /** How that was before; absent = nothing was. */
  before?: Readonly<Record<string, unknown>>;
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
