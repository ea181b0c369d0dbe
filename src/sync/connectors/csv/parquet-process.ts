import { once } from "node:events";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import type { ColumnMetaData, FileMetaData, PageHeader, SchemaElement } from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { decompressPage } from "hyparquet/src/datapage.js";
import { deltaBinaryUnpack, deltaLengthByteArray } from "hyparquet/src/delta.js";
import { byteStreamSplit } from "hyparquet/src/encoding.js";
import { parquetMetadata } from "hyparquet/src/metadata.js";
import { deserializeTCompactProtocol, readVarInt } from "hyparquet/src/thrift.js";
// Imports little: every import of a Parquet file waits until this process has loaded.
import { CELL_END, FileProblem, textsOf, type ParquetTop, type ValueText } from "./parquet-values.ts";

/**
 * A separate process that reads files one after another and writes their columns as text: see `openParquet`. Its arguments are how
 * much reading a file may cost (`Reading`), then for each file the JSON list of its path and the columns to read. A hostile file can
 * end this process, but affects nothing else.
 */

/** A page is held in memory completely: pyarrow writes a row group of 1,048,576 rows as one page per column. */
const MOST_PAGE_VALUES = 2 ** 20;
/** For the current pages of all columns together. */
const MOST_HELD_BYTES = 256 * 1024 ** 2;
const MOST_FOOTER_BYTES = 16 * 1024 ** 2;
const MOST_ROW_CHARACTERS = 1024 * 1024;
const PORTION_CHARACTERS = 256 * 1024;
/** Rows that are gathered column by column: their texts are in memory at once. */
const ROWS_TOGETHER = 64;
const MAGIC = "PAR1";
/** Bytes read for a page's header: at first, and if statistics of long texts make it longer. */
const HEADER_BYTES = [1024, 1024 * 1024];
/** A value takes at least as long to read as so many bytes. */
const VALUE_COST = 32;
/** What reading a file may cost, besides so much for each of its bytes: tables of stores pack 2 to 50 bytes into one. */
const FREE_COST = 64 * 1024 ** 2;
const MOST_COST_PER_BYTE = 1000;

/** Node's own decompressors, which never unpack more than the page header states. */
const COMPRESSORS = {
  GZIP: (input: Uint8Array, length: number) => gunzipSync(input, limit(length)),
  ZSTD: (input: Uint8Array, length: number) => zstdDecompressSync(input, limit(length)),
  BROTLI: (input: Uint8Array, length: number) => brotliDecompressSync(input, limit(length)),
};
const CODECS: ReadonlySet<string> = new Set(["UNCOMPRESSED", "SNAPPY", ...Object.keys(COMPRESSORS)]);

function limit(length: number): { maxOutputLength: number } {
  return { maxOutputLength: Math.max(1, length) };
}

/**
 * `held`: bytes of the pages in memory. `cost`: bytes of all headers, pages and texts so far, and 32 for each value: a few bytes
 * unpack to many or state many values, and column chunks may name the same page.
 */
type Reading = { read: ReadBytes; held: number; cost: number; mostCost: number };

type ReadBytes = (start: number, end: number) => Uint8Array<ArrayBuffer>;

/** A column that is read, and the conversion of its values to text. */
type ReadColumn = { name: string; element: SchemaElement; textOf: ValueText };

/**
 * Reads the columns `known` of a file: its top (ParquetTop), then its rows, as pieces of text. `allowedCost`: see `Reading`; Infinity
 * = what a file of its size may cost. Throws an error that `reasonOf` explains.
 */
export function* readParquet(path: string, allowedCost: number, known: readonly string[]): Generator<string> {
  const file = openSync(path, "r");
  try {
    yield* readOpen(file, allowedCost, known);
  } finally {
    closeSync(file);
  }
}

