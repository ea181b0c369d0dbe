import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import { REPORT_SECTIONS } from "./parameters.ts";
import { report, reportParameters } from "./report.ts";

export const exportReport = defineEndpoint({
  name: "export-report",
  path: "/api/v1/export/report.csv",
  scope: "read:exports",
  entitlements: ["api_access", "data_export"],
  tag: "Export",
  summary: "The report as CSV",
  description:
    "Every figure of the whole report, its curves and outcomes once, one per row: section, cohort_month, key, label, metric, value, unit. " +
    "An empty value means null. Text that a spreadsheet would read as a formula starts with an apostrophe. " +
    "With reportSection=bridge it also has the bridge, and in the section bridge_line the units of each step by SKU (else product) and month of order.",
  parameters: Type.Object({
    ...reportParameters,
    reportSection: Type.Optional(
      Type.Enum([...REPORT_SECTIONS], {
        description: "bridge adds the bridge and its lines; other values change nothing.",
        "x-normalized": true,
      }),
    ),
  }),
  ignores: Object.keys(report.parameters.properties),
  response: null,
  example: "start_month=2026-01&end_month=2026-05&window=30d",
  tool: null,
});
