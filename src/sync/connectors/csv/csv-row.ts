import { currencyExponent } from "../../../lib/currency.ts";
import { dayFromText } from "../../../lib/month.ts";
import { decimalFromText, minorFromDecimal, roundedMinor } from "../../../metrics/money.ts";
import type { Decimal } from "../../../metrics/money.ts";
import { isInstant, withoutControls } from "../shared/text.ts";

/** Position of each column in the rows of one file. */
export type CsvColumns = ReadonlyMap<string, number>;

/** A cell that cannot be used, or a whole row (column null); caught where rows are read. */
export class CellProblem extends Error {
  column: string | null;
  /** The allowed values, as a phrase. */
  allowed: string;

  constructor(column: string | null, reason: string, allowed: string) {
    super(reason);
    this.column = column;
    this.allowed = allowed;
  }
}

/** Reads the cells of one row. An empty cell and a missing column are the same. */
export type CsvRow = {
  /** Without control characters; null: empty. `maxBytes` keeps indexed values within PostgreSQL's limits. */
  text(column: string, maxBytes?: number): string | null;
  /** Text without surrounding blanks, for values that are displayed and grouped. */
  label(column: string, maxBytes?: number): string | null;
  /** The same for a cell that must not be empty. */
  need<Value>(column: string, value: Value | null): Value;
  /** A whole number of units, 0 to 10,000,000. */
  units(column: string): number | null;
  /** M9: minor units of `currencyCode`, rounded if the cell has more decimals. */
  money(column: string, currencyCode: string, allowNegative: boolean): number | null;
  /** The exact amount of a money cell that was rounded; null: it was not. */
  unrounded(column: string): Decimal | null;
  /** Number of money cells of this row that were rounded. */
  roundedCells(): number;
  /** ISO 8601 in UTC, to the millisecond. */
  time(column: string): string | null;
  /** YYYY-MM-DD. */
  day(column: string): string | null;
  flag(column: string): boolean;
  oneOf<Choice extends string>(column: string, choices: readonly Choice[]): Choice | null;
};

const MAX_KEY_BYTES = 512;
const MAX_LABEL_BYTES = 1024;
const MAX_UNITS = 10_000_000;
/** Of an amount, in minor units; sums of thousands are still exact. */
export const MAX_MINOR = 1e12;

/** Reads the rows of one file: the returned function moves the reader to the next row's cells. */
export function openCsvRow(columns: CsvColumns): (cells: readonly string[]) => CsvRow {
  let cells: readonly string[] = [];
  const cell = (column: string): string => {
    const index = columns.get(column);
    return index === undefined ? "" : (cells[index] ?? "");
  };
  const text = (column: string, maxBytes = MAX_KEY_BYTES): string | null => {
    const written = cell(column);
    if (written === "") return null;
    const clean = withoutControls(written);
    if (clean.trim() === "") return null;
    if (clean.length * 3 > maxBytes && Buffer.byteLength(clean) > maxBytes) {
      throw new CellProblem(column, `is longer than ${maxBytes} bytes`, `text of at most ${maxBytes} bytes`);
    }
    return clean;
  };
  const plain = (column: string): string | null => {
    const written = cell(column);
    if (written === "") return null;
    const clean = withoutControls(written).trim();
    return clean === "" ? null : clean;
  };
  const rounded = new Map<string, Decimal>();
  // Neighbouring rows often carry the same time.
  let lastTime: { text: string | null; instant: string | null } = { text: null, instant: null };
  const time = (column: string): string | null => {
    const written = plain(column);
    if (written === null) return null;
    if (written !== lastTime.text) lastTime = { text: written, instant: readTime(column, written) };
    return lastTime.instant;
  };
  const row: CsvRow = {
    text,
    label: (column, maxBytes = MAX_LABEL_BYTES) => text(column, maxBytes)?.trim() ?? null,
    need: (column, value) => {
      if (value === null)
        throw new CellProblem(column, "is empty, but required", "a value: the column must not be empty");
      return value;
    },
    units: (column) => readUnits(column, plain(column)),
    money: (column, currencyCode, allowNegative) => {
      const { minor, unrounded } = readMoney(column, plain(column), currencyCode, allowNegative);
      if (unrounded !== null) rounded.set(column, unrounded);
      return minor;
    },
    unrounded: (column) => rounded.get(column) ?? null,
    roundedCells: () => rounded.size,
    time,
    day: (column) => readDay(column, plain(column)),
    flag: (column) => readFlag(column, plain(column)),
    oneOf: (column, choices) => readChoice(column, plain(column), choices),
  };
  return (nextCells) => {
    cells = nextCells;
    if (rounded.size > 0) rounded.clear();
    return row;
  };
}

