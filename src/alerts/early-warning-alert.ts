import { excessLines, type EarlyWarning } from "../metrics/early-warning.ts";
import { currencyExponent, decimalFromMinor } from "../metrics/money.ts";
import { dayToText } from "../lib/month.ts";
import { rate } from "../metrics/rate.ts";
import type { AnnouncedWarning } from "../metrics/warning-episode.ts";
import { REFUND_ONLY, UNSPECIFIED } from "../metrics/returned-units.ts";
import type { AlertDraft } from "../store/queries/publish.ts";
import { nameOf, selectorOf, countText, percentText, readableName, unitsText, dayWords } from "./wording.ts";

/** Units sold on the order days of a warning, and returned by the as-of day; money in minor units. */
export type WarningDetails = {
  /** Title of the product, or of a SKU's product; null: a group, or unknown. */
  productTitle: string | null;
  /** Titles of the products among the warning's parts, by key. */
  partTitles: Readonly<Record<string, string>>;
  /** First and last order day that sold something, YYYY-MM-DD. */
  orderedFrom: string;
  orderedTo: string;
  soldUnits: number;
  returnedUnits: number;
  /** All lines; the warning counts lines of one order once. */
  returnedLines: number;
  refundMinor: number;
  /** 0 when label costs are not included (M10). */
  labelMinor: number;
  /** Returned units by reason or by a key of metrics/returned-units.ts, most first. */
  reasons: readonly { reason: string; returnedUnits: number }[];
};

const CRITICAL_RATIO = 3;
const CRITICAL_EXCESS_LINES = 10;

/** M17: the alert for an announced early warning. */
export function earlyWarningAlert(
  warning: AnnouncedWarning,
  details: WarningDetails,
  { asOfDay, startedDay, currencyCode }: { asOfDay: number; startedDay: number; currencyCode: string },
): AlertDraft {
  const exponent = currencyExponent(currencyCode);
  const costMinor = details.refundMinor + details.labelMinor;
  const excessCostMinor = Math.round((costMinor * excessLines(warning)) / warning.returnedLines);
  const topReason = topReasonOf(details);
  const entity = { kind: warning.kind, key: warning.key, title: details.productTitle };
  const selector = selectorOf(warning);
  return {
    eventKey: `early_warning:${warning.kind}:${warning.key}:${dayToText(asOfDay)}`,
    category: "return_rate_watchlist",
    severity: isCritical(warning) ? "critical" : "warning",
    title:
      `${capitalized(nameOf(entity))} comes back more than before: ${countText(details.returnedLines)} of ` +
      `${linesText(warning.lines)} ordered since ${dayWords(details.orderedFrom)}, ${expectedText(warning)} expected by ` +
      dayWords(dayToText(asOfDay)),
    body: [
      `${countText(details.returnedLines)} of ${linesText(warning.lines)} (${unitsText(details.soldUnits)}) ordered ` +
        `${daysBetweenText(details)} have already come back${ordersText(warning, details)}; at the usual rate, ` +
        `${expectedText(warning)} would have come back by ${dayWords(dayToText(asOfDay))}.`,
      partsText(warning, details),
      topReason === null
        ? ""
        : `The reason given most often is ${readableName(topReason.reason)}, for ${percentText(topReason.returnedUnits, details.returnedUnits)} of the returned units.`,
      `${details.labelMinor === 0 ? "Refunds" : "Refunds and labels"} so far: ${moneyText(costMinor, exponent, currencyCode)}.`,
      `To see why, request the report with ${requestText(selector, details)}.`,
    ]
      .filter((sentence) => sentence !== "")
      .join(" "),
    metadata: {
      kind: "early_warning",
      episode_id: warning.episodeId,
      started_on: dayToText(startedDay),
      state: "open",
      ...selector,
      as_of: dayToText(asOfDay),
      ordered_from: details.orderedFrom,
      ordered_to: details.orderedTo,
      sold_units: details.soldUnits,
      returned_units: details.returnedUnits,
      sold_lines: warning.lines,
      returned_lines: details.returnedLines,
      returned_orders: warning.returnedLines,
      expected_lines: rounded(warning.expectedLines, 2),
      p: Number(warning.p.toPrecision(3)),
      excess_cost: decimalFromMinor(excessCostMinor, exponent),
      currency_code: currencyCode,
      top_reason:
        topReason === null
          ? null
          : { reason: topReason.reason, share: rate(topReason.returnedUnits, details.returnedUnits) },
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
function topReasonOf({ reasons }: WarningDetails): WarningDetails["reasons"][number] | null {
  return reasons.find(({ reason }) => reason !== REFUND_ONLY && reason !== UNSPECIFIED) ?? null;
}

/** The report's parameters: whole months, the young ones included. */
function requestText(selector: Record<string, string>, { orderedFrom, orderedTo }: WarningDetails): string {
  const parameters = {
    ...selector,
    start_month: orderedFrom.slice(0, 7),
    end_month: orderedTo.slice(0, 7),
    include_incomplete: "true",
    reportSection: "reasons",
  };
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${readableName(value)}`)
    .join(", ");
}

function partsText({ parts }: EarlyWarning, details: WarningDetails): string {
  if (parts.length === 0) return "";
  const names = parts.slice(0, 3).map((part) => partName(part, details));
  return `Most of the excess comes from ${names.join(", ")}.`;
}

function partName({ kind, key }: EarlyWarning["parts"][number], { partTitles }: WarningDetails): string {
  return nameOf({ kind, key, title: partTitles[key] ?? null });
}

function linesText(lines: number): string {
  return `${countText(lines)} order ${lines === 1 ? "line" : "lines"}`;
}

/** A warning has five returned orders or more, so its nouns and verbs are plural. */
function ordersText({ returnedLines: orders }: EarlyWarning, { returnedLines }: WarningDetails): string {
  return orders === returnedLines ? "" : `, from ${countText(orders)} orders`;
}

function daysBetweenText({ orderedFrom, orderedTo }: WarningDetails): string {
  return orderedFrom === orderedTo
    ? `on ${dayWords(orderedFrom)}`
    : `from ${dayWords(orderedFrom)} to ${dayWords(orderedTo)}`;
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