function* readOpen(file: number, allowedCost: number, known: readonly string[]): Generator<string> {
  const { size } = fstatSync(file);
  const read: ReadBytes = (start, end) => {
    if (start < 0 || end > size || end < start) throw new RangeError("it names bytes beyond its end");
    const bytes = new Uint8Array(end - start);
    for (let at = 0; at < bytes.length;) {
      const count = readSync(file, bytes, at, bytes.length - at, start + at);
      if (count === 0) throw new RangeError("it ends early");
      at += count;
    }
    return bytes;
  };
  const metadata = readFooter(read, size);
  const top = topColumns(metadata.schema);
  // Blanks around a name do not count, as in CSV.
  const isKnown = ({ element }: (typeof top)[number]): boolean => known.includes(element.name.trim());
  const columns: ReadColumn[] = top
    .filter(isKnown)
    .map(({ element, isPlain }) => ({ name: element.name, element, textOf: textsOf(element, isPlain) }));
  const others = top.filter((column) => !isKnown(column));
  const first: ParquetTop = {
    names: [...columns.map(({ name }) => name), ...others.map(({ element }) => element.name)],
    width: columns.length,
    groupRows: metadata.row_groups.map((group) => Number(group.num_rows)),
    localTimes: columns.filter(({ textOf }) => textOf.isLocalTime === true).map(({ name }) => name),
  };
  const text = JSON.stringify(first) + CELL_END;
  if (text.length > MOST_ROW_CHARACTERS) throw new FileProblem("has too many columns or row groups");
  yield text;
  const mostCost = Math.min(allowedCost, FREE_COST + size * MOST_COST_PER_BYTE);
  yield* readRows(metadata, columns, { read, held: 0, cost: 0, mostCost });
}

function spend(reading: Reading, cost: number): void {
  reading.cost += cost;
  if (reading.cost <= reading.mostCost) return;
  const most = reading.mostCost.toLocaleString("en");
  throw new FileProblem(`unpacks to more than ${most} bytes, too many for a file of its size`);
}

function readFooter(read: ReadBytes, size: number): FileMetaData {
  const start = size < 12 ? "" : Buffer.from(read(0, 4)).toString("latin1");
  if (start !== MAGIC && start !== "PARE") {
    throw new FileProblem("is not a Parquet file by its content; a CSV file must be named .csv");
  }
  const end = read(size - 8, size);
  const magic = Buffer.from(end.subarray(4)).toString("latin1");
  if (start === "PARE" || magic === "PARE")
    throw new FileProblem("is encrypted: write it without encryption");
  const length = new DataView(end.buffer).getUint32(0, true);
  if (magic !== MAGIC || length > size - 12)
    throw new FileProblem("is cut off or damaged: its end is missing");
  if (length > MOST_FOOTER_BYTES) {
    throw new FileProblem(
      `has a footer of more than ${MOST_FOOTER_BYTES} bytes: write it with fewer row groups`,
    );
  }
  const footer = read(size - 8 - length, size);
  // The library's own reader of footers takes numbers of any length.
  deserializeTCompactProtocol({ view: new NumberView(footer.buffer), offset: 0 });
  const metadata = parquetMetadata(footer, { geoparquet: false });
  const rows = metadata.row_groups.reduce((sum, group) => sum + wholeNumber(Number(group.num_rows)), 0);
  if (rows !== Number(metadata.num_rows))
    throw new RangeError("the rows of its row groups do not add up to the stated number");
  return metadata;
}

/** The top-level columns of the schema; `isPlain`: one value per row. */
function topColumns(schema: readonly SchemaElement[]): { element: SchemaElement; isPlain: boolean }[] {
  const found = [];
  let at = 1;
  while (at < schema.length) {
    const element = schema[at] as SchemaElement;
    const isPlain = (element.num_children ?? 0) === 0 && element.repetition_type !== "REPEATED";
    found.push({ element, isPlain });
    let open = 1;
    for (; open > 0 && at < schema.length; at += 1) open += (schema[at]?.num_children ?? 0) - 1;
  }
  return found;
}

function* readRows(
  metadata: FileMetaData,
  columns: readonly ReadColumn[],
  reading: Reading,
): Generator<string> {
  let piece = "";
  for (const [index, group] of metadata.row_groups.entries()) {
    reading.held = 0;
    const fill = columns.map((column) => {
      const chunk = group.columns.find(
        ({ meta_data: meta }) => meta?.path_in_schema.length === 1 && meta.path_in_schema[0] === column.name,
      );
      const place = `row group ${index + 1}: the column ${column.name}`;
      if (chunk?.meta_data === undefined || chunk.file_path) throw new FileProblem(`${place} is missing`);
      if (chunk.meta_data.type !== column.element.type || chunk.meta_data.num_values !== group.num_rows)
        throw new FileProblem(`${place} is damaged or cut off (its type or its number of values)`);
      return openColumn(column, chunk.meta_data, place, reading);
    });
    const rowCount = Number(group.num_rows);
    for (let row = 0; row < rowCount; row += ROWS_TOGETHER) {
      const cells: string[] = [];
      cells.length = Math.min(ROWS_TOGETHER, rowCount - row) * fill.length;
      for (const [place, fillColumn] of fill.entries()) fillColumn(cells, place, fill.length);
      refuseLongRow(cells, fill.length, index);
      piece += cells.join(CELL_END) + CELL_END;
      if (piece.length < PORTION_CHARACTERS) continue;
      spend(reading, piece.length);
      yield piece;
      piece = "";
    }
  }
  yield piece;
}

