import { once } from "node:events";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Worker } from "node:worker_threads";
import type { Answer } from "../contract/endpoint.ts";
import type { exportTable as contract } from "../contract/export-table.ts";
import { TABLE_FORMATS, TABLES } from "../contract/tables.ts";
import type { ExportedTable } from "../contract/tables.ts";
import { FIRST_MONTH, knownMonth, monthToDate } from "../lib/month.ts";
import { currencyExponent } from "../metrics/money.ts";
import { COPY_TABLES } from "../store/queries/tables.ts";
import type { OpenStream } from "../store/snapshot-stream.ts";
import type { EndpointCall } from "./call.ts";
import type { WrittenTable } from "./table-thread.ts";

const LAST_MONTH = knownMonth("9999-12");

/** One table as a file, written while it is read. */
export async function exportTable(
  openStream: OpenStream,
  { workspace, input }: EndpointCall<typeof contract>,
): Promise<Answer> {
  const { table: name, format, start_month: start, end_month: end } = input;
  const { columns } = TABLES.find((table) => table.name === name) as ExportedTable;
  const first = monthToDate(start === undefined ? FIRST_MONTH : knownMonth(start));
  const last = monthToDate(end === undefined ? LAST_MONTH : knownMonth(end));
  const table = { columns, format, exponent: currencyExponent(workspace.currencyCode) };
  const content = await openStream(workspace.shopKey, async (connection) =>
    written(await COPY_TABLES[name](connection, workspace, first, last), table),
  );
  return { kind: "file", filename: `${name}.${format}`, type: TABLE_FORMATS[format], content };
}

const THREAD_MEMORY = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 };

/** The file, written in a thread while its rows are read. */
async function* written(rows: Readable, table: WrittenTable): AsyncGenerator<Uint8Array> {
  const thread = new Worker(new URL("table-thread.ts", import.meta.url), {
    workerData: table,
    resourceLimits: THREAD_MEMORY,
    stdin: true,
    stdout: true,
  });
  const read = pipeline(rows, thread.stdin as NodeJS.WritableStream).catch(async (error: unknown) => {
    await thread.terminate();
    throw error;
  });
  const done = Promise.all([read, once(thread, "exit")]);
  // A failure is thrown at the end of what was written.
  done.catch(() => {});
  try {
    yield* thread.stdout as AsyncIterable<Uint8Array>;
    await done;
  } finally {
    await thread.terminate();
    rows.destroy();
  }
}
