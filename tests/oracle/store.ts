/** A store as an import folder holds it: one member per file, one object per row, empty cells left out. */
export type StoreFiles = {
  products?: OracleProduct[];
  variants?: OracleVariant[];
  order_lines: OrderLineRow[];
  returns?: ReturnRow[];
  refunds?: RefundRow[];
  return_labels?: ReturnLabelRow[];
  sale_events?: OracleSaleEvent[];
};

export type OracleProduct = {
  product_id: string;
  title: string;
  vendor?: string;
  family?: string;
  analytics_category?: string;
};

export type OracleVariant = {
  variant_id: string;
  product_id: string;
  sku?: string;
  condition?: "new" | "used";
  counterpart_sku?: string;
  unit_cost?: string;
  image_url?: string;
  option1_name?: string;
  option1_value?: string;
  option2_name?: string;
  option2_value?: string;
};

export type OrderLineRow = {
  order_id: string;
  line_id: string;
  ordered_at: string;
  product_id?: string;
  variant_id?: string;
  sku?: string;
  title?: string;
  vendor?: string;
  units: number;
  test?: boolean;
  canceled_at?: string;
  removed_units?: number;
  gift_card?: boolean;
  changes?: string;
  unit_price?: string;
  unit_discount?: string;
  sold_amount?: string;
  reversals?: string;
};

export type OracleReturnStatus = "REQUESTED" | "OPEN" | "CLOSED" | "DECLINED" | "CANCELED";

export type ReturnRow = {
  return_id: string;
  order_id: string;
  line_id: string;
  status: OracleReturnStatus;
  units: number;
  processed_units?: number;
  closed_at?: string;
  reason?: string;
  exchanged_units?: number;
  kept_amount?: string;
};

export type OracleRestockType = "RETURN" | "NO_RESTOCK" | "LEGACY_RESTOCK" | "CANCEL";

export type RefundRow = {
  refund_id: string;
  order_id: string;
  line_id: string;
  refunded_at: string;
  units: number;
  subtotal: string;
  restock_type?: OracleRestockType;
  return_id?: string;
  as_stated?: boolean;
};

export type ReturnLabelRow = {
  label_id: string;
  order_id?: string;
  return_id?: string;
  charged_at: string;
  amount: string;
  currency?: string;
  voided_at?: string;
};

export type OracleSaleEvent = {
  slug: string;
  label: string;
  starts_on: string;
  ends_on: string;
  skus?: string;
};

export type StoreSettings = {
  currency_code: string;
  primary_window_days: number;
  min_sold_units: number;
  visible_card_size: number;
  full_leaderboards: boolean;
  /** M22: the groups that the workspace assigned to reasons, which are in lower case. */
  reason_groups?: Record<string, string>;
};

/** The settings of stores that do not test settings. */
export const USUAL_SETTINGS: StoreSettings = {
  currency_code: "EUR",
  primary_window_days: 30,
  min_sold_units: 1,
  visible_card_size: 10,
  full_leaderboards: true,
};

export type OracleStore = { settings: StoreSettings; as_of: string; files: StoreFiles };

/** Parameters of a request by their names on the wire. */
export type OracleParameters = Record<string, string | number | boolean>;

/** The oracle's answer: the response's data, and the members of meta that say what was counted. */
export type OracleAnswer = { status: 200; data: unknown; meta: Record<string, unknown> } | { status: 400 };