function refuseLongRow(cells: readonly string[], width: number, index: number): void {
  for (let [at, length] = [0, 0]; at < cells.length; at += 1) {
    length = (at % width === 0 ? 0 : length) + (cells[at] as string).length + 1;
    if (length <= MOST_ROW_CHARACTERS) continue;
    const where = `row group ${index + 1}: a row`;
    throw new FileProblem(`${where} is longer than ${MOST_ROW_CHARACTERS} characters`);
  }
}

/** Puts the next values of one column of a row group into every `step`th cell; one page is in memory. */
function openColumn(
  { element, textOf }: ReadColumn,
  meta: ColumnMetaData,
  place: string,
  reading: Reading,
): (cells: string[], first: number, step: number) => void {
  const { read } = reading;
  if (!CODECS.has(meta.codec)) {
    throw new FileProblem(
      `${place} is compressed with ${meta.codec}: use snappy, zstd, gzip, brotli or none`,
    );
  }
  let offset = Number(meta.dictionary_page_offset || meta.data_page_offset);
  const end = offset + Number(meta.total_compressed_size);
  let dictionary: string[] = [];
  let next: NextValue = () => undefined;
  let left = 0;
  let unread = Number(meta.num_values);
  let heldBytes = 0;

  /** How many values it has. */
  const readNextPage = (): number => {
    if (offset >= end) throw new RangeError("it has fewer values than rows");
    const { header, length } = readHeader(reading, offset, end);
    const packed = wholeNumber(header.compressed_page_size);
    const unpacked = wholeNumber(header.uncompressed_page_size);
    const stated = header.data_page_header ?? header.data_page_header_v2 ?? header.dictionary_page_header;
    const count = wholeNumber(stated?.num_values ?? 0);
    const start = offset + length;
    offset = start + packed;
    // A page that is not compressed may state any size.
    const pageBytes = Math.max(packed, unpacked);
    reading.held += pageBytes - heldBytes;
    heldBytes = pageBytes;
    spend(reading, pageBytes + count * VALUE_COST);
    if (reading.held > MOST_HELD_BYTES || count > MOST_PAGE_VALUES) {
      const most = `${MOST_PAGE_VALUES.toLocaleString("en")} values, or pages of ${MOST_HELD_BYTES / 1024 ** 2} MiB at once`;
      throw new FileProblem(`has more than ${most}: write smaller row groups`);
    }
    const bytes = read(start, offset);
    if (header.type === "DICTIONARY_PAGE") {
      const page = decompressPage(bytes, unpacked, meta.codec, COMPRESSORS);
      const nextPlain = plainValues(meta.type, viewOf(page), element.type_length);
      dictionary = Array.from({ length: count }, () => textOf(nextPlain() as never));
      return 0;
    }
    if (header.type === "INDEX_PAGE") return 0;
    unread -= count;
    if (unread < 0) throw new RangeError("it has more values than rows");
    next = openPage({ header, bytes, meta, element, textOf, dictionary });
    return count;
  };

  return (cells, first, step) => {
    try {
      for (let at = first; at < cells.length; at += step) {
        while (left === 0) left = readNextPage();
        left -= 1;
        const text = next();
        if (text === undefined) throw new RangeError("a value is missing");
        cells[at] = text;
      }
    } catch (error) {
      throw new FileProblem(`${place} ${reasonOf(error)}`);
    }
  };
}

/** A size or count as a page states it, which the library passes on unchecked: every limit compares it. */
function wholeNumber(stated: unknown): number {
  if (Number.isSafeInteger(stated) && (stated as number) >= 0) return stated as number;
  throw new RangeError("a page states an invalid size");
}

type NextValue = () => string | undefined;

type DataPage = {
  header: PageHeader;
  bytes: Uint8Array;
  meta: ColumnMetaData;
  element: SchemaElement;
  textOf: ValueText;
  dictionary: readonly string[];
};

