import type { Answer } from "../contract/endpoint.ts";
import type { exportReport as contract } from "../contract/export-report.ts";
import type { EndpointCall } from "./call.ts";
import { withKnownOption } from "./options.ts";
import { buildReport } from "./report-build.ts";
import { exportFilename, reportCsv } from "./report-csv.ts";
import { reportRows } from "./report-rows.ts";

/**
 * The whole report as CSV: every figure of the JSON report once, and the bridge if requested. All of it is computed before the
 * first chunk.
 */
export async function exportReport(call: EndpointCall<typeof contract>): Promise<Answer> {
  const known = { ...call, input: await withKnownOption(call, call.input) };
  const { breakdownBy, reportSection } = known.input;
  const built = await buildReport(known, "overview", [
    "curves",
    ...(breakdownBy === undefined ? [] : (["breakdown"] as const)),
    "outcomes",
    ...(reportSection === "bridge" ? (["bridge"] as const) : []),
    "fit",
    "liability",
  ]);
  return {
    kind: "file",
    filename: exportFilename(built.selection, known.input),
    type: "text/csv",
    content: reportCsv(reportRows(built)),
  };
}
