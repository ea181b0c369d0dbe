import { promisify } from "node:util";
import { zstdCompress } from "node:zlib";
import type { ColumnChunk, ColumnMetaData, Statistics } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";
import type { ColumnType, TableColumn } from "../contract/tables.ts";

const compress = promisify(zstdCompress);

/** A group ends with as many rows or bytes, whatever comes first: it is kept in memory. */
const ROWS_PER_GROUP = 20_000;
const BYTES_PER_GROUP = 4 * 1024 * 1024;
/** Buffers begin with as much. */
const BUFFER_BYTES = 65_536;

/** COPY's binary format: a signature with flags before the rows; each row is its number of values, then size and bytes of each. */
const HEADER_BYTES = 19;
const COUNT_BYTES = 2;
const SIZE_BYTES = 4;

/**
 * A table as Parquet, a group of rows at a time, of COPY's binary format, which arrives in pieces. The index of the groups,
 * without which no part can be read, comes last. `exponent`: decimals of the currency.
 */
export async function* writeParquet(
  pieces: AsyncIterable<Buffer>,
  columns: readonly Pick<TableColumn, "name" | "type">[],
  exponent: number,
): AsyncGenerator<Uint8Array> {
  const writer = new ByteWriter();
  const elements = columns.map(({ name, type }): SchemaElement => ({
    ...FORMS[type].schema(exponent),
    type: FORMS[type].type,
    name,
    repetition_type: "OPTIONAL",
  }));
  const schema = [{ name: "table", num_children: columns.length }, ...elements];
  const parquet = new ParquetWriter({ writer, schema, createdBy: "Returns Analytics API" });
  const chunks = columns.map(({ name, type }) => new Chunk(name, FORMS[type]));
  const taken = (): Uint8Array => {
    const bytes = Uint8Array.from(writer.getBytes());
    writer.index = 0;
    return bytes;
  };
  let rows = 0;
  let size = 0;
  const writeGroup = async (): Promise<Uint8Array> => {
    const start = writer.offset;
    const written: WrittenChunk[] = [];
    for (const chunk of chunks) written.push(await chunk.write(writer));
    parquet.row_groups.push({
      columns: written,
      num_rows: BigInt(rows),
      total_byte_size: written.reduce((sum, each) => sum + each.meta_data.total_uncompressed_size, 0n),
      total_compressed_size: BigInt(writer.offset - start),
    });
    parquet.num_rows += BigInt(rows);
    [rows, size] = [0, 0];
    return taken();
  };
  let bytes: Buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  let filled = 0;
  let from = HEADER_BYTES;
  for await (const piece of pieces) {
    bytes = withRoom(bytes, filled, piece.length);
    filled += piece.copy(bytes, filled);
    for (let end = endOfRow(bytes, from, filled); end !== null; end = endOfRow(bytes, from, filled)) {
      let at = from + COUNT_BYTES;
      for (const chunk of chunks) at = chunk.take(bytes, at);
      rows += 1;
      size += end - from;
      from = end;
      if (rows === ROWS_PER_GROUP || size >= BYTES_PER_GROUP) yield await writeGroup();
    }
    if (from > filled) continue;
    bytes.copyWithin(0, from, filled);
    [filled, from] = [filled - from, 0];
  }
  if (rows > 0) yield await writeGroup();
  void parquet.finish();
  yield taken();
}

/** The buffer, or a larger one with what it is filled with, that has room for `size` more bytes: no garbage for each piece. */
function withRoom(buffer: Buffer, filled: number, size: number): Buffer {
  if (filled + size <= buffer.length) return buffer;
  const larger = Buffer.allocUnsafeSlow(2 * (filled + size));
  buffer.copy(larger, 0, 0, filled);
  return larger;
}

/** Null: the row is not there in full, or was the last one. */
function endOfRow(bytes: Buffer, from: number, filled: number): number | null {
  if (from + COUNT_BYTES > filled) return null;
  let at = from + COUNT_BYTES;
  const count = bytes.readInt16BE(from);
  for (let value = 0; value < count; value += 1) {
    if (at + SIZE_BYTES > filled) return null;
    at += SIZE_BYTES + Math.max(0, bytes.readInt32BE(at));
  }
  return count < 0 || at > filled ? null : at;
}

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]["schema"][number];
type WrittenChunk = ColumnChunk & { meta_data: ColumnMetaData };

/** The values of a column in a group of rows: one page in the encoding PLAIN. */
class Chunk {
  readonly #name: string;
  readonly #form: Form;
  /** Of each row: 1 = it has a value. */
  readonly #levels = new Uint8Array(ROWS_PER_GROUP);
  #rows = 0;
  #page: Buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #size = 0;

  constructor(name: string, form: Form) {
    this.#name = name;
    this.#form = form;
  }

  /** Takes the value whose size stands at `at`; the place after it. */
  take(bytes: Buffer, at: number): number {
    const size = bytes.readInt32BE(at);
    const from = at + SIZE_BYTES;
    this.#levels[this.#rows] = size < 0 ? 0 : 1;
    this.#rows += 1;
    if (size < 0) return from;
    this.#page = withRoom(this.#page, this.#size, SIZE_BYTES + size);
    this.#size = this.#form.append(this.#page, this.#size, bytes, from, size);
    return from + size;
  }

