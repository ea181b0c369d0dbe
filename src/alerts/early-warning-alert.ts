import { currencyExponent } from "../lib/currency.ts";
import { excessLines, type EarlyWarning } from "../metrics/early-warning.ts";
import { decimalFromMinor } from "../metrics/money.ts";
import { dayToText } from "../lib/month.ts";
import { rate } from "../metrics/rate.ts";
import type { AnnouncedWarning } from "../metrics/warning-episode.ts";
import { REFUND_ONLY, UNSPECIFIED } from "../metrics/returned-units.ts";
import type { WarningDetailsRow } from "../store/queries/alerts.ts";
import type { AlertDraft } from "../store/queries/publish.ts";
import { nameOf, selectorOf, countText, percentText, readableName, unitsText, dayWords } from "./wording.ts";

const CRITICAL_RATIO = 3;
const CRITICAL_EXCESS_LINES = 10;

/** M17: the alert for an announced early warning. `label_minor`: 0 when label costs are not included (M10). */
export function earlyWarningAlert(
  warning: AnnouncedWarning,
  details: WarningDetailsRow,
  { asOfDay, startedOn, currencyCode }: { asOfDay: number; startedOn: string; currencyCode: string },
): AlertDraft {
  const exponent = currencyExponent(currencyCode);
  const costMinor = details.refund_minor + details.label_minor;
  const excessCostMinor = Math.round((Math.max(0, costMinor) * excessLines(warning)) / warning.returnedLines);
  const topReason = topReasonOf(details);
  const entity = { kind: warning.kind, key: warning.key, title: details.product_title };
  const selector = selectorOf(warning);
  return {
    eventKey: `early_warning:${warning.kind}:${warning.key}:${dayToText(asOfDay)}`,
    category: "return_rate_watchlist",
    severity: isCritical(warning) ? "critical" : "warning",
    title:
      `${capitalized(nameOf(entity))} comes back more than before: ${countText(details.returned_lines)} of ` +
      `${linesText(warning.lines)} ordered since ${dayWords(details.ordered_from)}, ${expectedText(warning)} expected by ` +
      dayWords(dayToText(asOfDay)),
    body: [
      `${countText(details.returned_lines)} of ${linesText(warning.lines)} (${unitsText(details.sold_units)}) ordered ` +
        `${daysBetweenText(details)} have already come back${ordersText(warning, details)}; at the usual rate, ` +
        `${expectedText(warning)} would have come back by ${dayWords(dayToText(asOfDay))}.`,
      partsText(warning, details),
      topReason === null
        ? ""
        : `The reason given most often is ${readableName(topReason.reason)}, for ${percentText(topReason.returned_units, details.returned_units)} of the returned units.`,
      `${details.label_minor === 0 ? "Refunds" : "Refunds and labels"} so far: ${moneyText(costMinor, exponent, currencyCode)}.`,
      `To see why, request the report with ${requestText(selector, details)}.`,
    ]
      .filter((sentence) => sentence !== "")
      .join(" "),
    metadata: {
      kind: "early_warning",
      episode_id: warning.episodeId,
      started_on: startedOn,
      state: "open",
      ...selector,
      as_of: dayToText(asOfDay),
      ordered_from: details.ordered_from,
      ordered_to: details.ordered_to,
      sold_units: details.sold_units,
      returned_units: details.returned_units,
      sold_lines: warning.lines,
      returned_lines: details.returned_lines,
      returned_orders: warning.returnedLines,
      expected_lines: rounded(warning.expectedLines, 2),
      p: Number(warning.p.toPrecision(3)),
      excess_cost: decimalFromMinor(excessCostMinor, exponent),
      currency_code: currencyCode,
      top_reason:
        topReason === null
          ? null
          : { reason: topReason.reason, share: rate(topReason.returned_units, details.returned_units) },
      parts: warning.parts.map((part) => ({
        ...selectorOf(part),
        label: partName(part, details),
        excess_lines: rounded(part.excessLines, 2),
      })),
    },
  };
}

function isCritical(warning: EarlyWarning): boolean {
  const { returnedLines, expectedLines } = warning;
  return returnedLines >= CRITICAL_RATIO * expectedLines && excessLines(warning) >= CRITICAL_EXCESS_LINES;
}

/** The stated reason of most units; null when none is stated. */
function topReasonOf({ reasons }: WarningDetailsRow): WarningDetailsRow["reasons"][number] | null {
  return reasons.find(({ reason }) => reason !== REFUND_ONLY && reason !== UNSPECIFIED) ?? null;
}

/** The report's parameters: whole months, including incomplete ones. */
function requestText(
  selector: Record<string, string>,
  { ordered_from: from, ordered_to: to }: WarningDetailsRow,
): string {
  const parameters = {
    ...selector,
    start_month: from.slice(0, 7),
    end_month: to.slice(0, 7),
    include_incomplete: "true",
    reportSection: "reasons",
  };
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${readableName(value)}`)
    .join(", ");
}

function partsText({ parts }: EarlyWarning, details: WarningDetailsRow): string {
  if (parts.length === 0) return "";
  const names = parts.slice(0, 3).map((part) => partName(part, details));
  return `Much of the excess comes from ${names.join(", ")}.`;
}

function partName(
  { kind, key }: EarlyWarning["parts"][number],
  { part_titles: titles }: WarningDetailsRow,
): string {
  return nameOf({ kind, key, title: titles[key] ?? null });
}

function linesText(lines: number): string {
  return `${countText(lines)} order ${lines === 1 ? "line" : "lines"}`;
}

/** A warning has five returned orders or more, so its nouns and verbs are plural. */
function ordersText(
  { returnedLines: orders }: EarlyWarning,
  { returned_lines: lines }: WarningDetailsRow,
): string {
  return orders === lines ? "" : `, from ${countText(orders)} orders`;
}

function daysBetweenText({ ordered_from: from, ordered_to: to }: WarningDetailsRow): string {
  return from === to ? `on ${dayWords(from)}` : `from ${dayWords(from)} to ${dayWords(to)}`;
}

function expectedText({ expectedLines }: EarlyWarning): string {
  return expectedLines < 10 ? expectedLines.toFixed(1) : countText(Math.round(expectedLines));
}

function moneyText(minor: number, exponent: number, currencyCode: string): string {
  const digits = { minimumFractionDigits: exponent, maximumFractionDigits: exponent };
  return `${decimalFromMinor(minor, exponent).toLocaleString("en", digits)} ${currencyCode}`;
}

function capitalized(text: string): string {
  return text.startsWith("the ") ? `T${text.slice(1)}` : text;
}

function rounded(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}
