import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import { body, monthText } from "./meta.ts";
import { closed, count, orNull, text } from "./schema.ts";
import { TABLES } from "./tables.ts";

const exportedColumn = closed(
  {
    name: text("Name of the column."),
    type: Type.Enum(["text", "integer", "boolean", "date", "timestamp", "money"], {
      description:
        "In Parquet: STRING, INT64, BOOLEAN, DATE, TIMESTAMP in UTC, and DECIMAL with the decimals of the currency.",
    }),
    unit: orNull(Type.Enum(["units", "days", "currency"], { description: "What a number counts." })),
    rule: orNull(text("The rule of METRICS.md that the column follows.")),
    description: text("What it holds."),
  },
  { component: "ExportedColumn" },
);

const exportedTable = closed(
  {
    name: Type.Enum(
      TABLES.map(({ name }) => name),
      { description: "Name of the table, as the path of its files has it." },
    ),
    description: text("What a row is."),
    rows: count("Rows of the whole table."),
    start_month: orNull(monthText),
    end_month: orNull(monthText),
    columns: Type.Array(exportedColumn, { description: "The columns, in the order of the files." }),
  },
  { component: "ExportedTable" },
);

export const exportTables = defineEndpoint({
  name: "export-tables",
  path: "/api/v1/export/tables",
  scope: "read:exports",
  entitlements: ["api_access", "data_export"],
  tag: "Export",
  summary: "The tables for a warehouse",
  description:
    "The raw data behind every figure as tables, with columns, rows and months. Download a table again only when " +
    "meta.data_version has changed. Beyond the specification.",
  parameters: Type.Object({}),
  response: body(Type.Array(exportedTable), {
    data_version: Type.Integer({
      minimum: 0,
      description:
        "Rises with every change of the data: what was read at one version is current until it rises.",
    }),
    currency_code: text("Currency of every amount, ISO 4217."),
    primary_window_days: Type.Integer({ description: "Days of the window `primary`." }),
    min_sold_units: count("Fewest sold units of a SKU in the return-rate leaderboard."),
    label_costs_included: Type.Boolean({
      description: "Whether the API's figures include label costs; the tables always have them.",
    }),
  }),
  example: "",
  tool: null,
});
