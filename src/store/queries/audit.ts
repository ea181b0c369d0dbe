import { command } from "../query.ts";

/** The shop key of actions that concern no single workspace, such as changing a plan. */
export const INSTALLATION_SHOP_KEY = 0;

/** Who did what; `detail` holds no secret. Belongs into the transaction of the action itself. */
export const insertAuditEvent = command<
  [shopKey: number, event: { actor: string; action: string; detail: Record<string, unknown> }]
>(
  "insert_audit_event",
  "insert into audit_event (shop_key, actor, action, detail) values ($1, $2, $3, $4)",
  (shopKey, event) => [shopKey, event.actor, event.action, JSON.stringify(event.detail)],
);
