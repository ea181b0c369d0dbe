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
  const { database, workspace } = call;
  const input = await withKnownOption(database, workspace, call.input);
  const breakdownBy = input.breakdownBy ?? null;
  const built = await buildReport(database, workspace, input, {
    section: "overview",
    withCurves: true,
    breakdownBy,
    withOutcomes: true,
    withLiability: true,
    withFit: true,
    bridge: input.reportSection === "bridge" ? "lines" : null,
  });
  return {
    kind: "csv",
    filename: exportFilename(built.selection, input),
    chunks: reportCsv(reportRows(built.data, built)),
  };
}
