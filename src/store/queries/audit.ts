import { command } from "../query.ts";

/** Who acts, as the audit names them, and from where; null = from this machine or a source. */
export type AuditActor = { name: string; origin: string | null };

/** An action; `detail` and `before` contain no secrets. */
export type AuditEvent = {
  actor: string;
  action: string;
  detail: Readonly<Record<string, unknown>>;
  /** Where the action came from; null = from this machine or from a source. */
  origin?: string | null;
  /** The changed values, before; null: none. */
  before?: Readonly<Record<string, unknown>> | null;
};

const MEMBERS = ["actor", "action", "detail", "origin", "before"] as const;

/** Who did what in a workspace. Call it in the transaction of the action itself. */
export const insertAuditEvent = command<[shopKey: number, event: AuditEvent]>(
  "insert_audit_event",
  `insert into audit_event (shop_key, actor, action, detail, origin, before) values ($1, $2, $3, $4, $5, $6)`,
  MEMBERS,
);

/**
 * Who did what to the installation: people to their own sign-in, operators to people and plans, and what erased a
 * workspace. Call it in the transaction of the action itself.
 */
export const insertInstallationEvent = command<[event: AuditEvent]>(
  "insert_installation_event",
  "insert into identity_event (actor, action, detail, origin, before) values ($1, $2, $3, $4, $5)",
  MEMBERS,
);
