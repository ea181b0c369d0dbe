import type { LineChange, LineReversal } from "../../../../metrics/order.ts";
import { minorOf, splitMinor } from "../../shared/money.ts";
import { compareGids } from "../../shared/text.ts";
import type { AgreementRecord, SaleRecord, ShopifyOrder } from "./records.ts";

/** Units that a refund or a return took back of a line, and those sold in exchange. */
type Reversal = {
  units: number;
  /** Without tax; above 0 is taken back. */
  minor: number;
  addedUnits: number;
  addedMinor: number;
  /** The ledger does not say how many units. */
  isUncounted: boolean;
};

export type LineLedger = {
  placedUnits: number;
  /** Without tax: of the units placed and added, less those removed. */
  soldMinor: number;
  changes: LineChange[];
  removedUnits: number;
  /** By the id of the refund or the return. */
  reversals: Map<string, Reversal>;
  /** Units taken back by each entry of a refund or a return; below 0: restored. */
  booked: LineReversal[];
};

/** The units and money of an order, by its sales agreements. */
export type Ledger = {
  lines: Map<string, LineLedger>;
  /** By refund: amounts besides its lines, without tax. */
  adjustments: Map<string, number>;
};

/** Deviations of a ledger from the documentation; each is still counted once, as far as it can be interpreted. */
export const NO_ODDITIES = {
  repeatedEntries: 0,
  earlyEntries: 0,
  unknownEntries: 0,
  uncountedSales: 0,
  unexpectedSales: 0,
};

/**
 * Agreements in order of time: the order's places units, edits add and remove them, refunds and returns take them back.
 * The sign of a sale says which; a change of a price (UPDATE) moves no units. null: the platform shows no ledger.
 * `currencyCode` null: no money is read.
 */
export function readLedger(
  { order, agreements, sales }: Pick<ShopifyOrder, "order" | "agreements" | "sales">,
  currencyCode: string | null,
): { ledger: Ledger | null; oddities: typeof NO_ODDITIES } {
  const oddities = { ...NO_ODDITIES };
  const entries = [...new Map(agreements.map((row) => [row.id, row])).values()];
  const knownSales = [...new Map(sales.map((row) => [row.id, row])).values()];
  oddities.repeatedEntries = agreements.length - entries.length + sales.length - knownSales.length;
  if (!entries.some(({ kind }) => kind === "order")) return { ledger: null, oddities };
  const salesByEntry = Map.groupBy(knownSales, (sale) => sale.agreementId);
  const ledger: Ledger = { lines: new Map(), adjustments: new Map() };
  const valueOf = ({ amount, tax }: SaleRecord): number =>
    currencyCode === null ? 0 : minorOf(amount, currencyCode) - minorOf(tax, currencyCode);
  for (const entry of entries.toSorted(compareEntries)) {
    if (entry.kind === "unknown") oddities.unknownEntries += 1;
    if (entry.kind !== "order" && entry.at < order.processedAt) oddities.earlyEntries += 1;
    for (const [lineId, ofLine] of Map.groupBy(salesByEntry.get(entry.id) ?? [], (sale) => sale.lineId)) {
      if (lineId === null) {
        const paid = ofLine.reduce((sum, sale) => sum - valueOf(sale), 0);
        add(ledger.adjustments, entry.about ?? entry.id, paid);
      } else {
        book(ledger, entry, lineId, sumOf(ofLine, valueOf, oddities));
      }
    }
  }
  return { ledger, oddities };
}

type Movement = {
  soldUnits: number;
  soldMinor: number;
  takenUnits: number;
  /** Includes the money of sales without units. */
  takenMinor: number;
  isUncounted: boolean;
};

const EXPECTED_SIGN: Readonly<Record<string, number>> = { ORDER: 1, RETURN: -1, UPDATE: 0 };

function sumOf(
  sales: readonly SaleRecord[],
  valueOf: (sale: SaleRecord) => number,
  oddities: typeof NO_ODDITIES,
): Movement {
  const sum = { soldUnits: 0, soldMinor: 0, takenUnits: 0, takenMinor: 0, isUncounted: false };
  for (const sale of sales) {
    const { action, quantity } = sale;
    const stated = quantity ?? 0;
    const units = action === "UPDATE" ? 0 : stated;
    if (quantity === null && action !== "UPDATE") {
      oddities.uncountedSales += 1;
      sum.isUncounted = true;
    } else if (stated !== 0 && Math.sign(stated) !== EXPECTED_SIGN[action]) {
      oddities.unexpectedSales += 1;
    }
    if (units > 0) {
      sum.soldUnits += units;
      sum.soldMinor += valueOf(sale);
    } else {
      sum.takenUnits -= units;
      sum.takenMinor -= valueOf(sale);
    }
  }
  return sum;
}

function book(ledger: Ledger, { id, kind, about, at }: AgreementRecord, lineId: string, sum: Movement): void {
  const line = ledger.lines.get(lineId) ?? {
    placedUnits: 0,
    soldMinor: 0,
    changes: [],
    removedUnits: 0,
    reversals: new Map<string, Reversal>(),
    booked: [],
  };
  ledger.lines.set(lineId, line);
  const change = (units: number, by: LineChange["by"]): void => {
    if (units !== 0) line.changes.push({ changedAt: at, units, by });
    line.removedUnits += Math.max(0, -units);
  };
  const netUnits = sum.soldUnits - sum.takenUnits;
  const netMinor = sum.soldMinor - sum.takenMinor;
  if (kind === "order") {
    line.placedUnits += Math.max(0, netUnits);
    line.soldMinor += netMinor;
  } else if (kind === "refund" || kind === "return") {
    const by = kind === "return" ? "exchange" : "edit";
    line.soldMinor += reverse(line, { key: about ?? id, at, by, change }, sum);
  } else {
    line.soldMinor += netMinor;
    change(netUnits, "edit");
  }
}

