import { finished } from "node:stream/promises";
import copyStreams from "pg-copy-streams";
import type { Connection } from "../store/database.ts";

/** Rows on their way into one table through COPY. */
export type CopyBuffer = {
  /** `written`: the row's further cells, of `writtenCells`. */
  add(values: readonly CopyValue[], written?: string): void;
  /**
   * Sends the buffered rows if they are worth a batch, and returns while they are being sent: until `send` or the next call,
   * nothing else may run on the connection.
   */
  sendIfFull(): Promise<void>;
  /** Sends the rest and waits until all of it has arrived. */
  send(): Promise<void>;
};

export type CopyValue = string | number | boolean | null;

const BATCH_CHARACTERS = 512 * 1024;

/** `target` is a table with its columns: `staged_label (label_id, …)`. */
export function openCopyBuffer(connection: Connection, target: string): CopyBuffer {
  let rows: string[] = [];
  let characters = 0;
  let travelling: Promise<void> = Promise.resolve();

  const dispatch = async (): Promise<void> => {
    await travelling;
    if (rows.length === 0) return;
    const batch = rows.join("");
    rows = [];
    characters = 0;
    travelling = copyText(connection, target, batch);
    // The next dispatch awaits it; until then a failure must not be unhandled.
    travelling.catch(() => {});
  };
  return {
    add(values, written = "") {
      const row = `${values.map(copyCell).join("\t")}${written}\n`;
      rows.push(row);
      characters += row.length;
    },
    sendIfFull: async () => {
      if (characters >= BATCH_CHARACTERS) await dispatch();
    },
    send: async () => {
      await dispatch();
      await travelling;
    },
  };
}

async function copyText(connection: Connection, target: string, text: string): Promise<void> {
  const stream = connection.client.query(copyStreams.from(`copy ${target} from stdin`));
  stream.end(text);
  await finished(stream).catch((error: Error) => {
    throw withState(error);
  });
}

/** Citus reports a node's error in a COPY with its own SQLSTATE: a repeated key gets its original one back. */
function withState(error: Error & { code?: string }): Error {
  const isRepeatedKey = error.code === "XX000" && /violates unique constraint/u.test(error.message);
  return isRepeatedKey ? Object.assign(error, { code: "23505" }) : error;
}

/** Cells that many rows end with, written once. */
export function writtenCells(values: readonly CopyValue[]): string {
  return values.map((value) => `\t${copyCell(value)}`).join("");
}

/** COPY's text format. */
function copyCell(value: CopyValue): string {
  if (value === null) return "\\N";
  if (typeof value !== "string") return String(value);
  return SPECIAL.test(value) ? value.replace(SPECIAL_EACH, (found) => ESCAPES[found] ?? found) : value;
}

const SPECIAL = /[\\\n\r\t]/;
const SPECIAL_EACH = /[\\\n\r\t]/g;
const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
