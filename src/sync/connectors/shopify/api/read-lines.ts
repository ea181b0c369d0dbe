import { SourceFailed } from "../../../connector.ts";
import { isObject } from "../../shared/foreign.ts";
import type { Json } from "../../shared/foreign.ts";

/** A file that is cut off or garbled: downloading it again may help. */
export class DownloadBroken extends Error {
  override name = "DownloadBroken";
}

/** No record that is asked for comes near the one, nor a file's average near the other. */
const MAX_LINE_CHARACTERS = 4 * 1024 * 1024;
const MAX_BYTES_PER_OBJECT = 65_536;

/** What a file of so many objects may take. */
export function largestFileBytes(objects: number): number {
  return MAX_LINE_CHARACTERS + objects * MAX_BYTES_PER_OBJECT;
}

/**
 * Hands each line of a JSON lines file to `onNode`, in bounded memory; `onChunk` is waited for between chunks. Returns
 * the number of lines. Throws DownloadBroken when it breaks off, SourceFailed when it is larger than it can be.
 */
export async function readLines(
  body: ReadableStream<Uint8Array>,
  onNode: (node: Json) => void,
  onChunk: (lines: number) => Promise<void>,
  maxBytes: number,
): Promise<number> {
  let rest = "";
  let lines = 0;
  let bytes = 0;
  const readLine = (line: string): void => {
    if (line === "") return;
    onNode(parseNode(line));
    lines += 1;
  };
  const chunks = body[Symbol.asyncIterator]();
  const decoder = new TextDecoder();
  try {
    for (let chunk = await nextChunk(chunks); chunk !== null; chunk = await nextChunk(chunks)) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      bytes += chunk.byteLength;
      if (bytes > maxBytes || rest.length > MAX_LINE_CHARACTERS) {
        throw new SourceFailed("The file of a Shopify bulk operation is larger than its records can be.");
      }
      for (const part of parts) readLine(part);
      await onChunk(lines);
    }
  } finally {
    // Ends the connection of a download that is not read to its end.
    await chunks.return?.().catch(() => {});
  }
  readLine(rest);
  return lines;
}

async function nextChunk(chunks: AsyncIterator<Uint8Array>): Promise<Uint8Array | null> {
  try {
    const { value, done } = await chunks.next();
    return done === true ? null : value;
  } catch (error) {
    throw new DownloadBroken("the connection broke", { cause: error });
  }
}

function parseNode(line: string): Json {
  let node: unknown = null;
  try {
    node = JSON.parse(line);
  } catch (error) {
    throw new DownloadBroken("a line breaks off", { cause: error });
  }
  if (isObject(node)) return node;
  throw new DownloadBroken("a line is no object");
}
