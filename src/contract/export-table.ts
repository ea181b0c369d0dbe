import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import { monthParameters } from "./parameters.ts";
import { TABLE_FORMATS, TABLES } from "./tables.ts";

export const exportTable = defineEndpoint({
  name: "export-table",
  path: "/api/v1/export/tables/{table}.{format}",
  scope: "read:exports",
  entitlements: ["api_access", "data_export"],
  tag: "Export",
  summary: "One table as a file",
  description:
    "Streams a table as Parquet or CSV, all months unless a range is given; a table without months ignores the range. At most two " +
    "at once in a workspace. A stream that fails, or whose reader stalls for a minute, is cut off: only a download that ends without an error is complete. " +
    "Beyond the specification.",
  parameters: Type.Object({
    table: Type.Enum(
      TABLES.map(({ name }) => name),
      { description: "Which table." },
    ),
    format: Type.Enum(Object.keys(TABLE_FORMATS) as (keyof typeof TABLE_FORMATS)[], {
      description: "Form of the file.",
    }),
    start_month: Type.Optional(monthParameters.start_month),
    end_month: Type.Optional(monthParameters.end_month),
  }),
  response: null,
  fileTypes: [TABLE_FORMATS.csv, TABLE_FORMATS.parquet],
  example: "table=cohorts&format=csv&start_month=2026-01&end_month=2026-05",
  tool: null,
});