function readUnits(column: string, text: string | null): number | null {
  if (text === null) return null;
  const fail = (what: string): CellProblem =>
    new CellProblem(column, `${what}: ${shown(text)}`, `a whole number from 0 to ${MAX_UNITS}`);
  if (/^-\d+$/.test(text)) throw fail("is negative");
  if (!/^\d+$/.test(text)) throw fail("is not a whole number");
  if (Number(text) > MAX_UNITS) throw fail(`is more than ${MAX_UNITS}`);
  return Number(text);
}

type Money = { minor: number | null; unrounded: Decimal | null };

function readMoney(column: string, text: string | null, currencyCode: string, allowNegative: boolean): Money {
  if (text === null) return { minor: null, unrounded: null };
  const exponent = currencyExponent(currencyCode);
  const fail = (what: string): CellProblem =>
    new CellProblem(column, `${what}: ${shown(text)}`, allowedMoney(exponent, allowNegative));
  const checked = (minor: number | null, digits: bigint): number => {
    if (minor === null || Math.abs(minor) > MAX_MINOR) throw fail("is too large");
    if (!allowNegative && (minor < 0 || digits < 0n)) throw fail("is negative");
    return minor;
  };
  const exact = minorFromDecimal(text, exponent);
  if (exact !== null) return { minor: checked(exact, 0n), unrounded: null };
  const unrounded = decimalFromText(text);
  if (unrounded === null) throw fail("is not a plain decimal amount");
  return { minor: checked(roundedMinor(unrounded, exponent), unrounded.digits), unrounded };
}

function allowedMoney(exponent: number, allowNegative: boolean): string {
  const example = exponent === 0 ? "1250" : `12.${"5".padEnd(exponent, "0")}`;
  return `a plain decimal ${allowNegative ? "amount" : "amount of at least 0"}, such as ${example}`;
}

const ALLOWED_TIME = "a time with its offset from UTC, such as 2026-01-31T09:30:00Z";
/** BigQuery writes the offset of its timestamps as " UTC", Snowflake and Ruby with a blank before it. */
const INSTANT =
  /^(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:[Zz]| UTC| ?([+-])(\d\d):?(\d\d)?)$/;

function readTime(column: string, text: string): string {
  const instant = instantOf(text);
  if (typeof instant === "string") return instant;
  const reason =
    instant === undefined
      ? "is not an ISO 8601 time with offset (such as 2026-01-31T09:30:00Z)"
      : "is not a valid time between 1900 and 2200";
  throw new CellProblem(column, `${reason}: ${shown(text)}`, ALLOWED_TIME);
}

/** A time with its offset as ISO 8601 in UTC; undefined = it has another form, null = it is not real, or before 1900 or after 2200. */
export function instantOf(text: string): string | null | undefined {
  const match = INSTANT.exec(text);
  if (match === null) return undefined;
  const [, date = "", hour, minute, second = 0, fraction = "", sign, offsetHour = 0, offsetMinute = 0] =
    match;
  const day = dayFromText(date);
  const isReal =
    day !== null &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) < 60 &&
    Number(offsetHour) < 24 &&
    Number(offsetMinute) < 60;
  const offsetMinutes = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === "-" ? -1 : 1);
  const minutes = (day ?? 0) * 1440 + Number(hour) * 60 + Number(minute) - offsetMinutes;
  const instantMs = minutes * 60_000 + Number(second) * 1000 + Number(fraction.slice(0, 3).padEnd(3, "0"));
  return isReal && isInstant(instantMs) ? new Date(instantMs).toISOString() : null;
}

function readDay(column: string, text: string | null): string | null {
  if (text === null || dayFromText(text) !== null) return text;
  const reason = `is not a valid day of the form YYYY-MM-DD: ${shown(text)}`;
  throw new CellProblem(column, reason, "a day, such as 2026-01-31");
}

/** PostgreSQL writes t and f. */
const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["t", true],
  ["1", true],
  ["false", false],
  ["f", false],
  ["0", false],
]);

function readFlag(column: string, text: string | null): boolean {
  const flag = text === null ? false : FLAGS.get(text.toLowerCase());
  if (flag === undefined) {
    const reason = `is neither true nor false: ${shown(text ?? "")}`;
    throw new CellProblem(column, reason, "true, false, t, f, 1, 0, or nothing");
  }
  return flag;
}

function readChoice<Choice extends string>(
  column: string,
  text: string | null,
  choices: readonly Choice[],
): Choice | null {
  if (text === null) return null;
  const choice = choices.find((known) => known === text);
  if (choice === undefined) {
    const allowed = choices.join(", ");
    throw new CellProblem(column, `is none of ${allowed}: ${shown(text)}`, `one of ${allowed}`);
  }
  return choice;
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
