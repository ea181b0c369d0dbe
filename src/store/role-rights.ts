/**
 * The rights on each table, function and sequence. The owner, who runs `migrate`, has all rights; the others are group roles
 * without a login (deploy/roles.sql), whose members are logins.
 */
export const ROLES = ["worker", "admission", "reader"] as const;
export type DatabaseRole = (typeof ROLES)[number];

export function groupOf(role: DatabaseRole): string {
  return `returns_${role}`;
}

/** The login that the service makes for itself on the embedded database. */
export function loginOf(role: DatabaseRole): string {
  return `returns_login_${role}`;
}

export type Privilege = "select" | "insert" | "update" | "delete";

/** By privilege the columns that it is for; "all" = the whole table. */
type TableRights = Readonly<Partial<Record<Privilege, "all" | readonly string[]>>>;

const NONE: TableRights = {};
const READ: TableRights = { select: "all" };
const WRITE: TableRights = { select: "all", insert: "all", update: "all", delete: "all" };

const readOf = (...columns: string[]): TableRights => ({ select: columns });

/** All but the hash of its secret, and the form that created it. */
const TOKEN_COLUMNS = [
  "shop_key",
  "token_id",
  "name",
  "scopes",
  "created_by",
  "created_at",
  "expires_at",
  "revoked_at",
  "last_used_at",
  "replaces",
];
/** All but its credentials, settings, cursor and last error. */
const SOURCE_COLUMNS = [
  "shop_key",
  "source",
  "kind",
  "is_connection",
  "status",
  "currency_code",
  "last_synced_at",
  "created_at",
];

type Line = readonly [worker: TableRights, admission: TableRights, reader: TableRights];

/**
 * A line for each table. The reader has what endpoints and exports read, and no secret: a table that holds one is named with
 * the columns that hold none. `admit_callers` reads and writes for admission.
 */
const TABLES: Readonly<Record<string, Line>> = {
  alert: [WRITE, NONE, READ],
  alert_endpoint: [WRITE, NONE, NONE],
  amount_refund: [WRITE, NONE, READ],
  api_token: [WRITE, NONE, readOf(...TOKEN_COLUMNS)],
  audit_event: [WRITE, NONE, READ],
  booking_difference: [WRITE, NONE, READ],
  cohort: [WRITE, NONE, READ],
  console_challenge: [WRITE, NONE, NONE],
  console_link: [WRITE, NONE, NONE],
  console_passkey: [WRITE, NONE, NONE],
  console_session: [WRITE, NONE, NONE],
  console_user: [WRITE, NONE, readOf("user_id", "name", "disabled_at")],
  coordinator: [READ, NONE, READ],
  daily_usage: [WRITE, { select: "all", update: ["requests"] }, NONE],
  data_source: [WRITE, NONE, readOf(...SOURCE_COLUMNS)],
  dirty_cohort: [WRITE, NONE, NONE],
  entity: [WRITE, NONE, READ],
  group_day: [WRITE, NONE, READ],
  identity_event: [WRITE, NONE, NONE],
  import_part: [WRITE, NONE, NONE],
  import_upload: [WRITE, NONE, NONE],
  installation: [WRITE, NONE, NONE],
  installation_secret: [WRITE, NONE, NONE],
  label_share: [WRITE, NONE, READ],
  listing: [WRITE, NONE, READ],
  oauth_grant: [WRITE, NONE, NONE],
  order_document: [WRITE, NONE, READ],
  order_line: [WRITE, NONE, READ],
  order_reference: [WRITE, NONE, NONE],
  pending_record: [WRITE, NONE, NONE],
  plan: [WRITE, NONE, READ],
  plan_request: [WRITE, NONE, READ],
  product: [WRITE, NONE, READ],
  provider_account: [WRITE, NONE, NONE],
  quiet_runs: [WRITE, NONE, NONE],
  redacted_order: [WRITE, NONE, NONE],
  removed_member: [WRITE, NONE, NONE],
  return_event: [WRITE, NONE, READ],
  return_label: [WRITE, NONE, READ],
  return_request: [WRITE, NONE, READ],
  return_tracking: [WRITE, NONE, NONE],
  run_queue: [WRITE, NONE, NONE],
  sale_event: [WRITE, NONE, READ],
  schedule: [WRITE, NONE, NONE],
  schema_migration: [READ, READ, READ],
  shop_account: [WRITE, NONE, NONE],
  shop_directory: [WRITE, NONE, READ],
  sku: [WRITE, NONE, READ],
  sku_quarter: [WRITE, NONE, READ],
  sku_year: [WRITE, NONE, READ],
  sync_record: [WRITE, NONE, NONE],
  sync_request: [WRITE, NONE, NONE],
  sync_run: [WRITE, NONE, NONE],
  unmatched_label: [WRITE, NONE, READ],
  usage_detail: [WRITE, NONE, NONE],
  variant: [WRITE, NONE, READ],
  warning_episode: [WRITE, NONE, NONE],
  watchlist_entry: [WRITE, NONE, READ],
  webhook_delivery: [WRITE, NONE, NONE],
  weekly_digest: [WRITE, NONE, NONE],
  workspace: [WRITE, NONE, READ],
  workspace_member: [WRITE, NONE, READ],
};

/** Functions that run with the owner's rights, and the role that may call each. No other function writes. */
export const FUNCTIONS: Readonly<Record<string, DatabaseRole>> = {
  admit_callers: "admission",
  analyze_shop: "worker",
};

/**
 * Every sequence except that of `schema_migration`. A backup by the worker's login would omit those without a right; identity
 * columns need none.
 */
export const SEQUENCES: Readonly<Record<string, DatabaseRole>> = {
  shop_directory_shop_key_seq: "worker",
  sync_record_record_number_seq: "worker",
};

/** A role's right on one table; `columns`: null: the whole table. */
type TableRight = {
  role: DatabaseRole;
  table: string;
  privilege: Privilege;
  columns: readonly string[] | null;
};

/** Every right of every role. */
export const TABLE_RIGHTS: readonly TableRight[] = Object.entries(TABLES).flatMap(([table, line]) =>
  ROLES.flatMap((role, place) =>
    Object.entries(line[place] as TableRights).map(([privilege, columns]) => ({
      role,
      table,
      privilege: privilege as Privilege,
      columns: columns === "all" ? null : columns,
    })),
  ),
);

export const TABLES_WITH_RIGHTS: readonly string[] = Object.keys(TABLES);
