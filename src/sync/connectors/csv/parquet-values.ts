import type { SchemaElement } from "hyparquet";
import { withoutControls } from "../shared/text.ts";
import { dayToText } from "../../../lib/month.ts";

/**
 * Written first by the process: column names, of which the first `width` have cells, rows of each row group, and columns of
 * `isLocalTime`.
 */
export type ParquetTop = { names: string[]; width: number; groupRows: number[]; localTimes: string[] };

/** Follows it, and each cell of the rows. */
export const CELL_END = "\u001f";

/** Why a Parquet file is unreadable, as a phrase that follows the file's name. */
export class FileProblem extends Error {
  override name = "FileProblem";
}

/** A number where it holds the value exactly. */
type Whole = number | bigint;

/** Converts a value to the text of the same cell in CSV. `isLocalTime`: times without a time zone, read as UTC. */
export type ValueText = ((value: never) => string) & { isLocalTime?: true };

/** No amount has more decimals, and BigInt would become slow. */
const MOST_SCALE = 100;
const UUID_BYTES = 16;
const DAY_NANOS = 86_400_000_000_000n;

/** Converts the values of a column to text. Throws FileProblem for a column that a CSV cell cannot hold exactly. */
export function textsOf(element: SchemaElement, isPlain: boolean): ValueText {
  const kind = element.logical_type?.type ?? element.converted_type;
  const refuse = (what: string, fix: string): FileProblem =>
    new FileProblem(`the column ${element.name} is ${what}: ${fix}`);
  if (!isPlain) throw refuse("a list, map or struct", "write one value a row, lists as text");
  if (kind === "DECIMAL") return decimals(element);
  switch (element.type) {
    case "BOOLEAN":
      return String;
    case "INT32":
      if (kind === "DATE") return (day: number) => dayToText(day);
      if (!isTimeOfDay(kind)) return isUnsigned(element) ? (value: number) => String(value >>> 0) : String;
      break;
    case "INT64":
      if (kind === "TIMESTAMP" || kind === "TIMESTAMP_MILLIS" || kind === "TIMESTAMP_MICROS")
        return times(element);
      if (isTimeOfDay(kind)) break;
      return isUnsigned(element) ? (value: Whole) => String(BigInt.asUintN(64, BigInt(value))) : String;
    case "INT96":
      return Object.assign(oldTime, { isLocalTime: true as const });
    case "DOUBLE":
      return plainNumber;
    case "FLOAT":
      throw refuse("FLOAT, which holds only about 7 digits", "write it as DECIMAL or DOUBLE");
    case "BYTE_ARRAY":
      if (kind === undefined || kind === "UTF8" || kind === "STRING" || kind === "ENUM" || kind === "JSON")
        return utf8;
      break;
    case "FIXED_LEN_BYTE_ARRAY":
      if (kind === "UUID" && element.type_length === UUID_BYTES) return uuid;
      break;
    default:
  }
  throw refuse(`of the type ${kind ?? element.type}`, "write it as text");
}

function isTimeOfDay(kind: string | undefined): boolean {
  return kind === "TIME" || kind === "TIME_MILLIS" || kind === "TIME_MICROS";
}

function isUnsigned({ logical_type: logical, converted_type: converted }: SchemaElement): boolean {
  return converted?.startsWith("UINT_") === true || (logical?.type === "INTEGER" && !logical.isSigned);
}

/** Inserts the decimal point into unscaled whole numbers or their bytes: no amount becomes a floating-point number. */
function decimals({
  name,
  type,
  type_length: length,
  scale: stated,
  logical_type: logical,
}: SchemaElement): ValueText {
  const scale = stated ?? (logical?.type === "DECIMAL" ? logical.scale : 0);
  if (!(scale >= 0 && scale <= MOST_SCALE))
    throw new FileProblem(`the column ${name} has the scale ${scale}`);
  if ((length ?? 0) > MOST_SCALE) throw new FileProblem(`the column ${name} has decimals of ${length} bytes`);
  const isOfBytes = type === "BYTE_ARRAY" || type === "FIXED_LEN_BYTE_ARRAY";
  return (value: Uint8Array | Whole) => {
    const unscaled = isOfBytes ? wholeOf(value as Uint8Array) : (value as Whole);
    const sign = unscaled < 0 ? "-" : "";
    const digits = String(unscaled)
      .slice(sign.length)
      .padStart(scale + 1, "0");
    const point = digits.length - scale;
    return scale === 0 ? sign + digits : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
  };
}

/** Two's complement, most significant byte first. */
function wholeOf(bytes: Uint8Array): bigint {
  if (bytes.length > MOST_SCALE) throw new RangeError("a decimal is too long");
  if (bytes.length === 0) return 0n;
  return BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString("hex")}`));
}

const PER_MILLISECOND = { MILLIS: 1n, MICROS: 1000n, NANOS: 1_000_000n };

function times({ logical_type: logical, converted_type: converted }: SchemaElement): ValueText {
  const stated = logical?.type === "TIMESTAMP" ? logical : null;
  const divisor = PER_MILLISECOND[stated?.unit ?? (converted === "TIMESTAMP_MICROS" ? "MICROS" : "MILLIS")];
  const textOf = (value: Whole): string =>
    instantText(
      typeof value === "number" ? Math.floor(value / Number(divisor)) : Number(floorOf(value, divisor)),
    );
  return stated?.isAdjustedToUTC === false ? Object.assign(textOf, { isLocalTime: true as const }) : textOf;
}

/** INT96: the Julian day number in the upper 32 bits, the nanoseconds of the day in the lower 64. */
function oldTime(value: bigint): string {
  const nanos = ((value >> 64n) - 2_440_588n) * DAY_NANOS + BigInt.asUintN(64, value);
  return instantText(Number(floorOf(nanos, PER_MILLISECOND.NANOS)));
}

function floorOf(value: bigint, divisor: bigint): bigint {
  const rest = value % divisor;
  return (value - (rest < 0n ? rest + divisor : rest)) / divisor;
}

/** A time beyond the range of Date stays a number, and its row is then refused. */
function instantText(milliseconds: number): string {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? String(milliseconds) : date.toISOString();
}

/** The shortest decimal that equals this number, as SQL and pandas write it to CSV. */
function plainNumber(value: number): string {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new FileProblem(
      `holds ${value}, which DOUBLE cannot hold exactly: write it as INT64, DECIMAL or text`,
    );
  }
  const text = String(value);
  const [digits = "", power] = text.split("e-");
  if (power === undefined) return text;
  const sign = digits.startsWith("-") ? "-" : "";
  return `${sign}0.${"0".repeat(Number(power) - 1)}${digits.replace(/[-.]/gu, "")}`;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const ENDS = /[\u001c-\u001f]/;

/** Without control characters, which separate cells and rows here and are never stored. */
function utf8(bytes: Uint8Array): string {
  try {
    const text = decoder.decode(bytes);
    return ENDS.test(text) ? withoutControls(text) : text;
  } catch {
    throw new FileProblem("holds text that is not UTF-8");
  }
}

function uuid(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/u, "$1-$2-$3-$4-");
}