/** The values of a data page as text, one at a time, so that no value is allocated before it is needed. */
function openPage({ header, bytes, meta, element, textOf, dictionary }: DataPage): NextValue {
  const { data_page_header: first, data_page_header_v2: second, uncompressed_page_size: size } = header;
  const isOptional = element.repetition_type !== "REQUIRED";
  const count = first?.num_values ?? second?.num_values ?? 0;
  let levels: Uint8Array | null = null;
  let page: Uint8Array;
  if (second === undefined) {
    page = decompressPage(bytes, size, meta.codec, COMPRESSORS);
    if (isOptional) {
      const length = viewOf(page).getUint32(0, true);
      levels = page.subarray(4, 4 + length);
      page = page.subarray(4 + length);
    }
  } else {
    const before = wholeNumber(second.repetition_levels_byte_length);
    const start = before + wholeNumber(second.definition_levels_byte_length);
    if (start > bytes.length) throw new RangeError("its levels are longer than their page");
    if (isOptional) levels = bytes.subarray(before, start);
    page = bytes.subarray(start);
    if (second.is_compressed !== false && size > start)
      page = decompressPage(page, size - start, meta.codec, COMPRESSORS);
  }
  const countDefined = (): number => {
    if (levels === null) return count;
    const next = openRuns(levels, 1);
    let defined = 0;
    for (let value = 0; value < count; value += 1) defined += next();
    return defined;
  };
  const next = valuesOf(first?.encoding ?? second?.encoding ?? "", page, {
    meta,
    element,
    textOf,
    dictionary,
    countDefined,
  });
  if (levels === null) return next;
  const isDefined = openRuns(levels, 1);
  return () => (isDefined() === 0 ? "" : next());
}

function valuesOf(
  encoding: string,
  page: Uint8Array,
  of: Omit<DataPage, "header" | "bytes"> & { countDefined: () => number },
): NextValue {
  const { meta, element, textOf, dictionary } = of;
  const { type } = meta;
  const reader = { view: viewOf(page), offset: 0 };
  const each = (values: ArrayLike<unknown>): NextValue => {
    let at = 0;
    return () => textOf(values[(at += 1) - 1] as never);
  };
  switch (encoding) {
    case "PLAIN": {
      const next = plainValues(type, reader.view, element.type_length);
      return () => textOf(next() as never);
    }
    case "PLAIN_DICTIONARY":
    case "RLE_DICTIONARY": {
      const next = openRuns(page.subarray(1), page[0] ?? 0);
      return () => dictionary[next()];
    }
    case "RLE": {
      const next = openRuns(page.subarray(4), 1);
      return () => textOf((next() === 1) as never);
    }
    case "DELTA_BINARY_PACKED": {
      const count = of.countDefined();
      const values = type === "INT32" ? new Int32Array(count) : new BigInt64Array(count);
      if (count === 0) return each(values);
      refuseBackwardBlocks(reader);
      if (type !== "INT32") reader.view = new NumberView(page.buffer, page.byteOffset, page.byteLength);
      deltaBinaryUnpack(reader, count, values);
      return each(values);
    }
    case "DELTA_LENGTH_BYTE_ARRAY": {
      const values: Uint8Array[] = [];
      const count = of.countDefined();
      if (count === 0) return each(values);
      refuseBackwardBlocks(reader);
      deltaLengthByteArray(reader, count, values);
      // Beyond it is memory of whatever was there before.
      within(reader.offset, page.length);
      return each(values);
    }
    case "BYTE_STREAM_SPLIT":
      return each(byteStreamSplit(reader, of.countDefined(), type, element.type_length));
    default:
      // In DELTA_BYTE_ARRAY each text may repeat the previous one, so a small page can unpack to an unlimited size.
      throw new FileProblem(`is encoded as ${encoding}: write it with dictionaries or plain`);
  }
}

/** Blocks of a negative size would be read again and again. */
function refuseBackwardBlocks({ view }: { view: DataView }): void {
  const start = { view, offset: 0 };
  const [blockSize, miniblocks] = [readVarInt(start), readVarInt(start)];
  if (!(blockSize > 0 && miniblocks > 0)) throw new RangeError("a block has no values");
}

/** More than any number has, with the bytes before it that state its kind. */
const MOST_NUMBER_BYTES = 32;

/** Refuses a number without end: the library makes it a BigInt, in a time that grows with the square of its length. */
class NumberView extends DataView<ArrayBufferLike> {
  #length = 0;

