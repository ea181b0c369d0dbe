import assert from "node:assert/strict";
import { crc32, inflateRawSync } from "node:zlib";

const END_SIGNATURE = 0x06054b50;
const ENTRY_SIGNATURE = 0x02014b50;
const END_BYTES = 22;
const ENTRY_BYTES = 46;
const LOCAL_BYTES = 30;

/** The files of a zip archive by name, read by its directory; each has the checksum that is stated there. */
export function readZip(archive: Buffer): Record<string, Buffer> {
  const end = archive.length - END_BYTES;
  assert.equal(archive.readUInt32LE(end), END_SIGNATURE, "the archive is not whole");
  const files: Record<string, Buffer> = {};
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    assert.equal(archive.readUInt32LE(at), ENTRY_SIGNATURE);
    const [checksum, size] = [archive.readUInt32LE(at + 16), archive.readUInt32LE(at + 20)];
    const [nameBytes = 0, extraBytes = 0, commentBytes = 0] = [28, 30, 32].map((place) =>
      archive.readUInt16LE(at + place),
    );
    const name = archive.toString("utf8", at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes);
    const local = archive.readUInt32LE(at + 42);
    const start = local + LOCAL_BYTES + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const content = inflateRawSync(archive.subarray(start, start + size));
    assert.equal(crc32(content), checksum, name);
    files[name] = content;
    at += ENTRY_BYTES + nameBytes + extraBytes + commentBytes;
  }
  return files;
}
