import { INSTALLATION_SHOP_KEY, insertAuditEvent } from "../store/queries/audit.ts";
import type { Connection } from "../store/database.ts";

/** Who acts through this layer: anyone who can reach the database is the operator. */
export const OPERATOR = "operator";

/** Records an action of the operator in the action's own transaction; `shopKey` null = the whole installation. */
export async function recordAction(
  connection: Connection,
  shopKey: number | null,
  action: string,
  detail: Record<string, unknown>,
): Promise<void> {
  await insertAuditEvent(connection, shopKey ?? INSTALLATION_SHOP_KEY, { actor: OPERATOR, action, detail });
}
