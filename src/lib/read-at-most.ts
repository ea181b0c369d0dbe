/** A stream's bytes; null: it has more than `mostBytes`, and is closed without reading the rest. */
export async function readAtMost(
  pieces: AsyncIterable<Uint8Array>,
  mostBytes: number,
): Promise<Buffer | null> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    read.push(piece);
    bytes += piece.byteLength;
    if (bytes > mostBytes) return null;
  }
  return Buffer.concat(read);
}
