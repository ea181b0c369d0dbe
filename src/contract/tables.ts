/** How the values of a column are written; Parquet, CSV and the documents each translate it once. */
export type ColumnType = "text" | "integer" | "boolean" | "date" | "timestamp" | "money";

export type TableColumn = {
  name: string;
  type: ColumnType;
  /** The unit of a number; null: not a number. Money is in the currency of the workspace. */
  unit: "units" | "days" | "currency" | null;
  /** The rule of METRICS.md that the column follows; null = none. */
  rule: string | null;
  description: string;
};

/** A table that leaves the service as a file: the list, Parquet, CSV, documents and command loop over it. */
export type ExportedTable = {
  name: string;
  description: string;
  /** The meaning of a row's month; null: rows have none, and a range of months is ignored. */
  month: string | null;
  columns: readonly TableColumn[];
};

const column =
  (type: ColumnType, unit: TableColumn["unit"] = null) =>
  (name: string, description: string, rule: string | null = null): TableColumn => ({
    name,
    type,
    unit,
    rule,
    description,
  });

const text = column("text");
const flag = column("boolean");
const date = column("date");
const units = column("integer", "units");
const days = column("integer", "days");
const money = column("money", "currency");

const ORDER_KEYS = [
  text("order_id", "Id of the order."),
  text("line_id", "Id of the line within its order; one of several days counts as several lines.", "M1"),
];
const cohortMonth = date("cohort_month", "First day of the month in which the units were sold.", "M1");

export const TABLES = [
  {
    name: "cohorts",
    description: "What summary, timeseries and leaderboards say: a row for each entity, month and window.",
    month: "cohort_month",
    columns: [
      text("entity_type", "workspace, vendor, family, analytics_category, product or sku.", "M14"),
      text("entity_key", "Key of the entity; null = the workspace, or lines without a SKU."),
      flag(
        "is_used",
        "Of a product: whether the row is of its used variants; null for other entities.",
        "M14",
      ),
      cohortMonth,
      text("window", "30d, 90d, primary or lifetime.", "M4"),
      days("window_days", "Length of the window; null for lifetime.", "M4"),
      flag("is_complete", "Whether the month is complete for the window; null for lifetime.", "M5"),
      units("sold_units", "Units sold.", "M1"),
      units("returned_units", "Units of them that came back inside the window.", "M2"),
      units("refunded_units", "Units of them that were refunded inside the window.", "M2"),
      money("refund_amount", "Refunded merchandise, without tax.", "M9"),
      money("label_cost", "Return labels, whether label costs are included or not.", "M10"),
      units("restocked_units", "Refunded units that were restocked (RETURN or LEGACY_RESTOCK).", "M13"),
      money("restocked_cost", "Unit cost of the restocked units, as far as it is known.", "M13"),
      units("costed_sold_units", "Sold units whose unit cost is known.", "M13"),
      units("costed_returned_units", "Returned units whose unit cost is known.", "M13"),
      money("sold_amount", "Value of the sold units, as far as it is known.", "M20"),
      units("valued_sold_units", "Sold units whose value is known.", "M20"),
    ],
  },
  {
    name: "order_lines",
    description: "Every line of every order, also one that sells nothing.",
    month: "cohort_month",
    columns: [
      ...ORDER_KEYS,
      date("order_date", "UTC day on which the units were sold.", "M1"),
      cohortMonth,
      units("sold_units", "Units sold; 0 = the line counts in no figure.", "M1"),
      money("sold_amount", "Value of the sold units; null where the source does not say.", "M20"),
      money("unit_cost", "Cost of one unit; null where it is not known.", "M13"),
      text("sku", "SKU, as the line or its variant states it.", "M14"),
      text("variant_id", "Id of the variant.", "M14"),
      text("product_gid", "Id of the product.", "M14"),
      flag("is_used", "Whether what was sold is in used condition.", "M14"),
      text("counterpart_sku", "Of a used line: the SKU in new condition that its variant names.", "M14"),
      text("vendor", "Vendor of the product; without a product, the one that the line names.", "M7"),
      text("family", "Product family."),
      text("analytics_category", "Analytics category."),
      text("options", 'Options of the variant as JSON: [{"name": "Size", "value": "M"}].', "M22"),
    ],
  },
  {
    name: "returns",
    description: "What came back, was refunded or was charged for a label, by line and day.",
    month: "cohort_month",
    columns: [
      ...ORDER_KEYS,
      text(
        "event",
        "return = units and money of one day and reason; label = the line's share of a label.",
        "M2",
      ),
      cohortMonth,
      date("event_date", "UTC day of the return, refund or charge.", "M3"),
      days("lag_days", "Days from the line's day to this one.", "M3"),
      text("reason", "Stated reason, unspecified or refund_only; null where nothing came back.", "M8"),
      text("reason_kind", "stated, unspecified or refund_only; null where nothing came back.", "M8"),
      units("returned_units", "Units that came back.", "M2"),
      units("refunded_units", "Units that were refunded.", "M2"),
      units("restocked_units", "Refunded units of restock type RETURN or LEGACY_RESTOCK.", "M13"),
      money("refund_amount", "Refunded merchandise, without tax.", "M9"),
      units("exchanged_units", "Returned units that were exchanged.", "M23"),
      units("other_units", "Returned units that were neither exchanged nor refunded.", "M23"),
      money("kept_amount", "Value of returned units that their exchange kept.", "M23"),
      money("label_cost", "The line's share of a label.", "M10"),
    ],
  },
  {
    name: "catalogue",
    description: "Products and their variants; a product without variants is one row.",
    month: null,
    columns: [
      text("product_gid", "Id of the product."),
      text("product_title", "Title of the product."),
      text("handle", "Handle of the product in the store."),
      text("vendor", "Vendor."),
      text("family", "Product family."),
      text("analytics_category", "Analytics category."),
      text("variant_id", "Id of the variant."),
      text("sku", "SKU."),
      text("variant_title", "Title of the variant."),
      flag("is_used", "Whether the variant is in used condition.", "M14"),
      text("counterpart_sku", "Of a used variant: the SKU in new condition.", "M14"),
      money("unit_cost", "Cost of one unit; null where it is not known.", "M13"),
      text("options", 'Options as JSON: [{"name": "Size", "value": "M"}].', "M22"),
    ],
  },
  {
    name: "alerts",
    description: "The alerts of the workspace, oldest first.",
    month: "created_at",
    columns: [
      text("alert_id", "Id of the alert."),
      column("timestamp")("created_at", "When it was written."),
      text("category", "return_rate_watchlist, backfill_completed, connection_stale or report_ready."),
      text("severity", "info, warning or critical."),
      text("title", "One line."),
      text("body", "A few sentences."),
      text("metadata", "Facts of the alert, as JSON."),
    ],
  },
] as const satisfies readonly ExportedTable[];

export type TableName = (typeof TABLES)[number]["name"];

/** The forms of a file, with its content type. */
export const TABLE_FORMATS = {
  parquet: "application/vnd.apache.parquet",
  csv: "text/csv",
} as const;

export type TableFormat = keyof typeof TABLE_FORMATS;