  /** Writes the page, which is empty then. */
  async write(writer: ByteWriter): Promise<WrittenChunk> {
    const { type, pack, extremes } = this.#form;
    const present = this.#levels.subarray(0, this.#rows);
    const levels = packed(present);
    const plain = this.#page.subarray(0, this.#size);
    const values = pack?.(plain) ?? plain;
    const compressed = await compress(values);
    const encoding = pack === undefined ? "PLAIN" : "RLE";
    const rows = this.#rows;
    const start = writer.offset;
    writePageHeader(writer, {
      type: "DATA_PAGE_V2",
      uncompressed_page_size: levels.length + values.length,
      compressed_page_size: levels.length + compressed.length,
      data_page_header_v2: {
        num_values: rows,
        num_nulls: rows - present.reduce((sum, level) => sum + level, 0),
        num_rows: rows,
        encoding,
        definition_levels_byte_length: levels.length,
        repetition_levels_byte_length: 0,
        is_compressed: true,
      },
    });
    const total = writer.offset - start + levels.length + values.length;
    writer.appendBytes(levels);
    writer.appendBytes(compressed);
    [this.#rows, this.#size] = [0, 0];
    return {
      file_offset: BigInt(start),
      meta_data: {
        type,
        encodings: [encoding],
        path_in_schema: [this.#name],
        codec: "ZSTD",
        num_values: BigInt(rows),
        total_uncompressed_size: BigInt(total),
        total_compressed_size: BigInt(writer.offset - start),
        data_page_offset: BigInt(start),
        ...(extremes && { statistics: extremes(plain) }),
      },
    };
  }
}

/** Zeroes and ones as runs and bits. */
function packed(values: Uint8Array): Uint8Array {
  const writer = new ByteWriter();
  writeRleBitPackedHybrid(writer, values, 1);
  return writer.getBytes();
}

/** How the values of a type are declared and written. */
type Form = {
  type: "BYTE_ARRAY" | "INT64" | "INT32" | "BOOLEAN";
  schema: (exponent: number) => Omit<SchemaElement, "name" | "type">;
  /** Writes a value of `size` bytes at `from` to a page at `at`; the place after it. */
  append: (page: Buffer, at: number, bytes: Buffer, from: number, size: number) => number;
  /** What a page becomes in the end; none = it stays. */
  pack?: (page: Uint8Array) => Uint8Array;
  /** Of a page, for readers that skip groups by their days. */
  extremes?: (page: Buffer) => Statistics;
};

/** Most digits of an amount in 64 bits. */
const MONEY_DIGITS = 18;

const LONG = {
  type: "INT64",
  append: (page, at, bytes, from) => {
    page.writeInt32LE(bytes.readInt32BE(from + 4), at);
    return page.writeInt32LE(bytes.readInt32BE(from), at + 4);
  },
} as const satisfies Partial<Form>;

const FORMS: Readonly<Record<ColumnType, Form>> = {
  text: {
    type: "BYTE_ARRAY",
    schema: () => ({ converted_type: "UTF8", logical_type: { type: "STRING" } }),
    append: (page, at, bytes, from, size) => {
      const start = page.writeUInt32LE(size, at);
      return start + bytes.copy(page, start, from, from + size);
    },
  },
  integer: { ...LONG, schema: () => ({}) },
  boolean: {
    type: "BOOLEAN",
    schema: () => ({}),
    append: (page, at, bytes, from) => page.writeUInt8(bytes.readUInt8(from), at),
    pack: (page) => {
      const bits = packed(page);
      const size = Buffer.alloc(SIZE_BYTES);
      size.writeUInt32LE(bits.length);
      return Buffer.concat([size, bits]);
    },
  },
  date: {
    type: "INT32",
    schema: () => ({ converted_type: "DATE", logical_type: { type: "DATE" } }),
    append: (page, at, bytes, from) => page.writeInt32LE(bytes.readInt32BE(from), at),
    extremes: (page) => extremesOf(new Int32Array(page.buffer, 0, page.length / 4)),
  },
  timestamp: {
    ...LONG,
    schema: () => ({
      converted_type: "TIMESTAMP_MILLIS",
      logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
    }),
    extremes: (page) => extremesOf(new BigInt64Array(page.buffer, 0, page.length / 8)),
  },
  // In minor units, so that no amount is converted to floating point.
  money: {
    ...LONG,
    schema: (exponent) => ({
      converted_type: "DECIMAL",
      logical_type: { type: "DECIMAL", precision: MONEY_DIGITS, scale: exponent },
      precision: MONEY_DIGITS,
      scale: exponent,
    }),
  },
};

function extremesOf<Value extends number | bigint>(values: Iterable<Value>): Statistics {
  let least: Value | undefined;
  let most: Value | undefined;
  for (const value of values) {
    if (least === undefined || value < least) least = value;
    if (most === undefined || value > most) most = value;
  }
  return least === undefined || most === undefined ? {} : { min_value: least, max_value: most };
}
