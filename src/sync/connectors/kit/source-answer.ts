import { SourceFailed } from "../../connector.ts";

/** The text of an answer. Throws `SourceFailed` when it is longer than any answer of this source can be. */
export async function readText(response: Response, title: string, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk as Uint8Array);
    bytes += (chunk as Uint8Array).byteLength;
    if (bytes > maxBytes) throw new SourceFailed(`An answer of ${title} is longer than any can be.`);
  }
  return Buffer.concat(chunks).toString("utf8");
}
