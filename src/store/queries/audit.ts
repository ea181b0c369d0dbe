import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";

/** The shop key of actions that concern no single workspace, such as changing a plan. */
export const INSTALLATION_SHOP_KEY = 0;

const INSERT_AUDIT_EVENT = defineStatement({
  name: "insert_audit_event",
  text: "insert into audit_event (shop_key, actor, action, detail) values ($1, $2, $3, $4)",
});

/** Who did what; `detail` holds no secret. Belongs into the transaction of the action itself. */
export async function insertAuditEvent(
  database: Queryable,
  shopKey: number,
  event: { actor: string; action: string; detail: Record<string, unknown> },
): Promise<void> {
  await database.rows(INSERT_AUDIT_EVENT, [shopKey, event.actor, event.action, JSON.stringify(event.detail)]);
}