/**
 * Units that a refund or a return takes back, and those that it sells. A ledger is append-only: if a return is canceled or
 * changed, a later entry reverses an earlier one. Returns the value sold in exchange.
 */
function reverse(
  line: LineLedger,
  entry: {
    key: string;
    at: string;
    by: LineChange["by"];
    change: (units: number, by: LineChange["by"]) => void;
  },
  { soldUnits, soldMinor, takenUnits, takenMinor, isUncounted }: Movement,
): number {
  const { key, at, by, change } = entry;
  const nothing = { units: 0, minor: 0, addedUnits: 0, addedMinor: 0, isUncounted: false };
  const reversal = line.reversals.get(key) ?? nothing;
  line.reversals.set(key, reversal);
  const restoredUnits = Math.min(soldUnits, reversal.units);
  const restoredMinor = partOf(soldMinor, restoredUnits, soldUnits);
  const withdrawnUnits = Math.min(takenUnits, reversal.addedUnits);
  const withdrawnMinor = partOf(takenMinor, withdrawnUnits, takenUnits);
  const reversedUnits = takenUnits - withdrawnUnits - restoredUnits;
  const addedMinor = soldMinor - restoredMinor - withdrawnMinor;
  if (reversedUnits !== 0) line.booked.push({ reversedAt: at, units: reversedUnits });
  reversal.units += reversedUnits;
  reversal.minor += takenMinor - withdrawnMinor - restoredMinor;
  reversal.addedUnits += soldUnits - restoredUnits - withdrawnUnits;
  reversal.addedMinor += addedMinor;
  reversal.isUncounted ||= isUncounted;
  change(soldUnits - restoredUnits, by);
  change(-withdrawnUnits, by);
  return addedMinor;
}

/** By return: units sold in exchange and their value, without tax. */
type Exchanges = ReadonlyMap<string, { units: number; minor: number }>;

/** M23: without units that an order edit or, `canceledUnits` by line, a refund took off before they were sent. */
export function exchangesOf(lines: Ledger["lines"], canceledUnits: ReadonlyMap<string, number>): Exchanges {
  const exchanges = new Map<string, { units: number; minor: number }>();
  for (const [lineId, line] of lines) {
    const lessUnits = unitsLess(line, canceledUnits.get(lineId) ?? 0);
    for (const [returnId, { addedUnits, addedMinor }] of line.reversals) {
      const units = Math.max(0, addedUnits - lessUnits);
      const exchange = exchanges.get(returnId) ?? { units: 0, minor: 0 };
      exchanges.set(returnId, exchange);
      exchange.units += units;
      exchange.minor += partOf(addedMinor, units, addedUnits);
    }
  }
  return exchanges;
}

/** Units taken off a line beyond those that it has from elsewhere than from exchanges. */
function unitsLess({ placedUnits, changes }: LineLedger, canceledUnits: number): number {
  const edits = changes.filter(({ by }) => by === "edit").map(({ units }) => units);
  let otherUnits = placedUnits;
  let lessUnits = 0;
  for (const units of [...edits, -canceledUnits]) {
    otherUnits += units;
    lessUnits += Math.max(0, -otherUnits);
    otherUnits = Math.max(0, otherUnits);
  }
  return lessUnits;
}

/**
 * The value of returned units kept by exchanges, by return and line, which was not refunded. For a more expensive exchange it is
 * the full value. Of equal remainders, the line of the smaller id takes the minor unit, whatever the order of the sales.
 */
export function keptByExchanges(lines: Ledger["lines"], exchanges: Exchanges): Map<string, number> {
  const kept = new Map<string, number>();
  const byId = [...lines].toSorted(([left], [right]) => compareGids(left, right));
  for (const [returnId, { minor }] of exchanges) {
    if (minor <= 0) continue;
    const values = byId.map(([, { reversals }]) => Math.max(0, reversals.get(returnId)?.minor ?? 0));
    const returnedMinor = values.reduce((sum, value) => sum + value, 0);
    const parts = splitMinor(Math.min(minor, returnedMinor), values);
    for (const [index, [lineId]] of byId.entries()) kept.set(keptKey(returnId, lineId), parts[index] ?? 0);
  }
  return kept;
}

export function keptKey(returnId: string, lineId: string): string {
  return `${returnId}\n${lineId}`;
}

/** The money of some of its units. */
export function partOf(minor: number, units: number, ofUnits: number): number {
  return ofUnits === 0 ? 0 : Math.round((minor * units) / ofUnits);
}

function add(sums: Map<string, number>, key: string, value: number): void {
  sums.set(key, (sums.get(key) ?? 0) + value);
}

function compareEntries(left: AgreementRecord, right: AgreementRecord): number {
  return Date.parse(left.at) - Date.parse(right.at) || compareGids(left.id, right.id);
}