  override getUint8(at: number): number {
    const byte = super.getUint8(at);
    this.#length = byte < 128 ? 0 : this.#length + 1;
    if (this.#length > MOST_NUMBER_BYTES) throw new RangeError("a number is too long");
    return byte;
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Values in the order in which they are stored. */
function plainValues(type: string, view: DataView, fixedLength = 0): () => unknown {
  let at = 0;
  const take = (length: number): number => (at += length) - length;
  const bytesOf = (length: number): Uint8Array =>
    new Uint8Array(
      view.buffer,
      view.byteOffset + take(length),
      within(length, view.byteLength - at + length),
    );
  switch (type) {
    case "BOOLEAN":
      return () => ((view.getUint8(at >>> 3) >>> (take(1) & 7)) & 1) === 1;
    case "INT32":
      return () => view.getInt32(take(4), true);
    case "INT64":
      return () => {
        // A BigInt takes several times as long to make and to write.
        const low = view.getUint32(take(8), true);
        const number = view.getInt32(at - 4, true) * 2 ** 32 + low;
        return Number.isSafeInteger(number) ? number : view.getBigInt64(at - 8, true);
      };
    case "INT96":
      return () => {
        const low = view.getBigUint64(take(8), true);
        return (BigInt(view.getInt32(take(4), true)) << 64n) | low;
      };
    case "DOUBLE":
      return () => view.getFloat64(take(8), true);
    case "BYTE_ARRAY":
      return () => bytesOf(view.getUint32(take(4), true));
    default:
      return () => bytesOf(fixedLength);
  }
}

function within(length: number, most: number): number {
  if (length > most) throw new RangeError("a text is longer than its page");
  return length;
}

/** Whole numbers of `width` bits, as runs of one number or bit-packed. */
function openRuns(bytes: Uint8Array, width: number): () => number {
  if (width > 32) throw new RangeError("a number has more than 32 bits");
  if (width === 0) return () => 0;
  const range = 2 ** width;
  let at = 0;
  let left = 0;
  let packedBit = -1;
  let repeated = 0;
  const byteAt = (index: number): number => {
    const byte = bytes[index];
    if (byte === undefined) throw new RangeError("a page ends early");
    return byte;
  };
  /** How many values it has. */
  const startRun = (): number => {
    let header = 0;
    for (let shift = 0, byte = 128; byte >= 128; shift += 7) {
      byte = byteAt(at);
      at += 1;
      header += (byte & 127) * 2 ** shift;
    }
    const isPacked = header % 2 === 1;
    const half = Math.floor(header / 2);
    packedBit = isPacked ? at * 8 : -1;
    if (isPacked) {
      at += half * width;
      return half * 8;
    }
    repeated = 0;
    for (let shift = 0; shift < width; shift += 8) {
      repeated += byteAt(at) * 2 ** shift;
      at += 1;
    }
    return half;
  };
  return () => {
    while (left === 0) left = startRun();
    left -= 1;
    if (packedBit < 0) return repeated;
    const start = packedBit >>> 3;
    const shift = packedBit & 7;
    packedBit += width;
    let bits = 0;
    // No number of more than 32 bits and its neighbours is beyond what a double holds.
    for (let place = (packedBit + 7) >>> 3; place > start; place -= 1) bits = bits * 256 + byteAt(place - 1);
    bits = Math.floor(bits / 2 ** shift);
    return bits - Math.floor(bits / range) * range;
  };
}

function readHeader(reading: Reading, offset: number, end: number) {
  let failure: unknown;
  for (const most of HEADER_BYTES) {
    spend(reading, most);
    const bytes = reading.read(offset, Math.min(offset + most, end));
    const reader = { view: new NumberView(bytes.buffer), offset: 0 };
    try {
      return { header: parquetHeader(reader), length: reader.offset };
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** Why a file cannot be read, as a phrase. Errors other than FileProblem come from the library, for bytes that it cannot interpret. */
export function reasonOf(error: unknown): string {
  const { message, syscall } = error as NodeJS.ErrnoException;
  if (error instanceof FileProblem) return message;
  if (syscall !== undefined) return `cannot be read (${message})`;
  // A type error is about the library, not the file.
  return error instanceof TypeError ? "is damaged or cut off" : `is damaged or cut off (${message})`;
}

if (import.meta.main) {
  const [, , allowedCost = "", ...files] = process.argv;
  try {
    for (const file of files) {
      const [path = "", ...known] = JSON.parse(file) as string[];
      for (const piece of readParquet(path, Number(allowedCost), known)) {
        if (!process.stdout.write(piece)) await once(process.stdout, "drain");
      }
    }
  } catch (error) {
    process.stderr.write(reasonOf(error));
    process.exitCode = 1;
  }
}
