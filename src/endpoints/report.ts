import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import type { ReportData, ReportSection, WholeReport, report as contract } from "../contract/report.ts";
import type { EndpointCall } from "./call.ts";
import { buildReport, type BuiltReport } from "./report-build.ts";
import { withKnownOption } from "./options.ts";
import { cohortEcho } from "./selection.ts";

/** The report of a selection: all of it, or the part named by `reportSection`, with the summary and the sale event. */
export async function report(call: EndpointCall<typeof contract>): Promise<Answer> {
  const known = { ...call, input: await withKnownOption(call, call.input) };
  const { reportSection: section = "overview", normalized } = known.input;
  const built = await buildReport(known, section, [section]);
  return jsonAnswer(partOf(built, section), {
    ...cohortEcho(known, built.selection, built.skus),
    section,
    ...(normalized === undefined ? {} : { normalized }),
  });
}

/** What a section shows beside its own part. */
const MEMBER_OF_SECTION: Partial<Record<ReportSection, keyof WholeReport>> = {
  trend: "trend",
  reasons: "return_reasons",
  refunds: "refunds",
  timing: "timing_buckets",
  lifecycle: "lifecycle_coverage",
  costs: "costs",
  bridge: "comparison",
};

function partOf({ data, parts }: BuiltReport, section: ReportSection): ReportData {
  if (section === "overview") return data;
  const member = MEMBER_OF_SECTION[section];
  return {
    currency_code: data.currency_code,
    window_days: data.window_days,
    label_costs_included: data.label_costs_included,
    summary: data.summary,
    ...(member !== undefined && { [member]: data[member] }),
    ...parts,
    sale_event: data.sale_event,
    sale_events: data.sale_events,
    sale_event_unknown: data.sale_event_unknown,
  };
}
