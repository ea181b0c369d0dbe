import { isObject } from "./json.ts";
import type { Json } from "./json.ts";

/** A file that is cut off or garbled: downloading it again may help. */
export class DownloadBroken extends Error {
  override name = "DownloadBroken";
}

/**
 * Hands each line of a JSON lines file to `onNode`, in bounded memory; `onChunk` is waited for between chunks. Returns
 * the number of lines. Throws DownloadBroken when it breaks off.
 */
export async function readLines(
  body: ReadableStream<Uint8Array>,
  onNode: (node: Json) => void,
  onChunk: (lines: number) => Promise<void>,
): Promise<number> {
  let rest = "";
  let lines = 0;
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
