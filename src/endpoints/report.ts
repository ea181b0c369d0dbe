import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import type { ReportData, ReportSection, report as contract } from "../contract/report.ts";
import type { EndpointCall } from "./call.ts";
import { rangeEcho } from "./cohort-months.ts";
import { buildReport, type BuiltReport } from "./report-build.ts";
import { withKnownOption } from "./options.ts";
import { selectorEcho } from "./selection.ts";

/** The report of a selection: all of it, or the part named by `reportSection`, with the summary and the sale event. */
export async function report(call: EndpointCall<typeof contract>): Promise<Answer> {
  const { database, workspace } = call;
  const input = await withKnownOption(database, workspace, call.input);
  const section = input.reportSection ?? "overview";
  const breakdownBy = section === "breakdown" ? (input.breakdownBy ?? "product") : null;
  const built = await buildReport(database, workspace, input, {
    section,
    withCurves: section === "curves",
    breakdownBy,
    withOutcomes: section === "outcomes",
    bridge: section === "bridge" ? "steps" : null,
    withLiability: section === "liability",
    withFit: section === "fit",
  });
  return jsonAnswer(partOf(built, section), {
    selector: selectorEcho(built.selection, built.skus),
    ...rangeEcho(input),
    vendor: input.vendor ?? null,
    section,
    ...(input.normalized === undefined ? {} : { normalized: input.normalized }),
  });
}

const PART_OF_SECTION = {
  trend: "trend",
  reasons: "return_reasons",
  refunds: "refunds",
  timing: "timing_buckets",
  lifecycle: "lifecycle_coverage",
  costs: "costs",
} as const;

function partOf(built: BuiltReport, section: ReportSection): ReportData {
  const { data } = built;
  if (section === "overview") return data;
  return {
    currency_code: data.currency_code,
    window_days: data.window_days,
    label_costs_included: data.label_costs_included,
    summary: data.summary,
    ...membersOf(built, section),
    sale_event: data.sale_event,
    sale_events: data.sale_events,
    sale_event_unknown: data.sale_event_unknown,
  };
}

function membersOf(
  { data, curves, breakdown, outcomes, bridge, liability, fit }: BuiltReport,
  section: Exclude<ReportSection, "overview">,
): Partial<ReportData> {
  if (section === "curves") return curves ?? {};
  if (section === "breakdown") return breakdown === null ? {} : { breakdown };
  if (section === "outcomes") return outcomes === null ? {} : { outcomes };
  if (section === "liability") return { liability };
  if (section === "fit") return { fit };
  if (section === "bridge")
    return bridge === null ? {} : { comparison: data.comparison, bridge: bridge.bridge };
  const part = PART_OF_SECTION[section];
  return { [part]: data[part] };
}
