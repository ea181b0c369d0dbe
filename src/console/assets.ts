import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** A file that pages load: its address holds its hash, so that a browser keeps it for good. */
export type Asset = { path: string; type: string; body: Buffer; gzipped: Buffer };

/** Reads the named files of the folder assets. A style sheet may be made of several, joined in their order. */
export function readAsset(name: string, files: readonly string[] = [name]): Asset {
  const body = Buffer.concat(files.map((file) => readFileSync(join(import.meta.dirname, "assets", file))));
  const hash = createHash("sha256").update(body).digest("hex").slice(0, 12);
  const [stem = "", extension = ""] = name.split(".");
  return {
    path: `/assets/${stem}-${hash}.${extension}`,
    type: TYPES[extension] ?? "application/octet-stream",
    body,
    gzipped: gzipSync(body, { level: 9 }),
  };
}
