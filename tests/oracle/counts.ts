import { dayToText } from "../../src/lib/month.ts";
import type { OrderFacts } from "../../src/metrics/classify.ts";
import type { LedgerLine } from "./ledger.ts";

/** Units by line, day sold, lag and reason; refunded money in minor units by line, day sold and lag; the value of what was sold. */
export class Counts {
  units: Record<string, number> = {};
  money: Record<string, number> = {};
  values: Record<string, number> = {};
  /** Refunds of an amount. */
  amounts: Record<string, number> = {};

  add(kind: "units" | "money" | "values" | "amounts", name: string, more: number): void {
    if (more !== 0) this[kind][name] = (this[kind][name] ?? 0) + more;
  }
}

type WordOf = (reason: string) => string;
const asStated: WordOf = (reason) => reason;

export function countLedger(lines: readonly LedgerLine[], wordOf = asStated): Counts {
  const counts = new Counts();
  for (const line of lines) {
    const name = `${line.lineId} ${dayToText(line.orderedDay)}`;
    counts.add("units", `${name} sold`, line.sold);
    counts.add("values", name, line.soldMinor ?? 0);
    const exchanges = line.returnTerms.filter(({ isExchange }) => isExchange);
    for (const { lagDays, reason, returnId } of line.returned) {
      const word = reason.kind === "stated" ? wordOf(reason.reason) : ` ${reason.kind}`;
      counts.add("units", `${name} back ${lagDays} ${word}`, 1);
      const isExchanged = exchanges.some((terms) => terms.returnId === returnId);
      if (isExchanged) counts.add("units", `${name} exchanged ${lagDays}`, 1);
    }
    for (const { lagDays, units, restockedUnits, minor } of line.refunds) {
      counts.add("units", `${name} refunded ${lagDays}`, units);
      counts.add("units", `${name} restocked ${lagDays}`, restockedUnits);
      counts.add("money", `${name} ${lagDays}`, minor);
    }
  }
  return counts;
}

export function countFacts(facts: OrderFacts, wordOf = asStated): Counts {
  const counts = new Counts();
  const nameOf = new Map(
    facts.lines.map((line) => [line.lineId, `${line.lineId.split("#")[0]} ${dayToText(line.orderedOnDay)}`]),
  );
  for (const { lineId, soldUnits, soldMinor } of facts.lines) {
    counts.add("units", `${nameOf.get(lineId)} sold`, soldUnits);
    counts.add("values", nameOf.get(lineId) ?? "", soldMinor ?? 0);
  }
  for (const { lineId, lagDays, reason, ...event } of facts.events) {
    const name = nameOf.get(lineId);
    counts.add("units", `${name} back ${lagDays} ${wordOf(reason ?? "")}`, event.returnedUnits);
    counts.add("units", `${name} exchanged ${lagDays}`, event.exchangedUnits);
    counts.add("units", `${name} refunded ${lagDays}`, event.refundedUnits);
    counts.add("units", `${name} restocked ${lagDays}`, event.restockedUnits);
    counts.add("money", `${name} ${lagDays}`, event.refundMinor);
  }
  return counts;
}
